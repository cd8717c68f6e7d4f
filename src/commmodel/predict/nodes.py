"""Costs of a collective's messages where processes share nodes: each by its path, and a node's messages by its rate.

A message to a process of the same node costs what the machine's path within a node says, any other what the path
between nodes says. What leaves or enters a node in the same round shares the node's rate R_N, where the machine has
one: of j processes at once, a message of m bytes keeps its ends busy for at least j m / R_N. Main entry:
`schedule_costs`.
"""

import numpy as np
from numpy.typing import NDArray

from commmodel.collectives.schedule import Schedule
from commmodel.machine import Machine
from commmodel.machine.rates import node_rate
from commmodel.predict.costs import Costs, End, Floats, Integers, message_costs

__all__ = ["node_remarks", "schedule_costs", "within_path"]


def within_path(machine: Machine) -> str | None:
    """Return the machine's path within a node, the longer one of two; None where it has none."""
    paths = {*machine.paths, *(table.path for table in machine.plogp)}
    return next((path for path in ("same-node", "same-socket") if path in paths), None)


def node_remarks(machine: Machine) -> tuple[str, ...]:
    """Return what a prediction on nodes leaves out, for lack of measurements."""
    remarks = []
    if within_path(machine) is None:
        remarks.append(
            "messages within a node are taken to cost what they cost between nodes: measure on one node, too"
        )
    if all(rate is None or not rate.is_limiting for rate in map(node_rate, machine.segments)):
        remarks.append(
            "what a node moves at most is not known: its processes are taken not to disturb each other (pairs)"
        )
    return tuple(remarks)


def schedule_costs(
    machine: Machine, model: str, schedule: Schedule, per_node: int | None, path: str | None = None, end: End = "value"
) -> Costs:
    """Return the costs of a schedule's messages.

    Parameters
    ----------
    machine, model, end
        As of `commmodel.predict.costs.message_costs`.
    schedule : Schedule
    per_node : int or None
        Processes of each node, with consecutive ranks; None: all messages take the same path.
    path : str, optional
        That all messages take, whatever the nodes.
    """
    if per_node is None or path is not None:
        return message_costs(machine, model, path, end)(schedule.size)
    nodes = schedule.sender // per_node, schedule.receiver // per_node
    is_within = nodes[0] == nodes[1]
    columns = np.empty((4, schedule.size.size))
    for chosen, where in ((is_within, within_path(machine)), (~is_within, None)):
        if chosen.any():
            columns[:, chosen] = message_costs(machine, model, where, end)(schedule.size[chosen])
    costs = Costs(*columns)
    return costs if model == "logp" else _with_node_rate(machine, costs, schedule, nodes, ~is_within)


def _with_node_rate(
    machine: Machine, costs: Costs, schedule: Schedule, nodes: tuple[Integers, Integers], crosses: NDArray[np.bool_]
) -> Costs:
    """Return the costs with what messages between nodes wait for those of other processes of their nodes."""
    sizes, place = np.unique(schedule.size[crosses], return_inverse=True)
    byte_times = np.array([_byte_time(machine, size) for size in sizes.tolist()])
    if not byte_times.any():
        return costs
    rounds, sender, receiver = schedule.round[crosses], schedule.sender[crosses], schedule.receiver[crosses]
    leaving, entering = (_at_once(rounds, node[crosses], sender, receiver) for node in nodes)
    least = (sizes * byte_times)[place] * np.maximum(leaving, entering)
    more = np.zeros(schedule.size.size)
    more[crosses] = np.maximum(least - costs.gap[crosses], 0.0)
    return costs._replace(gap=costs.gap + more, transit=costs.transit + more)


def _byte_time(machine: Machine, size: int) -> float:
    """Return 1/R_N of the path between nodes for messages of a size; 0 where it is not known or does not limit."""
    segment = machine.segment(size)
    rate = segment.one_way.R_N if segment.one_way is not None else node_rate(segment)
    return 1 / rate.value if rate is not None and rate.is_limiting and rate.value > 0 else 0.0


def _at_once(rounds: Integers, node: Integers, sender: Integers, receiver: Integers) -> Floats:
    """Return how many processes of a message's node send, or receive, at once in its round.

    A process sends one message after the other, and receives one after the other: so it is the smaller number of
    senders and receivers.
    """
    _, group = np.unique(rounds * (int(node.max()) + 1) + node, return_inverse=True)
    counts = []
    for rank in (sender, receiver):
        ranks = int(rank.max()) + 1
        keys = np.sort(group * ranks + rank)  # numpy's unique hashes, which is slower
        counts.append(np.bincount(keys[np.append(True, keys[1:] != keys[:-1])] // ranks)[group])
    least: Floats = np.minimum(*counts).astype(np.float64)
    return least
