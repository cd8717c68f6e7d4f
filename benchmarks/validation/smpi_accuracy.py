"""How far our times are from those of SimGrid's SMPI: ``python -m benchmarks.validation.smpi_accuracy``.

Simulates what SMPI 3.32 was asked for (`tests/oracles/smpi.toml`) with its parameters, and prints relative errors of
each table; with ``--all``, each row. With ``--fresh``, SMPI is asked again, and must be installed. Wanted: to be within
1e-6 point to point and within 0.1 % elsewhere; where a row is not, the exit code is 1.
"""

import argparse
import contextlib
import io
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table
from tools.peers import ours, record
from tools.peers.platforms import KINDS
from tools.peers.traces import TRACES

from commmodel.simulate import SMPI, run
from commmodel.simulate.work import pair

NEAR, NEAREST = 1e-3, 1e-6


def asked_again() -> dict[str, Any]:
    """Return what SMPI says now."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        record.main()
    return tomllib.loads(printed.getvalue())


def point_to_point(oracles: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Return name, our time and SMPI's of each message size."""
    platform = ours.platform("flat", 16)
    return [
        (f"{size} B", run(pair(int(size)), SMPI, platform).seconds / 2, seconds)
        for size, seconds in oracles["point-to-point"].items()
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="each row, not only the largest errors of each table")
    parser.add_argument("--fresh", action="store_true", help="ask SMPI again, instead of reading what it once said")
    arguments = parser.parse_args()
    oracles = asked_again() if arguments.fresh else ours.ORACLES
    cases = {"point to point": point_to_point(oracles)}
    for kind in KINDS:
        for table in oracles[kind]:
            work, _, hosts = table.rpartition("-")
            cases[f"{kind}, {hosts} hosts, {work}"] = [
                (name, ours.simulated(program, kind), seconds)
                for name, program, seconds in ours.rows(kind, table, oracles)
            ]
    with tempfile.TemporaryDirectory() as folder:
        cases["replay of traces, 16 hosts"] = [
            (f"{name}, {kind}", ours.replayed(trace(16), Path(folder) / name, kind), oracles["replay"][name][kind])
            for name, trace in TRACES.items()
            for kind in KINDS
        ]
    printed = Table("platform, work", "rows", "median error", "largest error", "farthest", box=None)
    far = False
    for title, rows in cases.items():
        errors = [abs(simulated / seconds - 1) for _, simulated, seconds in rows]
        worst = max(errors)
        far |= worst > (NEAREST if title == "point to point" else NEAR)
        farthest = rows[errors.index(worst)][0]
        printed.add_row(title, str(len(rows)), f"{median(errors):.1e}", f"{worst:.1e}", farthest)
        if arguments.all:
            for (name, ours_seconds, seconds), error in zip(rows, errors, strict=True):
                printed.add_row(f"  {name}", "", f"{ours_seconds:.9f} s", f"{seconds:.9f} s", f"{error:.1e}")
    Console(width=120).print(printed)
    sys.exit(1 if far else 0)


if __name__ == "__main__":
    main()
