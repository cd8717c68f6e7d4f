"""What a faster or slower network or processor changes: derivatives, tolerance, breakpoints of a simulated time.

The time T of a workload is looked at as a function of one cost after the other, each a factor of what it is now:
latency, overhead and gap of messages, the time of a byte (1 over the bandwidth) and that of computation. By every model
here, T consists of straight pieces as long as nothing changes its order: the end is a sum of such costs along the chain
that decides it, and a cost that grows lets another chain decide from some point on. Delay models carry the derivatives
along, so that a run gives time and slope. On shared links a walk back over the run gives the slope, and which links and
hosts decide: the bytes that a flow gets between two events are in proportion to its bandwidth, so T is straight there,
too. Where a run has no derivatives, a second one with a cost a millionth higher gives the slope.

Main entry: `sensitivity`. Hoefler and others (LLAMP, SC 2024) find tolerance of latency by a linear program; here it is
found by Newton's method on the simulation, which has few straight pieces to cross.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from commmodel.arguments import Count, finite, refuse
from commmodel.choices import FlowModel, Slopes
from commmodel.errors import InputError, blame
from commmodel.signatures import checked, returned
from commmodel.simulate.gradient import HostSlope
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.scenario.places import Place, Where, place
from commmodel.simulate.scenario.scale import Scale
from commmodel.simulate.workers import spread
from commmodel.values import Value

if TYPE_CHECKING:
    from commmodel.machine import Machine

__all__ = ["COSTS", "Cost", "CostCurve", "CostSensitivity", "CurvePoint", "LinkShare", "sensitivity"]

Cost = Literal["latency", "overhead", "gap", "bandwidth", "compute"]
COSTS: tuple[Cost, ...] = get_args(Cost)
"""What may become better or worse; the cost of bandwidth is the time of a byte, that of compute the time of
computation."""
CostQuestion = Callable[[Any, Scale, Slopes | None], SimulationResult]
"""What to simulate: (where, scale, slopes)."""
_PARAMETERS = {"latency": ("L", "latency"), "overhead": ("o", "O_s", "O_r", "overhead"), "gap": ("g", "gap"),
               "bandwidth": ("G", "G_small", "bandwidth"), "compute": ("compute",)}  # fmt: skip
_MEASURED: dict[bool, dict[str, tuple[str, ...]]] = {
    False: {"latency": ("L",), "overhead": ("o",), "gap": ("g",), "bandwidth": ("G",)},
    True: {"latency": ("L",), "overhead": ("o_s", "O_s", "o_r", "O_r"), "bandwidth": ("B",)},
}
"""Parameters of a machine's LogGP segments, and of the modes of its hybrid model, that are a cost."""
_IS_SPEED = {"bandwidth", "compute"}
_STEP = 1e-6
"""By which a cost grows for a slope, where the model carries none."""
_NEARLY_NOTHING = 1e-9
"""The factor of a cost that is as good as gone: latencies, and what divides by them, stay above 0."""
_MOST = 1e6
"""The factor of a cost up to which a tolerance is looked for."""
_CLOSE = 1e-9
"""Relative difference of times, and of factors, that are the same."""
_STRAIGHT = 1e-9
_MOST_STEPS = 60
_NARROW = 1e-6
"""Share of the range of a cost in which a time that jumps is not looked at any closer."""
_MOST_PIECES = 64
_LINKS_TRIED = 5
"""Links of which runs say what becomes of the time where one alone is better or worse."""
_ROUNDING = 1e-12
_ALIKE = 1e-3
"""Relative difference of one-sided slopes that are the same."""


@dataclass(frozen=True)
class CurvePoint(Value):
    """A time at a factor of a cost, and by how much it grows from there."""

    factor: float
    seconds: float
    slope: float
    """Seconds by the factor, where the cost grows."""


@dataclass(frozen=True)
class CostCurve(Value):
    """The time of a workload as a function of one cost."""

    cost: Cost
    now: CurvePoint
    tolerance: dict[float, float]
    """Percent that the workload may take longer -> factor of the cost at which it does; infinite where it never does,
    or not up to a factor of a million."""
    without: float
    """Seconds where the cost is gone."""
    points: tuple[CurvePoint, ...]
    """Where the slope changes, between the ends of the range that was looked at, which are there, too."""
    is_exact: bool
    """Whether the time is straight between the points; else the order of messages changes too often, and points are
    samples."""
    values: dict[str, float] = field(default_factory=dict)
    """Of a delay model, the parameters that are this cost, as they are now, where they are the same for all sizes."""
    bounds: tuple[float, float] | None = None
    """Factors between which the cost is, by the widest intervals of the machine's parameters; None without any."""

    @property
    def share(self) -> float:
        """Share of the time that this cost has on the chain that decides it."""
        return self.now.slope / self.now.seconds if self.now.seconds else 0.0

    @property
    def gain(self) -> float:
        """Share of the time that is saved where the cost is gone."""
        return 1 - self.without / self.now.seconds if self.now.seconds else 0.0

    @property
    def share_interval(self) -> tuple[float, float]:
        """Share of the time that the cost may have by its bounds, all else as it is, from 0 to 1."""
        low, high = self.bounds or (1.0, 1.0)
        return self.within(self.share, low), self.within(self.share, high)

    @property
    def gain_interval(self) -> tuple[float, float]:
        """Share of the time that may be saved where the cost is gone, by its bounds, from 0 to 1."""
        low, high = self.bounds or (1.0, 1.0)
        return self.within(self.gain, low), self.within(self.gain, high)

    @staticmethod
    @checked
    def within(share: float, factor: float) -> float:
        """Return the share of the time of what has a share now, where it is so many times as much.

        Parameters
        ----------
        share : float
            From 0 to 1.
        factor : float
            0 or more.

        Examples
        --------
        >>> CostCurve.within(0.5, 3.0)
        0.75
        """
        if not share > 0:
            return 0.0
        if factor == float("inf"):
            return 1.0
        return share * factor / (share * factor + max(1.0 - share, 0.0)) if factor > 0 else 0.0

    @checked
    def speed(self, factor: float) -> float:
        """Return a cost's factor as that of what people name: a bandwidth halves where the time of a byte doubles.

        Parameters
        ----------
        factor : float
            Of the cost, above 0.
        """
        return 1 / factor if self.cost in _IS_SPEED else factor


class LinkShare(NamedTuple):
    """What a link does to the time, in seconds by factors: 1 % more of it changes the time by 1 % of that."""

    name: str
    bandwidth: float
    """By the time of a byte on it."""
    latency: float
    """By its latency."""
    worse: float | None = None
    """By the time of a byte where that grows, by a run; None of links that were not tried."""
    better: float | None = None
    """Where it falls. It is less than where it grows, if other links are as full, or other ranks as late, at the very
    same time: one of them alone gains nothing."""

    @property
    def is_exact(self) -> bool | None:
        """Whether better and worse bandwidths do as much; None of links that were not tried."""
        if self.worse is None or self.better is None:
            return None
        return abs(self.worse - self.better) <= _ALIKE * max(abs(self.worse), abs(self.better), abs(self.bandwidth))


@dataclass(frozen=True)
class CostSensitivity(Value):
    """What the costs of a workload do to its time."""

    title: str
    place: str
    model: str
    processes: int
    seconds: float
    curves: tuple[CostCurve, ...]
    """Of the costs that the workload has, the one with the largest share first."""
    derivatives: dict[str, float]
    """Of a delay model, in seconds by what is added to its parameters (seconds, or seconds per byte); ``compute`` by
    the factor of computation. Where messages share links, in seconds by the factor of each cost."""
    uncertainty: float | None = None
    """Share of the time by which it is unsure. The widest interval of the machine's parameters that are a cost, times
    the cost's share, added up as independent errors are. None where there is no machine, or it has no intervals."""
    runs: int = field(default=0, compare=False)
    """Simulations that were run."""
    notes: tuple[str, ...] = ()
    links: tuple[LinkShare, ...] = ()
    """Where messages share links, those that decide the time, that with the most seconds first."""
    hosts: tuple[HostSlope, ...] = ()
    """The hosts whose computation decides it, where messages share links."""

    def __getitem__(self, cost: str) -> CostCurve:
        """Return the curve of a cost.

        Raises
        ------
        InputError
            Where the workload has none.
        """
        for curve in self.curves:
            if curve.cost == cost:
                return curve
        raise InputError(f"{cost!r} costs nothing here: choose one of {', '.join(c.cost for c in self.curves)}")

    def as_json(self) -> dict[str, Any]:
        """Return what ``commmodel simulate --sensitivity --json`` prints.

        >>> from commmodel import simulate
        >>> def ring(where, scale, slopes):
        ...     return simulate.exchange("ring", 1000, 4, on=where, scale=scale, slopes=slopes)
        >>> sensitivity(ring, "L=4us,o=1us,g=1us,G=1ns").as_json()["derivatives"]["L"]
        1.0
        """
        percents = list(self.curves[0].tolerance) if self.curves else []
        return {
            "work": {"title": self.title}, "platform": self.place, "model": self.model, "processes": self.processes,
            "seconds": self.seconds, "uncertainty": self.uncertainty, "derivatives": self.derivatives,
            "tolerance": {f"{percent:g}%": self._values(percent) for percent in percents},
            "tolerated_factors": {
                f"{percent:g}%": {c.cost: _number(c.speed(c.tolerance[percent])) for c in self.curves}
                for percent in percents
            },
            "shares": {c.cost: c.share for c in self.curves},
            "share_intervals": {c.cost: c.share_interval for c in self.curves if c.bounds is not None},
            "without": {c.cost: c.without for c in self.curves},
            "curves": {
                c.cost: {
                    "factors": [p.factor for p in c.points], "seconds": [p.seconds for p in c.points],
                    "slopes": [p.slope for p in c.points], "exact": c.is_exact,
                }
                for c in self.curves
            },
            "links": [link._asdict() | {"exact": link.is_exact} for link in self.links],
            "hosts": [host._asdict() for host in self.hosts],
            "runs": self.runs, "notes": self.notes,
        }  # fmt: skip

    def _values(self, percent: float) -> dict[str, float | None]:
        """Return the parameters' values at a tolerance, those of computation as a factor of its speed."""
        values: dict[str, float | None] = {}
        for curve in self.curves:
            factor = curve.tolerance[percent]
            if curve.cost == "compute":
                values["compute"] = _number(curve.speed(factor))
            for name, value in curve.values.items():
                values[name] = _number(value * factor)
        return values


def _number(value: float) -> float | None:
    """Return a number for JSON, which has no infinity; 0 is a speed that is never too low."""
    return value if 0 < value < float("inf") else None


class _Runs:
    """Runs of one workload, whose times and slopes by one cost are asked for."""

    def __init__(self, question: CostQuestion, where: Where | Place, cost: Cost, carries: bool) -> None:
        self._question, self._where, self._cost, self._carries = question, where, cost, carries
        self._points: dict[float, CurvePoint] = {}
        self.count = 0

    def around(self, now: CurvePoint, target: float) -> tuple[CurvePoint, CurvePoint | None]:
        """Return the points that are known next to where a time is reached first, from now on; None without a later."""
        low = now
        for factor in sorted(factor for factor in self._points if factor > now.factor):
            point = self._points[factor]
            if point.seconds >= target:
                return low, point
            low = point
        return low, None

    def at(self, factor: float) -> CurvePoint:
        """Return time and slope at a factor of the cost; one that is known is not simulated again."""
        if factor not in self._points:
            self._points[factor] = self._simulated(factor)
        return self._points[factor]

    def _simulated(self, factor: float) -> CurvePoint:
        result = self._result(factor)
        if result.derivatives:
            slope = sum(slope_of(result, name) for name in _PARAMETERS[self._cost]) / factor
        else:
            slope = (self._result(factor * (1 + _STEP)).seconds - result.seconds) / (factor * _STEP)
        return CurvePoint(factor, result.seconds, slope)

    def _result(self, factor: float) -> SimulationResult:
        self.count += 1
        speed = 1 / factor if self._cost in _IS_SPEED else factor
        scale: Any = {self._cost: speed}
        return answered(self._question, self._where, Scale(**scale), "factors" if self._carries else None)


def answered(question: CostQuestion, where: Where | Place, scale: Scale, slopes: Slopes | None) -> SimulationResult:
    """Return the answer of a question, which is the caller's; raise where it is none."""
    try:
        answer = question(where, scale, slopes)
    except Exception as error:
        blame(error, f"the question about {where}", question)
        raise
    result: SimulationResult = returned("question(where, scale, slopes)", answer, SimulationResult)
    return result.or_deadlock("raise")


def slope_of(result: SimulationResult, name: str) -> float:
    """Return a derivative of a result by a parameter of a delay model, within a host and between hosts together."""
    derivatives = result.derivatives
    return derivatives.get(name, 0.0) + derivatives.get(f"{name} within", 0.0)


def _tolerated(
    runs: _Runs, now: CurvePoint, percent: float, bracket: tuple[CurvePoint, CurvePoint | None] | None = None
) -> float:
    """Return the factor of a cost at which the time is so many percent longer, by Newton's method in brackets.

    Examples
    --------
    A time of straight pieces: 1 up to factor 2, and as much as half the factor from there.

    >>> class Pieces:
    ...     def at(self, x):
    ...         return CurvePoint(x, max(1.0, x / 2), 0.5 if x >= 2 else 0.0)
    >>> _tolerated(Pieces(), CurvePoint(1.0, 1.0, 0.0), 5.0)
    2.1
    """
    target = now.seconds * (1 + percent / 100)
    low, high = bracket or (now, None)
    for _ in range(_MOST_STEPS):
        near = low if high is None else high
        factor = near.factor + (target - near.seconds) / near.slope if near.slope > 0 else 0.0
        if high is None:
            if not low.factor < factor <= _MOST:
                if low.factor >= _MOST:
                    return float("inf")
                factor = min(2 * low.factor, _MOST) if factor <= low.factor else _MOST
        elif not low.factor < factor < high.factor:
            factor = (low.factor + high.factor) / 2
        point = runs.at(factor)
        if abs(point.seconds - target) <= _CLOSE * target:
            return point.factor
        if point.seconds < target:
            low = point
        else:
            high = point
        if high is not None and high.factor - low.factor <= _CLOSE * high.factor:
            return high.factor
    return low.factor if high is None else high.factor


def _pieces(runs: _Runs, first: CurvePoint, last: CurvePoint) -> tuple[list[CurvePoint], bool]:
    """Return the points at which a time's slope changes, with the ends, and whether it is straight between them.

    Where the lines through two points cross, either the time is on both, and its slope changes there alone; or there is
    more to find on both sides.
    """
    points, left = [first, last], [(first, last)]
    is_exact = True
    while left:
        start, end = left.pop()
        if _on_line(start, end):
            continue
        if len(points) >= _MOST_PIECES or end.factor - start.factor <= _NARROW * last.factor:
            is_exact = False  # it jumps, as where the order of messages changes
            continue
        width = end.factor - start.factor
        turn = end.seconds - start.seconds - start.slope * width
        curve = end.slope - start.slope
        # where the line of the start meets that of the end
        step = width - turn / curve if curve > 0 else width / 2
        if not _CLOSE * width < step < width * (1 - _CLOSE):
            step = width / 2
        middle = runs.at(start.factor + step)
        points.append(middle)
        left += [(start, middle), (middle, end)]
    points.sort(key=lambda point: point.factor)
    return _corners(points), is_exact


def _on_line(start: CurvePoint, end: CurvePoint) -> bool:
    reached = start.seconds + start.slope * (end.factor - start.factor)
    return abs(reached - end.seconds) <= _STRAIGHT * max(abs(reached), abs(end.seconds))


def _corners(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Return the points without those that lie on a straight line between their neighbours."""
    corners = [points[0]]
    for point, after in zip(points[1:], [*points[2:], None], strict=True):
        if after is None or not (_on_line(corners[-1], point) and _on_line(corners[-1], after)):
            corners.append(point)
    return corners


class _Study(NamedTuple):
    """What is asked of each cost."""

    question: CostQuestion
    where: Where | Place
    percents: tuple[float, ...]
    carries: bool
    pieces: bool


def _curve(study: _Study, cost: Cost) -> tuple[CostCurve | None, int]:
    """Return the curve of a cost, None where the workload has none of it, and how many runs that took."""
    runs = _Runs(study.question, study.where, cost, study.carries)
    now, free = runs.at(1.0), runs.at(_NEARLY_NOTHING)
    if now.seconds == 0:  # nothing of it takes any time
        return None, runs.count
    tolerance = {}
    for percent in study.percents:
        bracket = runs.around(now, now.seconds * (1 + percent / 100))
        tolerance[percent] = _tolerated(runs, now, percent, bracket)
    reached = [factor for factor in tolerance.values() if factor < _MOST]
    if not reached and abs(now.seconds - free.seconds) <= _CLOSE * now.seconds:
        return None, runs.count
    points, is_exact = _pieces(runs, free, runs.at(max([2.0, *reached]))) if study.pieces else ([], True)
    return CostCurve(cost, now, tolerance, free.seconds, tuple(points), is_exact), runs.count


def _bounds(machine: "Machine | None", model: str, cost: Cost) -> tuple[float, float] | None:
    """Return the factors between which a cost is by the widest intervals of its parameters; None without any."""
    if machine is None:
        return None
    is_shared = model in get_args(FlowModel)
    modes = [mode for hybrid in machine.hybrid for mode in hybrid.modes]
    sources: list[Any] = modes if is_shared else [part.loggp for part in machine.segments]
    parameters = [getattr(source, name) for source in sources if source is not None
                  for name in _MEASURED[is_shared].get(cost, ())]  # fmt: skip
    intervals = [
        (p.low / p.value, p.high / p.value)
        for p in parameters
        if p is not None and p.low is not None and p.high is not None and p.value > 0 and p.high < float("inf")
    ]
    if not intervals:
        return None
    low, high = min(max(low, 0.0) for low, _ in intervals), max(high for _, high in intervals)
    if is_shared and cost == "bandwidth":  # B is a rate: its cost is the time of a byte
        return 1 / high, 1 / low if low > 0 else float("inf")
    return low, high


def _uncertainty(curves: Sequence[CostCurve]) -> float | None:
    """Return the share of a time by which it is unsure, by the bounds of each cost."""
    squares = [
        ((min(curve.bounds[1], _MOST) - curve.bounds[0]) / 2 * curve.share) ** 2
        for curve in curves
        if curve.bounds is not None
    ]
    return float(sum(squares) ** 0.5) if squares else None


@checked
def sensitivity(
    question: CostQuestion,
    where: Where | Place,
    *,
    percents: Sequence[float] = (1.0, 2.0, 5.0),
    costs: Sequence[Cost] = COSTS,
    pieces: bool = True,
    machine: "Machine | None" = None,
    workers: Count = 1,
    executor: Executor | None = None,
) -> CostSensitivity:
    """Find how the time of a workload depends on the costs of messages and of computation.

    Parameters
    ----------
    question : callable
        (where, scale, slopes) -> SimulationResult: what to simulate, with the arguments of that name.
    where : str, path, Platform, Machine, DelayParameters or Place
        What `commmodel.simulate.scenario.place` takes.
    percents : sequence of float
        By how much longer the workload may take, in percent, above 0.
    costs : sequence of str
        Of `COSTS`.
    pieces : bool
        Whether to find where the slope changes, which takes most of the runs.
    machine : Machine, optional
        Whose parameters' intervals say how sure the time is; by default the place's.
    workers : int
        Processes side by side, one cost each.
    executor : concurrent.futures.Executor, optional
        In place of workers.

    Raises
    ------
    InputError
        Where a percentage or a cost is none; and the errors of `question`.
    DeadlockError
        Where ranks wait for ever.

    Examples
    --------
    In a ring of four ranks, a message takes o + L + 999 G + o:

    >>> from commmodel import simulate
    >>> def ring(where, scale, slopes):
    ...     return simulate.exchange("ring", 1000, 4, on=where, scale=scale, slopes=slopes)
    >>> found = sensitivity(ring, "L=4us,o=1us,g=1us,G=1ns")
    >>> {name: round(slope) for name, slope in found.derivatives.items() if slope}
    {'L': 1, 'o': 2, 'G': 999}
    >>> curve = found["latency"]
    >>> round(curve.share, 2), round(curve.tolerance[5.0], 2), [round(point.factor, 2) for point in curve.points]
    (0.57, 1.09, [0.0, 2.0])
    """
    for percent in percents:
        finite("percents", percent, above=0)
    for cost in costs:
        if cost not in COSTS:
            raise refuse("costs", cost, f"choose of {', '.join(COSTS)}")
    base = answered(question, where, Scale(), "parameters")
    study = _Study(question, where, tuple(percents), bool(base.derivatives), pieces)
    calls = [(cost,) for cost in dict.fromkeys(costs)]
    studies = spread(partial(_curve, study), calls, workers=workers, executor=executor, label="sensitivity")
    measured = machine if machine is not None else place(where).machine
    curves = [
        replace(_with_values(curve, base), bounds=_bounds(measured, base.model, curve.cost))
        for curve, _ in studies
        if curve is not None
    ]
    slopes = () if base.gradient is None else base.gradient.links()
    tries = [(link.name, step) for link in slopes[:_LINKS_TRIED] for step in (_STEP, -_STEP)]
    again = partial(_with_link, question, where)
    times = spread(again, tries, workers=workers, executor=executor, label="links") if tries else []
    changes = iter(_slope(seconds, base.seconds, step) for (_, step), seconds in zip(tries, times, strict=True))
    links = tuple(LinkShare(*link, next(changes, None), next(changes, None)) for link in slopes)
    return CostSensitivity(
        base.title, base.where, base.model, base.ends.size, base.seconds,
        tuple(sorted(curves, key=lambda curve: -curve.share)), base.derivatives,
        _uncertainty(curves), 1 + len(tries) + sum(count for _, count in studies), base.notes,
        links, () if base.gradient is None else base.gradient.hosts(),
    )  # fmt: skip


def _with_link(question: CostQuestion, where: Where | Place, name: str, step: float) -> float:
    """Return the time where the time of a byte on a link is so much more."""
    return answered(question, where, Scale(links=((name, 1 / (1 + step)),)), None).seconds


def _slope(seconds: float, now: float, step: float) -> float:
    """Return the slope to a time near by, 0 where the two differ by rounding."""
    return (seconds - now) / step if abs(seconds - now) > _ROUNDING * now else 0.0


def _with_values(curve: CostCurve, base: SimulationResult) -> CostCurve:
    names = _PARAMETERS[curve.cost]
    return replace(curve, values={name: value for name, value in base.parameters.items() if name in names and value})
