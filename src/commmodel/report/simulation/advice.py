"""What to pay for, as a table and a sentence. Main entries: `advice_table`, `advice_lines`, `advice_as_json`."""

from typing import Any

from commmodel.advice import Advice, AdvisedOption
from commmodel.report.kit.tables import Cell, Style, Table, left, right
from commmodel.report.simulation.critical_path import path_as_json
from commmodel.report.simulation.sensitivity import verdicts
from commmodel.units import format_ratio, format_time

_NOTHING = 0.005
"""Share of the time below which an option gains nothing to speak of."""
_WIDE = 0.5
"""Width of a gain's interval, as a share of the gain, from which on it is told."""
_MOST_UNSURE = 3


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
        low, high = map(_gain_words, option.gain_interval(advice.seconds))
        interval = f"[{low}, {high}]" if low != high else ""
        rows.append((Cell(option.words, style=style), Cell(option.kind), Cell(format_time(option.seconds)),
                     Cell(_gain_words(gain), interval, style=style)))  # fmt: skip
    note = (
        "Each row is a simulation with that alone. Of a call site, all of its computation and the bytes of its "
        "messages: no change to it gains more."
    )
    return Table(title, (*left("with", "of the"), *right("time", "gains")), tuple(rows), (note,))


def _gain_words(gain: float) -> str:
    return format_ratio(gain) if gain >= _NOTHING else "nothing"


def advice_lines(advice: Advice) -> list[str]:
    """Return sentences: what to pay for first, and what not at all, as far as intervals of parameters tell."""
    worth = [option for option in advice.options if option.gain(advice.seconds) >= _NOTHING]
    unsure = [option for option in advice.options if option not in worth and _may_gain(advice, option)]
    if not worth and not unsure:
        return ["Nothing gains anything: neither a better machine nor another placement nor any call site."]
    lines = [_first_line(advice, worth[0])] if worth else []
    for kind in ("machine", "placement", "program"):
        best = next((option for option in worth[1:] if option.kind == kind and kind != worth[0].kind), None)
        if best is not None:
            lines.append(f"Of the {kind}: {best.words}, {_certain_gain(advice, best)}.")
    useless = [
        option.words
        for option in advice.options
        if option not in worth and option not in unsure and option.kind == "machine"
    ]
    if useless:
        lines.append(f"Do not pay for {', '.join(useless)}: {'they gain' if len(useless) > 1 else 'it gains'} nothing.")
    lines += [
        f"{option.words[:1].upper()}{option.words[1:]} may gain up to "
        f"{format_ratio(option.gain_interval(advice.seconds)[1])}: the machine's parameter is not known well."
        for option in unsure[:_MOST_UNSURE]
    ]
    return [*lines, *verdicts(advice.sensitivity)[:1]]


def _may_gain(advice: Advice, option: AdvisedOption) -> bool:
    return option.gain_interval(advice.seconds)[1] >= _NOTHING


def _first_line(advice: Advice, first: AdvisedOption) -> str:
    """Return what gains most, or what may, where another option may gain more by its interval."""
    low, _ = first.gain_interval(advice.seconds)
    rivals = [
        option.words
        for option in advice.options
        if option is not first and option.gain_interval(advice.seconds)[1] > max(low, option.gain(advice.seconds))
    ]
    gain = _certain_gain(advice, first)
    if not rivals and low >= _NOTHING:
        return f"Most is gained with {first.words}: {gain}."
    more = f"; {' or '.join(rivals)} may gain more" if rivals else ""
    return f"Most may be gained with {first.words}: {gain}{more}."


def _range_words(advice: Advice, option: AdvisedOption) -> str:
    low, high = map(_gain_words, option.gain_interval(advice.seconds))
    return f"between {low} and {high}"


def _certain_gain(advice: Advice, option: AdvisedOption) -> str:
    """Return a gain, and from what to what it is, where that differs much, or nothing is among it."""
    gain = option.gain(advice.seconds)
    low, high = option.gain_interval(advice.seconds)
    is_wide = low < _NOTHING or high - low > _WIDE * gain
    return f"{format_ratio(gain)}, uncertain {_range_words(advice, option)}" if is_wide else format_ratio(gain)


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
