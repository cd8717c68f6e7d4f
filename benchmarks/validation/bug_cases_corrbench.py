"""MPI-CorrBench: what its programs are called, and what is wrong with each. Main entry: `SUITE`.

A program's name begins with the class of its error; folders called correct have those without one. A wrong rank is also
right as the message that is never received or waited for without end: -1 is a rank that MPICH has, ``MPI_PROC_NULL``.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.validation.bug_cases import Case, Suite

_BASE = "micro-benches/0-level"
_CORRECT = "correct"
_ENDS = frozenset({"error", "crash", "abort", "no MPI_Finalize", "error of the program"})
_CALL = frozenset({
    "wrong argument", "wrong use of a request", "wrong use of a handle", "wrong synchronisation of a window",
    "truncated message", "wrong thread", "misplaced call", "leak of a window",
})  # fmt: skip
_ORDER = frozenset({
    "deadlock", "relies on buffering", "collectives in different orders", "message never received",
    "request never completed", "request never started", "leak of a request", "leak of a window", "leak of a datatype",
})  # fmt: skip
_PAIR = frozenset({"type signature", "operations of a reduction", "truncated message"})
_MEMORY = frozenset({
    "write to a pending send buffer", "write to a pending receive buffer", "read of a pending receive buffer",
    "write to a pending origin buffer", "read of a pending origin buffer", "overlapping receive buffers",
    "aliased buffers", "freed pending buffer", "conflicting accesses to a window", "freed memory of a window",
    "memory of another type", "buffer overrun",
})  # fmt: skip
_CLASSES = {
    "ArgError": ("wrong argument", _CALL | _PAIR | _MEMORY | _ENDS),
    "ArgMismatch": ("arguments that do not match", _PAIR | _ORDER | _MEMORY | _CALL),
    "MisplacedCall": ("misplaced call", _ORDER | _MEMORY | _CALL | _ENDS),
    "MissingCall": ("missing call", _ORDER | _MEMORY | _CALL | _ENDS),
}
"""Beginning of names -> class in the table, and kinds of findings and ends that are right."""
_HYBRID = {
    "data_race": ("OpenMP: data race", _MEMORY),
    "memory": ("OpenMP: private memory", _MEMORY | _PAIR | _CALL | _ENDS),
    "ordering": ("OpenMP: order of calls", _ORDER | _CALL | _MEMORY | _PAIR | _ENDS),
    "threading": ("OpenMP: thread level", _CALL | _ENDS),
}
"""Folders of programs with OpenMP -> the same."""


def _case(source: Path, base: Path) -> Case:
    folders = source.relative_to(base).parts[:-1]
    name = "/".join((*folders, source.stem))
    if _CORRECT in folders:
        row = "correct, OpenMP" if folders[0] == "openmp" else _CORRECT
        return Case(name, row, source, 2, _CORRECT, frozenset())
    detail = folders[1] if folders[0] == "openmp" else source.stem.partition("-")[0]
    row, kinds = (_HYBRID if folders[0] == "openmp" else _CLASSES)[detail]
    if detail == "ArgError" and "-Rank" in source.stem:
        kinds |= _ORDER
    return Case(name, row, source, 2, detail, kinds)


def _cases(folder: Path, work: Path) -> Sequence[Case]:
    """Return all programs of a clone."""
    del work
    base = folder / _BASE
    if not base.is_dir():
        raise SystemExit(f"{folder}: no clone of MPI-CorrBench: {_BASE} is missing")
    return [_case(source, base) for source in sorted(base.rglob("*.c"))]


_ROWS = (_CORRECT, "correct, OpenMP", *(row for row, _ in (*_CLASSES.values(), *_HYBRID.values())))
_FOLDERS = "correct/include", "openmp"
SUITE = Suite(_cases, _ROWS, ("-fopenmp", *(f"-I{{folder}}/{_BASE}/{name}" for name in _FOLDERS)))
