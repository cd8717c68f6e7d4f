"""Memory that MPI keeps, on real MPI: without the counting library nothing is counted, and every rank is told so."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.mpi import memory
from commmodel.bench import process_memory
from commmodel.bench.kernels import check
from commmodel.bench.kernels import memory as kernel
from commmodel.errors import MPIEnvironmentError
from commmodel.results.configurations import Memory, MemoryOperation

COMM = MPI.COMM_WORLD
WINDOWS = np.zeros(1024, dtype=np.uint8)

without_library = pytest.mark.skipif(memory.is_counting(), reason="the counting library is loaded")


@pytest.mark.parallel([1, 2, 4])
def test_the_loop_knows_the_calls_of_the_file_format():
    assert tuple(memory.OPERATIONS) == MemoryOperation.__args__[2:]


@without_library
@pytest.mark.parallel([1, 2, 4])
def test_without_the_library_nothing_is_counted():
    for count in (memory.counters, lambda: memory.kept(COMM, "comm_dup", WINDOWS, 64, 8)):
        with pytest.raises(RuntimeError, match="LD_PRELOAD"):
            count()


@pytest.mark.parallel([1, 2, 4])
def test_every_rank_learns_that_one_does_not_count(monkeypatch):
    monkeypatch.setattr(memory, "is_counting", lambda: COMM.rank != COMM.size - 1)
    where = "not loaded: " if COMM.size == 1 else f"not loaded on rank {COMM.size - 1}: "
    with pytest.raises(MPIEnvironmentError, match=f"{where}start it with mpiexec -n {COMM.size} env LD_PRELOAD="):
        check(COMM, [Memory("comm_dup", COMM.size)])
    check(COMM, [Memory("init", COMM.size, "private")])


@pytest.mark.parallel(2)
def test_a_system_on_which_the_library_was_not_built_is_told_what_can_be_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "is_counting", lambda: False)
    monkeypatch.setattr(kernel, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(MPIEnvironmentError, match=r"on Linux only .*ask for --memory-operations init,use"):
        check(COMM, [Memory("comm_dup", 2)])


@pytest.mark.skipif(not process_memory.ROLLUP.is_file(), reason="the system has no smaps_rollup")
@pytest.mark.parallel([1, 2, 4])
def test_what_is_sent_to_use_mpi_is_gone_when_the_memory_is_read(monkeypatch):
    size = 32 << 20
    monkeypatch.setattr(process_memory, "_LARGE", size)
    monkeypatch.setattr(process_memory, "_ROUNDS", 1)
    monkeypatch.setattr(process_memory, "_readings", {})
    monkeypatch.setattr(process_memory, "_ranks", [])
    process_memory.before_mpi()
    process_memory.after_init()
    process_memory.after_use(COMM)
    assert process_memory.ranks() == COMM.size
    assert process_memory.grown("init", "private") < size
    assert process_memory.grown("use", "private") < size


@pytest.mark.parallel([1, 2, 4])
def test_a_measure_that_one_rank_lacks_is_left_out_on_all(monkeypatch):
    result = {"private": 1, "pss": 1} if COMM.rank else {"private": 1}
    monkeypatch.setattr(process_memory, "_readings", {})
    monkeypatch.setattr(process_memory, "_ranks", [])
    monkeypatch.setattr(process_memory, "read", lambda: dict(result))
    process_memory.before_mpi()
    process_memory.after_init()
    process_memory.after_use(COMM)
    assert process_memory.grown("use", "private") == 0
    assert process_memory.grown("use", "pss") is None
