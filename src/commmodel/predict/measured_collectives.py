"""Times of collectives from measured ones of the same algorithm, at other sizes and numbers of processes.

Main entry: `from_measured`.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from commmodel.arrays import Array
from commmodel.collectives.algorithms.registry import ALGORITHMS
from commmodel.collectives.busiest import Load, load_of
from commmodel.collectives.library.selection import Selector
from commmodel.collectives.schedule import Problem
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import CollectiveTimes, Machine
from commmodel.predict.certainty import widened
from commmodel.predict.collective_prediction import CollectivePrediction
from commmodel.predict.seconds import Seconds
from commmodel.units import format_ratio, format_size

MEASURED = "measured"
"""The name of the model."""
_UNSTEADY = 1.3
"""Factor between runs of the same job from which a prediction says what it can hold at best."""


class MeasuredCollective(NamedTuple):
    """A time, and what it rests on."""

    seconds: Seconds
    times: CollectiveTimes
    remarks: tuple[str, ...]
    extrapolates: tuple[str, ...]

    def prediction(self, machine: Machine, problem: Problem, chosen_by: str) -> CollectivePrediction:
        """Return what is said of the operation."""
        times = self.times
        return CollectivePrediction(
            time=self.seconds,
            model=MEASURED,
            algorithm=times.algorithm or times.schedule or "the library's",
            operation=times.operation,
            processes=problem.processes,
            message_size=problem.message_size,
            segment_size=None,
            per_node=times.per_node,
            chosen_by=chosen_by,
            evaluation="measured",
            messages=None,
            models={MEASURED: self.seconds},
            remarks=self.remarks,
            extrapolates=self.extrapolates,
            warnings=machine.warnings,
        )


def from_measured(
    machine: Machine, operation: str, algorithm: str | None, problem: Problem, selector: Selector
) -> MeasuredCollective | None:
    """Return the time of an operation; None where nothing like it was measured, or not asked for.

    `algorithm` is a name of ours or as measured; None: what the MPI library picks, which is the selector's choice.
    """
    per_node = None if problem.nodes is None else problem.nodes.per_node
    if problem.root or problem.in_place or problem.operator != "predefined" or problem.segment_size is not None:
        return None
    for times in _alike(machine, operation, algorithm, per_node, problem.processes):
        load = load_of(operation, times.schedule, problem.processes, problem.message_size, times.per_node, selector)
        if load is not None and load.sizes.size:
            return _answer(machine, times, load, problem)
    return None


def check_measured(machine: Machine, operation: str, algorithm: str | None, processes: int) -> None:
    """Raise where only measured times could answer, and do not."""
    of_operation = [times for times in machine.collectives if times.operation == operation]
    if algorithm and algorithm not in ALGORITHMS[operation] and algorithm in {row.algorithm for row in of_operation}:
        raise InputError(f"{operation} by {algorithm} on {processes} processes has too many messages: ask for fewer")
    if not machine.plogp and all(segment.loggp is None for segment in machine.segments):
        names = ", ".join(dict.fromkeys(times.operation for times in machine.collectives))
        raise MissingParameterError(
            f"machine {machine.name!r} has no times of {operation} like this, only of {names}, and no LogGP "
            "parameters: measure it with python -m commmodel.bench collective or loggp, then fit"
        )


def _alike(
    machine: Machine, operation: str, algorithm: str | None, per_node: int | None, processes: int
) -> Iterator[CollectiveTimes]:
    """Yield models of the algorithm on such nodes, as spelled first."""
    of_operation = [times for times in machine.collectives if times.operation == operation]
    if per_node is None and len({times.per_node for times in of_operation}) == 1:
        per_node = of_operation[0].per_node
    fitting = [
        times
        for times in of_operation
        if times.per_node == per_node and not (per_node and times.processes[-1] <= per_node < processes)
    ]  # what was measured within a node says nothing of messages between nodes
    yield from (times for times in fitting if times.algorithm == (algorithm or ""))
    yield from (times for times in fitting if algorithm and times.schedule == algorithm != times.algorithm)


def _answer(machine: Machine, times: CollectiveTimes, load: Load, problem: Problem) -> MeasuredCollective:
    value = Seconds(load_seconds(times, load, problem.processes))
    seconds = widened(machine, value, deviation(times, problem.processes))
    name = times.algorithm or "what the library picks"
    remarks = [f"from measured times of {times.operation} by {name} at {times.measured}"]
    if len(times.processes) == 1 and problem.processes != times.processes[0]:
        remarks.append("one number of processes was measured: how times grow is the schedule's word; measure a second")
    if times.between_runs > _UNSTEADY:
        closest = math.sqrt(times.between_runs) - 1
        remarks.append(
            f"runs of the same job differ {times.between_runs:.2g} times in the median: no prediction of one run holds "
            f"closer than {format_ratio(closest)}"
        )
    limits = []
    if not times.processes[0] <= problem.processes <= times.processes[-1]:
        limits.append(f"p = {problem.processes}")
    largest = int(load.sizes[-1])
    if largest > times.message_sizes[-1]:
        limits.append(f"messages of {format_size(largest)} (measured up to {format_size(times.message_sizes[-1])})")
    return MeasuredCollective(
        seconds, times, tuple(remarks), (f"{' and '.join(limits)} extrapolated",) if limits else ()
    )


def message_seconds(times: CollectiveTimes, sizes: Array) -> Array:
    """Return f of message sizes, in bytes: linear between and beyond the measured ones, never less than the first.

    >>> times = CollectiveTimes("bcast", (4,), (8, 108), (1e-6, 2e-6))
    >>> (1e6 * message_seconds(times, np.array([0, 58, 208]))).round(3).tolist()
    [1.0, 1.5, 3.0]
    """
    knots, values = np.array(times.message_sizes, dtype=np.float64), np.array(times.seconds)
    inside = np.interp(sizes, knots, values)
    if knots.size < 2:
        return np.asarray(values[0] * np.maximum(sizes / max(knots[0], 1.0), 1.0))
    slope = (values[-1] - values[-2]) / (knots[-1] - knots[-2])
    return np.asarray(inside + np.maximum(sizes - knots[-1], 0.0) * max(slope, 0.0))


def _weights(times: CollectiveTimes, load: Load) -> Array:
    """Return the messages of each size, those that stay on a node as the share of one between nodes."""
    if not times.within:
        return load.counts.astype(np.float64)
    return np.asarray(load.counts - load.within * (1 - np.interp(load.sizes, times.message_sizes, times.within)))


def load_seconds(times: CollectiveTimes, load: Load, processes: int) -> float:
    """Return the time of an operation on P processes whose busiest processes have this load."""
    counts = _weights(times, load)
    total = float(message_seconds(times, load.sizes.astype(np.float64)) @ counts)
    if not total:
        return 0.0
    of_bytes = 1 - float(counts.sum()) * times.seconds[0] / total
    doublings = math.log2(processes / times.processes[-1])
    return total * 2 ** (doublings * ((1 - of_bytes) * times.growth + of_bytes * times.byte_growth))


def deviation(times: CollectiveTimes, processes: int) -> float:
    """Return the standard deviation of the logarithm of a time on P processes.

    >>> times = CollectiveTimes("bcast", (4, 8), (8,), (1e-6,), scatter=0.03, growth_scatter=0.02)
    >>> [round(deviation(times, processes), 3) for processes in (4, 6, 16, 32)]
    [0.03, 0.03, 0.036, 0.05]
    """
    beyond = max(math.log2(processes / times.processes[-1]), math.log2(times.processes[0] / processes), 0.0)
    return math.hypot(times.scatter, times.growth_scatter * beyond)
