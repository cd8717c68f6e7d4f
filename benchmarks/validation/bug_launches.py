"""What an MPI library says of programs with bugs, under its mpiexec. Main entries: `launch` and `launch_table`."""

import os
import re
import resource
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.validation.bug_cases import Case
from rich.table import Table

__all__ = ["launch", "launch_table"]

_ENDS = ("no error", "error", "signal", "no end", "not run")
_TOTAL = "all"
_PATIENCE = 60.0
"""Seconds for a program whose ranks wait without using a processor."""
_OUT_OF_TIME = re.compile(r"\(signal 24\)|CPU time limit")
_BY_SIGNAL = re.compile(r"EXIT STRING: .*\(signal \d+\)|KILLED BY SIGNAL")


def _limit_processor(seconds: int) -> None:
    """Have each process that is started from here end by a signal once it has computed for so long."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def launch(case: Case, program: Path | None, mpiexec: Path, seconds: int) -> str:
    """Run a program of a case under mpiexec; return how it ended.

    Ranks that wait poll, so a program that hangs is one of which a rank has used the processor for ``seconds``, which
    other work on the machine does not change.
    """
    if program is None:
        return "not run"
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            [mpiexec, "-n", str(case.ranks), program, *case.arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: _limit_processor(seconds),
        )
        try:
            code = process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "no end"
        output.seek(0)
        text = output.read()
    if code == 0:
        return "no error"
    if _OUT_OF_TIME.search(text):
        return "no end"
    return "signal" if _BY_SIGNAL.search(text) else "error"


def launch_table(rows: Sequence[str], cases: Sequence[Case], ends: Sequence[str]) -> Table:
    """Return the table of how the programs of each class ended, and of how many that is right."""
    counts: dict[str, Counter[str]] = {row: Counter() for row in rows}
    right: Counter[str] = Counter()
    for case, end in zip(cases, ends, strict=True):
        is_right = (end == "no error") != bool(case.kinds)
        for row in (case.row, _TOTAL):
            counts.setdefault(row, Counter())[end] += 1
            right[row] += is_right and end != "not run"
    drawn = Table("class", "programs", *_ENDS, "right", "right, %", box=None)
    for row, count in counts.items():
        if count:
            share = f"{100 * right[row] / count.total():.1f}"
            drawn.add_row(row, str(count.total()), *(str(count[end]) for end in _ENDS), str(right[row]), share)
    return drawn
