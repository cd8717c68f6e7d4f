"""Functions that the reference of Python promises. Main entry: `promised`."""

import inspect
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parents[2] / "docs/reference"
DIRECTIVE = re.compile(r"^\.\. (auto\w+|py:\w+):: (\S+)\n((?:   :.*\n)*)", re.MULTILINE)
MEMBERS = re.compile(r"^   :members: *(.*)\n", re.MULTILINE)
HIDDEN = re.compile(r":exclude-members: (.*)\n")


@cache
def promised() -> dict[str, Callable[..., object]]:
    """Functions and methods that the reference promises, by the names it gives them."""
    functions: dict[str, Callable[..., object]] = {}
    for page in set(REFERENCE.rglob("*.md")) - {REFERENCE / "internals.md"}:
        for directive, target, options in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if directive in {"autofunction", "autoclass", "automodule"}:
                parent, _, name = target.rpartition(".")
                part = getattr(import_module(parent), name) if directive != "automodule" else import_module(target)
                members, hidden = MEMBERS.search(options), HIDDEN.search(options)
                left_out = set(hidden[1].split(", ")) if hidden else set()
                add_promised(functions, target, part, members and members[1].split(", "), left_out)
    return {name: function for name, function in functions.items() if function.__module__.startswith("commmodel")}


def add_promised(
    functions: dict[str, Callable[..., object]], target: str, part: Any, members: list[str] | None, left_out: set[str]
) -> None:
    if inspect.isroutine(part):
        functions[target] = part
    if not members:
        return
    if members == [""]:
        members = list(part.__all__ if inspect.ismodule(part) else vars(part))
    for name in set(members) - left_out:
        value = getattr(part, name, None)
        if inspect.isroutine(value) and not name.startswith("_") and value.__doc__:
            functions[f"{target}.{name}"] = value
        elif inspect.isclass(value) and inspect.ismodule(part):
            add_promised(functions, f"{target}.{name}", value, [""], left_out)
