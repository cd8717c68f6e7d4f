"""Oversubscription of the network: the rate of each node while several pairs of nodes communicate.

A node's rate over its rate alone is T_alone / T. Both times are of one run, so that nothing but the number of pairs of
nodes differs. Main entry: `network_oversubscription`.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from commmodel.results import Measurements, Record, kernel_name
from commmodel.results.configurations import Pairs, Stream
from commmodel.statistics import Summary
from commmodel.units import format_ratio, format_size

_MARGIN = 0.05  # what two measurements of one configuration may differ by on a quiet network


class NodeShare(NamedTuple):
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


class NetworkOversubscription(NamedTuple):
    """All shares of some measurements, ordered by kernel, size and number of pairs, and what they say."""

    verdict: str
    shares: tuple[NodeShare, ...]


def _runs(measurements: Measurements) -> Iterable[list[Record]]:
    """Yield the records of each launch with those of the launches that resumed it."""
    records: list[Record] = []
    for launch in measurements.launches:
        if not launch.header.resumes:
            yield records
            records = []
        records.extend(launch.records)
    yield records


def _share(configuration: Pairs | Stream, summary: Summary, alone: Summary) -> NodeShare:
    ends = (alone.low, summary.high, alone.high, summary.low)
    is_bounded = all(math.isfinite(end) and end > 0 for end in ends)
    moved = configuration.pairs * configuration.message_size
    return NodeShare(
        kernel_name(configuration),
        configuration.message_size,
        configuration.pairs,
        configuration.node_pairs,
        moved / alone.median,
        alone.median / summary.median,
        alone.low / summary.high if is_bounded else None,
        alone.high / summary.low if is_bounded else None,
    )


def _shares(records: Sequence[Record]) -> Iterable[NodeShare]:
    measured = {record.configuration: record for record in records}
    for configuration, record in measured.items():
        if isinstance(configuration, Pairs | Stream) and configuration.node_pairs > 1:
            alone = measured.get(msgspec.structs.replace(configuration, node_pairs=1))
            if alone is not None and min(alone.summary.median, record.summary.median) > 0:
                yield _share(configuration, record.summary, alone.summary)


def share_words(share: NodeShare) -> tuple[str, str]:
    """Return a share and its interval in words; of one without an interval the latter is empty."""
    interval = "" if share.low is None or share.high is None else f"[{100 * share.low:.0f}, {100 * share.high:.0f}]"
    return format_ratio(share.ratio), interval


def _verdict(shares: Sequence[NodeShare]) -> str:
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
            f"{' '.join(share_words(worst))} of its rate alone ({worst.kernel}, k = {worst.pairs}, "
            f"messages of {format_size(largest)})."
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


def network_oversubscription(measurements: Measurements) -> NetworkOversubscription | None:
    """Return the share of each node while several pairs of nodes communicate; None where only one pair did.

    A share needs the same configuration with one pair of nodes in the same run, resumed launches included.
    """
    configurations = (record.configuration for record in measurements.records)
    if not any(
        isinstance(configuration, Pairs | Stream) and configuration.node_pairs > 1 for configuration in configurations
    ):
        return None
    shares = [share for records in _runs(measurements) for share in _shares(records)]
    shares.sort(key=lambda share: share[:4])  # runs keep their order
    return NetworkOversubscription(_verdict(shares), tuple(shares))
