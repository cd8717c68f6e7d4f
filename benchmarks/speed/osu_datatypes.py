"""Are times of derived datatypes those of ``osu_latency -D``? Ours against OSU 7's program, launch by launch.

Both send a vector of pieces as one element of its MPI datatype between two ranks. OSU's is launched twice a round: the
ratio of its two launches, the control, is what this machine cannot tell apart. Both time each round trip by itself, so
the same low quantile of both is compared. Build the OSU Micro-Benchmarks with the library under test; then

    python -m benchmarks.speed.osu_datatypes .../osu_latency --mpiexec "mpiexec -bind-to core"
"""

import math
import random
import shlex
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from benchmarks.speed.interleaved import Ratio, parser

from commmodel.results import load
from commmodel.results.configurations import Datatype
from commmodel.units import format_size, format_time, parse_sizes

TOLERANCE = 0.03
FLOAT = 4  # bytes of the type of which pieces consist in both programs
Times = dict[int, float]
"""Bytes of all pieces -> seconds."""


def output_of(arguments: Namespace, *command: str) -> str:
    """Run a program on two ranks and return what it prints."""
    words = [*shlex.split(arguments.mpiexec), "-n", "2", *command]
    completed = subprocess.run(words, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise SystemExit(f"{shlex.join(words)} ended with exit code {completed.returncode}:\n{completed.stderr}")
    return completed.stdout


def osu_times(arguments: Namespace, block: int, extents: tuple[int, ...]) -> Times:
    """Launch OSU's program; the column of the quantile over that of the bytes that were sent."""
    words = ["-T", "mpi_float", "-D", f"vect:{2 * block // FLOAT}:{block // FLOAT}"]
    words += ["-m", f"{extents[0]}:{extents[-1]}", "-i", str(arguments.repetitions), "-x", "20"]
    printed = output_of(arguments, arguments.program, *words, f"-z{100 * arguments.quantile:.0f}")
    rows = [line.split() for line in printed.splitlines() if line[:1].isdigit()]
    if not rows or any(len(row) != 4 for row in rows):
        raise SystemExit(f"{arguments.program} prints no quantiles and bytes of datatypes: it needs OSU 7.4 or later")
    return {int(sent): float(quantile) / 1e6 for size, _, quantile, sent in rows if int(size) in extents}


def commmodel_times(arguments: Namespace, block: int, totals: tuple[int, ...], output: Path) -> Times:
    """Launch our benchmark for the bytes that OSU's sends."""
    words = ["datatype", "--layouts", "vector", "--ways", "type", "--blocks", str(block), "--strides", str(2 * block)]
    words += ["--totals", ",".join(map(str, totals)), "--buffers", "untouched", "--visits", "1", "--ci", "0.001%"]
    words += ["--repetitions", str(arguments.repetitions), "--time", arguments.time, "-o", str(output)]
    output_of(arguments, sys.executable, "-m", "commmodel.bench", *words)
    records = [record for record in load(output).records if isinstance(record.configuration, Datatype)]
    return {
        record.configuration.message_size: float(np.quantile(record.samples, arguments.quantile)) for record in records
    }


def main() -> None:
    """Measure and print."""
    options = parser("Times of derived datatypes against osu_latency -D.", launches=7)
    options.add_argument("program", help="osu_latency of OSU 7.4 or later")
    options.add_argument("--blocks", type=parse_sizes, default="4,60,508,8188", help="bytes of a piece (%(default)s)")
    arguments = options.parse_args()
    if wrong := [block for block in arguments.blocks if block % FLOAT]:
        options.error(f"--blocks: {wrong[0]} B is no whole number of floats of {FLOAT} B")
    order, within = random.Random(arguments.seed), []  # noqa: S311  (an order, no secret)
    print(f"{'piece':>8}{'together':>10}{'time':>10}{'ours / OSU':>26}{'control: OSU / OSU':>26}")
    for block in arguments.blocks:
        extents = tuple(2 ** round(math.log2(size)) for size in arguments.sizes if size >= 2 * block)
        seconds: Mapping[str, dict[int, list[float]]] = {
            name: defaultdict(list) for name in ("ours", "OSU", "OSU again")
        }
        totals = tuple(extent // (2 * block) * block for extent in extents)
        with tempfile.TemporaryDirectory() as folder:
            for number in range(arguments.launches):
                for name in order.sample(list(seconds), k=len(seconds)):
                    is_ours = name == "ours"
                    path = Path(folder) / f"{number}.jsonl"
                    times = (
                        commmodel_times(arguments, block, totals, path)
                        if is_ours
                        else osu_times(arguments, block, extents)
                    )
                    for total, value in times.items():
                        seconds[name][total].append(value)
        for total in totals:
            ratio = Ratio.of(seconds["ours"][total], seconds["OSU"][total])
            control = Ratio.of(seconds["OSU again"][total], seconds["OSU"][total])
            within.append(abs(ratio.median - 1) <= TOLERANCE)
            time = format_time(float(np.median(seconds["ours"][total])))
            print(f"{format_size(block):>8}{format_size(total):>10}{time:>10}{ratio!s:>26}{control!s:>26}")
    words = f"{sum(within)} of {len(within)} sizes, by the median of {arguments.launches} launches"
    print(f"within {TOLERANCE:.0%} of OSU: {words}")


if __name__ == "__main__":
    main()
