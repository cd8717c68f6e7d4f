"""Who is accused in other people's tables of pairs: the performance study of converged-computing, eight hosts each.

Its script takes eight of a cluster's nodes and measures every two of them, the first with all others, then the second,
by osu_latency and osu_bw. The names of hosts are not in the data, whose order is taken for that of the script, and
shuffled as often as asked. Prints for each cluster and test how far pairs lie apart, and who is slow.

    python -m benchmarks.validation.tables_of_pairs ../shared/data/public/performance-study/osu_times.csv.xz
"""

import argparse
import csv
import lzma
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from commmodel.formats.node_matrix import launch_of
from commmodel.results import Measurements
from commmodel.scaling import slow_nodes

HOSTS = 8
SIZES = {"osu_latency": 8, "osu_bw": 1 << 20}
"""Bytes of the messages whose times are compared."""
MB, US = 1e6, 1e6


def tables(path: Path) -> Iterator[tuple[str, int, list[float]]]:
    """Yield the name, message size and times of each set of pairs."""
    rows: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    with lzma.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if SIZES.get(row["test"]) == int(row["bytes"]):
                value = float(row["value"])
                seconds = value / US if row["unit"] == "us" else int(row["bytes"]) / (value * MB)
                key = (row["cloud"], row["environment"], row["processor"], row["nodes"], row["test"])
                rows[key][int(row["run"])] = seconds
    for (cloud, environment, processor, nodes, test), times in sorted(rows.items(), key=lambda item: item[0]):
        if len(times) == HOSTS * (HOSTS - 1) // 2:  # elsewhere a pair was measured twice, or on fewer hosts
            name = f"{cloud} {environment}, {processor}, {nodes} nodes, {test}"
            yield name, SIZES[test], [seconds for _, seconds in sorted(times.items())]


def accused(path: Path, orders: int = 1) -> list[str]:
    """Return who is slow, in the order of the data and in others drawn at random; the first draw is the data's own."""
    random = np.random.default_rng(1)
    pairs = list(combinations([f"host {number}" for number in range(HOSTS)], 2))
    names = []
    for name, size, times in tables(path):
        for order in range(orders):
            values = times if order == 0 else random.permutation(times).tolist()
            slow = slow_nodes(Measurements((launch_of({size: dict(zip(pairs, values, strict=True))}),)))
            names += [f"{name}, order {order}: {culprit.words}" for culprit in slow]
    return names


def main() -> None:
    """Print the tables and who is accused."""
    parser = argparse.ArgumentParser(description="Slow nodes in other people's tables of pairs.")
    parser.add_argument("data", type=Path, help="osu_times.csv.xz of the performance study")
    parser.add_argument("--orders", type=int, default=20, help="of the pairs (%(default)s)")
    arguments = parser.parse_args()
    count = 0
    for name, _, times in tables(arguments.data):
        count += 1
        median = np.median(times)
        print(f"{name}: median {1e6 * median:.1f} us, {min(times) / median - 1:+.0%} to {max(times) / median - 1:+.0%}")
    for words in accused(arguments.data, arguments.orders):
        print(words)
    print(f"{count} tables; accused in the data's order: {len(accused(arguments.data))}")


if __name__ == "__main__":
    main()
