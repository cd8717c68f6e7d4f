"""Heat in a plate, its rows shared out among the ranks: ``mpiexec -n 2 python examples/halo.py``.

In each step a rank needs the last row of the rank above and the first of the one below. It begins to exchange them,
computes the rows that need neither, and then those at the border piece by piece, as the neighbours' rows come. The
message size and the burst are chosen by `commmodel.optimize.choose`, from a machine file or from a few numbers measured
here. The result is compared with that of one rank, bit for bit: exit code 1 where they differ.
"""

import argparse
import contextlib
import io
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from mpi4py import MPI

from commmodel.errors import CommModelError, InputError
from commmodel.machine import load
from commmodel.optimize import Candidates, Choice, MessageCosts, TransferProblem, choose
from commmodel.overlap import Exchange, Transfer
from commmodel.units import format_size

ROWS_AT_ONCE = 16
"""Rows of the interior between two calls of MPI."""


def heated(rows: int, columns: int) -> np.ndarray:
    """Return the plate at the start, warm everywhere and hot at its upper edge."""
    plate = np.random.default_rng(1).random((rows, columns))
    plate[0] = 10
    return plate


def spread(above: np.ndarray, here: np.ndarray, below: np.ndarray, new: np.ndarray) -> None:
    """Compute one step of `here` into `new`, but for the first and the last column."""
    new[..., 1:-1] = 0.25 * (above[..., 1:-1] + below[..., 1:-1] + here[..., :-2] + here[..., 2:])


def serial(rows: int, columns: int, steps: int) -> np.ndarray:
    """Return the plate after so many steps, computed by one rank; its edges keep their temperature."""
    old = heated(rows, columns)
    new = old.copy()
    for _ in range(steps):
        spread(old[:-2], old[1:-1], old[2:], new[1:-1])
        old, new = new, old
    return old


class Strip:
    """The rows of one rank, with one more on each side, as they are and as they will be."""

    def __init__(self, comm: MPI.Comm, rows: int, columns: int) -> None:
        self.comm = comm
        first, end = (rank * rows // comm.size for rank in (comm.rank, comm.rank + 1))
        self.old = np.zeros((end - first + 2, columns))
        plate = heated(rows, columns)
        self.old[1:-1] = plate[first:end]
        self.new = self.old.copy()
        self.above = comm.rank - 1 if comm.rank else MPI.PROC_NULL
        self.below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
        # The plate's edges stay as they are.
        self.upper = 1 if comm.rank else 2
        self.lower = end - first if comm.rank + 1 < comm.size else end - first - 1

    def swap(self) -> None:
        """Go on to the next step."""
        self.old, self.new = self.new, self.old

    def exchange_blocking(self) -> None:
        """Bring the neighbours' rows, in one message each."""
        self.comm.Sendrecv(self.old[1], self.above, 0, self.old[-1], self.below, 0)
        self.comm.Sendrecv(self.old[-2], self.below, 0, self.old[0], self.above, 0)

    def compute(self, first: int, end: int) -> Iterator[None]:
        """Compute some rows, a few at a time: they stay in the cache, and MPI can be called between."""
        for top in range(first, end, ROWS_AT_ONCE):
            bottom = min(top + ROWS_AT_ONCE, end)
            old, new = self.old, self.new
            spread(old[top - 1 : bottom - 1], old[top:bottom], old[top + 1 : bottom + 1], new[top:bottom])
            yield

    def compute_all(self) -> None:
        """Compute all rows, once the neighbours' are there."""
        for _ in self.compute(self.upper, self.lower + 1):
            pass

    def compute_interior(self) -> Iterator[None]:
        """Compute the rows that need no neighbour's."""
        return self.compute(2, len(self.old) - 2)

    def border(self, old: np.ndarray, new: np.ndarray, row: int) -> Callable[[np.ndarray, int], None]:
        """Return the function that computes a part of a border row, when a part of the row beyond has come."""

        def compute(piece: np.ndarray, start: int) -> None:
            columns = slice(max(0, start - 1), start + piece.size + 1)
            spread(old[row - 1, columns], old[row, columns], old[row + 1, columns], new[row, columns])

        return compute

    def transfers(self) -> list[Transfer]:
        """Return the exchange of this step: all send up and receive from below, then the other way."""
        old, new, last = self.old, self.new, len(self.old) - 2
        return [
            Transfer(
                send=old[1], dest=self.above, receive=old[-1], source=self.below, compute=self.border(old, new, last)
            ),
            Transfer(
                send=old[last], dest=self.below, receive=old[0], source=self.above, compute=self.border(old, new, 1)
            ),
        ]


def step_blocking(comm: MPI.Comm, asked: argparse.Namespace) -> tuple[Strip, float]:
    """Return the strip after all steps and the seconds of the slowest rank: exchange, then compute."""
    strip = Strip(comm, asked.rows, asked.columns)
    comm.Barrier()
    start = time.perf_counter()
    for _ in range(asked.steps):
        strip.exchange_blocking()
        strip.compute_all()
        strip.swap()
    return strip, comm.allreduce(time.perf_counter() - start, op=MPI.MAX)


def step_overlapped(comm: MPI.Comm, asked: argparse.Namespace, choice: Choice) -> tuple[Strip, float]:
    """Return the same, with computation while the neighbours' rows are on their way."""
    strip = Strip(comm, asked.rows, asked.columns)
    this = Exchange.from_choice(comm, strip.transfers(), choice)
    strip.swap()
    other = Exchange.from_choice(comm, strip.transfers(), choice)
    strip.swap()
    with this, other:
        comm.Barrier()
        start = time.perf_counter()
        for _ in range(asked.steps):
            this.run(strip.compute_interior)
            strip.swap()
            this, other = other, this
        return strip, comm.allreduce(time.perf_counter() - start, op=MPI.MAX)


def seconds_of(work: Callable[[], object], repetitions: int = 50) -> float:
    """Return the median time of some work."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def measured(comm: MPI.Comm, volume: int) -> dict[str, float]:
    """Return o, L and G of an exchange, roughly: as rank 0 finds them with rank 1, or with itself where it is alone."""
    found = {}
    if comm.rank < 2:
        peer = min(comm.size - 1, 1 - comm.rank)
        large, small = np.zeros(max(volume, 1 << 16), np.uint8), np.zeros(8, np.uint8)
        into = large.copy()
        both = [comm.Recv_init(into[:8], peer, 1), comm.Send_init(small, peer, 1)]

        def begin() -> None:
            for request in both:
                request.Start()

        def time_of_beginning() -> float:
            start = time.perf_counter()
            begin()
            passed = time.perf_counter() - start
            MPI.Request.Waitall(both)
            return passed

        short = seconds_of(lambda: comm.Sendrecv(small, peer, 0, into[:8], peer, 0))
        long = seconds_of(lambda: comm.Sendrecv(large, peer, 0, into, peer, 0))
        overhead = float(np.median([time_of_beginning() for _ in range(50)]))
        found = {
            "overhead": overhead,
            "latency": max(0.0, short - overhead),
            "byte_time": max(1e-12, (long - short) / large.size),
        }
        for request in both:
            request.Free()
    return comm.bcast(found)


def chosen(comm: MPI.Comm, asked: argparse.Namespace) -> Choice:
    """Return the message size and the burst for the rows at the borders; the same on all ranks."""
    row = [np.zeros(asked.columns) for _ in range(4)]
    computation = comm.bcast(seconds_of(lambda: spread(*row)))
    volume = 8 * asked.columns
    costs = MessageCosts(load(asked.machine)) if asked.machine else MessageCosts(**measured(comm, volume))
    whole_numbers = [8 << power for power in range(volume.bit_length()) if 8 << power < volume]
    # A rank at the plate's edge has one neighbour less; it takes what is good for the others.
    problem = TransferProblem(volume, computation, "multiple-end-points-contiguous", peers=2)
    return choose(costs, problem, Candidates(sizes=[*whole_numbers, volume]))


def parsed(comm: MPI.Comm) -> argparse.Namespace:
    """Return the arguments; rank 0 alone says what is wrong with them."""
    parser = argparse.ArgumentParser(
        description="Heat in a plate, with and without computation while the neighbours' rows are on their way.",
        epilog="Example: mpiexec -n 4 python examples/halo.py --rows 512 --columns 65536 --machine machine.toml",
    )
    parser.add_argument("--rows", type=int, default=256, help="of the plate, at least 2 for each rank (256)")
    parser.add_argument("--columns", type=int, default=8192, help="of the plate, at least 3 (8192)")
    parser.add_argument("--steps", type=int, default=20, help="in time (20)")
    parser.add_argument(
        "--machine", help="machine.toml or the name of a published machine; else measured here, roughly"
    )
    sink = io.StringIO()
    with contextlib.ExitStack() as quiet:
        if comm.rank:
            quiet.enter_context(contextlib.redirect_stdout(sink))
            quiet.enter_context(contextlib.redirect_stderr(sink))
        return parser.parse_args()


def run(comm: MPI.Comm, asked: argparse.Namespace) -> int:
    """Compute both ways, compare, and print on rank 0."""
    if asked.rows < 2 * comm.size or asked.columns < 3 or asked.steps < 0:
        raise InputError(
            f"{asked.rows} rows, {asked.columns} columns, {asked.steps} steps on {comm.size} ranks: "
            "give at least 2 rows for each rank, 3 columns and 0 steps"
        )
    choice = chosen(comm, asked)
    blocking, without = step_blocking(comm, asked)
    overlapped, with_overlap = step_overlapped(comm, asked, choice)
    strips = comm.gather((blocking.old[1:-1], overlapped.old[1:-1]))
    right = True
    if comm.rank == 0:
        expected = serial(asked.rows, asked.columns, asked.steps)
        right = all(np.array_equal(np.vstack(rows), expected) for rows in zip(*strips, strict=True))
        print(
            f"{asked.rows} x {asked.columns}, ranks: {comm.size}, steps: {asked.steps}, a row of "
            f"{format_size(8 * asked.columns)} in messages of {format_size(choice.message_size)}, burst {choice.burst}"
        )
        print(f"without overlap {without:.4f} s, with overlap {with_overlap:.4f} s")
        print("right, bit for bit" if right else "WRONG: not what one rank computes")
    return 0 if comm.bcast(right) else 1


def main() -> int:
    """Return the exit code."""
    comm = MPI.COMM_WORLD
    asked = parsed(comm)
    try:
        return run(comm, asked)
    except CommModelError as error:  # on all ranks alike
        if comm.rank == 0:
            print(f"halo.py: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
