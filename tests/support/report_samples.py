"""What the tests of the report show: measurements made from formulas, and machines that know these formulas."""

import math
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from rich.console import Console, RenderableType

from commmodel.machine import (
    Extended,
    LatencyAware,
    Limit,
    Machine,
    MaxRate,
    Parameter,
    Postal,
    Quality,
    Segment,
)
from commmodel.models import maxrate
from commmodel.report import page
from commmodel.results import (
    BenchOptions,
    Buffers,
    Clock,
    Configuration,
    Header,
    Host,
    Launch,
    Library,
    Measurements,
    Rank,
    Record,
)
from commmodel.results.configurations import MessagePath, Pairs, PingPong, Stream, Threshold

SIZES = (0, 1, 1024, 8116, 8192, 1 << 20)
PAIRS = (1, 2, 8)


def header(host: str = "node1", **changes: object) -> Header:
    clock = Clock("tsc", 2.5e9, "kernel", 8e-9, 1.6e-8, 1e-6)
    values: dict[str, Any] = {
        "format": "commmodel-results",
        "version": 1,
        "created": "2026-01-02T03:04:05+00:00",
        "command": ("python", "-m", "commmodel.bench", "--sizes", "1:1 MiB"),
        "mpi": Library("MPICH Version:      5.0.2\nMPICH ABI: 18", "mpich", "4.1"),
        "hosts": (Host(host, 4, "A CPU", "6.1", "performance", "tsc", "madvise", (0.1, 0.2, 0.3), clock),),
        "ranks": tuple(Rank(rank, 0, f"{rank}", rank) for rank in range(4)),
        "versions": {"commmodel": "0.1.0"},
        "options": BenchOptions(("pingpong",), 42, sizes=SIZES, repetitions=1000),
        "buffers": Buffers(4096, "never", 0),
        "placement": {"same-node": ((0, 1), (2, 3))},
    }
    return Header(**(values | changes))


def record(configuration: Configuration, seconds: float, **changes: Any) -> Record:
    """A record whose median is `seconds`, with the interval [0.992, 1.008] of it."""
    samples = tuple(seconds * (1 + 0.01 * (rank - 5) / 5) for rank in range(11))
    return Record(configuration, "s", samples, **({"stop": "interval"} | changes))


def threshold(path: MessagePath = "same-node") -> Record:
    return Record(Threshold(path), "B", (8116.0,), bracket=(8116.0, 8120.0))


def seconds(size: int, pairs: int) -> float:
    alpha, R_C = (0.75e-6, 3e9) if size <= 8116 else (1.5e-6, 20e9)
    return maxrate.time(size, pairs, alpha, 40e9, R_C)


def records(path: MessagePath = "same-node", pairs: tuple[int, ...] = PAIRS) -> list[Record]:
    single = [record(PingPong(size, path), seconds(size, 1)) for size in SIZES]
    return single + [record(Pairs(size, k, path), seconds(size, k)) for size in SIZES for k in pairs]


def measurements(*parts: list[Record], head: Header | None = None) -> Measurements:
    return Measurements((Launch(head or header(), tuple(record for part in parts for record in part)),))


def parameter(value: float, unit: str) -> Parameter:
    return Parameter(value, unit, 0.95 * value, 1.05 * value)


def quality(*remarks: str) -> Quality:
    return Quality(6, 0.3, 0.021, 0.083, not remarks, remarks)


def segment(protocol: str, alpha: float, R_C: float, R_N: Parameter | None, path: str, limit: Limit | None) -> Segment:
    rates = MaxRate(parameter(alpha, "s"), parameter(R_C, "B/s"), R_N, quality())
    postal = Postal(parameter(alpha, "s"), parameter(1 / R_C, "s/B"), quality())
    return Segment(protocol, path, limit, postal, rates)


def machine(path: str = "same-node", R_N: Parameter | None = None, name: str = "m") -> Machine:
    limit = Limit(8116, "threshold", above=8120)
    rate = R_N or parameter(40e9, "B/s")
    eager = segment("eager", 0.75e-6, 3e9, rate, path, limit)
    return Machine(name, (eager, segment("rendezvous", 1.5e-6, 20e9, rate, path, None)), confidence=0.95)


def shown(renderable: RenderableType, width: int = 100) -> str:
    console = Console(width=width, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


FULL = measurements([threshold()], records())


@cache
def full_page(fitted: bool = True) -> str:
    """Return the page of `FULL`, made once for all tests that read it."""
    return page.render(FULL, machine() if fitted else None, "m")


# A cluster in all detail: three paths, up to 16 pairs, streams, every model

CLUSTER_PAIRS = (1, 2, 4, 8, 16)
CLUSTER_SIZES = tuple(1 << power for power in range(23))
LIMIT = 8112
_DUPLEX = 1.8
_TRUTH: dict[MessagePath, tuple[tuple[float, float, float, float], tuple[float, float, float, float]]] = {
    "same-socket": ((0.4e-6, 4e9, 2.4e9, 45e9), (1.1e-6, 11e9, 6e9, 60e9)),
    "same-node": ((0.6e-6, 3e9, 2e9, 38e9), (1.6e-6, 9e9, 5e9, 50e9)),
    "between-nodes": ((1.3e-6, 2e9, 1.1e9, math.inf), (3.1e-6, 10e9, 4e9, 21e9)),
}
"""Path -> α, R_Cb, R_Ci and R_N (Gropp 2016, Eq 4) of eager and of rendezvous messages."""


def cluster_seconds(path: MessagePath, size: int, pairs: int, duplex: float = 1.0) -> float:
    """Return the time of a message between processes of the cluster; with a duplex factor, of a stream."""
    alpha, R_Cb, R_Ci, R_N = _TRUTH[path][size > LIMIT]
    noise = random.Random(f"{path} {size} {pairs} {duplex}").gauss(1, 0.03)  # noqa: S311
    rate = (R_Cb + (pairs - 1) * R_Ci) / pairs
    return noise * maxrate.time(size, pairs, alpha if duplex == 1 else alpha / 5, R_N / duplex, rate)


@cache
def cluster_measurements() -> Measurements:
    records = []
    for path in _TRUTH:
        records.append(Record(Threshold(path), "B", (float(LIMIT),), bracket=(float(LIMIT), LIMIT + 1.0)))
        for size in CLUSTER_SIZES:
            records.append(record(PingPong(size, path), cluster_seconds(path, size, 1)))
            for pairs in CLUSTER_PAIRS:
                records.append(record(Pairs(size, pairs, path), cluster_seconds(path, size, pairs)))
                records.append(record(Stream(size, pairs, path), cluster_seconds(path, size, pairs, _DUPLEX)))
    return measurements(records)


def _fit(points: int, mean: float, criterion: float | None, *remarks: str, trusted: bool = True) -> Quality:
    return Quality(points, points * mean, mean, 4 * mean, trusted, remarks, criterion)


def _rate(value: float) -> Parameter:
    return parameter(value, "B/s") if math.isfinite(value) else Parameter(math.inf, "B/s", 24.5e9, math.inf)


def cluster_segment(path: MessagePath, truth: Sequence[float], protocol: str, limit: Limit | None) -> Segment:
    alpha, R_Cb, R_Ci, R_N = truth
    latency = parameter(alpha, "s")
    R_C = _rate(0.7 * R_Cb)
    poor = "the model is off by 35 % on average and 140 % at 64 B"
    return Segment(
        protocol,
        path,
        limit,
        Postal(latency, parameter(1 / R_Cb, "s/B"), _fit(28, 0.021, -1010.5)),
        MaxRate(latency, R_C, _rate(R_N), _fit(84, 0.35, -2431.7, poor, trusted=False)),
        Extended(latency, _rate(R_Cb), _rate(R_Ci), _rate(R_N), _fit(84, 0.024, -2875.2)),
        LatencyAware(latency, R_C, _rate(R_N), _fit(84, 0.22, -2455.1)),
        MaxRate(parameter(alpha / 5, "s"), R_C, _rate(R_N / _DUPLEX), _fit(70, 0.05, -2200.0)),
        recommended="extended",
        reason="the simplest that is good enough: mean error 2.4 % (postal 58 %, max-rate 35 %, latency-aware 22 %)",
    )


def cluster() -> Machine:
    limit = Limit(LIMIT, "threshold", above=LIMIT + 1)
    segments = []
    for path, (eager, rendezvous) in _TRUTH.items():
        segments += [cluster_segment(path, eager, "eager", limit)]
        segments += [cluster_segment(path, rendezvous, "rendezvous", None)]
    return Machine("cluster", tuple(segments), confidence=0.95)


@cache
def cluster_page() -> str:
    """Return the page of the cluster, made once for all tests that read it."""
    return page.render(cluster_measurements(), cluster(), "cluster")
