"""How often a slow network interface is named among eight emulated hosts, and how often a healthy one (root, Linux).

Each host's link has a rate; in every other trial that of one host, another in each trial, is a tenth lower. A trial is
one run of the kernel matrix and `commmodel.scaling.slow_nodes`. Prints how often the slow host is named, and in how
many trials any other host or link is.

    python -m benchmarks.validation.emulated_nodes --trials 100
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import emulated_cluster

from commmodel import formats
from commmodel.scaling import slow_nodes

HOSTS = 8
SLOWER = 0.9
"""Rate of the slow interface, as a share of the others'."""


def main() -> None:
    """Measure and print."""
    parser = emulated_cluster.parser("A slow interface among eight hosts.", keeps=False)
    parser.add_argument("--trials", type=int, default=100, help="with a slow host, and as many without (%(default)s)")
    parser.add_argument("--visits", type=int, default=1, help="of each tournament (%(default)s)")
    parser.add_argument("--largest", default="64KiB", help="message, where 1 MiB takes too long (%(default)s)")
    parser.set_defaults(rate=100e6)
    arguments = parser.parse_args()
    if problem := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    right = wrong = false = 0
    with emulated_cluster.cluster(HOSTS) as hosts, tempfile.TemporaryDirectory() as folder:
        environment = os.environ | emulated_cluster.mpi_environment() | dict(arguments.variable)
        for trial in range(2 * arguments.trials):
            slow = hosts[trial // 2 % HOSTS] if trial % 2 else ""
            emulated_cluster.set_rate(arguments.rate, hosts)
            if slow:
                emulated_cluster.set_rate(arguments.rate * SLOWER, (slow,))
            output = Path(folder, f"{trial}.jsonl")
            command = [
                *emulated_cluster.launcher(arguments.mpiexec, hosts, 1), sys.executable, "-m", "commmodel.bench",
                "matrix", "--sizes", f"8,{arguments.largest}", "--visits", str(arguments.visits),
                "--seed", str(trial + 1), "-o", str(output),
            ]  # fmt: skip
            subprocess.run(command, env=environment, capture_output=True, check=True, timeout=600)
            rows = slow_nodes(formats.load(output))
            for row in rows:
                if row.names != (slow,):
                    print(f"trial {trial}: {row.words}", flush=True)
            names = {row.names for row in rows}
            right += bool(slow) and (slow,) in names
            wrong += bool(slow) and bool(names - {(slow,)})
            false += not slow and bool(names)
    print(
        f"{right} of {arguments.trials} slow interfaces named; something else named in {wrong} of these trials, and in "
        f"{false} of {arguments.trials} without a slow one"
    )


if __name__ == "__main__":
    main()
