"""Is what we measure what a C program gets? Ours against a stand-alone program with its own MPI_Init, launch by launch.

Both make ping-pongs, streams and allreduces on two ranks: ours as ``python -m commmodel.bench``, the other as
``bench_c/build/<abi>/yardstick``. The yardstick is launched twice a round: the ratio of its two launches, the control,
is what this machine cannot tell apart. A third program times as the OSU Micro-Benchmarks do (``yardstick --as-osu``).
Run it as

    make -C bench_c && python -m benchmarks.speed.against_c --mpiexec "mpiexec -bind-to core"
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from benchmarks.speed.interleaved import Ratio, Row, Seconds, measure, ours, parser, table

from commmodel.units import format_size

TOLERANCE = 0.02
PROGRAMS = ("ours", "C", "C again")


def verdicts(rows: list[Row], found: dict[str, Seconds]) -> list[str]:
    """Return whether we are within the tolerance, a line for each row that the C program has, too, and for each loop.

    A loop's value of a launch is the geometric mean over its sizes: what scatters from size to size counts less in it.
    """
    lines = []
    shared = [row for row in rows if row in found["C"]]
    groups = {f"{kind}, {format_size(size)}": [(kind, size)] for kind, size in shared}
    for kind in dict.fromkeys(kind for kind, _ in shared):
        groups[f"{kind}, all sizes together"] = [row for row in shared if row[0] == kind]
    for words, group in groups.items():
        ours, c, again = (np.exp(np.mean([np.log(found[name][row]) for row in group], axis=0)) for name in PROGRAMS)
        ratio, control = Ratio.of(ours, c), Ratio.of(again, c)
        lines.append(
            f"{words}: within {100 * TOLERANCE:.0f} % of C: {ratio.verdict(TOLERANCE)} ({ratio}, control {control})"
        )
    return lines


def main() -> None:
    """Measure and print."""
    options = parser("Ours against a stand-alone C program.", launches=15)
    options.add_argument("--thread-level", default="single", help="of all programs (single)")
    options.add_argument("--build", type=Path, help="folder of the C program (bench_c/build/<abi>)")
    asked = options.parse_args()
    program = yardstick(asked.build)
    limits = ["--repetitions", str(asked.repetitions), "--sizes", ",".join(map(str, asked.sizes))]
    in_c = [str(program), "pingpong", "stream", "allreduce", *limits, "--thread-level", asked.thread_level]
    commands = {
        "ours": ours(asked, "--visits", "1", "--stream-buffers", "both", "--thread-level", asked.thread_level),
        "C": in_c,
        "C again": in_c,
        "as OSU": [*in_c, "--as-osu"],
    }
    found = measure(asked, commands)
    rows = list(dict.fromkeys(row for name in ("C", "as OSU") for row in found[name]))
    columns = {
        "ours / C": (found["ours"], found["C"]),
        "control: C / C": (found["C again"], found["C"]),
        "ours / as OSU": (found["ours"], found["as OSU"]),
    }
    print(*table(rows, found["ours"], columns), *verdicts(rows, found), sep="\n")


def yardstick(build: Path | None) -> Path:
    """Return the C program that was built, for the library of this interpreter's environment."""
    if build is None:  # asked of another process: one that has started MPI had better not start mpiexec
        code = "from commmodel._core.mpi import mpi_abi; print(mpi_abi())"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        build = Path(__file__).parents[2] / "bench_c" / "build" / told.stdout.strip()
    if not (build / "yardstick").is_file():
        sys.exit(f"{build / 'yardstick'} is missing: build it with make -C bench_c MPICC=mpicc")
    return build / "yardstick"


if __name__ == "__main__":
    main()
