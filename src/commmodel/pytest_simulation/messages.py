"""What the controller, the nursery and the ranks tell each other: lines of JSON, in files. Imports nothing heavy."""

import json
import os
from collections.abc import Iterable
from typing import Any

SPECIFICATION = "COMMMODEL_TESTS"
"""Variable of the environment: what a nursery and its ranks have to know, as JSON."""
DESCRIPTORS = "COMMMODEL_DESCRIPTORS"
"""Variable of the environment of a rank: of the pipe with orders, and of that with answers."""
RANK_DEPENDENT = 75
"""Exit code of a nursery whose imports ask MPI for what only a rank knows."""


def specification() -> dict[str, Any]:
    """Return what the controller has facts."""
    facts: dict[str, Any] = json.loads(os.environ[SPECIFICATION])
    return facts


def write_lines(file: str, objects: Iterable[Any]) -> None:
    """Append objects to a file."""
    with open(file, "a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.writelines(f"{json.dumps(thing, default=str)}\n" for thing in objects)


def read_lines(file: str, begin: int = 0) -> tuple[list[Any], int]:
    """Return the whole lines of a file from a byte on, and where they end; none where there is no file."""
    try:
        with open(file, "rb") as stream:
            stream.seek(begin)
            text = stream.read()
    except FileNotFoundError:
        return [], begin
    whole = text[: text.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()], begin + len(whole)


def warning_line(warning_message: Any, when: str, nodeid: str, location: Any) -> dict[str, Any]:
    """Return what the hook for warnings gets, as a line."""
    return {
        "warning": str(warning_message.message), "category": warning_message.category.__name__, "when": when,
        "nodeid": nodeid, "filename": warning_message.filename, "lineno": warning_message.lineno, "location": location,
    }  # fmt: skip
