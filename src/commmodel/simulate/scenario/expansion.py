"""Programs that are expanded once and simulated many times. Main entry: `expanded_once`.

What a recording or a trace becomes on a platform takes longer to expand than to simulate, and is the same in all runs
but those with faster cores, where each computation is a constant plus what goes by their speed. Programs are kept in
this process; processes that are forked from it have them, too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np

from commmodel.simulate.operations import OPERATION, Code, Program
from commmodel.simulate.scenario.workloads import Workload

_MOST = 16_000_000
"""Operations that are kept of all programs of a workload together, 24 bytes each."""
_Make = Callable[[Any, float], Program]


@dataclass
class _Store:
    """Programs of a workload, and workloads of it on hosts."""

    programs: dict[Any, Program | None] = field(default_factory=dict)
    """None of those that are too large."""
    workloads: dict[tuple[int, ...], Workload] = field(default_factory=dict)
    operations: int = 0


_STORES: dict[str, _Store] = {}


@contextmanager
def expanded_once(workload: Workload) -> Iterator[Workload]:
    """Yield a workload whose programs are kept while the block goes on, as far as memory is to be had for them.

    Parameters
    ----------
    workload : Workload
        A program that runs, and a schedule, stay what they are.

    Examples
    --------
    >>> from commmodel.simulate.scenario import place, prepare, workloads
    >>> graphene = place("graphene")
    >>> with expanded_once(workloads.application(graphene, "cg", "S", 4, iterations=1)) as work:
    ...     first, second = (prepare(graphene, work).run().seconds for _ in range(2))
    >>> first == second
    True
    """
    if workload.runs or workload.schedule is not None:
        yield workload
        return
    name = uuid4().hex
    try:
        yield _with_store(name, (), workload)
    finally:
        _STORES.pop(name, None)


def _with_store(name: str, hosts: tuple[int, ...], workload: Workload) -> Workload:
    """Return a workload whose programs are those of the store of a name."""

    def on_hosts(other: tuple[int, ...]) -> Workload:
        store = _STORES.setdefault(name, _Store())
        if other not in store.workloads:
            assert workload.on_hosts is not None  # noqa: S101
            store.workloads[other] = _with_store(name, other, workload.on_hosts(other))
        return store.workloads[other]

    return replace(
        workload,
        program=partial(_program, name, (hosts, "plain"), workload.program),
        located=None if workload.located is None else partial(_program, name, (hosts, "located"), workload.located),
        on_hosts=None if workload.on_hosts is None else on_hosts,
    )


def _program(name: str, kind: Any, make: _Make, speeds: Any, faster: float) -> Program:
    """Return the program of a kind, for cores of some speeds, on which work in seconds is so many times faster."""
    store = _STORES.setdefault(name, _Store())
    slow = np.asarray(speeds, np.float64) / faster
    key = (kind, slow.tobytes())
    as_it_is = _stored(store, (*key, 1), partial(make, slow, 1.0))
    if as_it_is is None or faster == 1:
        return make(speeds, faster) if as_it_is is None else as_it_is
    twice = _stored(store, (*key, 2), partial(make, 2 * slow, 2.0))
    operations = None if twice is None else _faster(as_it_is, twice, faster)
    return make(speeds, faster) if operations is None else replace(as_it_is, operations=operations)


def _stored(store: _Store, key: Any, make: Callable[[], Program]) -> Program | None:
    if key not in store.programs:
        program = _in_memory(make(), _MOST - store.operations)
        store.programs[key] = program
        store.operations += 0 if program is None else program.operations.size
    return store.programs[key]


def _in_memory(program: Program, most: int) -> Program | None:
    """Return a program whose operations are all there; None where there are more than so many."""
    ranks, left = [], most
    for rank in range(program.processes):
        pieces = [np.empty(0, OPERATION)]
        for piece in program.pieces(rank):
            left -= piece.size
            if left < 0:
                return None
            pieces.append(piece.copy())
        ranks.append(np.concatenate(pieces))
    return Program.from_ranks(ranks, program.name)


def _faster(as_it_is: Program, twice: Program, faster: float) -> Any:
    """Return operations for cores of another speed, of those for cores as they are and for ones twice as fast.

    None where more than the time of computation differs between the two.
    """
    first, second = as_it_is.operations, twice.operations
    if not np.array_equal(as_it_is.offsets, twice.offsets):
        return None
    if any(not np.array_equal(first[name], second[name]) for name in ("code", "peer", "tag", "request")):
        return None
    differs = first["value"] != second["value"]
    if (first["code"][differs] != Code.COMPUTE).any():
        return None
    work = 2 * (first["value"] - second["value"])  # of cores as they are; the rest does not go by their speed
    operations = first.copy()
    operations["value"][differs] = (first["value"] - work + work / faster)[differs]
    np.maximum(operations["value"], 0.0, out=operations["value"], where=differs)
    return operations
