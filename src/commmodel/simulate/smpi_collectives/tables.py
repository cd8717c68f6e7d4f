"""The tables by which SMPI's selectors pick algorithms. Main entry: `pick`."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def tables() -> dict[str, Any]:
    """Return the tables: selector -> operation -> (ranks on a node ->) processes -> algorithms."""
    path = Path(__file__).with_name("published") / "selectors.toml"
    return tomllib.loads(path.read_text())


def _holds(limit: str, number: int) -> bool:
    if limit.startswith("<="):
        return number <= int(limit[2:])
    return not limit or number < int(limit[1:])


def pick(table: dict[str, str], processes: int, size: int) -> str:
    """Return the algorithm that a table has for so many processes and bytes.

    >>> pick(tables()["ompi"]["alltoall"], 64, 100)
    'bruck'
    """
    row = next(row for limit, row in table.items() if isinstance(row, str) and _holds(limit, processes))
    for word in row.split(", "):
        name, _, limit = word.partition(" ")
        if _holds(limit, size):
            return name
    raise AssertionError(f"{row!r} does not end with an algorithm for all sizes")
