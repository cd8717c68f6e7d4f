"""The prediction of a collective operation for the terminal. Main entries: `collective_table`, `algorithms_table`."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from commmodel.predict import CollectivePrediction, Seconds
from commmodel.report.kit.terminal import new_table, text
from commmodel.units import format_interval, format_size, format_time

__all__ = ["algorithms_table", "choice_table", "collective_table", "collective_words", "remark_lines"]


def _time(time: Seconds) -> str:
    return format_interval(time.seconds, time.low, time.high, "s")


def collective_table(predicted: CollectivePrediction) -> Table:
    """Return the time by each model, the one that was used first, and the closed form's."""
    table = new_table("", [("model", "left"), ("time", "right")])
    names = [predicted.model, *(name for name in predicted.models if name != predicted.model)]
    for name in names:
        used = name == predicted.model
        cells = (f"{name} (used)" if used else name, _time(predicted.models[name]))
        table.add_row(*(text(cell, "bold" if used else "") for cell in cells))
    if predicted.closed_form is not None and predicted.evaluation == "schedule":
        table.add_row(text(f"closed form of {predicted.model}"), text(format_time(predicted.closed_form)))
    return table


def _what(predicted: CollectivePrediction) -> str:
    size = "" if predicted.operation == "barrier" else f" of {format_size(predicted.message_size)}"
    return f"{predicted.operation}{size} on {predicted.processes} processes"


def collective_words(predicted: CollectivePrediction) -> Text:
    """Return how the prediction came about: the algorithm, who chose it, its messages, how good the closed form is."""
    pieces = f" in pieces of {format_size(predicted.segment_size)}" if predicted.segment_size else ""
    by = {"given": "", "fastest": ", the fastest"}.get(predicted.chosen_by, f", as {predicted.chosen_by} picks")
    said = f"{_what(predicted)}: {predicted.algorithm}{pieces}{by}"
    if predicted.evaluation == "closed-form":
        said += f". Too many messages for a schedule: by the closed form, {predicted.exactness}."
    else:
        said += f", {predicted.messages} message{'s' * (predicted.messages != 1)}."
        said += f" Closed form: {predicted.exactness}." if predicted.exactness else ""
    return text(said[:1].upper() + said[1:])


def algorithms_table(ranked: Sequence[CollectivePrediction]) -> Table:
    """Return the algorithms of an operation, the fastest first."""
    first = ranked[0]
    columns = [("algorithm", "left"), ("time", "right"), ("over fastest", "right"), ("messages", "right")]
    table = new_table(f"{_what(first)}, {first.model}", columns)
    for place, one in enumerate(ranked):
        over = f"{one.time.seconds / first.time.seconds:.2f}" if first.time.seconds else "–"
        messages = "closed form" if one.messages is None else str(one.messages)
        cells = (one.algorithm, _time(one.time), over, messages)
        table.add_row(*(text(cell, "" if place else "bold") for cell in cells))
    return table


def remark_lines(predictions: Sequence[CollectivePrediction]) -> list[Text]:
    """Return what there is to know of the predictions, each remark once."""
    remarks = dict.fromkeys(remark for one in predictions for remark in (*one.extrapolates, *one.remarks))
    return [text(f"{remark[:1].upper()}{remark[1:]}.", "dim") for remark in remarks]


def choice_table(choices: Sequence[tuple[str, int, int, str]]) -> Table:
    """Return which algorithm is chosen, a line for each range of sizes; choices are (operation, size, P, algorithm)."""
    table = new_table("Fastest predicted", [("operation", "left"), ("P", "right"), ("from size", "right"),
                                            ("algorithm", "left")])  # fmt: skip
    before: tuple[str, int, str] | None = None
    for operation, size, processes, algorithm in choices:
        if before is not None and before[:2] != (operation, processes) and before[0] != operation:
            table.add_section()
        if before != (operation, processes, algorithm):
            table.add_row(*map(text, (operation, str(processes), format_size(size), algorithm)))
        before = (operation, processes, algorithm)
    return table
