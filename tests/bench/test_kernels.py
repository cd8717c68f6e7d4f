"""What the kernels loggp, plogp and collective plan, refine and record, and how a run of them goes on."""

import json
import sys
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.launching import error_lines, launch

from commmodel import results
from commmodel.bench.environment import advice
from commmodel.bench.kernels import REGISTRY, buffer_bytes, left_out, participants, refinements
from commmodel.bench.kernels.collective import imb_repetitions
from commmodel.bench.kernels.kernel import pause_ticks, stride, undisturbed_seconds, window, window_room
from commmodel.bench.kernels.plogp import refine
from commmodel.bench.kernels.trains import messages
from commmodel.bench.options import parse, parse_processes
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.errors import InputError
from commmodel.results import Record, configuration_words, is_oversubscribed
from commmodel.results.configurations import Collective, PLogPParameter, Train

PAIR = place([0, 0], [0, 0])
(PATH,) = PAIR
AFTER_BARRIER = ("--start", "barrier")
QUICK = ("--sizes", "1,1KiB,64KiB", "--ci", "50%")


def plan_for(*arguments, procs=(2,)):
    return msgspec.structs.replace(parse(arguments).options, procs=procs)


def bench(ranks, *arguments):
    return launch(ranks, sys.executable, "-m", "commmodel.bench", *arguments)


# Trains


def test_each_size_path_and_mode_has_a_lone_message_a_train_and_a_delayed_train():
    plan = make_plan(plan_for("loggp", "--sizes", "1,1MiB", "--mode", "both"), place([0, 0, 1], [0] * 3))
    for size, count in ((1, 16), (1 << 20, 4)):
        for path in ("same-socket", "between-nodes"):
            for mode in ("blocking", "non-blocking"):
                trains = {(1, False), (count, False), (count, True)}
                entry = [row for row in plan if (row.message_size, row.path, row.mode) == (size, path, mode)]
                assert {(row.messages, row.delayed) for row in entry} == trains
                assert len(entry) == 3
    assert len(plan) == 24


@given(st.integers(0, 1 << 40))
def test_a_train_has_a_distance_and_is_short_where_messages_are_large(size):
    assert 2 <= messages(size) <= 16
    assert messages(size) == 2 or messages(size) * size <= 4 << 20


# pLogP


def measured(times, quantity="gap", spread=0.01, path=PATH, mode="blocking"):
    """Return records whose medians are as given, each with an interval of about ± `spread`."""

    def samples(median, spread):
        return tuple(max(median * (1 + spread * (place / 10 - 1)), 0.0) for place in range(21))

    spreads = spread if isinstance(spread, dict) else dict.fromkeys(times, spread)
    return [
        Record(PLogPParameter(size, quantity, path, mode), "s", samples(time, spreads[size]))
        for size, time in times.items()
    ]


SIZES = [0, 1, *(1 << power for power in range(1, 21))]
OPTIONS = plan_for("plogp", "--sizes", "1:1MiB")
STRAIGHT = {size: 1e-6 + size * 1e-9 for size in SIZES}


def kinked(size):
    """Return a time with a jump at 8 KiB, as an eager limit makes one."""
    return 1e-6 + size * 1e-10 + 4e-6 * (size > 8192)


def sizes_of(configurations):
    return sorted(entry.message_size for entry in configurations)


def test_the_plan_has_every_quantity_at_0_at_1_and_at_the_sizes_asked_for():
    plan = make_plan(plan_for("plogp", "--sizes", "8,64"), PAIR)
    quantities = ("send", "receive", "gap", "round-trip")
    assert Counter(plan) == Counter(PLogPParameter(size, entry, PATH) for size in (0, 1, 8, 64) for entry in quantities)


def test_a_straight_line_is_not_refined():
    assert refine(OPTIONS, measured(STRAIGHT)) == []


def test_an_outlier_with_a_wide_interval_causes_no_bisection():
    outlier = STRAIGHT | {4096: 3 * STRAIGHT[4096]}
    spreads = dict.fromkeys(outlier, 0.01)
    assert refine(OPTIONS, measured(outlier, spread=spreads | {4096: 4.0})) == []
    assert sizes_of(refine(OPTIONS, measured(outlier, spread=spreads)))  # were it sure, it would


def test_a_record_of_too_few_samples_decides_nothing():
    records = [
        Record(
            entry.configuration,
            "s",
            entry.samples[10:12] if entry.configuration.message_size == 4096 else entry.samples,
        )
        for entry in measured(STRAIGHT | {4096: 1.0})
    ]
    assert refine(OPTIONS, records) == []


def test_a_kink_is_divided_on_both_sides_of_where_the_line_fails():
    result = refine(OPTIONS, measured({size: kinked(size) for size in SIZES}))
    assert {6144, 12288} <= set(sizes_of(result))
    assert all(2048 < size < 65536 for size in sizes_of(result))
    assert {(row.quantity, row.path, row.mode) for row in result} == {("gap", PATH, "blocking")}


def test_refining_closes_in_on_a_kink_and_ends():
    times = {size: kinked(size) for size in SIZES}
    rounds = 0
    while result := sizes_of(refine(OPTIONS, measured(times))):
        assert not set(result) & set(times)
        times |= {size: kinked(size) for size in result}
        rounds += 1
    assert 1 < rounds < 10
    extra = set(times) - set(SIZES)
    assert len(extra) <= 16
    below, above = max(size for size in times if size <= 8192), min(size for size in times if size > 8192)
    assert above - below < 32 or above <= 1.2 * below


@given(st.lists(st.floats(1e-9, 1.0), min_size=len(SIZES), max_size=len(SIZES)), st.floats(0, 0.5))
def test_whatever_was_measured_refining_ends_and_adds_at_most_16_sizes_in_between(values, spread):
    times = dict(zip(SIZES, values, strict=True))
    while result := sizes_of(refine(OPTIONS, measured(times, spread=spread))):
        for size in result:
            below = max(entry for entry in times if entry < size)
            above = min(entry for entry in times if entry > size)
            assert above - below >= 32
        times |= dict.fromkeys(result, values[len(times) % len(values)])
    assert len(times) <= len(SIZES) + 16


def test_each_quantity_path_and_mode_is_refined_for_itself():
    kink = {size: kinked(size) for size in SIZES}
    records = [*measured(STRAIGHT, "send"), *measured(kink, "receive"), *measured(kink, "send", mode="non-blocking")]
    rows = {(entry.quantity, entry.mode) for entry in refine(OPTIONS, records)}
    assert rows == {("receive", "blocking"), ("send", "non-blocking")}


def test_what_was_measured_is_not_refined_again_and_other_kernels_are_not_at_all():
    records = measured({size: kinked(size) for size in SIZES})
    more = refinements(OPTIONS, records)
    assert more
    assert not set(refinements(OPTIONS, [*records, *measured({entry.message_size: 1.0 for entry in more})])) & set(more)
    assert refinements(plan_for("loggp"), records) == []


@given(st.integers(0, 1 << 26), st.integers(0, 1 << 26))
def test_the_window_of_a_size_in_between_fits_the_buffer_that_the_largest_needs(size, larger):
    low, high = sorted((size, larger))
    assert window(low) * stride(low) <= window_room(low)[0] <= window_room(high)[0]


# Collectives


def test_the_collectives_asked_for_are_planned_with_each_number_of_processes():
    options = plan_for("collective", "--collectives", "bcast,barrier", "--sizes", "8,64", *AFTER_BARRIER, procs=(2, 3))
    plan = make_plan(options, PAIR)
    assert Counter(plan) == Counter(
        Collective(operation, size, processes)
        for processes in (2, 3)
        for operation, size in (("bcast", 8), ("bcast", 64), ("barrier", 0))
    )
    usual = make_plan(plan_for("collective", "--sizes", "8"), PAIR)
    assert {entry.operation for entry in usual} == set(results.configurations.CollectiveName.__args__[:11])


@pytest.mark.parametrize(
    ("words", "operations"),
    [
        ("all", results.configurations.CollectiveName.__args__),
        ("usual,v-forms,neighbours,by-hand", results.configurations.CollectiveName.__args__),
        ("by-hand", ("bcast_binary_tree", "bcast_linear")),
        ("gatherv,v-forms,bcast", ("gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter",
                                   "bcast")),
        ("neighbours", ("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
                        "neighbor_alltoallw")),
    ],
)  # fmt: skip
def test_words_stand_for_several_collectives(words, operations):
    assert plan_for("collective", "--collectives", words).collectives == operations


@pytest.mark.parametrize(
    ("mode", "modes"),
    [
        ("blocking", {"blocking"}),
        ("non-blocking", {"non-blocking", "overlapped"}),
        ("both", {"blocking", "non-blocking", "overlapped"}),
    ],
)
def test_collectives_that_do_not_block_are_overlapped_too_and_those_by_hand_always_block(mode, modes):
    options = plan_for("collective", "--collectives", "all", "--mode", mode, "--sizes", "8")
    result = Counter((entry.operation, entry.mode) for entry in make_plan(options, PAIR))
    by_hand = {"bcast_binary_tree", "bcast_linear"}
    expected = {
        (name, entry) for name in set(results.configurations.CollectiveName.__args__) - by_hand for entry in modes
    }
    assert result == Counter(expected | {(name, "blocking") for name in by_hand if "blocking" in modes})
    lines = left_out(options)
    if mode == "blocking":
        assert lines == []
    else:
        assert lines == [
            "collective: left out, as broadcasts by hand have no non-blocking form: bcast_binary_tree, bcast_linear"
        ]


def test_reductions_of_more_elements_than_an_int_counts_are_left_out():
    options = plan_for("collective", "--collectives", "bcast,allreduce", "--sizes", f"{2**31 - 1},{2**31 + 1},8GiB")
    assert Counter((entry.operation, entry.message_size) for entry in make_plan(options, PAIR)) == Counter(
        [("bcast", 2**31 - 1), ("bcast", 2**31 + 1), ("bcast", 8 << 30), ("allreduce", 2**31 - 1)]
    )
    assert left_out(options) == ["collective: left out, as an int does not count their elements: allreduce"]


@given(
    st.sampled_from(results.configurations.CollectiveName.__args__),
    st.sampled_from([2, 3, 64, 1000, 100_000]),
    st.integers(0, 1 << 33),
)
def test_what_is_planned_fits_its_buffers(operation, processes, size):
    options = plan_for("collective", "--collectives", operation, "--sizes", str(size), procs=(processes,))
    for entry in make_plan(options, PAIR):
        largest = max(buffer_bytes([entry]))
        assert largest == max(entry.message_size, 1) or entry.message_size < largest <= 64 << 20
    assert bool(left_out(options)) == (not make_plan(options, PAIR))


def test_blocks_of_all_processes_that_exceed_the_buffers_are_left_out_and_named():
    options = plan_for("collective", "--sizes", "4MiB,16MiB", *AFTER_BARRIER, procs=(2, 8))
    plan = make_plan(options, PAIR)
    assert Collective("bcast", 16 << 20, 8) in plan
    assert Collective("alltoall", 16 << 20, 2) in plan
    assert Collective("alltoall", 16 << 20, 8) not in plan
    assert max(buffer_bytes(plan)) == 32 << 20
    (line,) = left_out(options)
    assert line == (
        "collective: left out, as all blocks together exceed 64 MiB: "
        "gather, scatter, allgather, alltoall, reduce_scatter_block above 8 MiB on 8 processes"
    )
    neighbours = plan_for("collective", "--collectives", "neighbours,gatherv", "--sizes", "16MiB,32MiB", procs=(2, 4))
    assert left_out(neighbours) == [
        "collective: left out, as all blocks together exceed 64 MiB: neighbor_allgather, neighbor_allgatherv, "
        "neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw, gatherv above 16 MiB with 4 neighbours, "
        "16 MiB on 4 processes"
    ]
    assert left_out(plan_for("collective", "--sizes", "8")) == []
    assert left_out(plan_for("pingpong", "--sizes", "1GiB")) == []


@pytest.mark.parametrize(
    ("operation", "room"),
    [
        ("bcast", (8, 8)), ("scan", (8, 8)), ("alltoall", (40, 40)), ("gather", (8, 40)),
        ("reduce_scatter_block", (40, 8)),
        ("exscan", (8, 8)), ("alltoallw", (40, 40)), ("gatherv", (8, 40)), ("scatterv", (40, 8)),
        ("allgatherv", (8, 40)), ("reduce_scatter", (40, 8)), ("neighbor_allgatherv", (8, 32)),
        ("neighbor_alltoallw", (32, 32)), ("bcast_linear", (8, 8)),
    ],
)  # fmt: skip
def test_buffers_have_room_for_a_block_of_each_process_where_there_is_one(operation, room):
    assert buffer_bytes([Collective(operation, 8, 5)]) == room


@pytest.mark.parametrize(
    ("text", "ranks", "counts"),
    [
        ("2:all", 2, (2,)),
        ("2:all", 8, (2, 4, 8)),
        ("2:all", 12, (2, 4, 8, 12)),
        ("all", 5, (5,)),
        ("1,3:4,all", 6, (1, 3, 4, 6)),
        ("3:all", 7, (3, 6, 7)),
        ("1:16:*4", 16, (1, 4, 16)),
        ("5:all", 2, (2, 5)),  # refused by the run, as 5 is
    ],
)
def test_numbers_of_processes_double_up_to_all(text, ranks, counts):
    assert parse_processes(text, ranks) == counts


@pytest.mark.parametrize("text", ["", "0", "0:all", "all:2", "many", "2:4:all"])
def test_what_is_no_number_of_processes_is_refused(text):
    with pytest.raises(InputError, match="--process-counts"):
        parse(["collective", "--process-counts", text])


def test_the_first_ranks_take_part_in_a_collective_and_pairs_in_all_else():
    assert participants(Collective("bcast", 8, 3), {}) == [0, 1, 2]
    assert participants(Train(8, 16, PATH), place([0] * 4, [0] * 4)) == [0, 1]


def test_imb_repeats_as_published():
    """March (2009), Section 4: 1000 up to 32 KiB, 640 of 64 KiB, half as many of twice the size."""
    sizes = [0, 1, 32 << 10, 64 << 10, 128 << 10, 1 << 20, 4 << 20, 64 << 20]
    assert [imb_repetitions(size) for size in sizes] == [1000, 1000, 1000, 640, 320, 40, 10, 1]


# Options and whole runs


def test_new_options_have_defaults_so_that_files_from_before_them_are_read():
    options = parse(["collective"]).options
    old = {name: getattr(options, name) for name in options.__struct_fields__}
    for name in ("mode", "collectives", "procs", "imb_repetitions"):
        del old[name]
    assert results.BenchOptions(**old).mode == "blocking"


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (Train(8, 16, PATH, delayed=True), "loggp, 8 B, messages = 16, same-socket, delayed"),
        (Train(8, 1, PATH), "loggp, 8 B, messages = 1, same-socket"),
        (PLogPParameter(8, "gap", PATH), "plogp, 8 B, gap, same-socket"),
        (Collective("bcast", 8, 4), "collective bcast, 8 B, p = 4"),
        (
            Collective("bcast", 8, 4, "round-time", "overlapped"),
            "collective bcast, 8 B, p = 4, round-time, overlapped",
        ),
    ],
)
def test_a_configuration_is_described_in_a_few_words(configuration, words):
    assert configuration_words(configuration) == words


@pytest.mark.any_library
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["collective", "--collectives", "bcast,gatherw"], 2, "--collectives: unknown collective 'gatherw'"),
        (["collective", "--process-counts", "two"], 2, "--process-counts"),
        (["loggp", "--mode", "buffered"], 2, "invalid choice: 'buffered'"),
        (
            ["collective", "--process-counts", "5"],
            3,
            "--process-counts asks for 5 processes, but there are 2: start more ranks",
        ),
    ],
)
def test_what_cannot_be_is_one_line_and_an_exit_code(arguments, code, words, tmp_path):
    output = tmp_path / "results.jsonl"
    completed = bench(2, *arguments, "-o", output)
    (line,) = error_lines(completed, "commmodel.bench")
    assert completed.returncode == code
    assert words in line
    assert not output.exists()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run of the three kernels on two ranks, in both modes; after barriers, for which no rank is too late."""
    output = tmp_path_factory.mktemp("kernels") / "results.jsonl"
    options = (*QUICK, *AFTER_BARRIER, "--mode", "both", "--time", "2s", "--seed", "3")
    completed = bench(2, "loggp", "plogp", "collective", *options, "-o", output)
    assert completed.returncode == 0, completed.stderr
    return output


@pytest.mark.any_library
@pytest.mark.mpi
def test_a_run_measures_what_is_planned_once_and_what_refines_it(run):
    (launched,) = results.load(run).launches
    options = launched.header.options
    assert options.procs == (2,)
    assert set(options.collectives) == set(results.configurations.CollectiveName.__args__[:11])
    assert options.mode == "both"
    counts = Counter(record.configuration for record in launched.records)
    assert set(counts.values()) == {1}
    extra = set(counts) - set(make_plan(options, launched.header.placement))
    assert set(make_plan(options, launched.header.placement)) <= set(counts)
    assert all(isinstance(entry, PLogPParameter) for entry in extra)
    assert all(0 < entry.message_size < 65536 for entry in extra)
    for record in launched.records:
        assert min(record.samples) > 0


@pytest.mark.any_library
@pytest.mark.mpi
def test_only_delayed_trains_and_overlapped_collectives_have_a_delay(run):
    for record in results.load(run).records:
        match record.configuration:
            case Train(delayed=True, messages=messages):
                assert min(record.samples) >= (messages - 1) * record.delay * 0.9
            case Collective(mode="overlapped"):
                assert 0 < record.delay * 0.9 <= min(record.samples)
            case _:
                assert record.delay is None


@pytest.mark.any_library
@pytest.mark.mpi
def test_a_run_goes_on_with_what_is_missing_and_with_what_refines_it(run, tmp_path):
    output = tmp_path / "results.jsonl"
    lines = run.read_text().splitlines(keepends=True)
    output.write_text("".join(lines[: len(lines) // 2]))
    completed = bench(2, "--resume", "--json", "-o", output)
    assert completed.returncode == 0, completed.stderr
    whole = results.load(output)
    options = whole.launches[0].header.options
    counts = Counter(record.configuration for record in whole.records)
    assert set(counts.values()) == {1}
    assert set(make_plan(options, whole.launches[0].header.placement)) <= set(counts)
    assert json.loads(completed.stdout)["records"] == len(whole.launches[1].records)


@pytest.mark.any_library
@pytest.mark.mpi
def test_refinements_are_planned_again_from_the_file(run, tmp_path):
    """All that is left of a complete plan is a kink that its records show."""
    (launched,) = results.load(run).launches
    header = launched.header
    options = plan_for("plogp", "--sizes", "1:64KiB", "--time", "1s", "--seed", "1")
    output = tmp_path / "results.jsonl"
    path = next(iter(header.placement))
    with results.Writer(output) as writer:
        writer.write(msgspec.structs.replace(header, options=options, warnings=()))
        for entry in make_plan(options, header.placement):
            time = kinked(entry.message_size) if entry.quantity == "gap" else 1e-6
            (record,) = measured({entry.message_size: time}, entry.quantity, path=path)
            writer.write(record)
    before = list(results.load(output).records)
    result = set(refinements(options, before))
    assert result
    completed = bench(2, "--resume", "-o", output)
    assert completed.returncode == 0, completed.stderr
    after = results.load(output)
    assert result <= {record.configuration for record in after.launches[1].records}


@pytest.mark.mpi
@pytest.mark.parametrize(("ranks", "procs", "counts"), [(2, "1:all", (1, 2)), (3, "2", (2,))])
def test_collectives_of_some_processes_repeat_as_imb_does(tmp_path, ranks, procs, counts):
    """No more than two processes communicate: a thousand times, which takes long where they share a core."""
    output = tmp_path / "results.jsonl"
    arguments = ("collective", "--collectives", "bcast,barrier", "--process-counts", procs, "--sizes", "8,1MiB")
    completed = bench(ranks, *arguments, "--imb-repetitions", "--time", "1s", "-o", output)
    assert completed.returncode == 0, completed.stderr
    table = {record.configuration: len(record.samples) for record in results.load(output).records}
    assert table == {
        Collective(operation, size, processes): imb_repetitions(size)
        for processes in counts
        for operation, size in (("bcast", 8), ("bcast", 1 << 20), ("barrier", 0))
    }


def test_every_kernel_says_in_one_line_what_it_measures():
    assert all(kernel.summary and "\n" not in kernel.summary for kernel in REGISTRY.values())


class OneRank:
    """A session of the root alone, whose communicator has nobody to tell."""

    class comm:  # noqa: N801
        bcast = staticmethod(lambda value: value)

    @staticmethod
    def ticks(seconds):
        return round(seconds * 1e9)


def test_a_pause_is_not_made_of_a_time_with_an_interruption_in_it():
    """Of five round trips three were once interrupted: every receive then came late, with cold caches."""
    interrupted = iter([[5e-3], [3e-3, 1e-6, 4e-3, 1e-6, 2e-3]])
    assert pause_ticks(OneRank, lambda _: np.array(next(interrupted))) == 1200


def test_a_first_look_at_short_times_takes_many():
    rows = []

    def measure(repetitions):
        rows.append(repetitions)
        return np.full(repetitions, 1e-6)

    assert undisturbed_seconds(OneRank, measure) == 1e-6
    assert rows == [1, 99]


@pytest.mark.parametrize(("ranks", "cpus", "shared"), [(2, 2, False), (3, 2, True), (3, 0, False)])
def test_ranks_that_outnumber_processors_share_them(ranks, cpus, shared):
    hosts = (results.Host("other", cpus=8), results.Host("vm", cpus=cpus))
    placed = tuple(results.Rank(rank, 1) for rank in range(ranks))
    header = results.Header("commmodel-results", 1, "", (), results.Library("MPI"), hosts, placed)
    assert is_oversubscribed(header) is shared


def test_hosts_with_the_same_trouble_share_a_warning():
    hosts = tuple(results.Host(f"n{number}", cpus=2, other_processes=2.0 + number) for number in range(50))
    header = results.Header("commmodel-results", 1, "", (), results.Library("MPI"), hosts, ())
    (warning,) = advice(header)
    assert warning.startswith("n0, n1 and 48 more: up to 51.0 other processes ran ")


def test_a_start_that_is_asked_for_is_known_from_the_default():
    assert parse([]).options.start == "round-time"
    assert "start" not in parse([]).typed
    assert "start" in parse(["--start", "round-time"]).typed
