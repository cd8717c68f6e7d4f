"""Memory of a process that simulates ten thousand times, by every model and reader, refusals too: it must not grow.

    python -m tools.leaks [--simulations 10000]

Each kind of simulation is run in turn. The first half warms up caches and the allocator; what the process holds then
is compared with what it holds at the end. Exit code 1 where it has grown by more than `MOST`.
"""

import argparse
import ctypes
import gc
import resource
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from commmodel import record
from commmodel.collectives import Problem
from commmodel.errors import CommModelError
from commmodel.record.actions import RecordedActions
from commmodel.simulate import SMPI, DelayModel, DelayParameters, fluid, goal, platform, run, work
from commmodel.simulate.delays import run_schedule
from commmodel.simulate.traces import replay

ROOT = Path(__file__).resolve().parents[1]
MOST = 1 << 20
"""Bytes: two hundred for each simulation."""
RANKS = 8
PARAMETERS = DelayParameters(L=1e-6, o=1e-6, g=1e-6, G=1e-9, S=1e4)
SCHEDULE = "num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n"
TRACE = "0 init\n1 init\n0 send 1 0 1e5\n1 recv 0 0 1e5\n0 allreduce 100 5\n1 allreduce 100 5\n0 finalize\n1 finalize\n"
DEADLOCK = "0 init\n1 init\n0 recv 1 0 10\n1 recv 0 0 10\n0 finalize\n1 finalize\n"
DAMAGED = "0 init\n1 init\n0 send 1 0 1e5\n1 recv 0 zero 1e5\n"


def kinds(folder: Path) -> dict[str, Callable[[], object]]:
    """Return what is simulated: name -> function."""
    hosts = platform.flat(RANKS, 1e9, 1e-6)
    files = {}
    for name, text in {"trace": TRACE, "deadlock": DEADLOCK, "damaged": DAMAGED}.items():
        files[name] = folder / name
        files[name].write_text(text, encoding="ascii")
    recording = ROOT / "tests" / "frozen" / "recording-1"

    def deadlock() -> None:
        if not run(replay(files["deadlock"]), fluid(), hosts, deadlock="return").blocked:
            raise AssertionError("no deadlock")

    def damaged() -> None:
        with suppress(CommModelError):
            run(replay(files["damaged"]), fluid(), hosts)
            raise AssertionError("not refused")

    return {
        "flows of a ring": lambda: run(work.ring(70_000, RANKS), fluid(), hosts),
        "recorded flows of a halo": lambda: run(work.halo(70_000, RANKS), fluid(), hosts, record=True),
        "SMPI's model": lambda: run(work.collective("alltoall", Problem(RANKS, 10_000)), SMPI, hosts),
        "LogGPS": lambda: run(work.collective("allreduce", Problem(RANKS, 10_000)), DelayModel(PARAMETERS)),
        "GOAL": lambda: run_schedule(goal.parse(SCHEDULE), PARAMETERS),
        "a trace": lambda: run(replay(files["trace"]), fluid(), hosts),
        "a recording": lambda: run(RecordedActions(record.load(recording)).program(), fluid(), hosts),
        "a deadlock": deadlock,
        "a damaged trace": damaged,
    }


def resident() -> int:
    """Return the bytes that this process holds, less what the allocator can give back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


def main() -> int:
    """Simulate, and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=10_000, help="in all (default: %(default)s)")
    count = parser.parse_args().simulations
    with tempfile.TemporaryDirectory(prefix="commmodel-leaks-") as folder:
        functions = [*kinds(Path(folder)).values()]
        before = 0
        for number in range(count):
            if number == count // 2:
                before = resident()
            functions[number % len(functions)]()
        after = resident()
    print(
        f"{count} simulations of {len(functions)} kinds: {before / 1e6:.1f} MB after {count // 2}, "
        f"{after / 1e6:.1f} MB at the end, {(after - before) / (count - count // 2):+.0f} B for each"
    )
    return int(after - before > MOST)


if __name__ == "__main__":
    sys.exit(main())
