"""Limits, modes and the hybrid model found in raw times: of real data, of made ones, and what must hold always."""

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.paths import SHARED

from commmodel import formats, machine
from commmodel.errors import DamagedFileError, InputError, MissingParameterError
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.calls import collect_series
from commmodel.fit.change_points import find_limits, medians, robust_lines, split_in_two
from commmodel.fit.hybrid import fit_hybrid
from commmodel.fit.path_parameters import fit_answers, fit_contention, fit_unexpected
from commmodel.machine import Edge, Hybrid, Machine, Mode, Parameter, Segment
from commmodel.results import BenchOptions, Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Answer, Contention, RandomPing, RandomPingPong, Threshold, Unexpected

GRAPHENE = SHARED / "graphene"
HEADER = Header("commmodel-results", 1, "2026-01-01", (), Library("MPI"), (), ())
FEW = FitSettings(samples=20)

needs_graphene = pytest.mark.skipif(not GRAPHENE.is_dir(), reason="no measurements of graphene here")


def measured(*records):
    return Measurements((Launch(HEADER, records),))


# Limits


@pytest.fixture(scope="module")
def graphene():
    return formats.load_all(sorted(GRAPHENE.glob("graphene_eth_*.csv")))


@pytest.fixture(scope="module")
def graphene_model(graphene):
    (model,) = fit_hybrid(graphene, FEW)
    return model


def near(limits, place, within=0.1):
    return [entry for entry in limits if abs(entry.below / place - 1) <= within]


@needs_graphene
@pytest.mark.parametrize("call", ["isend", "receive"])
def test_graphene_calls_change_near_1420_and_65536_bytes(graphene, call):
    series = collect_series(graphene)["any"][call]
    limits = find_limits(series.sizes, series.seconds, samples=20)
    for place in (1420, 65536):
        (entry,) = near(limits, place)
        assert entry.confidence >= 0.7


@needs_graphene
def test_graphene_has_its_modes(graphene_model):
    by_kind = {
        kind: [entry for entry in graphene_model.modes if entry.kind == kind] for kind in ("asynchronous", "detached")
    }
    assert by_kind["asynchronous"][-1].limit.value == pytest.approx(65536, rel=0.1)
    assert 190_000 < by_kind["detached"][-1].limit.value < 330_000
    assert graphene_model.modes[-1].kind == "synchronous"
    assert any(abs(entry.limit.value / 1420 - 1) < 0.1 for entry in by_kind["asynchronous"])
    assert graphene_model.modes[-1].B.value == pytest.approx(120e6, rel=0.05)  # Gigabit Ethernet


@needs_graphene
def test_graphene_is_predicted_from_its_modes(graphene, graphene_model):
    sizes, seconds = medians(*msgspec.structs.astuple(_of(graphene, "round-trip")))
    errors = np.abs([graphene_model.seconds(size) / time - 1 for size, time in zip(sizes, seconds, strict=True)])
    assert np.median(errors) < 0.05
    assert np.quantile(errors, 0.9) < 0.25


class Raw(msgspec.Struct):
    sizes: list[int]
    seconds: list[float]


def _of(measurements, call):
    series = collect_series(measurements)["any"][call]
    return Raw(series.sizes, series.seconds)


@given(
    st.integers(40, 120), st.integers(40, 120), st.floats(1.15, 3), st.floats(0.5, 5), st.integers(0, 2**31), st.data()
)
@settings(max_examples=30, deadline=None)
def test_a_clear_limit_is_found_among_noise_and_outliers(below, above, factor, slope, seed, data):
    random = np.random.default_rng(seed)
    sizes = np.unique(np.geomspace(100, 1e6, below + above).astype(int))
    limit = sizes[below]
    times = (1e-5 + slope * 1e-9 * sizes) * np.where(sizes <= limit, 1.0, factor)
    times *= 1 + 0.01 * random.standard_normal(sizes.size)
    lone = [place for place in range(5, sizes.size - 5, 7) if abs(place - below) > 4]
    spoilt = data.draw(st.lists(st.sampled_from(lone), max_size=3, unique=True))
    times[spoilt] *= 20
    result = find_limits(sizes, times, samples=0)
    assert any(abs(np.log(entry.below / limit)) < 0.3 for entry in result)  # up to three sizes beside it
    assert len(result) <= 2


@given(st.integers(0, 2**31), st.integers(60, 200))
@settings(max_examples=30, deadline=None)
def test_one_noisy_line_has_no_limit(seed, count):
    random = np.random.default_rng(seed)
    sizes = np.unique(np.geomspace(1, 1e6, count).astype(int))
    times = (1e-5 + 1e-9 * sizes) * random.uniform(0.9, 1.1, sizes.size)
    assert not find_limits(sizes, times, samples=0)


@given(st.lists(st.tuples(st.integers(0, 2**40), st.floats(0, 1e3)), max_size=60))
@example([(size, 1e-300 if size < 30 else 1e3) for size in range(60)])
@settings(max_examples=50, deadline=None)
def test_limits_ascend_whatever_the_times_are(values):
    sizes, seconds = [size for size, _ in values], [time for _, time in values]
    limits = find_limits(sizes, seconds, samples=2)
    places = [place for entry in limits for place in (entry.below, entry.above)]
    assert places == sorted(places)
    assert all(entry.low <= entry.below < entry.above <= entry.high for entry in limits)


def test_many_sizes_are_joined():
    sizes = medians(np.arange(1, 5001), np.ones(5000))[0]
    assert sizes.size == 600
    assert (np.diff(sizes) > 0).all()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 10), st.integers(0, 2**31))
@settings(max_examples=50, deadline=None)
def test_lines_are_never_negative_and_scale_with_the_times(alpha, beta, factor, seed):
    random = np.random.default_rng(seed)
    sizes = np.arange(1, 30)
    times = (0.1 + alpha + beta * sizes) * random.uniform(0.8, 1.2, sizes.size)
    result, scaled = (robust_lines(sizes, scale * times, np.ones((1, 29)), scale * times) for scale in (1.0, factor))
    assert min(result) >= 0
    assert np.allclose(np.array(scaled), factor * np.array(result), rtol=1e-6, atol=1e-9)


def test_too_few_values_have_one_level():
    assert split_in_two(np.array([1.0, 2.0, 3.0])) == (3, 2.0, 2.0)


# The hybrid model


SIZES = tuple(int(size) for size in np.unique(np.geomspace(1, 4e6, 180).astype(int)))
S_A, S_D = 10_000, 300_000
LATENCY, RATE = 20e-6, 1e8


def ring_records(path="between-nodes", rate_below=RATE, send_buffer=0):
    """Return records of a machine with three modes, without noise."""
    sizes = np.array(SIZES)
    receive = np.where(sizes <= S_A, 5e-6 + 1e-10 * sizes, 0.0)
    wire = LATENCY + sizes / np.where(sizes <= S_A, rate_below, RATE)
    one_way = wire + receive
    call = np.where(sizes <= S_A, receive, one_way)  # a late receive has the transfer before it
    send = np.where(sizes <= S_A, 3e-6 + 2e-10 * sizes, np.where(sizes <= S_D, 4e-5, one_way - send_buffer / RATE))
    isend = np.where(sizes <= S_A, 3e-6 + 2e-10 * sizes, 2e-6)
    pings = {"send": send, "receive": call, "isend": isend}
    three = lambda values: tuple(np.repeat(values, 3).tolist())  # noqa: E731
    return (
        Record(RandomPingPong(SIZES, path), "s", three(one_way)),
        *(Record(RandomPing(SIZES, name, path), "s", three(values)) for name, values in pings.items()),
    )


def test_what_was_put_in_is_found():
    (model,) = fit_hybrid(measured(*ring_records()), FEW)
    assert [mode.kind for mode in model.modes] == ["asynchronous", "detached", "synchronous"]
    first, second, last = model.modes
    assert first.limit.value == pytest.approx(S_A, rel=0.07)
    assert second.limit.value == pytest.approx(S_D, rel=0.07)
    assert (first.o_s.value, first.O_s.value) == pytest.approx((3e-6, 2e-10), rel=1e-3)
    assert (first.o_r.value, first.O_r.value) == pytest.approx((5e-6, 1e-10), rel=1e-3)
    for mode in model.modes:
        assert (mode.L.value, mode.B.value) == pytest.approx((LATENCY, RATE), rel=1e-3)
    assert (second.o_s.value, second.o_is.value) == pytest.approx((4e-5, 2e-6), rel=1e-3)
    assert (second.o_r.value, last.o_r.value, last.o_s.value) == (0, 0, 0)
    for size in (1, S_A // 2, 2 * S_A, 2 * S_D):
        mode = model.mode(size)
        assert model.seconds(size) == pytest.approx(LATENCY + size / RATE + mode.o_r.value + size * mode.O_r.value)


def test_what_a_synchronous_send_leaves_behind_is_found():
    (model,) = fit_hybrid(measured(*ring_records(send_buffer=50_000)), FEW)
    assert model.modes[-1].kind == "synchronous"
    assert model.send_buffer.value == pytest.approx(50_000, rel=1e-3)
    assert model.send_buffer.low <= model.send_buffer.value <= model.send_buffer.high
    (model,) = fit_hybrid(measured(*ring_records()), FEW)
    assert model.send_buffer is None


@pytest.mark.parametrize("free", [0, 1500])
def test_a_mode_takes_the_links_rate_where_its_own_times_tell_none(free):
    """Times that do not grow are latency; bytes that pass at once, from a full token bucket, give no faster link."""
    sizes = np.array(SIZES)
    steps = np.where(sizes <= 4000, 5 * LATENCY, 10 * LATENCY) + np.maximum(sizes - 1500, 0) / RATE
    if free:
        steps = 2e-6 + np.maximum(sizes - free, 0) / RATE
    times = tuple(np.repeat(steps, 3).tolist())
    (model,) = fit_hybrid(measured(Record(RandomPingPong(SIZES, "any"), "s", times)), FEW)
    at = np.array([10_000, 100_000, 4_000_000])
    assert [model.mode(size).B.value for size in at] == pytest.approx([RATE] * 3, rel=0.05)


def test_a_mode_whose_times_fall_has_a_rate_all_the_same():
    """First messages on a busy machine may take twenty times as long as the next."""
    sizes = np.array(SIZES)
    falling = np.where(sizes <= 4000, np.maximum(4e-4 * (1 - sizes / 2000), 5e-6), 2e-4 + sizes / RATE)
    times = tuple(np.repeat(falling, 3).tolist())
    (model,) = fit_hybrid(measured(Record(RandomPingPong(SIZES, "any"), "s", times)), FEW)
    assert all(0 < mode.B.low <= mode.B.value <= mode.B.high <= 2000 * RATE for mode in model.modes)


def test_a_fit_is_the_same_each_time():
    first, second = (msgspec.json.encode(fit_hybrid(measured(*ring_records()), FEW)) for _ in range(2))
    assert first == second


def test_the_probe_knows_the_asynchronous_limit_better():
    probe = Record(Threshold("between-nodes"), "B", (9999.0,), bracket=(9999, 10_000))
    (model,) = fit_hybrid(measured(*ring_records(), probe), FEW)
    assert model.modes[0].limit == Edge(9999, 9999, 10_000, 1.0, "threshold")


def through_sockets(limited=True):
    """Return records of a library that sends all at once over TCP: sockets hold 16 kB of a send, 64 kB of a receive.

    As between two emulated hosts of 20 Mbit/s: `faults3/emulated`.
    """
    rate, sizes = 2.39e6, np.array([size for size in SIZES if 200 <= size <= 1 << 20])
    one_way = sizes / rate
    send = np.maximum(2e-5, one_way - 16_000 / rate)
    receive = np.maximum(5e-5, one_way - 64_000 / rate)
    calls = {"send": send, "isend": np.full(sizes.size, 2e-5), "receive": receive}
    return (
        Record(RandomPingPong(tuple(sizes.tolist()), "between-nodes"), "s", tuple(one_way.tolist())),
        *(
            Record(RandomPing(tuple(sizes.tolist()), name, "between-nodes"), "s", tuple(values.tolist()))
            for name, values in calls.items()
            if limited or name != "send"
        ),
    )


def test_messages_whose_sends_wait_are_not_asynchronous_whatever_receives_find():
    (model,) = fit_hybrid(measured(*through_sockets()), FEW)
    assert list(dict.fromkeys(mode.kind for mode in model.modes)) == ["asynchronous", "synchronous"]
    assert model.modes[0].limit.value == pytest.approx(16_000, rel=0.25)
    assert model.send_buffer.value == pytest.approx(16_000, rel=0.02)
    assert model.doubts == ()


def test_bytes_in_a_receivers_socket_make_no_larger_messages_asynchronous():
    """Without sends, receives tell: their first 64 kB are there, but each further byte takes its time."""
    fitted = fit_machine(measured(*through_sockets(limited=False)), settings=FEW)
    (model,) = fitted.hybrid
    assert model.modes[0].limit.value == pytest.approx(64_000, rel=0.25)
    assert any("when sends end is not known" in warning for warning in fitted.warnings)


def test_a_limit_that_most_resampled_sets_lack_is_doubted_in_every_prediction():
    latency, rate = Parameter(1e-5, "s"), Parameter(1e8, "B/s")
    faint = Edge(9000, 9000, 12_000, 0.37, "change-point")
    modes = (Mode("asynchronous", latency, rate, faint), Mode("synchronous", latency, rate))
    machine = Machine("m", (Segment("all"),), hybrid=(Hybrid(modes, "between-nodes"),))
    (doubt,) = machine.warnings
    assert "9000 B" in doubt
    assert "37 %" in doubt
    clear = msgspec.structs.replace(modes[0], limit=msgspec.structs.replace(faint, confidence=0.9))
    assert Hybrid((clear, modes[1])).doubts == ()
    same_kind = msgspec.structs.replace(modes[0], limit=None)
    assert Hybrid((modes[0], same_kind)).doubts == ()  # whatever it is, messages are asynchronous


def test_a_partial_measurement_is_told_with_the_machine():
    options = BenchOptions(("ping", "pingpong", "threshold"), 1, sizes=(8,))
    partial = msgspec.structs.replace(HEADER, options=options, planned=5)
    fitted = fit_machine(Measurements((Launch(partial, ring_records()),)), settings=FEW, results=["c.jsonl"])
    (warning,) = fitted.warnings
    assert "4 of 5 planned configurations, none of threshold: complete c.jsonl with --resume" in warning
    probe = Record(Threshold("between-nodes"), "B", (9999.0,), bracket=(9999, 10_000))
    rest = Launch(msgspec.structs.replace(partial, resumes=True, planned=1), (probe,))
    assert fit_machine(Measurements((Launch(partial, ring_records()), rest)), settings=FEW).warnings == ()


def test_sends_that_never_wait_are_asynchronous():
    probe = Record(Threshold("between-nodes"), "B", (4194304.0,), bracket=(4194304, None))
    (model,) = fit_hybrid(measured(*ring_records(), probe), FEW)
    assert {mode.kind for mode in model.modes} == {"asynchronous"}


def test_each_path_has_its_model():
    models = fit_hybrid(measured(*ring_records(), *ring_records("same-node", rate_below=3e7)), FEW)
    assert [model.path for model in models] == ["between-nodes", "same-node"]
    assert models[1].modes[0].B.value == pytest.approx(3e7, rel=1e-3)


def test_a_machine_has_the_model_and_segments_of_the_same_ping_pongs():
    fitted = fit_machine(measured(*ring_records()), settings=FEW)
    assert fitted.hybrid_model().path == "between-nodes"
    assert fitted.segment(3_000_000).postal.beta.value == pytest.approx(1 / RATE, rel=0.01)


def test_ping_pongs_of_a_few_sizes_make_no_model():
    assert fit_hybrid(measured(Record(RandomPingPong((1, 2, 3), "any"), "s", (1e-6,) * 3)), FEW) == ()


def test_times_that_do_not_grow_are_refused():
    flat = Record(RandomPingPong(tuple(range(1, 41)), "any"), "s", (1e-6,) * 40)
    with pytest.raises(InputError, match="larger --sizes"):
        fit_hybrid(measured(flat), FEW)


def test_what_was_not_measured_is_told():
    (model,) = fit_hybrid(measured(ring_records()[0]), FEW)
    assert [remark.partition(" is ")[0] for remark in model.remarks] == ["o_s", "o_r"]


@pytest.mark.parametrize(("both_ways", "expected"), [(1.0, 2.0), (4 / 3, 1.5), (2.0, 1.0), (0.9, 2.0), (2.5, 1.0)])
def test_contention_is_the_rate_both_ways_over_that_one_way(both_ways, expected):
    records = [
        Record(Contention(1 << 22, direction, "any"), "s", (time, 1.01 * time, 0.99 * time))
        for direction, time in (("one-way", 1e-3), ("both-ways", both_ways * 1e-3))
    ]
    result, remarks = fit_contention(measured(*records), "any", FEW)
    assert result.value == pytest.approx(expected)
    assert 1 <= result.low <= result.value <= result.high <= 2
    assert not remarks


@pytest.mark.parametrize(
    ("both_ways", "expected"), [((1.0, 2.0, 2.1, 1.02), 2.0), ((1.25, 2.0, 2.1, 2.0), 1.6), ((2.0, 2.1, 1.9, 2.0), 2.0)]
)
def test_exchanges_that_took_turns_do_not_count_where_answers_wait(both_ways, expected):
    records = [
        Record(Contention(1 << 22, direction, "between-nodes"), "s", tuple(1e-3 * time for time in times))
        for direction, times in (("one-way", (1.0, 1.01, 0.99)), ("both-ways", both_ways))
    ]
    result, remarks = fit_contention(measured(*records), "between-nodes", FEW, takes_turns=True)
    assert result.value == pytest.approx(expected, rel=0.02)
    is_assumed = min(both_ways) > 1.6
    assert (result.low is None) == is_assumed
    assert ["the ranks took turns" in remark for remark in remarks] == [True] * is_assumed
    kinds = ("alone", "beside")
    delayed = [Record(Answer(1 << 20, exchange, "between-nodes"), "s", (1e-2, 1.01e-2)) for exchange in kinds]
    (model,) = fit_hybrid(measured(ring_records()[0], *records, *delayed), FEW)
    assert model.contention == result


@pytest.mark.parametrize(("pair", "takes_turns"), [(1.4, False), (2.0, False), (2.0, True)])
def test_a_ring_says_more_of_the_link_than_an_exchange_of_two(pair, takes_turns):
    """As on taurus: messages both ways take twice as long between two nodes, 1.36 times with two partners."""
    records = [
        Record(Contention(1 << 22, direction, "between-nodes", pairs), "s", (time, 1.01 * time, 0.99 * time))
        for direction, pairs, time in (("one-way", 1, 1e-3), ("both-ways", 1, pair * 1e-3), ("ring", 2, 1.36e-3))
    ]
    result, remarks = fit_contention(measured(*records), "between-nodes", FEW, takes_turns)
    assert result.value == pytest.approx(2 / 1.36, rel=0.01)
    assert result.low <= result.value <= result.high
    assert ["the two ranks probably take turns" in remark for remark in remarks] == [True] * (pair == 2.0)


@pytest.mark.parametrize(("late", "expected"), [(0.1, 0.9), (1.0, 0.0), (1.3, 0.0)])
def test_what_has_come_before_its_receive_is_the_time_that_a_late_one_saves(late, expected):
    records = [
        Record(Unexpected(1 << 20, receive, "between-nodes"), "s", (time, 1.01 * time, 0.99 * time))
        for receive, time in (("awaited", 1e-2), ("late", late * 1e-2))
    ]
    fit = fit_unexpected(measured(*records), "between-nodes", FEW)
    assert fit.value == pytest.approx(expected)
    assert 0 <= fit.low <= fit.value <= fit.high <= 1
    assert fit_unexpected(measured(records[0]), "between-nodes", FEW) is None
    (model,) = fit_hybrid(measured(ring_records()[0], *records), FEW)
    assert model.unexpected == fit


@pytest.mark.parametrize(("beside", "expected"), [(0.2, 0.2), (0.8, 0.8), (1.3, 1.0)])
def test_the_answer_delay_is_the_time_of_a_send_beside_a_large_message_over_that_one_s(beside, expected):
    records = [
        Record(Answer(1 << 20, exchange, "between-nodes"), "s", (time, 1.01 * time, 0.99 * time))
        for exchange, time in (("alone", 1e-2), ("beside", beside * 1e-2))
    ]
    records.append(Record(Answer(1 << 20, "empty", "between-nodes"), "s", (3e-5, 2e-5, 4e-5)))
    result, latency = fit_answers(measured(*records), "between-nodes", FEW)
    assert result.value == pytest.approx(expected)
    assert 0 <= result.low <= result.value <= result.high <= 1
    assert latency.value == 3e-5
    assert fit_answers(measured(records[0]), "between-nodes", FEW) == (None, None)
    (model,) = fit_hybrid(measured(ring_records()[0], *records), FEW)
    assert (model.answer_delay, model.answer_latency) == (result, latency)


def test_answers_and_unexpected_messages_below_the_eager_limit_tell_nothing():
    """Sends that await no receive end at once, whatever a library does with those that do."""
    size = 1 << 13
    records = [Record(Answer(size, kind, "between-nodes"), "s", (1e-2, 1.01e-2)) for kind in ("alone", "beside")]
    records += [Record(Unexpected(size, kind, "between-nodes"), "s", (1e-2, 1e-3)) for kind in ("awaited", "late")]
    (model,) = fit_hybrid(measured(*ring_records(), *records), FEW)
    assert (model.answer_delay, model.unexpected) == (None, None)
    assert [remark.split(":")[0] for remark in model.remarks if "await no receive" in remark] == [
        "answer",
        "unexpected",
    ]
    larger = [replace(record, configuration=replace(record.configuration, message_size=1 << 24)) for record in records]
    (model,) = fit_hybrid(measured(*ring_records(), *larger), FEW)
    assert None not in {model.answer_delay, model.unexpected}


def test_a_ring_through_a_network_that_limits_does_not_count():
    records = [
        Record(Contention(1 << 22, direction, "between-nodes", pairs), "s", (time, 1.01 * time, 0.99 * time))
        for direction, pairs, time in (
            ("one-way", 1, 1e-3), ("one-way", 2, 2e-3), ("both-ways", 1, 1.25e-3), ("ring", 2, 2e-3)
        )
    ]  # fmt: skip
    result, remarks = fit_contention(measured(*records), "between-nodes", FEW)
    assert result.value == pytest.approx(1.6, rel=0.01)
    assert len(remarks) == 1


def test_what_more_pairs_of_nodes_do_is_told():
    records = [
        Record(Contention(1 << 22, "one-way", "between-nodes", pairs), "s", (time,))
        for pairs, time in ((1, 1e-3), (2, 1.02e-3), (4, 2e-3))
    ]
    result, (two, four) = fit_contention(measured(*records), "between-nodes", FEW)
    assert result is None
    assert "take no longer than" in two
    assert "take 2.00 times as long" in four


# The file


def model_text(**changes):
    mode = {"kind": '"synchronous"', "L": '"10us"', "B": '"100MB/s"'} | changes
    lines = "\n".join(f"{name} = {value}" for name, value in mode.items() if name != "contention")
    contention = f"contention = {changes['contention']}\n" if "contention" in changes else ""
    head = 'format = "commmodel-machine"\nversion = 1\nname = "m"\n[[segments]]\nprotocol = "all"\n'
    return f"{head}[[hybrid]]\n{contention}[[hybrid.modes]]\n{lines}\n"


def test_a_model_by_hand_has_units(tmp_path):
    (tmp_path / "m.toml").write_text(model_text(contention="1.5", o_s='"3us"', O_r='"0.2ns/B"'))
    model = machine.load(tmp_path / "m.toml").hybrid_model()
    assert model.contention == Parameter(1.5, "1")
    assert (model.modes[0].L.value, model.modes[0].B.value, model.modes[0].O_r.value) == (1e-5, 1e8, 2e-10)


def test_a_fitted_model_survives_its_file(tmp_path):
    fitted = fit_machine(measured(*ring_records()), settings=FEW)
    machine.dump(fitted, tmp_path / "m.toml")
    assert machine.load(tmp_path / "m.toml") == fitted


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"contention": "2.5"}, "between 1 and 2"),
        ({"B": "0"}, "above 0"),
        ({"L": '"1 parsec"'}, "unknown unit"),
        ({"L": "-1.0"}, "from 0 up"),
        ({"limit": "1000"}, "must have none"),
        ({"kind": '"eager"'}, "invalid enum"),
        ({"o_s": "true"}, "expected a number"),
    ],
)
def test_a_damaged_model_is_refused_in_one_line(tmp_path, changes, words):
    (tmp_path / "m.toml").write_text(model_text(**changes))
    with pytest.raises(DamagedFileError, match=words) as caught:
        machine.load(tmp_path / "m.toml")
    assert "hybrid[0]" in str(caught.value)


def test_modes_come_in_their_order(tmp_path):
    rate, latency = Parameter(1e8, "B/s"), Parameter(1e-6, "s")
    modes = (Mode("detached", latency, rate, Edge(10)), Mode("asynchronous", latency, rate))
    machine.dump(Machine("m", (Segment("all"),), hybrid=(Hybrid(modes),)), tmp_path / "m.toml")
    with pytest.raises(DamagedFileError, match="then detached"):
        machine.load(tmp_path / "m.toml")


def test_a_missing_model_names_its_kernels():
    with pytest.raises(MissingParameterError, match="bench ping pingpong contention threshold --random-sizes"):
        Machine("m", (Segment("all"),)).hybrid_model()
    with pytest.raises(MissingParameterError, match="no hybrid model of path 'same-node' \\(it has between-nodes\\)"):
        fit_machine(measured(*ring_records()), settings=FEW).hybrid_model("same-node")


# Other people's files


def test_calls_of_a_file_become_a_ping_pong_or_pings(tmp_path):
    (tmp_path / "a.csv").write_text("MPI_Send,100,0.0,1e-6\nMPI_Recv,100,0.0,3e-6\n")
    (tmp_path / "b.csv").write_text("MPI_Isend,100,0.0,1e-6\nMPI_Isend,7,0.1,2e-6\n")
    first, second = formats.load_all([tmp_path / "a.csv", tmp_path / "b.csv"]).launches
    assert {record.configuration: record.samples for record in first.records} == {
        RandomPingPong((100,), "any"): (2e-6,),
        RandomPing((100,), "send", "any"): (1e-6,),
    }
    assert second.records == (Record(RandomPing((100, 7), "isend", "any"), "s", (1e-6, 2e-6)),)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("MPI_Send,1,0,1e-6\nMPI_Recv,2,0,1e-6\n", "line 2: sends and receives of one size must take turns"),
        ("MPI_Send,1,0,1e-6\nMPI_Recv,1,0,1e-6\nMPI_Recv,1,0,1e-6\nMPI_Send,1,0,1\n", "line 3: .* take turns"),
        ("MPI_Isend,1,0,1e-6\nMPI_Wait,1,0,1e-6\n", "line 2: the call 'MPI_Wait'"),
        ("MPI_Isend,1,0,1e-6\nMPI_Isend,1,0\n", "line 2: 3 fields"),
        ("MPI_Isend,1,0,nan\n", "line 1: duration"),
    ],
)
def test_a_damaged_file_of_calls_is_refused_with_its_line(tmp_path, lines, words):
    (tmp_path / "a.csv").write_text(lines)
    with pytest.raises(DamagedFileError, match=words):
        formats.load(tmp_path / "a.csv")
