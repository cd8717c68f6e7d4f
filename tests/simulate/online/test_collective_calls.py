"""Collectives of programs that run while they are simulated, as the records that the simulator gets."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.simulated_runs import simulate_script

import commmodel
from commmodel.collectives import CollectiveSettings
from commmodel.collectives.call import MOVED, CollectiveCall
from commmodel.collectives.operation import OPERATORS
from commmodel.errors import InputError
from commmodel.simulate.online.collectives import Collectives
from commmodel.simulate.operations import Code

CORE = Path(commmodel.__file__).parent / "_core"

TWO_AT_ONCE = """
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
side = world.rank % 2
group = world.Split(side, world.rank)
between = group.Create_intercomm(0, world, 1 - side, 5)
sent = numpy.full(100 * between.remote_size, world.rank)
received = [numpy.empty_like(sent) for _ in range(3)]
for _ in range(4):
    MPI.Request.Waitall([between.Ialltoall(sent, into) for into in received])
print(world.rank, sorted({*received[2].tolist()}))
"""


def number_of(operation):
    return list(MOVED).index(operation)


def test_operations_have_the_same_numbers_in_c():
    header = next(CORE.rglob("collectives.h")).read_text()
    verbs = re.search(r"enum verb \{(.*?)\}", header, re.DOTALL)[1]
    names = [name.strip().lower() for name in verbs.split(",") if name.strip()]
    assert names[: len(MOVED)] == list(MOVED)
    assert all(name.startswith("neighbor_") for name in names[len(MOVED) : -1])


def test_fields_stand_in_the_order_of_the_record():
    collectives = Collectives(4, [1e9] * 4, CollectiveSettings())
    fields = (number_of("reduce"), 8, 0, 1, 4, OPERATORS.index("commutative"), False, 0, (), ())
    operations, has_more = collectives.begin(0, 2, -5, fields)
    expected, _ = collectives._expander.expand(
        CollectiveCall("reduce", 8, root=1, element=4, operator="commutative"), 2
    )
    assert not has_more
    assert operations["value"].tolist() == expected["value"].tolist()
    assert set(operations["tag"][np.isin(operations["code"], (Code.ISEND, Code.IRECV))].tolist()) == {-5}


def test_another_run_has_what_the_one_before_has_made_and_no_communicators():
    first = Collectives(4, [1e9] * 4, CollectiveSettings())
    world = (number_of("barrier"), 0, 0, 0, 1, 0, False, 0, (), ())
    pair = (number_of("barrier"), 0, 0, 0, 1, 0, False, 1, (), ())
    first.define(2, 1, np.array([0, 2]), np.array([], dtype=int))
    before = [first.begin(2, 2, -5, fields)[0].tolist() for fields in (world, pair)]
    second = Collectives(4, [1e9] * 4, CollectiveSettings(), first)
    with pytest.raises(InputError, match="communicator 1"):
        second.begin(2, 2, -5, pair)
    second.define(2, 1, np.array([2, 3]), np.array([], dtype=int))
    assert second.begin(2, 2, -5, world)[0].tolist() == before[0]
    peers = second.begin(2, 2, -5, pair)[0]["peer"].tolist()
    assert {*peers} - {-1} == {3}


def test_each_group_of_an_intercommunicator_has_collectives_of_its_own():
    collectives = Collectives(5, [1e9] * 5, CollectiveSettings())
    groups = np.array([0, 2, 4]), np.array([1, 3])
    for rank in range(5):
        value = rank % 2
        collectives.define(rank, 1, groups[value], groups[1 - value])
    fields = (number_of("allgather"), 8, 8, 0, 0, 0, False, 1, (), ())
    peers = [{*collectives.begin(rank, rank, -7, fields)[0]["peer"].tolist()} - {-1} for rank in range(5)]
    assert [{peer for peer in peers[rank] if peer % 2 != rank % 2} for rank in range(5)] == [
        {1},
        {0},
        set(),
        set(),
        set(),
    ]


@pytest.mark.mpi
def test_collectives_of_an_intercommunicator_may_be_pending_at_once(tmp_path):
    done = simulate_script(tmp_path, TWO_AT_ONCE, "--compute", "0", processes=5)
    assert done.returncode == 0, done.stderr
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line[:1].isdigit()]
    assert sorted(lines) == ["0 [1, 3]", "1 [0, 2, 4]", "2 [1, 3]", "3 [0, 2, 4]", "4 [1, 3]"]


GROUPS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
pair = world.Get_group().Incl([world.rank // 2 * 2, world.rank // 2 * 2 + 1])
first = MPI.Intracomm.Create_from_group(pair, {text})
second = world.Create_group(pair, 7 + world.rank // 2)
print(world.rank, first.allreduce(world.rank), second.allreduce(1))
"""


@pytest.mark.mpi
@pytest.mark.parametrize(("text", "code"), [("'ab'", 0), ("'bA' if world.rank else 'ab'", 1)])  # of one hash, by 33s
def test_groups_make_communicators_where_all_give_the_same_text(tmp_path, text, code):
    done = simulate_script(tmp_path, GROUPS.format(text=text), "--compute", "0", processes=4)
    assert (done.returncode != 0) == code, done.stderr
    lines = [line for line in (done.stderr + done.stdout).splitlines() if re.fullmatch(r"\d \d \d", line)]
    assert sorted(lines) == (["2 5 2", "3 5 2"] if code else ["0 1 2", "1 1 2", "2 5 2", "3 5 2"])
    if code:
        assert "MPI_Comm_create_from_group" in done.stderr


RING_OF_TWO = """
import numpy
from mpi4py import MPI
ring = MPI.COMM_WORLD.Create_cart([2], periods=[True])
sent = numpy.arange(6) + 10 * ring.rank
received = numpy.zeros(6, dtype=int)
ring.Neighbor_alltoallv([sent, ([2, 4], [0, 2])], [received, ([4, 2], [0, 4])])
print(*received)
"""


@pytest.mark.mpi
def test_what_goes_up_a_ring_of_two_comes_from_below(tmp_path):
    done = simulate_script(tmp_path, RING_OF_TWO, "--compute", "0", processes=2)
    assert done.returncode == 0, done.stderr
    assert {"12 13 14 15 10 11", "2 3 4 5 0 1"} < {*done.stdout.splitlines(), *done.stderr.splitlines()}
