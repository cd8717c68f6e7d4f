"""How to send arrays and objects: the ways of one, and of examples. Main entries: `advice_blocks`, `examples`."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import RenderableType

from commmodel.errors import MissingParameterError
from commmodel.machine import Machine
from commmodel.optimize import SendAdvice, how_to_send
from commmodel.predict import Seconds
from commmodel.report.kit.tables import Cell, Style, Table, left, plain_rows, right, text
from commmodel.units import format_interval, format_ratio, format_time

_WAYS = {
    "type": "its MPI datatype", "pack": "MPI_Pack", "numpy": "a copy by numpy", "core": "a compiled copy",
    "pickle": "send and recv", "pickle5": "send and recv of mpi4py.util.pkl5", "buffer": "Send and Recv of a buffer",
    "chunks": "Send and Recv, part by part",
}  # fmt: skip
_NOTE = "Certain: the probability that the best way takes no longer than the usual one."
_ITEMS = 10_000
_SURE = 0.99


def _interval(time: Seconds) -> str:
    return format_interval(time.seconds, time.low, time.high, "s")


def _certainty(advice: SendAdvice) -> str:
    sure = advice.certainty > _SURE
    return f"over {format_ratio(_SURE)}" if sure else format_ratio(advice.certainty)


def advice_table(advice: SendAdvice) -> Table:
    """Return the ways to send an array or an object, the fastest first."""
    best = advice.time_of(advice.best).seconds
    rows = []
    for row in advice.ways:
        times = f"{row.time.seconds / best:.3g}" if best else "1"
        style: Style = "strong" if row.way == advice.best else ""
        rows.append(tuple(Cell(word, style=style) for word in (row.way, _WAYS[row.way], _interval(row.time), times)))
    columns = (*left("way", "by"), *right("time", "times the best"))
    return Table(f"{advice.content}, {advice.path}", columns, tuple(rows))


def gain_words(advice: SendAdvice) -> str:
    """Return what the best way gains, and how certain that is."""
    if advice.best == advice.usual:
        return f"Best: {advice.best}, the usual way; no other that a program can take as it is is clearly faster."
    before, after = (format_time(advice.time_of(way).seconds) for way in (advice.usual, advice.best))
    return (
        f"Best: {advice.best}, {after} instead of {before} by {advice.usual}, {advice.gain:.3g} times as fast "
        f"({_certainty(advice)} certain)."
    )


def advice_blocks(advice: SendAdvice) -> Iterator[RenderableType]:
    """Yield what the terminal shows of an advice: the ways, the gain, remarks and the lines to write."""
    yield advice_table(advice)
    yield text(gain_words(advice))
    for remark in advice.remarks:
        yield text(f"{remark[:1].upper()}{remark[1:]}.")
    yield text(f"\n{advice.code}")


def _shape_of(*shape: int) -> Any:
    """Return what lies as an array of float64 of this shape, without its memory: it is never read."""
    strides = [8 * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return np.lib.stride_tricks.as_strided(np.zeros(1), shape, strides)


def examples(machine: Machine) -> dict[str, SendAdvice]:
    """Return advice on a column, the face of a cube, a dictionary and a gigabyte, as far as the machine has times."""
    things: dict[str, Any] = {
        "a column of a 4096 × 4096 matrix": _shape_of(4096, 4096)[:, 0],
        "a face of a 128³ cube": _shape_of(128, 128, 128)[:, :, 0],
        f"a dictionary of {_ITEMS} numbers": {f"item{number:06}": float(number) for number in range(_ITEMS)},
        "a gigabyte in one piece": _shape_of(1 << 27),
    }
    advice = {}
    for name, thing in things.items() if machine.sending else ():
        try:
            advice[name] = how_to_send(thing, machine)
        except MissingParameterError:
            continue
    return advice


def examples_table(advice: dict[str, SendAdvice]) -> Table:
    """Return a row for each example."""
    rows = [
        (name, row.best, _interval(row.time_of(row.best)), row.usual, _interval(row.time_of(row.usual)),
         f"{row.gain:.3g} ×", "–" if row.best == row.usual else _certainty(row))
        for name, row in advice.items()
    ]  # fmt: skip
    columns = (
        *left("to send", "best way"), *right("time"), *left("usual way"), *right("time", "gain", "certain"),
    )  # fmt: skip
    remarks = (f"Of {name}: {remark}." for name, row in advice.items() for remark in row.remarks)
    return Table("how to send it", columns, plain_rows(rows), (_NOTE, *remarks))
