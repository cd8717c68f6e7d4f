"""What to pay for, as a table and a sentence. Main entries: `advice_table`, `advice_lines`, `advice_as_json`."""

from typing import Any

from commmodel.advice import Advice
from commmodel.report.kit.tables import Cell, Style, Table, left, right
from commmodel.report.simulation.critical_path import path_as_json
from commmodel.report.simulation.sensitivity import verdicts
from commmodel.units import format_ratio, format_time

_NOTHING = 0.005
"""Share of the time below which an option gains nothing to speak of."""


def advice_table(advice: Advice, title: str = "") -> Table:
    """Return the time with each option, the one that gains most first.

    Parameters
    ----------
    advice : Advice
    title : str
    """
    rows = []
    for option in advice.options:
        gain = option.gain(advice.seconds)
        style: Style = "strong" if gain >= _NOTHING else "quiet"
        words = format_ratio(gain) if gain >= _NOTHING else "nothing"
        rows.append((Cell(option.words, style=style), Cell(option.kind), Cell(format_time(option.seconds)),
                     Cell(words, style=style)))  # fmt: skip
    note = (
        "Each row is a simulation with that alone. Of a call site, all of its computation and the bytes of its "
        "messages: no change to it gains more."
    )
    return Table(title, (*left("with", "of the"), *right("time", "gains")), tuple(rows), (note,))


def advice_lines(advice: Advice) -> list[str]:
    """Return sentences: what to pay for first, and what not at all."""
    worth = [option for option in advice.options if option.gain(advice.seconds) >= _NOTHING]
    if not worth:
        return ["Nothing gains anything: neither a better machine nor another placement nor any call site."]
    first, *rest = worth
    lines = [f"Most is gained with {first.words}: {format_ratio(first.gain(advice.seconds))}."]
    for kind in ("machine", "placement", "program"):
        best = next((option for option in rest if option.kind == kind and kind != first.kind), None)
        if best is not None:
            lines.append(f"Of the {kind}: {best.words}, {format_ratio(best.gain(advice.seconds))}.")
    useless = [option.words for option in advice.options if option not in worth and option.kind == "machine"]
    if useless:
        lines.append(f"Do not pay for {', '.join(useless)}: {'they gain' if len(useless) > 1 else 'it gains'} nothing.")
    return [*lines, *verdicts(advice.sensitivity)[:1]]


def advice_as_json(advice: Advice) -> dict[str, Any]:
    """Return what ``commmodel simulate --advice --json`` prints."""
    columns = advice.to_dict()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {
        **advice.sensitivity.as_json(),
        "options": rows,
        "critical_path": path_as_json(advice.path, advice.links, advice.sites),
        "placement": None if advice.mapping is None else advice.mapping.as_json(),
        "notes": [*advice.notes],
    }
