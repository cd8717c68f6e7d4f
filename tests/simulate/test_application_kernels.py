"""LU's and CG's messages beside the definitions of the NAS Parallel Benchmarks 3.4, written down here on their own.

Sources, read in version 3.4.2 (NPB3.4-MPI): LU/proc_grid, neighbors, subdomain, exchange_1, exchange_3, ssor; CG/cg,
there setup_submatrix_info and conj_grad. All counts are doubles.
"""

from collections import Counter

import pytest

from commmodel.simulate.work import cg, lu

ROWS = {"S": 1400, "W": 7000, "A": 14000}
POINTS = {"S": 12, "W": 33, "A": 64}


def sent(actions):
    """Return how often each rank sends how much to whom in an iteration: (rank, partner, doubles) -> times."""
    return Counter(
        (rank, int(words[2]), int(words[4]))
        for rank, text in enumerate(actions.repeated)
        for words in map(str.split, text.splitlines())
        if words[1] == "send"
    )


def lu_grid(processes):
    """Return how many ranks there are in x, which change fastest, and in y, which are not more."""
    y = max(y for y in range(1, int(processes**0.5) + 1) if processes % y == 0)
    return processes // y, y


def spread(total, parts, index):
    return total // parts + (1 if index < total % parts else 0)


def lu_published(name, processes):
    """Return the messages of a sweep's planes and of the faces in an iteration, as the benchmark has them."""
    n = POINTS[name]
    x_parts, y_parts = lu_grid(processes)
    planes, faces = Counter(), Counter()
    for rank in range(processes):
        row, column = rank % x_parts, rank // x_parts
        nx, ny = spread(n, x_parts, row), spread(n, y_parts, column)
        # ist to iend and jst to jend leave the cube's own border out
        inner_x = nx - (row == 0) - (row == x_parts - 1)
        inner_y = ny - (column == 0) - (column == y_parts - 1)
        for partner, entry, inner, width in (
            (rank - 1, row > 0, inner_y, ny),
            (rank + 1, row < x_parts - 1, inner_y, ny),
            (rank - x_parts, column > 0, inner_x, nx),
            (rank + x_parts, column < y_parts - 1, inner_x, nx),
        ):
            if entry:
                planes[rank, partner, 5 * inner] += n - 2
                faces[rank, partner, 10 * width * n] += 1
    return planes, faces


@pytest.mark.parametrize("processes", [4, 8, 16])
@pytest.mark.parametrize("name", POINTS)
def test_lu_sends_what_the_benchmark_sends(name, processes):
    planes, faces = lu_published(name, processes)
    assert sent(lu(name, processes)) == planes + faces


def cg_published(name, processes):
    """Return CG's messages of an iteration, as the benchmark has them, those of a rank to itself left out."""
    n = ROWS[name]
    bits = processes.bit_length() - 1
    columns = 2 ** ((bits + 1) // 2)
    lines = processes // columns
    counts = Counter()
    for rank in range(processes):
        row, column = divmod(rank, columns)
        length = spread(n, lines, row)
        square = columns == lines
        result = length if square else (length + 1) // 2 if rank % 2 == 0 else length // 2
        width, steps = columns, []
        while width > 1:
            steps.append(row * columns + (column + width // 2) % width + column // width * width)
            width //= 2
        for number, partner in enumerate(steps):
            counts[rank, partner, 1] += 1 + 2 * 25 + 1  # rho, then d and rho 25 times, then the residual
            counts[rank, partner, 2] += 1  # norms of z and x.z
            nearest = number == len(steps) - 1
            counts[rank, partner, length - result if nearest and not square else result] += 26
        if square:
            partner = rank % lines * lines + rank // lines
        else:
            partner = 2 * (rank // 2 % lines * lines + rank // 2 // lines) + rank % 2
        if partner != rank:
            counts[rank, partner, result] += 26
    return counts


@pytest.mark.parametrize("processes", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("name", ROWS)
def test_cg_sends_what_the_benchmark_sends(name, processes):
    assert sent(cg(name, processes)) == cg_published(name, processes)
