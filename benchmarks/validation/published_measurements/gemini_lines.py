"""Trains of messages along lines of Blue Waters' routers, simulated on links whose rate shorter lines show.

Half of the processes of a line send to the other half, so the link in the middle carries all of it. On four routers, of
two nodes each, the largest messages give the rate of a link in each dimension of the torus; on eight routers the links
are shared as the simulator shares them. Twice as many routers make the torus, as those of a line do not wrap around.
Main entry: `rows`.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.validation.published_measurements.rows import Row
from benchmarks.validation.published_measurements.trains import PER_NODE, SHORT_TRAIN, Train, train_time, trains

from commmodel.machine import Machine
from commmodel.simulate import Network, Program, run, work
from commmodel.simulate import platform as platforms
from commmodel.simulate.network import Overhead

__all__ = ["rows"]

FILES = {
    "x": ("128_x_8501449", "256_x_8502037"),
    "y": ("128_y_8501542", "256_y_8502036"),
    "z": ("128_z_8501597", "256_z_8501774"),
}
"""Dimension -> the jobs on 128 and on 256 processes."""
PROCESSES = 256
"""Of the lines that are simulated."""
NODES = 2
"""Of a router."""


def link_rate(items: list[Train], processes: int) -> float:
    """Return the rate of the link in the middle, from the trains of the most bytes."""
    largest = max(item.volume for item in items)
    seconds = np.median([item.seconds for item in items if item.volume == largest and item.messages == 1])
    return float(processes / 2 * largest / seconds)


def network(machine: Machine) -> Network:
    """Return messages that cost a processor the latency of their protocol, and then share links."""
    overheads = tuple(
        Overhead(float("inf") if segment.limit is None else segment.limit.value, segment.max_rate.alpha.value)
        for segment in machine.segments
        if segment.path == "between-nodes" and segment.max_rate is not None
    )
    eager = overheads[-2].limit
    return Network("lines", eager_limit=eager, detached_limit=eager, isend=overheads)


def program(item: Train, processes: int) -> Program:
    """Return the train of each process of the first half to one of the second."""
    senders = np.repeat(np.arange(processes // 2), item.messages)
    size = item.volume // item.messages
    return work.sparse(senders, senders + processes // 2, np.full(senders.size, size), processes)


def rows(folder: Path, machine: Machine) -> Iterator[Row]:
    """Yield the trains on sixteen nodes, by formulas and simulated."""
    model = network(machine)
    assert machine.link_contention is not None  # noqa: S101
    for dimension, (short, long) in FILES.items():
        rate = link_rate(trains(folder / f"nodecomm_contention_{short}.bw.out"), 128)
        routers = PROCESSES // PER_NODE // NODES
        links = platforms.torus([2 * routers], rate, 0.0, cores=NODES * PER_NODE)
        for item in trains(folder / f"nodecomm_contention_{long}.bw.out"):
            if item.messages > SHORT_TRAIN:
                continue
            alone = train_time(machine, item)
            predictions = {
                "without links": alone,
                "+ link contention": alone + machine.link_contention.value * item.volume * PROCESSES / 2,
                "simulated": run(program(item, PROCESSES), model, links).seconds,
            }
            title = f"trains along {dimension}, 16 nodes, {_class(item)}"
            yield Row("Blue Waters", title, f"{item.messages} of {item.volume} B", item.seconds, predictions)


def _class(item: Train) -> str:
    return "64 KiB a process and more" if item.volume >= 1 << 16 else "less"
