"""A prediction for the terminal: a small table and a sentence. Main entries: `prediction_table`, `prediction_words`."""

import math

from rich import box
from rich.table import Table
from rich.text import Text

from commmodel.predict import Prediction, Seconds
from commmodel.units import format_interval, format_rate

__all__ = ["prediction_table", "prediction_words"]


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
        row = (f"{name} (used)" if used else name, *_cells(time, predicted))
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
    predicted: Prediction, processes: int, filling: int | None, *, leaves_out_links: bool = False
) -> Text:
    """Return what the prediction means, in a sentence or two; `filling` processes fill the way out of the node.

    `leaves_out_links`: the machine has a link contention, but the bytes on the busiest link are not known.
    """
    where = f"{predicted.protocol}, {predicted.path}"
    if processes == 1:
        said = f"One process ({where}) sends {format_rate(predicted.aggregate_rate)}."
    else:
        said = f"{processes} processes ({where}) send {format_rate(predicted.aggregate_rate)} together"
        wrong = math.isfinite(predicted.ratio) and f"{predicted.ratio:.1f}" != "1.0"
        times = f"{predicted.ratio:.1f} times as long" if wrong else "as long"
        said += f"; it takes {times} as a ping-pong of one pair promises."
    if filling is not None:
        said += f" {filling} fill the way out of the node." if filling > 1 else " One fills the way out of the node."
    if leaves_out_links:
        said += " Link contention is left out: say how much the busiest link carries with --link-volume."
    return Text(said)
