"""Structs as HTML in notebooks: the tables of the terminal, a platform as a drawing. Main entry: `html`."""

from collections.abc import Iterator
from functools import singledispatch
from html import escape
from io import StringIO
from itertools import chain, islice
from typing import Any

from rich.console import Console, RenderableType

from commmodel.machine import Machine
from commmodel.optimize import Choice
from commmodel.predict import CollectivePrediction, Prediction
from commmodel.record import Profile
from commmodel.report.kit.tables import Table, plain_rows, right, text
from commmodel.report.overlap.choices import choice_lines, choices_table
from commmodel.report.prediction.collective import collective_table, collective_words
from commmodel.report.prediction.point_to_point import prediction_lines, prediction_table
from commmodel.report.recording.tables import profile_tables
from commmodel.report.scaling.checks import check_lines, check_tables
from commmodel.report.tables import machine_table, measurements_table
from commmodel.results import Measurements
from commmodel.scaling import CheckResult, Judgement
from commmodel.simulate import SimulationResult
from commmodel.simulate.platform import Platform
from commmodel.simulate.timeline import Timeline

_MOST_ROWS, _MOST_HOSTS = 20, 48
_CELL = 5
_PRE = '<pre style="line-height:1.2;white-space:pre;overflow-x:auto">{code}</pre>'


def html(value: object) -> str | None:
    """Return a struct as HTML; None where there is no more to show than its repr.

    >>> from commmodel.simulate.platform import flat
    >>> html(flat(4, 125e6, 15e-6))[:4], html(flat)
    ('<svg', None)
    """
    if isinstance(value, Platform):
        return _drawing(value) + _pre([text(repr(value))])
    if isinstance(value, Timeline):
        from commmodel.report.simulation.gantt_page import render  # jinja2

        page = render(value.name or "timeline", [value]) if value.seconds > 0 else escape(repr(value))
        return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:30em;border:0"></iframe>'
    blocks = [*_blocks(value)]
    return _pre(blocks) if blocks else None


def _pre(blocks: list[RenderableType]) -> str:
    console = Console(record=True, file=StringIO(), width=100, force_jupyter=False)  # the notebook shows it itself
    console.print(*blocks, sep="\n")
    return console.export_html(inline_styles=True, code_format=_PRE)


@singledispatch
def _blocks(value: Any) -> Iterator[RenderableType]:
    """Yield what the terminal shows of a struct: by default the columns of its `to_dict`, if it has such."""
    columns = value.to_dict() if hasattr(value, "to_dict") else {}
    if columns and all(isinstance(column, list | tuple) for column in columns.values()):
        count = len(next(iter(columns.values())))
        rows = [[_words(word) for word in row] for row in islice(zip(*columns.values(), strict=False), _MOST_ROWS)]
        notes = (f"{count - _MOST_ROWS} more rows",) if count > _MOST_ROWS else ()
        yield Table(repr(value), right(*columns), plain_rows(rows), notes)


def _words(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


@_blocks.register
def _(value: SimulationResult) -> Iterator[RenderableType]:
    yield from _blocks.dispatch(object)(value)
    lines = value.deadlock_lines() if value.blocked else []
    yield from map(text, [*lines, *(f"finding: {finding}" for finding in value.findings)])


@_blocks.register
def _(value: Machine) -> Iterator[RenderableType]:
    yield machine_table(value)


@_blocks.register
def _(value: Measurements) -> Iterator[RenderableType]:
    yield measurements_table(value)


@_blocks.register
def _(value: Prediction) -> Iterator[RenderableType]:
    yield prediction_table(value)
    yield from prediction_lines(value)


@_blocks.register
def _(value: CollectivePrediction) -> Iterator[RenderableType]:
    yield collective_words(value)
    yield collective_table(value)


@_blocks.register
def _(value: Choice) -> Iterator[RenderableType]:
    yield choices_table((), (), [value]).untitled()
    yield from choice_lines(value)


@_blocks.register
def _(value: Profile) -> Iterator[RenderableType]:
    yield from profile_tables(value)


@_blocks.register
def _(value: CheckResult) -> Iterator[RenderableType]:
    yield from check_tables(value)
    yield from check_lines(value)


@_blocks.register
def _(value: Judgement) -> Iterator[RenderableType]:
    rows = [(str(growth), f"{share:.1%}") for growth, share in value.ensemble.shares.items()]
    title = f"{value.verdict}: expected {value.expectation}, best model {value.ensemble.best.text('p')}"
    yield Table(title, right("growth", "probability"), plain_rows(rows), tuple(filter(None, [value.advice])))


def _drawing(platform: Platform) -> str:
    """Return the links between each two hosts, at most `_MOST_HOSTS`, as a matrix: the longer the route, the darker."""
    hosts = range(0, platform.hosts, -(-platform.hosts // _MOST_HOSTS))
    route = platform.routing().route
    lengths = [[len(route(source, other)) if source != other else 0 for other in hosts] for source in hosts]
    longest = max(map(max, lengths)) or 1
    cells = "".join(
        f'<path fill="#1f5fa8" fill-opacity="{length / longest:.2f}" d="{_squares(lengths, length)}">'
        f"<title>{length} links</title></path>"
        for length in sorted({*chain(*lengths)})
    )
    words, side = escape(f"links between the hosts of {platform.name}: at most {longest}"), len(lengths)
    width = 2 * _CELL * side
    return f'<svg role="img" aria-label="{words}" width="{width}" viewBox="0 0 {side} {side}">{cells}</svg>'


def _squares(lengths: list[list[int]], length: int) -> str:
    places = ((row, column) for row, line in enumerate(lengths) for column, other in enumerate(line) if other == length)
    return "".join(f"M{column} {row}h1v1h-1z" for row, column in places)
