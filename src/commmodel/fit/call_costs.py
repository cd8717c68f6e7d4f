"""Fit of calls beside plain messages, such as one-sided operations: T = α + n β + s δ + s (s + 1) κ.

All parameters are at least 0, fitted as robustly as ping-pongs. Main entry: `fit_calls`.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from commmodel.fit.linear import fit_linear
from commmodel.fit.measured_range import measured_times
from commmodel.fit.points import Points, points_of
from commmodel.fit.segment import FitSettings
from commmodel.fit.trust import rounded, scatter_of
from commmodel.fit.undisturbed import Undisturbed
from commmodel.fit.visits import visit_times
from commmodel.machine import CallCost, Parameter
from commmodel.machine.call_costs import NUMBERS, CallKernel, first_number
from commmodel.results import Configuration, Measurements
from commmodel.results.configurations import (
    DeviceCollective,
    DeviceCopy,
    DeviceMessage,
    Matching,
    OneSided,
    Persistent,
    PersistentCollective,
    StartUp,
    Threads,
)

_FAR = math.log(1.15)  # off in the mean: then what was measured is told, as of ping-pongs
_CROSSING = 3  # numbers of threads that tell what pairs of them cost
_UNITS = {"alpha": "s", "beta": "s/B", "step": "s", "crosstalk": "s"}

_Row = tuple[int, int, Sequence[Undisturbed]]


class _KeyOfCall(NamedTuple):
    kernel: CallKernel
    call: str
    path: str
    conditions: tuple[tuple[str, str], ...]


def _described(configuration: Configuration) -> tuple[_KeyOfCall, int, int] | None:
    """Return which call a configuration is of, its bytes, and the number that its steps come from."""
    match configuration:
        case OneSided(operation=operation, message_size=size, path=path):
            how = ("synchronisation", configuration.synchronisation), ("window", configuration.window)
            return _KeyOfCall("one-sided", operation, path, how), size, 0
        case Persistent(request=request, message_size=size, path=path):
            return _KeyOfCall("persistent", request, path, ()), size, configuration.partitions
        case PersistentCollective(operation=operation, message_size=size, processes=processes):
            kind = ("request", configuration.request), ("processes", str(processes))
            return _KeyOfCall("persistent", operation, "any", kind), size, first_number("persistent")
        case Matching(queue=queue, entries=entries, message_size=size, path=path):
            return _KeyOfCall("matching", queue, path, ()), size, entries
        case Threads(message_size=size, threads=threads, path=path, window=1):
            return _KeyOfCall("threads", "ping-pong", path, ()), size, threads
        case Threads(message_size=size, threads=threads, path=path, window=window):
            return _KeyOfCall("threads", "window", path, (("window", str(window)),)), size, threads
        case StartUp(stage=stage, processes=processes):
            return _KeyOfCall("start-up", stage, "any", ()), 0, processes
        case DeviceMessage(message_size=size, way=way, path=path, pairs=pairs):
            return _KeyOfCall("device", way, path, (("pairs", str(pairs)),) if pairs > 1 else ()), size, 0
        case DeviceCollective(operation=operation, message_size=size, processes=processes):
            by = ("processes", str(processes)), ("way", configuration.way)
            return _KeyOfCall("device-collective", operation, "any", by), size, 0
        case DeviceCopy(message_size=size, operation=operation, memory=memory):
            return _KeyOfCall("device-copy", operation, "any", (("memory", memory),)), size, 0
    return None


def fit_calls(measurements: Measurements, settings: FitSettings) -> tuple[CallCost, ...]:
    """Return the costs of all calls that were measured, ordered by kernel, path, call and conditions.

    Examples
    --------
    >>> from commmodel.results import Header, Launch, Library, Record
    >>> header = Header("commmodel-results", 1, "2026-11-29", (), Library("MPICH"), (), ())
    >>> record = Record(OneSided("put", 8, "same-node"), "s", (2e-6,) * 20)
    >>> (cost,) = fit_calls(Measurements((Launch(header, (record,)),)), FitSettings())
    >>> cost.call, cost.alpha.value, cost.conditions["synchronisation"]
    ('put', 2e-06, 'flush')
    """
    rows: dict[_KeyOfCall, list[_Row]] = defaultdict(list)
    for record in measurements.records:
        if (described := _described(record.configuration)) is not None:
            call, size, number = described
            rows[call].append((size, number, visit_times(record)))
    costs = [_fitted(call, points_of(rows[call]), settings) for call in sorted(rows)]
    return tuple(cost for cost in costs if cost is not None)


def queue_search(calls: Sequence[CallCost]) -> Parameter | None:
    """Return γ of γ m², the search for m messages in the worst order: half an entry's time, of the slowest path.

    The i-th message is found behind m − i posted receives, m (m − 1) / 2 together. None where no queue was measured.

    >>> posted = CallCost("matching", "posted", Parameter(1e-6), step=Parameter(8e-9, "s", 7e-9, 9e-9))
    >>> queue_search([posted])
    Parameter(value=4e-09, unit='s', low=3.5e-09, high=4.5e-09)
    """
    steps = [
        cost.step for cost in calls if (cost.kernel, cost.call) == ("matching", "posted") and cost.step is not None
    ]
    if not steps:
        return None
    step = max(steps, key=lambda step: step.value)
    ends = (None if end is None else rounded(end / 2) for end in (step.low, step.high))
    return Parameter(rounded(step.value / 2), "s", *ends)


def _fitted(call: _KeyOfCall, points: Points, settings: FitSettings) -> CallCost | None:
    """Return the cost of a call; None where the clock was too coarse for it."""
    if (points.seconds <= 0).any():
        return None
    sizes, numbers = np.unique(points.message_size), np.unique(points.pairs)
    steps = points.pairs.astype(np.float64) - first_number(call.kernel)
    columns = {"alpha": np.ones(len(points))}
    if sizes.size > 1:
        columns["beta"] = points.message_size.astype(np.float64)
    if numbers.size > 1:
        columns["step"] = steps
    if call.kernel == "threads" and numbers.size >= _CROSSING:
        columns["crosstalk"] = steps * (steps + 1)
    fit = fit_linear(np.stack([*columns.values()], axis=1), points, settings)
    parameters = {name: fit.parameter(column, _UNITS[name], settings) for column, name in enumerate(columns)}
    if len(points) == 1 and np.isfinite([points.low, points.high]).all():
        ends = rounded(float(points.low[0])), rounded(float(points.high[0]))
        parameters["alpha"] = Parameter(parameters["alpha"].value, "s", *ends)
    logs = np.log(points.seconds / fit.fitted)
    is_far = numbers.size == 1 and float(np.abs(logs).mean()) > _FAR
    cost = CallCost(
        call.kernel, call.call, parameters["alpha"], call.path, dict(call.conditions),
        beta=parameters.get("beta"), step=parameters.get("step"), crosstalk=parameters.get("crosstalk"),
        sizes=(int(sizes[0]), int(sizes[-1])), scatter=rounded(scatter_of(logs, len(columns))),
        times=measured_times(points) if is_far else None,
    )  # fmt: skip
    return replace(cost, numbers=(int(numbers[0]), int(numbers[-1]))) if call.kernel in NUMBERS else cost
