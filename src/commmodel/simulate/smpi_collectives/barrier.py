"""Barriers of SMPI: its own and those of Open MPI, MPICH and MVAPICH2. Main entry: `BARRIER`."""

from commmodel.collectives.algorithms import barrier
from commmodel.collectives.algorithms.blocks import power_below
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds

_linear = by_rounds(barrier.linear)
_dissemination = by_rounds(barrier.dissemination)


def _two_processes(me: Member, _: RankCall) -> None:
    """Exchange with the other one."""
    if me.processes != 2:
        raise InputError(f"SMPI's barrier ompi_two_procs hangs on {me.processes} processes: there must be 2")
    me.exchange(1 - me.rank, 0, 1 - me.rank)


def _recursive_doubling(me: Member, _: RankCall) -> None:
    """Exchange with rank XOR 2^i; the ranks from 2^k on are represented by those 2^k below."""
    power = power_below(me.processes)
    if me.rank >= power:
        me.exchange(me.rank - power, 0, me.rank - power)
        return
    represents = me.rank + power < me.processes
    if represents:
        me.receive(me.rank + power)
    distance = 1
    while distance < power:
        me.exchange(me.rank ^ distance, 0, me.rank ^ distance)
        distance *= 2
    if represents:
        me.send(me.rank + power, 0)


def _tree(me: Member, _: RankCall) -> None:
    """Up a binomial tree and down again."""
    partners = []
    distance = 1
    while distance < me.processes:
        if me.rank % distance == 0 and me.rank ^ distance < me.processes:
            partners.append(me.rank ^ distance)
        distance *= 2
    for partner in partners:
        if partner > me.rank:
            me.receive(partner)
        else:
            me.send(partner, 0)
    for partner in reversed(partners):
        if partner > me.rank:
            me.send(partner, 0)
        else:
            me.receive(partner)


def _double_ring(me: Member, _: RankCall) -> None:
    """Twice around."""
    before, after = (me.rank - 1) % me.processes, (me.rank + 1) % me.processes
    for _round in range(2):
        if me.rank:
            me.receive(before)
        me.send(after, 0)
        if not me.rank:
            me.receive(before)


def _of_nodes(me: Member, call: RankCall) -> None:
    """Among the ranks of each node, then among their first ranks, who broadcast a byte."""
    me.prepare()
    _dissemination(me.node, call)
    leaders = me.leaders
    if leaders is not None:
        _dissemination(leaders, call)
    me.node.call("bcast", RankCall(1), "mpich")


BARRIER: dict[str, Algorithm] = {
    DEFAULT: _linear,
    "ompi_basic_linear": _linear,
    "ompi_two_procs": _two_processes,
    "ompi_tree": _tree,
    "ompi_bruck": _dissemination,
    "ompi_recursivedoubling": _recursive_doubling,
    "ompi_doublering": _double_ring,
    "mpich_smp": _of_nodes,
    "mpich": _dissemination,
    "mvapich2_pair": _recursive_doubling,
    "mvapich2": _recursive_doubling,
}
"""SMPI's name -> algorithm."""
