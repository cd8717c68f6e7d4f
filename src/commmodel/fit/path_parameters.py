"""Parameters of a path's hybrid model: contention, unexpected messages, answers. Main entry: `fit_contention`."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from commmodel.arrays import Array
from commmodel.fit import bootstrap
from commmodel.fit.segment import FitSettings
from commmodel.machine import Parameter
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Answer, Contention, Unexpected
from commmodel.results.parameters import kernel_name

_TURNS = 1.6  # transfers both ways over one way, or over the fastest both ways, where ranks may have taken turns
_SLOWED = 1.1  # by which transfers must be slower beside others for these to matter


def resampled_parameter(estimates: Array, unit: str, settings: FitSettings) -> Parameter:
    """Return a parameter of its value, which comes first, and its values in resampled data."""
    resampled = None if estimates.size < 2 else estimates[1:]
    return bootstrap.parameter(float(estimates[0]), resampled, unit, settings.confidence)


def fit_contention(
    measurements: Measurements, path: str, settings: FitSettings, takes_turns: bool = False
) -> tuple[Parameter | None, list[str]]:
    """Return the node's bandwidth both ways over one way, and the effect of more pairs of nodes.

    (B_s + B_r) / B = 2 T(one way) / T(both ways), held between 1 and 2; None where either is missing. T(both ways) is
    that of a ring of four nodes where it was measured and one-way transfers of two pairs do not slow each other, else
    that of exchanges of two.

    Where ranks may take turns, as answers wait behind data, exchanges of two nodes in which they did say nothing of the
    link: these are left out, and if all seem to be such the result is 2, without an interval, and a remark.
    """
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, Contention) and configuration.path == path:
            times[configuration.direction, configuration.node_pairs] += record.samples
    remarks, limits_further = [], False
    for direction in ("one-way", "both-ways"):
        alone = times.get((direction, 1))
        for pairs in sorted({pairs for way, pairs in times if way == direction and pairs > 1} if alone else ()):
            ratio = float(np.median(times[direction, pairs]) / np.median(alone or ()))
            slowed = f"take {ratio:.2f} times as long as that of one pair: the network between them limits"
            words = slowed if ratio > _SLOWED else "take no longer than that of one pair"
            limits_further |= direction == "one-way" and ratio > _SLOWED
            remarks.append(f"{direction} transfers between {pairs} pairs of nodes at once {words}")
    one_way, both_ways = times.get(("one-way", 1), []), times.get(("both-ways", 1), [])
    ring = [] if limits_further else times.get(("ring", 2), [])
    if ring and both_ways:
        ratio = float(np.median(both_ways) / np.median(ring))
        if ratio > _SLOWED:
            words = f"take {ratio:.2f} times as long as in a ring of nodes: the two ranks probably take turns"
            remarks.append(f"both-ways transfers between two nodes {words}")
    if not one_way or not (ring or both_ways):
        return None, remarks
    if ring:
        both_ways = ring
    elif takes_turns:
        least = min(both_ways)
        if least > _TURNS * float(np.median(one_way)):
            words = (
                "either the link carries one direction at a time, or the ranks took turns; both directions at once are "
                "assumed, and the kernel contention on four nodes would tell"
            )
            ratio = least / np.median(one_way)
            remarks.append(f"both-ways transfers take {ratio:.2f} times as long as one-way transfers: {words}")
            return Parameter(2.0, "1"), remarks
        both_ways = [time for time in both_ways if time < _TURNS * least]
    single, double = _middles((one_way, both_ways), settings)
    return resampled_parameter(np.clip(2 * single / double, 1, 2), "1", settings), remarks


def without_eager(measurements: Measurements, path: str, eager: float) -> tuple[Measurements, list[str]]:
    """Return measurements without those of answers and unexpected messages that await no receive, and remarks on them.

    Messages of at most `eager` bytes are sent at once: they tell nothing of those that wait.
    """
    remarks = {}

    def tells(record: Record) -> bool:
        configuration = record.configuration
        if not isinstance(configuration, Answer | Unexpected) or configuration.path != path:
            return True
        size = configuration.smaller if isinstance(configuration, Answer) else configuration.message_size
        if size > eager:
            return True
        kernel = kernel_name(configuration)
        remarks[kernel] = f"{kernel}: its messages of {size} B await no receive and tell nothing: measure it again"
        return False

    launches = [
        replace(launch, records=tuple(record for record in launch.records if tells(record)))
        for launch in measurements.launches
    ]
    return replace(measurements, launches=tuple(launches)), list(remarks.values())


def fit_unexpected(measurements: Measurements, path: str, settings: FitSettings) -> Parameter | None:
    """Return the share of a large message that comes before its receive: 1 − T(late) / T(awaited), from 0 to 1."""
    times: dict[str, list[float]] = defaultdict(list)
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, Unexpected) and configuration.path == path:
            times[configuration.receive] += record.samples
    if not times["late"] or not times["awaited"]:
        return None
    late, awaited = _middles((times["late"], times["awaited"]), settings)
    return resampled_parameter(np.clip(1 - late / awaited, 0, 1), "1", settings)


def fit_answers(
    measurements: Measurements, path: str, settings: FitSettings
) -> tuple[Parameter | None, Parameter | None]:
    """Return the time of a send beside a large message the other way over that one's, and half an empty round trip."""
    times: dict[str, list[float]] = defaultdict(list)
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, Answer) and configuration.path == path:
            times[configuration.exchange] += record.samples
    delay = latency = None
    if times["beside"] and times["alone"]:
        beside, alone = _middles((times["beside"], times["alone"]), settings)
        delay = resampled_parameter(np.clip(beside / alone, 0, 1), "1", settings)
    if times["empty"]:
        latency = resampled_parameter(_middles((times["empty"],), settings)[0], "s", settings)
    return delay, latency


def _middles(rows: Sequence[Sequence[float]], settings: FitSettings) -> list[Array]:
    """Return the median of each row, then those of resampled rows."""
    random = np.random.default_rng(settings.seed)
    return [
        np.r_[np.median(row), np.median(random.choice(row, (settings.samples, len(row))), axis=1)]
        for row in map(np.asarray, rows)
    ]
