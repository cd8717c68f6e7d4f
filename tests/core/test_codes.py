"""Numbers that Python, C and C++ share have one source."""

import re
from enum import IntEnum

import pytest
from support.paths import ROOT

from commmodel._core.common import codes

CORE = ROOT / "src/commmodel/_core"
SOURCES = sorted(path for path in CORE.rglob("*.[ch]*") if path.suffix in {".c", ".h", ".cpp", ".hpp"})
SOURCES.remove(CORE / "common/codes.h")
ENUMERATIONS = [value for name, value in vars(codes).items() if name in codes.__all__ and isinstance(value, type)]
LISTS = re.findall(r"^#define \w+ (\D(?:.*\\\n)*.*)", codes.header(), re.MULTILINE)
NUMBERS = re.findall(r"^constexpr int32_t (\w+)", codes.header(), re.MULTILINE)


def test_the_header_for_c_says_what_python_says():
    result = (CORE / "common/codes.h").read_text("utf-8")
    assert result == codes.header(), "run: python src/commmodel/_core/common/codes.py"


@pytest.mark.parametrize("enumeration", ENUMERATIONS, ids=lambda enumeration: enumeration.__name__)
def test_numbers_of_an_enumeration_begin_at_0_where_the_header_has_names_alone(enumeration):
    if issubclass(enumeration, IntEnum) and enumeration not in (codes.LogRecord, codes.DataFlag, codes.DataShape):
        assert [member.value for member in enumeration] == list(range(len(enumeration)))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CORE)))
def test_no_source_of_c_counts_them_again(path):
    text = re.sub(r"//.*|/\*.*?\*/", "", path.read_text("utf-8"))
    assert len(LISTS) >= 13
    for body in re.findall(r"\benum\b[^;{(]*\{([^}]*)\}", text):
        for listed in LISTS:
            names = {*re.findall(r"[A-Z]\w+", listed)}
            assert len(names & {*re.findall(r"\w+", body)}) < max(2, len(names) // 2), body
    assert {"ANY", "TAG_BITS"} <= {*NUMBERS}
    assert not re.search(rf"(constexpr \w+|#define) ({'|'.join(NUMBERS)})\b", text)
