"""From choices in cells to a library's rules.

A rule holds for one number of processes, from the size of its cell up to that of the next. Main entries: `candidates`
and `selector_of`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from commmodel.choices import TunedLibrary
from commmodel.collectives.library import han, mpich, openmpi
from commmodel.collectives.library.rules import DEFAULT, SEVERAL, SelectionRule, Selector, distribution
from commmodel.collectives.library.tuning import LIBRARIES, forms_of, offers_of
from commmodel.collectives.operation import OPERATIONS, SCHEDULED, ScheduledName
from commmodel.errors import InputError, choice_of
from commmodel.tuning.search import CellChoice, CollectiveCell

_HANGS = frozenset({"gather", "scatter"})
"""Operations of Open MPI 5 whose rules make ranks choose different algorithms."""

_SEGMENTED = {"bcast": ("binary", "chain")}
"""Operation -> algorithms that pass their message on in segments, in Open MPI."""
_SEGMENTS = (8192, 65536)
"""Bytes of a segment, as Open MPI's own choices have them."""


def operations_of(names: Sequence[str] | None, library: TunedLibrary) -> list[ScheduledName]:
    """Return the operations to measure; by default those for which the library has a choice by size."""
    if names is None:
        return [name for name in SCHEDULED if not _why_not(name, library)]
    for name in names:
        if name not in SCHEDULED:
            raise InputError(f"collectives: there is no {name!r}: {choice_of(name, SCHEDULED)}", "collectives")
        if reason := _why_not(name, library):
            raise InputError(f"collectives: {name}: {reason}: leave it out", "collectives")
    return [name for name in SCHEDULED if name in names]


def _why_not(operation: ScheduledName, library: TunedLibrary) -> str:
    """Return why no rules of an operation are measured; empty where they are."""
    is_mpich = library == "mpich"
    if not is_mpich and operation in _HANGS:
        return "Open MPI takes its size from arguments of the root alone, so a rule can make the program hang"
    if OPERATIONS[operation].has_size and operation in (mpich.NO_SIZES if is_mpich else openmpi.NO_SIZES):
        return f"rules of {LIBRARIES[library]} do not see its message size"
    few = (mpich.OFFERS if is_mpich else openmpi.OFFERS).get(operation, {})
    return "" if len(few) > 1 else f"{LIBRARIES[library]} has no choice of algorithms of it"


def candidates(library: TunedLibrary, cell: CollectiveCell, per_node: int | None = None) -> list[str]:
    """Return the library's algorithms that it really uses in a cell if a rule says so.

    >>> candidates("openmpi", CollectiveCell("allgather", 8, 6))
    ['bruck', 'ring', 'neighbor-exchange']
    >>> candidates("mpich", CollectiveCell("bcast", 8, 8), per_node=4)[-1]
    'two-level'
    >>> [name for name in candidates("openmpi", CollectiveCell("bcast", 65536, 8)) if ":" in name]  # in segments
    ['binary:8192', 'chain:8192']
    """
    offers = offers_of(cell.operation, library)
    numbers = cell.message_size, cell.message_size * cell.processes, cell.processes

    def holds(name: str, conditions: Mapping[str, Any]) -> bool:
        rule = msgspec.convert({"operation": cell.operation, "algorithm": name, **conditions}, SelectionRule)
        return rule.holds(*numbers)

    forms = forms_of(cell.operation, library) if distribution(cell.processes, per_node) == SEVERAL else []
    segmented = _SEGMENTED.get(cell.operation, ()) if library != "mpich" else ()
    return [
        *(
            name
            for name, needs in offers.algorithms.items()
            if holds(name, needs) and not (name in offers.few and holds(name, {offers.few[name]: True}))
        ),
        *(f"{name}:{size}" for name in segmented for size in _SEGMENTS if size < cell.message_size),
        *forms,
    ]


def algorithm_and_segment(name: str) -> tuple[str, int | None]:
    """Return the algorithm of a candidate, and the bytes of its segments.

    >>> algorithm_and_segment("chain:8192"), algorithm_and_segment("chain")
    (('chain', 8192), ('chain', None))
    """
    algorithm, _, size = name.partition(":")
    return algorithm, int(size) if size else None


def selector_of(choices: Iterable[CellChoice], library: TunedLibrary, per_node: int | None = None) -> Selector:
    """Return the rules of choices: of operations and numbers of processes in which some algorithm is chosen.

    With `per_node`, rules for several processes on each of several nodes say so: MPICH asks for that, and Open MPI's
    component han does them in two levels or leaves them to the others.

    >>> cells = [CollectiveCell("bcast", size, 8) for size in (8, 1024, 65536)]
    >>> chosen = [CellChoice(cell, name) for cell, name in zip(cells, ("", "chain", "chain"))]
    >>> [(rule.algorithm, rule.upto) for rule in selector_of(chosen, "openmpi").rules]
    [('default', 1023), ('chain', None)]
    """
    rows: dict[tuple[str, int], list[CellChoice]] = {}
    for choice in sorted(choices):
        rows.setdefault((choice.cell.operation, choice.cell.processes), []).append(choice)
    rules: list[SelectionRule] = []
    for (operation, processes), row in rows.items():
        if any(choice.algorithm for choice in row):
            plain = [*_rules(operation, processes, row)]
            is_new = library == "openmpi" and operation in han.NEW_IN_6
            if not is_new and distribution(processes, per_node) == SEVERAL:
                rules += [msgspec.structs.replace(rule, distribution=SEVERAL) for rule in plain]
                forms = forms_of(operation, library)
                plain = [
                    msgspec.structs.replace(rule, algorithm=DEFAULT) if rule.algorithm in forms else rule
                    for rule in plain
                ] if library != "mpich" else []  # fmt: skip
            rules += plain
    name = f"measured for {LIBRARIES[library]}"
    return Selector(name, tuple(rules), "measurements of commmodel", "" if library == "mpich" else "openmpi")


def _rules(operation: str, processes: int, row: Sequence[CellChoice]) -> Iterator[SelectionRule]:
    """Yield the rules of an operation on so many processes, of cells by ascending size."""
    is_block = OPERATIONS[operation].size_is_per_block
    for index, choice in enumerate(row):
        following = row[index + 1] if index + 1 < len(row) else None
        if following is not None and following.algorithm == choice.algorithm:
            continue
        limit: dict[str, Any] = {}
        if following is not None:
            size = following.cell.message_size
            limit = {"total_upto": size * processes - 1} if is_block else {"upto": size - 1}
        algorithm, segment_size = algorithm_and_segment(choice.algorithm or DEFAULT)
        fields = {"operation": operation, "algorithm": algorithm, "segment_size": segment_size,
                  "processes_from": processes, "processes_upto": processes, **limit}  # fmt: skip
        yield msgspec.convert(fields, SelectionRule)
