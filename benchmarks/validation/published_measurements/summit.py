"""Summit and Lassen: messages split among processes, one to many, alltoalls of GPU data, from ping-pongs and copies.

The repository `BenchPress` (BSD-2 by its README) has for both machines, with Spectrum MPI, ping-pongs of 1 to 40 pairs
between two nodes and of single pairs within one, copies between GPU and CPU, and these exchanges: a node's message
split among k processes; one process that sends to k of another node; `MPI_Alltoall` of data on GPUs, a process for
each, which is copied to the CPU before and back after. Several jobs each. Main entry: `rows`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.validation.published_measurements.ping_pongs import SizeTable, fitted, medians
from benchmarks.validation.published_measurements.rows import Row
from numpy.typing import NDArray

from commmodel import predict
from commmodel.machine import Machine

__all__ = ["SYSTEMS", "rows"]

FLOAT = 4
"""Bytes of a number, in which sizes are given."""
SMALL = 4096
"""Bytes up to which messages are small in the table."""
Array = NDArray[np.float64]


class GPUSystem(NamedTuple):
    """A machine: its folder, and the GPUs of a node."""

    name: str
    folder: str
    gpus: int


SYSTEMS = (
    GPUSystem("Summit", "benchmarks/summit", 6),
    GPUSystem("Lassen", "benchmarks/lassen/spectrum/single_rs/09_15_20", 4),
)


def jobs(folder: Path, name: str) -> list[str]:
    """Return the outputs of a benchmark's jobs."""
    paths = sorted(path for path in folder.iterdir() if re.fullmatch(rf"{name}\.\d+\.out", path.name))
    return [path.read_text("utf-8", errors="replace") for path in paths]


def sized_rows(text: str, title: str) -> dict[int, list[float]]:
    """Return the rows ``Size N`` below a title, by bytes."""
    below = text.partition(f"{title}\n")[2]
    table = {}
    for line in below.splitlines():
        if not (match := re.match(r"Size (\d+)\s+(.*)", line)):
            break
        table[FLOAT * int(match[1])] = [float(word) for word in match[2].split()]
    return table


def over_jobs(texts: Sequence[str], title: str) -> SizeTable:
    """Return the medians over jobs of such rows."""
    return medians(table for text in texts if (table := sized_rows(text, title)))


def named_rows(text: str, title: str, pattern: str) -> dict[tuple[int, int], Array]:
    """Return rows that begin with two numbers, below a title; the i-th time is that of 2^i numbers."""
    below = text.partition(f"{title}\n")[2]
    table = {}
    for line in below.splitlines():
        if not (match := re.match(rf"{pattern}:\s+(.*)", line)):
            break
        table[int(match[1]), int(match[2])] = np.array([float(word) for word in match[3].split()])
    return table


def within_node(texts: Sequence[str], gpus: int) -> dict[str, SizeTable]:
    """Return the ping-pongs of one pair on a socket, and on two sockets of a node."""
    tables = [named_rows(text, "Profiling Standard CPU Ping-Pongs:", r"CPU (\d+) and CPU (\d+)") for text in texts]
    paths: dict[str, list[Array]] = {"same-socket": [], "same-node": []}
    for table in tables:
        for (low, high), times in table.items():
            if high < gpus:
                near = low // (gpus // 2) == high // (gpus // 2)
                paths["same-socket" if near else "same-node"].append(times)
    return {
        path: {FLOAT << i: np.array([time]) for i, time in enumerate(np.median(times, axis=0))}
        for path, times in paths.items()
    }


def copies(texts: Sequence[str], title: str, gpus: int) -> Array:
    """Return the seconds of copies of 2^i numbers between a GPU and a processor of its socket."""
    tables = [named_rows(text, title, r"CPU (\d+), GPU (\d+)") for text in texts]
    half = gpus // 2
    return np.median(
        [times for table in tables for (cpu, gpu), times in table.items() if cpu // half == gpu // half], axis=0
    )


def copy_time(times: Array, size: float) -> float:
    """Return the seconds of a copy of any size; beyond the largest at its rate."""
    sizes = FLOAT * 2.0 ** np.arange(times.size)
    if size > sizes[-1]:
        return float(times[-1] * size / sizes[-1])
    return float(np.exp(np.interp(np.log(size), np.log(sizes), np.log(times))))


def alltoalls(folder: Path) -> Iterator[tuple[int, int, float]]:
    """Yield nodes, bytes of a block and seconds of each alltoall whose data are copied to one processor a GPU."""
    for nodes in (2, 4, 8, 16, 32):
        tables = []
        for text in jobs(folder, f"all_to_all_{nodes}"):
            line = text.partition("3-Step Alltoall:\n")[2].partition("\n")[0]
            tables.append([float(word) for word in line.split()])
        for place, seconds in enumerate(np.median(tables, axis=0) if tables else ()):
            yield nodes, FLOAT << place, float(seconds)


def alltoall_time(machine: Machine, nodes: int, size: int, gpus: int) -> float:
    """Return the time of the P − 1 steps of a pairwise alltoall: first within the socket, the node, then beyond."""
    steps = {"same-socket": gpus // 2 - 1, "same-node": gpus - gpus // 2, "between-nodes": (nodes - 1) * gpus}
    processes = {"same-socket": 1, "same-node": 1, "between-nodes": gpus}
    return sum(
        number * predict.send(machine, size, processes=processes[path], path=path).time.seconds
        for path, number in steps.items()
    )


def in_place_time(machine: Machine, nodes: int, size: int, gpus: int) -> float:
    """Return the time of an alltoall in place as Open MPI 4 has it, of which Spectrum MPI is made: in 2 P − 3 steps.

    Each process exchanges with all others in the order of their ranks, so that i meets j in step i + j.
    """
    processes = nodes * gpus
    return alltoall_time(machine, nodes, size, gpus) * (2 * processes - 3) / (processes - 1)


def message_gaps(several: SizeTable) -> dict[int, Array]:
    """Return of each size the time of one message to another node, and what each further one adds, by least squares."""
    gaps = {}
    for size, times in several.items():
        columns = np.stack([np.ones(len(times)), np.arange(len(times))], axis=1)
        gaps[size] = np.linalg.lstsq(columns, np.asarray(times), rcond=None)[0]
    return gaps


def one_by_one_time(gaps: dict[int, Array], processes: int, size: int) -> float:
    """Return the time of an alltoall whose P − 1 messages leave one after the other, answers or not."""
    first, further = (np.interp(size, sorted(gaps), [gaps[key][part] for key in sorted(gaps)]) for part in (0, 1))
    return float(first + (processes - 2) * further)


def rows(repository: Path) -> Iterator[Row]:
    """Yield the exchanges of both machines."""
    for system in SYSTEMS:
        folder = repository / system.folder
        pairs = over_jobs(jobs(folder, "maxrate"), "Timing Max-Rate CPU Ping-Pongs")
        machine = fitted(system.name, {"between-nodes": pairs} | within_node(jobs(folder, "ping_pong"), system.gpus))
        for size, times in pairs.items():
            for k, seconds in enumerate(times, 1):
                yield Row(
                    system.name, "ping-pongs, fitted", f"{size} B, {k} pairs", float(seconds), _sends(machine, size, k)
                )
        for size, split in over_jobs(jobs(folder, "node_pong"), "Timing Max-Rate CPU Ping-Pongs").items():
            for k, seconds in enumerate(split, 1):
                part = FLOAT * (size // FLOAT // k)
                yield Row(
                    system.name, "a message split among k processes", f"{size} B among {k}", float(seconds),
                    _sends(machine, part, k),
                )  # fmt: skip
        to_many = over_jobs(jobs(folder, "mult_pong"), "Timing CPU Multiple Messages")
        for size, several in to_many.items():
            for k, seconds in enumerate(several, 1):
                yield Row(
                    system.name, f"one process to k of another node, {_class(size)}", f"{size} B to {k}",
                    float(seconds), {"one after the other": k * _sends(machine, size, 1)["chosen model"]},
                )  # fmt: skip
        to_host = copies(jobs(folder, "memcpy"), "Memcpy Device To Host:", system.gpus)
        to_device = copies(jobs(folder, "memcpy"), "Memcpy Host To Device:", system.gpus)
        gaps = message_gaps(to_many)
        for nodes, size, seconds in alltoalls(folder):
            volume = nodes * system.gpus * size
            moved = copy_time(to_host, volume) + copy_time(to_device, volume)
            exchange = alltoall_time(machine, nodes, size, system.gpus)
            yield Row(
                system.name, f"alltoall of GPU data, {_class(size)}", f"{size} B, {nodes} nodes", seconds,
                {
                    "copies alone": moved,
                    "copies and pairwise": moved + exchange,
                    "copies and in place": moved + in_place_time(machine, nodes, size, system.gpus),
                    "copies and one by one": moved + one_by_one_time(gaps, nodes * system.gpus, size),
                },
            )  # fmt: skip


def _class(size: int) -> str:
    return f"up to {SMALL} B" if size <= SMALL else "larger"


def _sends(machine: Machine, size: int, k: int) -> dict[str, float]:
    return {
        "postal, one pair": predict.send(machine, size, processes=1, path="between-nodes", model="postal").time.seconds,
        "chosen model": predict.send(machine, size, processes=k, path="between-nodes").time.seconds,
    }
