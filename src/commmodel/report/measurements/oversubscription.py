"""What the network beyond the node leaves to each node while several pairs of nodes communicate.

A node moves k n / T. Beside other pairs of nodes k and n are what they are alone, so its rate over its rate alone is
T_alone / T. Both times are of one run, so that nothing but the number of pairs of nodes differs. Main entry: `beyond`.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import msgspec

from commmodel.report.kit.cells import Cell
from commmodel.results import Measurements, Pairs, Record, Stream
from commmodel.statistics import Summary
from commmodel.units import format_rate, format_ratio, format_size

__all__ = ["Beyond", "Share", "ShareRow", "beyond", "share_rows"]

_MARGIN = 0.05  # what two measurements of one configuration may differ by on a quiet network


class Share(NamedTuple):
    """The rate of a node beside other pairs of nodes over its rate alone, of one kernel, size and number of pairs."""

    kernel: str
    message_size: int
    pairs: int
    node_pairs: int
    alone: float
    """Bytes per second of the node while no other pair communicates."""
    ratio: float
    low: float | None
    """Both medians at the ends of their intervals that make the ratio least; None where one has no interval."""
    high: float | None


class Beyond(NamedTuple):
    """All shares of some measurements, ordered by kernel, size and number of pairs, and what they say."""

    verdict: str
    shares: tuple[Share, ...]


class ShareRow(NamedTuple):
    """The shares of one kernel, size and number of pairs as text, a cell for each number of pairs of nodes."""

    kernel: str
    size: str
    pairs: str
    alone: str
    cells: tuple[Cell, ...]


def _runs(measurements: Measurements) -> Iterable[list[Record]]:
    """Yield the records of each launch with those of the launches that resumed it."""
    records: list[Record] = []
    for launch in measurements.launches:
        if not launch.header.resumes:
            yield records
            records = []
        records.extend(launch.records)
    yield records


def _share(configuration: Pairs | Stream, summary: Summary, alone: Summary) -> Share:
    ends = (alone.low, summary.high, alone.high, summary.low)
    known = all(math.isfinite(end) and end > 0 for end in ends)
    moved = configuration.pairs * configuration.message_size
    return Share(
        str(type(configuration).__struct_config__.tag),
        configuration.message_size,
        configuration.pairs,
        configuration.node_pairs,
        moved / alone.median,
        alone.median / summary.median,
        alone.low / summary.high if known else None,
        alone.high / summary.low if known else None,
    )


def _shares(records: Sequence[Record]) -> Iterable[Share]:
    measured = {one.configuration: one for one in records}
    for configuration, record in measured.items():
        if isinstance(configuration, Pairs | Stream) and configuration.node_pairs > 1:
            alone = measured.get(msgspec.structs.replace(configuration, node_pairs=1))
            if alone is not None and min(alone.summary.median, record.summary.median) > 0:
                yield _share(configuration, record.summary, alone.summary)


def _cell(share: Share) -> Cell:
    interval = "" if share.low is None or share.high is None else f"[{100 * share.low:.0f}, {100 * share.high:.0f}]"
    return Cell(format_ratio(share.ratio), interval)


def _verdict(shares: Sequence[Share]) -> str:
    """Judge by the largest messages: their time is that of their bytes, hardly that of waiting for the slowest rank."""
    if not shares:
        return (
            "Whether the network beyond the node limits is not known: no pair of nodes was measured alone in the same "
            "run; measure with --node-pairs 1 among the others."
        )
    largest = max(share.message_size for share in shares)
    judged = [share for share in shares if share.message_size == largest]
    limited = [share for share in judged if share.high is not None and share.high < 1 - _MARGIN]
    if limited:
        worst = min(limited, key=lambda share: share.ratio)
        return (
            f"The network beyond the node limits: while {worst.node_pairs} pairs of nodes communicate, each node gets "
            f"{_cell(worst)} of its rate alone ({worst.kernel}, k = {worst.pairs}, messages of {format_size(largest)})."
        )
    if all(share.low is not None and share.low >= 1 - _MARGIN for share in judged):
        most = max(share.node_pairs for share in judged)
        return (
            f"The network beyond the node does not limit {most} pairs of nodes: with messages of "
            f"{format_size(largest)} each node keeps its rate within {format_ratio(_MARGIN)}."
        )
    return (
        "Whether the network beyond the node limits is not decided: the intervals are too wide for messages of "
        f"{format_size(largest)}; measure longer with --time."
    )


def beyond(measurements: Measurements) -> Beyond | None:
    """Return what each node gets while several pairs of nodes communicate; None where no more than one did.

    A share needs the same configuration with one pair of nodes in the same run, resumed launches included.
    """
    configurations = (record.configuration for record in measurements.records)
    if not any(isinstance(one, Pairs | Stream) and one.node_pairs > 1 for one in configurations):
        return None
    shares = [share for records in _runs(measurements) for share in _shares(records)]
    shares.sort(key=lambda share: share[:4])  # runs keep their order
    return Beyond(_verdict(shares), tuple(shares))


def share_rows(shares: Sequence[Share]) -> tuple[tuple[int, ...], list[ShareRow]]:
    """Return the numbers of pairs of nodes, and a row for each kernel, size, number of pairs and run."""
    counts = tuple(sorted({share.node_pairs for share in shares}))
    grouped: dict[tuple[str, int, int], dict[int, list[Share]]] = defaultdict(lambda: defaultdict(list))
    for share in shares:
        grouped[share[:3]][share.node_pairs].append(share)
    rows = []
    for (kernel, size, pairs), by_count in grouped.items():
        for run in zip_longest(*(by_count.get(count, []) for count in counts)):
            rates = dict.fromkeys(format_rate(share.alone) for share in run if share is not None and size)
            cells = tuple(Cell("") if share is None else _cell(share) for share in run)
            rows.append(ShareRow(kernel, format_size(size), str(pairs), ", ".join(rates), cells))
    return counts, rows
