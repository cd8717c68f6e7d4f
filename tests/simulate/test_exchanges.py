"""Programs of whole exchanges, and of kernels of applications."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.work_reference import carry_out

from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate.operations import Code
from commmodel.simulate.work import cg, halo, lu, pair, pairwise, read_sparse, ring, shifts, sparse
from commmodel.simulate.work.application_kernels import CG_CLASSES, LU_CLASSES
from commmodel.simulate.work.grids import square_grid


def between(program):
    """Return (sender, receiver, bytes) -> how many messages; nobody hangs and nothing is left."""
    carried = carry_out(program)
    assert carried.blocked == []
    assert carried.unwaited == 0
    return Counter((sender, receiver, size) for sender, receiver, _, size in carried.messages)


def test_in_a_ring_everybody_sends_to_the_next():
    assert between(ring(7, 5)) == Counter((rank, (rank + 1) % 5, 7.0) for rank in range(5))


def test_a_halo_has_the_neighbours_of_a_grid():
    # 2 x 3, the first dimension fastest: 0 1 | 2 3 | 4 5; periodic in the second only.
    result = between(halo((10, 20), 6, grid=(2, 3), periodic=(False, True)))
    rows = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4)]
    columns = [(0, 2), (2, 4), (4, 0), (1, 3), (3, 5), (5, 1)]
    expected = [(*row, 10.0) for row in rows]
    expected += [(*ends, 20.0) for row, two in columns for ends in ((row, two), (two, row))]
    assert result == Counter(expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 3), st.booleans())
def test_halos_are_symmetric_and_of_the_right_number(processes, dimensions, periodic):
    result = between(halo(8, processes, dimensions=dimensions, periodic=periodic))
    grid = square_grid(processes, dimensions)
    assert all(result[(receiver, sender, size)] == count for (sender, receiver, size), count in result.items())
    lost = 0 if periodic else sum(2 * processes // side for side in grid)
    assert sum(result.values()) == 2 * dimensions * processes - lost


@given(st.integers(1, 400), st.integers(1, 3))
def test_grids_multiply_to_the_processes(processes, dimensions):
    grid = square_grid(processes, dimensions)
    assert int(np.prod(grid)) == processes
    assert list(grid) == sorted(grid)


def hashed(rank, step, size):
    """Return the bytes that `bench.c` in its mode rnd sends, in C's arithmetic of 32 bits."""
    number = ((rank * 40503 + step * 977) % 2**32) * 2654435761 % 2**32
    return size // 8 * (1 + (number >> 16) % 8)


def test_shifts_are_those_of_the_peers_benchmark():
    processes, rounds, size = 13, 6, 4096
    expected = Counter()
    for step in range(rounds):
        distance = 1 + ((step * 2654435761 % 2**32) >> 8) % (processes - 1)
        for rank in range(processes):
            expected[rank, (rank + distance) % processes, float(hashed(rank, step, size))] += 1
    assert between(shifts(size, processes, rounds)) == expected


def test_pairwise_goes_to_one_partner_after_the_other():
    assert sum(between(pairwise(3, 6)).values()) == 30
    assert pairwise(3, 6).operations["code"][:3].tolist() == [Code.IRECV, Code.ISEND, Code.WAITALL]


def test_a_ping_pong_goes_there_and_back():
    assert between(pair(9, 4)) == {(0, 1, 9.0): 1, (1, 0, 9.0): 1}


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 99)), min_size=1, max_size=60))
def test_any_exchange_comes_to_its_end(messages):
    sender, receiver, size = (np.array(column) for column in zip(*messages, strict=True))
    assert between(sparse(sender, receiver, size, 7)) == Counter((s, r, float(n)) for s, r, n in messages)


def test_an_exchange_is_read_from_a_table(tmp_path):
    table = tmp_path / "exchange.csv"
    table.write_text("sender,receiver,bytes\n0,2,10\n# a remark\n\n2, 1, 2.5e3\n")
    assert between(read_sparse(table)) == {(0, 2, 10.0): 1, (2, 1, 2500.0): 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0,1\n", "line 1: 2 columns"),
        ("0,1,5\n0,x,5\n", "line 2: ranks 0 and x"),
        ("0,1,5\n\u0663,0,5\n", "line 2: ranks \u0663 and 0"),
        ("0,1_0,5\n", "line 1: ranks 0 and 1_0"),
        ("0,1,1_0\n", "line 1: 1_0 bytes"),
        ("-1,0,8\n0,1,8\n", "line 1: ranks -1 and 0"),  # no title
        ("nan,0,5\n0,1,8\n", "line 1: ranks nan and 0"),
        ("\u0663,0,5\n0,1,8\n", "line 1: ranks"),
        ("0,-1,5\n", "line 1: ranks 0 and -1"),
        ("0,1,-5\n", "line 1: -5 bytes"),
        ("0,1,nan\n", "line 1: nan bytes"),
        ("0,4,5\n", "line 1: ranks 0 and 4: they must be whole numbers from 0 to 3"),
        ("", "no messages"),
    ],
)
def test_damaged_tables_are_refused_in_a_line(tmp_path, text, problem):
    table = tmp_path / "exchange.csv"
    table.write_text(text)
    with pytest.raises(DamagedFileError, match=problem):
        read_sparse(table, 4)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ring(-1, 4),
        lambda: ring(1, 0),
        lambda: halo(1, 6, grid=(2, 2)),
        lambda: halo(1, 6, dimensions=4),
        lambda: halo((1, 2, 3), 6),
        lambda: shifts(1, 1),
        lambda: shifts(1, 4, 0),
        lambda: pair(1, 1),
        lambda: sparse([0], [1, 2], [3]),
        lambda: sparse([0.5], [1.0], [3]),
        lambda: sparse([0], [9], [3], 4),
        lambda: sparse([0], [1], [np.nan]),
        lambda: read_sparse("no such file"),
        lambda: lu("Z", 4),
        lambda: lu("B", 6),
        lambda: lu("S", 1 << 10),
        lambda: cg("B", 4, 0),
        lambda: cg("B", 0),
    ],
)
def test_wrong_exchanges_are_refused_in_a_line(wrong):
    with pytest.raises(InputError) as caught:
        wrong()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("processes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(("kernel", "rows"), [(lu, "S"), (cg, "S")])
def test_kernels_come_to_their_end_and_compute_the_same(kernel, rows, processes):
    program = kernel(rows, processes, 2).program(1e9)
    carried = carry_out(program)
    assert carried.blocked == []
    assert carried.unwaited == 0
    alone = carry_out(kernel(rows, 1, 2).program(1e9))
    assert sum(carried.computed.values()) == pytest.approx(sum(alone.computed.values()), rel=1e-3)


def test_lu_sends_five_doubles_for_each_inner_point_of_an_edge():
    points, iterations = LU_CLASSES["S"].points, 3
    result = between(lu("S", 4, iterations).program())
    edge, face = 5 * 8 * (points // 2 - 1), 10 * 8 * points // 2 * points
    assert result[0, 1, float(edge)] == result[1, 0, float(edge)] == iterations * (points - 2)
    assert result[0, 1, float(face)] == result[2, 0, float(face)] == iterations
    assert result[0, 3, float(edge)] == 0


def test_cg_sums_over_rows_and_exchanges_with_the_transposed_position():
    rows = CG_CLASSES["S"].rows
    result = between(cg("S", 16, 2).program())
    vector, products = 8.0 * rows / 4, 2 * 26
    assert result[1, 0, vector] == products  # over the row; 1 and 4 are transposed
    assert result[1, 4, vector] == result[4, 1, vector] == products
    assert result[5, 10, vector] == 0
    assert result[1, 3, 8.0] == 2 * (2 * 25 + 2)


def test_what_kernels_compute_is_what_the_benchmarks_say():
    # Class A: the programs' Mop/s times their seconds are 119280 million operations for LU and 1508 for CG (rounded).
    assert sum(carry_out(cg("A", 1).program(1e6)).computed.values()) == pytest.approx(1508, rel=0.02)
    assert 50 * carry_out(lu("A", 1, 5).program(1e6)).computed[0] == pytest.approx(119280, rel=0.02)
