"""Collectives on eight emulated hosts, predicted from two of them: ``make cluster-bench`` (root, Linux).

The parameters of LogGP and pLogP are measured between two hosts, one rank on each. Broadcast, allgather and alltoall of
10 and 100 KiB are then measured on 2, 4 and 8 hosts and compared with what the parameters say. Which algorithm the
library takes is told to it by a file of rules that commmodel writes, so both are about the same one: binomial, ring,
pairwise, in the library's own form. Wanted: a median error below 15 %, none above 50 %; with less the exit code is 1.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from tools import emulated_cluster

from commmodel import predict
from commmodel.collectives.library import selection
from commmodel.collectives.library.selection import SelectionRule, Selector
from commmodel.fit import fit_machine
from commmodel.report.prediction.comparison import compared_tables
from commmodel.results import Measurements, load
from commmodel.units import parse_sizes

MEDIAN, LARGEST = 0.15, 0.5
MODELS = ("plogp", "loggp")
FORCED = Selector(
    "forced",
    (
        SelectionRule("bcast", "binomial"),
        SelectionRule("allgather", "ring"),
        SelectionRule("alltoall", "pairwise-xor"),  # what MPICH calls pairwise for a power of two
    ),
    fallback="mpich",
)


def measured(
    output: Path,
    mpiexec: str,
    hosts: Sequence[str],
    arguments: Sequence[str],
    rules: dict[str, str],
    ranks: int = 1,
    seed: int = 1,
) -> Measurements:
    """Run the benchmark with one rank on each host, or more, and once more for what it had no time for.

    A model of a partial calibration may be of another kind, so nothing is built on one.
    """
    command = [
        *emulated_cluster.launcher(mpiexec, hosts, ranks),
        sys.executable,
        "-m",
        "commmodel.bench",
    ]
    environment = os.environ | emulated_cluster.mpi_environment() | rules
    for words in ([*arguments, "--seed", str(seed)], ["--resume"]):
        completed = subprocess.run(
            [*command, *words, "-o", str(output)], env=environment, capture_output=True, text=True, check=False
        )
        if completed.returncode:
            raise SystemExit(completed.stderr)
        measurements = load(output)
        if not measurements.notes:
            return measurements
    raise SystemExit("\n".join(measurements.notes))


def forced(folder: Path, mpiexec: str) -> tuple[Selector, dict[str, str]]:
    """Return the rules, and the variables with which the library follows them."""
    path = folder / "rules"
    if b"Open MPI" in subprocess.check_output([mpiexec, "--version"]):
        names = {"alltoall": "pairwise", "bcast": "binomial-at-once", "allgather": "ring"}
        rules = tuple(SelectionRule(rule.operation, names[rule.operation]) for rule in FORCED.rules)
        selector = Selector("forced", rules, fallback="openmpi")
        selection.dump(selector, path, "openmpi")
        return selector, {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(path),
        }
    selection.dump(FORCED, path, "mpich")
    return FORCED, {
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(path),
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
    }


def main() -> None:
    """Measure, predict and print."""
    parser = emulated_cluster.parser("Collectives on emulated hosts, predicted and measured.")
    parser.add_argument("--hosts", type=int, default=8, help="a power of two (8)")
    parser.add_argument("--sizes", default="10KiB,100KiB", type=parse_sizes, help="of the collectives (10KiB,100KiB)")
    parser.add_argument("--time", default="90s", help="of each of the two measurements (90s)")
    arguments = parser.parse_args()
    if problem := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    with tempfile.TemporaryDirectory() as temporary, emulated_cluster.cluster(arguments.hosts) as hosts:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        emulated_cluster.set_rate(arguments.rate, hosts)
        upto = 1 << max(arguments.sizes).bit_length()  # the next power of two
        selector, rules = forced(folder, arguments.mpiexec)
        rest = ("--time", arguments.time)
        pair = measured(
            folder / "parameters.jsonl", arguments.mpiexec, hosts[:2],
            ("loggp", "plogp", "--sizes", f"1,64,1KiB:{upto}", *rest), {},
        )  # fmt: skip
        counts = f"2:{arguments.hosts}:*2"
        operations = ",".join(rule.operation for rule in selector.rules)
        # After a barrier: while ranks wait for a common start, a link's bucket fills, and then 8 kB pass at once.
        several = measured(
            folder / "collectives.jsonl", arguments.mpiexec, hosts,
            ("collective", "--start", "barrier", "--collectives", operations, "--process-counts", counts,
             "--sizes", ",".join(map(str, arguments.sizes)), *rest),
            rules,
        )  # fmt: skip
    comparison = predict.compare(fit_machine(pair), several, selector=selector, models=MODELS)
    Console(width=120).print(*compared_tables(comparison.rows, predict.summarise(comparison.rows)))
    verdicts = {
        model: judged(model, np.abs([row.relative_error(model) for row in comparison.rows])) for model in MODELS
    }
    raise SystemExit(0 if all(verdicts.values()) else 1)


def judged(model: str, errors: NDArray[np.float64]) -> bool:
    """Print and return whether the errors of a model are as small as wanted."""
    holds = bool(np.median(errors) < MEDIAN and errors.max() < LARGEST)
    print(
        f"{model}: median |E| {np.median(errors):.1%} (wanted: below {MEDIAN:.0%}), largest {errors.max():.1%} "
        f"(below {LARGEST:.0%}) of {errors.size}: {'kept' if holds else 'not kept'}"
    )
    return holds


if __name__ == "__main__":
    main()
