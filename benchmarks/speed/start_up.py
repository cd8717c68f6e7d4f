"""Start-up: seconds from the shell to the answer of small commands, beside those of ``import numpy``.

    python -m benchmarks.speed.start_up [--rounds 15]

The commands take turns, so that a busy machine is as busy for each. A row has the least and the median time, and the
median of its ratios to ``import numpy`` of the same turn. The files of the package are in the system's cache (warm)
after the first turn, which is not counted.
"""

import argparse
import subprocess
import sys
import time
from statistics import median

REFERENCE = "import numpy"
COMMMODEL = [sys.executable, "-m", "commmodel"]
ROWS = {
    REFERENCE: [sys.executable, "-c", "import numpy"],
    "import commmodel": [sys.executable, "-c", "import commmodel"],
    "commmodel --help": [*COMMMODEL, "--help"],
    "commmodel predict": [*COMMMODEL, "predict", "blue-waters", "send", "-n", "64KiB", "--json"],
    "a choice of messages": [sys.executable, "-c", (
        "from commmodel.optimize import *; network = MessageCosts(overhead=2e-6, latency=1e-5, byte_time=1e-9); "
        "choose(network, TransferProblem(8 << 20, 3e-3))"
    )],
    "a small simulation": [sys.executable, "-c", (
        "from commmodel.simulate import fluid, platform, run, work; "
        "run(work.halo(65536, 16), fluid(), platform.load('graphene'))"
    )],
}  # fmt: skip


def seconds(words: list[str]) -> float:
    """Return the time of one run."""
    begin = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    """Run the commands in turn and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="runs of each command (default: 15)")
    rounds = parser.parse_args().rounds
    turns = [{name: seconds(words) for name, words in ROWS.items()} for _ in range(rounds + 1)][1:]
    print(f"{'':<22}{'least':>10}{'median':>10}{'to numpy':>10}")
    for name in ROWS:
        times = [turn[name] for turn in turns]
        ratio = median(turn[name] / turn[REFERENCE] for turn in turns)
        print(f"{name:<22}{min(times):>8.3f} s{median(times):>8.3f} s{ratio:>10.2f}")


if __name__ == "__main__":
    main()
