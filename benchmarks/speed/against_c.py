"""Is what we measure what a C program gets? Ours against a stand-alone program with its own MPI_Init, launch by launch.

Both start MPI and make ping-pongs, streams and allreduces on two ranks: ours as ``python -m commmodel.bench``, the
other as ``bench_c/build/<abi>/yardstick``. The yardstick is launched twice a round: the ratio of its two launches, the
control, is what this machine cannot tell apart. A third program times as the OSU Micro-Benchmarks do (``yardstick
--as-osu``).
Run it as

    make -C bench_c && python -m benchmarks.speed.against_c --mpiexec "mpiexec -bind-to core"
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from benchmarks.speed.interleaved import Ratio, Row, Seconds, measure, our_command, parser, table

from commmodel.units import format_size

TOLERANCE = 0.02
PROGRAMS = ("ours", "C", "C again")


def verdicts(rows: list[Row], seconds: dict[str, Seconds]) -> list[str]:
    """Return whether we are within the tolerance, a line for each row that the C program has, too, and for each loop.

    A loop's value of a launch is the geometric mean over its sizes: what scatters from size to size counts less in it.
    """
    lines = []
    shared = [row for row in rows if row in seconds["C"]]
    groups = {f"{kind}, {format_size(size)}": [(kind, size)] for kind, size in shared}
    for kind in dict.fromkeys(kind for kind, _ in shared):
        groups[f"{kind}, all sizes together"] = [row for row in shared if row[0] == kind]
    for words, group in groups.items():
        commmodel_seconds, c, again = (
            np.exp(np.mean([np.log(seconds[name][row]) for row in group], axis=0)) for name in PROGRAMS
        )
        ratio, control = Ratio.of(commmodel_seconds, c), Ratio.of(again, c)
        lines.append(
            f"{words}: within {100 * TOLERANCE:.0f} % of C: {ratio.verdict(TOLERANCE)} ({ratio}, control {control})"
        )
    return lines


def main() -> None:
    """Measure and print."""
    options = parser("Ours against a stand-alone C program.", launches=15)
    options.add_argument("--thread-level", default="single", help="of all programs (single)")
    options.add_argument("--build", type=Path, help="folder of the C program (bench_c/build/<abi>)")
    arguments = options.parse_args()
    program = yardstick(arguments.build)
    limits = ["--repetitions", str(arguments.repetitions), "--sizes", ",".join(map(str, arguments.sizes))]
    loops = ["pingpong", "stream", "allreduce", "start-up"]
    in_c = [str(program), *loops, *limits, "--thread-level", arguments.thread_level]
    commands = {
        "ours": our_command(
            arguments, "--visits", "1", "--stream-buffers", "both", "--thread-level", arguments.thread_level
        ),
        "C": in_c,
        "C again": in_c,
        "as OSU": [*in_c, "--as-osu"],
    }
    seconds = measure(arguments, commands)
    rows = list(dict.fromkeys(row for name in ("C", "as OSU") for row in seconds[name]))
    columns = {
        "ours / C": (seconds["ours"], seconds["C"]),
        "control: C / C": (seconds["C again"], seconds["C"]),
        "ours / as OSU": (seconds["ours"], seconds["as OSU"]),
    }
    print(*table(rows, seconds["ours"], columns), *verdicts(rows, seconds), sep="\n")


def yardstick(build: Path | None) -> Path:
    """Return the C program that was built, for the library of this interpreter's environment."""
    if build is None:  # asked of another process: one that has started MPI had better not start mpiexec
        code = "from commmodel._core.mpi import mpi_abi; print(mpi_abi())"
        printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        build = Path(__file__).parents[2] / "bench_c" / "build" / printed.stdout.strip()
    if not (build / "yardstick").is_file():
        sys.exit(f"{build / 'yardstick'} is missing: build it with make -C bench_c MPICC=mpicc")
    return build / "yardstick"


if __name__ == "__main__":
    main()
