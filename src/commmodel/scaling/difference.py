"""What became slower between two files of measurements, with intervals and few false alarms. Main entry: `differences`.

Launches differ by more than their repetitions show (Hunold and Carpen-Amarie 2016), so launches are compared, by
Welch's interval, where there are several. A launch alone is cut into pieces that are compared in their place (batch
means, Conway 1963): repetitions in a row resemble each other, and as single ones they would promise too much. Over all
configurations the share of false discoveries is limited (Benjamini and Hochberg 1995).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError
from commmodel.results import Clocks, Configuration, Function, Header, Measurements, Memory, Queue
from commmodel.scaling.samples import STATISTICS, reduce

__all__ = ["Change", "Difference", "Differences", "changed_surroundings", "differences"]

Array = NDArray[np.float64]
Change = Literal["slower", "faster", "larger", "smaller", "same", "unclear"]

PIECES = 6
"""Of a launch alone: few, so that they are longer than what repetitions remember of each other."""
FEWEST_ALONE = 5
"""Configurations from which on their ratios say how much launches differ that were not repeated."""
MOST_WARNINGS = 3
"""Of each file: launches hardly ever warn of the same load."""
_OF_NORMAL = 1.4826  # standard deviations of normal numbers over their median absolute deviation
_EFFICIENCY = 0.37  # of a median absolute deviation against a variance


@dataclass(frozen=True)
class Difference:
    """One configuration, before and after.

    Attributes
    ----------
    configuration, unit
        What was measured, and in what: seconds, bytes or a plain number, as in its records.
    before, after : float
        Means over the launches of each launch's statistic.
    launches : (int, int)
        How many there are before and after.
    ratio, low, high : float
        `after` / `before` and its interval; infinite where there was nothing before. The interval is 0 to infinity
        where the scatter is not known, as with a single repetition of a time.
    p_value : float
        How often chance alone makes such a difference; that of this configuration by itself.
    change : str
        ``slower`` or ``faster``, of bytes, counts and errors of clocks ``larger`` or ``smaller``: where chance does not
        explain it among all that was compared, and the ratio is far enough from 1; ``same`` where the interval stays
        near 1; else ``unclear``.
    """

    configuration: Configuration
    unit: Literal["s", "B", "1"]
    before: float
    after: float
    launches: tuple[int, int]
    ratio: float
    low: float
    high: float
    p_value: float
    change: Change

    @property
    def is_worse(self) -> bool:
        """Whether it became slower, or keeps or counts more."""
        grew = self.change == "larger" and isinstance(self.configuration, Memory | Function)
        return self.change == "slower" or grew


@dataclass(frozen=True)
class Differences:
    """All that two files say about each other.

    Attributes
    ----------
    rows : tuple of Difference
        The largest effect first, in either direction.
    only_before, only_after : tuple
        The configurations that were measured in one of them only.
    surroundings : tuple of (str, str, str)
        What differs in where and how was measured: name, before, after.
    remarks : tuple of str
        What else a reader must know, such as that launches were not repeated.
    """

    rows: tuple[Difference, ...]
    only_before: tuple[Configuration, ...]
    only_after: tuple[Configuration, ...]
    surroundings: tuple[tuple[str, str, str], ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class _Side:
    """A configuration's value in one file, the variance of a launch's value, and the freedom of that; nan: unknown."""

    value: float
    variance: float
    freedom: float
    launches: int


class _Part(NamedTuple):
    """A variance, and how freely it was estimated."""

    variance: float
    freedom: float


def _variance_within(launch: Array, statistic: str) -> float:
    """Return the variance of a launch's statistic as far as its repetitions show it; nan for a single one."""
    count = min(PIECES, len(launch))
    length = len(launch) // count
    pieces = STATISTICS[statistic](launch[: count * length].reshape(count, length), axis=1)
    return float(pieces.var(ddof=1)) / count if count > 1 else math.nan


def _side(launches: Sequence[Array], unit: str, statistic: str) -> _Side:
    values = reduce(launches, statistic)
    value, count = float(values.mean()), len(launches)
    within = [_variance_within(launch, statistic) for launch in launches if len(launch) > 1]
    if count > 1:
        # A launch's value scatters at least as its repetitions let it; two launches may be alike by chance.
        variance = max(float(values.var(ddof=1)), float(np.mean(within)) if within else 0.0)
        return _Side(value, variance, count - 1, count)
    if within:
        return _Side(value, within[0], min(PIECES, len(launches[0])) - 1, 1)
    # What is counted says the same each time; a single time says nothing of the next.
    return _Side(value, 0.0 if unit != "s" else math.nan, math.inf, 1)


def _with_launches_of(side: _Side, other: _Side) -> _Side:
    """Return a side of one launch with the scatter that the other's launches show, in proportion to its value."""
    if side.launches > 1 or other.launches == 1:
        return side
    scatter = other.variance * (side.value / other.value) ** 2 if other.value else other.variance
    known = 0.0 if math.isnan(side.variance) else side.variance
    return _Side(side.value, max(scatter, known), other.freedom, 1)


def _parts(before: _Side, after: _Side) -> list[_Part]:
    """Return what the ratio's relative variance comes from; the difference's where one of both values is 0."""
    both = before.value > 0 and after.value > 0
    return [
        _Part(side.variance / side.launches / (side.value**2 if both else 1.0), side.freedom)
        for side in (before, after)
    ]


def _scatter(pairs: Sequence[tuple[_Side, _Side]]) -> _Part:
    """Return how much launches differ where none was repeated: as far as ratios scatter more than repetitions do.

    About their median, so that not even a change of all of them hides itself; nothing where there are few.
    """
    known = [
        pair
        for pair in pairs
        if all(one.value > 0 and one.launches == 1 and not math.isnan(one.variance) for one in pair)
    ]
    if len(known) < FEWEST_ALONE:
        return _Part(0.0, math.inf)
    ratios = np.log([after.value / before.value for before, after in known])
    spread = _OF_NORMAL * float(np.median(np.abs(ratios - np.median(ratios))))
    within = float(np.median([sum(part.variance for part in _parts(*pair)) for pair in known]))
    return _Part(max(0.0, spread**2 - within), _EFFICIENCY * (len(known) - 1))


def _effect(before: _Side, after: _Side, parts: Sequence[_Part]) -> tuple[float, float, float]:
    """Return the standard error of the ratio, or of the difference, its freedom and its p-value."""
    from scipy.special import stdtr

    both = before.value > 0 and after.value > 0
    variance = sum(part.variance for part in parts)
    distance = abs(math.log(after.value / before.value)) if both else abs(after.value - before.value)
    if math.isnan(variance):
        return math.nan, 1.0, 1.0
    if variance == 0:
        return 0.0, math.inf, 1.0 if distance == 0 else 0.0
    freedom = variance**2 / sum(part.variance**2 / part.freedom for part in parts if part.variance > 0)
    return math.sqrt(variance), freedom, float(2 * stdtr(freedom, -distance / math.sqrt(variance)))


def _limit(p_values: Sequence[float], chance: float) -> float:
    """Return up to which p-value differences are called, so that `chance` is the share of false ones among them.

    Benjamini and Hochberg 1995; below 0 where none is.
    """
    ordered = np.sort(np.array(p_values))
    below = ordered[ordered <= chance * np.arange(1, len(ordered) + 1) / len(ordered)]
    return float(below[-1]) if len(below) else -1.0


def _interval(before: _Side, after: _Side, error: float, freedom: float, p_value: float, chance: float) -> Array:
    """Return ratio, low and high."""
    from scipy.special import ndtri, stdtrit

    if before.value == 0 or after.value == 0:
        ratio = 1.0 if before.value == after.value else math.inf if after.value else 0.0
        known = p_value <= chance or (before.value == after.value and error == 0)
        return np.array([ratio, ratio, ratio] if known else [ratio, 0.0, math.inf])
    ratio = after.value / before.value
    if math.isnan(error):
        return np.array([ratio, 0.0, math.inf])
    quantile = -(ndtri(chance / 2) if math.isinf(freedom) else stdtrit(freedom, chance / 2))
    half = min(float(quantile) * error, 700.0)
    return np.array([ratio, ratio * math.exp(-half), ratio * math.exp(half)])


def _change(
    configuration: Configuration, unit: str, ratio: float, low: float, high: float, least: float, *, is_real: bool
) -> Change:
    takes_time = unit == "s" and not isinstance(configuration, Clocks)
    if is_real and ratio > 1 + least:
        return "slower" if takes_time else "larger"
    if is_real and ratio < 1 / (1 + least):
        return "faster" if takes_time else "smaller"
    return "same" if 1 / (1 + least) <= low and high <= 1 + least else "unclear"


Measured = dict[Configuration, tuple[Literal["s", "B", "1"], list[Array]]]


def _collected(measurements: Measurements) -> Measured:
    """Return the launches of each configuration; a launch's records of the same one are put together."""
    found: Measured = {}
    for launch in measurements.launches:
        own: dict[Configuration, list[float]] = {}
        for record in launch.records:
            own.setdefault(record.configuration, []).extend(record.samples)
            found.setdefault(record.configuration, (record.unit, []))
        for configuration, samples in own.items():
            found[configuration][1].append(np.array(samples))
    return found


def _remarks(before: Measurements, after: Measurements, rows: Sequence[Difference], left_out: int) -> tuple[str, ...]:
    said = [*before.notes, *after.notes]
    for name, measurements in (("before", before), ("after", after)):
        warnings = list(dict.fromkeys(text for launch in measurements.launches for text in launch.header.warnings))
        more = len(warnings) - MOST_WARNINGS
        said += [f"{name}: {warning}" for warning in warnings[:MOST_WARNINGS]]
        said += [f"{name}: {more} more warnings, which commmodel report shows"] if more > 0 else []
    alone = sum(row.launches == (1, 1) and row.unit == "s" for row in rows)
    if alone:
        guessed = (
            "which is guessed from how their ratios scatter about the median of all"
            if alone >= FEWEST_ALONE
            else "of which these intervals do not know"
        )
        everywhere = all(row.launches == (1, 1) for row in rows)
        which = (
            "each file has one launch of each configuration"
            if everywhere
            else f"both files have one launch of {alone} configurations"
        )
        said.append(f"{which}: launches differ among themselves, {guessed}; measure in several launches on both sides")
    if any(1 in row.launches and row.launches != (1, 1) for row in rows):
        said.append("where one file has one launch, it is taken to scatter as the other file's launches do")
    if left_out:
        said.append(f"left out: {left_out} records of the kernel queue, whose samples are of different messages")
    return tuple(said)


def differences(
    before: Measurements,
    after: Measurements,
    *,
    statistic: str = "median",
    confidence: float = 0.95,
    least: float = 0.05,
) -> Differences:
    """Return how every configuration that was measured in both changed.

    Parameters
    ----------
    before, after : Measurements
        Of any kernels; better of several launches each.
    statistic : str
        What the repetitions of a launch are reduced to, one of `commmodel.scaling.samples.STATISTICS`.
    confidence : float
        Of each interval by itself, and of all verdicts together: where nothing changed at all, 1 − `confidence` is the
        chance that anything is called changed; where something did, it is the share of false ones among what is.
    least : float
        Changes up to this share are not called, and an interval within it is ``same``.

    Raises
    ------
    InputError
        Where nothing was measured in both, or for an unknown statistic, a confidence or a least effect that are none.

    Notes
    -----
    With few launches a bootstrap over them promises too much: its 95 % intervals hold the truth in 80 % of all cases
    with three launches on each side, and in 88 % with five. Welch's interval of the launches' statistics holds what it
    says from two launches on. Where neither side has several, the scatter of the ratios of all timed configurations
    about their median, where there are five or more, stands for that of launches: a change of few of them, or one that
    is the same for all, is seen, a change of half of them is not.

    Examples
    --------
    >>> from commmodel.results import Collective, Header, Launch, Library, Record
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> def measured(factor):
    ...     record = lambda launch: Record(Collective("bcast", 8, 4), "s", (factor * (1 + launch / 100),) * 20)
    ...     return Measurements(tuple(Launch(header, (record(launch),)) for launch in range(5)))
    >>> (row,) = differences(measured(1e-6), measured(1.3e-6)).rows
    >>> row.change, row.launches, round(row.ratio, 2), round(row.low, 2), round(row.high, 2)
    ('slower', (5, 5), 1.3, 1.27, 1.33)
    """
    if statistic not in STATISTICS:
        raise InputError(f"statistic {statistic!r}: there is none of this name: choose among {', '.join(STATISTICS)}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence {confidence:g}: it must be between 0 and 1, such as 0.95")
    if not 0 <= least < math.inf:
        raise InputError(f"least effect {least:g}: it must be a share from 0 up, such as 0.05")
    old, new = _collected(before), _collected(after)
    both = [one for one in old if one in new and not isinstance(one, Queue) and old[one][0] == new[one][0]]
    if not both:
        raise InputError("nothing was measured in both files: measure the same kernels, sizes and processes again")
    pairs = []
    for configuration in both:
        unit = old[configuration][0]
        first, second = (_side(side[configuration][1], unit, statistic) for side in (old, new))
        pairs.append((_with_launches_of(first, second), _with_launches_of(second, first)))
    timed = [pair for pair, configuration in zip(pairs, both, strict=True) if old[configuration][0] == "s"]
    scatter = _scatter(timed)
    effects = []
    for configuration, (first, second) in zip(both, pairs, strict=True):
        is_alone = old[configuration][0] == "s" and first.launches == second.launches == 1
        parts = [*_parts(first, second), *([scatter] if is_alone else [])]
        effects.append(_effect(first, second, parts))
    limit = _limit([p_value for _, _, p_value in effects], 1 - confidence)
    rows = []
    for configuration, (first, second), (error, freedom, p_value) in zip(both, pairs, effects, strict=True):
        unit = old[configuration][0]
        ratio, low, high = map(float, _interval(first, second, error, freedom, p_value, 1 - confidence))
        launches = first.launches, second.launches
        change = _change(configuration, unit, ratio, low, high, least, is_real=p_value <= limit)
        rows.append(
            Difference(configuration, unit, first.value, second.value, launches, ratio, low, high, p_value, change)
        )
    rows.sort(key=lambda row: -abs(math.log(row.ratio)) if 0 < row.ratio < math.inf else -math.inf)
    return Differences(
        tuple(rows),
        tuple(one for one in old if one not in new),
        tuple(one for one in new if one not in old),
        changed_surroundings(before, after),
        _remarks(before, after, rows, sum(isinstance(one, Queue) for one in old if one in new)),
    )


def _said(header: Header) -> dict[str, str]:
    """Return what may make times differ, in words."""
    hosts, buffers = header.hosts, header.buffers

    def of_hosts(name: str) -> str:
        return ", ".join(dict.fromkeys(str(getattr(host, name)) for host in hosts))

    said: dict[str, str] = {
        "MPI library": " ".join(header.mpi.version.strip().partition("\n")[0].split()),
        "hosts": ", ".join(host.name for host in hosts),
        "CPU": of_hosts("cpu_model"),
        "processors": of_hosts("cpus"),
        "kernel": of_hosts("kernel"),
        "frequency governor": of_hosts("governor"),
        "huge pages of the system": of_hosts("transparent_huge_pages"),
        "clock": ", ".join(dict.fromkeys(host.clock.kind for host in hosts if host.clock)),
        "ranks": str(len(header.ranks)) if header.ranks else "",
        "binding": ", ".join(f"{rank.rank} on {rank.cpus}" for rank in header.ranks if rank.bound) or "none",
        "huge pages of the buffers": buffers.huge_pages if buffers else "",
    }
    said |= {f"version of {name}": version for name, version in header.versions.items()}
    return said | _options(header)


def _options(header: Header) -> dict[str, str]:
    if header.options is None:
        return {}
    # Seeds differ from launch to launch, and which kernels were asked for changes no measurement.
    plan = {"seed", "kernels", "sizes", "pairs", "node_pairs", "collectives", "procs", "volumes", "bursts", "work"}
    names = [name for name in header.options.__struct_fields__ if name not in plan]
    return {f"option {name}": str(getattr(header.options, name)) for name in names}


def changed_surroundings(before: Measurements, after: Measurements) -> tuple[tuple[str, str, str], ...]:
    """Return what differs in where and how was measured: (name, before, after).

    Where several launches of one file differ, each is named once. What only one of the files recorded is left out.
    """
    sides: list[dict[str, dict[str, None]]] = []
    for measurements in (before, after):
        found: dict[str, dict[str, None]] = {}
        for launch in measurements.launches:
            for name, said in _said(launch.header).items():
                found.setdefault(name, {})[said] = None
        sides.append({name: {said: None for said in values if said} for name, values in found.items()})
    old, new = sides
    both = (name for name in old if old[name] and new.get(name) and set(old[name]) != set(new[name]))
    return tuple((name, "; ".join(old[name]), "; ".join(new[name])) for name in both)
