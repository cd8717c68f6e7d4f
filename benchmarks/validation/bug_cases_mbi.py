"""The MPI Bugs Initiative: what its programs are called, and what is wrong with each. Main entry: `SUITE`.

Its generators are a part of SimGrid (``teshsuite/smpi/MBI``). Each program says in its header how it is run, and what
is wrong with it then.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.validation.bug_cases import Case, Suite

_GENERATORS = "teshsuite/smpi/MBI"
_TEST = re.compile(r"^\s+\$ mpirun -np (\d+) ?(.*?)\$\{EXE\}(.*)\n[ |]*(?:ERROR: *(\w+)|OK)", re.MULTILINE)
_CORRECT = "correct"
_CALL = frozenset({"wrong argument"})
_ORDER = frozenset({"deadlock", "relies on buffering", "collectives in different orders", "message never received"})
_SIGNATURE = frozenset({"type signature"})
_WINDOW = frozenset({"wrong synchronisation of a window", "deadlock"})
_ACCESS = frozenset({
    "write to a pending send buffer", "write to a pending receive buffer", "read of a pending receive buffer",
    "write to a pending origin buffer", "read of a pending origin buffer", "overlapping receive buffers",
    "conflicting accesses to a window",
})  # fmt: skip
_DETAILS = {
    "invalid parameter": {
        **dict.fromkeys(("InvalidBuffer", "InvalidCommunicator", "InvalidDatatype", "InvalidOperator"), _CALL),
        **dict.fromkeys(("InvalidOtherArg", "InvalidRoot", "InvalidSrcDest", "InvalidTag", "InvalidWindow"), _CALL),
        "ActualDatatype": _CALL | _SIGNATURE,
    },
    "resource leak": {
        "CommunicatorLeak": frozenset({"leak of a communicator"}), "TypeLeak": frozenset({"leak of a datatype"}),
        "DatatypeLeak": frozenset({"leak of a datatype"}), "GroupLeak": frozenset({"leak of a group"}),
        "OperatorLeak": frozenset({"leak of an operation"}), "RequestLeak": frozenset({"leak of a request"}),
    },
    "request lifecycle": {
        "MissingStart": frozenset({"request never started"}) | _ORDER,
        "MissingWait": frozenset({"request never completed"}),
    },
    "epoch lifecycle": {"MissingEpoch": _WINDOW, "DoubleEpoch": _WINDOW},
    "local concurrency": {"LocalConcurrency": _ACCESS},
    "parameter matching": {
        "CommunicatorMatching": _ORDER | _CALL, "DatatypeMatching": _SIGNATURE,
        "OperatorMatching": frozenset({"operations of a reduction"}), "RootMatching": _ORDER, "TagMatching": _ORDER,
    },
    "call ordering": {"CallMatching": _ORDER},
    "message race": {"MessageRace": frozenset({"message race"})},
    "global concurrency": {"GlobalConcurrency": _ACCESS},
    "buffering hazard": {"BufferingHazard": frozenset({"deadlock"})},
    "input hazard": {"IHCallMatching": _ORDER},
}  # fmt: skip
"""Class -> detail of its programs' headers -> kinds of findings and ends that are right."""
_ROWS = {detail: row for row, details in _DETAILS.items() for detail in details}


def _tests(source: Path) -> Iterator[Case]:
    """Return the runs that a program's header names."""
    header = source.read_text("utf-8").partition("END_MBI_TESTS")[0].partition("BEGIN_MBI_TESTS")[2]
    tests = _TEST.findall(header)
    for number, (ranks, buffering, arguments, detail) in enumerate(tests):
        row = _ROWS[detail] if detail else _CORRECT
        yield Case(
            source.stem if len(tests) == 1 else f"{source.stem} ({number})",
            row,
            source,
            int(ranks),
            detail,
            _DETAILS[row][detail] if detail else frozenset(),
            tuple(arguments.split()),
            {"$zero_buffer": "zero", "$infty_buffer": "infinite"}.get(buffering.strip(), "machine"),
        )


def _cases(folder: Path, work: Path) -> list[Case]:
    """Generate the programs in a folder; return all runs."""
    generators = sorted(Path(folder, _GENERATORS).glob("*Generator.py"))
    if not generators:
        raise SystemExit(f"{folder}: no clone of SimGrid: {_GENERATORS}/*Generator.py are missing")
    for generator in generators:
        subprocess.run([sys.executable, generator], cwd=work, check=True, stdout=subprocess.DEVNULL)
    return [case for source in sorted(work.glob("*.c")) for case in _tests(source)]


SUITE = Suite(_cases, (_CORRECT, *_DETAILS))
