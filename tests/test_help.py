"""What `help` shows of structs: all fields, and what is said of each."""

import inspect
import pydoc
import subprocess
import sys

import pytest
from support.structs import public_classes

from commmodel.docstrings import AttributeDoc, fields


class Thing:
    """A thing.

    >>> 1
    1
    """

    count: int
    """How many."""


@pytest.mark.parametrize("struct", public_classes(), ids=lambda struct: f"{struct.__module__}.{struct.__name__}")
def test_help_shows_the_strings_under_fields(struct):
    if struct.__module__ == "commmodel.arguments":
        return  # is made before there are docstrings of this kind
    shown = pydoc.render_doc(struct, renderer=pydoc.plaintext)
    names = {*getattr(struct, "__struct_fields__", ()), *getattr(struct, "__dataclass_fields__", ())}
    for name, (_, words) in fields(struct).items():
        names.discard(name)
        for text in (shown, inspect.getdoc(struct)):
            assert name in text
            assert words.partition("\n")[0] in text
    assert {name for name in names if not name.startswith("_")} == set()


def test_sections_follow_in_the_order_of_numpydoc(monkeypatch):
    monkeypatch.setattr(
        "commmodel.docstrings._of_module", lambda _: {Thing.__qualname__: {"count": ("int", "How many.")}}
    )
    text = "A thing.\n\n>>> 1\n1\n"
    assert AttributeDoc(text).__get__(None, Thing) == (
        "A thing.\n\nAttributes\n----------\ncount : int\n    How many.\n\nExamples\n--------\n>>> 1\n1\n"
    )
    monkeypatch.setattr(AttributeDoc, "is_active", False)
    assert AttributeDoc(text).__get__(None, Thing) == text


def test_no_source_is_read_before_somebody_asks():
    code = (
        "import commmodel, commmodel.docstrings\n"
        "commmodel.predict.send, commmodel.simulate.run, commmodel.scaling.check\n"
        "print(commmodel.docstrings._of_module.cache_info().misses)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "0\n"
