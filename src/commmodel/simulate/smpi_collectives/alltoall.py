"""Alltoalls of SMPI, of blocks of one size and of any. Main entries: `ALLTOALL`, `ALLTOALLV`."""

from collections.abc import Callable
from functools import partial

from commmodel.collectives.algorithms import alltoall
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.at_once import AT_ONCE
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds, power_of_two_only
from commmodel.simulate.smpi_collectives.grids import over_cube, over_rectangle
from commmodel.simulate.smpi_collectives.halving import double
from commmodel.simulate.smpi_collectives.tables import pick, tables

_THROTTLE = 4
"""Blocks that MVAPICH2 and MPICH have on the way at once."""
_POINTER = 8

_bruck = by_rounds(alltoall.bruck)


def _doubling(member: Member, call: RankCall) -> None:
    """Recursive doubling of all vectors."""
    double(member, lambda first, last: (last - first) * member.processes * call.size)


def _throttled(member: Member, call: RankCall) -> None:
    """Four blocks at once; where all have one size, one's own by a message, too."""
    if not call.size and not call.sizes:
        return
    for begin in range(0, member.processes, _THROTTLE):
        steps = [step for step in range(begin, min(begin + _THROTTLE, member.processes)) if step or not call.sizes]
        targets = [member.at(-step) for step in steps]
        member.post([*((member.at(step), None) for step in steps), *((other, call.block(other)) for other in targets)])


def _put(member: Member, call: RankCall) -> None:
    """Put all blocks at once into a window, between barriers, which has been made before and is removed again.

    Ranks take part in a put from when the other begins it: so receives are posted within the barrier before.
    """
    power_of_two_only(member, "alltoall pair_rma")
    if not member.is_default("barrier"):
        raise InputError("SMPI's alltoall pair_rma is known with its default barrier only")
    partners = [member.rank ^ step for step in range(1, member.processes)]
    member.call("allgather", RankCall(_POINTER))
    member.call("barrier", RankCall())
    if member.rank:
        member.send(0, 0)
        passed = member.ireceive(0)
        receives = [member.ireceive(other) for other in partners]
        member.wait(passed)
    else:
        member.wait(*[member.ireceive(other) for other in range(1, member.processes)])
        receives = [member.ireceive(other) for other in partners]
        member.wait(*[member.isend(other, 0) for other in range(1, member.processes)])
    for other in partners:
        member.isend(other, call.size)
    member.call("barrier", RankCall())
    member.wait(*receives)
    for _ in range(3):
        member.call("barrier", RankCall())


def _xor(member: Member, step: int) -> tuple[int, int]:
    power_of_two_only(member, "alltoall pair")
    return member.rank ^ step, member.rank ^ step


def _shift(member: Member, step: int) -> tuple[int, int]:
    return member.at(step), member.at(-step)


def _xor_or_shift(member: Member, step: int) -> tuple[int, int]:
    return (_shift if member.processes & (member.processes - 1) else _xor)(member, step)


_Partners = Callable[[Member, int], tuple[int, int]]


def _steps(member: Member, call: RankCall, partners: _Partners, barriers: str = "") -> None:
    """Exchange with one partner after the other: without barriers, after one, after one each, or after a byte each."""
    if barriers == "one":
        member.call("barrier", RankCall())
    for step in range(member.processes):
        to, source = partners(member, step)
        if barriers == "mpi":
            member.call("barrier", RankCall())
        member.exchange(to, call.block(to), source)
        if barriers == "light" and 0 < step < member.processes - 1:
            to, source = partners(member, step + 1)
            member.exchange(source, 1, to)


def _family(name: str, partners: _Partners) -> dict[str, Algorithm]:
    """Return the algorithms that go pair by pair or along shifts."""
    names = {"": name} | {barriers: f"{name}_{barriers}_barrier" for barriers in ("light", "mpi", "one")}
    return {names[barriers]: partial(_steps, partners=partners, barriers=barriers) for barriers in names}


def _mpich(member: Member, call: RankCall) -> None:
    """Pairs are chosen for odd numbers of processes, on which they end."""
    if call.size < 256 and member.processes >= 8:
        return _bruck(member, call)
    if call.size < 32768:
        return _throttled(member, call)
    return _steps(member, call, _xor if member.processes % 2 else _shift)


def _default(member: Member, call: RankCall) -> None:
    """Go by Open MPI's tables; all goes at once where SMPI ends with an exception, as processes make no pairs."""
    name = pick(tables()["ompi"]["alltoall"], member.processes, call.size)
    is_odd = name == "pair" and member.processes & (member.processes - 1)
    member.call("alltoall", call, "basic_linear" if is_odd else name)


_PAIRS, _RINGS = _family("pair", _xor), _family("ring", _shift)
ALLTOALL: dict[str, Algorithm] = {
    DEFAULT: _default,
    "2dmesh": partial(over_rectangle, name="alltoall 2dmesh"),
    "3dmesh": partial(over_cube, name="alltoall 3dmesh"),
    "basic_linear": AT_ONCE["alltoall"],
    "bruck": _bruck,
    **_PAIRS,
    "pair_rma": _put,
    "rdb": _doubling,
    **_RINGS,
    "mvapich2_scatter_dest": _throttled,
    "mpich": _mpich,
}


ALLTOALLV: dict[str, Algorithm] = {
    DEFAULT: AT_ONCE["alltoallv"],
    "bruck": _throttled,
    **_PAIRS,
    **_RINGS,
    "ring": partial(_steps, partners=_xor_or_shift),
    "ompi_basic_linear": AT_ONCE["alltoallv"],
    "mpich": _throttled,
    "mvapich2": partial(_steps, partners=_xor_or_shift),
}
"""SMPI's name -> algorithm."""
