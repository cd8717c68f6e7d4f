"""Rates of nodes beside other pairs of nodes. Main entry: `node_share_table`."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

from commmodel.fit.oversubscription import NodeShare, share_words
from commmodel.report.kit.tables import Cell, Table, left, right
from commmodel.units import format_rate, format_size


def node_share_table(shares: Sequence[NodeShare]) -> Table:
    """Return a row for each kernel, size, number of pairs and run, a column for each number of pairs of nodes."""
    counts = sorted({share.node_pairs for share in shares})
    grouped: dict[tuple[str, int, int], dict[int, list[NodeShare]]] = defaultdict(lambda: defaultdict(list))
    for share in shares:
        grouped[share[:3]][share.node_pairs].append(share)
    rows = []
    for (kernel, size, pairs), by_count in grouped.items():
        for run in zip_longest(*(by_count.get(count, []) for count in counts)):
            rates = dict.fromkeys(format_rate(share.alone) for share in run if share is not None and size)
            about = map(Cell, (kernel, format_size(size), str(pairs), ", ".join(rates)))
            rows.append((*about, *(Cell("") if share is None else Cell(*share_words(share)) for share in run)))
    return Table(
        "Rate of a node while h pairs of nodes communicate, over its rate alone",
        (*left("kernel"), *right("size", "k", "alone", *(f"h = {count}" for count in counts))),
        tuple(rows),
        alike_from=4,
    )
