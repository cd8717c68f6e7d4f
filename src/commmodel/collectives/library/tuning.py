"""Rules for an MPI library from predictions: the fastest algorithm at each point of a grid. Main entry: `tune`.

What comes out is a `commmodel.collectives.library.selection.Selector`, which
`commmodel.collectives.library.selection.dumps` writes as the library's own file of rules.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from commmodel.arguments import Count, integer, refuse
from commmodel.choices import TunedLibrary
from commmodel.collectives.algorithms.blocks import power_below
from commmodel.collectives.algorithms.registry import ALGORITHMS
from commmodel.collectives.library import han, mpich, openmpi
from commmodel.collectives.library.rules import (
    SEVERAL,
    SINGLE,
    SPREAD,
    Distribution,
    SelectionRule,
    Selector,
    distribution,
)
from commmodel.collectives.library.selection import select, with_levels
from commmodel.collectives.operation import ELEMENT_SIZE, OPERATIONS, ScheduledName
from commmodel.collectives.operation import operation as operation_of
from commmodel.collectives.schedule import Nodes, Problem
from commmodel.errors import InputError
from commmodel.signatures import checked

__all__ = ["LIBRARIES", "Predict", "tune"]

Predict = Callable[..., float]
"""(operation, algorithm, n, P) -> seconds, where processes share nodes with `Nodes` as a fifth argument.

It raises `InputError` where the algorithm cannot do it.
"""

LIBRARIES: dict[TunedLibrary, str] = {"openmpi": "Open MPI", "openmpi-6": "Open MPI 6", "mpich": "MPICH"}
"""Libraries whose files of rules `tune` can make."""
_KINDS = (
    {"power_of_two": True, "even": True},
    {"power_of_two": False, "even": True},
    {"power_of_two": False, "even": False},
)
# Numbers of processes that an algorithm may need; rules ask for the first two in this order, the third is what is left.
Cells = tuple[tuple[int, str, str], ...]
"""(Bytes from which it holds, algorithm, algorithm where there are fewer elements than a power of two)."""


class Offers(NamedTuple):
    """What a library lets a rule choose among."""

    algorithms: Mapping[str, Mapping[str, bool]]
    """Name -> conditions of a rule for it."""
    sees_sizes: bool
    is_by_total: bool
    """Whether rules ask for n P where n is the size of a block."""
    few: Mapping[str, str]
    """Name -> the condition under which the library uses another one, as there are too few elements."""


@checked
def tune(
    predict: Predict,
    operations: Iterable[ScheduledName],
    sizes: Iterable[int],
    processes: Iterable[int],
    library: Literal["", TunedLibrary] = "",
    per_node: Count | None = None,
) -> Selector:
    """Return rules that pick the fastest algorithm at each point of a grid.

    What is fastest at a point holds from there up to the next size and the next number of processes; neighbours with
    the same choice become one rule. Where n is the size of a block per process, sizes between are compared by n P,
    as libraries do.

    With `per_node` the rules say, too, what is done in two levels where a communicator has so many processes on each
    of several nodes, and what is done on each level. Files of Open MPI 5 and MPICH cannot tell a communicator of one
    node from one with a process of each; where both have as many processes, the algorithm with the least sum of their
    times is taken. Two levels are predicted with what the rules pick for each.

    Parameters
    ----------
    predict : callable
        (operation, algorithm, n, P) -> seconds, like those of `commmodel.predict`, with `Nodes` as a fifth argument
        where `per_node` is given. `InputError` or a time that is not finite passes an algorithm over.
    operations, sizes, processes : iterable
        Names of operations that have schedules, n in bytes and P.
    library : str
        ``openmpi`` (up to version 5), ``openmpi-6`` or ``mpich``: choose among what that library has, so that `dumps`
        can write the rules for it. Empty: among all algorithms.
    per_node : int, optional
        Processes of each node; left out, nodes are not told apart.

    Raises
    ------
    InputError
        Where the grid is empty, or no algorithm of an operation can be predicted.

    Examples
    --------
    >>> def predict(operation, algorithm, n, P):
    ...     return {"binomial": 3 * n, "scatter-ring": 10_000 + n}.get(algorithm, 1e9)
    >>> tuned = tune(predict, ["bcast"], [1, 4096, 8192], [4, 8], "mpich")
    >>> [(rule.algorithm, rule.upto) for rule in tuned.rules]
    [('binomial', 8191), ('scatter-ring', None)]
    """
    columns, counts = sorted(set(sizes)), sorted(set(processes))
    for name, numbers, least in (("sizes", columns, 0), ("processes", counts, 1)):
        if not numbers or numbers[0] < least:
            raise refuse(name, numbers, f"give at least one number, from {least} up")
    if per_node is not None:
        integer("per_node", per_node)
    rules: list[SelectionRule] = []
    for operation in dict.fromkeys(operations):
        operation_of(operation)
        if per_node is None:
            rules += _tuned(predict, operation, columns, counts, offers_of(operation, library))
    if per_node is not None:
        rules = _on_nodes(predict, list(dict.fromkeys(operations)), columns, counts, library, per_node)
    name = f"tuned for {LIBRARIES[library]}" if library else "tuned"
    return Selector(name, tuple(rules), "predictions of commmodel", "openmpi" if "openmpi" in library else "")


def offers_of(operation: str, library: str) -> Offers:
    """Return a library's algorithms in one level."""
    match library:
        case "openmpi" | "openmpi-6":
            listed, blind = openmpi.OFFERS[operation], operation in openmpi.NO_SIZES
        case "mpich":
            listed, blind = mpich.OFFERS[operation], operation in mpich.NO_SIZES
        case _:
            flat = [name for name, form in ALGORITHMS[operation].loaded().items() if not form.stages]
            listed, blind = {name: {} for name in flat}, not OPERATIONS[operation].has_size
    offered = {name: {**ALGORITHMS[operation][name].needs, **needs} for name, needs in listed.items()}
    fallbacks = openmpi.FALLBACKS.items() if library.startswith("openmpi") else ()
    few = {
        name: condition
        for (other, name), pairs in fallbacks
        for condition, _ in pairs
        if other == operation and condition.startswith("count")
    }
    return Offers(offered, not blind, OPERATIONS[operation].size_is_per_block, few)


def _on_nodes(
    predict: Predict, operations: list[str], sizes: list[int], processes: list[int], library: str, per_node: int
) -> list[SelectionRule]:
    """Return the rules where processes share nodes: in two levels first, then of each level and of all processes."""
    spanning = [count for count in processes if distribution(count, per_node) == SEVERAL]
    nodes = {count // per_node for count in spanning}
    single = sorted({*(count for count in processes if count <= per_node), *([per_node] if spanning else [])})
    groups: list[tuple[Distribution | None, dict[int, list[int]]]]
    if library in {"openmpi", "mpich"}:  # which tell no single node from one process a node
        among = spanning if library == "openmpi" else []
        uneven = [count for count in processes if distribution(count, per_node) is None]
        alike = {count: [per_node] for count in {*single, *among, *uneven}}
        for count in nodes:
            alike.setdefault(count, []).append(1)
        groups = [(None, alike)]
    else:
        rest = [count for count in processes if count > per_node]
        groups = [
            (SINGLE, {count: [per_node] for count in single}), (SPREAD, {count: [1] for count in nodes}),
            (None, {count: [per_node] for count in rest}),
        ]  # fmt: skip
    needed = {
        stage.operation
        for name in operations
        for form in forms_of(name, library)
        for stage in ALGORITHMS[name][form].stages
    }
    levels: list[SelectionRule] = []
    for operation in dict.fromkeys([*operations, *sorted(needed)]):
        for where, contexts in groups:

            def seconds(operation: str, name: str, size: int, count: int, contexts: Any = contexts) -> float:
                return sum(predict(operation, name, size, count, Nodes(shared)) for shared in contexts[count])

            if contexts:
                tuned = _tuned(seconds, operation, sizes, sorted(contexts), offers_of(operation, library))
                levels += [structs.replace(rule, distribution=where) for rule in tuned]
    by_level = Selector("levels", tuple(levels), fallback="openmpi")

    is_openmpi = library.startswith("openmpi")

    def on_several(operation: str, name: str, size: int, count: int) -> float:
        problem = Problem(count, size, nodes=Nodes(per_node))
        is_flat = not ALGORITHMS[operation][name].stages
        if is_flat and is_openmpi and name != select(by_level, operation, size, count, per_node=per_node).algorithm:
            return math.inf  # the component han can leave the choice to the other file only
        return predict(operation, name, size, count, with_levels(by_level, operation, name, problem).nodes)

    several: list[SelectionRule] = []
    for operation in operations if spanning else ():
        offers = offers_of(operation, library)
        forms = forms_of(operation, library)
        if not forms and library != "mpich":
            continue
        flat = {name: {} if is_openmpi else needs for name, needs in offers.algorithms.items()}
        by_total = offers.is_by_total and not is_openmpi
        offers = offers._replace(algorithms={**flat, **{name: {} for name in forms}}, is_by_total=by_total)
        tuned = _tuned(on_several, operation, sizes, spanning, offers)
        several += [structs.replace(rule, distribution=SEVERAL) for rule in tuned]
    return several + levels


def forms_of(operation: str, library: str) -> list[str]:
    """Return a library's algorithms in two levels."""
    match library:
        case "openmpi" if operation in han.NEW_IN_6:
            return []
        case "openmpi" | "openmpi-6":
            return list(han.FORMS.get(operation, ()))
        case "mpich":
            return mpich.FORMS.get(operation, [])
    return [name for name, form in ALGORITHMS[operation].loaded().items() if form.stages]


def _tuned(
    predict: Predict, operation: str, sizes: list[int], processes: list[int], offers: Offers
) -> Iterator[SelectionRule]:
    """Yield the rules of an operation."""
    rows: list[tuple[int | None, list[tuple[dict[str, bool], Cells]]]] = []
    for index, count in enumerate(processes):
        last = processes[index + 1] - 1 if index + 1 < len(processes) else None
        columns = sizes if OPERATIONS[operation].has_size else [0]
        times = {name: [_time(predict, operation, name, size, count) for size in columns] for name in offers.algorithms}
        kinds = [kind for kind in _KINDS if _occurs(kind, count if index else 1, last)]
        blocks: list[tuple[dict[str, bool], Cells]] = []
        for kind in reversed(kinds):
            cells = _cells(operation, columns, count, times, offers, kind)
            if not blocks or blocks[0][1] != cells:
                name = "power_of_two" if kind["power_of_two"] else "even"
                blocks.insert(0, ({name: True} if blocks else {}, cells))
        if rows and rows[-1][1] == blocks:
            rows[-1] = (last, blocks)
        else:
            rows.append((last, blocks))
    field = "total_upto" if offers.is_by_total else "upto"
    for last, blocks in rows:
        for kind, cells in blocks:
            ends: list[int | None] = [size - 1 for size, _, _ in cells[1:]]
            for (_, name, few), end in zip(cells, [*ends, None], strict=True):
                limits = {field: end, "processes_upto": last, **kind, **_needed(offers.algorithms[name])}
                if few != name:
                    yield msgspec.convert(
                        {"operation": operation, "algorithm": few, "count_below_power_of_two": True, **limits},
                        SelectionRule,
                    )
                yield msgspec.convert({"operation": operation, "algorithm": name, **limits}, SelectionRule)


def _needed(conditions: Mapping[str, bool]) -> dict[str, bool]:
    """Return the condition that excludes a single process, which is a power of two and odd."""
    return {"even": True} if "even" in conditions else {}


def _time(predict: Predict, operation: str, algorithm: str, size: int, count: int) -> float:
    try:
        return float(predict(operation, algorithm, size, count))
    except InputError:
        return math.inf


def _occurs(kind: dict[str, bool], first: int, last: int | None) -> bool:
    """Whether a range contains such a number of processes; from n to 4 n there are all kinds."""
    end = 4 * first + 4
    numbers = range(first, (end if last is None else min(last, end)) + 1)
    expected = (kind["power_of_two"], kind["even"])
    return any((number == power_below(number), number % 2 == 0) == expected for number in numbers)


def _cells(
    operation: str,
    sizes: list[int],
    count: int,
    times: dict[str, list[float]],
    offers: Offers,
    kind: dict[str, bool],
) -> Cells:
    """Return the fastest algorithms over sizes, among those that allow such a number of processes."""
    allowed = [
        name
        for name, needs in offers.algorithms.items()
        if all(kind.get(key, true) == true for key, true in needs.items())
    ]
    always = [name for name in allowed if "count_below_power_of_two" not in offers.algorithms[name]]
    unit = count if offers.is_by_total else 1
    if not offers.sees_sizes:
        best = [min(column) for column in zip(*(times[name] for name in allowed), strict=True)]
        relative = {
            name: sum(time / least if least else 1.0 for time, least in zip(times[name], best, strict=True))
            for name in always
        }
        name = _fastest(operation, count, relative)
        return ((0, name, name),)
    cells: list[tuple[int, str, str]] = []
    for index, size in enumerate(sizes):
        elements = size // ELEMENT_SIZE
        needed = {"count_below_processes": count, "count_below_power_of_two": power_below(count)}
        works = {name for name in allowed if elements >= needed.get(offers.few.get(name, ""), 0)}
        few = _fastest(operation, count, {name: times[name][index] for name in always if name in works})
        enough = allowed if elements >= needed["count_below_power_of_two"] else always
        name = _fastest(operation, count, {name: times[name][index] for name in enough if name in works})
        if "count_below_power_of_two" not in offers.algorithms[name]:
            few = name
        if not cells or cells[-1][1:] != (name, few):
            cells.append((size * unit if cells else 0, name, few))
    return tuple(cells)


def _fastest(operation: str, count: int, times: dict[str, float]) -> str:
    finite = {name: time for name, time in times.items() if math.isfinite(time)}
    if not finite:
        raise InputError(f"no algorithm of {operation} can be predicted on {count} processes: {', '.join(times)}")
    return min(finite, key=finite.__getitem__)
