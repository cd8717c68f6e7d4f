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
_MOST_OF_A_KIND = 5
_KINDS = {"machine": "Of the machine", "placement": "Of the placement", "program": "Of your lines, at most"}
_WITHOUT, _OF_A_LINK = "no time for ", "twice the bandwidth of "


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
    """Return sentences: what to pay for first, what each kind of change gains, and what not to pay for.

    They go by intervals of parameters as far as these are known.
    """
    lines = [_first_line(advice)]
    for kind, words in _KINDS.items():
        options = [option for option in advice.options if option.kind == kind]
        worth = [option for option in options if _is_worth(advice, option) and not option.words.startswith(_OF_A_LINK)]
        worth = worth[:_MOST_OF_A_KIND]
        if worth:
            gains = (f"{option.words.removeprefix(_WITHOUT)} {_gain_in_words(advice, option)}" for option in worth)
            lines.append(f"{words}: {', '.join(gains)}.")
        elif options and kind == "placement":
            lines.append("Another placement of the ranks gains nothing.")
    machine = [option for option in advice.options if option.kind == "machine" and not _is_worth(advice, option)]
    useless = [option.words for option in machine if not _may_gain(advice, option)]
    if useless:
        lines.append(f"Do not pay for {', '.join(useless)}: {'they gain' if len(useless) > 1 else 'it gains'} nothing.")
    lines += [
        f"{option.words[:1].upper()}{option.words[1:]} may gain up to "
        f"{format_ratio(option.gain_interval(advice.seconds)[1])}: the machine's parameter is not known well."
        for option in machine
        if _may_gain(advice, option)
    ][:_MOST_UNSURE]
    return [*lines, *verdicts(advice.sensitivity)[:1]]


def _is_worth(advice: Advice, option: AdvisedOption) -> bool:
    return option.gain(advice.seconds) >= _NOTHING


def _may_gain(advice: Advice, option: AdvisedOption) -> bool:
    return option.gain_interval(advice.seconds)[1] >= _NOTHING


def _first_line(advice: Advice) -> str:
    """Return what to do first, or what may be best, where another option may gain more by its interval."""
    if not any(_may_gain(advice, option) for option in advice.options):
        return "Nothing gains anything: neither a better machine nor another placement nor any call site."
    first = advice.options[0]
    if not _is_worth(advice, first):
        return "Nothing gains anything for certain, by the values of the machine's parameters."
    low, _ = first.gain_interval(advice.seconds)
    rivals = [
        option.words
        for option in advice.options[1:]
        if option.gain_interval(advice.seconds)[1] > max(low, option.gain(advice.seconds))
    ]
    if rivals or low < _NOTHING:
        more = f"; {' or '.join(rivals)} may gain more" if rivals else ""
        words = first.words if first.kind != "program" else f"work on {first.words.removeprefix(_WITHOUT)}"
        return f"Most may be gained with {words}: {_gain_in_words(advice, first)}{more}."
    gain = _gain_in_words(advice, first)
    if first.kind == "program":
        return f"Work on your own program first: {first.words.removeprefix(_WITHOUT)}, where up to {gain} is gained."
    if first.kind == "placement":
        return f"Place the ranks otherwise first ({first.words.removeprefix('ranks placed ')}): {gain} is gained."
    return f"Pay for {first.words} first: {gain} is gained."


def _gain_in_words(advice: Advice, option: AdvisedOption) -> str:
    """Return a gain, and from what to what it is, where that differs much, or nothing is among it."""
    gain = option.gain(advice.seconds)
    low, high = option.gain_interval(advice.seconds)
    is_wide = low < _NOTHING or high - low > _WIDE * gain
    return f"{format_ratio(gain)} ({_gain_words(low)} to {_gain_words(high)})" if is_wide else format_ratio(gain)


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
