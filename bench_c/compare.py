"""What our harness costs over plain C: ``mpiexec -n 2 python bench_c/compare.py [LOOP]``; ``--help`` lists the loops.

In each round and at each message size, every contestant (`contestants.py`) makes the same number of
exchanges or trains, in several short slices and in shuffled order, so that whatever else the machine does strikes all
of them alike. A round gives each the median of its messages' times; a ratio is taken within a round, to C
copy A. The verdict at a size: is the median ratio of the compiled core within 2 %? Beside it stands the
control, C copy B over C copy A; where that is off by more itself, the verdict is "unclear".
"""

import argparse
import contextlib
import io
import random
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NoReturn

import contestants
import msgspec
import numpy as np
from mpi4py import MPI

from commmodel._core.mpi import mpi_abi
from commmodel.bench.buffers import allocate
from commmodel.bench.clock import choose
from commmodel.bench.kernels.kernel import stride
from commmodel.errors import CommModelError, InputError, MPIEnvironmentError
from commmodel.results import Clock
from commmodel.statistics import summarise
from commmodel.units import format_ratio, format_size, format_time, parse_sizes, parse_time

TOLERANCE = 0.02
FEWEST_ROUNDS = 7
LARGEST_SIZE = 2**31 - 1  # the C loop's count is an int
SLICES = 5  # of a round, for each contestant
LEAST_REPETITIONS = 10  # of a slice
SHORTEST = 1e-9  # seconds of a message; the second rank of touched ones has only times of its touching, 0 at 0 B
UNTIMED = 2  # repetitions at the start of a slice, while the ranks get into step
CALIBRATION_REPETITIONS = 50
HUGE_PAGES = "never"


class Ratio(msgspec.Struct, frozen=True):
    """Ratios of one contestant to C copy A over the rounds; `low` to `high` is the interval of the median."""

    median: float
    low: float | None
    high: float | None
    minimum: float
    maximum: float


class Comparison(msgspec.Struct, frozen=True):
    """One message size: each contestant's median time in each round (`rounds`), and what follows from it."""

    message_size: int
    repetitions_per_round: int
    seconds: dict[str, float]
    ratios: dict[str, Ratio]
    verdict: Literal["yes", "no", "unclear"]
    rounds: dict[str, list[float]]


class Report(msgspec.Struct, frozen=True):
    """All that `--json` prints."""

    loop: str
    mpi: str
    clock: Clock
    huge_pages: str
    batch: int
    rounds: int
    slices: int
    seed: int
    tolerance: float
    contestants: dict[str, str]
    results: list[Comparison]


class Arguments(msgspec.Struct, frozen=True):
    """The command line."""

    loop: str
    sizes: tuple[int, ...]
    rounds: int
    seconds: float
    batch: int
    seed: int
    build: Path
    json: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see --help")


def parse(argv: Sequence[str] | None) -> Arguments:
    parser = _Parser(
        description="Compare a loop of commmodel with the same loop in plain C, the ping-pong also with one in Python.",
        epilog="example: mpiexec -n 2 python bench_c/compare.py --sizes 1:64KiB:*8 --repetitions 25",
    )
    parser.add_argument(
        "loop", nargs="?", choices=contestants.CONTESTS, default="pingpong", help="what is compared (%(default)s)"
    )
    sizes = ", ".join(f"{name} {contest.sizes}" for name, contest in contestants.CONTESTS.items())
    batches = ", ".join(f"{name} {contest.batch}" for name, contest in contestants.CONTESTS.items())
    parser.add_argument("--sizes", help=f"message sizes ({sizes})")
    parser.add_argument("--repetitions", type=int, default=15, help="interleaved rounds (%(default)s)")
    parser.add_argument("--time", default="40ms", help="of each contestant in each round (%(default)s)")
    parser.add_argument("--batch", type=int, help=f"exchanges timed together, or messages of a train ({batches})")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a round (%(default)s)")
    parser.add_argument("--build", type=Path, help="folder of the shared objects (bench_c/build/<abi>)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    with contextlib.redirect_stdout(sys.stdout if MPI.COMM_WORLD.rank == 0 else io.StringIO()):
        given = parser.parse_args(argv)
    contest = contestants.CONTESTS[given.loop]
    sizes, batch = parse_sizes(given.sizes or contest.sizes), contest.batch if given.batch is None else given.batch
    if sizes[-1] > LARGEST_SIZE:
        raise InputError(f"--sizes {given.sizes}: at most {LARGEST_SIZE} bytes, as the C loop counts in int")
    if given.repetitions < FEWEST_ROUNDS:
        raise InputError(f"--repetitions {given.repetitions}: a verdict takes at least {FEWEST_ROUNDS} rounds")
    if batch < 1:
        raise InputError(f"--batch {batch}: at least one exchange or message must be timed")
    build = given.build or Path(__file__).parent / "build" / mpi_abi()
    seconds = parse_time(given.time)
    return Arguments(given.loop, sizes, given.repetitions, seconds, batch, given.seed, build, given.json)


def repetitions_per_slice(pair: contestants.Pair, loop: contestants.Loop, size: int, seconds: float) -> int:
    """Return how many repetitions fill a slice, the same number on both ranks."""
    loop(size, CALIBRATION_REPETITIONS)
    message = float(loop(size, CALIBRATION_REPETITIONS).min())  # a disturbance must not shorten every slice
    return int(
        pair.comm.bcast(max(LEAST_REPETITIONS, round(seconds / SLICES / (pair.messages * max(message, SHORTEST)))))
    )


def measure_round(
    loops: dict[str, contestants.Loop], size: int, repetitions: int, order: random.Random
) -> dict[str, float]:
    """Return the median time of a message of each contestant."""
    samples: dict[str, list[np.ndarray]] = {name: [] for name in loops}
    for _ in range(SLICES):
        for name in order.sample(list(loops), k=len(loops)):
            samples[name].append(loops[name](size, UNTIMED + repetitions)[UNTIMED:])
    return {name: float(np.median(np.concatenate(parts))) for name, parts in samples.items()}


def _ratio(contestant: Sequence[float], base: Sequence[float]) -> Ratio:
    found = summarise(np.asarray(contestant) / np.asarray(base))
    bounded = np.isfinite(found.low)
    return Ratio(
        found.median,
        found.low if bounded else None,
        found.high if bounded else None,
        found.minimum,
        found.maximum,
    )


def judge(control: Ratio, cython: Ratio) -> Literal["yes", "no", "unclear"]:
    """Return whether the compiled core is within the tolerance of C, as far as the control lets one say."""
    if abs(control.median - 1) > TOLERANCE:
        return "unclear"
    return "yes" if abs(cython.median - 1) <= TOLERANCE else "no"


def compare(rounds: dict[str, list[float]], size: int, repetitions: int) -> Comparison:
    """Summarise one message size."""
    ratios = {name: _ratio(times, rounds["c_a"]) for name, times in rounds.items() if name != "c_a"}
    seconds = {name: summarise(times).median for name, times in rounds.items()}
    verdict = judge(ratios["c_b"], ratios["cython"])
    return Comparison(size, repetitions * SLICES, seconds, ratios, verdict, rounds)


def library_name() -> str:
    """Return the start of the library's own description: its name and version."""
    return " ".join(MPI.Get_library_version().splitlines()[0].partition(",")[0].split())


def measure(arguments: Arguments, comm: MPI.Intracomm) -> Report:
    """Make all rounds; both ranks return a report of their own times, that of rank 0 counts."""
    contest = contestants.CONTESTS[arguments.loop]
    largest = max(stride(arguments.sizes[-1]), 1)
    send_buffer = allocate(contest.room * largest, HUGE_PAGES)
    places = arguments.batch if contest.messages == 1 else 1
    receive_buffer = allocate(max(places, contest.room) * largest, HUGE_PAGES)
    messages = contest.messages * arguments.batch
    pair = contestants.Pair(comm, send_buffer, receive_buffer, arguments.batch, messages, choose())
    loops = contest.loops(pair, arguments.build)
    repetitions = {size: repetitions_per_slice(pair, loops["c_a"], size, arguments.seconds) for size in arguments.sizes}
    order = random.Random(arguments.seed)  # noqa: S311  (an order, no secret)
    rounds: dict[int, dict[str, list[float]]] = {size: {name: [] for name in loops} for size in arguments.sizes}
    for _ in range(arguments.rounds):
        for size in arguments.sizes:
            for name, seconds in measure_round(loops, size, repetitions[size], order).items():
                rounds[size][name].append(seconds)
    return Report(
        loop=arguments.loop,
        mpi=library_name(),
        clock=pair.clock,
        huge_pages=HUGE_PAGES,
        batch=arguments.batch,
        rounds=arguments.rounds,
        slices=SLICES,
        seed=arguments.seed,
        tolerance=TOLERANCE,
        contestants=contest.descriptions,
        results=[compare(rounds[size], size, repetitions[size]) for size in arguments.sizes],
    )


def _shown(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.median:.3f} ({ratio.minimum:.3f}–{ratio.maximum:.3f})"
    return f"{ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def show(report: Report) -> None:
    """Print the table and the verdicts."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title=f"{report.mpi}: {report.loop}, time of one message", title_justify="left")
    names = {"c_b": "C B", "cython": "Cython", "mpi4py": "mpi4py"}
    shown = {name: f"{title} / C A" for name, title in names.items() if name in report.contestants}
    for column in ("size", "C A", *shown.values()):
        table.add_column(column, justify="right", no_wrap=True)
    for result in report.results:
        ratios = [_shown(result.ratios[name]) for name in shown]
        table.add_row(format_size(result.message_size), format_time(result.seconds["c_a"]), *ratios)
    console = Console(force_terminal=False, highlight=False)  # Open MPI gives ranks a terminal of its own making
    console.width = max(console.width, 100)  # ranks rarely know the width of the terminal
    console.print(table)
    kind = "[95 % interval]" if report.results[0].ratios["c_b"].low is not None else "(smallest–largest)"
    print(f"Medians {kind} of {report.rounds} rounds, batch {report.batch}, seed {report.seed}.")
    if "mpi4py" in report.contestants:
        print(f"mpi4py: {report.contestants['mpi4py']}.")
    for result in report.results:
        control, cython = result.ratios["c_b"].median, result.ratios["cython"].median
        reason = ", as two copies of the C loop differ by more: run it on a quieter machine"
        print(
            f"{format_size(result.message_size)}: Cython within {format_ratio(report.tolerance)} of C: "
            f"{result.verdict}{reason if result.verdict == 'unclear' else ''} "
            f"(Cython / C {cython:.3f}, control {control:.3f})"
        )


def run(argv: Sequence[str] | None = None) -> int:
    comm = MPI.COMM_WORLD
    try:
        arguments = parse(argv)
        if comm.size != 2:
            raise MPIEnvironmentError("needs two ranks: mpiexec -n 2 python bench_c/compare.py")
        report = measure(arguments, comm)
    except CommModelError as error:
        if comm.rank == 0:
            print(f"compare.py: {error}", file=sys.stderr)
        comm.Barrier()  # a rank that ended first with an exit code would have the others killed unheard
        return error.exit_code
    except Exception:  # whatever it was: the other rank waits for a message that will not come
        traceback.print_exc()
        comm.Abort(1)
    if comm.rank == 0:
        if arguments.json:
            print(msgspec.json.encode(report).decode())
        else:
            show(report)
    return 0


if __name__ == "__main__":
    sys.exit(run())
