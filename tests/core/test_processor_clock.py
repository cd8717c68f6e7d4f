"""Clock: readings never go back, and ticks counted with it are the time that the system's clock counts."""

import os
import threading
import time

import numpy as np
import pytest

from commmodel._core.clock import processor_clock

KINDS = {
    "clock_gettime": processor_clock.CLOCK_GETTIME,
    processor_clock.COUNTER_NAME or "no counter": processor_clock.COUNTER,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request):
    return request.param


@pytest.fixture
def one_cpu():
    """Stay on one processor: whether counters of several agree is for the caller of the clock to find out."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def reading(kind):
    """Return ticks and nanoseconds of the same moment, from the tightest of many brackets."""
    brackets = []
    for _ in range(50):
        before = time.monotonic_ns()
        ticks = int(processor_clock.read_ticks(kind, 1)[0])
        after = time.monotonic_ns()
        brackets.append((after - before, ticks, (before + after) // 2))
    return min(brackets)[1:]


@pytest.mark.usefixtures("one_cpu")
def test_readings_never_go_back_and_the_clock_moves(kind):
    ticks = processor_clock.read_ticks(kind, 100_000)
    assert ticks.dtype == np.uint64
    assert ticks.shape == (100_000,)
    steps = np.diff(ticks.astype(np.int64))
    assert steps.min() >= 0
    assert steps.sum() > 0


@pytest.mark.usefixtures("one_cpu")
def test_a_stop_never_comes_before_its_start(kind):
    ticks = processor_clock.read_pairs(kind, 100_000)
    assert ticks.dtype == np.uint64
    assert ticks.shape == (100_000,)
    assert ticks.astype(np.int64).min() >= 0  # a stop before its start would have wrapped around


@pytest.mark.usefixtures("one_cpu")
def test_pairs_enclose_less_than_the_call_that_made_them(kind):
    begin = int(processor_clock.read_ticks(kind, 1)[0])
    inside = int(processor_clock.read_pairs(kind, 10_000).sum())
    end = int(processor_clock.read_ticks(kind, 1)[0])
    assert inside <= end - begin


def test_no_readings_are_an_empty_array(kind):
    assert processor_clock.read_ticks(kind, 0).shape == processor_clock.read_pairs(kind, 0).shape == (0,)


@pytest.mark.usefixtures("one_cpu")
def test_ticks_over_their_calibrated_frequency_are_the_time_that_passed(kind):
    frequency = processor_clock.calibrate(kind, 0.02)
    first_ticks, first_ns = reading(kind)
    time.sleep(0.05)
    last_ticks, last_ns = reading(kind)
    seconds = (last_ns - first_ns) * 1e-9
    assert (last_ticks - first_ticks) / frequency == pytest.approx(seconds, rel=0.01)


@pytest.mark.usefixtures("one_cpu")
def test_calibrations_agree_with_each_other(kind):
    assert processor_clock.calibrate(kind, 0.02) == pytest.approx(processor_clock.calibrate(kind, 0.01), rel=0.01)


def test_clock_gettime_ticks_in_nanoseconds():
    assert processor_clock.calibrate(processor_clock.CLOCK_GETTIME, 0.02) == pytest.approx(1e9, rel=0.01)


def test_clock_gettime_is_the_monotonic_clock_of_python():
    before = time.monotonic_ns()
    ticks = int(processor_clock.read_ticks(processor_clock.CLOCK_GETTIME, 1)[0])
    assert before <= ticks <= time.monotonic_ns()


def test_other_threads_run_while_the_clock_is_calibrated(kind):
    """Many turns within one calibration; held back, the other thread gets a turn or two at its ends."""
    turns = 0
    stop = threading.Event()

    def count():
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    try:
        for seconds in (0.02, 0.2, 2.0, 20.0):  # a busy machine gives few turns in a short one
            before = turns
            processor_clock.calibrate(kind, seconds)
            if turns > before + 20:
                break
        else:
            pytest.fail(f"only {turns - before} turns")
    finally:
        stop.set()
        other.join()


def test_the_processor_that_runs_this_thread_is_one_that_it_may_use():
    assert processor_clock.current_cpu() in os.sched_getaffinity(0)


def test_cpuid_gives_four_registers_or_none():
    for leaf in (0, 1, 0x15, 0x40000000, 0x40000010, 0x80000007):
        registers = processor_clock.cpuid(leaf)
        assert registers is None or (len(registers) == 4 and all(0 <= value < 2**32 for value in registers))
    assert processor_clock.cpuid(0x7FFFFFFF) is None  # no processor has so many


@pytest.mark.skipif(processor_clock.COUNTER_NAME != "tsc", reason="the processor is no x86")
def test_an_x86_names_its_maker():
    maker = b"".join(processor_clock.cpuid(0)[index].to_bytes(4, "little") for index in (1, 3, 2))
    assert maker.isascii()
    assert len(maker.strip(b"\0 ")) > 4


def test_only_the_counter_of_an_arm_says_its_frequency():
    frequency = processor_clock.frequency_register()
    assert (frequency > 0) == (processor_clock.COUNTER_NAME == "cntvct")
    if frequency:
        assert processor_clock.calibrate(processor_clock.COUNTER, 0.02) == pytest.approx(frequency, rel=0.01)
