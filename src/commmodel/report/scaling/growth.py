"""How what was measured grows, with its models and whether it is as expected. Main entries: `scaled`, `scaling_parts`.

Collective operations, memory, and what other programs measured, at three scales or more. As Table 2 of Shudler and
others (2015).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType

from commmodel.errors import InputError
from commmodel.report.kit.cells import Cell
from commmodel.report.kit.terminal import text
from commmodel.report.measurements.environment import library_name
from commmodel.report.measurements.other_kernels import PartTable
from commmodel.report.prediction.comparison import part_table
from commmodel.report.scaling.checks import NO_CLASS, checked_lines, parameter_words
from commmodel.report.scaling.surfaces import Surface, surface_parts, surfaces
from commmodel.results import Collective, Function, Launch, Measurements, Memory
from commmodel.scaling import (
    Checked,
    Ensemble,
    Expectations,
    Judgement,
    Model,
    Series,
    check,
    default_space,
    ensemble,
    series_over,
)
from commmodel.scaling.fitting import FEWEST_SCALES
from commmodel.units import format_quantity

__all__ = [
    "Scaled",
    "Scaling",
    "model_words",
    "of_checked",
    "scaled",
    "scaling_lines",
    "scaling_parts",
]

_NO_VERDICT = "–"
_MOST_OTHERS = 4


@dataclass(frozen=True)
class Scaled:
    """One series and what is known of its growth.

    Attributes
    ----------
    series : Series
    machine : str
        The MPI library where there are several, else empty.
    found : Ensemble
        The best model, and those that the data cannot tell from it.
    judgement : Judgement, optional
        Where something is expected.
    statistic : str
        What the repetitions were reduced to.
    """

    series: Series
    machine: str
    found: Ensemble
    judgement: Judgement | None = None
    statistic: str = "first quartile"

    @property
    def name(self) -> str:
        """The function, and the MPI library where there are several."""
        return f"{self.series.name}, {self.machine}" if self.machine else self.series.name


@dataclass(frozen=True)
class Scaling:
    """All series, and what is to be said of them: broken rules, what to measure next."""

    rows: tuple[Scaled, ...]
    said: tuple[str, ...] = ()
    surfaces: tuple[Surface, ...] = ()
    """Models over two parameters; of one MPI library, where there are several they are left out."""


def _of_machines(measurements: Measurements) -> Iterator[tuple[str, Measurements]]:
    """Yield what can grow of each MPI library, with its name where there are several."""
    launches: dict[str, list[Launch]] = defaultdict(list)
    for launch in measurements.launches:
        records = tuple(
            record for record in launch.records if isinstance(record.configuration, Collective | Memory | Function)
        )
        if records:
            launches[library_name(launch.header)].append(Launch(launch.header, records))
    for name, own in launches.items():
        yield (name if len(launches) > 1 else ""), Measurements(tuple(own))


def _all_series(measurements: Measurements) -> Iterator[Series]:
    parameters = dict.fromkeys(
        name
        for record in measurements.records
        for name in (
            (name for name, _ in record.configuration.parameters)
            if isinstance(record.configuration, Function)
            else ("p",)
        )
    )
    for over in parameters:
        for series in series_over(measurements, over):
            if len(series.scales) >= FEWEST_SCALES and series.scales[0] >= 1:
                yield series


def of_checked(checked: Checked, machine: str = "", statistic: str = "first quartile") -> Scaling:
    """Return what `commmodel.scaling.check` found with this statistic, to be shown."""
    rows = tuple(Scaled(row.series, machine, row.judgement.ensemble, row.judgement, statistic) for row in checked.rows)
    heading = f"{machine}: " if machine else ""
    return Scaling(rows, tuple(f"{heading}{line.plain}" for line in checked_lines(checked)))


def _key(series: Series) -> tuple[object, ...]:
    return series.name, series.metric, series.over, series.fixed


def scaled(measurements: Measurements, expectations: Expectations | None = None) -> Scaling:
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
    rows: list[Scaled] = []
    said: list[str] = []
    for machine, own in _of_machines(measurements):
        known = Scaling(()) if expectations is None else of_checked(check(own, expectations), machine)
        judged = {_key(row.series) for row in known.rows}
        rows += known.rows
        said += known.said
        for series in _all_series(own):
            if _key(series) not in judged:
                found = ensemble(series.scales, series.samples, default_space())
                rows.append(Scaled(series, machine, found))
    if expectations is not None and not rows:
        raise InputError("expectations: nothing that can grow was measured: measure collective or memory --procs 2:all")
    alone = len({row.machine for row in rows}) < 2
    return Scaling(tuple(rows), tuple(said), tuple(surfaces(measurements)) if alone else ())


def _quantity(value: float, unit: str) -> str:
    if unit == "1":
        return f"{value:.4g}"
    # Sizes that a model says are not whole numbers of bytes.
    return format_quantity(value, unit if unit == "s" else "B")


def model_words(model: Model, unit: str, over: str) -> str:
    """Return a model's formula with its numbers in units that people read.

    >>> from commmodel.scaling import Growth
    >>> model_words(Model(2e-6, 3e-9, Growth(power=1)), "s", "p"), model_words(Model(7.0, 0.0, Growth()), "1", "p")
    ('2.00 us + 3.00 ns × p', '7')
    """
    if not model.coefficient:
        return _quantity(model.constant, unit)
    sign = "+" if model.constant >= 0 else "−"
    grows = f"{_quantity(model.coefficient, unit)} × {model.term.text(over)}"
    constant = _quantity(abs(model.constant), unit)
    return f"{constant} {sign} {grows}" if sign == "+" else f"{grows} − {constant}"


def _cells(row: Scaled, *, with_machine: bool, with_verdict: bool) -> tuple[Cell, ...]:
    series, best = row.series, row.found.best
    others = [growth.text(series.over) for growth in row.found.shares if growth != best.growth]
    if len(others) > _MOST_OTHERS:
        others[_MOST_OTHERS:] = [f"{len(others) - _MOST_OTHERS} more"]
    judged = row.judgement
    fits = row.found.fits
    r2 = f"{best.adjusted_r2:.3f}" if fits and best.coefficient else "–"
    cells = [Cell(series.name), Cell(parameter_words(series.fixed))]
    cells += [Cell(row.machine)] if with_machine else []
    cells += [Cell(model_words(best, series.unit, series.over) if fits else NO_CLASS), Cell(r2)]
    cells += [Cell((", ".join(others) if fits else "") or "–")]
    if with_verdict and judged is None:
        cells += [Cell(_NO_VERDICT)] * 3
    elif judged is not None:
        cells += [
            Cell(judged.expectation.text(series.over)),
            Cell(judged.divergence.text(series.over) if fits else "–"),
            Cell(judged.verdict),
        ]  # fmt: skip
    return tuple(cells)


def scaling_lines(found: Scaling) -> list[RenderableType]:
    """Return the tables for the terminal, and what is to be said."""
    parts, further = scaling_parts(found.rows), surface_parts(found.surfaces)
    hints = [part.hint for part in (*parts[-1:], *further[-1:])]
    return [
        *map(part_table, (*parts, *further)),
        *(text(f"{hint}\n", "dim") for hint in hints),
        *(text(said) for said in found.said),
    ]


def scaling_parts(rows: Sequence[Scaled]) -> list[PartTable]:
    """Return a table of models for each metric and parameter, with verdicts where something is expected."""
    groups: dict[tuple[str, str], list[Scaled]] = defaultdict(list)
    for row in rows:
        groups[row.series.metric, row.series.over].append(row)
    parts = []
    for (metric, over), own in groups.items():
        with_machine = any(row.machine for row in own)
        with_verdict = any(row.judgement for row in own)
        columns = ["function", "parameters", *(["MPI library"] if with_machine else []), "model", "R²", "or"]
        hint = "R²: adjusted; it has no value for a constant. Or: further classes that the data cannot tell apart. "
        hint += f"{NO_CLASS.capitalize()}: the best is beside the values by more than their scatter explains."
        if with_verdict:
            columns += ["expected", "δ", "verdict"]
            hint += " δ: by how much it grows faster than expected."
        lines = tuple(_cells(row, with_machine=with_machine, with_verdict=with_verdict) for row in own)
        parts.append(PartTable(f"{metric} over {over}", tuple(columns), lines, hint))
    return parts
