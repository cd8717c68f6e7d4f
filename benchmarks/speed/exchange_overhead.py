"""What cutting costs where nothing is hidden: ``mpiexec -n 2 python -m benchmarks.speed.exchange_overhead``.

Two ranks exchange V bytes, without computation: by mpi4py's blocking Sendrecv, by an `Exchange` made once, and by the
function `exchange`, which makes one each time; and by an `Exchange` that calls an empty function for each message,
beside its compiled requests alone; in turns. The ratio is to Sendrecv, the median of those within each turn with its
quartiles; the last two columns are what a message of `Exchange.run` adds, and what of it is Python, with the call. Bind
the ranks to cores.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from mpi4py import MPI

from commmodel.overlap import Exchange, Transfer, exchange
from commmodel.units import format_size, parse_size, parse_sizes


def seconds(comm: MPI.Comm, work: Callable[[], object]) -> float:
    """Return how long both ranks took, from when both were ready."""
    comm.Barrier()
    start = time.perf_counter()
    work()
    return float(comm.allreduce(time.perf_counter() - start, op=MPI.MAX))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Exchanges in messages against one blocking Sendrecv.")
    parser.add_argument("--volume", default="1MiB", type=parse_size, help="bytes each way (1MiB)")
    parser.add_argument("--sizes", default="4KiB:1MiB:*4", type=parse_sizes, help="of messages (4KiB:1MiB:*4)")
    parser.add_argument("--burst", default=4, type=int, help="messages asked for one after the other (4)")
    parser.add_argument("--turns", default=200, type=int, help="repetitions (200)")
    arguments = parser.parse_args()
    comm = MPI.COMM_WORLD
    if comm.size != 2:
        raise SystemExit("this needs two ranks: mpiexec -n 2 python -m benchmarks.speed.exchange_overhead")
    peer = 1 - comm.rank
    send, receive = np.ones(arguments.volume, np.uint8), np.zeros(arguments.volume, np.uint8)
    if comm.rank == 0:
        print(f"{format_size(arguments.volume)} each way, bursts of {arguments.burst}, {arguments.turns} turns")
        print(
            f"{'S':>8} {'messages':>8} {'Sendrecv':>12} {'Exchange.run':>24} {'exchange':>24} {'of a message':>13} "
            f"{'Python':>9}"
        )
    for size in arguments.sizes:
        transfer = Transfer(send=send, dest=peer, receive=receive, source=peer)
        cut = {"message_size": size, "burst": arguments.burst}
        with (
            Exchange(comm, [transfer], **cut) as exchange_,
            Exchange(comm, [replace(transfer, compute=ignore)], **cut) as calling,
        ):
            ways: list[Callable[[], object]] = [
                lambda: comm.Sendrecv(send, peer, 0, receive, peer, 0),
                exchange_.run,
                lambda size=size, transfer=transfer: exchange(comm, transfer, message_size=size, burst=arguments.burst),
                calling.run,
                lambda calling=calling: calling._complete(0, 0),
            ]
            for work in ways:
                seconds(comm, work)
            times = np.array([[seconds(comm, work) for work in ways] for _ in range(arguments.turns)])
        if comm.rank == 0:
            messages = -(-arguments.volume // size)
            made_once, anew = (ratios(times[:, way] / times[:, 0]) for way in (1, 2))
            added = 1e6 * float(np.median(times[:, 1] - times[:, 0])) / messages
            alone = f"{1e6 * np.median(times[:, 0]):.1f} us"
            python = 1e6 * float(np.median(times[:, 3] - times[:, 4])) / messages
            print(
                f"{format_size(size):>8} {messages:>8} {alone:>12} {made_once:>24} {anew:>24} {added:>10.2f} us "
                f"{python:>6.2f} us"
            )


def ignore(piece: np.ndarray, start: int) -> None:
    """Compute nothing."""


def ratios(values: np.ndarray) -> str:
    """Return the median with the quartiles."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{median:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
