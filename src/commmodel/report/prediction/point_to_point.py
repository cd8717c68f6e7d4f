"""Table and sentences on a predicted message or halo exchange. Main entry: `prediction_table`."""

import math

from rich.text import Text

from commmodel.predict import Prediction, Seconds
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right, text
from commmodel.units import format_interval, format_rate


def _time(time: Seconds) -> str:
    return format_interval(time.seconds, time.low, time.high, "s")


def prediction_table(predicted: Prediction) -> Table:
    """Return the time by each model, the applied one first, the ping-pong's promise last.

    Below the one that was used stand its terms that are of no path: queue search and link contention.
    """
    used = f"{predicted.model} (used{', a bound' * predicted.is_bound})"
    rows = [tuple(Cell(word, style="strong") for word in (used, *_cells(predicted.models[predicted.model], predicted)))]
    terms = {"queue search": predicted.queue_search, "link contention": predicted.link_contention}
    further = {f"  of which {term}": seconds for term, seconds in terms.items() if seconds is not None}
    further |= {name: time for name, time in predicted.models.items() if name != predicted.model}
    rows += plain_rows((name, *_cells(time, predicted)) for name, time in further.items())
    rows += plain_rows([("ping-pong of one pair", _time(predicted.postal), "1.0")])
    return Table("", (*left("model"), *right("time", "over ping-pong")), tuple(rows))


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
    """Return sentences on the meaning of the prediction; `filling` processes fill the node's link.

    `leaves_out_links`: the machine has a link contention, but the bytes on the busiest link are not known. `launches`:
    how many the machine was fitted to, where that is known.
    """
    where = f"{predicted.protocol}, {predicted.path}"
    rate = format_rate(predicted.aggregate_rate)
    if processes == 1:
        words = f"One process ({where}) sends {rate}."
    else:
        words = f"{processes} processes ({where}) send {'at least ' * predicted.is_bound}{rate} together"
        wrong = math.isfinite(predicted.ratio) and f"{predicted.ratio:.1f}" != "1.0"
        times = f"{predicted.ratio:.1f} times " if wrong else ""
        words += f"; it takes {'at most ' * predicted.is_bound}{times}the one-pair ping-pong time."
    if filling is not None:
        words += f" {filling} processes saturate" if filling > 1 else " One process saturates"
        words += " the node's NIC."
    if leaves_out_links:
        words += " Link contention is left out: say how much the busiest link carries with `link_volume`."
    if launches is not None and predicted.time.low is not None:
        over = "of one launch: others differ by more" if launches == 1 else f"over {launches} launches"
        words += f" The interval is {over}."
    return text(words)


def prediction_lines(predicted: Prediction) -> list[Text]:
    """Return lines on extrapolation, errors of the model, and warnings of the machine."""
    lines = (*predicted.extrapolates, *predicted.remarks)
    return [text(f"{line[:1].upper() if line[1:2] != ' ' else line[:1]}{line[1:]}.") for line in lines]
