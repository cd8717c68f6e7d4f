"""Clusters of Grid'5000 and PlaFRIM, calibrated and loaded by the SimGrid team: taurus and miriel.

The repository `platform-calibration` (MIT) has for each cluster the times of single calls between two nodes, up to
1 MB, of which `commmodel fit` makes a machine, and a load test of 4 MB messages on all nodes: one way, both ways with
one partner, both ways with two, and alltoalls. One pair of nodes alone gives the rate of messages as large as these and
the contention factor; the times of more nodes are simulated. Beside it stands SMPI's model with the factors that the
authors fitted to the calls, on links of the rate and latency of their configuration. Main entry: `rows`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from benchmarks.validation.published_measurements.ping_pongs import QUICK
from benchmarks.validation.published_measurements.rows import Row
from numpy.typing import NDArray

from commmodel import formats
from commmodel.collectives import CollectiveSettings, Problem
from commmodel.fit import fit_machine
from commmodel.machine import Edge, Machine, Mode, Parameter
from commmodel.simulate import OPERATION, Code, DelayModel, Network, Program, delays, from_machine, run, work
from commmodel.simulate import platform as platforms
from commmodel.simulate.platform import Platform

__all__ = ["CLUSTERS", "rows"]

MESSAGE = 4_000_000
"""Bytes of the load test."""
LARGEST_CALL = 1_000_000
"""Bytes up to which single calls were timed."""
RUNS, ALLTOALLS = 10, 3
"""Repetitions of a step, of exchanges and of alltoalls."""


class Cluster(NamedTuple):
    """A cluster, where its files are, its nodes in the load test, and its library's selector."""

    name: str
    folder: str
    processes: int
    selector: str


CLUSTERS = (
    Cluster("taurus, Open MPI", "taurus_26_07_2016", 12, "openmpi"),
    Cluster("miriel, MPICH 3.1", "miriel_27_06_2016", 16, "mpich"),
    Cluster("miriel, 4 nodes, MPICH 3.1", "plafrim_15_06_16", 4, "mpich"),
)
TESTS = {"send": "one way", "sendrecv_same": "both ways, one partner", "sendrecv_diff": "both ways, two partners"}


def steps(rank: int, half: int, test: str) -> list[int]:
    """Return the numbers of pairs of the steps that a rank takes part in, in order."""
    least = rank // 2 if test == "alltoall" else rank % half
    numbers = range(least | 1, half, 2) if test == "sendrecv_diff" else range(least, half)
    return [number + 1 for number in numbers]


def load_times(path: Path, processes: int, test: str) -> dict[int, NDArray[np.float64]]:
    """Return seconds of each rank and repetition, by the number of pairs of nodes; a row is rank, call, B, ms, ms."""
    by_rank: dict[int, list[float]] = {}
    for line in path.read_text("utf-8").splitlines():
        words = line.split(",")
        by_rank.setdefault(int(words[0]), []).append(float(words[4]) / 1e3)
    runs = ALLTOALLS if test == "alltoall" else RUNS
    by_step: dict[int, list[list[float]]] = {}
    for rank, durations in by_rank.items():
        for place, step in enumerate(steps(rank, processes // 2, test)):
            by_step.setdefault(step, []).append(durations[runs * place : runs * (place + 1)])
    return {step: np.array(times) for step, times in sorted(by_step.items())}


def partners(test: str, pairs: int, half: int) -> list[tuple[int, int, int]]:
    """Return of each rank in a step: itself, the rank it sends to, and the rank it receives from (-1: none)."""
    messages = []
    for low in range(pairs):
        high, other = low + half, (low ^ 1) + half
        if test == "send":
            messages += [(low, high, -1), (high, -1, low)]
        elif test == "sendrecv_same":
            messages += [(low, high, high), (high, low, low)]
        else:
            messages += [(low, high, other), (high, (high - half ^ 1), low)]
    return messages


def exchange(test: str, pairs: int, processes: int) -> Program:
    """Return the calls of a step: MPI_Send and MPI_Recv, or MPI_Sendrecv, as often as measured."""
    ranks = [np.empty(0, OPERATION) for _ in range(processes)]
    for rank, receiver, sender in partners(test, pairs, processes // 2):
        if test == "send":
            calls = [(Code.SEND, receiver, 0, -1, MESSAGE) if sender < 0 else (Code.RECV, sender, 0, -1, MESSAGE)]
        else:
            transfer = [(Code.IRECV, sender, 0, -1, MESSAGE), (Code.ISEND, receiver, 0, -1, MESSAGE)]
            calls = [*transfer, (Code.WAITALL, 0, 0, -1, 0)]
        ranks[rank] = np.array(calls * RUNS, dtype=OPERATION)
    return Program.from_ranks(ranks)


def calibrated(folder: Path, processes: int) -> tuple[Machine, Machine]:
    """Return the machine fitted to the times of single calls, and to one pair of nodes of the load test.

    The second has the contention of exchanges with two partners, on four nodes.
    """
    calls = [next((folder / "calibration").glob(f"*_{call}.csv")) for call in ("Isend", "PingPong", "Recv")]
    machine = fit_machine(formats.load_all(calls), name=folder.name, settings=QUICK)

    def seconds(test: str, pairs: int) -> float:
        return float(np.median(load_times(_file(folder, test), processes, test)[pairs][:, 1:]))

    one_way = seconds("send", 1)
    model = machine.hybrid_model()
    upto = msgspec.structs.replace(model.modes[-1], limit=Edge(LARGEST_CALL))
    beyond = Mode("synchronous", Parameter(0.0), Parameter(MESSAGE / one_way))

    def with_contention(both_ways: float) -> Machine:
        contention = Parameter(float(np.clip(2 * one_way / both_ways, 1, 2)))
        hybrid = msgspec.structs.replace(model, modes=(*model.modes[:-1], upto, beyond), contention=contention)
        return msgspec.structs.replace(machine, hybrid=(hybrid,))

    return with_contention(seconds("sendrecv_same", 1)), with_contention(seconds("sendrecv_diff", 2))


def authors_model(folder: Path, processes: int) -> tuple[Network, Platform] | None:
    """Return SMPI's model with the authors' factors, on the links of their configuration; None where they are not."""
    texts = {path: path.read_text("utf-8") for path in (folder / "calibration").glob("*.xml")}
    settings: dict[str, str] = {}
    expected: dict[str, float] = {}
    for text in texts.values():
        properties = dict(re.findall(r'<prop id="([^"]+)" value="([^"]*)"', text))
        settings = properties if properties.get("smpi/bw-factor") else settings
        expected |= {name: float(value) for name, value in re.findall(r'<expected_(\w+) value="([^"]+)"', text)}
    if not settings or not expected:
        return None
    links = platforms.flat(processes, expected["bandwidth"], expected["latency"])
    return platforms.network(settings), links


def rows(repository: Path) -> Iterator[Row]:
    """Yield the load test of each cluster, simulated by the hybrid, the LogGPS and the authors' model."""
    for cluster in CLUSTERS:
        folder = repository / "data" / cluster.folder
        machine, other = calibrated(folder, cluster.processes)
        links, other_links = (from_machine.platform(calibration, cluster.processes) for calibration in (machine, other))
        models: dict[str, tuple[Network | DelayModel, Platform]] = {
            "hybrid": (from_machine.network(machine), links),
            "hybrid, contention by two partners": (from_machine.network(other), other_links),
            "LogGPS": (DelayModel(delays.from_machine(machine)), links),
        }
        if authors := authors_model(folder, cluster.processes):
            models["SMPI, authors' factors"] = authors
        for test, title in TESTS.items():
            for pairs, seconds in load_times(_file(folder, test), cluster.processes, test).items():
                if pairs == 1:
                    continue  # the machine has it
                program = exchange(test, pairs, cluster.processes)
                simulated = {name: run(program, model, where).seconds / RUNS for name, (model, where) in models.items()}
                yield Row(cluster.name, title, f"{pairs} pairs", float(np.median(seconds[:, 1:])), simulated)
        for pairs, seconds in load_times(_file(folder, "alltoall"), cluster.processes, "alltoall").items():
            program = work.collective(
                "alltoall", Problem(2 * pairs, MESSAGE), settings=CollectiveSettings(cluster.selector)
            )
            simulated = {name: run(program, model, where).seconds for name, (model, where) in models.items()}
            yield Row(cluster.name, "alltoall", f"{2 * pairs} nodes", float(seconds.max(axis=0).min()), simulated)


def _file(folder: Path, test: str) -> Path:
    return folder / "saturation" / f"load_{test}.csv"
