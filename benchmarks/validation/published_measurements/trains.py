"""Trains of messages on Blue Waters: what a process sends in a row, measured and by the model. Main entry: `trains`."""

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from commmodel.machine import Machine
from commmodel.models import nodeaware

__all__ = ["LIMITS", "PER_NODE", "PING_PONGS", "SHORT_TRAIN", "Train", "path_time", "train_time", "trains"]

LIMITS = (500, 8000)
"""Bytes at which protocols end, as the authors say."""
INTEGER = 4
"""Bytes of the integers in which sizes are given."""
PER_NODE = 16
SHORT_TRAIN = 16
"""Messages of a train up to which a queue is not felt: the authors fit contention to these."""
PING_PONGS = {
    "between-nodes": ("orig/max_rate", PER_NODE),
    "same-node": ("on_node/on_node.out", PER_NODE // 2),
    "same-socket": ("on_node/on_socket.out", PER_NODE // 2),
}
"""Path -> file, and pairs of a node."""


class Train(NamedTuple):
    """Messages of a process in a row to one other, and the seconds that they took."""

    messages: int
    volume: int
    seconds: float


def trains(path: Path) -> list[Train]:
    """Return the trains in a file; times are of both directions, one after the other, in repeated launches."""
    messages = volume = 0
    table = []
    for line in path.read_text("utf-8").splitlines():
        words = line.split()
        if line.startswith("Num Msgs"):
            messages = int(words[-1])
        elif line.startswith("SizeMsgs"):
            volume = INTEGER * int(words[-1])
        elif words and re.fullmatch(r"\d\.\d\de[+-]\d\d", words[0]) and messages:
            table.append(Train(messages, volume, float(np.median([float(word) for word in words])) / 2))
    return table


def path_time(machine: Machine, path: str, item: Train) -> float:
    """Return the time of a train on a path, while all processes of the node do the same."""
    rates = machine.max_rate(item.volume / item.messages, path)
    pairs = PING_PONGS[path][1]
    limit = math.inf if rates.R_N is None else rates.R_N.value
    return float(nodeaware.path_time(item.messages, item.volume, pairs, rates.alpha.value, limit, rates.R_C.value))


def train_time(machine: Machine, item: Train) -> float:
    """Return the time of a train between nodes, with the search of its receiver's queue."""
    assert machine.queue_search is not None  # noqa: S101
    return path_time(machine, "between-nodes", item) + machine.queue_search.value * item.messages**2
