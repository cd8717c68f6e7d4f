"""Memory that MPI keeps: the counting library against what is known, the kernel's plan, and real runs of it."""

import ctypes
import json
import os
import subprocess
import sys
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.launching import error_lines, launch
from support.report_samples import header, shown

from commmodel.bench import process_memory
from commmodel.bench.kernels import REGISTRY, buffer_bytes, left_out, participants
from commmodel.bench.kernels.memory import LIBRARY
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.report import measurements_table
from commmodel.report.measurements.memory import memory_tables
from commmodel.results import Launch, Measurements, Record, load
from commmodel.results.configurations import Memory
from commmodel.scaling.series import series_over

needs_library = pytest.mark.skipif(not LIBRARY.is_file(), reason="allocations are counted on Linux only")
CALLS = ("comm_create", "comm_dup", "comm_split", "win_create", "win_allocate", "cart_create")
PAIR = place([0, 0], [0, 0])
PAGE = os.sysconf("SC_PAGESIZE")


# The library that counts, without MPI

COUNTING = """
import ctypes, sys

class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("allocated", "blocks", "anonymous", "shared", "unlisted")]

libc = ctypes.CDLL(None)
for name in ("malloc", "calloc", "realloc", "aligned_alloc", "mmap"):
    getattr(libc, name).restype = ctypes.c_void_p
before, after = Counts(), Counts()
read = libc.commmodel_read_allocations
usable = libc.malloc_usable_size
usable.restype = ctypes.c_size_t

def changed():
    return [getattr(after, name) - getattr(before, name) for name, _ in Counts._fields_]
"""

ALLOCATING = (
    COUNTING
    + """
blocks = []
aligned = ctypes.c_void_p()
for kind, size, which in eval(sys.argv[1]):
    old = ctypes.c_void_p(blocks.pop(which % len(blocks)) if kind in ("realloc", "free") and blocks else None)
    arguments = {
        "malloc": (libc.malloc, ctypes.c_size_t(size)),
        "calloc": (libc.calloc, ctypes.c_size_t(3), ctypes.c_size_t(size)),
        "aligned_alloc": (libc.aligned_alloc, ctypes.c_size_t(64), ctypes.c_size_t(64 * size)),
        "posix_memalign": (libc.posix_memalign, ctypes.byref(aligned), ctypes.c_size_t(4096), ctypes.c_size_t(size)),
        "realloc": (libc.realloc, old, ctypes.c_size_t(size)),
        "free": (libc.free, old),
    }[kind]
    call, *rest = arguments
    lost = usable(old)
    read(ctypes.byref(before))
    got = call(*rest)
    read(ctypes.byref(after))
    block = None if kind == "free" else aligned.value if kind == "posix_memalign" else got
    if block is not None:
        blocks.append(block)
    gained = usable(ctypes.c_void_p(block))
    number = (block is not None) - (old.value is not None)
    assert changed() == [gained - lost, number, 0, 0, 0], (kind, size, changed(), gained, lost)
    assert gained >= size or kind == "free"
"""
)

MAPPING = (
    COUNTING
    + """
PAGE, STEPS = eval(sys.argv[1])
PRIVATE, SHARED, ANONYMOUS, FIXED = 2, 1, 32, 16
room = libc.mmap(None, ctypes.c_size_t(64 * PAGE), 0, PRIVATE | ANONYMOUS, -1, ctypes.c_long(0))
pages = {}
read(ctypes.byref(before))
for kind, first, count in STEPS:
    place, length = ctypes.c_void_p(room + first * PAGE), ctypes.c_size_t(count * PAGE - 1)
    touched = range(first, first + count)
    if kind == "munmap":
        assert libc.munmap(place, length) == 0
        for page in touched:
            pages.pop(page, None)
    else:
        flags = FIXED | ANONYMOUS | (SHARED if kind == "shared" else PRIVATE)
        assert libc.mmap(place, length, 3, flags, -1, ctypes.c_long(0)) == room + first * PAGE
        pages |= dict.fromkeys(touched, kind)
    read(ctypes.byref(after))
    kinds = [*pages.values()]
    expected = [kinds.count(kind) * PAGE for kind in ("anonymous", "shared")]
    assert changed()[2:] == [*expected, 0], (kind, first, count, changed(), expected)
"""
)


def counted(code, *arguments, **environment):
    """Run a program whose allocations are counted, and return what it prints."""
    command = [sys.executable, "-I", "-S", "-c", code, *map(repr, arguments)]
    environment = os.environ | {"LD_PRELOAD": str(LIBRARY)} | environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


KINDS = st.sampled_from(["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "free"])
SIZES = st.one_of(st.integers(1, 3000), st.integers(1, 1 << 22))


@needs_library
@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(KINDS, SIZES, st.integers(0, 99)), min_size=1, max_size=60))
def test_every_way_to_allocate_and_free_is_counted_to_the_byte(steps):
    counted(ALLOCATING, steps)


MAPPINGS = st.tuples(st.sampled_from(["anonymous", "shared", "munmap"]), st.integers(0, 40), st.integers(1, 20))


@needs_library
@settings(max_examples=15, deadline=None)
@given(st.lists(MAPPINGS, min_size=1, max_size=40))
def test_mappings_are_counted_whatever_part_of_them_is_replaced_or_unmapped(steps):
    counted(MAPPING, (PAGE, steps))


THREADS = (
    COUNTING
    + """
import threading
pattern = b"(ab|cd|ef)*" * 100  # takes many blocks, and gives them back, without a look at Python's lock

def churn():
    compiled = ctypes.create_string_buffer(1024)
    for _ in range(60):
        assert libc.regcomp(compiled, pattern, 1) == 0
        libc.regfree(compiled)

def run():
    threads = [threading.Thread(target=churn) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

run()
read(ctypes.byref(before))
run()
read(ctypes.byref(after))
assert abs(changed()[1]) < 20, changed()
"""
)


@needs_library
def test_threads_do_not_disturb_each_others_counts():
    counted(THREADS)


@needs_library
def test_a_program_that_forks_and_one_that_starts_another_go_on():
    code = (
        "import os, subprocess, sys\nif os.fork() == 0: os._exit(0)\nos.wait(); subprocess.run([sys.executable, '-V'])"
    )
    assert "Python" in counted(code)


# What is planned


def plan_for(*arguments, procs=(2, 4)):
    return msgspec.structs.replace(parse(("memory", *arguments)).options, procs=procs)


@pytest.fixture
def readings(monkeypatch):
    """Let the process's memory have been read: of 4 ranks, with what a test puts into it."""
    table = {stage: {"private": 1000 * place, "pss": 2000 * place} for place, stage in enumerate(("before", "init"), 1)}
    table["use"] = {"private": 500, "pss": 9000}
    monkeypatch.setattr(process_memory, "_readings", table)
    monkeypatch.setattr(process_memory, "_ranks", [4])
    return table


@pytest.mark.usefixtures("readings")
def test_each_call_is_planned_on_each_number_of_processes_and_the_process_on_all_ranks():
    plan = make_plan(plan_for(), PAIR)
    calls = {Memory(call, processes, how) for call in CALLS for processes in (2, 4) for how in ("allocated", "mapped")}
    of_process = {Memory(stage, 4, measure) for stage in ("init", "use") for measure in ("private", "pss")}
    assert Counter(plan) == Counter(calls | of_process)
    assert not left_out(plan_for())
    assert participants(Memory("comm_dup", 3), {}) == [0, 1, 2]
    assert buffer_bytes(plan)[0] >= 9 * 64


@pytest.mark.usefixtures("readings")
def test_operations_may_be_chosen():
    assert set(make_plan(plan_for("--memory-operations", "comm_dup,use", procs=(3,)), PAIR)) == {
        Memory("comm_dup", 3), Memory("comm_dup", 3, "mapped"), Memory("use", 4, "private"), Memory("use", 4, "pss"),
    }  # fmt: skip
    with pytest.raises(InputError, match="--memory-operations: unknown operation that keeps memory 'comm_free'"):
        plan_for("--memory-operations", "comm_free")


def test_what_the_system_does_not_tell_is_left_out_and_named(readings):
    for reading in readings.values():
        del reading["pss"]
    plan = make_plan(plan_for("--memory-operations", "init,use"), PAIR)
    assert set(plan) == {Memory("init", 4, "private"), Memory("use", 4, "private")}
    (line,) = left_out(plan_for())
    assert "smaps_rollup" in line
    assert line.endswith("pss memory of init and use")
    assert not left_out(plan_for("--memory-operations", "comm_dup"))


def test_the_kernel_waits_to_be_named():
    assert REGISTRY["memory"].by_default is None


# The process's memory

ROLLUP = """\
55d0-7ffc ---p 00000000 00:00 0                          [rollup]
Rss:                1776 kB
Pss_Anon:            112 kB
Pss_Shmem:            30 kB
Private_Clean:        40 kB
Private_Dirty:       100 kB
Private_Hugetlb:    2048 kB
"""


def test_private_and_pss_are_sums_of_what_linux_says(tmp_path):
    (tmp_path / "rollup").write_text(ROLLUP)
    result = process_memory.read(tmp_path / "rollup")
    assert result == {"private": (100 + 2048) << 10, "pss": (112 + 30 + 2048) << 10}


def test_an_older_or_another_system_tells_less(tmp_path):
    (tmp_path / "rollup").write_text(ROLLUP.replace("Pss_Shmem", "Other"))
    assert process_memory.read(tmp_path / "rollup").keys() == {"private"}
    assert process_memory.read(tmp_path / "none") == {}


@pytest.mark.skipif(not process_memory.ROLLUP.is_file(), reason="the system has no smaps_rollup")
def test_memory_that_is_written_is_found_and_gone_when_given_back():
    before = process_memory.read()
    result = np.ones(64 << 20, dtype=np.uint8)
    with_it = process_memory.read()
    del result
    after = process_memory.read()
    for measure in ("private", "pss"):
        assert with_it[measure] - before[measure] == pytest.approx(64 << 20, rel=0.1)
        assert abs(after[measure] - before[measure]) < 8 << 20


def test_growth_may_be_negative_and_is_unknown_where_nobody_read(readings):
    assert process_memory.grown("init", "private") == 1000
    assert process_memory.grown("use", "private") == -500
    readings.clear()
    assert process_memory.grown("use", "private") is None


# Real runs


def bench(ranks, *arguments, counting=True):
    preload = ("env", f"LD_PRELOAD={LIBRARY}") if counting else ()
    return launch(ranks, *preload, sys.executable, "-m", "commmodel.bench", "memory", *arguments)


@needs_library
@pytest.mark.mpi
def test_a_run_finds_what_calls_and_the_process_keep_and_finds_it_again(tmp_path):
    medians = []
    for name in ("one", "other"):
        file = tmp_path / f"{name}.jsonl"
        done = bench(
            4,
            "--memory-operations",
            "comm_dup,init,use",
            "--per-rank",
            "--process-counts",
            "2:all",
            "--time",
            "1s",
            "-o",
            file,
        )
        assert done.returncode == 0, done.stderr
        records = {record.configuration: record for record in load(file).records}
        medians.append({entry: record.summary.median for entry, record in records.items()})
    dups = {Memory("comm_dup", processes, how) for processes in (2, 4) for how in ("allocated", "mapped")}
    of_process = set(records) - dups
    assert dups < set(records)
    assert of_process <= {Memory(stage, 4, measure) for stage in ("init", "use") for measure in ("private", "pss")}
    for entry, record in records.items():
        assert record.unit == "B"
        assert len(record.samples) == (8 if entry in dups else 1)
        assert len(record.ranks) == entry.processes
        assert record.samples == tuple(map(max, zip(*record.ranks, strict=True)))
        if entry.measure == "allocated":
            assert 100 < medians[0][entry] < 1e6
            assert medians[0][entry] == pytest.approx(medians[1][entry], rel=0.05)
        if entry in of_process:
            assert 100e3 < medians[0][entry] < 1e9


@pytest.mark.mpi
def test_without_the_library_the_kernel_is_refused_with_the_command_to_run():
    done = bench(2, "--memory-operations", "comm_dup,init", counting=False)
    assert done.returncode == 3
    (line,) = error_lines(done, "commmodel.bench")
    assert "the library that counts allocations is not loaded: start it with mpiexec -n 2 env LD_PRELOAD=" in line
    assert "python -m commmodel.bench memory --memory-operations comm_dup,init" in line


@pytest.mark.mpi
@pytest.mark.skipif(not process_memory.ROLLUP.is_file(), reason="the system has no smaps_rollup")
def test_the_process_alone_needs_no_library(tmp_path):
    file = tmp_path / "results.jsonl"
    done = bench(2, "--memory-operations", "init,use", "-o", file, counting=False)
    assert done.returncode == 0, done.stderr
    assert {record.configuration.operation for record in load(file).records} == {"init", "use"}
    resumed = launch(2, sys.executable, "-m", "commmodel.bench", "--resume", "-o", file)
    assert resumed.returncode == 0, resumed.stderr
    assert "complete" in resumed.stdout


# Counted by us and by the allocator itself; what is known of the call; both around real calls of MPI.
AGAINST_ALLOCATOR = """
import ctypes, json
from mpi4py import MPI
from commmodel._core.mpi import memory

class Totals(ctypes.Structure):
    _fields_ = [(f"field{place}", ctypes.c_size_t) for place in range(10)]

tell = ctypes.CDLL(None).mallinfo2
tell.restype = Totals
comm = MPI.COMM_WORLD
made = [comm.Dup() for _ in range(3)]  # what is set up once
found = []
for _ in range(12):
    comm.Barrier()
    one, first = tell(), memory.counters()
    made.append(comm.Dup())
    two, then = tell(), memory.counters()
    by_allocator = two.field7 - one.field7
    ours = then["allocated"] - first["allocated"]
    headers = ctypes.sizeof(ctypes.c_size_t) * (then["blocks"] - first["blocks"])
    if two.field4 == one.field4:  # no block that is a mapping of its own
        found.append((by_allocator, ours + headers))
for one in made:
    one.Free()
first = memory.counters()
taken = MPI.Alloc_mem(100_000)
then = memory.counters()
MPI.Free_mem(taken)
planted = sum(then[name] - first[name] for name in ("allocated", "anonymous", "shared"))
if comm.rank == 0:
    print("FOUND", json.dumps((found, planted)))
"""


@needs_library
@pytest.mark.mpi
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the allocator does not tell its totals")
def test_counts_of_mpi_calls_are_those_of_the_allocator_itself():
    # Blocks that wait in a thread's own list to be used again are free for us, but used for mallinfo2.
    environment = ("env", f"LD_PRELOAD={LIBRARY}", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0")
    done = launch(2, *environment, sys.executable, "-c", AGAINST_ALLOCATOR)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("FOUND"))
    result, planted = json.loads(line.removeprefix("FOUND"))
    assert len(result) >= 3
    assert sum(item == entry > 0 for entry, item in result) > len(result) / 2, result
    assert 100_000 <= planted <= 100_000 + 2 * PAGE


# What is made of it


def records(samples):
    return Measurements((Launch(header(), tuple(Record(entry, "B", values) for entry, values in samples.items())),))


def test_memory_is_a_series_over_processes_each_measure_of_its_own():
    result = records(
        {
            Memory("comm_dup", 2): (100.0,),
            Memory("comm_dup", 4): (100.0,),
            Memory("comm_dup", 4, "mapped"): (0.0,),
            Memory("use", 4, "pss"): (1e6,),
        }
    )
    described = {(entry.name, entry.metric, entry.unit): entry.scales for entry in series_over(result, "p")}
    assert described == {
        ("comm_dup", "memory", "B"): (2, 4),
        ("comm_dup", "mapped memory", "B"): (4,),
        ("use", "pss memory", "B"): (4,),
    }


def test_the_report_has_a_row_for_each_operation_and_none_for_mappings_that_are_not_there():
    result = records(
        {
            Memory("win_allocate", 2, "mapped"): (4096.0,) * 8,
            Memory("comm_dup", 4): (5400.0,) * 8,
            Memory("comm_dup", 4, "mapped"): (0.0,) * 8,
            Memory("comm_dup", 2): (5000.0,) * 8,
            Memory("init", 4, "private"): (3e6,),
        }
    )
    (part,) = memory_tables(result)
    assert [column.heading for column in part.columns] == ["operation", "p = 2", "p = 4"]
    assert [row[0].value for row in part.rows] == ["init, private", "comm_dup", "win_allocate, mapped"]
    assert [bool(cell.value) for cell in part.rows[0]] == [True, False, True]
    assert not memory_tables(Measurements(()))
    text = shown(measurements_table(result))
    assert "memory that MPI keeps on a rank" in text
    assert "5.40 kB" in text


@needs_library
def test_a_command_tells_where_the_library_is(capsys):
    assert main(["list", "memory-library"]) == 0
    assert capsys.readouterr().out == f"{LIBRARY}\n"
    assert main(["list", "memory-library", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"library": str(LIBRARY)}


def test_the_command_says_where_there_is_no_library(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("commmodel.bench.kernels.memory.LIBRARY", tmp_path / "none.so")
    assert main(["list", "memory-library"]) == 3
    assert capsys.readouterr().err.endswith("was not built: allocations can be counted on Linux only\n")
