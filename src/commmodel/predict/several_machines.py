"""The same question to several machines. Main entry: `side_by_side`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commmodel.errors import InputError
from commmodel.frames import Tabular, axes_of, bars, draw_over, of_axes
from commmodel.machine import Machine
from commmodel.predict.point_to_point import send
from commmodel.signatures import checked
from commmodel.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SideBySide(Tabular, Value, Struct, frozen=True):
    """Predictions for several machines."""

    predictions: dict[str, Any]
    """Name of a machine -> what the question gives for it."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the rows of all predictions, each after its ``machine``."""
        tables = {name: prediction.to_dict() for name, prediction in self.predictions.items()}
        names = dict.fromkeys(column for table in tables.values() for column in table)
        rows = {name: len(next(iter(table.values()))) for name, table in tables.items()}
        merged: dict[str, list[Any]] = {"machine": [name for name in tables for _ in range(rows[name])]}
        for column in names:
            merged[column] = [
                value for name, table in tables.items() for value in table.get(column, [None] * rows[name])
            ]
        return merged

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the times of all machines: curves, or of single numbers bars."""
        if not all(hasattr(prediction, "arguments") for prediction in self.predictions.values()):
            return bars(axes, [*self.predictions], [prediction.time for prediction in self.predictions.values()])
        for name, prediction in self.predictions.items():
            axes = draw_over(axes, prediction.arguments, prediction.time, name)
        return axes_of(axes)


@checked
def side_by_side(
    machines: Mapping[str, Machine], *arguments: Any, by: Callable[..., Any] = send, **options: Any
) -> SideBySide:
    """Return what one question gives for several machines.

    Parameters
    ----------
    machines : mapping
        Name -> machine.
    arguments, options
        Of the question, without the machine: sizes for `send`.
    by : function
        The question: `send`, `halo` or `collective`.

    Raises
    ------
    InputError
        Where there is no machine.

    Examples
    --------
    >>> from commmodel.machine import load
    >>> machines = {name: load(name) for name in ("blue-waters", "cray-xe6-pingpong")}
    >>> side_by_side(machines, [1024, 65536]).to_frame()["machine"].tolist()
    ['blue-waters', 'blue-waters', 'cray-xe6-pingpong', 'cray-xe6-pingpong']
    """
    if not isinstance(machines, Mapping) or not machines:
        raise InputError(f"machines is {machines!r}: give a mapping from names to machines")
    return SideBySide({name: by(machine, *arguments, **options) for name, machine in machines.items()})
