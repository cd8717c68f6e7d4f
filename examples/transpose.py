"""A matrix distributed by rows is transposed: ``mpiexec -n 4 python examples/transpose.py``.

Every rank has a block of rows and needs the same rows of the transpose: a block from each other rank. It begins to
exchange them in turns with its peers, transposes its own block meanwhile, and then puts each piece of the others'
blocks into its place, as it comes. The result is compared with numpy's transpose, bit for bit: exit code 1 where they
differ.
"""

import argparse
import contextlib
import io
import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from commmodel.errors import CommModelError, InputError
from commmodel.overlap import Exchange, Transfer
from commmodel.units import format_size, parse_size


def rows_of(rank: int, ranks: int, n: int) -> slice:
    """Return the rows that a rank has."""
    return slice(rank * n // ranks, (rank + 1) * n // ranks)


def into(block: np.ndarray) -> Callable[[np.ndarray, int], None]:
    """Return the function that puts a piece of another rank's block, row after row, into a transposed view."""

    def place(piece: np.ndarray, start: int) -> None:
        width = block.shape[1]
        while piece.size:  # the rest of a row, whole rows, the beginning of a row
            row, column = divmod(start, width)
            if column or piece.size < width:
                taken = min(width - column, piece.size)
                block[row, column : column + taken] = piece[:taken]
            else:
                taken = piece.size // width * width
                block[row : row + taken // width] = piece[:taken].reshape(-1, width)
            piece, start = piece[taken:], start + taken

    return place


def transposed(comm: MPI.Comm, mine: np.ndarray, asked: argparse.Namespace) -> np.ndarray:
    """Return this rank's rows of the transpose, given its rows of the matrix."""
    own = rows_of(comm.rank, comm.size, asked.n)
    result = np.full_like(mine, np.nan)  # memory may hold an earlier result, and hide what is missing
    transfers = []
    for by in range(1, comm.size):  # all send to the one `by` ranks on, and receive from the one as far back
        dest, source = (comm.rank + by) % comm.size, (comm.rank - by) % comm.size
        theirs = rows_of(source, comm.size, asked.n)
        transfers.append(
            Transfer(
                send=np.ascontiguousarray(mine[:, rows_of(dest, comm.size, asked.n)]),
                dest=dest,
                receive=np.empty((theirs.stop - theirs.start, own.stop - own.start)),
                source=source,
                compute=into(result[:, theirs].T),
            )
        )

    def own_block() -> None:
        result[:, own] = mine[:, own].T

    with Exchange(comm, transfers, message_size=asked.message_size, burst=asked.burst, order="interleaved") as exchange:
        exchange.run(own_block)
    return result


def transposed_blocking(comm: MPI.Comm, mine: np.ndarray, asked: argparse.Namespace) -> np.ndarray:
    """Return the same by one Alltoallv, and transposing afterwards."""
    blocks = [rows_of(rank, comm.size, asked.n) for rank in range(comm.size)]
    counts = [mine.shape[0] * (block.stop - block.start) for block in blocks]
    send = np.concatenate([mine[:, block].ravel() for block in blocks])
    receive = np.empty_like(send)
    comm.Alltoallv([send, counts], [receive, counts])
    places = np.cumsum([0, *counts])
    result = np.full_like(mine, np.nan)
    for block, first, end in zip(blocks, places[:-1], places[1:], strict=True):
        result[:, block] = receive[first:end].reshape(block.stop - block.start, mine.shape[0]).T
    return result


def parsed(comm: MPI.Comm) -> argparse.Namespace:
    """Return the arguments; rank 0 alone says what is wrong with them."""
    parser = argparse.ArgumentParser(
        description="Transpose a matrix distributed by rows, each piece of a block as it comes.",
        epilog="Example: mpiexec -n 4 python examples/transpose.py -n 2000 --message-size 16KiB --burst 4",
    )
    parser.add_argument("-n", type=int, default=1000, help="rows and columns (1000)")
    parser.add_argument("--message-size", default="64KiB", help="S, at least 8 bytes (64KiB)")
    parser.add_argument("--burst", type=int, default=2, help="b, messages to ask for one after the other (2)")
    sink = io.StringIO()
    with contextlib.ExitStack() as quiet:
        if comm.rank:
            quiet.enter_context(contextlib.redirect_stdout(sink))
            quiet.enter_context(contextlib.redirect_stderr(sink))
        return parser.parse_args()


def run(comm: MPI.Comm, asked: argparse.Namespace) -> int:
    """Transpose both ways, compare, and print on rank 0."""
    if asked.n < 0:
        raise InputError(f"-n is {asked.n}: give a number of rows from 0 up")
    asked.message_size = parse_size(asked.message_size)
    matrix = np.random.default_rng(1).random((asked.n, asked.n))
    own = rows_of(comm.rank, comm.size, asked.n)
    right, seconds = True, []
    for way in (transposed_blocking, transposed):
        comm.Barrier()
        start = time.perf_counter()
        result = way(comm, matrix[own], asked)
        seconds.append(comm.allreduce(time.perf_counter() - start, op=MPI.MAX))
        right = comm.allreduce(right and np.array_equal(result, matrix.T[own]), op=MPI.LAND)
    if comm.rank == 0:
        size = format_size(asked.message_size)
        print(f"{asked.n} x {asked.n}, ranks: {comm.size}, messages of {size}, burst {asked.burst}")
        print(f"Alltoallv {seconds[0]:.4f} s, in pieces {seconds[1]:.4f} s, making the exchange included")
        print("right, bit for bit" if right else "WRONG: not the transpose")
    return 0 if right else 1


def main() -> int:
    """Return the exit code."""
    comm = MPI.COMM_WORLD
    asked = parsed(comm)
    try:
        return run(comm, asked)
    except CommModelError as error:  # on all ranks alike
        if comm.rank == 0:
            print(f"transpose.py: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
