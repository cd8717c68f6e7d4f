"""Python functions called on simulated ranks."""

import functools
import inspect
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from commmodel import simulate
from commmodel.errors import DeadlockError, InputError, RankEndedError
from commmodel.simulate.critical_path import critical_path

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


def test_findings_and_clocks_are_asked_for_by_name():
    def program(comm):
        comm.Dup()
        time.sleep(1)

    result = run(program, ranks=2, check=True, clocks="simulated")
    assert [finding.kind for finding in result.findings] == ["leak of a communicator"]
    assert 1 < result.seconds < 1.01
    with pytest.raises(InputError, match="clocks is 'sundial': choose one of machine, simulated"):
        run(program, clocks="sundial")
    with pytest.raises(InputError, match="unknown argument check"):
        simulate.collective("bcast", 8, 4, on="graphene", check=True)


def test_other_orders_of_messages_show_a_race_and_keep_the_first_one_s_answers():
    def race(comm):
        if comm.rank > 0:
            return comm.send(comm.rank, 0)
        first, second = comm.recv(), comm.recv()
        assert first == 1
        return first, second

    result = run(race, ranks=3, orders="all")
    assert result.returned[0] == (1, 2)
    assert [(finding.kind, finding.ranks) for finding in result.findings] == [("message race", (0,))]
    assert result.notes[-1] == "2 orders of messages were run, which are all"
    with pytest.raises(InputError, match="computation is 1: give 0"):
        simulate.function(race, 3, on="graphene", computation=1, orders=5)
    with pytest.raises(InputError, match="orders is 0"):
        run(race, orders=0)


def test_other_orders_are_run_where_the_first_one_raises_or_hangs():
    def race(comm, ends):
        if comm.rank > 0:
            return comm.send(comm.rank, 0)
        first, second = comm.recv(), comm.recv()
        if first == 1:
            assert not ends
            comm.recv()
        return first, second

    with pytest.raises(RankEndedError, match="rank 0 raised AssertionError") as raised:
        run(race, 3, args=(True,), orders="all")
    [finding] = raised.value.findings
    assert finding.kind == "message race"
    assert "but not where rank 0 gets the message of rank 2" in str(finding)
    notes = raised.value.__notes__
    assert notes[0].startswith("On rank 0:\nTraceback")
    assert notes[1:] == [f"finding: {finding}", "note: 2 orders of messages were run, which are all"]
    with pytest.raises(DeadlockError) as hanging:
        run(race, 3, args=(False,), orders="all")
    assert [entry.kind for entry in hanging.value.result.findings] == ["message race"]


def test_a_notebook_s_cell_is_named_as_its_reader_knows_it():
    """Not by the temporary file that it is compiled from."""
    call = "simulate.function(lambda comm: comm.recv(), 2, on='graphene', deadlock='return').deadlock_lines()"
    words = [sys.executable, "-m", "IPython", "--colors=NoColor", "-c", f"from commmodel import simulate\n{call}"]
    process = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "In[1]:2" in process.stdout


def test_a_command_is_run():
    code = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    result = simulate.command([sys.executable, "-c", code], 3, on="graphene", computation=0)
    assert (result.ends.size, result.returned) == (3, ())
    assert result.seconds > 0


def test_the_critical_path_of_a_program_names_its_lines():
    def late(comm):
        from mpi4py import MPI

        if comm.rank == 1:
            sum(range(10**6))
            comm.Send([bytes(8), MPI.BYTE], 0)
        elif comm.rank == 0:
            comm.Recv([bytearray(8), MPI.BYTE], 1)

    result = simulate.function(late, 2, on="graphene", record=True)
    shares = critical_path(result).by_site()
    first = inspect.getsourcelines(late)[1]
    names = [share.name for share in shares]
    assert names[0] == f"computation before test_functions.py:{first + 5}, MPI_Send"
    assert {f"test_functions.py:{first + 5}, MPI_Send", f"test_functions.py:{first + 7}, MPI_Recv"} & set(names)
    assert shares[0].share > 0.5


def test_marks_of_call_sites_change_no_time():
    runs = [run(scaled, args=([1],), record=is_recorded) for is_recorded in (False, True)]
    assert runs[0].seconds == runs[1].seconds
    assert any("MPI_Allreduce" in site or "MPI_Bcast" in site for site in runs[1].sites)


def test_a_line_of_a_library_is_named_with_the_line_that_calls_it(tmp_path):
    library = tmp_path / "site-packages" / "heat.py"
    library.parent.mkdir()
    library.write_text("def total(comm):\n    return inner(comm)\n\n\ndef inner(comm):\n    return comm.Barrier()\n")

    def twice(comm):
        sys.path.insert(0, str(library.parent))
        import heat

        heat.total(comm)
        heat.total(comm)

    sites = simulate.function(twice, 2, on="graphene", record=True).sites
    first = inspect.getsourcelines(twice)[1]
    names = [f"heat.py:6 from test_functions.py:{first + number}, MPI_Barrier" for number in (4, 5)]
    assert [site for site in sites if site.startswith("heat.py")] == names
