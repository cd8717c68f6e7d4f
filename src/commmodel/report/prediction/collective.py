"""Tables and sentences on a predicted collective. Main entries: `collective_table`, `algorithms_table`."""

from collections.abc import Sequence

from rich.text import Text

from commmodel.predict import CollectivePrediction, Seconds
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right, text
from commmodel.units import format_interval, format_size, format_time


def _time(time: Seconds) -> str:
    return format_interval(time.seconds, time.low, time.high, "s")


def collective_table(predicted: CollectivePrediction) -> Table:
    """Return the time by each model, the applied one first, and the closed form's."""
    alternatives = (name for name in predicted.models if name != predicted.model)
    rows = [
        (
            Cell(f"{predicted.model} (used)", style="strong"),
            Cell(_time(predicted.models[predicted.model]), style="strong"),
        ),
        *((Cell(name), Cell(_time(predicted.models[name]))) for name in alternatives),
    ]
    if predicted.closed_form is not None and predicted.evaluation == "schedule":
        rows.append((Cell(f"closed form of {predicted.model}"), Cell(format_time(predicted.closed_form))))
    return Table("", (*left("model"), *right("time")), tuple(rows))


def _problem_words(predicted: CollectivePrediction) -> str:
    size = "" if predicted.operation == "barrier" else f" of {format_size(predicted.message_size)}"
    return f"{predicted.operation}{size} on {predicted.processes} processes"


def collective_words(predicted: CollectivePrediction) -> Text:
    """Return sentences on the prediction: algorithm, selector, messages, quality of the closed form."""
    pieces = f" in pieces of {format_size(predicted.segment_size)}" if predicted.segment_size else ""
    by = {"given": "", "fastest": ", the fastest"}.get(predicted.chosen_by, f", as {predicted.chosen_by} picks")
    words = f"{_problem_words(predicted)}: {predicted.algorithm}{pieces}{by}"
    if predicted.evaluation == "closed-form":
        words += f". Too many messages for a schedule: by the closed form, {predicted.exactness}."
    elif predicted.evaluation == "measured":
        words += ", from measured times."
    else:
        words += f", {predicted.messages} message{'s' * (predicted.messages != 1)}."
        words += f" Closed form: {predicted.exactness}." if predicted.exactness else ""
    return text(words[:1].upper() + words[1:])


def algorithms_table(ranked: Sequence[CollectivePrediction]) -> Table:
    """Return the algorithms of an operation, the fastest first."""
    first = ranked[0]
    rows = []
    for place, predicted in enumerate(ranked):
        over = f"{predicted.time.seconds / first.time.seconds:.2f}" if first.time.seconds else "–"
        messages = predicted.evaluation.replace("-", " ") if predicted.messages is None else str(predicted.messages)
        words = (predicted.algorithm, _time(predicted.time), over, messages)
        rows.append(tuple(Cell(word, style="" if place else "strong") for word in words))
    columns = (*left("algorithm"), *right("time", "over fastest", "messages"))
    return Table(f"{_problem_words(first)}, {first.model}", columns, tuple(rows))


def remark_lines(predictions: Sequence[CollectivePrediction]) -> list[Text]:
    """Return the remarks on the predictions, each once."""
    remarks = dict.fromkeys(
        remark for predicted in predictions for remark in (*predicted.extrapolates, *predicted.remarks)
    )
    return [text(f"{remark[:1].upper()}{remark[1:]}.", "dim") for remark in remarks]


def choice_table(choices: Sequence[tuple[str, int, int, str]]) -> Table:
    """Return the chosen algorithms, a row per range of sizes; choices are (operation, size, p, algorithm)."""
    rows = []
    before: tuple[str, int, str] | None = None
    for operation, size, processes, algorithm in choices:
        name = operation if before is None or before[0] != operation else ""
        if before != (operation, processes, algorithm):
            rows.append((name, str(processes), format_size(size), algorithm))
        before = (operation, processes, algorithm)
    columns = (*left("operation"), *right("p", "from size"), *left("algorithm"))
    return Table("Fastest predicted", columns, plain_rows(rows), grouped=True)


def measured_choice_table(choices: Sequence[tuple[str, int, int, str, float, float, float, str]]) -> Table:
    """Return the algorithms that win over the library's own choice, a row per cell, with what they gain."""
    rows = []
    before = ""
    for operation, size, processes, algorithm, gain, low, high, basis in choices:
        if algorithm:
            name = operation if operation != before else ""
            words = f"{gain:.2f} [{low:.2f}, {high:.2f}]"
            rows.append((name, str(processes), format_size(size), algorithm, words, basis))
            before = operation
    columns = (*left("operation"), *right("p", "size"), *left("algorithm"), *right("times faster"), *left("basis"))
    return Table("Rules that win", columns, plain_rows(rows), grouped=True)
