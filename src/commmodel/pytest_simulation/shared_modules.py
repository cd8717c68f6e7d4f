"""Modules that ranks share, as they are imported before ranks begin. Main entries: `imports`, `modules_to_share`."""

import sys
from collections.abc import Collection, Set
from types import FrameType
from typing import Any


def imports(frame: FrameType | None) -> tuple[set[str], str]:
    """Return the modules that are being imported, and the innermost line of them."""
    names: set[str] = set()
    place = ""
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            names.add(str(frame.f_globals.get("__name__", "")))
            place = place or f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return names, place


def _parents(name: str) -> set[str]:
    """Return a module and its packages, which are imported before it."""
    words = name.split(".")
    return {".".join(words[:count]) for count in range(1, len(words) + 1)}


def _can_be_imported_early(name: str, module: Any) -> bool:
    """Whether a module may be imported before pytest begins, which rewrites the assertions of tests."""
    last = name.rpartition(".")[2]
    is_test = last.startswith("test_") or last.endswith("_test") or last == "conftest" or "tests" in name.split(".")
    return getattr(module, "__file__", None) is not None and not is_test


def modules_to_share(importing: Set[str], private: Collection[str]) -> list[str]:
    """Return what is imported now and could be before ranks begin, in order.

    That is neither a test nor in a package of `private`, nor does it need a module of `importing`, whose import calls
    MPI.
    """
    return [
        name for name, module in list(sys.modules.items())
        if not importing & _parents(name)
        and name.partition(".")[0] not in private
        and _can_be_imported_early(name, module)
    ]  # fmt: skip
