"""Overview of growth: a model of everything that was measured at three scales or more. Main entry: `overview`."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from commmodel.choices import Statistic
from commmodel.errors import InputError
from commmodel.results import Launch, Measurements, library_name
from commmodel.results.configurations import Collective, Function, Memory
from commmodel.scaling.bootstrap import Ensemble
from commmodel.scaling.checking import CheckResult, check
from commmodel.scaling.expectations import Expectations
from commmodel.scaling.fitting import FEWEST_SCALES, Model
from commmodel.scaling.growth import ONE, Growth
from commmodel.scaling.samples import STATISTIC, reduce
from commmodel.scaling.search_space import default_space, deviation_limits
from commmodel.scaling.series import Fixed, Key, Series, growth_parameters, series_over
from commmodel.scaling.settings import model
from commmodel.scaling.surface import SurfaceModel, fit_surface
from commmodel.scaling.verdict import Judgement
from commmodel.values import Value

__all__ = ["ModelledSeries", "Overview", "Surface", "modelled_series", "overview", "surfaces"]

_FEWEST_VALUES = 3  # of each parameter of a surface
_FEWEST_POINTS = 9
_STEPS = 400
"""Scales that are looked at for where a model passes a limit."""


@dataclass(frozen=True)
class ModelledSeries(Value):
    """A series and what is known of its growth.

    Attributes
    ----------
    series : Series
    library : str
        The MPI library where there are several, else empty.
    ensemble : Ensemble
        The best model, and those that the data cannot tell from it.
    judgement : Judgement, optional
        Where something is expected.
    statistic : str
        What the repetitions were reduced to.
    """

    series: Series
    library: str
    ensemble: Ensemble
    judgement: Judgement | None = None
    statistic: Statistic = STATISTIC

    @property
    def name(self) -> str:
        """The function, and the MPI library where there are several."""
        return f"{self.series.name}, {self.library}" if self.library else self.series.name

    def limits(self) -> Iterator[tuple[Growth, Model]]:
        """Yield the slowest and the fastest growth that the expectation permits, from the first value on.

        What does not grow in the model of the values does not grow in theirs either, so that one which grows as it
        should lies between them.
        """
        if self.judgement is None:
            return
        expectation, best = self.judgement.expectation, self.ensemble.best
        scales, values = np.asarray(self.ensemble.scales, float), self.ensemble.values
        constant = best.constant if best.coefficient and not best.lower else 0.0
        for growth in dict.fromkeys(deviation_limits(expectation, self.judgement.deviation)):
            if growth < ONE <= expectation:  # a limit that nothing which grows can meet
                continue
            grown = growth(scales)
            first = int(np.argmax(grown > 0))
            if grown[first] > 0 and values[first] > constant:
                yield growth, Model(constant, float((values[first] - constant) / grown[first]), growth)

    def passed(self, farthest: float) -> tuple[Growth, float] | None:
        """Return the limit that the model of a mismatch passes for good, and the scale from which on, up to a farthest.

        None where it passes none.
        """
        if self.judgement is None or self.judgement.verdict != "mismatch":
            return None
        at = np.geomspace(self.ensemble.scales[0], farthest, _STEPS)
        values = self.ensemble.best(at)
        for growth, limit in self.limits():
            is_fast = growth >= self.judgement.expectation
            within = np.flatnonzero(values <= limit(at) if is_fast else values >= limit(at))
            place = int(within[-1]) + 1 if within.size else 0
            if place < at.size:
                return growth, float(at[place])
        return None


@dataclass(frozen=True)
class Surface:
    """A function's model over two parameters, and how far it is from the measurements.

    Attributes
    ----------
    name, metric, unit : str
        As of a `Series`.
    parameters : (str, str)
        Such as ``("p", "n")``.
    fixed : tuple of (str, float or str)
        What was the same everywhere.
    points : int
        How many were measured.
    model : SurfaceModel
    error : float
        Mean of abs(model / measured − 1).
    """

    name: str
    metric: str
    unit: str
    parameters: tuple[str, str]
    fixed: Fixed
    points: int
    model: SurfaceModel
    error: float


@dataclass(frozen=True)
class Overview(Value):
    """All series, the checks of each MPI library where something is expected, and the surfaces.

    Surfaces are of one MPI library: where there are several they are left out.
    """

    rows: tuple[ModelledSeries, ...]
    checks: tuple[tuple[str, CheckResult], ...] = ()
    """MPI library, empty where there is one alone, and what its check says."""
    surfaces: tuple[Surface, ...] = ()


def _by_library(measurements: Measurements) -> Iterator[tuple[str, Measurements]]:
    """Yield what can grow of each MPI library, with its name where there are several."""
    launches: dict[str, list[Launch]] = defaultdict(list)
    for launch in measurements.launches:
        records = tuple(
            record for record in launch.records if isinstance(record.configuration, Collective | Memory | Function)
        )
        if records:
            launches[library_name(launch.header)].append(Launch(launch.header, records))
    for name, members in launches.items():
        yield (name if len(launches) > 1 else ""), Measurements(tuple(members))


def _all_series(measurements: Measurements) -> Iterator[Series]:
    parameters = dict.fromkeys(growth_parameters(measurements))
    for over in parameters:
        for series in series_over(measurements, over):
            if len(series.scales) >= FEWEST_SCALES and series.scales[0] >= 1:
                yield series


def modelled_series(
    checked: CheckResult, library: str = "", statistic: Statistic = STATISTIC
) -> tuple[ModelledSeries, ...]:
    """Return the series of a check, which was made with this statistic."""
    return tuple(
        ModelledSeries(row.series, library, row.judgement.ensemble, row.judgement, statistic) for row in checked.rows
    )


def overview(measurements: Measurements, expectations: Expectations | None = None) -> Overview:
    """Return the models of everything that was measured at three scales or more.

    Parameters
    ----------
    measurements : Measurements
        Launches of different MPI libraries are kept apart.
    expectations : Expectations, optional
        Of `commmodel.scaling.load`.

    Raises
    ------
    InputError
        Where something is expected, and nothing of that was measured.
    """
    rows: list[ModelledSeries] = []
    checks: list[tuple[str, CheckResult]] = []
    for library, members in _by_library(measurements):
        judged: set[Key] = set()
        if expectations is not None:
            checked = check(members, expectations)
            checks.append((library, checked))
            rows += modelled_series(checked, library)
            judged = {row.series.key for row in checked.rows}
        for series in _all_series(members):
            if series.key not in judged:
                rows.append(ModelledSeries(series, library, model(series)))
    if expectations is not None and not rows:
        raise InputError(
            "expectations: nothing that can grow was measured: measure collective or memory --process-counts 2:all"
        )
    is_one_library = len({row.library for row in rows}) < 2
    return Overview(tuple(rows), tuple(checks), tuple(surfaces(measurements)) if is_one_library else ())


def _parameter_pairs(measurements: Measurements) -> Iterator[tuple[str, str]]:
    """Yield the pairs of parameters that records have."""
    yield "p", "n"
    names = dict.fromkeys(
        tuple(name for name, _ in record.configuration.parameters)
        for record in measurements.records
        if isinstance(record.configuration, Function)
    )
    yield from dict.fromkeys((pair[0], pair[1]) for pair in names if len(pair) == 2 and {*pair} != {"p", "n"})


def surfaces(measurements: Measurements) -> Iterator[Surface]:
    """Yield the model of each function that was measured at three values or more of both of two parameters.

    Repetitions are reduced to the mean of their lower half. Values of a parameter below 1 are left out, and what takes
    no time.

    >>> from commmodel.results import Header, Launch, Library, Record
    >>> records = tuple(
    ...     Record(Function("solve", "time", (("p", p), ("n", n))), "s", (1.0 + 2.0 * n / p,))
    ...     for p in (1.0, 2.0, 4.0, 8.0) for n in (1.0, 10.0, 100.0)
    ... )
    >>> launch = Launch(Header("commmodel-results", 1, "", (), Library("MPI"), (), ()), records)
    >>> [(surface.name, surface.parameters, surface.points) for surface in surfaces(Measurements((launch,)))]
    [('solve', ('p', 'n'), 12)]
    """
    for first, second in _parameter_pairs(measurements):
        measured: dict[tuple[str, str, str, Fixed], list[tuple[float, float, float]]] = defaultdict(list)
        for series in series_over(measurements, first):
            rest = dict(series.fixed)
            at = rest.pop(second, None)
            if isinstance(at, float) and at >= 1:
                values = reduce(series.samples).tolist()
                measured[series.name, series.metric, series.unit, tuple(rest.items())] += [
                    (scale, at, value)
                    for scale, value in zip(series.scales, values, strict=True)
                    if scale >= 1 and value > 0
                ]
        for (name, metric, unit, fixed), points in measured.items():
            x, y, values = np.array(points).reshape(-1, 3).T
            if len(points) >= _FEWEST_POINTS and min(len(np.unique(places)) for places in (x, y)) >= _FEWEST_VALUES:
                fitted = fit_surface(x, y, values, default_space(), default_space())
                error = float(np.abs(fitted(x, y) / values - 1).mean())
                yield Surface(name, metric, unit, (first, second), fixed, len(points), fitted, error)
