"""How functions grow with two parameters at once, such as processes and message size. Main entry: `surfaces`."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from commmodel.report.kit.cells import Cell
from commmodel.report.measurements.other_kernels import PartTable
from commmodel.results import Function, Measurements
from commmodel.scaling import ONE, SurfaceModel, default_space, fit_surface, reduce, series_over
from commmodel.units import format_quantity, format_ratio

__all__ = ["Surface", "surface_parts", "surface_words", "surfaces"]

_FEWEST_VALUES = 3  # of each parameter
_FEWEST_POINTS = 9


@dataclass(frozen=True)
class Surface:
    """A function's model over two parameters, and how far it is from the measurements.

    Attributes
    ----------
    name, metric, unit : str
        As of a `commmodel.scaling.Series`.
    parameters : (str, str)
        Such as ``("p", "n")``.
    fixed : tuple of str
        What was the same everywhere, in words.
    points : int
        How many were measured.
    model : SurfaceModel
    error : float
        Mean of |model / measured − 1|.
    """

    name: str
    metric: str
    unit: str
    parameters: tuple[str, str]
    fixed: tuple[str, ...]
    points: int
    model: SurfaceModel
    error: float


def _parameters(measurements: Measurements) -> Iterator[tuple[str, str]]:
    """Yield the pairs of parameters that records have."""
    yield "p", "n"
    names = dict.fromkeys(
        tuple(name for name, _ in record.configuration.parameters)
        for record in measurements.records
        if isinstance(record.configuration, Function)
    )
    yield from dict.fromkeys((one[0], one[1]) for one in names if len(one) == 2 and one != ("p", "n"))


def surfaces(measurements: Measurements) -> Iterator[Surface]:
    """Yield the model of each function that was measured at three values or more of both of two parameters.

    Repetitions are reduced to their first quartile; values of a parameter below 1 are left out, and what takes no time.

    >>> from commmodel.results import Header, Launch, Library, Record
    >>> records = tuple(
    ...     Record(Function("solve", "time", (("p", p), ("n", n))), "s", (1.0 + 2.0 * n / p,))
    ...     for p in (1.0, 2.0, 4.0, 8.0) for n in (1.0, 10.0, 100.0)
    ... )
    >>> launch = Launch(Header("commmodel-results", 1, "", (), Library("MPI"), (), ()), records)
    >>> [(one.name, one.parameters, one.points) for one in surfaces(Measurements((launch,)))]
    [('solve', ('p', 'n'), 12)]
    """
    for first, second in _parameters(measurements):
        found: dict[tuple[str, str, str, tuple[str, ...]], list[tuple[float, float, float]]] = defaultdict(list)
        for series in series_over(measurements, first):
            others = dict(series.fixed)
            at = others.pop(second, None)
            if isinstance(at, float) and at >= 1:
                words = tuple(one if isinstance(one, str) else f"{name} = {one:g}" for name, one in others.items())
                values = reduce(series.samples).tolist()
                found[series.name, series.metric, series.unit, words] += [
                    (scale, at, value)
                    for scale, value in zip(series.scales, values, strict=True)
                    if scale >= 1 and value > 0
                ]
        for (name, metric, unit, words), points in found.items():
            x, y, values = np.array(points).reshape(-1, 3).T
            if len(points) >= _FEWEST_POINTS and min(len(np.unique(one)) for one in (x, y)) >= _FEWEST_VALUES:
                model = fit_surface(x, y, values, default_space(), default_space())
                error = float(np.abs(model(x, y) / values - 1).mean())
                yield Surface(name, metric, unit, (first, second), words, len(points), model, error)


def surface_words(model: SurfaceModel, unit: str, first: str, second: str) -> str:
    """Return a model's formula with its numbers in units that people read.

    >>> from commmodel.scaling import Growth
    >>> surface_words(SurfaceModel(2e-6, ((3e-9, Growth(log=1), Growth(power=1)),)), "s", "p", "n")
    '2.00 us + 3.00 ns × log p × n'
    """

    def quantity(value: float) -> str:
        return f"{value:.4g}" if unit == "1" else format_quantity(value, unit)

    words = [f"−{quantity(-model.constant)}" if model.constant < 0 else quantity(model.constant)]
    for coefficient, *growths in model.parts:
        named = zip(growths, (first, second), strict=True)
        words.append(" × ".join([quantity(coefficient), *(one.text(over) for one, over in named if one != ONE)]))
    return " + ".join(words)


def surface_parts(found: tuple[Surface, ...]) -> list[PartTable]:
    """Return a table for each metric and pair of parameters."""
    groups: dict[tuple[str, tuple[str, str]], list[Surface]] = defaultdict(list)
    for one in found:
        groups[one.metric, one.parameters].append(one)
    hint = (
        "One model over both parameters. Error: mean of |model / measured − 1|; where a library changes its algorithm "
        "or protocol with the size, no formula of this kind is near everywhere."
    )
    return [
        PartTable(
            f"{metric} over {first} and {second}",
            ("function", "parameters", "points", "model", "error"),
            tuple(
                tuple(
                    map(
                        Cell,
                        (
                            one.name,
                            ", ".join(one.fixed) or "–",
                            str(one.points),
                            surface_words(one.model, one.unit, first, second),
                            format_ratio(one.error),
                        ),
                    )
                )
                for one in own
            ),
            hint,
        )
        for (metric, (first, second)), own in groups.items()
    ]
