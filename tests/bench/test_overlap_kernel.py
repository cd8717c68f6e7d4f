"""The kernel overlap: what is planned, who talks to whom, in which order MPI is called, and how a run of it goes on."""

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise, product
from typing import get_args

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.launching import error_lines, find, launch

from commmodel import results
from commmodel.bench.kernels import buffer_bytes, participants
from commmodel.bench.kernels.exchange_order import largest_share, longest_burst, order, room
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.errors import InputError
from commmodel.results import configuration_words
from commmodel.results.configurations import Overlap, Pattern, Template

PAIR = place([0, 0], [0, 0])
TWO_NODES = place([0, 0, 1, 1], [0] * 4)
PATTERNS = get_args(Pattern)


def bench(ranks, *arguments):
    return launch(ranks, sys.executable, "-m", "commmodel.bench", "overlap", *arguments)


# Who talks to whom


@st.composite
def problems(draw):
    volume = draw(st.integers(1, 3000))
    size = draw(st.integers(max(1, volume // 40), volume))
    pattern = draw(st.sampled_from(PATTERNS))
    processes = 2 if pattern == "point-to-point" else draw(st.integers(2, 6))
    return Overlap(volume, size, draw(st.integers(1, 50)), "tight", 1, processes, "any", pattern)


def everyone(problem):
    return [order(problem, rank) for rank in range(problem.processes)]


@given(problems())
def test_what_one_sends_in_a_burst_another_receives_in_the_burst_of_the_same_number(problem):
    """So nobody ever waits for a message whose sender waits for him, and one tag tells all messages apart."""
    orders = everyone(problem)
    counts = {len(bounds) for entry in orders for bounds in (entry.receive_bounds, entry.send_bounds)}
    assert len(counts) == 1
    for burst in range(counts.pop() - 1):
        sent, received = {}, {}
        for rank, entry in enumerate(orders):
            for target, *piece in entry.sends[slice(*entry.send_bounds[burst : burst + 2])].tolist():
                sent.setdefault((rank, target), []).append(piece)
            for source, *piece in entry.receives[slice(*entry.receive_bounds[burst : burst + 2])].tolist():
                received.setdefault((source, rank), []).append(piece)
        assert sent == received


@given(problems())
def test_everybody_receives_its_volume_each_byte_once_and_at_a_place_of_its_own(problem):
    for rank, entry in enumerate(everyone(problem)):
        sources, offsets, lengths = entry.receives.T
        places = sorted(zip(offsets.tolist(), lengths.tolist(), strict=True))
        assert all(first + length <= second for (first, length), (second, _) in pairwise(places))
        assert all(first >= 0 and first + length <= room(problem) for first, length in places)
        assert not (offsets % 8).any()
        assert lengths.size == 0 or 1 <= lengths.min() <= lengths.max() <= problem.message_size
        assert rank not in sources
        served = problem.pattern == "end-point-congestion" and rank == 0
        result = problem.pattern.startswith(("all-to-all", "point", "end"))
        shares = Counter()
        for source, length in zip(sources.tolist(), lengths.tolist(), strict=True):
            shares[source] += length
        if result:
            assert sum(shares.values()) == (0 if served else problem.volume)
        else:
            assert set(shares.values()) == {problem.volume}
        assert max(shares.values(), default=largest_share(problem)) == largest_share(problem)


@given(problems())
def test_bursts_are_of_b_messages_but_the_last(problem):
    for rank, entry in enumerate(everyone(problem)):
        lengths = np.diff(entry.receive_bounds)
        assert entry.receive_bounds[0] == entry.send_bounds[0] == 0
        assert entry.receive_bounds[-1] == len(entry.receives)
        assert entry.send_bounds[-1] == len(entry.sends)
        assert lengths.max() <= min(problem.burst, longest_burst(problem))
        if problem.pattern != "all-to-all-same-order" and not (rank == 0 and "congestion" in problem.pattern):
            assert (lengths[:-1] == problem.burst).all()


def visited(problem, rank):
    return order(problem, rank).receives[:, 0].tolist()


def test_peers_are_visited_in_the_order_of_the_pattern():
    def sequence(pattern, rank=1, processes=4, size=100):
        return visited(Overlap(300, size, 2, "tight", 1, processes, "any", pattern), rank)

    assert sequence("point-to-point", processes=2) == [0, 0, 0]
    assert sequence("multiple-end-points-contiguous") == [2, 2, 2, 3, 3, 3, 0, 0, 0]
    assert sequence("multiple-end-points-interleaved") == [2, 3, 0, 2, 3, 0, 2, 3, 0]
    assert sequence("all-to-all-contiguous", size=50) == [2, 2, 3, 3, 0, 0]
    assert sequence("all-to-all-interleaved", size=50) == [2, 3, 0, 2, 3, 0]
    assert [sequence("all-to-all-same-order", rank, size=50) for rank in range(4)] == [
        [1, 1, 2, 2, 3, 3], [0, 0, 2, 2, 3, 3], [0, 0, 1, 1, 3, 3], [0, 0, 1, 1, 2, 2]
    ]  # fmt: skip
    assert [sequence("end-point-congestion", rank) for rank in range(4)] == [[], [0] * 3, [0] * 3, [0] * 3]


def test_who_serves_several_sends_a_burst_to_each_of_them_in_turns():
    server = order(Overlap(300, 100, 2, "tight", 1, 4, "any", "end-point-congestion"), 0)
    assert server.sends[:, 0].tolist() == [1, 2, 3] * 3
    assert server.send_bounds.tolist() == [0, 6, 9]
    source = order(Overlap(300, 50, 2, "tight", 1, 4, "any", "all-to-all-same-order"), 2)
    assert source.sends[:, 0].tolist() == [0, 1, 3] * 2
    assert source.send_bounds.tolist() == [0, 0, 0, 6, 6]


# What is planned


def planned(*arguments, placement=PAIR, procs=(2,)):
    options = msgspec.structs.replace(parse(["overlap", *arguments]).options, procs=procs)
    return make_plan(options, placement)


def decompositions(plan):
    return {(configuration.message_size, configuration.burst) for configuration in plan}


def test_blocking_is_one_message_and_the_others_are_cut_in_every_way():
    plan = planned("--volumes", "64KiB", "--exhaustive", "--templates", "all", "--work", "0:2", "--passes", "3")
    assert len(plan) == len(set(plan))
    for template in get_args(Template):
        values = [configuration for configuration in plan if configuration.template == template]
        assert {configuration.passes for configuration in values} == {0, 3, 6}
        sizes = [1 << power for power in range(3, 17)] if template != "blocking" else [1 << 16]
        rows = {(size, 1 << power) for size in sizes for power in range(7) if size << power <= 1 << 16}
        assert decompositions(values) == rows
        assert len(values) == 3 * len(rows)
    assert {(configuration.processes, configuration.path, configuration.iterations) for configuration in plan} == {
        (2, "same-socket", 1)
    }


def test_messages_are_no_more_than_8192_and_of_the_sizes_asked_for():
    plan = planned("--volumes", "1MiB", "--exhaustive", "--bursts", "1", "--templates", "pipelined", "--work", "1")
    assert min(configuration.message_size for configuration in plan) == 128
    few = planned("--volumes", "100000", "--sizes", "1KiB,3000", "--templates", "tight", "--exhaustive")
    assert {configuration.message_size for configuration in few} == {1024, 3000, 100_000}
    assert {configuration.message_size for configuration in planned("--volumes", "5", "--exhaustive")} == {5}


@given(st.integers(1, 1 << 22), st.booleans())
def test_a_choice_is_a_part_of_everything_and_has_the_whole_in_one_message(volume, exhaustive):
    arguments = ("--volumes", str(volume), "--templates", "pipelined", "--work", "1")
    result = decompositions(planned(*arguments, "--exhaustive"))
    choice = decompositions(planned(*arguments))
    assert (volume, 1) in choice <= result
    for size, burst in result:
        assert -(-volume // size) <= 8192
        assert burst <= -(-volume // size)
    sizes = sorted({size for size, _ in choice})
    assert all(second >= 4 * first for first, second in pairwise(sizes))


def test_a_pair_talks_on_every_path_and_several_processes_wherever_they_are():
    patterns = ("--patterns", "all", "--volumes", "6000", "--templates", "blocking", "--work", "1")
    plan = planned(*patterns, "--operations", "all", placement=TWO_NODES, procs=(1, 2, 4))
    scenes = Counter((configuration.pattern, configuration.processes, configuration.path) for configuration in plan)
    assert scenes == Counter(
        {("point-to-point", 2, path): 3 for path in TWO_NODES}
        | {(pattern, count, "any"): 3 for pattern in PATTERNS[1:] for count in (2, 4)}
    )
    sizes = {
        (configuration.pattern.startswith("all-to-all"), configuration.processes): configuration.message_size
        for configuration in plan
    }
    assert sizes == {(False, 2): 6000, (True, 2): 6000, (False, 4): 6000, (True, 4): 2000}
    assert {tuple(participants(configuration, TWO_NODES)) for configuration in plan} == {(0, 1), (0, 2), (0, 1, 2, 3)}
    with pytest.raises(
        InputError, match="--process-counts: the pattern all-to-all-interleaved of overlap needs 2 processes"
    ):
        planned("--patterns", "all-to-all-interleaved", procs=(1,))


@given(problems())
def test_the_buffers_have_room_for_every_peer_and_for_what_is_computed(problem):
    peers = {"point-to-point": 1}.get(problem.pattern, problem.processes - 1)
    send, receive = buffer_bytes([problem])
    assert receive == 2 * send
    assert send >= (problem.volume if problem.pattern.startswith("all") else peers * problem.volume)


def test_a_problem_is_described_in_words():
    problem = Overlap(1 << 20, 4096, 8, "pipelined", 3, 2, "same-node", iterations=5)
    assert configuration_words(problem) == (
        "overlap two-sided, 1 MiB, 4 KiB, b = 8, pipelined, passes = 3, p = 2, same-node, iterations = 5"
    )


# The command line


def test_what_the_command_line_says_is_in_the_options():
    options = parse(
        [
            *(
                "--templates",
                "tight,loose",
                "--patterns",
                "all",
                "--operations",
                "get,two-sided",
                "--volumes",
                "1:64:*8",
            ),
            *("--bursts", "1:5,7", "--work", "0:2,5", "--passes", "9", "--iterations", "4", "--exhaustive"),
        ]
    ).options
    assert options.templates == ("tight", "loose")
    assert options.patterns == PATTERNS
    assert options.operations == ("get", "two-sided")
    assert options.volumes == (1, 8, 64)
    assert options.bursts == (1, 2, 4, 7)
    assert options.work == (0, 1, 2, 5)
    assert (options.passes, options.iterations, options.exhaustive) == (9, 4, True)


def test_what_is_left_out_has_the_values_of_the_paper():
    options = parse([]).options
    assert options.templates == ("blocking", "pipelined")
    assert (options.patterns, options.operations) == (("point-to-point",), ("two-sided",))
    assert options.volumes == (1 << 16, 1 << 18, 1 << 20, 1 << 22)
    assert options.bursts == (1, 2, 4, 8, 16, 32, 64)
    assert options.work == (1, 2, 3, 4, 5)
    assert (options.passes, options.iterations, options.exhaustive) == (None, 1, False)
    assert parse(["--quick"]).options.volumes == options.volumes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--templates", "pipeline"],
            "--templates: unknown template 'pipeline': did you mean pipelined? Choose one of blocking, communication",
        ),
        (["--patterns", "ring"], "--patterns: unknown pattern 'ring': choose one of point-to-point"),
        (["--operations", "get,send"], "--operations: unknown operation 'send': choose one of two-sided, put, get"),
        (["--volumes", "0"], "--volumes: '0': a volume is at least 1 B and less than 2 GiB"),
        (["--volumes", "2GiB"], "less than 2 GiB"),
        (["--volumes", "64K"], "--volumes: '64K': unknown unit"),
        (["--bursts", "0:4"], "--bursts: "),
        (["--bursts", "4:1"], "the range ends before it begins"),
        (["--work", "1.5"], "--work: '1.5' is no list of whole numbers"),
        (["--work", "1KiB"], "--work: '1KiB' is no list of whole numbers"),
        (["--work", ""], "--work: "),
        (["--passes", "0"], "--passes: '0' is no whole number from 1 up"),
        (["--iterations", "many"], "--iterations: 'many' is no whole number"),
    ],
)
def test_wrong_words_are_refused_in_one_line_before_mpi_starts(arguments, words):
    with pytest.raises(InputError) as caught:
        parse(["overlap", *arguments])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# In which order MPI is called, and when pieces are computed on: Figure 6

WATCH = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const double *numbers;
static int count, length;
static char text[4096];

void watch(const double *where, int pieces, int elements) { numbers = where; count = pieces; length = elements; }
const char *seen(void) { return text; }

/* A letter for the call, then how many pieces have been computed on by then. */
static void note(char what)
{
    int done = 0;
    for (int i = 0; i < count; ++i)
        done += numbers[i * length] != 0;
    if (count && strlen(text) + 4 < sizeof text)
        sprintf(text + strlen(text), "%c%d ", what, done);
}

int MPI_Irecv(void *b, int n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Request *r)
{
    note('r');
    return PMPI_Irecv(b, n, t, s, g, c, r);
}
int MPI_Isend(const void *b, int n, MPI_Datatype t, int d, int g, MPI_Comm c, MPI_Request *r)
{
    note('s');
    return PMPI_Isend(b, n, t, d, g, c, r);
}
int MPI_Rget(void *b, int n, MPI_Datatype t, int s, MPI_Aint p, int m, MPI_Datatype u, MPI_Win w, MPI_Request *r)
{
    note('g');
    return PMPI_Rget(b, n, t, s, p, m, u, w, r);
}
int MPI_Rput(const void *b, int n, MPI_Datatype t, int d, MPI_Aint p, int m, MPI_Datatype u, MPI_Win w, MPI_Request *r)
{
    note('p');
    return PMPI_Rput(b, n, t, d, p, m, u, w, r);
}
int MPI_Wait(MPI_Request *r, MPI_Status *s) { note('w'); return PMPI_Wait(r, s); }
int MPI_Waitall(int n, MPI_Request *r, MPI_Status *s) { note('a'); return PMPI_Waitall(n, r, s); }
int MPI_Win_flush_all(MPI_Win w) { note('f'); return PMPI_Win_flush_all(w); }
"""

RUN = """
import ctypes, sys
import numpy as np
from mpi4py import MPI
from commmodel._core.clock import processor_clock
from commmodel._core.mpi import overlap_templates
from commmodel.bench.kernels.exchange_order import order
from commmodel.results.configurations import Overlap
comm, watcher = MPI.COMM_WORLD, ctypes.CDLL(sys.argv[1])
watcher.seen.restype = ctypes.c_char_p
for operation, template in zip(sys.argv[2::2], sys.argv[3::2]):
    before = len(watcher.seen())
    one = Overlap(80, 16, 1 if template == "blocking" else 2, template, 1, 2, "any", operation=operation)
    send, receive, result = np.ones(128, np.uint8), np.ones(128, np.uint8), np.zeros(128, np.uint8)
    plan = order(one, comm.rank)
    counts = (1, 1, 1, processor_clock.COUNTER)
    window = MPI.Win.Create(send if operation == "get" else receive, 1, comm=comm)
    window.Lock_all()
    watcher.watch(ctypes.c_void_p(result.ctypes.data), 5, 2)
    if operation == "two-sided":
        overlap_templates.two_sided(comm, template, *plan, send, receive, result, *counts)
    else:
        loop, own = (overlap_templates.get, receive) if operation == "get" else (overlap_templates.put, send)
        loop(comm, window, template, *plan[:2], own, result, *counts)
    watcher.watch(None, 0, 0)
    window.Unlock_all()
    window.Free()
    if comm.rank == 0:
        print(operation, template, watcher.seen()[before:].decode().strip(), (result.view(float)[:10] != 0).sum())
"""

FIGURE_6 = {  # of 5 messages in bursts of 2: the call, and how many pieces are computed on by then
    ("two-sided", "blocking"): "r0 s0 w0 a0 r1 s1 w1 a1 r2 s2 w2 a2 r3 s3 w3 a3 r4 s4 w4 a4 10",
    ("two-sided", "communication"): "r0 s0 r0 s0 w0 w0 a0 r2 s2 r2 s2 w2 w2 a2 r4 s4 w4 a4 10",
    ("two-sided", "tight"): "r0 s0 r0 s0 w0 w1 a2 r2 s2 r2 s2 w2 w3 a4 r4 s4 w4 a5 10",
    ("two-sided", "loose"): "r0 s0 r0 s0 w0 w0 a0 r0 s0 r0 s0 w2 w2 a2 r2 s2 w4 a4 10",
    ("two-sided", "pipelined"): "r0 s0 r0 s0 r0 s0 r0 s0 w0 w1 a2 r2 s2 w2 w3 a4 w4 a5 10",
    ("get", "pipelined"): "g0 g0 g0 g0 w0 w1 g2 w2 w3 w4 10",
    ("get", "loose"): "g0 g0 w0 w0 g0 g0 w2 w2 g2 w4 10",
    ("put", "tight"): "p0 p0 w0 w1 p2 p2 w2 w3 p4 w4 f5 10",
}


@pytest.mark.mpi
@pytest.mark.skipif(not sys.platform.startswith("linux") or find("mpicc") is None, reason="watches MPI by a preload")
def test_the_templates_begin_complete_and_compute_as_in_figure_6(tmp_path):
    source, library = tmp_path / "watch.c", tmp_path / "watch.so"
    source.write_text(WATCH)
    subprocess.run([find("mpicc"), "-shared", "-fPIC", "-o", library, source], check=True, capture_output=True)
    words = [word for key in FIGURE_6 for word in key]
    completed = launch(2, "env", f"LD_PRELOAD={library}", sys.executable, "-c", RUN, library, *words)
    assert completed.returncode == 0, completed.stderr
    lines = [line.split(" ", 2) for line in completed.stdout.splitlines()]
    assert {(operation, template): calls for operation, template, calls in lines} == FIGURE_6


# A run


@pytest.mark.mpi
def test_a_run_measures_every_template_and_operation_and_can_be_resumed(tmp_path):
    output = tmp_path / "results.jsonl"
    arguments = ["--templates", "all", "--operations", "all", "--volumes", "3000", "--work", "0,2"]
    arguments += ["--sizes", "512", "--bursts", "2", "--ci", "50%", "--time", "1s", "-o", output]
    completed = bench(2, *arguments)
    assert completed.returncode == 0, completed.stderr
    (launched,) = results.load(output).launches
    base = launched.header.options.passes
    assert base >= 1
    plan = {record.configuration for record in launched.records}
    assert len(plan) == len(launched.records) == 3 * 2 * (1 + 4)
    assert {(configuration.template, configuration.operation, configuration.passes) for configuration in plan} == set(
        product(get_args(Template), ("two-sided", "put", "get"), (0, 2 * base))
    )
    for record in launched.records:
        assert len(record.samples) >= 3
        assert min(record.samples) > 0
        assert (record.computation > 0) == (record.configuration.passes > 0)

    entry = output.read_text().splitlines(keepends=True)[:10]
    output.write_text("".join(entry))
    completed = bench(2, "--resume", "-o", output)
    assert completed.returncode == 0, completed.stderr
    again = results.load(output)
    assert [configuration.header.options.passes for configuration in again.launches] == [base, base]
    assert {record.configuration for record in again.records} == plan
    refused = bench(2, "--resume", "--passes", str(base + 1), "-o", output)
    assert refused.returncode == 2
    assert "--passes differs" in error_lines(refused, "commmodel.bench")[0]


@pytest.mark.mpi
def test_four_ranks_measure_every_pattern_in_as_many_problems_in_a_row_as_asked_for(tmp_path):
    output = tmp_path / "results.jsonl"
    arguments = ["--patterns", "all", "--volumes", "2000", "--work", "1", "--passes", "1", "--iterations", "3"]
    arguments += ["--sizes", "256", "--bursts", "1,2", "--process-counts", "4", "--ci", "50%", "--time", "1s", "--json"]
    completed = bench(4, *arguments, "-o", output)
    assert completed.returncode == 0, completed.stderr
    records = list(results.load(output).records)
    assert json.loads(completed.stdout)["records"] == len(records)
    assert {record.configuration.pattern for record in records} == set(PATTERNS)
    assert {record.configuration.iterations for record in records} == {3}
    assert all(min(record.samples) > 0 and record.computation > 0 for record in records)


BROKEN = {
    "a library that knows no windows": "MPI.Win = type('Win', (), {'Create': staticmethod(broken)})",
    "a rank that cannot get": "MPI.Win.Rget = broken if MPI.COMM_WORLD.rank else MPI.Win.Rget",
}


@pytest.mark.mpi
@pytest.mark.parametrize("patch", BROKEN.values(), ids=BROKEN)
def test_where_one_sided_operations_do_not_work_it_is_told_in_one_line(patch, tmp_path):
    code = (
        "from mpi4py import MPI\n"
        "from commmodel.bench.command import run\n"
        "def broken(*_, **__): raise MPI.Exception(MPI.ERR_WIN)\n"
        "class Win(MPI.Win): pass\n"  # whose methods can be replaced
        "MPI.Win = Win\n"
        f"{patch}\n"
        f"raise SystemExit(run(['overlap', '--operations', 'get', '-o', {str(tmp_path / 'x.jsonl')!r}]))"
    )
    completed = launch(2, sys.executable, "-c", code)
    assert completed.returncode == 3
    (line,) = error_lines(completed, "commmodel.bench")
    assert "one-sided operations do not work here" in line
    assert "leave the kernel one-sided out, and put and get of --operations" in line
