"""Predictions for arrays of sizes and processes. Main entries: `Predictions`, `CollectivePredictions`."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from commmodel.frames import Tabular, bars, columns, draw_over, extent, of_axes
from commmodel.machine import Machine
from commmodel.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Places = NDArray[np.int64]


class Times(Tabular, Value, Struct, frozen=True):
    """Times with their intervals, arrays of one shape; an end is NaN where no parameter has an interval."""

    seconds: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"Times({extent(self.seconds, 's')})"

    def to_dict(self) -> dict[str, list[float | None]]:
        """Return ``seconds``, ``low`` and ``high``, the last None where there is no interval."""
        return columns({name: getattr(self, name) for name in self.__struct_fields__})


class ByModel(Tabular):
    """A prediction by several models."""

    __slots__ = ()

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each model: its name, whether `time` is by it, seconds, and the interval."""
        prediction: Any = self
        rows = [(name, name == prediction.model, *astuple(time)) for name, time in prediction.models.items()]
        names = ("model", "is_used", "seconds", "low", "high")
        return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the time by each model, a bar with its interval."""
        prediction: Any = self
        return bars(axes, [*prediction.models], [*prediction.models.values()])


class Predictions(Tabular, Value, Struct, frozen=True):
    """Predicted times of messages or halo exchanges; all arrays have the shape to which the arguments broadcast."""

    arguments: dict[str, NDArray[Any]]
    """The arguments, broadcast, as ``message_size`` and ``processes``; of a halo exchange ``neighbours``, or
    ``neighbours`` with the name of each path, and ``link_volume``."""
    time: Times
    model: NDArray[np.str_]
    """Name of the model behind each time, as in `Prediction`."""
    postal: Times
    """The one-pair ping-pong time."""
    aggregate_rate: NDArray[np.float64]
    """Bytes per second that the processes of the node move together."""
    ratio: NDArray[np.float64]
    """`time` over `postal`."""
    protocol: NDArray[np.str_]
    path: NDArray[np.str_]
    is_bound: NDArray[np.bool_]
    """Where a time is a bound, as in `Prediction`."""
    is_extrapolated: NDArray[np.bool_]
    """Where a time lies beyond what was measured."""
    extrapolates: tuple[str, ...] = ()
    """How far, a line for each range of sizes and processes."""
    remarks: tuple[str, ...] = ()
    """As in `Prediction`; that a larger message takes less is to be seen in the times."""
    warnings: tuple[str, ...] = ()
    """What was wrong while the machine was measured."""

    def __repr__(self) -> str:
        return f"Predictions({extent(self.time.seconds, 's')})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each time.

        Returns
        -------
        dict of str to list
            ``message_size`` and ``processes``, or what else was given; ``seconds``, ``low`` and ``high`` of the
            interval (None where there is none), ``postal`` in seconds, ``model``, ``protocol``, ``path``,
            ``aggregate_rate`` in B/s, ``ratio``, ``is_bound`` and ``is_extrapolated``.

        Examples
        --------
        >>> from commmodel import machine, predict
        >>> rows = predict.send(machine.load("blue-waters"), [1024, 65536], processes=4).to_dict()
        >>> rows["message_size"], rows["model"]
        ([1024, 65536], ['extended', 'extended'])
        """
        names = ("model", "protocol", "path", "aggregate_rate", "ratio", "is_bound", "is_extrapolated")
        rest = {"postal": self.postal.seconds, **{name: getattr(self, name) for name in names}}
        return columns(self.arguments) | self.time.to_dict() | columns(rest)

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw times with their intervals over the argument that varies most, a curve for each value of the others.

        >>> from matplotlib.figure import Figure
        >>> from commmodel import machine, predict
        >>> answer = predict.send(machine.load("blue-waters"), [1024, 65536], processes=[[1], [16]])
        >>> len(answer.plot(Figure().subplots()).lines)
        2
        """
        return draw_over(axes, self.arguments, self.time)


class CollectivePredictions(Tabular, Value, Struct, frozen=True):
    """Predicted times of a collective operation; all arrays have the shape to which the arguments broadcast."""

    arguments: dict[str, NDArray[Any]]
    """``message_size`` and ``processes``, broadcast."""
    time: Times
    model: NDArray[np.str_]
    algorithm: NDArray[np.str_]
    chosen_by: NDArray[np.str_]
    """As in `CollectivePrediction`, as the rest."""
    evaluation: NDArray[np.str_]
    closed_form: NDArray[np.float64]
    """NaN where there is none."""
    is_extrapolated: NDArray[np.bool_]
    """Where a time lies beyond what was measured."""
    extrapolates: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"CollectivePredictions({extent(self.time.seconds, 's')})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each time: the arguments, ``seconds``, ``low``, ``high``, and the other arrays."""
        names = ("model", "algorithm", "chosen_by", "evaluation", "closed_form", "is_extrapolated")
        return columns(self.arguments) | self.time.to_dict() | columns({name: getattr(self, name) for name in names})

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw times with their intervals over the argument that varies most, a curve for each value of the other."""
        return draw_over(axes, self.arguments, self.time)


def collected(arguments: dict[str, NDArray[Any]], predictions: Sequence[Any]) -> CollectivePredictions:
    """Return predictions of a collective, in the order of flat arguments, as arrays of their shape."""
    shape = arguments["message_size"].shape

    def column(name: str, kind: type) -> NDArray[Any]:
        values = [getattr(prediction, name) for prediction in predictions]
        if kind is float:
            values = [math.nan if value is None else value for value in values]
        return np.array(values, dtype=kind).reshape(shape)

    def lines(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line for prediction in predictions for line in getattr(prediction, name)))

    ends = np.array(
        [[math.nan if end is None else end for end in astuple(prediction.time)] for prediction in predictions]
    )
    return CollectivePredictions(
        arguments,
        Times(*(end.reshape(shape) for end in ends.reshape(-1, 3).T)),
        column("model", str),
        column("algorithm", str),
        column("chosen_by", str),
        column("evaluation", str),
        column("closed_form", float),
        np.array([bool(prediction.extrapolates) for prediction in predictions], dtype=bool).reshape(shape),
        lines("extrapolates"),
        lines("remarks"),
        lines("warnings"),
    )


def alike(machine: Machine, message_size: Places, processes: Places) -> Iterator[Places]:
    """Yield the places of pairs of a message and processes for which one model of one segment speaks.

    What was measured, and which of it was disturbed, is the same for them, too.
    """
    sizes, counts = {0.0}, {1, 0 if machine.origin is None else machine.origin.processes // 2}
    for segment in machine.segments:
        sizes.add(math.inf if segment.limit is None else segment.limit.value)
        sizes.update(rate.upto for rate in segment.message_rate if rate.upto is not None)
        for entry in segment.measured:
            counts.add(entry.pairs)
            sizes.update(entry.sizes, () if entry.times is None else (entry.times.sizes[0], entry.times.sizes[-1]))
            for table in (entry.contradicting, entry.disturbed):
                sizes.update(() if table is None else (factor * size for size in table.sizes for factor in (0.5, 1, 2)))
    cell = np.zeros(message_size.size, np.int64)
    for values, edges in ((message_size, np.array(sorted(sizes))), (processes, np.array(sorted(counts)))):
        of_values = np.searchsorted(edges, values) + np.searchsorted(edges, values, side="right")
        cell = cell * (2 * edges.size + 1) + of_values
    for number in np.flatnonzero(np.bincount(cell)):
        yield np.flatnonzero(cell == number)


def gathered(
    arguments: dict[str, NDArray[Any]], cells: Sequence[tuple[Places, Any]], warnings: Sequence[str]
) -> Predictions:
    """Return the predictions of cells, each a `Prediction` of arrays, in arrays of the shape of what was given."""
    shape = arguments["message_size"].shape
    number = np.zeros(math.prod(shape), np.int64)
    for row, (places, _) in enumerate(cells):
        number[places] = row

    def column(values: Sequence[Any]) -> NDArray[Any]:
        array = np.full(math.prod(shape), math.nan)
        for (places, _), value in zip(cells, values, strict=True):
            array[places] = math.nan if value is None else value
        return array.reshape(shape)

    def word(name: str) -> NDArray[Any]:
        kind = bool if name.startswith("is_") else str
        return np.array([getattr(cell, name) for _, cell in cells] or [kind()])[number].reshape(shape)

    def times(name: str) -> Times:
        seconds = [getattr(cell, name) for _, cell in cells]
        return Times(*(column([getattr(time, end) for time in seconds]) for end in Times.__struct_fields__))

    def lines(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line for _, cell in cells for line in getattr(cell, name)))

    are_extrapolated = np.array([bool(cell.extrapolates) for _, cell in cells] or [False])
    return Predictions(
        arguments,
        times("time"),
        word("model"),
        times("postal"),
        column([cell.aggregate_rate for _, cell in cells]),
        column([cell.ratio for _, cell in cells]),
        word("protocol"),
        word("path"),
        word("is_bound"),
        is_extrapolated=are_extrapolated[number].reshape(shape),
        extrapolates=lines("extrapolates"),
        remarks=lines("remarks"),
        warnings=tuple(warnings),
    )
