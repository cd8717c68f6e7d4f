"""Tables of times between nodes, a row for each pair, as records of the kernel ``matrix``. Main entry: `launch_of`."""

from collections.abc import Mapping

import msgspec
import numpy as np

from commmodel.formats.lines import launch
from commmodel.results import Host, Launch, Rank, Record
from commmodel.results.configurations import NodeMatrix

NodePair = tuple[str, str]


def launch_of(times: Mapping[int, Mapping[NodePair, float]]) -> Launch:
    """Return the launch in which messages took so long, by size and the names of both nodes; of two ways the faster.

    >>> made = launch_of({8: {("a", "b"): 2e-6, ("c", "b"): 4e-6, ("b", "a"): 1e-6}})
    >>> made.records[0].samples, [host.name for host in made.header.hosts]
    ((1e-06, 0.0, 4e-06), ['a', 'b', 'c'])
    """
    names = [*dict.fromkeys(name for pairs in times.values() for pair in pairs for name in pair)]
    place = {name: number for number, name in enumerate(names)}
    records = []
    for size, pairs in sorted(times.items()):
        matrix = np.full((len(names), len(names)), np.inf)
        for (first, second), seconds in pairs.items():
            row, column = sorted((place[first], place[second]))
            matrix[row, column] = min(matrix[row, column], seconds)
        samples = matrix[np.triu_indices(len(names), 1)]
        samples[np.isinf(samples)] = 0.0  # two that did not meet
        records.append(Record(NodeMatrix(size, "between-nodes"), "s", tuple(samples.tolist())))
    players = [*range(len(names)), len(names) - 1][: len(names) + len(names) % 2]  # the last one twice, if alone
    rounds = tuple(((first, second),) for first, second in zip(players[::2], players[1::2], strict=True))
    plain = launch("CSV", ("csv",), records, versions={"csv": "unknown"}, placement={"between-nodes": rounds[0]})
    header = msgspec.structs.replace(
        plain.header,
        hosts=tuple(map(Host, names)),
        ranks=tuple(Rank(number, number) for number in range(len(names))),
        further_nodes=rounds[1:],
    )
    return Launch(header, tuple(records))
