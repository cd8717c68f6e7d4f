"""Costs of a collective's messages where processes share nodes: each by its path, and a node's messages by its rate.

A message to a process of the same node costs what the machine's path within a node says, any other what the path
between nodes says. What leaves or enters a node shares its rate R_N, where the machine has one: a message of m bytes
alone keeps a port of each of its nodes busy for 1 / M_k + m / R_N, with the message rate M_k of k processes on a node.
Messages that pass a port at once share it alike, so k that leave a node together take what the max-rate model says.
Main entries: `schedule_costs` and `node_gaps`.
"""

import numpy as np

from commmodel.choices import CostModel
from commmodel.collectives.schedule import Schedule
from commmodel.machine import Machine, Segment
from commmodel.machine.hybrid import answers_wait
from commmodel.machine.rates import message_time, node_rate
from commmodel.predict.costs import Costs, Floats, Integers, awaited_from, message_costs, plogp_table
from commmodel.predict.seconds import End, value_at
from commmodel.units import format_size


def within_path(machine: Machine) -> str | None:
    """Return the machine's path within a node, the longer one of two; None where it has none."""
    paths = {*machine.paths, *(table.path for table in machine.plogp)}
    return next((path for path in ("same-node", "same-socket") if path in paths), None)


def path_remark(machine: Machine, processes: int, per_node: int | None) -> str:
    """Return that messages between nodes cost what those within one do, where there are nodes and no path between them.

    >>> from commmodel.machine import Segment
    >>> path_remark(Machine("m", (Segment("all", "same-socket"),)), 1024, 64)
    'no path between nodes was measured: all messages take same-socket'
    """
    paths = dict.fromkeys((*machine.paths, *(table.path for table in machine.plogp)))
    measured = machine.origin.processes if machine.origin is not None else 0
    has_nodes = per_node is not None or 0 < measured < processes
    if not has_nodes or "between-nodes" in paths or "any" in paths:
        return ""
    return f"no path between nodes was measured: all messages take {next(iter(paths))}"


def node_remarks(machine: Machine) -> tuple[str, ...]:
    """Return what a prediction on nodes leaves out, for lack of measurements."""
    remarks = []
    if within_path(machine) is None:
        remarks.append(
            "messages within a node are taken to cost what they cost between nodes: measure on one node, too"
        )
    limited = [segment for segment in machine.segments if _limit(segment) > 0]
    if not limited:
        remarks.append(
            "what a node moves at most is not known: its processes are taken not to disturb each other (pairs)"
        )
    elif all(segment.one_way is None for segment in limited):
        remarks.append(
            "a node's rate is that of ping-pongs, which go both ways at once: messages between nodes may take up to "
            "twice as long: measure the kernel stream, too"
        )
    return tuple(remarks)


def exchange_remark(machine: Machine, schedule: Schedule, per_node: int | None, path: str | None) -> str:
    """Return that two processes may take turns, where they send each other messages that await their receives.

    Nothing where the schedule has no such messages, or the kernel answer found that answers do not wait behind data.
    """
    table = plogp_table(machine, path)
    start = None if table is None else awaited_from(table)
    hybrid = next((model for model in machine.hybrid if table is not None and model.path == table.path), None)
    goes_at_once = hybrid is not None and hybrid.answer_delay is not None and not answers_wait(hybrid.answer_delay)
    if start is None or goes_at_once:
        return ""
    large = schedule.size >= start
    if per_node is not None and path is None:
        large &= schedule.sender // per_node != schedule.receiver // per_node
    number, sender, receiver = (
        column[large].astype(np.int64) for column in (schedule.round, schedule.sender, schedule.receiver)
    )
    count = schedule.processes
    exchange, reverse = (number * count + sender) * count + receiver, (number * count + receiver) * count + sender
    if not np.isin(reverse, exchange).any():
        return ""
    return (
        f"messages of {format_size(start)} and more await their receives: two processes that send each other some at "
        "once may take turns, as over TCP, for up to twice the time"
    )


def schedule_costs(
    machine: Machine,
    model: CostModel,
    schedule: Schedule,
    per_node: int | None,
    path: str | None = None,
    end: End = "value",
) -> Costs:
    """Return the costs of a schedule's messages, by model and end as `commmodel.predict.costs.message_costs`.

    Nodes have `per_node` processes with consecutive ranks; None, or a path: all messages take the same path.
    """
    if per_node is None or path is not None:
        return message_costs(machine, model, path, end)(schedule.size)
    is_within = schedule.sender // per_node == schedule.receiver // per_node
    columns = np.empty((4, schedule.size.size))
    for chosen, where in ((is_within, within_path(machine)), (~is_within, None)):
        if chosen.any():
            columns[:, chosen] = message_costs(machine, model, where, end)(schedule.size[chosen])
    return Costs(*columns)


def node_gaps(
    machine: Machine, model: CostModel, schedule: Schedule, per_node: int, end: End = "value"
) -> tuple[Integers, Floats, Floats]:
    """Return the node of each process, the time that each message alone needs the ports of two nodes, and its bytes'.

    That of its bytes is a part of its transit, by model and end. All are empty where the node's rate is not known or
    does not limit, and under LogP, where a byte takes no time.
    """
    crosses = schedule.sender // per_node != schedule.receiver // per_node
    sizes, place = np.unique(schedule.size[crosses], return_inverse=True)
    seconds = np.array([_gap(machine, size, per_node) for size in sizes.tolist()])
    if model == "logp" or not seconds.any():
        return np.empty(0, np.int64), np.empty(0), np.empty(0)
    gaps, byte_seconds = np.zeros((2, schedule.size.size))
    gaps[crosses] = seconds[place]
    byte_seconds[crosses] = _byte_seconds(machine, model, sizes, end)[place]
    return np.arange(schedule.processes) // per_node, gaps, byte_seconds


def _byte_seconds(machine: Machine, model: CostModel, sizes: Integers, end: End) -> Floats:
    """Return the part of the transit of messages of some sizes between nodes in which their bytes pass."""
    if model == "plogp":
        transit = message_costs(machine, model, None, end)(np.append(sizes, 0)).transit
        return np.asarray(np.maximum(transit[:-1] - transit[-1], 0.0))
    models = [machine.segment(size).loggp for size in sizes.tolist()]
    per_byte = [0.0 if loggp is None or loggp.G is None else value_at(loggp.G, end) for loggp in models]
    return np.asarray(np.maximum(sizes - 1, 0) * np.array(per_byte))


def _gap(machine: Machine, size: int, per_node: int) -> float:
    """Return 1 / M_k + n / R_N of the path between nodes; what is not known or does not limit takes no time."""
    segment = machine.segment(size)
    rate = _limit(segment)
    return message_time(segment, size, per_node) / per_node + (size / rate if rate > 0 else 0.0)


def _limit(segment: Segment) -> float:
    """Return R_N of streams, else of ping-pongs; 0 where it is not known or does not limit."""
    rate = segment.one_way.R_N if segment.one_way is not None else node_rate(segment)
    return rate.value if rate is not None and rate.is_limiting else 0.0
