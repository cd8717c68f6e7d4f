"""Summit and Lassen: messages between GPUs, given to MPI, through the host, and split among the GPUs of a node.

The repository `BenchPress` (BSD-2 by its README) has ping-pongs of data on GPUs with Spectrum MPI on both machines and
with MVAPICH on Lassen, of 1 to 6 pairs of GPUs at once, messages split among these, and copies between GPU and
processor; on Lassen with MVAPICH also the same ping-pongs in three steps: a copy to page-locked memory of the host, a
message, and a copy to the other GPU. Main entries: `rows` and `choices`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from benchmarks.validation.published_measurements.ping_pongs import QUICK, fitted
from benchmarks.validation.published_measurements.rows import Row
from benchmarks.validation.published_measurements.summit import (
    FLOAT,
    jobs,
    named_rows,
    over_jobs,
    sized_rows,
    within_node,
)
from rich.table import Table

from commmodel import predict
from commmodel.fit.call_costs import fit_calls
from commmodel.machine import Machine
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import DeviceCopy, DeviceMessage

__all__ = ["PIPELINES", "SYSTEMS", "GPUFolder", "WayChoice", "choice_table", "choices", "rows", "within"]

Times = dict[int, list[float]]
"""Bytes -> seconds in each job, or of each pair of GPUs."""
COPIED = FLOAT << 17
"""Bytes of the largest measured copy: beyond it, its rate is extrapolated."""


class GPUFolder(NamedTuple):
    """A machine with an MPI library: the folder of its measurements, and where those of single pairs are."""

    name: str
    folder: str
    gpus: int
    direct: tuple[str, ...] = ()
    """Jobs of single pairs elsewhere than in the folder."""
    three_steps: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    """Folders of all copies of the machine, which no MPI library changes."""


_OF_LASSEN = "benchmarks/lassen"
_STEPS = (f"{_OF_LASSEN}/04_13_21/ping_pong_3step_mvapich.2422384.out",)
"""The other output in three steps, job 2422339, has times below those of its copies, and is left out."""
_COPIES = tuple(f"{_OF_LASSEN}/{name}" for name in ("spectrum/single_rs/09_15_20", "spectrum", "mvapich"))
_BLOCKS = {
    "128 KiB": 2422179, "256 KiB": 2422247, "512 KiB": 2422260, "768 KiB": 2422265, "1 MiB": 2422269,
    "1.25 MiB": 2422273, "1.75 MiB": 2422312,
}  # fmt: skip
"""MV2_CUDA_BLOCK_SIZE, by which MVAPICH pipelines large messages -> the job that measured with it."""
SYSTEMS = (
    GPUFolder("Summit", "benchmarks/summit", 6),
    GPUFolder("Lassen", f"{_OF_LASSEN}/spectrum/single_rs/09_15_20", 4),
    GPUFolder(
        "Lassen, MVAPICH", f"{_OF_LASSEN}/mvapich", 4, (f"{_OF_LASSEN}/04_14_21/ping_pong_mvapich.2427560.out",),
        _STEPS, _COPIES,
    ),
)  # fmt: skip
PIPELINES = tuple(
    GPUFolder(
        f"Lassen, MVAPICH, blocks of {size}", f"{_OF_LASSEN}/mvapich", 4,
        (f"{_OF_LASSEN}/04_13_21_cuda_bs/ping_pong_gpu_mvapich.{job}.out",), _STEPS, _COPIES,
    )
    for size, job in _BLOCKS.items()
)  # fmt: skip


class WayChoice(NamedTuple):
    """The fastest of some ways, as measured and as predicted."""

    machine: str
    question: str
    configuration: str
    measured: dict[str, float]
    predicted: dict[str, float]

    @property
    def loss(self) -> float:
        """Measured time of the predicted way over that of the fastest, minus 1."""
        chosen = min(self.predicted, key=self.predicted.__getitem__)
        return self.measured[chosen] / min(self.measured.values()) - 1


def path_of(low: int, high: int, gpus: int) -> str:
    """Return the path between two GPUs."""
    if high >= gpus:
        return "between-nodes"
    return "same-socket" if low // (gpus // 2) == high // (gpus // 2) else "same-node"


def of_single_pairs(texts: Sequence[str], gpus: int) -> dict[str, Times]:
    """Return the ping-pongs of one pair of GPUs, on each path."""
    paths: dict[str, Times] = {}
    for text in texts:
        pattern = r"GPU on rank (\d+) and GPU on rank (\d+)"
        for (low, high), times in named_rows(text, "Profiling GPU Ping-Pongs", pattern).items():
            table = paths.setdefault(path_of(low, high, gpus), {})
            for place, seconds in enumerate(times):
                table.setdefault(FLOAT << place, []).append(float(seconds))
    return paths


def of_several_pairs(texts: Sequence[str]) -> dict[int, Times]:
    """Return the ping-pongs of 1, 2, ... pairs of GPUs at once, or the messages split among so many."""
    counts: dict[int, Times] = {}
    for text in texts:
        for size, times in sized_rows(text, "Timing GPU Max-Rate Ping Pongs").items():
            for count, seconds in enumerate(times, 1):
                counts.setdefault(count, {}).setdefault(size, []).append(seconds)
    return counts


def copies(texts: Sequence[str], title: str, gpus: int) -> Times:
    """Return the copies between a GPU and a processor of its socket."""
    table: Times = {}
    for text in texts:
        for (cpu, gpu), times in named_rows(text, title, r"CPU (\d+), GPU (\d+)").items():
            if cpu // (gpus // 2) == gpu // (gpus // 2):
                for place, seconds in enumerate(times):
                    table.setdefault(FLOAT << place, []).append(float(seconds))
    return table


def every_other(table: Times) -> Times:
    """Return the first size, the third, ..., and the last, so that none that is left out lies beyond them."""
    sizes = sorted(table)
    return {size: table[size] for size in {*sizes[::2], sizes[-1]}}


def messages(table: Times, path: str, pairs: int = 1) -> list[Record]:
    """Return the records of a table of direct messages."""
    return [
        Record(DeviceMessage(size, "direct", path, pairs), "s", tuple(times)) for size, times in sorted(table.items())
    ]


def host_of(system: GPUFolder, repository: Path) -> Machine:
    """Return the machine of ping-pongs of the host."""
    folder = repository / system.folder
    pairs = over_jobs(jobs(folder, "maxrate"), "Timing Max-Rate CPU Ping-Pongs")
    return fitted(system.name, {"between-nodes": pairs} | within_node(jobs(folder, "ping_pong"), system.gpus))


def with_devices(
    host: Machine, system: GPUFolder, repository: Path, direct: Sequence[Record], folders: Sequence[str] = ()
) -> Machine:
    """Return a machine with direct messages, and copies of these folders, else of the system's own."""
    texts = [text for folder in folders or (system.folder,) for text in jobs(repository / folder, "memcpy")]
    titles = {"copy-out": "Memcpy Device To Host:", "copy-in": "Memcpy Host To Device:"}
    records = [
        Record(DeviceCopy(size, operation, "pinned"), "s", tuple(times))
        for operation, title in titles.items()
        for size, times in sorted(copies(texts, title, system.gpus).items())
    ]
    header = Header("commmodel-results", 1, "", (), Library(system.name), (), ())
    calls = fit_calls(Measurements((Launch(header, (*direct, *records)),)), QUICK)
    return msgspec.structs.replace(host, calls=calls)


def ways_of(machine: Machine, size: int, path: str, processes: int = 1) -> dict[tuple[str, int], float]:
    """Return the seconds of each way, by way and number of processes."""
    ways = predict.device_ways(machine, size, path=path, processes=processes)
    return {(way.way, way.processes): way.time.seconds for way in ways}


def _single(system: GPUFolder, repository: Path) -> dict[str, Times]:
    texts = [(repository / name).read_text("utf-8", errors="replace") for name in system.direct]
    return of_single_pairs(texts or jobs(repository / system.folder, "ping_pong"), system.gpus)


def _three_steps(system: GPUFolder, repository: Path) -> dict[str, Times]:
    texts = [(repository / name).read_text("utf-8", errors="replace") for name in system.three_steps]
    return of_single_pairs(texts, system.gpus)


def _halves(single: dict[str, Times]) -> list[Record]:
    """Return the records of every other size of each path."""
    return [record for path, table in single.items() for record in messages(every_other(table), path)]


def _splitting(host: Machine, system: GPUFolder, repository: Path) -> tuple[Machine, dict[int, Times]]:
    """Return the machine of several pairs at once, and the messages split among so many GPUs."""
    folder = repository / system.folder
    several, split = (of_several_pairs(jobs(folder, name)) for name in ("maxrate", "node_pong"))
    records = [record for count, table in several.items() for record in messages(table, "between-nodes", count)]
    return with_devices(host, system, repository, records), split


def rows(repository: Path) -> Iterator[Row]:
    """Yield the measured and predicted times of all systems."""
    for system in SYSTEMS:
        single, host = _single(system, repository), host_of(system, repository)
        machine = with_devices(host, system, repository, _halves(single))
        for path, table in single.items():
            for size in sorted(set(table) - set(every_other(table))):
                predicted = {"fitted to the other sizes": ways_of(machine, size, path)["direct", 1]}
                yield Row(system.name, f"direct, {path}", f"{size} B", float(np.median(table[size])), predicted)
        of_machine = with_devices(host, system, repository, _halves(single), system.copies)
        for path, table in _three_steps(system, repository).items():
            for size, times in sorted(table.items()):
                work = f"three steps, {path}, {'copies measured' if size <= COPIED else 'larger'}"
                predicted = {
                    "copies of the same jobs' folder": ways_of(machine, size, path)["pinned", 1],
                    "copies of all jobs of the machine": ways_of(of_machine, size, path)["pinned", 1],
                }
                yield Row(system.name, work, f"{size} B", float(np.median(times)), predicted)
        machine, split = _splitting(host, system, repository)
        for count, table in split.items():
            for size, times in sorted(table.items()):
                predicted = {"fitted to pairs at once": ways_of(machine, size, "between-nodes", count)["direct", count]}
                work = "a message split among the GPUs of a node"
                yield Row(system.name, work, f"{size} B among {count}", float(np.median(times)), predicted)


def choices(repository: Path) -> Iterator[WayChoice]:
    """Yield which way is the fastest: direct or in three steps; whole or split among GPUs."""
    for system in (*SYSTEMS, *PIPELINES):
        single, host = _single(system, repository), host_of(system, repository)
        machine = with_devices(host, system, repository, _halves(single), system.copies)
        for path, table in _three_steps(system, repository).items():
            for size, times in sorted(table.items()):
                ways = ways_of(machine, size, path)
                measured = {"direct": float(np.median(single[path][size])), "three steps": float(np.median(times))}
                predicted = {"direct": ways["direct", 1], "three steps": ways["pinned", 1]}
                yield WayChoice(system.name, f"direct or three steps, {path}", f"{size} B", measured, predicted)
    for system in SYSTEMS:
        machine, split = _splitting(host_of(system, repository), system, repository)
        for size in sorted(split[1]):
            counts = [count for count, table in split.items() if size in table]
            ways = ways_of(machine, size, "between-nodes", max(counts))
            measured = {str(count): float(np.median(split[count][size])) for count in counts}
            predicted = {str(count): ways["direct", count] for count in counts}
            yield WayChoice(system.name, "among how many GPUs", f"{size} B", measured, predicted)


def within(rows: Sequence[Row]) -> Table:
    """Return the shares of times within 10 and 25 %, for each work and model."""
    table = Table("machine", "work", "times", "model", "within 10 %", "within 25 %", box=None, pad_edge=False)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.machine, row.work), []).append(row)
    for (machine, work), members in groups.items():
        for model in members[0].predictions:
            errors = np.abs([row.error(model) for row in members])
            shares = [f"{np.mean(errors <= limit):.0%}" for limit in (0.10, 0.25)]
            table.add_row(machine, work, str(len(members)), model, *shares)
    return table


def choice_table(choices: Sequence[WayChoice]) -> Table:
    """Return how often the fastest way was chosen, what it costs where it was not, and these by name."""
    table = Table(
        "machine", "question", "sizes", "another than the first is faster", "right", "within 5 %", "wrong by more",
        title="Choices", box=None, pad_edge=False,
    )  # fmt: skip
    groups: dict[tuple[str, str], list[WayChoice]] = {}
    for choice in choices:
        groups.setdefault((choice.machine, choice.question), []).append(choice)
    for names, members in groups.items():
        slower = sum(
            min(member.measured, key=member.measured.__getitem__) != next(iter(member.measured)) for member in members
        )
        wrong = [f"{member.configuration} ({member.loss:+.0%})" for member in members if member.loss > 0.05]
        right = sum(member.loss == 0 for member in members)
        table.add_row(
            *names, *map(str, (len(members), slower, right, len(members) - len(wrong))), ", ".join(wrong) or "none"
        )
    return table
