"""Schedules and rules send what MPI libraries send: messages counted in Open MPI 5.0.11 and MPICH 5.0.2.

``python -m benchmarks.validation.collective_messages`` counts them again.
"""

import tomllib
from pathlib import Path

import pytest
from benchmarks.validation.collective_messages import Counted, agrees, as_toml, cases, expected, is_nearest

from commmodel.collectives.library import load, select
from commmodel.collectives.library.openmpi import FALLBACKS

COUNTED = tomllib.loads((Path(__file__).parents[1] / "oracles" / "collective_messages.toml").read_text())["algorithms"]
NAMES = [(row["library"], row["operation"], row["algorithm"], row["element"]) for row in COUNTED]


@pytest.mark.parametrize("row", COUNTED, ids=["-".join(map(str, name)) for name in NAMES])
def test_a_library_sends_as_many_messages_and_bytes_as_ours(row):
    name = row["library"], row["operation"], row["algorithm"]
    for call in row["rows"]:
        counted = Counted(*name, row["element"], *call)
        assert is_nearest(*name) or agrees(counted), (counted, expected(counted))


def test_what_was_counted_covers_every_fallback_of_open_mpi():
    counts = {
        row["algorithm"]: row for row in COUNTED if row["library"] == "openmpi" and row["operation"] == "allreduce"
    }
    ring = {(processes, size): messages for processes, size, messages, _ in counts["ring"]["rows"]}
    assert ring[16, 8] == 64  # recursive doubling
    assert ring[16, 8 * 15] == 64
    assert ring[16, 8 * 16] == 2 * 15 * 16
    rabenseifner = {(processes, size): messages for processes, size, messages, _ in counts["rabenseifner"]["rows"]}
    assert rabenseifner[15, 8] == 2 * 14  # a linear reduction and a linear broadcast
    assert {operation for operation, _ in FALLBACKS} <= {row["operation"] for row in COUNTED}


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
    row = Counted("mpich", "bcast", "default", 8, 4, 64, 3, 192)
    (read,) = tomllib.loads(as_toml([row]))["algorithms"]
    assert read["rows"] == [[4, 64, 3, 192]]
    assert any(operation == "reduce_scatter" for operation, *_ in cases("openmpi", 4))
