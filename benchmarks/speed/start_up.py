"""Start-up: what small commands take from the shell to their answer, beside ``import numpy``.

    python -m benchmarks.speed.start_up [--rounds 15] [--cold 3]

The commands take turns, so that a busy machine is as busy for each. A row has the least and the median processor time,
the median time on the clock, and the median of its ratios to ``import numpy`` of the same turn. Warm: files are in the
system's cache after the first turn, which is not counted. Commands let OpenBLAS start one thread, as ``numpy, one
thread`` does. Cold: the cache is emptied before each command, where that is allowed; the time is then the clock's, as
the disk is waited for.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import NamedTuple

REFERENCE = "import numpy"
COMMMODEL = [sys.executable, "-m", "commmodel"]
SIMULATE = [*COMMMODEL, "simulate", "graphene", "bcast", "-p", "16", "-n", "1KiB"]
ROWS = {
    "python alone": [sys.executable, "-c", ""],
    REFERENCE: [sys.executable, "-c", "import numpy"],
    "numpy, one thread": [sys.executable, "-c", (
        "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import numpy"
    )],
    "import commmodel": [sys.executable, "-c", "import commmodel"],
    "commmodel --help": [*COMMMODEL, "--help"],
    "commmodel predict": [*COMMMODEL, "predict", "blue-waters", "send", "-n", "64KiB", "--json"],
    "simulate, JSON": [*SIMULATE, "--json"],
    "simulate, tables": SIMULATE,
    "a choice of messages": [sys.executable, "-c", (
        "from commmodel.optimize import *; network = MessageCosts(overhead=2e-6, latency=1e-5, byte_time=1e-9); "
        "choose(network, TransferProblem(8 << 20, 3e-3))"
    )],
    "a small simulation": [sys.executable, "-c", (
        "from commmodel.simulate import fluid, platform, run, work; "
        "run(work.halo(65536, 16), fluid(), platform.load('graphene'))"
    )],
}  # fmt: skip
CACHE_SWITCH = Path("/proc/sys/vm/drop_caches")
WANTED = "wanted of simulate: 0.15 s of processor time warm, 0.6 s on the clock cold"


class Times(NamedTuple):
    """Seconds of one run: of the processor, in all threads, and on the clock."""

    processor: float
    clock: float


def run(words: list[str]) -> Times:
    """Run a command; its modules are kept compiled, as installed ones are."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin, before = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=environment)
    clock, after = time.perf_counter() - begin, getrusage(RUSAGE_CHILDREN)
    return Times(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, clock)


def empty_cache() -> bool:
    """Empty the system's cache of files; return whether that was allowed."""
    os.sync()
    try:
        CACHE_SWITCH.write_text("3", "ascii")
    except OSError:
        return False
    return True


def warm(rounds: int) -> None:
    """Print the table of warm starts."""
    turns = [{name: run(words) for name, words in ROWS.items()} for _ in range(rounds + 1)][1:]
    print(f"{'warm':<22}{'least':>10}{'median':>10}{'to numpy':>10}{'clock':>10}{'to numpy':>10}")
    for name in ROWS:
        times = [turn[name] for turn in turns]
        processor = median(turn[name].processor / turn[REFERENCE].processor for turn in turns)
        clock = median(turn[name].clock / turn[REFERENCE].clock for turn in turns)
        least, middle = (end(start.processor for start in times) for end in (min, median))
        print(
            f"{name:<22}{least:>8.3f} s{middle:>8.3f} s{processor:>10.2f}"
            f"{median(start.clock for start in times):>8.3f} s{clock:>10.2f}"
        )


def cold(rounds: int) -> None:
    """Print the table of cold starts, or that they cannot be measured here."""
    if not empty_cache():
        print(f"cold: not measured, {CACHE_SWITCH} cannot be written (only root may, and not in every container)")
        return
    turns = [{name: run(words).clock for name, words in ROWS.items() if empty_cache()} for _ in range(rounds)]
    print(f"{'cold':<22}{'least':>10}{'median':>10}{'to numpy':>10}")
    for name in ROWS:
        times = [turn[name] for turn in turns]
        ratio = median(turn[name] / turn[REFERENCE] for turn in turns)
        print(f"{name:<22}{min(times):>8.3f} s{median(times):>8.3f} s{ratio:>10.2f}")


def main() -> None:
    """Run the commands in turn and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="warm runs of each command (default: %(default)s)")
    parser.add_argument("--cold", type=int, default=3, help="cold runs of each command (default: %(default)s)")
    arguments = parser.parse_args()
    warm(arguments.rounds)
    if arguments.cold:
        cold(arguments.cold)
    print(WANTED)


if __name__ == "__main__":
    main()
