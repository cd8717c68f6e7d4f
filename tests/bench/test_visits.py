"""Several visits to one configuration: planned apart, written one by one, read as one record."""

import sys
from collections import Counter

import numpy as np
import pytest
from benchmarks.validation.segment_power import default_run, machines
from hypothesis import given
from hypothesis import strategies as st
from support.launching import launch
from support.report_samples import header

from commmodel import results
from commmodel.bench.kernels import refinements
from commmodel.bench.options import parse
from commmodel.bench.plan import in_rounds
from commmodel.fit.points import collect
from commmodel.fit.protocol_limits import change_points
from commmodel.results import Measurements, Record, Writer, join_visits, visit_samples
from commmodel.results.configurations import PingPong, RandomPingPong, Threshold

PLAN = [Threshold("same-node"), *(PingPong(1 << power, "same-node") for power in range(10))]


def options(*words):
    return parse(["--seed", "1", *words]).options


def visit(size, *samples):
    return Record(PingPong(size, "same-node"), "s", samples, visits=(len(samples),))


def test_each_round_visits_all_that_can_be_disturbed_in_another_order():
    first, *result = rounds = in_rounds(PLAN, options()).rounds
    assert first == PLAN
    assert Counter(configuration for other in rounds for configuration in other) == {
        configuration: 1 if isinstance(configuration, Threshold) else 4 for configuration in PLAN
    }
    assert len({tuple(configuration.message_size for configuration in other) for other in result}) == 3
    assert in_rounds(PLAN, options()).rounds == rounds


@pytest.mark.parametrize(
    ("words", "visits"),
    [((), 4), (("--visits", "2"), 2), (("--repetitions", "120"), 2), (("--repetitions", "40"), 1),
     (("--time", "0.1s"), 1), (("--time", "0.5s"), 2)],
)  # fmt: skip
def test_there_are_as_many_visits_as_there_is_time_and_samples_for(words, visits):
    assert sum(PLAN[-1] in entry for entry in in_rounds(PLAN, options(*words)).rounds) == visits


def test_random_sizes_are_spread_over_one_record_already():
    sizes = RandomPingPong((1, 2, 3), "same-node")
    assert in_rounds([sizes], options()).rounds == [[sizes]]


def test_the_visits_of_a_launch_are_read_as_one_record(tmp_path):
    path = tmp_path / "results.jsonl"
    with Writer(path) as writer:
        for _ in range(2):
            writer.write(header())
            for line in (visit(8, 1e-6, 2e-6), visit(16, 3e-6), visit(8, 4e-6)):
                writer.write(line)
    for launched in results.load(path).launches:
        assert [(entry.samples, entry.visits) for entry in launched.records] == [
            ((1e-6, 2e-6, 4e-6), (2, 1)), ((3e-6,), (1,)),
        ]  # fmt: skip


def test_records_that_are_no_visits_stay_apart():
    result = Record(PingPong(8, "same-node"), "s", (1e-6,))
    assert join_visits([result, result]) == (result, result)


@given(st.lists(st.lists(st.floats(1e-6, 1e-3), min_size=1, max_size=5), min_size=1, max_size=6))
def test_the_samples_of_each_visit_are_told_apart(parts):
    (record,) = join_visits([visit(8, *part) for part in parts])
    assert visit_samples(record) == [tuple(part) for part in parts]


def test_a_visit_that_was_disturbed_as_a_whole_leaves_the_fit_alone():
    quiet = [tuple(1e-6 * (1 + 0.01 * (number % 5)) for number in range(50)) for _ in range(3)]
    disturbed = tuple(1.2e-6 * (1 + 0.01 * (number % 5)) for number in range(500))
    from commmodel.results import Launch

    for order in ([*quiet, disturbed], [disturbed, *quiet]):
        records = join_visits([visit(8, *samples) for samples in order])
        points = collect(Measurements((Launch(header(), records),)))["same-node"]
        assert points.seconds[0] == pytest.approx(1.02e-6, rel=0.005)


@pytest.mark.mpi
def test_a_run_visits_its_plan_several_times(tmp_path):
    output = tmp_path / "results.jsonl"
    done = launch(
        2, sys.executable, "-m", "commmodel.bench", "pingpong", "--sizes", "1,1KiB", "--repetitions", "200",
        "--time", "60s", "-o", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 records" in done.stdout
    assert len(output.read_text(encoding="utf-8").splitlines()) == 1 + 2 * 4
    for record in results.load(output).records:
        assert len(record.visits) == 4
        assert sum(record.visits) == len(record.samples)


def test_what_is_left_are_the_visits_that_no_earlier_run_paid():
    planned = in_rounds(PLAN, options())
    threshold, first, second, *_ = PLAN
    done = [Record(threshold, "B", (8.0,)), visit(first.message_size, 1e-6)]
    done += join_visits([visit(second.message_size, 1e-6), visit(second.message_size, 2e-6)])
    left = planned.without(done)
    paid = {threshold: 1, first: 1, second: 2}
    counts = Counter(configuration for entry in left.rounds for configuration in entry)
    assert counts == Counter(
        {configuration: planned.visits[configuration] - paid.get(configuration, 0) for configuration in PLAN}
    )
    assert left.visits == planned.visits
    complete = [
        Record(threshold, "B", (8.0,)),
        *(visit(configuration.message_size, 1e-6) for configuration in PLAN[1:] for _ in range(4)),
    ]
    assert not planned.without(complete)


@pytest.mark.mpi
def test_a_resumed_run_pays_the_visits_that_are_left(tmp_path):
    output = tmp_path / "results.jsonl"
    command = (2, sys.executable, "-m", "commmodel.bench")
    words = ("pingpong", "--sizes", "1,1KiB", "--repetitions", "200", "--time", "60s", "-o", output)
    assert launch(*command, *words).returncode == 0
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:-3]))
    done = launch(*command, "--resume", "-o", output)
    assert done.returncode == 0, done.stderr
    visits = Counter()
    for record in results.load(output).records:
        visits[record.configuration.message_size] += len(record.visits)
        assert all(samples <= 50 for samples in record.visits)
    assert visits == {1: 4, 1024: 4}
    assert "nothing left to measure" in launch(*command, "--resume", "-o", output).stdout


def test_sizes_between_are_measured_where_the_times_jump():
    sizes = [1 << power for power in range(13)]
    times = {size: (1e-6 if size <= 2048 else 3e-6) + size * 1e-10 for size in sizes}
    planned = options("pingpong", "--sizes", "1:4KiB")
    records = [Record(PingPong(size, "same-node"), "s", (times[size],) * 9, visits=(9,)) for size in sizes]
    values = [PingPong(size, "same-node") for size in (2560, 3072, 3584)]
    assert refinements(planned, records) == values
    # what lies between is no reason to look further
    records += [Record(entry, "s", (3e-6,) * 9, visits=(9,)) for entry in values]
    assert refinements(planned, records) == []
    smooth = [Record(PingPong(size, "same-node"), "s", (1e-6 + size * 1e-10,) * 9) for size in sizes]
    assert refinements(planned, smooth) == []


@pytest.mark.thorough
def test_more_sizes_around_a_doubtful_limit_tell_whether_it_is_one():
    """Times with 10 % noise, of one line and with half as much again beyond a limit."""
    table = {}
    for kind in ("one line", "both at the bend"):
        rows = []
        for machine in machines(kind, 1.5, 0.1, 6, disturbed=0.1):
            points, added = default_run(machine)
            rows.append([bool(change_points(machine.points())), bool(change_points(points)), added])
        table[kind] = np.array(rows)
    planned, run, added = table["both at the bend"].T
    assert planned.sum() <= 3
    assert run.sum() >= 5
    assert (added > 0).sum() >= 5
    assert table["one line"][:, 1].sum() == 0


def test_where_the_times_leave_no_doubt_nothing_is_added():
    """A smooth line and a clear limit of 1.2 without noise; the limit of the probe is none that is looked for."""
    planned = options("pingpong", "--sizes", "1:4MiB")
    for factor in (1.0, 1.2):
        records = [Record(Threshold("same-node"), "B", (8192.0,), bracket=(8192.0, 8193.0))]
        for size in planned.sizes:
            seconds = (1e-6 + size * 1e-10) * (factor if size > 8192 else 1.0)
            records.append(visit(size, *[seconds] * 9))
        assert refinements(planned, records) == []
