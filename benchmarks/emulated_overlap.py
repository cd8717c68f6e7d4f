"""Message sizes and bursts chosen by the model, against all others, on two emulated hosts: ``make cluster-bench``.

Between two hosts, one rank on each, the parameters are measured, and an exchange with computation in every
decomposition. `commmodel optimize --validate` then says what each choice loses. Root on Linux. Wanted: a loss of at
most 5 % in the median and 15 % at worst, and at least 90 % of what the best one hides; else the exit code is 1.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cluster import emulated
from rich.console import Console

from commmodel import report
from commmodel.fit import fit_machine
from commmodel.optimize.validation import validate
from commmodel.report.validated import validation_tables
from commmodel.results import read

MEDIAN, LARGEST, HIDDEN = 0.05, 0.15, 0.9
PARAMETERS = ("pingpong", "burst", "queue", "progress", "bandwidth", "--sizes", "1KiB:64KiB", "--bursts", "1,4,16")
"""More and larger messages only fill the link for longer."""
PROBLEMS = ("overlap", "--exhaustive", "--sizes", "1KiB:256KiB")


def measure(output: Path, mpiexec: str, hosts: Sequence[str], arguments: Sequence[str]) -> None:
    """Run the benchmark with one rank on each host."""
    command = [*emulated.launcher(mpiexec, hosts, 1), sys.executable, "-m", "commmodel.bench", "--seed", "1"]
    command += [*arguments, "-o", str(output)]
    environment = os.environ | emulated.mpi_environment() | {"ONE_PROCESSOR_EACH": "1"}
    completed = subprocess.run(command, env=environment, check=False)
    if completed.returncode:
        raise SystemExit(completed.returncode)


def main() -> None:
    """Measure, choose and print."""
    parser = argparse.ArgumentParser(description="Chosen message sizes and bursts on emulated hosts.")
    parser.add_argument("--rate", type=float, default=20e6, help="of each link, bits a second (20e6)")
    parser.add_argument("--volumes", default="16KiB:256KiB", help="bytes to exchange (16KiB:256KiB)")
    parser.add_argument("--work", default="1,2,4", help="computation, in half times of the transfer (1,2,4)")
    parser.add_argument("--operations", default="two-sided", help="two-sided, put, get (two-sided)")
    parser.add_argument("--time", default="5min", help="of the decompositions (5min)")
    parser.add_argument("--mpiexec", default=str(Path(sys.executable).with_name("mpiexec")), help="of the MPI library")
    parser.add_argument("--keep", type=Path, help="folder that keeps the measurements and a page (none)")
    asked = parser.parse_args()
    if problem := emulated.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    with tempfile.TemporaryDirectory() as temporary, emulated.cluster() as hosts:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        emulated.set_rate(asked.rate, hosts)
        parameters, problems = folder / "parameters.jsonl", folder / "problems.jsonl"
        operations = ("--operations", asked.operations)
        measure(parameters, asked.mpiexec, hosts, (*PARAMETERS, "--time", "60s", *operations))
        what = ("--volumes", asked.volumes, "--work", asked.work, "--time", asked.time)
        measure(problems, asked.mpiexec, hosts, (*PROBLEMS, *what, *operations))
        found = validate(read(problems), fit_machine(read(parameters)))
        if asked.keep:
            report.write_validation(str(folder / "overlap.html"), "two emulated hosts", found)
    Console(width=150).print(*validation_tables(found), sep="\n")
    for one in found.summaries:
        if one.median_loss is None or one.worst_loss is None or one.least_share_of_best is None:
            raise SystemExit(f"{one.operation}: nothing to hide in any case")
        kept = one.median_loss <= MEDIAN and one.worst_loss <= LARGEST and one.least_share_of_best >= HIDDEN
        print(
            f"{one.operation}, {one.template}, {one.cases} cases: loss {one.median_loss:.1%} in the median (wanted: at "
            f"most {MEDIAN:.0%}), {one.worst_loss:.1%} at worst ({LARGEST:.0%}), {one.least_share_of_best:.1%} of what "
            f"the best hides at least ({HIDDEN:.0%}): {'kept' if kept else 'not kept'}"
        )
        if not kept:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
