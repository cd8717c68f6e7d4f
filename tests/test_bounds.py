"""Numbers of promised functions: docstrings say their bounds, and what is beyond them is refused by its name."""

import inspect
import math
import re
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pytest
from support.promised import promised

from commmodel.arguments import Bounds
from commmodel.errors import CommModelError

NUMBERS = {
    "formats.header.standard", "machine.Machine.segment.processes", "units.format_rate.rate",
    "units.format_size.size", "units.format_time.seconds",
}  # fmt: skip
"""Numbers without bounds: whatever they are, they are shown."""
PHRASES = {
    r"(?:at least|≥) ?(\d[\d.]*)": "ge", r"(\d+) or more": "ge", r"(?:above|>) ?(\d[\d.]*)": "gt",
    r"(?:from|between) (\d[\d.]*)": "ge", r"(\d+) to \d": "ge",
}  # fmt: skip


def arms(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)


def numbers():
    """Yield (name of a function and its parameter, function, parameter, bounds or None) of each number."""
    for name, function in sorted(promised().items()):
        call = inspect.unwrap(getattr(function, "__func__", function))
        for key, part in inspect.signature(call).parameters.items():
            for arm in arms(part.annotation):
                limits = [part for part in getattr(arm, "__metadata__", ()) if isinstance(part, Bounds)]
                if limits or arm in {int, float}:
                    where = f"{name.removeprefix('commmodel.')}.{key}"
                    yield pytest.param(where, function, key, *(limits or [None]), id=where)


NUMBERED = [*numbers()]


def entry_of(function: Any, key: str) -> str:
    """What the section of parameters says of one."""
    text = inspect.getdoc(function) or ""
    section = re.split(r"\n\n\w+\n---", text.partition("Parameters\n----------\n")[2])[0]
    for entry in re.split(r"\n(?=\S)", section):
        names = entry.partition("\n")[0].partition(" : ")[0].split(",")
        if key in {name.strip(" *") for name in names}:
            return " ".join(entry.split())
    return " ".join(text.split())  # of the only one


@pytest.mark.parametrize(("where", "function", "key", "limits"), NUMBERED)
def test_a_docstring_says_what_a_number_may_be(where, function, key, limits):
    text = entry_of(function, key)
    phrases = {
        (kind, float(number.rstrip(".")))
        for phrase, kind in PHRASES.items()
        for number in re.findall(phrase, text, re.IGNORECASE)
    }
    if "elsewhere" in text or re.search(r"\b(As|Those) (of|in) `", text):
        return  # phrases there
    assert phrases or where in NUMBERS, text
    if limits is not None:
        assert phrases & {(kind, getattr(limits, kind)) for kind in ("ge", "gt")}, text


@pytest.mark.parametrize(("where", "function", "key", "limits"), NUMBERED)
def test_a_number_beyond_its_bounds_is_refused(where, function, key, limits):
    if limits is None:
        return
    call = getattr(function, "__func__", function)
    outside = [-1] if limits.ge == 0 else [-1, 0]
    if limits.le is not None:
        outside.append(limits.le + 1)
    if limits.lt == math.inf:
        outside.append(math.inf)
    for number in outside:
        with pytest.raises(CommModelError, match=rf"^{key} is .*: give ") as caught:
            call(**{key: number})
        assert caught.value.parameter == key
