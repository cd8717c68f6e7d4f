"""The loops of communication and computation on real MPI: every piece arrives and is computed on, in any order."""

from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import overlap_templates
from commmodel.bench.buffers import allocate
from commmodel.bench.kernels.exchange_order import order, room
from commmodel.results.configurations import Overlap, Pattern, Template

COMM = MPI.COMM_WORLD
PATTERNS = get_args(Pattern)
UNTOUCHED = 255
EAGER, RENDEZVOUS = (1003, 64, 3), (100_001, 40_000, 2)  # V, S and b that divide nothing
CUTS = [EAGER, RENDEZVOUS, (5, 5, 1), (1024, 128, 64), (500, 8, 7)]


def problem(cut, template="pipelined", pattern="point-to-point", operation="two-sided", passes=2):
    processes = 2 if pattern == "point-to-point" else COMM.size
    return Overlap(*cut, template, passes, processes, "any", pattern, operation)


def group(case):
    """Return the communicator of the ranks that take part, None on the others."""
    comm = COMM.Split(0 if COMM.rank < case.processes else MPI.UNDEFINED, COMM.rank)
    return None if comm == MPI.COMM_NULL else comm


def sent(rank, size):
    """Return what a rank's send buffer holds: no two ranks the same, and no NaN among its float64."""
    return ((7 * np.arange(size) + 13 * rank) % 251).astype(np.uint8)


def buffers(case, rank):
    size = room(case)
    values = [allocate(size, "never") for _ in range(3)]
    values[0][:] = sent(rank, size)
    values[1][:], values[2][:] = UNTOUCHED, UNTOUCHED
    return values


def run(case, comm, arrays, iterations=1, repetitions=2):
    """Do what the kernel does; return the ticks."""
    plan, send, receive, result = order(case, comm.rank), *arrays
    counts = case.passes, iterations, repetitions, processor_clock.COUNTER
    if case.operation == "two-sided":
        return overlap_templates.two_sided(comm, case.template, *plan, send, receive, result, *counts)
    steps = plan.receives, plan.receive_bounds
    loop, entry, exposed = (
        (overlap_templates.get, receive, send) if case.operation == "get" else (overlap_templates.put, send, receive)
    )
    window = MPI.Win.Create(exposed, 1, comm=comm)
    window.Lock_all()
    ticks = loop(comm, window, case.template, *steps, entry, result, *counts)
    comm.Barrier()
    window.Unlock_all()
    window.Free()
    return ticks


def arrived(case, comm):
    """Return what must be in this rank's receive buffer."""
    expected = np.full(room(case), UNTOUCHED, dtype=np.uint8)
    if case.operation != "put":
        for source, offset, length in order(case, comm.rank).receives:
            expected[offset : offset + length] = sent(source, room(case))[offset : offset + length]
        return expected
    for source in range(comm.size):
        for target, offset, length in order(case, source).receives:
            if target == comm.rank:
                expected[offset : offset + length] = sent(source, room(case))[offset : offset + length]
    return expected


def computed(case, comm, arrays):
    """Return what must be in the result: the last pass over what this rank received, or put."""
    send, receive, _ = arrays
    source = (send if case.operation == "put" else receive).view(np.float64)
    expected = np.full(room(case), UNTOUCHED, dtype=np.uint8).view(np.float64)
    for _, offset, length in order(case, comm.rank).receives if case.passes else ():
        piece = slice(offset // 8, -(-(offset + length) // 8))
        expected[piece] = source[piece] + case.passes
    return expected.view(np.uint8)


def check(case, **counts):
    comm = group(case)
    if comm is None:
        return
    entry = buffers(case, comm.rank)
    ticks = run(case, comm, entry, **counts)
    assert ticks.shape == (2,)
    assert (ticks > 0).all()
    assert (entry[0] == sent(comm.rank, room(case))).all()
    assert (entry[1] == arrived(case, comm)).all()
    assert (entry[2] == computed(case, comm, entry)).all()
    comm.Free()


@pytest.mark.parallel(2)
@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("operation", ["two-sided", "get", "put"])
@pytest.mark.parametrize("template", get_args(Template))
def test_all_that_is_sent_arrives_and_is_computed_on(template, operation, cut):
    check(problem(cut, template, operation=operation))


@pytest.mark.parallel(4)
@pytest.mark.parametrize(("template", "cut"), [("loose", EAGER), ("pipelined", RENDEZVOUS)])
@pytest.mark.parametrize("operation", ["two-sided", "get", "put"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_in_every_pattern_too_and_nobody_waits_for_ever(pattern, operation, template, cut):
    check(problem(cut, template, pattern, operation))


@pytest.mark.parallel(4)
@pytest.mark.parametrize("operation", ["two-sided", "get", "put"])
@pytest.mark.parametrize("pattern", ["all-to-all-interleaved", "end-point-congestion", "all-to-all-same-order"])
def test_several_problems_in_a_row_need_no_synchronisation(pattern, operation):
    check(problem(EAGER, "pipelined", pattern, operation, passes=0), iterations=5)


@pytest.mark.parallel([1, 2])
def test_the_computation_alone_is_that_of_all_pieces():
    entry = Overlap(*EAGER, "tight", 3, 2, "any")
    steps = order(entry, 0).receives
    buffer, result = allocate(room(entry), "never"), allocate(room(entry), "never")
    buffer[:], result[:] = sent(0, room(entry)), UNTOUCHED
    ticks = overlap_templates.computations(COMM, steps, buffer, result, 3, 4, processor_clock.COUNTER)
    assert ticks.shape == (4,)
    assert (result.view(np.float64)[:125] == buffer.view(np.float64)[:125] + 3).all()


@pytest.mark.parallel(1)
def test_no_pass_is_left_out_by_the_compiler():
    """In the fastest of many repetitions 16 passes take clearly longer than 8, which take longer than 4, and so on."""
    steps = np.array([[0, 0, 1 << 15]], dtype=np.int64)
    buffer, result = allocate(1 << 15, "never"), allocate(1 << 15, "never")
    passes = (1, 2, 4, 8, 16)
    least = np.full(len(passes), np.inf)
    for _ in range(20):  # until no other work has slowed all repetitions of one of them
        values = [
            overlap_templates.computations(COMM, steps, buffer, result, entry, 200, processor_clock.CLOCK_GETTIME)
            for entry in passes
        ]
        least = np.minimum(least, [entry.min() for entry in values])
        if all(1.4 * fewer < more for fewer, more in pairwise(least)):
            return
    pytest.fail(f"seconds of {passes} passes: {least}")


def bounds(*numbers):
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parallel([1, 2])
@pytest.mark.parametrize(
    ("step", "limits", "words"),
    [
        ([[0, 0, 65]], [0, 1], "65 bytes at 0 do not fit a buffer of 64"),
        ([[0, 56, 9]], [0, 1], "9 bytes at 56 do not fit a buffer of 64"),
        ([[0, -8, 8]], [0, 1], "8 bytes at -8 do not fit"),
        ([[0, 0, -1]], [0, 1], "-1 bytes at 0 do not fit"),
        ([[0, 0, 1 << 40]], [0, 1], "do not fit"),
        ([[0, 4, 8]], [0, 1], "8 bytes at 4 are no float64"),
        ([[0, 32, 9]], [0, 1], "9 bytes at 32 are no float64 within buffers of 64 and 40 bytes"),
        ([[0, 0]], [0, 1], r"a step .*\b2$"),
        ([[0, 0, 8]], [0, 2], "bursts of 1 steps need bounds from 0 to 1"),
        ([[0, 0, 8]], [0], "need bounds from 0 to 1"),
        ([[0, 0, 8]], [], "need bounds from 0 to 1"),
        ([[0, 0, 8]], [0, 1, 0, 1], r"burst 1 .*\b0\b.*\b1$"),
    ],
)
def test_steps_and_bursts_that_cannot_be_are_refused_before_anything_is_sent(step, limits, words):
    buffer, result = np.zeros(64, dtype=np.uint8), np.zeros(40, dtype=np.uint8)
    steps = np.array(step, dtype=np.int64)
    limits = bounds(*limits)
    values = np.empty((0, 3), dtype=np.int64), np.zeros_like(limits)
    with pytest.raises(ValueError, match=words):
        overlap_templates.two_sided(
            COMM, "tight", steps, limits, *values, buffer, buffer, result, 1, 1, 1, processor_clock.COUNTER
        )
    window = MPI.Win.Create(buffer, 1, comm=COMM)
    for loop in (overlap_templates.get, overlap_templates.put):
        with pytest.raises(ValueError, match=words):
            loop(COMM, window, "tight", steps, limits, buffer, result, 1, 1, 1, processor_clock.COUNTER)
    window.Free()


@pytest.mark.parallel([1, 2])
def test_other_arguments_that_cannot_be_are_refused_too():
    buffer = np.zeros(64, dtype=np.uint8)
    rest = buffer, buffer, buffer

    def two_sided(template="tight", send_bounds=(0,), passes=1, iterations=1):
        steps = np.empty((0, 3), dtype=np.int64)
        overlap_templates.two_sided(
            COMM,
            template,
            steps,
            bounds(0),
            steps,
            bounds(*send_bounds),
            *rest,
            passes,
            iterations,
            1,
            processor_clock.COUNTER,
        )

    two_sided()
    for wrong, words in (
        ({"template": "figure-6"}, "unknown template 'figure-6': one of blocking, communication, tight"),
        ({"passes": -1}, "-1 passes"),
        ({"iterations": 0}, "0 iterations"),
        ({"send_bounds": (0, 0)}, "0 bursts of receives and 1 of sends"),
    ):
        with pytest.raises(ValueError, match=words):
            two_sided(**wrong)


@pytest.mark.parallel([1, 2])
def test_the_loops_know_the_templates_of_the_file_format():
    assert tuple(overlap_templates.TEMPLATES) == get_args(Template)


@pytest.mark.parallel([1, 2])
def test_an_error_of_mpi_becomes_an_exception():
    buffer = np.zeros(64, dtype=np.uint8)
    steps = np.array([[COMM.size + 7, 0, 8]], dtype=np.int64)
    values = np.empty((0, 3), dtype=np.int64), bounds(0, 0)
    duplicate = COMM.Dup()
    with pytest.raises(MPI.Exception) as caught:
        overlap_templates.two_sided(
            duplicate, "tight", steps, bounds(0, 1), *values, buffer, buffer, buffer, 1, 1, 1, processor_clock.COUNTER
        )
    assert caught.value.Get_error_class() == MPI.ERR_RANK
    duplicate.Free()
