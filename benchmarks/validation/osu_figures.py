"""OSU's benchmarks on simulated ranks: ``python -m benchmarks.validation.osu_figures FOLDER``.

FOLDER is ``c`` of the sources of the OSU micro-benchmarks (7.x), which need no configure; only the number of digits
that they print is set. What `osu_latency`, `osu_bw`, `osu_allreduce` and `osu_alltoall` print is held against the same
messages simulated without any program. Wanted is 1e-6; where a figure is farther away, the exit code is 1.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from tools.peers import ours, platforms, smpi
from tools.peers.programs import compiled

from commmodel.simulate import OPERATION, SMPI, Code, Program, run, smpi_collectives
from commmodel.simulate.operations import ANY, UNNAMED
from commmodel.simulate.work import mark, pair, sequence

NEAR = 1e-6
ROUNDS, SKIPPED, WINDOW = 5, 2, 64
SMALLEST, LARGEST = 8, 65536
BENCHMARKS = {
    "osu_latency": "pt2pt/standard", "osu_bw": "pt2pt/standard", "osu_allreduce": "collective/blocking",
    "osu_alltoall": "collective/blocking",
}  # fmt: skip
UTILITIES = ("osu_util", "osu_util_mpi", "osu_util_graph", "osu_util_papi", "osu_util_validation")


def operations(calls: Sequence[tuple[Code, int, float]]) -> np.ndarray:
    """Return the operations of a rank from codes, peers and sizes."""
    return np.array([(code, peer, 0, UNNAMED, value) for code, peer, value in calls], dtype=OPERATION)


def latency(size: int, _: int, kind: str, hosts: int) -> float:
    """Return microseconds of half a round trip."""
    return 1e6 * run(pair(size), SMPI, ours.platform(kind, hosts)).seconds / 2


def bandwidth(size: int, _: int, kind: str, hosts: int) -> float:
    """Return MB/s of windows of messages, each with an answer."""
    wait_all = (Code.WAITALL, ANY, 0.0)
    windows = [
        operations([*[(Code.ISEND, 1, float(size))] * WINDOW, wait_all, (Code.RECV, 1, 1.0)]),
        operations([*[(Code.IRECV, 0, float(size))] * WINDOW, wait_all, (Code.SEND, 0, 1.0)]),
    ]
    times = marked([Program.from_ranks(windows)] * (SKIPPED + ROUNDS), [], 2, kind, hosts)[:, 0]
    return 1e-6 * size * WINDOW * ROUNDS / float(times.sum())


def collective(operation: str) -> Callable[[int, int, str, int], float]:
    """Return the function that gives the mean microseconds of a collective over ranks, a barrier after each."""

    def mean(size: int, processes: int, kind: str, hosts: int) -> float:
        rounds = [
            smpi_collectives.program(operation, size, processes, number=2 * number + 1)
            for number in range(SKIPPED + ROUNDS)
        ]
        barriers = [
            smpi_collectives.program("barrier", 0, processes, number=2 * number + 2)
            for number in range(SKIPPED + ROUNDS)
        ]
        return 1e6 * float(marked(rounds, barriers, processes, kind, hosts).mean())

    return mean


def marked(rounds: Sequence[Program], barriers: Sequence[Program], processes: int, kind: str, hosts: int) -> np.ndarray:
    """Return the seconds of each measured round on each rank, shape (rounds, ranks)."""
    parts = [smpi_collectives.program("barrier", 0, processes)]
    for number, program in enumerate(rounds):
        parts += [mark(processes, 2 * number), program, mark(processes, 2 * number + 1), *barriers[number : number + 1]]
    outcome = run(sequence(parts), SMPI, ours.platform(kind, hosts))
    times = np.zeros((2 * len(rounds), processes))
    times[outcome.marks["number"], outcome.marks["rank"]] = outcome.marks["time"]
    return (times[1::2] - times[::2])[SKIPPED:]


OFF_LINE = {
    "osu_latency": latency, "osu_bw": bandwidth, "osu_allreduce": collective("allreduce"),
    "osu_alltoall": collective("alltoall"),
}  # fmt: skip


def printed(program: Path, platform: Path, processes: int) -> dict[int, float]:
    """Return size -> figure of a benchmark on simulated ranks."""
    words = ["run", "-p", processes, "--compute", 0, "--selector", "smpi", "--", program]
    options = ["-m", f"{SMALLEST}:{LARGEST}", "-i", ROUNDS, "-x", SKIPPED]
    command = [sys.executable, "-m", "commmodel", "simulate", platform, *words, *options]
    lines = (line.split() for line in smpi.measured(list(map(str, command))).output.splitlines())
    return {int(words[0]): float(words[1]) for words in lines if len(words) == 2 and words[0].isdecimal()}


def main() -> None:
    """Run the benchmarks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="c of the sources of the OSU micro-benchmarks")
    parser.add_argument("--processes", type=int, default=16, help="of collectives (%(default)s)")
    parser.add_argument("--kind", default="flat", choices=platforms.KINDS, help="of the platform (%(default)s)")
    options = parser.parse_args()
    util = options.folder / "util"
    if not (util / "osu_util.c").is_file():
        raise SystemExit(f"{options.folder}: not the folder of OSU's C benchmarks: util/osu_util.c is missing")
    table = Table("benchmark", "bytes", "printed", "off line", "difference", title="OSU on simulated ranks", box=None)
    worst = 0.0
    with tempfile.TemporaryDirectory() as temporary:
        build = Path(temporary)
        platform = build / "platform.xml"
        platform.write_text(platforms.platform(options.kind, options.processes))
        sources = [str(util / f"{name}.c") for name in UTILITIES]
        flags = ("-DFLOAT_PRECISION=9", f"-I{util}", *sources, "-lm", "-lpthread")
        for name, folder in BENCHMARKS.items():
            program = compiled(options.folder / "mpi" / folder / f"{name}.c", build / name, *flags)
            processes = 2 if folder.startswith("pt2pt") else options.processes
            for size, figure in printed(program, platform, processes).items():
                expected = OFF_LINE[name](size, processes, options.kind, options.processes)
                error = abs(figure / expected - 1)
                worst = max(worst, error)
                far = " FAR" * (error > NEAR)
                table.add_row(name, str(size), f"{figure:.9f}", f"{expected:.9f}", f"{error:.1e}{far}")
    Console(width=120).print(table)
    print(f"{table.row_count} figures, largest difference {worst:.1e}, wanted {NEAR:g}")
    raise SystemExit(0 if worst <= NEAR else 1)


if __name__ == "__main__":
    main()
