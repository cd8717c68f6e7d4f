"""What other programs do to the parameters of LogGP: ``python -m benchmarks.validation.loggp_under_load``.

Measures and fits two ranks' trains on the machine as it is, and again while as many processes as there are cores keep
them busy, in turns. A ratio is taken within a turn: busy over quiet, and of two quiet runs, one before and one after,
which is the control: what it is off from one, this machine cannot tell apart. Wanted: no parameter negative, every
ratio within 1.5. A second table derives the same from pLogP, where L is what is left of half an empty round trip when
g(0) is taken from it: often nothing between two ranks that share memory, and then it has no ratio.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.plogp import as_loggp
from commmodel.machine import LogGP
from commmodel.results import load

WITHIN = 1.5
NAMES = ("L", "o", "g", "G")
RUNS = ("quiet", "busy", "quiet again")
Parameters = dict[str, float]
Array = NDArray[np.float64]


def spin() -> None:
    """Keep a core busy until killed."""
    while True:
        pass


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Have so many processes that do nothing but run."""
    running = [multiprocessing.Process(target=spin, daemon=True) for _ in range(processes)]
    for process in running:
        process.start()
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.join()


def measured(folder: Path, name: str, arguments: argparse.Namespace) -> dict[str, Parameters]:
    """Measure once; return the parameters by trains and by pLogP, with the sums that predictions use."""
    output = folder / f"{name}.jsonl"
    command = [*arguments.mpiexec.split(), "-n", "2", sys.executable, "-m", "commmodel.bench", "loggp", "plogp"]
    command += ["--sizes", arguments.sizes, "--time", arguments.time, "-o", str(output), "--seed", "1"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise SystemExit(completed.stderr)
    machine = fit_machine(load(output), limits=[], settings=FitSettings(samples=20))
    return {
        "trains": parameters(machine.segments[0].loggp),
        "pLogP": parameters(as_loggp(machine.plogp[0], -1, np.inf)),
    }


def parameters(model: LogGP | None) -> Parameters:
    """Return the numbers of a model and the time of a small message that they give."""
    if model is None or model.G is None:
        raise SystemExit("the measurements do not determine LogGP: give more --time")
    numbers = {name: getattr(model, name).value for name in NAMES}
    return numbers | {"L + 2 o": numbers["L"] + 2 * numbers["o"]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="LogGP on a quiet and on a busy machine.")
    parser.add_argument("--turns", type=int, default=5, help="of quiet, busy, quiet (5)")
    parser.add_argument("--time", default="10s", help="of one measurement (10s)")
    parser.add_argument("--sizes", default="1:4KiB", help="of messages, within one protocol (1:4KiB)")
    parser.add_argument(
        "--mpiexec", default=f"{Path(sys.executable).with_name('mpiexec')}", help="launcher, options too"
    )
    parser.add_argument("--busy", type=int, default=os.cpu_count() or 1, help="processes (one a core)")
    arguments = parser.parse_args()
    runs: dict[str, list[dict[str, Parameters]]] = {name: [] for name in RUNS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(arguments.turns):
            for name in RUNS:
                with busy(arguments.busy if name == "busy" else 0):
                    runs[name].append(measured(Path(folder), f"{turn}-{name}", arguments))
    print(f"{arguments.turns} turns, {arguments.busy} busy processes, {arguments.time} each, sizes {arguments.sizes}")
    for way in ("trains", "pLogP"):
        print(f"\n{way:10} {'quiet':>12} {'busy':>12} {'busy / quiet':>22} {'quiet / quiet':>22}")
        for parameter in (*NAMES, "L + 2 o"):
            row(way, parameter, runs)


def row(way: str, parameter: str, runs: dict[str, list[dict[str, Parameters]]]) -> None:
    """Print the medians of a parameter and of its ratios, with the extremes of the latter."""
    of = {name: np.array([run[way][parameter] for run in several]) for name, several in runs.items()}
    ratios = [ratio_cell(of["busy"], of["quiet"]), ratio_cell(of["quiet again"], of["quiet"])]
    median = {name: float(np.median(values)) for name, values in of.items()}
    negative = min(values.min() for values in of.values()) < 0
    verdict = "negative!" if negative else f"beyond {WITHIN:g}" if beyond(of["busy"], of["quiet"]) else ""
    print(f"{parameter:10} {median['quiet']:12.3e} {median['busy']:12.3e} {ratios[0]:>22} {ratios[1]:>22}  {verdict}")


def ratio_cell(above: Array, below: Array) -> str:
    """Return the median and the extremes of the ratios of each turn."""
    if min(above.min(), below.min()) <= 0:
        return f"0 in {np.count_nonzero(np.minimum(above, below) <= 0)} of {above.size} turns"
    ratios = above / below
    return f"{np.median(ratios):.2f} [{ratios.min():.2f}, {ratios.max():.2f}]"


def beyond(above: Array, below: Array) -> bool:
    """Return whether the median of the ratios is off by more than is wanted."""
    if min(above.min(), below.min()) <= 0:
        return False
    return not 1 / WITHIN <= float(np.median(above / below)) <= WITHIN


if __name__ == "__main__":
    main()
