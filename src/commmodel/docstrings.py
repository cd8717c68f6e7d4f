"""Docstrings of structs with what stands under their fields, which `help` would not show.

Main entry: `with_attributes`. The source is read where somebody asks for the docstring: imports take no longer.
"""

import ast
import re
import sys
from functools import cache
from typing import Any, ClassVar, SupportsIndex, TypeVar

__all__ = ["with_attributes"]

_Class = TypeVar("_Class", bound=type)


class AttributeDoc(str):
    """The docstring of a struct, with a section of its attributes, made where it is asked for."""

    is_active: ClassVar[bool] = True
    """Whether there is such a section; pages of the documentation have their own."""
    owner: type

    def __get__(self, instance: object, owner: type) -> str:
        is_made = getattr(sys.modules.get(owner.__module__), owner.__name__, None) is owner  # or a decorator asks
        return _whole(str(self), owner) if self.is_active and is_made else str(self)

    def expandtabs(self, tabsize: SupportsIndex = 8) -> str:
        """Return all of it: where a class has a compiled metaclass, `help` passes `__get__` by, and calls this."""
        return self.__get__(None, self.owner).expandtabs(tabsize)


def with_attributes(struct: _Class) -> _Class:
    """Let a class show its fields, and the strings under them, in `help`; a decorator.

    >>> from commmodel.fit import FitSettings
    >>> print(FitSettings.__doc__.partition("Attributes")[2])  # doctest: +ELLIPSIS
    <BLANKLINE>
    ----------
    confidence : float
    samples : int
    seed : int
    loss : Loss
        ``robust``: the biweight of the logarithms; ...
    """
    text: Any = vars(struct).get("__doc__")
    if isinstance(text, str):
        struct.__doc__ = docstring = AttributeDoc(text)
        docstring.owner = struct
    return struct


@cache
def _whole(text: str, owner: type) -> str:
    """Return a docstring with the section of attributes, before those of examples and notes."""
    lines = []
    for name, (kind, words) in fields(owner).items():
        if not re.search(rf"^ *{name}\b.* : ", text, re.MULTILINE):  # else the text says it
            lines.append(f"{name} : {kind}" + "".join(f"\n    {line.strip()}" for line in words.splitlines()))
    if not lines:
        return text
    margin = re.search(r"\n( *)\S", text)
    section = "\n".join(["Attributes", "----------", *lines])
    section = section.replace("\n", f"\n{margin[1] if margin else ''}")
    head, *parts = re.split(r"(\n\s*\n)(?=[ ]*(?:(?:Raises|Notes|Examples)\n *-{4}|>>> ))", text.rstrip(), maxsplit=1)
    if parts and parts[1].lstrip().startswith(">>> "):
        indent = " " * (len(parts[1]) - len(parts[1].lstrip()))
        parts[1] = f"{indent}Examples\n{indent}--------\n{parts[1]}"
    return f"{head}\n\n{margin[1] if margin else ''}{section}{''.join(parts)}\n"


def fields(owner: type) -> dict[str, tuple[str, str]]:
    """Return name -> (type, docstring or "") of the fields of a class and of those it inherits from."""
    rows: dict[str, tuple[str, str]] = {}
    for part in reversed(owner.__mro__):
        for name, row in _of_module(part.__module__).get(part.__qualname__, {}).items():
            rows.pop(name, None)
            rows[name] = row
    return rows


@cache
def _of_module(name: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the fields of the classes of a module of ours, by the class's name; none where its source is not here."""
    module: Any = sys.modules.get(name)
    loader: Any = getattr(module, "__loader__", None)
    try:
        source = loader.get_data(str(module.__file__)).decode() if name.startswith("commmodel.") else ""
    except (AttributeError, OSError, UnicodeError):
        source = ""
    classes: dict[str, dict[str, tuple[str, str]]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            rows = classes[node.name] = {}
            for entry, below in zip(node.body, [*node.body[1:], None], strict=True):
                if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
                    kind = ast.unparse(entry.annotation).strip("'")
                    if not entry.target.id.startswith("_") and not kind.startswith("ClassVar"):
                        kind = re.sub(r"Annotated\[([^,]*), [^\]]*\]", r"\1", kind)
                        rows[entry.target.id] = kind, _text(below)
    return classes


def _text(node: ast.stmt | None) -> str:
    """Return the string that a statement is."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""
