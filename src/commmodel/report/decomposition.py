"""Chosen messages and bursts for the terminal. Main entries: `choices_table`, `choice_lines`."""

import math
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from commmodel.optimize import LIMITS, Choice, Sensitivity
from commmodel.report.terminal import new_table, text
from commmodel.units import format_ratio, format_size, format_time

__all__ = ["choice_lines", "choices_table"]


def choices_table(volume: int, computation: float, choices: Sequence[Choice]) -> Table:
    """Return what was chosen for each pattern and implementation, the fastest first."""
    columns = [("implementation", "left"), ("message", "right"), ("burst", "right"), ("messages", "right")]
    columns += [(name, "right") for name in ("time", "blocking", "hidden")]
    has_patterns = len({choice.pattern for choice in choices}) > 1 or choices[0].pattern != "point-to-point"
    if has_patterns:
        columns.insert(0, ("pattern", "left"))
    table = new_table(f"{format_size(volume)}, {format_time(computation)} of computation", columns)
    for place, choice in enumerate(choices):
        cells: list[str] = [choice.pattern] if has_patterns else []
        cells += [choice.implementation, format_size(choice.message_size), str(choice.burst), str(choice.messages)]
        cells += [format_time(choice.seconds), format_time(choice.blocking_seconds)]
        cells.append(format_ratio(choice.hidden_fraction))
        table.add_row(*(text(cell, "" if place else "bold") for cell in cells))
    return table


def choice_lines(choice: Choice, sensitivity: Sensitivity | None = None, loss: float | None = None) -> Iterator[Text]:
    """Yield what the fastest choice means, a line each: limits, alternatives, how much depends on the estimate.

    `loss` is what a wrong diagnosis costs, a share of the blocking time.
    """
    several = f", bursts of {choice.burst}" if choice.burst > 1 else ", one at a time"
    one = "one message" if choice.messages == 1 else f"messages of {format_size(choice.message_size)}{several}"
    yield text(
        f"Fastest: {one}, {choice.implementation}: {format_time(choice.seconds)} instead of "
        f"{format_time(choice.blocking_seconds)} in blocking messages. It hides {format_ratio(choice.hidden_fraction)} "
        "of the communication."
    )
    for name in choice.limits:
        yield text(f"Limited by {name}: {LIMITS[name]}.")
    if choice.alternatives:
        others = ", ".join(f"{format_size(size)} x {burst}" for size, burst in choice.alternatives)
        yield text(f"As fast within the parameters' intervals (message x burst): {others}.")
    if sensitivity is not None:
        yield text(_sensitivity_words(sensitivity))
    if loss is not None:
        yield text(
            f"Taken for a problem of the other kind, it takes {format_ratio(max(loss, 0.0))} of the blocking time more."
        )


def _sensitivity_words(found: Sensitivity) -> str:
    ends = []
    for factor, how in ((found.overestimate, "over"), (found.underestimate, "under")):
        if factor < math.inf:
            ends.append(f"{how}estimated more than {factor:.2f} times")
    if not ends:
        return "The choice stays the same however wrong the computation's estimate is."
    return f"The choice changes where the computation is {' or '.join(ends)}."
