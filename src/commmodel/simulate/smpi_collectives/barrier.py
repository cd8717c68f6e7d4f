"""Barriers of SMPI: its own and those of Open MPI, MPICH and MVAPICH2. Main entry: `BARRIER`."""

from commmodel.collectives.algorithms import barrier
from commmodel.collectives.algorithms.blocks import distances, power_below
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds

_linear = by_rounds(barrier.linear)
_dissemination = by_rounds(barrier.dissemination)


def _two_processes(member: Member, _: RankCall) -> None:
    """Exchange with the other one."""
    if member.processes != 2:
        raise InputError(f"SMPI's barrier ompi_two_procs hangs on {member.processes} processes: there must be 2")
    member.swap(1 - member.rank, 0)


def _recursive_doubling(member: Member, _: RankCall) -> None:
    """Exchange with rank XOR 2^i; the ranks from 2^k on are represented by those 2^k below."""
    power = power_below(member.processes)
    if member.rank >= power:
        member.swap(member.rank - power, 0)
        return
    represents = member.rank + power < member.processes
    if represents:
        member.receive(member.rank + power)
    for distance in distances(power):
        member.swap(member.rank ^ distance, 0)
    if represents:
        member.send(member.rank + power, 0)


def _tree(member: Member, _: RankCall) -> None:
    """Up a binomial tree and down again."""
    near = [distance for distance in distances(member.processes) if member.rank % distance == 0]
    partners = [member.rank ^ distance for distance in near if member.rank ^ distance < member.processes]
    for partner in partners:
        if partner > member.rank:
            member.receive(partner)
        else:
            member.send(partner, 0)
    for partner in reversed(partners):
        if partner > member.rank:
            member.send(partner, 0)
        else:
            member.receive(partner)


def _double_ring(member: Member, _: RankCall) -> None:
    """Twice around."""
    before, after = member.at(-1), member.at(1)
    for _round in range(2):
        if member.rank:
            member.receive(before)
        member.send(after, 0)
        if not member.rank:
            member.receive(before)


def _of_nodes(member: Member, call: RankCall) -> None:
    """Among the ranks of each node, then among their first ranks, who broadcast a byte."""
    member.prepare()
    _dissemination(member.node, call)
    leaders = member.leaders
    if leaders is not None:
        _dissemination(leaders, call)
    member.node.call("bcast", RankCall(1), "mpich")


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
