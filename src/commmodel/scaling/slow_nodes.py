"""Which node, or which link, is slow: a robust model of the times between every two nodes. Main entry: `slow_nodes`.

log T of a message between nodes i and j is bᵢ + bⱼ + eᵢⱼ, fitted with Tukey's biweight to the least times of the
visits: a slow link slows no node. What a node's b is beyond the others', or a rest e beyond the scatter, has a
p-value, of Student's distribution. Another program may disturb a pair in each of its visits, so a link has a second
one: the chance that all but one of its visits come out as far beyond, by the tail of the visits of all other pairs;
the larger counts. Of all nodes, links and sizes of a file as many are named as keep the expected share of false names
below `false_share` (Benjamini and Hochberg 1995). Nodes that are slow with all but each other are none of them: they
lie at another switch.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from commmodel.arguments import Positive, share
from commmodel.arrays import Array
from commmodel.errors import InputError
from commmodel.results import Header, Measurements, Record, tournament
from commmodel.results.configurations import NodeMatrix
from commmodel.signatures import checked
from commmodel.statistics import TO_DEVIATION, false_discovery_limit
from commmodel.units import format_ratio, format_size
from commmodel.values import Value

FEWEST = 4
"""Nodes of which one can be told from the others."""
_STEPS = 10
"""Of the fit and its weights in turn."""
_BIWEIGHT = 4.685
"""Standard deviations beyond which a pair has no weight."""
_LEAST_WEIGHT = 1e-6
"""Of a pair, so that no node is without any."""
_FREEDOMS = (1, 1.5, 2, 3, 4, 6, 10, 20, 50)
"""Degrees of freedom of Student's distribution, from the normal to the heaviest tail."""
_LEAST_SCATTER = 1e-3
"""Of log T: clocks do not tell more."""


class SlowNode(Value, Struct, frozen=True):
    """A node or a link that is slower than the others."""

    kind: Literal["node", "link"]
    names: tuple[str, ...]
    """The node, or the two nodes that the link joins."""
    message_size: int
    """Bytes of the messages that are slow."""
    slower: float
    """Share by which messages take longer."""
    chance: float
    """That as much, or more, comes of scatter alone."""

    @property
    def words(self) -> str:
        """What is slow, as a sentence without its full stop."""
        where = " to ".join(self.names)
        size = format_size(self.message_size)
        return f"{self.kind} {where}: messages of {size} take {format_ratio(self.slower)} longer"


@checked
def slow_nodes(measurements: Measurements, least: Positive = 0.05, false_share: float = 0.01) -> list[SlowNode]:
    """Return the nodes and links that are slow, of all records of the kernel matrix.

    Parameters
    ----------
    measurements : Measurements
    least : float
        Smallest share by which messages take longer that counts.
    false_share : float
        Expected share of false names among all, between 0 and 1.

    Returns
    -------
    list of SlowNode
        The slowest first: nodes, then links.

    Raises
    ------
    InputError
        Without records of at least four nodes that each met three others, or where a number is out of its range.

    Examples
    --------
    >>> from commmodel.results import Host, Launch, Library, Rank
    >>> hosts = tuple(Host(f"node{number}") for number in range(8))
    >>> ranks = tuple(Rank(number, number) for number in range(8))
    >>> pairs = tuple(((number, number + 1),) for number in range(0, 8, 2))
    >>> header = Header("commmodel-results", 1, "", (), Library("MPICH"), hosts, ranks,
    ...                 placement={"between-nodes": pairs[0]}, further_nodes=pairs[1:])
    >>> rates = [1.0 + 0.1 * (3 in (i, j)) + 0.001 * ((i * j) % 3) for i in range(8) for j in range(i + 1, 8)]
    >>> record = Record(NodeMatrix(1 << 20, "between-nodes"), "s", tuple(1e-4 * rate for rate in rates))
    >>> [slow.words for slow in slow_nodes(Measurements((Launch(header, (record,)),)))]
    ['node node3: messages of 1 MiB take 9.9 % longer']
    """
    share("false_share", false_share)
    matrices = [
        _Matrix(launch.header, record.configuration, record)
        for launch in measurements.launches
        for record in launch.records
        if isinstance(record.configuration, NodeMatrix)
    ]
    if not matrices:
        raise InputError("no records of the kernel matrix: measure it with python -m commmodel.bench matrix")
    chances = np.concatenate([matrix.chances for matrix in matrices])
    ends = np.cumsum([matrix.chances.size for matrix in matrices])
    suspected = _unlikely(chances, false_share)
    for place in suspected:
        number = int(np.searchsorted(ends, place, side="right"))
        matrix = matrices[number]
        chances[place] = max(chances[place], matrix.chance_of_visits(place - (ends[number] - matrix.chances.size)))
    unlikely = _unlikely(chances, false_share)
    slow = []
    for matrix, last in zip(matrices, ends.tolist(), strict=True):
        begin = last - matrix.chances.size
        slow += matrix.culprits({place - begin: float(chances[place]) for place in unlikely if begin <= place < last})
    return sorted(
        (culprit for culprit in slow if culprit.slower >= least),
        key=lambda culprit: (culprit.kind != "node", -culprit.slower),
    )


class Effects(NamedTuple):
    """The model of a matrix of times, in logarithms."""

    nodes: Array
    """Of shape (nodes,): beyond the median node."""
    rest: Array
    """Of shape (nodes, nodes): of each pair beyond its two nodes; NaN on the diagonal."""
    scatter: float
    """Standard deviation of the rests."""


def effects(times: Array) -> Effects:
    """Return the effect of each node on the logarithm of its times, and the rest of each pair.

    >>> pairs = np.exp([[math.nan, 0, 0.1, 0], [0, math.nan, 0.1, 0], [0.1, 0.1, math.nan, 0.1],
    ...                 [0, 0, 0.1, math.nan]])
    >>> model = effects(pairs)
    >>> np.abs(model.nodes).round(3).tolist(), round(model.scatter, 6)
    ([0.0, 0.0, 0.1, 0.0], 0.001)
    """
    count = len(times)
    upper = _measured(times)
    logs = np.log(times)
    filled = np.where(np.isnan(logs), 0.0, logs)
    weights = is_measured = 1.0 - np.isnan(logs)
    freedom = max(upper[0].size - count, 1)
    for step in range(_STEPS):
        nodes = np.linalg.solve(np.diag(weights.sum(axis=1)) + weights, (weights * filled).sum(axis=1))
        rest = logs - nodes[:, None] - nodes[None, :]
        of_pairs = rest[upper]
        if step == 0:
            scatter = TO_DEVIATION * float(np.median(np.abs(of_pairs))) * math.sqrt(upper[0].size / freedom)
        else:
            scatter = math.sqrt(float((weights[upper] * of_pairs**2).sum()) / max(weights[upper].sum() - count, 1))
        scatter = max(scatter, _LEAST_SCATTER)
        reach = np.where(np.isnan(rest), np.inf, np.abs(rest) / (_BIWEIGHT * scatter))
        weights = np.where(reach < 1, (1 - np.minimum(reach, 1) ** 2) ** 2, 0.0) + _LEAST_WEIGHT * is_measured
    # Tukey's weights leave out a part of the scatter even where nothing is beside the rest.
    inside = of_pairs[np.abs(of_pairs) < _BIWEIGHT * scatter]
    scatter = max(math.sqrt(float(inside @ inside) / max(inside.size - count, 1)), _LEAST_SCATTER)
    return Effects(nodes - np.median(nodes), rest, scatter)


def _measured(times: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the pairs that have a time, above the diagonal."""
    first, second = np.nonzero(np.triu(~np.isnan(times), 1))
    return first, second


def _check_met(times: Array, names: Sequence[str], size: int) -> None:
    """Raise where there are too few nodes, or one of them has met too few others to be told from them."""
    met = (~np.isnan(times)).sum(axis=1)
    few = int(met.argmin())
    if len(times) < FEWEST:
        raise InputError(f"the kernel matrix of {len(times)} nodes: {FEWEST} are needed to tell one from the others")
    if met[few] < FEWEST - 1:
        problem = f"{met[few]} times of messages of {format_size(size)}"
        raise InputError(f"node {names[few]} has {problem}: each needs those with {FEWEST - 1} others at least")
    if np.linalg.matrix_rank(np.diag(met) + ~np.isnan(times)) < len(times):
        problem = "pairs between two groups of nodes alone do not tell one node's time from another's"
        raise InputError(f"{problem}: measure pairs within the groups, too")


class _Matrix:
    """The times between every two nodes, with a chance of each node, then of each pair: that its excess is scatter."""

    def __init__(self, header: Header, about: NodeMatrix, record: Record) -> None:
        self._size, self._names = about.message_size, tournament.names(header, about.path)
        from scipy.special import stdtr

        visits = tournament.times_of_visits(record)
        times = np.asarray(np.fmin.reduce(visits))
        _check_met(times, self._names, self._size)
        self._model = model = effects(times)
        self._upper = upper = _measured(times)
        count = len(times)
        freedom = max(upper[0].size - count, 1)
        self._of_nodes = max(
            TO_DEVIATION * float(np.median(np.abs(model.nodes))), model.scatter / math.sqrt(count - 2), _LEAST_SCATTER
        )
        self._of_pairs = model.rest[upper]
        of_links = model.scatter * math.sqrt(freedom / upper[0].size)
        beyond = np.concatenate([model.nodes / self._of_nodes, self._of_pairs / of_links])
        self.chances: Array = stdtr(freedom, -beyond)
        rest = np.log(visits) - (np.log(times) - model.rest)
        self._visits: Array = rest[:, upper[0], upper[1]]

    def chance_of_visits(self, place: int) -> float:
        """Return the chance that scatter brings each visit of a pair as far beyond, by the visits of all other pairs.

        What disturbs one visit may disturb the next, so one of them does not count. The effect of a node is the mean of
        those of many pairs: 0 for a node.
        """
        number = place - len(self._names)
        if number < 0:
            return 0.0
        visits = self._visits[:, number]
        visits = visits[~np.isnan(visits)]
        return tail_chance(np.delete(self._visits, number, axis=1), float(visits.min())) ** max(visits.size - 1, 1)

    def culprits(self, places: Mapping[int, float]) -> list[SlowNode]:
        """Return the nodes and links at places of `chances`, less what lies far away."""
        count = len(self._names)
        far = _far_away([place for place in places if place < count], self._model, 3 * self._of_nodes)
        slow = []
        for place, chance in places.items():
            if place >= count:
                first, second = (int(ends[place - count]) for ends in self._upper)
                slower = math.expm1(self._of_pairs[place - count])
                slow.append(SlowNode("link", (self._names[first], self._names[second]), self._size, slower, chance))
            elif place not in far:
                slower = math.expm1(self._model.nodes[place])
                slow.append(SlowNode("node", (self._names[place],), self._size, slower, chance))
        return slow


def tail_chance(values: Array, least: float) -> float:
    """Return the chance of a value of at least `least`, by the upper half of others, which may have a heavy tail.

    The half is that of Student's distribution with the heaviest tail that is hardly less likely than the likeliest: by
    half in the logarithm. NaN counts for nothing.

    >>> from scipy.special import stdtrit
    >>> normal = stdtrit(1e9, np.linspace(0.005, 0.995, 100))
    >>> f"{tail_chance(normal, 3.0):.4f}, {tail_chance(normal**3, 3.0**3):.4f}"
    '0.0042, 0.0037'
    """
    from scipy.special import gammaln, stdtr

    measured = values[~np.isnan(values)]
    middle = float(np.median(measured))
    upper = measured[measured > middle] - middle
    if upper.size == 0:
        return 0.5
    chances = []
    for freedom in _FREEDOMS:
        scale = max(TO_DEVIATION * float(np.median(upper)), _LEAST_SCATTER)
        for _ in range(_STEPS):
            weights = (freedom + 1) / (freedom + (upper / scale) ** 2)
            scale = max(math.sqrt(float((weights * upper**2).mean())), _LEAST_SCATTER)
        density = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - math.log(scale * math.sqrt(freedom))
        likelihood = upper.size * density - (freedom + 1) / 2 * float(np.log1p((upper / scale) ** 2 / freedom).sum())
        chances.append((likelihood, float(stdtr(freedom, -max(least - middle, 0.0) / scale))))
    highest = max(likelihood for likelihood, _ in chances)
    return next(chance for likelihood, chance in chances if likelihood >= highest - 0.5)


def _far_away(slow: Sequence[int], model: Effects, scatter: float) -> set[int]:
    """Return the nodes that are not slow, but far from the others.

    Two that take as long with all others, and not with each other, are near each other: they lie at another switch. Who
    takes no longer than they do lies as far away. (The time of two slow interfaces is that of one of them.)

    >>> distance = np.array([[0.0, 0.0, 0.2, 0.2], [0.0, 0.0, 0.2, 0.2], [0.2, 0.2, 0.0, 0.0], [0.2, 0.2, 0.0, 0.0]])
    >>> nodes = np.array([0.0, 0.0, 0.2, 0.2])
    >>> sorted(_far_away([2, 3], Effects(nodes, distance - nodes[:, None] - nodes, 0.01), 0.03))
    [2, 3]
    """
    nodes = model.nodes
    near: set[int] = set()
    beyond = model.rest + nodes[:, None] + nodes
    for first, second in combinations(slow, 2):
        if beyond[first, second] < min(nodes[first], nodes[second]) / 2:
            near |= {first, second}
    farthest = max((float(nodes[index]) for index in near), default=-math.inf)
    return near | {index for index in slow if nodes[index] <= farthest + scatter}


def _unlikely(chances: Array, false_share: float) -> list[int]:
    """Return the places of chances that are too small to be chance."""
    limit = false_discovery_limit(chances.tolist(), false_share)
    return [int(place) for place in np.flatnonzero(chances <= limit)]
