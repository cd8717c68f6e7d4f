"""SMPI's selectors ompi, mvapich2 and impi, which pick by tables; mpich's stand beside the algorithms.

Main entry: `SELECTORS`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from commmodel.collectives.algorithms.blocks import power_below
from commmodel.simulate.smpi_collectives.allgather import of_nodes
from commmodel.simulate.smpi_collectives.allreduce import two_level as allreduce_two_level
from commmodel.simulate.smpi_collectives.broadcast import inter_node
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall
from commmodel.simulate.smpi_collectives.gather import gather_two_level, scatter_two_level
from commmodel.simulate.smpi_collectives.reduce import two_level as reduce_two_level
from commmodel.simulate.smpi_collectives.reduce_scatter import in_order
from commmodel.simulate.smpi_collectives.tables import pick, tables

_IN_TWO_LEVELS = "*"


def _bytes(operation: str, call: RankCall) -> int:
    """Return the bytes by which a table picks."""
    return sum(call.sizes) if operation in ("reduce_scatter", "allgatherv") else call.size


def _open_mpi(operation: str, member: Member, call: RankCall) -> None:
    size = _bytes(operation, call)
    if operation == "allgatherv":
        size //= member.processes
    table = tables()["ompi-ordered" if call.is_ordered else "ompi"][operation]
    member.call(operation, call, pick(table, member.processes, size))


def _intel(operation: str, member: Member, call: RankCall) -> None:
    """Pick by ranks on a node, too; the sizes of barriers and alltoallv count as 1."""
    member.prepare()
    of_sizes = tables()["impi"][operation]
    table = of_sizes.get(str(member.per_node), of_sizes["1"])
    size = 1 if operation in ("barrier", "alltoallv") else _bytes(operation, call)
    name = pick(table, member.processes, size)
    if call.is_ordered and name == "ompi_basic_recursivehalving":
        name = "mvapich2"
    member.call(operation, call, name)


def _mvapich2(operation: str) -> Any:
    return tables()["mvapich2"][operation]


def _of_node_size(member: Member, by_ranks: dict[str, dict[str, str]]) -> tuple[dict[str, str], bool]:
    """Return the table for so many ranks on a node, and whether there is one."""
    is_tabled = member.is_uniform and str(member.per_node) in by_ranks
    return by_ranks[str(member.per_node) if is_tabled else "1"], is_tabled


def _alltoall(member: Member, call: RankCall) -> None:
    member.call("alltoall", call, pick(_mvapich2("alltoall")["1"], member.processes, call.size))


def _allgather(member: Member, call: RankCall) -> None:
    member.prepare()
    table, is_tabled = _of_node_size(member, _mvapich2("allgather"))
    name = pick(table, member.processes, call.size)
    if not name.endswith(_IN_TWO_LEVELS):
        if name != "none":
            member.call("allgather", call, name)
    elif not is_tabled:
        member.call("allgather", call, "rdb")
    elif member.is_blocked:
        of_nodes(member, call)
    else:
        member.call("allgather", call, "mpich")


def _allgatherv(member: Member, call: RankCall) -> None:
    """Limits are those of the average block."""
    name = pick(_mvapich2("allgatherv"), member.processes, -(-sum(call.sizes) // member.processes))
    if name == "mpich_rdb" and member.processes & (member.processes - 1):
        name = "ompi_bruck"
    member.call("allgatherv", call, name)


def _gather(member: Member, call: RankCall) -> None:
    """In two levels where ranks on a node follow one another and that is known, as never in replays."""
    table = _mvapich2("gather")
    name = pick(table, member.processes, call.size) if member.is_blocked and not call.is_replayed else "mpich"
    if name == "mvapich2_two_level":
        gather_two_level(member, call, pick(table["node"], member.processes, call.size))
    else:
        member.call("gather", call, name)


def _scatter(member: Member, call: RankCall) -> None:
    member.prepare()
    table, _ = _of_node_size(member, _mvapich2("scatter"))
    name = pick(table, member.processes, call.size)
    if name == "mcst":
        name = pick(table, member.processes, 17)
    if not name.startswith("mvapich2_two_level"):
        member.call("scatter", call, name)
    elif member.is_blocked:
        leaders = "ompi_basic_linear" if name.endswith("direct") else "ompi_binomial"
        node: Any = table["node"]
        scatter_two_level(member, call, leaders, pick(node, member.processes, call.size))
    else:
        member.call("scatter", call, "ompi_binomial")


_TwoLevel = Callable[[Member, RankCall, str, str], None]
"""What is done with algorithms among the first ranks of nodes, and in each node."""


def _by_size(operation: str, two_level: _TwoLevel, member: Member, call: RankCall) -> None:
    """Pick by bytes, in two levels where the name of the algorithm ends so."""
    table = _mvapich2(operation)
    name = pick(table, member.processes, call.size)
    if call.is_ordered and (name.endswith(_IN_TWO_LEVELS) or name == "mvapich2_knomial"):
        member.call(operation, call, "rdb" if operation == "allreduce" else "binomial")
    elif name.endswith(_IN_TWO_LEVELS):
        node = pick(table["node"], member.processes, call.size)
        two_level(member, call, name.removesuffix(_IN_TWO_LEVELS), node)
    elif name == "scatter_gather" and call.count < power_below(member.processes):
        member.call(operation, call, "binomial")
    else:
        member.call(operation, call, name)


def _allreduce(member: Member, call: RankCall) -> None:
    if call.count:
        _by_size("allreduce", allreduce_two_level, member, call)


def _bcast(member: Member, call: RankCall) -> None:
    if call.size:
        member.prepare()
        _by_size("bcast", _bcast_two_level, member, call)


def _bcast_two_level(member: Member, call: RankCall, leaders: str, node: str) -> None:
    inter_node(member, call, leaders)
    member.node.call("bcast", RankCall(call.size, call.element), node)


def _reduce(member: Member, call: RankCall) -> None:
    if call.count:
        _by_size("reduce", reduce_two_level, member, call)


def _reduce_scatter(member: Member, call: RankCall) -> None:
    if call.is_ordered:
        return in_order(member, call)
    return member.call("reduce_scatter", call, pick(_mvapich2("reduce_scatter"), member.processes, sum(call.sizes)))


_MVAPICH2: dict[str, Algorithm] = {
    "alltoall": _alltoall,
    "allgather": _allgather,
    "allgatherv": _allgatherv,
    "allreduce": _allreduce,
    "bcast": _bcast,
    "gather": _gather,
    "reduce": _reduce,
    "reduce_scatter": _reduce_scatter,
    "scatter": _scatter,
}


def _by_table(choose: Callable[[str, Member, RankCall], None], selector: str) -> dict[str, Algorithm]:
    return {operation: partial(choose, operation) for operation in tables()[selector]}


SELECTORS: dict[str, dict[str, Algorithm]] = {
    "ompi": _by_table(_open_mpi, "ompi"),
    "mvapich2": _MVAPICH2,
    "impi": _by_table(_intel, "impi"),
}
"""Selector -> operation -> algorithm."""
