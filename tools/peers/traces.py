"""Time-independent traces to replay: computing, exchanges with neighbours, and collectives. Main entries: `TRACES`."""

from collections.abc import Callable, Sequence
from pathlib import Path

BYTES = 6
"""The type id of a byte."""


def halo(processes: int, steps: int = 10, size: int = 65536) -> list[list[str]]:
    """Return each rank's actions: compute, exchange with four neighbours without blocking, combine one number."""
    width = int(processes**0.5)
    while processes % width:
        width -= 1
    height = processes // width
    ranks = []
    for rank in range(processes):
        x, y = rank % width, rank // width
        sides = (
            y * width + (x + 1) % width,
            y * width + (x - 1) % width,
            (y + 1) % height * width + x,
            (y - 1) % height * width + x,
        )
        step = [
            "compute 1e6",
            *(f"irecv {other} {side ^ 1} {size} {BYTES}" for side, other in enumerate(sides)),
            *(f"isend {other} {side} {size} {BYTES}" for side, other in enumerate(sides)),
            "waitall 8",
            "allreduce 1 0 0",
        ]
        ranks.append(["init", *step * steps, "finalize"])
    return ranks


def mixed(processes: int, steps: int = 4) -> list[list[str]]:
    """Return each rank's actions: blocking and named messages along a line, and every kind of collective."""
    ranks = []
    for rank in range(processes):
        step = [f"compute {1e5 * (1 + rank % 3)}", "sleep 0.0001"]
        if rank > 0:
            step.append(f"recv {rank - 1} 5 3000 0")
        if rank < processes - 1:
            step.append(f"send {rank + 1} 5 3000 0")
        ahead, behind = (rank + 2) % processes, (rank - 2) % processes
        step += [
            f"irecv {behind} 7 100000 {BYTES}",
            f"isend {ahead} 7 100000 {BYTES}",
            "compute 2e5",
            f"wait {behind} {rank} 7",
            f"wait {rank} {ahead} 7",
            "barrier",
            f"bcast 20000 3 {BYTES}",
            "reduce 1000 500 2 0",
            "allreduce 2000 1000 0",
            f"alltoall 3000 3000 {BYTES} {BYTES}",
            f"allgather 5000 5000 {BYTES} {BYTES}",
            f"gather 700 700 1 {BYTES} {BYTES}",
            f"scatter 900 900 0 {BYTES} {BYTES}",
        ]
        ranks.append(["init", *step * steps, "finalize"])
    return ranks


TRACES: dict[str, Callable[[int], list[list[str]]]] = {"halo": halo, "mixed": mixed}
"""Name -> function from the number of ranks to each rank's actions."""


def write(ranks: Sequence[Sequence[str]], folder: Path) -> Path:
    """Write a file for each rank, and return the path of the list of them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"rank{rank}.txt" for rank in range(len(ranks))]
    for rank, (path, actions) in enumerate(zip(paths, ranks, strict=True)):
        path.write_text("".join(f"{rank} {action}\n" for action in actions))
    index = folder / "index.txt"
    index.write_text("".join(f"{path}\n" for path in paths))
    return index
