"""Rules for an MPI library from predictions: the fastest algorithm at each point of a grid. Main entry: `tune`.

What comes out is a `commmodel.collectives.library.selection.Selector`, which
`commmodel.collectives.library.selection.dumps` writes as the library's own file of rules.
"""

import math
from collections.abc import Callable, Iterable, Iterator

import msgspec

from commmodel.collectives.algorithms.registry import ALGORITHMS
from commmodel.collectives.library import mpich, openmpi
from commmodel.collectives.library.rules import ELEMENT_SIZE, SelectionRule, Selector, power_of_two_up_to
from commmodel.collectives.operation import OPERATIONS
from commmodel.collectives.operation import operation as operation_of
from commmodel.errors import InputError

__all__ = ["LIBRARIES", "Predict", "tune"]

Predict = Callable[[str, str, int, int], float]
"""(operation, algorithm, n, P) -> seconds; raises `InputError` where the algorithm cannot do it."""

LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
"""Libraries whose files of rules `tune` can make."""
_KINDS = (
    {"power_of_two": True, "even": True},
    {"power_of_two": False, "even": True},
    {"power_of_two": False, "even": False},
)
# Numbers of processes that an algorithm may need; rules ask for the first two in this order, the third is what is left.
Cells = tuple[tuple[int, str, str], ...]
"""(Bytes from which it holds, algorithm, algorithm where there are fewer elements than a power of two)."""


def tune(
    predict: Predict,
    operations: Iterable[str],
    sizes: Iterable[int],
    processes: Iterable[int],
    library: str = "",
) -> Selector:
    """Return rules that pick the fastest algorithm at each point of a grid.

    What is fastest at a point holds from there up to the next size and the next number of processes; neighbours with
    the same choice become one rule. Where n is the size of a block per process, sizes between are compared by n P,
    as libraries do.

    Parameters
    ----------
    predict : callable
        (operation, algorithm, n, P) -> seconds, like those of `commmodel.predict`. `InputError` or a time that is not
        finite passes an algorithm over.
    operations, sizes, processes : iterable
        Names of operations that have schedules, n in bytes and P.
    library : str
        ``openmpi`` or ``mpich``: choose among what that library has, so that `dumps` can write the rules for it.
        Empty: among all algorithms.

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
    if not columns or not counts or columns[0] < 0 or counts[0] < 1:
        raise InputError(f"a grid of {len(columns)} sizes from 0 up and {len(counts)} numbers of processes from 1 up")
    if library not in {"", *LIBRARIES}:
        raise InputError(f"unknown library {library!r}: choose one of {', '.join(LIBRARIES)}")
    rules: list[SelectionRule] = []
    for operation in dict.fromkeys(operations):
        operation_of(operation)
        rules += _tuned(predict, operation, columns, counts, library)
    name = f"tuned for {LIBRARIES[library]}" if library else "tuned"
    return Selector(name, tuple(rules), "predictions of commmodel", "openmpi" if library == "openmpi" else "")


def _offers(operation: str, library: str) -> tuple[dict[str, dict[str, bool]], bool]:
    """Return a library's algorithms with their conditions, and whether the library considers message sizes."""
    match library:
        case "openmpi":
            listed, blind = openmpi.OFFERS[operation], operation in openmpi.NO_SIZES
        case "mpich":
            listed, blind = mpich.OFFERS[operation], operation in mpich.NO_SIZES
        case _:
            listed, blind = {name: {} for name in ALGORITHMS[operation]}, not OPERATIONS[operation].has_size
    return {name: {**ALGORITHMS[operation][name].needs, **needs} for name, needs in listed.items()}, not blind


def _tuned(
    predict: Predict, operation: str, sizes: list[int], processes: list[int], library: str
) -> Iterator[SelectionRule]:
    """Yield the rules of an operation."""
    offers, sees_sizes = _offers(operation, library)
    rows: list[tuple[int | None, list[tuple[dict[str, bool], Cells]]]] = []
    for index, count in enumerate(processes):
        last = processes[index + 1] - 1 if index + 1 < len(processes) else None
        columns = sizes if OPERATIONS[operation].has_size else [0]
        times = {name: [_time(predict, operation, name, size, count) for size in columns] for name in offers}
        kinds = [kind for kind in _KINDS if _occurs(kind, count if index else 1, last)]
        blocks: list[tuple[dict[str, bool], Cells]] = []
        for kind in reversed(kinds):
            cells = _cells(operation, columns, count, times, offers, kind, sees_sizes)
            if not blocks or blocks[0][1] != cells:
                name = "power_of_two" if kind["power_of_two"] else "even"
                blocks.insert(0, ({name: True} if blocks else {}, cells))
        if rows and rows[-1][1] == blocks:
            rows[-1] = (last, blocks)
        else:
            rows.append((last, blocks))
    field = "total_upto" if OPERATIONS[operation].size_is_per_block else "upto"
    for last, blocks in rows:
        for kind, cells in blocks:
            ends: list[int | None] = [size - 1 for size, _, _ in cells[1:]]
            for (_, name, few), end in zip(cells, [*ends, None], strict=True):
                limits = {field: end, "processes_upto": last, **kind, **_needed(operation, name)}
                if few != name:
                    yield msgspec.convert(
                        {"operation": operation, "algorithm": few, "count_below_power_of_two": True, **limits},
                        SelectionRule,
                    )
                yield msgspec.convert({"operation": operation, "algorithm": name, **limits}, SelectionRule)


def _needed(operation: str, algorithm: str) -> dict[str, bool]:
    """Return the condition that excludes a single process, which is a power of two and odd."""
    return {"even": True} if "even" in ALGORITHMS[operation][algorithm].needs else {}


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
    return any((number == power_of_two_up_to(number), number % 2 == 0) == expected for number in numbers)


def _cells(
    operation: str,
    sizes: list[int],
    count: int,
    times: dict[str, list[float]],
    offers: dict[str, dict[str, bool]],
    kind: dict[str, bool],
    sees_sizes: bool,
) -> Cells:
    """Return the fastest algorithms over sizes, among those that allow such a number of processes."""
    allowed = [
        name for name, needs in offers.items() if all(kind.get(key, true) == true for key, true in needs.items())
    ]
    always = [name for name in allowed if "count_below_power_of_two" not in offers[name]]
    unit = count if OPERATIONS[operation].size_is_per_block else 1
    if not sees_sizes:
        best = [min(column) for column in zip(*(times[name] for name in allowed), strict=True)]
        relative = {
            name: sum(time / least if least else 1.0 for time, least in zip(times[name], best, strict=True))
            for name in always
        }
        name = _fastest(operation, count, relative)
        return ((0, name, name),)
    cells: list[tuple[int, str, str]] = []
    for index, size in enumerate(sizes):
        few = _fastest(operation, count, {name: times[name][index] for name in always})
        enough = size // ELEMENT_SIZE >= power_of_two_up_to(count)
        name = _fastest(operation, count, {name: times[name][index] for name in (allowed if enough else always)})
        if "count_below_power_of_two" not in offers[name]:
            few = name
        if not cells or cells[-1][1:] != (name, few):
            cells.append((size * unit if cells else 0, name, few))
    return tuple(cells)


def _fastest(operation: str, count: int, times: dict[str, float]) -> str:
    finite = {name: time for name, time in times.items() if math.isfinite(time)}
    if not finite:
        raise InputError(f"no algorithm of {operation} can be predicted on {count} processes: {', '.join(times)}")
    return min(finite, key=finite.__getitem__)
