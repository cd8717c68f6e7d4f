"""Blue Waters, a Cray XE6: exchanges of algebraic multigrid on 128 to 8192 processes, predicted from ping-pongs.

The repository `BlueWatersModel` (BSD-2) has ping-pongs of 1 to 16 pairs on each path, trains of many messages, the same
along a line of nodes, and, for each level of multigrid solvers, the most messages and bytes of a process by path and
protocol, bytes times hops of all, and the time of the exchange. The model is that of Bienz, Gropp and Olson 2018, as
the scripts beside the data apply it: sizes and numbers of messages are maxima over processes, and the busiest link
carries hops³ times the mean bytes of a router. Main entry: `rows`.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from benchmarks.validation.published_measurements import gemini_lines
from benchmarks.validation.published_measurements.ping_pongs import SizeTable, fitted, medians, tables
from benchmarks.validation.published_measurements.rows import Row
from benchmarks.validation.published_measurements.trains import (
    LIMITS,
    PER_NODE,
    PING_PONGS,
    SHORT_TRAIN,
    path_time,
    train_time,
    trains,
)

from commmodel import formats
from commmodel import machine as machines
from commmodel.machine import Machine, Parameter
from commmodel.models import maxrate, nodeaware, postal

__all__ = ["rows"]

PROTOCOLS = {"Short": 1, "Eager": LIMITS[0] + 1, "Rend": LIMITS[1] + 1}
"""Name in the files -> a size of the protocol."""
PATHS = {"": "between-nodes", " Node": "same-node", " Socket": "same-socket"}


class Exchange(NamedTuple):
    """An exchange of all processes: the most of a process, and its time."""

    name: str
    messages: int
    counts: dict[tuple[str, str], tuple[int, int]]
    """Path and protocol -> messages and bytes."""
    volume: int
    hops: float
    seconds: float


def fitted_machine(output: Path, ping_pongs: dict[str, SizeTable]) -> Machine:
    """Return the machine of the three paths, with queue search and link contention from the trains."""
    machine = fitted("Blue Waters, fitted", ping_pongs, LIMITS)
    queue = [
        (item.messages**2, item.seconds - path_time(machine, "same-node", item))
        for item in trains(output / "queue_search/node_queue")
    ]
    machine = msgspec.structs.replace(machine, queue_search=Parameter(slope(queue)))
    links = [
        (item.volume * 128 / 2, item.seconds - train_time(machine, item))
        for item in trains(output / "contention/nodecomm_contention_128.out")
        if item.messages <= SHORT_TRAIN
    ]
    return msgspec.structs.replace(machine, link_contention=Parameter(slope(links)))


def slope(points: list[tuple[float, float]]) -> float:
    """Return the slope of a line through the origin, by least squares."""
    x, y = np.array(points, dtype=float).T
    return float(x @ y / (x @ x))


def exchanges(path: Path) -> list[Exchange]:
    """Return the exchanges of a file, with the least of several times; those in three steps are left out."""
    blocks: dict[str, tuple[dict[str, int], float]] = {}
    level = name = ""
    numbers: dict[str, int] = {}
    for line in path.read_text("utf-8").splitlines():
        if match := re.fullmatch(r"Level (\d+)", line):
            level = match[1]
        elif re.fullmatch(r"[ASP] (Vector )?(TAP )?Communication:?|A\*[Px]:?|P(\.T)?\*\w+:?", line):
            name, numbers = f"level {level}, {line.removesuffix(':').replace(' Communication', '')}", {}
        elif match := re.fullmatch(r"Comm Time: (\S+)", line):
            seconds = float(match[1])
            if "TAP" not in name and numbers.get("Total Bytes"):
                blocks[name] = numbers, min(seconds, blocks.get(name, (numbers, seconds))[1])
        elif match := re.fullmatch(r"([\w ]+?)(?:: | = )(\d+)", line):
            numbers[match[1]] = int(match[2])
    return [_exchange(name, numbers, seconds) for name, (numbers, seconds) in blocks.items()]


def _exchange(name: str, numbers: dict[str, int], seconds: float) -> Exchange:
    counts = {
        (path, protocol): (numbers[f"Num {protocol}{word}"], numbers[f"Size {protocol}{word}"])
        for word, path in PATHS.items()
        for protocol in PROTOCOLS
    }
    volume = numbers["Total Bytes"]
    return Exchange(name, numbers["Max Num Msgs"], counts, volume, numbers["Byte Hops"] / volume, seconds)


def sums(machine: Machine, item: Exchange, processes: int) -> dict[str, float]:
    """Return the time of an exchange by more and more of the model."""
    far = "between-nodes"

    def term(path: str, protocol: str, count: tuple[int, int], k: int) -> float:
        rates = machine.max_rate(PROTOCOLS[protocol], path)
        limit = math.inf if rates.R_N is None else rates.R_N.value
        return float(nodeaware.path_time(*count, k, rates.alpha.value, limit, rates.R_C.value))

    counts = item.counts.items()
    lone = sum(term(far, protocol, count, 1) for (_, protocol), count in counts)
    shared = sum(term(far, protocol, count, PER_NODE) for (_, protocol), count in counts)
    by_path = sum(term(path, protocol, count, PING_PONGS[path][1]) for (path, protocol), count in counts)
    assert machine.queue_search is not None  # noqa: S101
    assert machine.link_contention is not None  # noqa: S101
    queue = by_path + machine.queue_search.value * item.messages**2
    routers = processes / PER_NODE / 2
    busiest = item.hops**3 * item.volume / routers
    return {
        "one path, one process": lone,
        "one path, max-rate": shared,
        "three paths": by_path,
        "+ queue search": queue,
        "+ link contention": queue + machine.link_contention.value * busiest,
    }


def ping_pongs(by_path: dict[str, SizeTable], machine: Machine) -> Iterator[Row]:
    """Yield the ping-pongs that were fitted, by each model."""
    for path, table in by_path.items():
        for n, times in table.items():
            segment = machine.segment(n, path)
            shared, lone, extended = segment.max_rate, segment.postal, segment.extended
            assert shared is not None  # noqa: S101
            assert lone is not None  # noqa: S101
            assert extended is not None  # noqa: S101
            limit = math.inf if shared.R_N is None else shared.R_N.value
            for k, seconds in enumerate(times, 1):
                predictions = {
                    "postal, one pair": float(postal.time(n, lone.alpha.value, lone.beta.value)),
                    "max-rate": float(maxrate.time(n, k, shared.alpha.value, limit, shared.R_C.value)),
                    "extended max-rate": float(
                        maxrate.extended_time(
                            n, k, extended.alpha.value, extended.R_N.value, extended.R_Cb.value, extended.R_Ci.value
                        )
                    ),
                }
                work = f"ping-pongs {path}, {segment.protocol} (fitted)"
                yield Row("Blue Waters", work, f"{n} B, {k} pairs", float(seconds), predictions)


def rows(repository: Path) -> Iterator[Row]:
    """Yield the ping-pongs, the trains on sixteen nodes and the exchanges of multigrid."""
    output = repository / "bw_output"
    by_path = {path: medians(tables(formats.load(output / name))) for path, (name, _) in PING_PONGS.items()}
    machine = fitted_machine(output, by_path)
    printed = machines.load("blue-waters-node-aware")
    yield from ping_pongs(by_path, machine)
    yield from gemini_lines.rows(output / "contention", machine)
    for path in sorted((output / "amg_models").glob("*.out"), key=lambda path: (path.name[0], _processes(path))):
        if not re.fullmatch(r"(aniso|lin_elas|grad_div)_\d+\.out", path.name):
            continue  # launches that those files hold together, and old ones
        problem = path.stem.rpartition("_")[0]
        for exchange in exchanges(path):
            is_vector = "Vector" in exchange.name or exchange.name.endswith("*x")
            if problem == "aniso" and not is_vector:
                continue  # ten times what any term explains: more than the exchange was timed
            work = f"{problem}, {'vectors' if is_vector else 'matrices'}"
            predictions = sums(machine, exchange, _processes(path))
            predictions["all, authors' parameters"] = list(sums(printed, exchange, _processes(path)).values())[-1]
            configuration = f"{_processes(path)} processes, {exchange.name}"
            yield Row("Blue Waters", work, configuration, exchange.seconds, predictions)


def _processes(path: Path) -> int:
    match = re.search(r"_(\d+)", path.stem)
    return int(match[1]) if match else 0
