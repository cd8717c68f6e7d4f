"""Collectives on as many nodes as nobody has measured, as a machine predicts them. Main entry: `at_scale`."""

from typing import NamedTuple

from commmodel import predict
from commmodel.collectives import Nodes, Problem
from commmodel.errors import CommModelError
from commmodel.machine import Machine
from commmodel.predict import CollectivePrediction
from commmodel.predict.nodes import path_remark
from commmodel.report.kit.tables import Table, left, plain_rows, right
from commmodel.units import format_interval, format_size

_NODES = (4, 16, 64, 256)
_CALLS = (("barrier", 0), ("bcast", 1 << 13), ("allreduce", 8), ("allreduce", 1 << 20), ("alltoall", 1 << 10))
_MOST_PROCESSES = 1024
"""For which messages are looked at one by one; measured times go further."""
_NOTE = (
    "By the algorithm that the library picks; m: from measured times of the operation, else from messages, of at most "
    f"{_MOST_PROCESSES} processes. Other operations, sizes and nodes: commmodel predict."
)


class AtScale(NamedTuple):
    """A table of predicted collectives, None where there are none, and why."""

    table: Table | None
    missing: str = ""


def at_scale(machine: Machine) -> AtScale:
    """Predict common collectives on 4 to 256 nodes with as many processes on each as were measured, or one."""
    if path_remark(machine, _NODES[0], 1):
        return AtScale(None, "messages were measured within a node alone, which say nothing of several")
    per_node = max((times.per_node or 1 for times in machine.collectives), default=1)
    measured = {times.operation for times in machine.collectives}
    rows, missing = [], ""
    for operation, size in _CALLS:
        cells = []
        for nodes in _NODES:
            problem = Problem(nodes * per_node, size, nodes=Nodes(per_node))
            try:
                is_small = operation in measured or problem.processes <= _MOST_PROCESSES
                cells.append(_cell(predict.collective(machine, operation, problem)) if is_small else "–")
            except CommModelError as error:
                missing = missing or str(error)
                cells.append("–")
        if any(cell != "–" for cell in cells):
            rows.append((operation if operation == "barrier" else f"{operation}, {format_size(size)}", *cells))
    if not rows:
        return AtScale(None, missing)
    on_each = "1 process" if per_node == 1 else f"{per_node} processes"
    columns = (*left("operation"), *right(*(f"{nodes} nodes" for nodes in _NODES)))
    return AtScale(Table(f"collectives with {on_each} on a node", columns, plain_rows(rows), (_NOTE,)))


def _cell(predicted: CollectivePrediction) -> str:
    time = predicted.time
    mark = " m" if predicted.evaluation == "measured" else ""
    return f"{format_interval(time.seconds, time.low, time.high, 's')}{mark}"
