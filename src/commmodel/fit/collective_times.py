"""Models of measured collectives, algorithm by algorithm, for other sizes and numbers of processes.

An algorithm's schedule says which messages the busiest process of each round sends. The time f(m) of such a message
within the operation is what makes their sum the measured times: linear between knots, growing, with the least bends
that do so. So one model holds for a tree and for a ring, whose messages shrink as processes are added. Of several
numbers of processes, two exponents are fitted, too, of the messages' latency and of their bytes: longer ways and links
that are shared make times grow faster than the schedule says. Main entry: `fit_collectives`.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from commmodel.arrays import Array
from commmodel.collectives.busiest import Load, load_of
from commmodel.collectives.operation import OPERATIONS, SCHEDULED, ScheduledName
from commmodel.collectives.spellings import schedule_named
from commmodel.fit.trust import rounded
from commmodel.fit.visits import visit_times
from commmodel.machine import CollectiveTimes, Machine
from commmodel.machine.model_choice import message_seconds
from commmodel.results import Header, Measurements, Record
from commmodel.results.configurations import Collective

GROWTH_SCATTER = 0.24
"""Standard deviation of log T for a doubling of P, where one P was measured: networks differ by so much
(`benchmarks.validation.public_record --growth`)."""
LEAST_SCATTER = 0.1
"""Of log T, between a job and the next one on a shared machine."""
_BENDS = 0.05
"""Weight of a bend of f against an error of the same share of a time."""
_APART = 1.5
"""Least factor between two knots."""
_OTHER_CHOICES = ("fujitsu", "cray", "hpe ", "nccl", "rccl")
"""Libraries whose choice of algorithms nobody has published, in the text of their versions."""
_STEPS = 5
"""Of f and of the exponents in turn."""


class _Algorithm(NamedTuple):
    """What has a model of its own."""

    operation: ScheduledName
    algorithm: str
    per_node: int | None


class _MessageTimes(NamedTuple):
    """f at the knots, the exponents, and how much times scatter, and grow further."""

    seconds: Array
    growth: Array
    scatter: float
    growth_scatter: float


class _Point(NamedTuple):
    """The time of an operation on P processes, and the messages of its busiest ones."""

    processes: int
    load: Load
    seconds: float


def fit_collectives(measurements: Measurements, machine: Machine) -> tuple[CollectiveTimes, ...]:
    """Return a model of each measured algorithm of each operation; none where its schedule is not known.

    The machine's selector says what its library chooses, and its paths how long a message takes that stays on a node.

    >>> from commmodel.machine import Segment
    >>> from commmodel.results import Launch, Library
    >>> mpi = Header("commmodel-results", 1, "", (), Library("MPICH"), (), ())
    >>> calls = ((Collective("bcast", n, 8, algorithm="binomial"), 3e-6 + 3e-9 * n) for n in (8, 1008, 10008))
    >>> records = tuple(Record(call, "s", (seconds,)) for call, seconds in calls)
    >>> model, = fit_collectives(Measurements((Launch(mpi, records),)), Machine("m", (Segment("all"),)))
    >>> [round(1e6 * seconds, 2) for seconds in model.seconds]
    [1.01, 2.01, 11.01]
    """
    groups: dict[_Algorithm, dict[tuple[int, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for header, operation, call, record in _usable(measurements):
        measured = _Algorithm(operation, call.algorithm, _per_node(call, header))
        groups[measured][call.processes, call.message_size].append(_seconds(record))
    models = (_fit(measured, times, machine) for measured, times in groups.items())
    return tuple(model for model in models if model is not None)


def has_collectives(measurements: Measurements) -> bool:
    """Whether there are records of collectives that a model could be fitted to."""
    return any(True for _ in _usable(measurements))


def unpublished_choice(measurements: Measurements) -> str:
    """Return the library of a launch whose choice of algorithms nobody has published; empty where there is none."""
    return next(filter(None, (_foreign(launch.header) for launch in measurements.launches)), "")


def _foreign(header: Header) -> str:
    library = header.mpi.version.partition("\n")[0].strip()
    return library if any(name in library.lower() for name in _OTHER_CHOICES) else ""


def _usable(measurements: Measurements) -> Iterator[tuple[Header, ScheduledName, Collective, Record]]:
    """Yield the blocking operations that send something, by a named algorithm or by what a library chose."""
    names: dict[str, ScheduledName] = {name: name for name in SCHEDULED}
    for launch in measurements.launches:
        is_foreign = bool(_foreign(launch.header))
        for record in launch.records:
            call = record.configuration
            if not isinstance(call, Collective) or call.mode != "blocking" or call.operation not in names:
                continue
            operation = names[call.operation]
            if (call.algorithm or not is_foreign) and (call.message_size or not OPERATIONS[operation].has_size):
                yield launch.header, operation, call, record


def _seconds(record: Record) -> float:
    return math.exp(float(np.mean([math.log(max(visit.median, 1e-12)) for visit in visit_times(record)])))


def _per_node(call: Collective, header: Header) -> int | None:
    """Return the processes of a node, where each of the nodes has as many."""
    if call.per_node is not None or not header.ranks:
        return call.per_node
    counts = np.unique([rank.host for rank in header.ranks[: call.processes]], return_counts=True)[1]
    return int(counts[0]) if (counts == counts[0]).all() else None


def _fit(measured: _Algorithm, times: dict[tuple[int, int], list[float]], machine: Machine) -> CollectiveTimes | None:
    schedule = schedule_named(measured.operation, measured.algorithm)
    if measured.algorithm and not schedule:
        return None
    points = []
    selector = machine.algorithm_selector(machine.selector_name)
    for (processes, size), seconds in sorted(times.items()):
        load = load_of(measured.operation, schedule, processes, size, measured.per_node, selector)
        if load is not None and load.sizes.size:
            points += [_Point(processes, load, value) for value in seconds]
    if not points:
        return None
    knots = _knots(points)
    within = _within(machine, knots) if any(point.load.within.any() for point in points) else ()
    fitted = _fitted(points, knots, within)
    model = CollectiveTimes(
        measured.operation,
        tuple(sorted({point.processes for point in points})),
        tuple(int(knot) for knot in knots),
        tuple(rounded(value) for value in fitted.seconds),
        measured.algorithm,
        schedule,
        measured.per_node,
        within=within,
        scatter=rounded(max(fitted.scatter, LEAST_SCATTER)),
        growth_scatter=rounded(fitted.growth_scatter),
        between_runs=rounded(_between_runs(times.values())),
    )
    if not fitted.growth.any():
        return model
    growth, byte_growth = (rounded(exponent) for exponent in fitted.growth)
    return msgspec.structs.replace(model, growth=growth, byte_growth=byte_growth)


def _between_runs(times: Iterable[Sequence[float]]) -> float:
    """Return how much slower the slowest run of an operation is than the fastest, in the median of those with several.

    >>> _between_runs([(1.0, 1.5, 1.2), (2.0,), (2.0, 2.2), (1.0, 3.0)])
    1.5
    """
    factors = [max(runs) / min(runs) for runs in times if len(runs) > 1]
    return float(np.median(factors)) if factors else 1.0


def _within(machine: Machine, knots: Array) -> tuple[float, ...]:
    """Return the time of a message on a node as a share of one between nodes; empty where the paths do not tell."""
    inner = next((path for path in ("same-node", "same-socket") if path in machine.paths), None)
    if inner is None or "between-nodes" not in machine.paths:
        return ()
    shares = [
        message_seconds(machine, int(knot), inner) / message_seconds(machine, int(knot), "between-nodes")
        for knot in knots
    ]
    return tuple(map(rounded, shares)) if all(0 < share < math.inf for share in shares) else ()


def _fitted(points: Sequence[_Point], knots: Array, within: Sequence[float]) -> _MessageTimes:
    """Return f and the exponents that make the measured times, with the least bends and exponents that do so."""
    design = np.array([_row(point.load, knots, within) for point in points])
    logs = np.log([point.seconds for point in points])
    processes = np.array([point.processes for point in points], dtype=np.float64)
    doublings = np.log2(processes / processes.max())
    weights = np.exp2(doublings)  # most of the largest number: predictions go beyond it
    growth, spread, factor = np.zeros(2), np.full(2, GROWTH_SCATTER), np.ones(len(points))
    for _ in range(_STEPS if doublings.any() else 1):
        seconds = _message_seconds(design, knots, np.exp(logs) / factor, weights)
        residuals = logs - np.log(np.maximum(design @ seconds, 1e-300))
        if doublings.any():
            of_bytes = _of_bytes(design, seconds)
            columns = np.stack([doublings * (1 - of_bytes), doublings * of_bytes], axis=1)
            growth, spread = _ridge(columns * math.log(2), residuals)
            factor = np.exp2(columns @ growth)
    residuals = logs - np.log(np.maximum(design @ seconds, 1e-300) * factor)
    freedom = max(len(points) - knots.size - (2 if doublings.any() else 0), 1)
    scatter = math.sqrt(float(residuals @ residuals) / freedom)
    return _MessageTimes(seconds, growth, scatter, float(spread.max()))


def _knots(points: Sequence[_Point]) -> Array:
    """Return the largest message of each measured operation and the smallest of all, apart from each other."""
    sizes = sorted({float(point.load.sizes[-1]) for point in points} | {float(min(p.load.sizes[0] for p in points))})
    knots = [sizes[0]]
    for size in sizes[1:]:
        if size >= max(knots[-1], 1.0) * _APART:
            knots.append(size)
    return np.array(knots)


def _row(load: Load, knots: Array, within: Sequence[float]) -> Array:
    """Return how many messages of each knot's size take as long as a load: hat functions, straight on beyond them."""
    row = np.zeros(knots.size)
    counts = load.counts - load.within * (1 - np.interp(load.sizes, knots, within)) if within else load.counts
    if knots.size == 1:
        return np.array([float((counts * np.maximum(load.sizes / max(knots[0], 1.0), 1.0)).sum())])
    sizes = np.maximum(load.sizes.astype(np.float64), knots[0])
    place = np.clip(np.searchsorted(knots, sizes, side="right") - 1, 0, knots.size - 2)
    share = (sizes - knots[place]) / (knots[place + 1] - knots[place])
    np.add.at(row, place, counts * (1 - share))
    np.add.at(row, place + 1, counts * share)
    return row


def _message_seconds(design: Array, knots: Array, seconds: Array, weights: Array) -> Array:
    """Return f at the knots: least squares of weighted relative errors and bends, no part of f falling."""
    from scipy.optimize import nnls

    scale = np.interp(knots, *_means(design, knots, seconds))
    bends = np.zeros((max(knots.size - 2, 0), knots.size))
    for row, (before, knot, after) in enumerate(zip(knots, knots[1:], knots[2:], strict=False)):
        share = (knot - before) / (after - before)
        bends[row, row : row + 3] = np.array([1 - share, -1.0, share]) * _BENDS / scale[row + 1]
    growing = np.tril(np.ones((knots.size, knots.size)))
    system = np.vstack([design * (weights / seconds)[:, None], bends]) @ growing
    target = np.concatenate([weights, np.zeros(len(bends))])
    norms = np.maximum(np.linalg.norm(system, axis=0), 1e-300)
    steps, _ = nnls(system / norms, target, maxiter=100 * knots.size)
    return np.asarray(growing @ (steps / norms))


def _means(design: Array, knots: Array, seconds: Array) -> tuple[Array, Array]:
    """Return mean sizes of an operation's messages, ascending, and the mean time of one."""
    counts = design.sum(axis=1)
    order = np.argsort(sizes := design @ knots / counts)
    return sizes[order], (seconds / counts)[order]


def _of_bytes(design: Array, seconds: Array) -> Array:
    """Return the share of each operation's time that is not the latency of its messages."""
    return np.asarray(1 - design.sum(axis=1) * seconds[0] / np.maximum(design @ seconds, 1e-300))


def _ridge(columns: Array, residuals: Array) -> tuple[Array, Array]:
    """Return the exponents and their deviations, each with a prior of mean 0 and `GROWTH_SCATTER`."""
    unit = GROWTH_SCATTER / math.log(2)  # of an exponent, where 2^γ is a doubling's factor
    noise = max(float(np.std(residuals)), LEAST_SCATTER)
    for _ in range(3):
        inverse = np.linalg.inv(columns.T @ columns / noise**2 + np.eye(2) / unit**2)
        growth = inverse @ columns.T @ residuals / noise**2
        rest = residuals - columns @ growth
        noise = max(math.sqrt(float(rest @ rest) / max(residuals.size - 2, 1)), LEAST_SCATTER)
    return growth, np.sqrt(np.diag(inverse)) * math.log(2)
