"""Tables of calls beside plain messages: their parameters, and predicted times. Main entry: `calls_table`."""

from collections.abc import Sequence

from rich.text import Text

from commmodel.machine import Machine, Parameter
from commmodel.machine.call_costs import NUMBERS
from commmodel.predict import CallPrediction
from commmodel.report.kit.cells import parameter_cell
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right, text
from commmodel.units import format_interval, format_quantity, format_ratio, format_size

_NOTE = (
    "T = α + n β + s δ + s (s + 1) κ for n bytes and s steps, which are entries of a queue, or further partitions, "
    "threads or ranks. Scatter: of a time around that; ~: over 15 % in the mean, so that predict interpolates what was "
    "measured."
)


def _words(conditions: dict[str, str]) -> str:
    return ", ".join(conditions.values()) or "–"


def calls_table(machine: Machine) -> Table | None:
    """Return the parameters of all such calls of a machine; None where it has none."""
    if not machine.calls:
        return None

    def cell(parameter: Parameter | None, unit: str = "s") -> Cell:
        return Cell("–") if parameter is None else parameter_cell(parameter, unit)

    rows = tuple(
        (
            *map(Cell, (cost.kernel, cost.call, cost.path, _words(cost.conditions))),
            cell(cost.alpha), cell(cost.beta, "s/B"), cell(cost.step), cell(cost.crosstalk),
            Cell(f"{'~' * (cost.times is not None)}{format_ratio(cost.scatter)}"),
        )
        for cost in machine.calls
    )  # fmt: skip
    columns = (*left("kernel", "call", "path", "with"), *right("α", "β", "δ", "κ", "scatter"))
    return Table("one-sided operations and other calls", columns, rows, (_NOTE,), grouped=True)


def predicted_calls_table(predictions: Sequence[CallPrediction]) -> Table:
    """Return the predicted times."""
    kernel = predictions[0].kernel
    name = NUMBERS[kernel][0] if kernel in NUMBERS else ""
    rows = [
        (
            predicted.call,
            predicted.path,
            _words(predicted.conditions),
            format_size(predicted.message_size),
            format_interval(predicted.time.seconds, predicted.time.low, predicted.time.high, "s"),
            *((str(predicted.number),) if name else ()),
            *(() if predicted.rate is None else (f"{format_quantity(predicted.rate, '1/s')}",)),
            predicted.model,
        )
        for predicted in predictions
    ]
    numbers = right(*filter(None, [name, "rate" * (predictions[0].rate is not None)]))
    columns = (*left("call", "path", "with"), *right("size", "time"), *numbers, *left("by"))
    return Table(kernel, columns, plain_rows(rows))


def call_lines(predictions: Sequence[CallPrediction]) -> list[Text]:
    """Return a line for each thing that lies beyond what was measured."""
    return [text(f"{line}.") for line in dict.fromkeys(line for part in predictions for line in part.extrapolates)]
