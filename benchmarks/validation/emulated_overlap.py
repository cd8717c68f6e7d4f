"""Message sizes and bursts chosen by the model, against all others, on two emulated hosts: ``make cluster-bench``.

Between two hosts, one rank on each, the parameters are measured, and an exchange with computation in every
decomposition: several times over, in launches of their own, as what disturbs one of them lasts for seconds.
`commmodel optimize --validate` then says what each choice loses. Root on Linux. Wanted: a loss of at most 5 % in the
median and 15 % at worst, and in the median 90 % of what the best one hides; else the exit code is 1.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from tools import emulated_cluster

from commmodel import report
from commmodel.fit import fit_machine
from commmodel.optimize.validation import Validation, validate
from commmodel.report.overlap.validation import validation_tables
from commmodel.results import load, load_all

MEDIAN, LARGEST, HIDDEN = 0.05, 0.15, 0.9
PARAMETERS = ("pingpong", "burst", "queue", "progress", "bandwidth", "--sizes", "8,1KiB:64KiB", "--bursts", "1,4,16")
"""More and larger messages only fill the link for longer."""
PROBLEMS = ("overlap", "--exhaustive", "--sizes", "1KiB:1MiB")


def measure(output: Path, mpiexec: str, hosts: Sequence[str], arguments: Sequence[str], seed: int = 1) -> None:
    """Run the benchmark with one rank on each host."""
    command = [
        *emulated_cluster.launcher(mpiexec, hosts, 1),
        sys.executable,
        "-m",
        "commmodel.bench",
        "--seed",
        str(seed),
    ]
    command += [*arguments, "-o", str(output)]
    environment = os.environ | emulated_cluster.mpi_environment() | {"ONE_PROCESSOR_EACH": "1"}
    completed = subprocess.run(command, env=environment, check=False)
    if completed.returncode:
        raise SystemExit(completed.returncode)


def base_passes(problems: Path) -> int:
    """Return the base amount of computation that a launch found, so that others have the same problems."""
    options = load(problems).launches[0].header.options
    if options is None or options.passes is None:
        raise SystemExit(f"{problems}: its header does not say how much a base computation is")
    return options.passes


def main() -> None:
    """Measure, choose and print."""
    parser = emulated_cluster.parser("Chosen message sizes and bursts on emulated hosts.")
    parser.add_argument("--volumes", default="16KiB:128KiB", help="bytes to exchange (16KiB:128KiB)")
    parser.add_argument("--work", default="1,2,4", help="computation, in half times of the transfer (1,2,4)")
    parser.add_argument("--operations", default="two-sided", help="two-sided, put, get (two-sided)")
    parser.add_argument("--launches", type=int, default=3, help="of the decompositions (3)")
    parser.add_argument("--time", default="60s", help="of each of them (60s)")
    arguments = parser.parse_args()
    if reason := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {reason}")
    with tempfile.TemporaryDirectory() as temporary, emulated_cluster.cluster() as hosts:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        emulated_cluster.set_rate(arguments.rate, hosts)
        parameters = folder / "parameters.jsonl"
        problems = [folder / f"problems-{number}.jsonl" for number in range(1, arguments.launches + 1)]
        operations = ("--operations", arguments.operations)
        measure(parameters, arguments.mpiexec, hosts, (*PARAMETERS, "--time", "60s", *operations))
        options = ("--volumes", arguments.volumes, "--work", arguments.work, "--time", arguments.time)
        for number, problem in enumerate(problems, start=1):
            passes = [] if number == 1 else ["--passes", str(base_passes(problems[0]))]
            measure(problem, arguments.mpiexec, hosts, (*PROBLEMS, *options, *operations, *passes), seed=number)
        validation = validate(load_all(problems), fit_machine(load(parameters)))
        if arguments.keep:
            report.write_validation(str(folder / "overlap.html"), "two emulated hosts", validation)
    Console(width=150).print(*validation_tables(validation), sep="\n")
    raise SystemExit(0 if judged(validation) else 1)


def judged(validation: Validation) -> bool:
    """Print and return whether the choices are as good as wanted, all together."""
    shares = [case.share_of_best for case in validation.cases if case.share_of_best is not None]
    losses = [case.loss for case in validation.cases]
    if not shares:
        raise SystemExit("there is nothing to hide in any case")
    holds = median(losses) <= MEDIAN and max(losses) <= LARGEST and median(shares) >= HIDDEN
    print(
        f"{len(losses)} cases: loss {median(losses):.1%} in the median (wanted: at most {MEDIAN:.0%}), "
        f"{max(losses):.1%} at worst ({LARGEST:.0%}); of what the best hides {median(shares):.1%} in the median "
        f"(at least {HIDDEN:.0%}), {min(shares):.1%} at worst: {'kept' if holds else 'not kept'}"
    )
    return holds


if __name__ == "__main__":
    main()
