"""Python functions called on simulated ranks."""

import functools
import sys
import threading

import numpy as np
import pytest

from commmodel import simulate
from commmodel.errors import DeadlockError, InputError, RankEndedError

pytestmark = pytest.mark.mpi

FACTOR = 3


def scaled(communicator, values, factor=FACTOR):
    return communicator.rank, factor * communicator.allreduce(sum(values))


def run(function, ranks=4, **options):
    return simulate.function(function, ranks, on="graphene", computation=0, **options)


def test_a_function_gets_the_communicator_and_returns_what_it_returns():
    result = run(scaled, args=([1, 2],))
    assert result.returned == ((0, 36), (1, 36), (2, 36), (3, 36))
    assert result.title == "scaled on 4 ranks"
    assert result.messages > 0
    assert result.seconds > 0


def test_lambdas_closures_and_partials_are_functions_too():
    offsets = np.arange(3)
    assert run(lambda comm: int(offsets.sum()) + comm.rank).returned == (3, 4, 5, 6)
    assert run(functools.partial(scaled, factor=1), args=([1],), ranks=2).returned == ((0, 2), (1, 2))


def test_arrays_come_back():
    (left, right) = run(lambda comm: np.full(2, comm.rank), ranks=2).returned
    assert left.tolist() == [0, 0]
    assert right.tolist() == [1, 1]


def test_the_clock_is_simulated():
    def ring(comm):
        from mpi4py import MPI

        begin = MPI.Wtime()
        comm.sendrecv(bytes(1 << 20), (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
        return MPI.Wtime() - begin

    result = run(ring)
    assert max(result.returned) == pytest.approx(result.seconds, rel=0.05)


def test_what_a_rank_raises_is_told_with_its_line():
    def failing(comm):
        if comm.rank == 2:
            raise ValueError("no such cell")
        comm.barrier()

    with pytest.raises(RankEndedError, match="rank 2 raised ValueError: no such cell") as raised:
        run(failing)
    (note,) = raised.value.__notes__
    assert "test_functions.py" in note
    assert 'raise ValueError("no such cell")' in note


def test_a_deadlock_names_the_lines_of_the_function():
    def waiting(comm):
        if comm.rank == 0:
            return "over"
        return comm.recv(source=0)

    with pytest.raises(DeadlockError, match=r"1 of 2 ranks never end: rank 1 waits .*test_functions\.py:\d+") as raised:
        run(waiting, ranks=2)
    assert raised.value.result.blocked[0].rank == 1
    assert run(waiting, ranks=2, deadlock="return").returned == ("over", None)


def test_what_cannot_be_sent_is_refused():
    with pytest.raises(InputError, match="cannot be sent to the ranks"):
        run(scaled, args=(threading.Lock(),))
    with pytest.raises(InputError, match="target is 'scaled': give a function"):
        run("scaled")
    with pytest.raises(InputError, match="ranks is 0: give a whole number"):
        run(scaled, ranks=0)


def test_a_command_is_run():
    code = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    result = simulate.command([sys.executable, "-c", code], 3, on="graphene", computation=0)
    assert (result.ends.size, result.returned) == (3, ())
    assert result.seconds > 0
