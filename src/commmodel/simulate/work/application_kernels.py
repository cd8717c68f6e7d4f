"""Communication of two NAS Parallel Benchmarks as programs and traces: LU (a wavefront) and CG (sums over a grid).

They are NAS-like: the messages of the MPI versions with their sizes, partners and order, and computing time by the
benchmarks' own formulas for their operations, spread evenly over what each rank does. Sources: Bailey et al., "The NAS
Parallel Benchmarks", RNR-94-007, 1994 (problems), "The NAS Parallel Benchmarks 2.0", NAS-95-020, 1995 (how they are
distributed and what is sent), and the operations that the programs report as Mop/s; sizes of classes: version 3.

Counted are: of LU, per iteration, a lower and an upper sweep over nz − 2 planes, in each of which a rank receives from
two neighbours, computes and sends to two neighbours, 5 doubles for each point of the common edge; two exchanges of two
layers of faces, 10 doubles for each point; and norms (5 doubles, allreduce) before and after all iterations. A third
of the operations goes into each sweep and a third behind the faces: our division. Of CG, 25 inner iterations and one
product more in each iteration: sums of vectors over the rows of the grid in log₂ exchanges, one exchange with the
transposed position, and dot products in log₂ exchanges of a double. Main entries: `lu` and `cg`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from commmodel.arguments import Count, integer, rank_count
from commmodel.choices import NASClass
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate.work.actions import Actions

_VARIABLES = 5
_INNER = 25
_MOST_PROCESSES = 1 << 17


class _LU(NamedTuple):
    points: int
    """In each of three dimensions."""
    iterations: int


class _CG(NamedTuple):
    rows: int
    nonzeros: int
    """In a row of the vectors that make up the matrix."""
    iterations: int


_Problem = TypeVar("_Problem", _LU, _CG)

LU_CLASSES = {
    "S": _LU(12, 50),
    "W": _LU(33, 300),
    "A": _LU(64, 250),
    "B": _LU(102, 250),
    "C": _LU(162, 250),
    "D": _LU(408, 300),
}
"""Class -> points in each dimension, iterations."""
CG_CLASSES = {
    "S": _CG(1400, 7, 15),
    "W": _CG(7000, 8, 15),
    "A": _CG(14000, 11, 15),
    "B": _CG(75000, 13, 75),
    "C": _CG(150000, 15, 75),
    "D": _CG(1500000, 21, 100),
}
"""Class -> rows, nonzeros, iterations."""


def _grid(
    name: str, nas_class: str, classes: Mapping[str, _Problem], processes: int, iterations: int | None, fewest: int
) -> tuple[_Problem, int, int]:
    """Return the problem of a class, and the number of parts of each dimension.

    There are as many parts in both, or twice as many in the first; `fewest` points or rows must be in each.
    """
    if not 1 <= rank_count(processes) <= _MOST_PROCESSES or processes & (processes - 1):
        raise InputError(f"{name} on {processes} processes: a power of two up to {_MOST_PROCESSES} is needed")
    if iterations is not None:
        integer("iterations", iterations)
    problem = classes[nas_class]
    across = 1 << processes.bit_length() // 2
    extent, title = problem[0], problem._fields[0]
    if extent < fewest * across:
        raise InputError(
            f"{name} of class {nas_class} on {processes} processes: fewer than {fewest} of {extent} {title} for each"
        )
    return problem, across, processes // across


def _actions(name: str, nas_class: str, bodies: Sequence[str], iterations: int, norm: str = "") -> Actions:
    """Return the actions of each rank: iterations, between the norms before and after them, if there are any."""
    norms = [norm.format(rank=rank) for rank in range(len(bodies))]
    first = tuple(f"{rank} init\n{norm}" for rank, norm in enumerate(norms))
    last = tuple(f"{norm}{rank} finalize\n" for rank, norm in enumerate(norms))
    return Actions(first, tuple(bodies), last, iterations, f"{name} {nas_class} on {len(bodies)} processes")


def _share(total: int, parts: int, index: int) -> int:
    """Return the number of points or rows of a part; the first parts have one more where they do not divide evenly."""
    return total // parts + (index < total % parts)


def _flops(number: float) -> str:
    return f"{number:.10g}"


@checked
def lu(nas_class: NASClass, processes: Count, iterations: Count | None = None) -> Actions:
    """Return LU: 2-D pipelined sweeps through the planes of a cube, forward and backward.

    Parameters
    ----------
    nas_class : str
        ``S``, ``W``, ``A``, ``B``, ``C`` or ``D``.
    processes : int
        P, a power of two from 1 up; each needs 3 points in each direction, as in the benchmark.
    iterations : int, optional
        Instead of the class's.

    Raises
    ------
    InputError
        Where there is no such class, or P is none of its numbers.

    Examples
    --------
    >>> lu("B", 16).program(1e9).processes
    16
    """
    (points, times), across, down = _grid("LU", nas_class, LU_CLASSES, processes, iterations, fewest=3)
    # What the benchmark says it does in an iteration (its Mop/s), for n points in each dimension.
    flops = 1984.77 * points**3 - 10923.3 * points**2 + 27770.9 * points - 144010.0
    bodies = []
    for rank in range(processes):
        row, column = rank % across, rank // across
        nx, ny = _share(points, across, row), _share(points, down, column)
        share = flops * nx * ny / points**2
        north, south = (rank - 1 if row else -1), (rank + 1 if row + 1 < across else -1)
        west, east = (rank - across if column else -1), (rank + across if column + 1 < down else -1)
        # Partner, points of a plane's edge that sweeps send, all of them: sweeps leave the cube's own border out.
        inner_x, inner_y = nx - (north < 0) - (south < 0), ny - (west < 0) - (east < 0)
        edges = {
            side: (partner, _VARIABLES * inner, _VARIABLES * extent)
            for side, partner, inner, extent in (
                ("n", north, inner_y, ny), ("s", south, inner_y, ny), ("w", west, inner_x, nx), ("e", east, inner_x, nx)
            )
            if partner >= 0
        }  # fmt: skip
        planes = points - 2
        work = f"{rank} compute {_flops(share / 3 / planes)}\n"
        sweeps = [
            "".join(f"{rank} recv {edges[side][0]} 1 {edges[side][1]} 0\n" for side in sources if side in edges)
            + work
            + "".join(f"{rank} send {edges[side][0]} 1 {edges[side][1]} 0\n" for side in targets if side in edges)
            for sources, targets in (("nw", "se"), ("se", "nw"))
        ]
        faces = "".join(_face(rank, edges, source, target, points) for source, target in ("ns", "sn", "we", "ew"))
        bodies.append("".join(sweep * planes for sweep in sweeps) + faces + f"{rank} compute {_flops(share / 3)}\n")
    return _actions("LU", nas_class, bodies, iterations or times, norm="{rank} allreduce 5 25 0\n")


def _face(rank: int, edges: dict[str, tuple[int, int, int]], source: str, target: str, points: int) -> str:
    """Return the exchange of two layers of a face in one direction."""
    text = wait = ""
    if source in edges:
        partner, _, size = edges[source]
        text += f"{rank} irecv {partner} 2 {2 * size * points} 0\n"
        wait = f"{rank} wait {partner} {rank} 2\n"
    if target in edges:
        partner, _, size = edges[target]
        text += f"{rank} send {partner} 2 {2 * size * points} 0\n"
    return text + wait


@checked
def cg(nas_class: NASClass, processes: Count, iterations: Count | None = None) -> Actions:
    """Return CG: conjugate gradients with a matrix distributed over a grid of processes.

    Parameters
    ----------
    nas_class, iterations
        As of `lu`, and so are the errors.
    processes : int
        P, a power of two; the grid has as many columns as rows, or twice as many.

    Examples
    --------
    >>> cg("S", 2).repeated[0].splitlines()[4:7]
    ['0 irecv 1 1 700 0', '0 send 1 1 700 0', '0 wait 1 0 1']
    """
    (rows, nonzeros, times), columns, lines = _grid("CG", nas_class, CG_CLASSES, processes, iterations, fewest=2)
    # What the benchmark says it does (its Mop/s): in an inner iteration, and beside these in an iteration.
    filled = nonzeros * (nonzeros + 1)
    inner, outer = 2 * rows * (5 + filled) / processes, 2 * rows * (6 + filled) / processes
    bodies = []
    for rank in range(processes):
        row, column = rank // columns, rank % columns
        rows_of_rank = _share(rows, lines, row)
        partners = [row * columns + (column ^ distance) for distance in _distances(columns)]
        dot = "".join(_exchange(rank, partner, 1, 1) for partner in partners)
        product = _row_sum(rank, partners, rows_of_rank, columns == lines)
        if columns > 1:
            product += _transposed(rank, rows, lines, columns)
        step = f"{rank} compute {_flops(inner)}\n{product}{dot}{dot}"
        norm = "".join(_exchange(rank, partner, 2, 2) for partner in partners)
        # An iteration begins with the residual's dot product and ends with a product, its dot product and the norms.
        bodies.append(dot + step * _INNER + f"{rank} compute {_flops(outer)}\n{product}{dot}{norm}")
    return _actions("CG", nas_class, bodies, iterations or times)


def _distances(columns: int) -> list[int]:
    """Return the distances of partners in a row, the farthest first."""
    return [columns >> level for level in range(1, columns.bit_length())]


def _exchange(rank: int, partner: int, sent: int, received: int) -> str:
    """Return an exchange of doubles, as the benchmark does it."""
    return f"{rank} irecv {partner} 1 {received} 0\n{rank} send {partner} 1 {sent} 0\n{rank} wait {partner} {rank} 1\n"


def _half(rank: int, count: int) -> int:
    """Return the share of a vector that a rank keeps where two share it."""
    return (1 + count) // 2 if rank % 2 == 0 else count // 2


def _row_sum(rank: int, partners: list[int], count: int, square: bool) -> str:
    """Return the sum of vectors over a row of the grid, the nearest first.

    Where the grid is twice as wide as high, two neighbours first give each other the half that the other keeps.
    """
    nearest_first = partners[::-1]
    if square:
        return "".join(_exchange(rank, partner, count, count) for partner in nearest_first)
    half = _half(rank, count)
    return "".join(
        _exchange(rank, partner, half if number else count - half, half) for number, partner in enumerate(nearest_first)
    )


def _transposed(rank: int, rows: int, lines: int, columns: int) -> str:
    """Return the exchange with the transposed position in the grid, unless that is the same rank."""
    square = lines == columns
    if square:
        partner = rank % lines * lines + rank // lines
    else:
        partner = 2 * (rank // 2 % lines * lines + rank // 2 // lines) + rank % 2
    if partner == rank:
        return ""
    count, partner_count = (_share(rows, lines, process // columns) for process in (rank, partner))
    if square:
        return _exchange(rank, partner, count, partner_count)
    return _exchange(rank, partner, _half(rank, count), _half(partner, partner_count))
