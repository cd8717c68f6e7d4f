"""`commmodel check` on collectives of emulated hosts, one planted: ``make cluster-bench`` (root, Linux).

One rank on each host, links of a known rate, so that the network and not the two processors decide how the operations
grow. Three things are asked of the check:

- the table of MPI's own expectations, on what the library does;
- a broadcast in which the root sends to each process in turn, which must be a mismatch for log p, and must not pass
  in the place of the library's broadcast of an earlier run;
- a second run of the same, which must not be called worse than the first.

The exit code is 1 where one of the last two fails.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from tools import emulated_cluster

from commmodel.results import Measurements, Writer, load
from commmodel.results.configurations import Collective

OPERATIONS = "barrier,bcast,reduce,allreduce,gather,allgather,alltoall,bcast_binary_tree,bcast_linear"
PLANTED = """
[[expectation]]
name = "bcast_linear"
expect = "log p"
"""


def measured(output: Path, arguments: argparse.Namespace, hosts: Sequence[str], seed: int) -> Path:
    """Run the benchmark with one rank on each host; return where the results are."""
    command = [
        *emulated_cluster.launcher(arguments.mpiexec, hosts, 1),
        sys.executable,
        "-m",
        "commmodel.bench",
        "collective",
    ]
    command += [
        "--collectives",
        arguments.operations,
        "--process-counts",
        arguments.procs,
        "--sizes",
        arguments.size,
        "--time",
        arguments.time,
    ]
    environment = os.environ | emulated_cluster.mpi_environment()
    for launch in range(arguments.launches):
        part = output.with_suffix(f".{launch}.jsonl")
        completed = subprocess.run(
            [*command, "--seed", str(seed + launch), "-o", str(part)],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if completed.returncode:
            raise SystemExit(completed.stderr)
        with output.open("ab") as together:
            together.write(part.read_bytes())
    return output


def planted(measurements: Measurements, path: Path) -> Path:
    """Write what would be measured if the library's broadcast were the linear one."""
    with Writer(path) as writer:
        for launch in measurements.launches:
            writer.write(launch.header)
            for record in launch.records:
                configuration = record.configuration
                if isinstance(configuration, Collective) and configuration.operation == "bcast_linear":
                    configuration = msgspec.structs.replace(configuration, operation="bcast")
                    writer.write(msgspec.structs.replace(record, configuration=configuration))
    return path


def checked(*arguments: str | Path) -> tuple[int, str]:
    """Return the exit code of `commmodel check` and what it prints."""
    command = [sys.executable, "-m", "commmodel", "check", *map(str, arguments)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    if completed.returncode not in {0, 1}:
        raise SystemExit(completed.stderr)
    return completed.returncode, completed.stdout


def verdicts(*arguments: str | Path) -> dict[str, str]:
    """Return the verdict on each operation."""
    _, text = checked(*arguments, "--json")
    return {row["name"]: row["verdict"] for row in msgspec.json.decode(text)["results"]}


def main() -> None:
    """Measure, check and print."""
    parser = emulated_cluster.parser("commmodel check on emulated hosts, with a planted broadcast.")
    parser.add_argument("--hosts", type=int, default=16, help="of one rank each (16)")
    parser.add_argument("--procs", default="2:all", help="numbers of processes (2:all)")
    parser.add_argument("--operations", default=OPERATIONS, help="bcast and bcast_linear among them (%(default)s)")
    parser.add_argument("--size", default="10KiB", help="of the messages: larger than a link's bucket, 8 kB (10KiB)")
    parser.add_argument("--time", default="30s", help="of each launch (30s)")
    parser.add_argument("--launches", type=int, default=3, help="of each of the two runs (3)")
    arguments = parser.parse_args()
    if problem := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with emulated_cluster.cluster(arguments.hosts) as hosts:
            emulated_cluster.set_rate(arguments.rate, hosts)
            before = measured(folder / "before.jsonl", arguments, hosts, 1)
            after = measured(folder / "after.jsonl", arguments, hosts, 101)
        print("The library's collectives:", checked("mpi", before)[1], sep="\n")
        expected = folder / "planted.toml"
        expected.write_text(PLANTED)
        print("A planted linear broadcast:", checked(expected, before)[1], sep="\n")
        instead = planted(load(after), folder / "instead.jsonl")
        caught, text = checked(instead, "--baseline", before)
        print("In the place of the library's broadcast:", text, sep="\n")
        code, text = checked(after, "--baseline", before)
        print("The same again, which is noise:", text, sep="\n")
        promises = {
            "planted, by itself: mismatch": verdicts(expected, before)["bcast_linear"] == "mismatch",
            "planted, against the earlier run: exit code 1": caught == 1,
            "noise only: exit code 0": code == 0,
        }
    for promise, so in promises.items():
        print(f"{promise}: {'kept' if so else 'not kept'}")
    raise SystemExit(0 if all(promises.values()) else 1)


if __name__ == "__main__":
    main()
