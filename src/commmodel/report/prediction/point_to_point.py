"""A prediction for the terminal: a small table and a sentence. Main entries: `prediction_table`, `prediction_words`."""

import math

from rich import box
from rich.table import Table
from rich.text import Text

from commmodel.predict import Prediction, Seconds
from commmodel.units import format_interval, format_rate

__all__ = ["prediction_lines", "prediction_table", "prediction_words"]


def _time(time: Seconds) -> str:
    return format_interval(time.seconds, time.low, time.high, "s")


def prediction_table(predicted: Prediction) -> Table:
    """Return the time by each model, the one that was used first, and what a ping-pong promises last.

    Below the one that was used stand its terms that are of no path: queue search and link contention.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("model", "time", "over ping-pong"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    names = [predicted.model, *(name for name in predicted.models if name != predicted.model)]
    for name in names:
        time = predicted.models[name]
        used = name == predicted.model
        row = (f"{name} (used{', a bound' * predicted.is_bound})" if used else name, *_cells(time, predicted))
        table.add_row(*(Text(cell, "bold" if used else "") for cell in row))
        terms = {"queue search": predicted.queue_search, "link contention": predicted.link_contention}
        for term, seconds in terms.items() if used else ():
            if seconds is not None:
                table.add_row(*map(Text, (f"  of which {term}", *_cells(seconds, predicted))))
    table.add_row(*map(Text, ("ping-pong of one pair", _time(predicted.postal), "1.0")))
    return table


def _cells(time: Seconds, predicted: Prediction) -> tuple[str, str]:
    ratio = time.seconds / predicted.postal.seconds if predicted.postal.seconds else math.nan
    return _time(time), _ratio(ratio)


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if math.isfinite(ratio) else "–"


def prediction_words(
    predicted: Prediction,
    processes: int,
    filling: int | None,
    *,
    leaves_out_links: bool = False,
    launches: int | None = None,
) -> Text:
    """Return what the prediction means, in a sentence or two; `filling` processes fill the way out of the node.

    `leaves_out_links`: the machine has a link contention, but the bytes on the busiest link are not known. `launches`:
    how many the machine was fitted to, where that is known.
    """
    where = f"{predicted.protocol}, {predicted.path}"
    rate = format_rate(predicted.aggregate_rate)
    if processes == 1:
        said = f"One process ({where}) sends {rate}."
    else:
        said = f"{processes} processes ({where}) send {'at least ' * predicted.is_bound}{rate} together"
        wrong = math.isfinite(predicted.ratio) and f"{predicted.ratio:.1f}" != "1.0"
        times = f"{predicted.ratio:.1f} times as long" if wrong else "as long"
        said += f"; it takes {'at most ' * predicted.is_bound}{times} as a ping-pong of one pair promises."
    if filling is not None:
        said += f" {filling} fill the way out of the node." if filling > 1 else " One fills the way out of the node."
    if leaves_out_links:
        said += " Link contention is left out: say how much the busiest link carries with --link-volume."
    if launches is not None and predicted.time.low is not None:
        over = "of one launch: others differ by more" if launches == 1 else f"over {launches} launches"
        said += f" The interval is {over}."
    return Text(said)


def prediction_lines(predicted: Prediction) -> list[Text]:
    """Return what the prediction extrapolates, how far its model is from the times, what was wrong with the machine."""
    told = (*predicted.extrapolates, *predicted.remarks)
    return [Text(f"{line[:1].upper() if line[1:2] != ' ' else line[:1]}{line[1:]}.") for line in told]
