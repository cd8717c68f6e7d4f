"""Schedules and rules send what MPI libraries send: messages counted in Open MPI 5.0.11 and MPICH 5.0.2.

``python -m benchmarks.validation.collective_messages`` counts them again.
"""

import tomllib
from pathlib import Path

import pytest
from benchmarks.validation.collective_messages import Counted, agrees, as_toml, cases, expected, is_nearest

from commmodel.collectives import Nodes, Problem
from commmodel.collectives.library import load, select
from commmodel.collectives.library.openmpi import FALLBACKS
from commmodel.collectives.library.selection import select_for
from commmodel.collectives.operation import OPERATORS

COUNTED = tomllib.loads((Path(__file__).parents[1] / "oracles" / "collective_messages.toml").read_text())["algorithms"]
CALLS = [tuple(row[name] for name in Counted._fields[:6]) for row in COUNTED]
NAMES = ["-".join(map(str, call)) for call in CALLS]


@pytest.mark.parametrize(("call", "row"), [*zip(CALLS, COUNTED, strict=True)], ids=NAMES)
def test_a_library_sends_as_many_messages_and_bytes_as_ours(call, row):
    for figures in row["rows"]:
        counted = Counted(*call, *figures)
        assert is_nearest(*call[:3]) or agrees(counted), (counted, expected(counted))


def test_what_was_counted_covers_every_fallback_of_open_mpi():
    counts = {
        row["algorithm"]: row
        for row in COUNTED
        if (row["library"], row["operation"], row["operator"]) == ("openmpi", "allreduce", "predefined")
    }
    ring = {(processes, size): messages for _, processes, size, messages, _ in counts["ring"]["rows"]}
    assert ring[16, 8] == 64  # recursive doubling
    assert ring[16, 8 * 15] == 64
    assert ring[16, 8 * 16] == 2 * 15 * 16
    rabenseifner = {(processes, size): messages for _, processes, size, messages, _ in counts["rabenseifner"]["rows"]}
    assert rabenseifner[15, 8] == 2 * 14  # a linear reduction and a linear broadcast
    counted = {(row["operation"], row["operator"] != "non-commutative", row["in_place"]) for row in COUNTED}
    for (operation, _), pairs in FALLBACKS.items():
        for condition, _ in pairs:
            assert (operation, condition != "commutative", condition == "in_place") in counted


def test_what_was_counted_covers_operators_buffers_and_elements():
    for library in ("openmpi", "mpich"):
        rows = [row for row in COUNTED if row["library"] == library]
        assert {row["element"] for row in rows} >= {1, 4, 8, 16, 12}
        assert {row["operator"] for row in rows} == set(OPERATORS)
        assert {row["operation"] for row in rows if row["in_place"]} >= {"allreduce", "alltoall", "reduce_scatter"}
        assert {figures[1] for row in rows for figures in row["rows"]} == {2, 3, 4, 5, 6, 8, 9, 12, 15, 16}


@pytest.mark.parametrize(
    ("library", "operation", "problem", "algorithm"),
    [
        ("mpich-5.0", "allreduce", Problem(16, 65536, operator="commutative"), "recursive-doubling"),
        ("mpich-5.0", "allreduce", Problem(16, 65536), "reduce-scatter-allgather"),
        ("mpich-5.0", "allreduce", Problem(16, 65536, nodes=Nodes(4)), "two-level"),
        ("mpich-5.0", "allreduce", Problem(16, 8, nodes=Nodes(4), operator="non-commutative"), "recursive-doubling"),
        ("mpich-5.0", "reduce", Problem(16, 65536, 3, operator="non-commutative"), "binomial-in-order"),
        ("mpich-5.0", "reduce_scatter_block", Problem(16, 8, operator="non-commutative"), "butterfly"),
        ("mpich-5.0", "reduce_scatter_block", Problem(12, 8, operator="non-commutative"), "recursive-doubling"),
        ("mpich-5.0", "alltoall", Problem(16, 8, in_place=True), "pairwise-in-place"),
        ("openmpi", "allreduce", Problem(16, 65536, operator="non-commutative"), "recursive-doubling"),
        ("openmpi", "allreduce", Problem(16, 8, nodes=Nodes(4), operator="non-commutative"), "recursive-doubling"),
        ("openmpi", "allreduce", Problem(16, 65536, operator="commutative"), "reduce-scatter-allgather-halves"),
        ("openmpi", "reduce", Problem(16, 65536, operator="non-commutative"), "binary-in-order"),
        ("openmpi", "alltoall", Problem(16, 8, in_place=True), "shift-in-place"),
        ("openmpi", "reduce_scatter_block", Problem(16, 8), "binomial-then-binomial"),
        ("openmpi", "reduce_scatter", Problem(16, 8), "recursive-halving"),
    ],
)
def test_libraries_look_at_operators_and_buffers(library, operation, problem, algorithm):
    assert select_for(load(library), operation, problem).algorithm == algorithm


@pytest.mark.parametrize(
    ("size", "processes", "element_size", "algorithm"),
    [
        (8, 16, 8, "recursive-doubling"),  # a ring with fewer elements than processes
        (4096, 8192, 8, "recursive-doubling"),
        (60, 16, 4, "recursive-doubling"),
        (16, 16, 1, "ring"),
        (128, 32, 8, "linear"),  # Rabenseifner's with fewer elements than a power of two
        (256, 32, 8, "reduce-scatter-allgather-halves"),
        (128, 32, 4, "reduce-scatter-allgather-halves"),
        (32768, 8192, 8, "linear"),
    ],
)
def test_open_mpi_takes_another_allreduce_where_there_are_few_elements(size, processes, element_size, algorithm):
    assert select(load("openmpi"), "allreduce", size, processes, element_size).algorithm == algorithm


def test_counts_are_written_as_they_are_read():
    row = Counted("mpich", "reduce", "default", 8, "commutative", False, 1, 4, 64, 3, 192)
    (read,) = tomllib.loads(as_toml([row]))["algorithms"]
    assert read["rows"] == [[1, 4, 64, 3, 192]]
    assert (read["operator"], read["in_place"]) == ("commutative", False)
    assert any(operation == "reduce_scatter" for operation, *_ in cases("openmpi", 4))
