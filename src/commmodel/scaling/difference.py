"""Performance differences between two files of measurements, with intervals. Main entry: `differences`.

Launches differ by more than their repetitions show (Hunold and Carpen-Amarie 2016), on a shared machine by far more and
with several modes. So launches are the unit: each gives one value, and whether times changed is said by exchanging
launches (`commmodel.scaling.permutation`), which limits the chance of any false alarm among all configurations. Of one
launch on each side nothing can be said. Counts and bytes are the same each time; of those the share of false
discoveries is limited (Benjamini and Hochberg 1995).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from commmodel.arguments import NotNegative, finite, share
from commmodel.arrays import Array
from commmodel.choices import Statistic, Unit
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.results import Configuration, Launch, Measurements
from commmodel.results.configurations import Clocks, Function, Memory, Queue
from commmodel.scaling.collected import CollectedSeries, Samples, collect
from commmodel.scaling.environment import changed_environment
from commmodel.scaling.permutation import FEWEST_PLAIN, Shifts, fewest_launches, fewest_pairs, paired, unpaired
from commmodel.scaling.samples import STATISTICS, reduce
from commmodel.signatures import checked
from commmodel.statistics import TO_DEVIATION, false_discovery_limit
from commmodel.units import counted
from commmodel.values import OneLine

Change = Literal["slower", "faster", "larger", "smaller", "same", "unclear"]

PIECES = 6
"""Of a launch's repetitions, whose scatter says how much its value scatters at least."""
MOST_WARNINGS = 3
"""Of each file: launches hardly ever warn of the same load."""
WANTED = 0.10
"""Change whose number of launches is named where there are too few."""
_FOUR_OF_FIVE = 0.84  # standard errors from the mean, below which four fifths of a normal distribution lie
_FOUND = 2.8  # standard errors of a change that is found in 80 % of cases, at 5 % false ones


@dataclass(frozen=True)
class Difference(OneLine):
    """One configuration, before and after.

    Attributes
    ----------
    configuration, unit
        What was measured, and in what: seconds, bytes or a plain number, as in its records.
    before, after : float
        Means over the launches of each launch's statistic.
    launches : (int, int)
        How many there are before and after; in pairs, those of which both sides have it.
    ratio, low, high : float
        `after` / `before` and its interval; infinite where there was nothing before. The interval is 0 to infinity
        where the scatter is not known, as with a single repetition of a time.
    p_value : float
        How often chance alone makes such a difference; that of this configuration by itself.
    change : str
        ``slower`` or ``faster``, of bytes, counts and errors of clocks ``larger`` or ``smaller``: where chance does not
        explain it among all that was compared, and the ratio is far enough from 1; ``same`` where the interval stays
        near 1; else ``unclear``.
    detectable : float
        Share by which a time must become slower so that four of five such comparisons call it so; infinite where
        nothing can be called, and of bytes and counts.

    Notes
    -----
    Of times the means are geometric. Where launches were measured in turns (`Differences.pairs`), `before` and `after`
    are medians over the pairs, and the ratio is the centre of the pairs' ratios, which need not be that of the medians.
    """

    configuration: Configuration
    unit: Unit
    before: float
    after: float
    launches: tuple[int, int]
    ratio: float
    low: float
    high: float
    p_value: float
    change: Change
    detectable: float = math.inf

    @property
    def is_worse(self) -> bool:
        """Whether it became slower, or uses or counts more."""
        grew = self.change == "larger" and isinstance(self.configuration, Memory | Function)
        return self.change == "slower" or grew


@with_attributes
@dataclass(frozen=True)
class JointVerdict:
    """The common change of all times.

    Attributes
    ----------
    configurations : int
        How many there are.
    ratio, low, high : float
        The median ratio, after over before, and its interval.
    p_value : float
        How often chance alone makes such a difference, here or in any single configuration.
    change : str
        ``slower``, ``faster``, ``same`` or ``unclear``, as of `Difference`.
    """

    configurations: int
    ratio: float
    low: float
    high: float
    p_value: float
    change: Change


@dataclass(frozen=True)
class Differences(OneLine):
    """All differences between two files.

    Attributes
    ----------
    rows : tuple of Difference
        The largest effect first, in either direction.
    only_before, only_after : tuple
        The configurations that were measured in one of them only.
    environment : tuple of (str, str, str)
        What differs in where and how was measured: name, before, after.
    remarks : tuple of str
        What else a reader must know, such as that launches were not repeated.
    together : JointVerdict, optional
        What the times of three configurations or more do in common.
    pairs : int
        Pairs of launches measured in turns of which both sides measured something; 0 where sides did not take turns.
    """

    rows: tuple[Difference, ...]
    only_before: tuple[Configuration, ...]
    only_after: tuple[Configuration, ...]
    environment: tuple[tuple[str, str, str], ...]
    remarks: tuple[str, ...]
    together: JointVerdict | None = None
    pairs: int = 0

    @property
    def is_worse(self) -> bool:
        """Whether anything became slower, or keeps or counts more."""
        return any(row.is_worse for row in self.rows) or (
            self.together is not None and self.together.change == "slower"
        )


@dataclass(frozen=True)
class _Side:
    """A configuration's value in one file, the variance between launches and its degrees of freedom; nan: unknown."""

    value: float
    variance: float
    freedom: float
    launches: int


class _Part(NamedTuple):
    """A variance and its degrees of freedom."""

    variance: float
    freedom: float


def _variance_within(launch: Array, statistic: Statistic) -> float:
    """Return the variance of a launch's statistic as its repetitions show it; nan for a single one."""
    count = min(PIECES, len(launch))
    length = len(launch) // count
    pieces = STATISTICS[statistic](launch[: count * length].reshape(count, length), axis=1)
    return float(pieces.var(ddof=1)) / count if count > 1 else math.nan


def _side(launches: Sequence[Array], unit: str, statistic: Statistic) -> _Side:
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
    """Return a side of one launch with the other side's scatter of launches, relative to its value."""
    if side.launches > 1 or other.launches == 1:
        return side
    scatter = other.variance * (side.value / other.value) ** 2 if other.value else other.variance
    variance = 0.0 if math.isnan(side.variance) else side.variance
    return _Side(side.value, max(scatter, variance), other.freedom, 1)


def _parts(before: _Side, after: _Side) -> list[_Part]:
    """Return the contributions to the ratio's relative variance; to the difference's where a value is 0."""
    are_positive = before.value > 0 and after.value > 0
    return [
        _Part(side.variance / side.launches / (side.value**2 if are_positive else 1.0), side.freedom)
        for side in (before, after)
    ]


def _effect(before: _Side, after: _Side, parts: Sequence[_Part]) -> tuple[float, float, float]:
    """Return the standard error of the ratio or difference, its degrees of freedom and its p-value."""
    from scipy.special import stdtr

    are_positive = before.value > 0 and after.value > 0
    variance = sum(part.variance for part in parts)
    distance = abs(math.log(after.value / before.value)) if are_positive else abs(after.value - before.value)
    if math.isnan(variance):
        return math.nan, 1.0, 1.0
    if variance == 0:
        return 0.0, math.inf, 1.0 if distance == 0 else 0.0
    freedom = variance**2 / sum(part.variance**2 / part.freedom for part in parts if part.variance > 0)
    return math.sqrt(variance), freedom, float(2 * stdtr(freedom, -distance / math.sqrt(variance)))


def _interval(before: _Side, after: _Side, error: float, freedom: float, p_value: float, chance: float) -> Array:
    """Return ratio, low and high."""
    from scipy.special import ndtri, stdtrit

    if before.value == 0 or after.value == 0:
        ratio = 1.0 if before.value == after.value else math.inf if after.value else 0.0
        is_certain = p_value <= chance or (before.value == after.value and error == 0)
        return np.array([ratio, ratio, ratio] if is_certain else [ratio, 0.0, math.inf])
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


def _detectable(shift: Array, confidence: float, least: float) -> float:
    """Return the share of a slowdown that is called in four of five comparisons, from the shift and its interval."""
    from scipy.special import ndtri

    _, low, high = shift.tolist()
    half = (high - low) / 2
    error = half / float(ndtri((1 + confidence) / 2))
    return math.expm1(min(max(half, math.log1p(least)) + _FOUR_OF_FIVE * error, 700.0)) if half < math.inf else math.inf


def _is_timed(unit: str, *sides: Samples) -> bool:
    """Whether ratios of launches can be compared: for times above 0."""
    return unit == "s" and all(min(side.values) > 0 for side in sides)


def _order(before: Sequence[Launch], after: Sequence[Launch]) -> list[int] | None:
    """Return the numbers of all launches (those after follow those before), by start time.

    Where one does not say when it began, one side may have been measured after the other: that is assumed. None where
    two began at the same time, side by side.
    """
    begun = [launch.header.created for launch in (*before, *after)]
    if not all(begun):
        return list(range(len(begun)))
    if len(set(begun)) < len(begun):
        return None
    return sorted(range(len(begun)), key=lambda number: begun[number])


def _take_turns(order: Sequence[int], before: int) -> list[tuple[int, int]]:
    """Return the pairs (before, after) where launches of both sides alternate.

    >>> _take_turns([0, 2, 3, 1], 2), _take_turns([0, 1, 2, 3], 2)
    ([(0, 0), (1, 1)], [])
    """
    turns = list(zip(order[::2], order[1::2], strict=False))
    if len(order) % 2 or any((first < before) == (second < before) for first, second in turns):
        return []
    return [(min(pair), max(pair) - before) for pair in turns]


class _Launches(NamedTuple):
    """The order of both sides' launches in time: pairs (before, after), or one sequence."""

    before: int
    after: int
    pairs: list[tuple[int, int]]
    order: list[int] | None


def _arranged(before: Sequence[Launch], after: Sequence[Launch], in_pairs: bool | None) -> _Launches:
    order = _order(before, after)
    pairs = list(zip(range(len(before)), range(len(after)), strict=False)) if in_pairs else []
    if in_pairs and len(before) != len(after):
        raise InputError(f"{len(before)} launches before and {len(after)} after: pairs need as many on both sides")
    if in_pairs is None and order is not None and len(before) > 1:
        pairs = _take_turns(order, len(before))
    return _Launches(len(before), len(after), pairs, order)


def _logs(sides: Sequence[tuple[Samples, Samples]], launches: _Launches, statistic: Statistic) -> tuple[Array, Array]:
    """Return logarithms of the launches' values, shape (configurations, launches), before and after; nan: missing."""
    tables = tuple(np.full((len(sides), count), math.nan) for count in (launches.before, launches.after))
    for row, pair in enumerate(sides):
        for table, side in zip(tables, pair, strict=True):
            table[row, side.numbers] = np.log(reduce(side.launches, statistic))
    return tables[0], tables[1]


def _shifts(before: Array, after: Array, launches: _Launches, confidence: float) -> Shifts:
    if launches.pairs:
        first, second = (list(numbers) for numbers in zip(*launches.pairs, strict=True))
        return paired(after[:, second] - before[:, first], confidence=confidence)
    logs, is_after = np.hstack([before, after]), np.arange(launches.before + launches.after) >= launches.before
    if launches.order is not None:
        return unpaired(logs[:, launches.order], is_after[launches.order], in_time=True, confidence=confidence)
    return unpaired(logs, is_after, confidence=confidence)


def _spread(before: Array, after: Array) -> float:
    """Return the typical scatter of launches: the standard deviation of logarithms; nan where unknown."""
    within = [table - np.nanmean(table, axis=1, keepdims=True) for table in (before, after) if table.shape[1] > 1]
    if within:
        free = sum(table.shape[1] - 1 for table in within)
        return float(np.median(np.sqrt(np.nansum(np.hstack(within) ** 2, axis=1) / free)))
    ratios = after[:, 0] - before[:, 0]
    if len(ratios) < 2:
        return math.nan
    return TO_DEVIATION * float(np.median(np.abs(ratios - np.median(ratios)))) / math.sqrt(2)


def _of_turns(launches: _Launches, before: Array, after: Array, confidence: float) -> tuple[list[str], int]:
    """Return remarks on pairs of launches, and how many have something in common."""
    remarks, complete = [], 0
    for number, (first, second) in enumerate(launches.pairs, 1):
        sides = ~np.isnan(before[:, first]), ~np.isnan(after[:, second])
        complete += bool((sides[0] & sides[1]).any())
        for name, is_measured in zip(("before", "after"), sides, strict=True):
            if not is_measured.all():
                amount = f"{is_measured.sum()} of {is_measured.size} times" if is_measured.any() else "nothing"
                remarks.append(f"pair {number}, {name}: measured {amount}")
    needed = fewest_pairs(confidence)
    if complete < needed:
        remarks.append(f"{complete} pairs of launches: too few to call a time changed: measure {needed} or more")
    return remarks, complete


def _of_launches(launches: _Launches, shifts: Shifts, spread: float, confidence: float) -> list[str]:
    """Return a remark on what so many launches can show."""
    in_turns = "measure in turns with commmodel compare --run"
    fewest = fewest_launches(confidence)
    splits = math.comb(launches.before + launches.after, launches.after)
    remarks = []
    if 2 / splits > 1 - confidence or min(launches.before, launches.after) == 1:
        counts = (
            "each file has one launch"
            if launches.before == launches.after == 1
            else f"{counted(launches.before, 'launch')} before, {launches.after} after"
        )
        differ = f", here by about {math.expm1(spread):.0%}" if math.isfinite(spread) and spread > 0 else ""
        only = (
            "no time can be called changed"
            if min(launches.before, launches.after) < FEWEST_PLAIN
            else "only a time that is off by far more can be called changed"
        )
        needed = max(fewest, math.ceil(2 * (_FOUND * spread / math.log1p(WANTED)) ** 2)) if differ else fewest
        remarks.append(
            f"{counts}: launches of one program differ among themselves{differ}, so {only}; "
            f"{fewest} launches on each side can show a change, about {needed} one of {WANTED:.0%}; {in_turns}"
        )
    elif shifts.drifts:
        remarks.append(
            "the launches of both files did not take turns: drift of the machine looks like a change, so only what is "
            f"larger than it is called: {in_turns}"
        )
    return remarks


def _remarks(
    before: CollectedSeries, after: CollectedSeries, of_launches: Sequence[str], left_out: int
) -> tuple[str, ...]:
    remarks = [*before.notes, *after.notes]
    for name, measurements in (("before", before), ("after", after)):
        warnings = list(dict.fromkeys(text for launch in measurements.launches for text in launch.header.warnings))
        more = len(warnings) - MOST_WARNINGS
        remarks += [f"{name}: {warning}" for warning in warnings[:MOST_WARNINGS]]
        remarks += [f"{name}: {more} more warnings, which commmodel report shows"] if more > 0 else []
    shared = len(before.identities & after.identities)
    if shared:
        remarks.append(
            f"{counted(shared, 'launch')} {'occurs' if shared == 1 else 'occur'} in both files: remove "
            f"{'it' if shared == 1 else 'them'} from one"
        )
    remarks += of_launches
    if left_out:
        remarks.append(f"left out: {left_out} records of the kernel queue, whose samples are of different messages")
    return tuple(remarks)


def _timed_rows(
    sides: dict[Configuration, tuple[Samples, Samples]],
    launches: _Launches,
    statistic: Statistic,
    confidence: float,
    least: float,
) -> tuple[list[Difference], JointVerdict | None, list[str], int]:
    """Return the rows of times, their common change, remarks, and the number of pairs that have a time."""
    if not sides:
        return [], None, [], len(launches.pairs)
    before, after = _logs(list(sides.values()), launches, statistic)
    shifts = _shifts(before, after, launches, confidence)
    rows = []
    for number, (configuration, (first, second)) in enumerate(sides.items()):
        value, new_value = (float(np.exp(np.nanmean(table[number]))) for table in (before, after))
        counts = len(first.numbers), len(second.numbers)
        if launches.pairs:
            value, new_value, counts = _of_pairs(before[number], after[number], launches, (value, new_value))
        ratio, low, high = _as_ratios(shifts.rows[number])
        if math.isnan(ratio):  # no pair has both
            ratio = _as_ratios([math.log(new_value) - math.log(value)] * 3)[0]
        is_real = bool(shifts.among_all[number] <= 1 - confidence or shifts.plain[number])
        change = _change(configuration, "s", ratio, low, high, least, is_real=is_real)
        p_value = float(shifts.alone[number])
        detectable = _detectable(shifts.rows[number], confidence, least)
        rows.append(
            Difference(configuration, "s", value, new_value, counts, ratio, low, high, p_value, change, detectable)
        )
    together = None
    if math.isfinite(shifts.common[0]):
        ratio, low, high = _as_ratios(shifts.common)
        change = _change(next(iter(sides)), "s", ratio, low, high, least, is_real=shifts.together <= 1 - confidence)
        together = JointVerdict(len(sides), ratio, low, high, shifts.together, change)
    if launches.pairs:
        return rows, together, *_of_turns(launches, before, after, confidence)
    return rows, together, _of_launches(launches, shifts, _spread(before, after), confidence), 0


def _of_pairs(
    before: Array, after: Array, launches: _Launches, alone: tuple[float, float]
) -> tuple[float, float, tuple[int, int]]:
    """Return the medians over the pairs whose sides both measured a time, and their number; `alone` where none did."""
    first, second = (list(numbers) for numbers in zip(*launches.pairs, strict=True))
    has_both = ~np.isnan(before[first]) & ~np.isnan(after[second])
    count = int(has_both.sum())
    if not count:
        return *alone, (0, 0)
    value, new_value = (float(np.exp(np.median(side[has_both]))) for side in (before[first], after[second]))
    return value, new_value, (count, count)


def _as_ratios(logs: Sequence[float] | Array) -> tuple[float, float, float]:
    """Return the ratios of three logarithms; 0 or infinite beyond floats."""
    with np.errstate(over="ignore", under="ignore"):
        ratio, low, high = np.exp(np.asarray(logs, dtype=np.float64)).tolist()
    return ratio, low, high


def _counted_rows(
    sides: dict[Configuration, tuple[Samples, Samples]], statistic: Statistic, confidence: float, least: float
) -> list[Difference]:
    """Return the rows of bytes and counts, and of times that are 0."""
    pairs = []
    for first, second in sides.values():
        largest = max(max(side.values) for side in (first, second)) or 1.0
        first_side, other = (
            _side([launch / largest for launch in side.launches], side.unit, statistic) for side in (first, second)
        )
        pairs.append((_with_launches_of(first_side, other), _with_launches_of(other, first_side), largest))
    effects = [_effect(first, other, _parts(first, other)) for first, other, _ in pairs]
    limit = false_discovery_limit([p_value for _, _, p_value in effects], 1 - confidence)
    rows = []
    for (configuration, (measured, _)), (old, new, largest), (error, freedom, p_value) in zip(
        sides.items(), pairs, effects, strict=True
    ):
        ratio, low, high = map(float, _interval(old, new, error, freedom, p_value, 1 - confidence))
        change = _change(configuration, measured.unit, ratio, low, high, least, is_real=p_value <= limit)
        launches = old.launches, new.launches
        values = old.value * largest, new.value * largest
        rows.append(Difference(configuration, measured.unit, *values, launches, ratio, low, high, p_value, change))
    return rows


@checked
def differences(
    before: Measurements | CollectedSeries,
    after: Measurements | CollectedSeries,
    *,
    statistic: Statistic = "median",
    confidence: float = 0.95,
    least: NotNegative = 0.05,
    in_pairs: bool | None = None,
) -> Differences:
    """Return the change of every configuration that both files measured.

    Parameters
    ----------
    before, after : Measurements, or what `collect` makes of them
        Of any kernels, of five launches or more each.
    statistic : str
        What the repetitions of a launch are reduced to, one of `commmodel.scaling.samples.STATISTICS`.
    confidence : float
        From 0.01 to 0.999999. Of each interval by itself, and of all verdicts together: where nothing changed at all, 1
        − `confidence` is the most that the chance is that anything is called changed.
    least : float
        Changes up to this share are not called, and an interval within it is ``same``.
    in_pairs : bool, optional
        Whether the first launch of one side belongs to the first of the other, and so on. Left out: where their
        headers say that they began in turns.

    Raises
    ------
    InputError
        Where nothing was measured in both, for sides that are no pairs, or for an unknown statistic, a confidence or a
        least effect that are none.

    Notes
    -----
    Times are compared by exchanging launches, which needs five on each side, or seven pairs, to call anything at 95 %
    (`commmodel.scaling.permutation`). Where the headers say when launches began, and the two sides did not take turns,
    drift is allowed for: only changes beyond a random walk and a trend of the launches are called. So it is where
    headers do not say when launches began.

    Examples
    --------
    >>> from commmodel.results import Header, Launch, Library, Record
    >>> from commmodel.results.configurations import Collective
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> def measured(factor):
    ...     record = lambda launch: Record(Collective("bcast", 8, 4), "s", (factor * (1 + launch / 100),) * 20)
    ...     return Measurements(tuple(Launch(header, (record(launch),)) for launch in range(5)))
    >>> (row,) = differences(measured(1e-6), measured(1.3e-6)).rows
    >>> row.change, row.launches, round(row.ratio, 2), round(row.low, 2), round(row.high, 2)
    ('slower', (5, 5), 1.3, 1.24, 1.36)
    """
    share("confidence", confidence)
    finite("least", least, 0)
    before, after = (side if isinstance(side, CollectedSeries) else collect(side) for side in (before, after))
    old, new = before.samples, after.samples
    common: dict[Configuration, tuple[Samples, Samples]] = {
        configuration: (old[configuration], new[configuration])
        for configuration in old
        if configuration in new
        and not isinstance(configuration, Queue)
        and old[configuration].unit == new[configuration].unit
    }
    if not common:
        raise InputError("nothing was measured in both files: measure the same kernels, sizes and processes again")
    launches = _arranged(before.runs, after.runs, in_pairs)
    timed = {configuration: pair for configuration, pair in common.items() if _is_timed(old[configuration].unit, *pair)}
    rows, together, of_launches, pairs = _timed_rows(timed, launches, statistic, confidence, least)
    counted = {configuration: pair for configuration, pair in common.items() if configuration not in timed}
    rows += _counted_rows(counted, statistic, confidence, least) if counted else []
    rows.sort(key=lambda row: -abs(math.log(row.ratio)) if 0 < row.ratio < math.inf else -math.inf)
    return Differences(
        tuple(rows),
        tuple(configuration for configuration in old if configuration not in new),
        tuple(configuration for configuration in new if configuration not in old),
        changed_environment(*([launch.header for launch in side.launches] for side in (before, after))),
        _remarks(
            before,
            after,
            of_launches,
            sum(isinstance(configuration, Queue) for configuration in old if configuration in new),
        ),
        together,
        pairs,
    )
