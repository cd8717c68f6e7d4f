"""What older versions of Open MPI pick: to 4.0 by decisions of their own, 4.1 as 5.0 in one level."""

from itertools import product

import pytest

from commmodel.collectives import Problem
from commmodel.collectives.library.selection import dumps, load, picker, select
from commmodel.collectives.operation import SCHEDULED
from commmodel.errors import InputError


@pytest.mark.parametrize(
    ("operation", "size", "processes", "algorithm", "segment_size"),
    [
        ("barrier", 0, 12, "dissemination", None),
        ("bcast", 2047, 64, "binomial-at-once", None),
        ("bcast", 2048, 64, "binary", 1 << 10),
        ("bcast", 1 << 20, 3, "chain", 128 << 10),  # P below 1.6134e-6 n + 2.1102 = 3.8
        ("bcast", 1 << 20, 12, "binary", 8 << 10),
        ("bcast", 8 << 20, 13, "chain", 128 << 10),  # below 15.6
        ("bcast", 8 << 20, 16, "chain", 64 << 10),  # below 2.3679e-6 n + 1.1787 = 21.0
        ("bcast", 8 << 20, 22, "chain", 16 << 10),  # below 3.2118e-6 n + 8.7936 = 35.7
        ("bcast", 8 << 20, 36, "chain", 8 << 10),
        ("reduce", 511, 7, "linear", None),
        ("reduce", 20479, 7, "binomial", None),
        ("reduce", 64 << 10, 40, "binomial", None),  # P above 0.6016 n / 1024 + 1.3496 = 39.9
        ("reduce", 64 << 10, 39, "chain", 1 << 10),  # above 0.0410 n / 1024 + 9.7128 = 12.3
        ("reduce", 64 << 10, 12, "binary", 32 << 10),  # above 0.0422 n / 1024 + 1.1614 = 3.9
        ("reduce", 64 << 10, 3, "chain", 32 << 10),  # above 0.0033 n / 1024 + 1.6761 = 1.9
        ("reduce", 16 << 20, 16, "chain", 64 << 10),
        ("allreduce", 9999, 64, "recursive-doubling", None),
        ("allreduce", 10000, 64, "ring", None),
        ("allreduce", 10000, 2000, "reduce-broadcast", None),
        ("gather", 6001, 64, "linear", None),
        ("gather", 6000, 64, "binomial", None),
        ("gather", 1024, 60, "linear", None),
        ("scatter", 299, 11, "binomial", None),
        ("scatter", 300, 11, "linear", None),
        ("allgather", 49999 // 64, 64, "recursive-doubling", None),
        ("allgather", 50000 // 50, 50, "neighbor-exchange", None),
        ("alltoall", 199, 13, "bruck", None),
        ("alltoall", 199, 12, "linear", None),
        ("alltoall", 3000, 12, "pairwise", None),
        ("reduce_scatter", 262144 // 64, 64, "recursive-halving", None),
        ("reduce_scatter", 12288 // 10 + 1, 10, "ring", None),
        ("reduce_scatter", 512, 25, "recursive-halving", None),  # P above 0.0012 n P + 8 = 23.4
    ],
)
def test_open_mpi_to_4_0_picks_by_its_own_fixed_decisions(operation, size, processes, algorithm, segment_size):
    rule = select(load("openmpi-4.0"), operation, size, processes)
    assert (rule.algorithm, rule.segment_size) == (algorithm, segment_size)


@pytest.mark.parametrize("library", ["openmpi", "openmpi-json", "mpich"])
def test_no_file_of_a_library_has_lines_over_sizes(library):
    with pytest.raises(InputError, match="a rule for bcast has processes_above"):
        dumps(load("openmpi-4.0"), library)
    assert "processes_above" in dumps(load("openmpi-4.0"))


def test_open_mpi_4_1_picks_as_5_0_does_but_in_one_level():
    old, new = load("openmpi-4.1"), load("openmpi")
    for operation, size, processes in product(SCHEDULED, (8, 1 << 16, 1 << 22), (16, 64)):
        flat = select(new, operation, size, processes)
        assert select(old, operation, size, processes, per_node=4) == flat
    assert select(new, "allreduce", 1 << 20, 64, per_node=4).algorithm == "two-level-pipelined"
    assert picker(old, "allreduce", Problem(64, 8)) == "Open MPI 4.1"
