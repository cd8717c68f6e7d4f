"""Tune an MPI library by measurement on emulated hosts, whose network is slower than their memory.

Prints the rules that win, with what they gain, those that do not, and how to use the file. Needs root, see
`tools.emulated_cluster`. Hosts share this machine's processors: on one with other work, few rules win.

    python -m benchmarks.validation.emulated_tuning --rate 100e6 --hosts 4
    python -m benchmarks.validation.emulated_tuning --rate 100e6 --hosts 2 --ranks 2 --seconds 600
"""

import os
import shlex
import tempfile
from pathlib import Path

from tools import emulated_cluster

from commmodel import tuning
from commmodel.results import library_name, load
from commmodel.simulate.scenario import machine_of_parameters
from commmodel.units import parse_sizes

_NETWORK = "L=40us,o=20us,g=20us,G={}ns"
"""Latency of the hosts' TCP, in round numbers, and the time of a byte."""


def main() -> None:
    """Tune and print."""
    parser = emulated_cluster.parser(str(__doc__).partition("\n")[0], keeps=False)
    parser.add_argument("--hosts", type=int, default=4, help="emulated hosts (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=1, help="ranks of a host (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=300.0, help="time of all launches (default: %(default)s)")
    parser.add_argument("--sizes", type=parse_sizes, default=[65536, 262144], help="message sizes (64KiB,256KiB)")
    parser.add_argument("--collectives", default="bcast,allreduce,allgather", help="operations (default: %(default)s)")
    parser.add_argument("--library", choices=("mpich", "openmpi"), default="mpich", help="that mpiexec is of")
    arguments = parser.parse_args()
    os.environ.update(emulated_cluster.mpi_environment(), **dict(arguments.variable))
    machine = machine_of_parameters(_NETWORK.format(8e9 / arguments.rate))
    with emulated_cluster.cluster(arguments.hosts) as names, tempfile.TemporaryDirectory() as folder:
        emulated_cluster.set_rate(arguments.rate, names)
        results = Path(folder) / "rules.jsonl"
        words = emulated_cluster.launcher(arguments.mpiexec, names, arguments.ranks)
        answer = tuning.tune(
            machine, [arguments.hosts * arguments.ranks], arguments.sizes, arguments.library,
            tuning.TuningLaunches(results, arguments.seconds, shlex.join(words)),
            collectives=arguments.collectives.split(","), per_node=arguments.ranks if arguments.ranks > 1 else None,
        )  # fmt: skip
        print(f"{library_name(load(results).launches[0].header)}: {answer.launches} launches, "
              f"{answer.pairs} pairs")  # fmt: skip
    for operation, size, processes, algorithm, gain, low, high, basis in answer.choices:
        if algorithm:
            print(f"{operation} of {size} B on {processes}: {algorithm}, {gain:.2f} [{low:.2f}, {high:.2f}], {basis}")
    print(*answer.dropped, *answer.usage("rules"), *answer.warnings, sep="\n")


if __name__ == "__main__":
    main()
