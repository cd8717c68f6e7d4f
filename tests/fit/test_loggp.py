"""LogGP from trains, pLogP's tables, and whether they agree: on times made from known parameters."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fit_samples import measurements

from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.consistency import consistency
from commmodel.fit.loggp import collect_trains, fit_loggp_model
from commmodel.fit.plogp import as_loggp, fit_plogp
from commmodel.machine import Machine, Parameter, PLogP, Segment
from commmodel.predict.costs import message_costs
from commmodel.report.machine.loggp import loggp_remarks
from commmodel.results import Record
from commmodel.results.configurations import PingPong, PLogPParameter, Train

L, o, g, G = 2e-6, 0.6e-6, 0.9e-6, 1e-9
TRUE = {"L": L, "o": o, "g": g, "G": G}
SIZES = (1, *(2**power for power in range(1, 15)))
MESSAGES = 16
QUICK = FitSettings(samples=100)


def scattered(seconds, noise, random):
    return (float(seconds * np.exp(noise * random.standard_normal())),) * 9


def trains(sizes=SIZES, noise=0.0, seed=1, slope=0.2e-9, mode="blocking", parameters=(L, o, g, G)):
    """Return records of trains as LogGP has them; a send takes longer by `slope` a byte, which it does not know."""
    latency, overhead, gap, per_byte = parameters
    random = np.random.default_rng(seed)
    records = []
    for size in sizes:
        after_first = max(size - 1, 0)
        lone = 2 * latency + 4 * overhead + after_first * per_byte
        at_once = lone + (MESSAGES - 1) * (gap + after_first * per_byte)
        waiting = lone + (MESSAGES - 1) * (overhead + slope * after_first + lone)
        for messages, delayed, seconds in ((1, False, lone), (MESSAGES, False, at_once), (MESSAGES, True, waiting)):
            records.append(
                Record(
                    Train(size, messages, "between-nodes", delayed, mode),
                    "s",
                    scattered(seconds, noise, random),
                    delay=lone if delayed else None,
                )
            )
    return records


def parts(sizes=(0, *SIZES), latency=L, per_byte=G, gap=None):
    """Return records of pLogP's quantities of a machine that LogGP describes exactly."""
    records = []
    for size in sizes:
        after_first = max(size - 1, 0)
        one_way = latency + 2 * o + after_first * per_byte
        empty = latency + 2 * o
        times = {
            "send": o,
            "receive": o,
            "gap": (g if gap is None else gap) + after_first * per_byte,
            "round-trip": one_way + empty,
        }
        records += [
            Record(PLogPParameter(size, name, "between-nodes"), "s", (time,) * 9) for name, time in times.items()
        ]
    return records


def fit_trains(records, settings=QUICK):
    return fit_loggp_model(collect_trains(measurements(*records), "blocking")["between-nodes"], settings)


def test_exact_times_give_the_parameters():
    model = fit_trains(trains())
    for name, value in TRUE.items():
        assert getattr(model, name).value == pytest.approx(value, rel=1e-5)
    assert model.quality.trusted


def test_intervals_hold_the_parameters_as_often_as_they_say():
    inside = dict.fromkeys(TRUE, 0)
    runs = 60
    for seed in range(runs):
        model = fit_trains(trains(noise=0.03, seed=seed), FitSettings(confidence=0.9, samples=200))
        for name, value in TRUE.items():
            parameter = getattr(model, name)
            inside[name] += parameter.low <= value <= parameter.high
    assert all(0.75 * runs <= count for count in inside.values()), inside


def disturbed_trains(random, *, late=False):
    """Return records of 60 samples: one in eight is slower, or large ones have samples a millisecond late."""
    for record in trains(sizes=[1, *(2**power for power in range(4, 17))], noise=0.03, seed=int(random.integers(1e6))):
        factor = random.uniform(1.3, 3) if not late and random.random() < 0.125 else 1.0
        samples = record.samples[0] * factor * np.exp(0.03 * random.standard_normal(60))
        if late and record.configuration.message_size >= 4096:
            samples += (random.random(60) < random.uniform(0.3, 0.75)) * random.uniform(0.8e-3, 1.6e-3, 60)
        yield Record(record.configuration, "s", tuple(samples.tolist()), delay=record.delay)


@pytest.mark.parametrize("late", [False, True])
def test_disturbed_trains_leave_the_parameters_alone(late):
    random = np.random.default_rng(4)
    models = [fit_trains(list(disturbed_trains(random, late=late)), QUICK) for _ in range(20)]
    for name, value in TRUE.items():
        values = [getattr(model, name) for model in models]
        assert sum(entry.low <= value <= entry.high for entry in values) >= 16
        assert np.quantile([abs(entry.value / value - 1) for entry in values], 0.9) < (0.4 if name == "o" else 0.25)
    # Samples show that they are late; of a record that is slower in all samples the fit says so.
    assert np.mean([model.quality.trusted == late for model in models]) > 0.8
    assert all((model.quality.errors_with_disturbed is not None) == (model.quality.disturbed > 0) for model in models)
    assert any(model.quality.disturbed for model in models) == late


@given(noise=st.floats(0, 1.5), seed=st.integers(0, 10_000), overhead=st.sampled_from([0.0, 1e-7, 1e-6]))
def test_no_parameter_is_ever_negative(noise, seed, overhead):
    model = fit_trains(trains(noise=noise, seed=seed, parameters=(L, overhead, g, G)), FitSettings(samples=20))
    for name in TRUE:
        parameter = getattr(model, name)
        assert parameter.value >= 0
        assert parameter.low is None or 0 <= parameter.low <= parameter.high


@pytest.mark.parametrize("kind", [(1, False), (MESSAGES, False), (MESSAGES, True)])
def test_without_one_kind_of_trains_there_is_no_model(kind):
    values = [train for train in trains() if (train.configuration.messages, train.configuration.delayed) != kind]
    assert fit_trains(values) is None


def test_a_byte_that_is_copied_twice_is_remarked_on():
    twice = [
        Record(
            train.configuration, "s", tuple(value + 2e-9 * train.configuration.message_size for value in train.samples)
        )
        if train.configuration.messages == 1
        else train
        for train in trains()
    ]
    assert any("copied more than once" in remark for remark in fit_trains(twice).quality.remarks)


def test_each_protocol_gets_parameters_of_its_own():
    limit = 512
    eager = trains([size for size in SIZES if size <= limit])
    rendezvous = trains([size for size in SIZES if size > limit], parameters=(3 * L, o, g, G / 2))
    machine = fit_machine(measurements(*eager, *rendezvous), limits=[limit], settings=QUICK)
    first, second = (segment.loggp for segment in machine.segments)
    assert first.L.value == pytest.approx(L, rel=1e-4)
    assert second.L.value == pytest.approx(3 * L, rel=1e-4)
    assert second.G.value == pytest.approx(G / 2, rel=1e-4)


def test_the_mode_says_which_records_count():
    mixed = [*trains(), *trains(mode="non-blocking", parameters=(5 * L, o, g, G))]
    for mode, latency in (("blocking", L), ("non-blocking", 5 * L)):
        machine = fit_machine(measurements(*mixed), settings=QUICK, mode=mode)
        assert machine.segments[0].loggp.L.value == pytest.approx(latency, rel=1e-4)


def test_plogp_gives_back_the_times_it_was_made_from():
    table = fit_plogp(measurements(*parts()), "between-nodes", "blocking")
    sizes = np.array(table.sizes)
    one_way = L + 2 * o + np.maximum(sizes - 1, 0) * G
    np.testing.assert_allclose(table.L.value + np.array(table.g), one_way, rtol=1e-5)
    assert table.L.value == pytest.approx(L + 2 * o - g, rel=1e-5)


def test_a_train_slower_than_a_lone_message_makes_no_latency_negative():
    table = fit_plogp(measurements(*parts(gap=5e-6)), "between-nodes", "blocking")
    assert table.L.value == 0
    assert table.g[0] == pytest.approx(L + 2 * o, rel=1e-5)


def test_a_size_that_takes_far_longer_than_smaller_and_larger_ones_is_left_out():
    """Rules for this size would differ from those of all others."""
    fit = fit_plogp(measurements(*parts()), "between-nodes", "blocking")
    size = fit.sizes[3]

    def disturbed(record):
        configuration = record.configuration
        hit = configuration.message_size == size and configuration.quantity == "round-trip"
        return Record(configuration, "s", tuple(5 * time for time in record.samples)) if hit else record

    table = fit_plogp(measurements(*map(disturbed, parts())), "between-nodes", "blocking")
    assert table.left_out == (size,)
    assert table.sizes == tuple(other for other in fit.sizes if other != size)
    (remark,) = loggp_remarks(Machine("m", (Segment("all", "between-nodes"),), plogp=(table,)))
    assert "took more than twice as long" in remark


def test_one_disturbed_quantity_of_plogp_hardly_moves_the_slope():
    records = [
        Record(part.configuration, "s", tuple(1.8 * time for time in part.samples))
        if part.configuration.message_size == 4096 and part.configuration.quantity == "round-trip"
        else part
        for part in parts()
    ]
    model = as_loggp(fit_plogp(measurements(*records), "between-nodes", "blocking"), -1, np.inf)
    assert model.G.value == pytest.approx(G, rel=0.05)


@pytest.mark.parametrize("quantity", ["send", "receive", "gap", "round-trip"])
def test_without_one_quantity_there_is_no_table(quantity):
    values = [part for part in parts() if part.configuration.quantity != quantity]
    assert fit_plogp(measurements(*values), "between-nodes", "blocking") is None


def test_loggp_from_plogp_has_the_corrected_latency():
    model = as_loggp(fit_plogp(measurements(*parts()), "between-nodes", "blocking"), -1, np.inf)
    for name, value in TRUE.items():  # with the printed sign of o_s L would be off by 2 o
        assert getattr(model, name).value == pytest.approx(value, rel=1e-4)


def test_beyond_the_last_size_the_last_slope_goes_on_and_never_falls():
    table = PLogP(Parameter(0.0), (0, 10, 20), (1.0, 2.0, 4.0), (3.0, 2.0, 1.0), (1.0, 1.0, 1.0))
    assert table.at("o_s", [15, 30]).tolist() == [3.0, 6.0]
    assert table.at("o_r", 100) == 1.0


def test_both_ways_to_the_parameters_are_compared_with_the_ping_pong():
    ping = [Record(PingPong(n, "between-nodes"), "s", (L + 2 * o + (n - 1) * G,) * 9) for n in SIZES]
    result = measurements(*trains(), *parts(), *ping)
    machine = fit_machine(result, settings=QUICK)
    (row,) = consistency(result, machine)
    assert row.points == len(SIZES)
    assert row.errors.keys() == {"LogGP of trains", "LogGP of pLogP", "pLogP"}
    assert max(row.errors.values()) < 1e-4
    assert row.trains.o.value == pytest.approx(row.plogp.o.value, rel=1e-4)


def test_a_disagreement_shows():
    result = measurements(*trains(parameters=(3 * L, o, g, G)), *parts())
    (row,) = consistency(result, fit_machine(result, settings=QUICK))
    assert row.trains.L.value == pytest.approx(3 * row.plogp.L.value, rel=0.01)
    assert row.points == 0
    assert row.errors == {}


def test_a_record_that_hardly_knows_its_own_time_does_not_move_the_others():
    """Between emulated hosts a lone message of 2 KiB now and then passed at once: six samples, 23 to 120 us."""
    times = {
        2048: (None, 2768.1, 2804.3, 166.0),
        4096: (336.3, 5508.4, 5513.7, 336.6),
        8192: (681.3, 10810.4, 10898.5, 680.8),
        16384: (1366.0, 21943.2, 21991.0, 1368.2),
        32768: (2734.5, 43840.5, 43863.8, 2731.1),
    }
    passed_at_once = (23.0, 28.0, 60.0, 67.0, 90.0, 120.0)
    records = []
    for size, (lone, at_once, waiting, delay) in times.items():
        alone = (168.0,) * 30 + passed_at_once if lone is None else (lone,) * 9
        for messages, delayed, samples in ((1, False, alone), (16, False, (at_once,) * 9), (16, True, (waiting,) * 9)):
            records.append(
                Record(
                    Train(size, messages, "between-nodes", delayed, "blocking"),
                    "s",
                    tuple(time * 1e-6 for time in samples),
                    delay=delay * 1e-6 if delayed else None,
                )
            )
    assert fit_trains(records).G.value == pytest.approx(83.4e-9, rel=0.01)


def test_bytes_that_cost_less_in_a_train_leave_g_that_of_single_messages_and_predictions_use_both():
    records = []
    for record in trains():
        train = record.configuration
        saved = 0.75 * G * max(train.message_size - 1, 0) * (MESSAGES - 1)
        at_once = train.messages > 1 and not train.delayed
        records.append(msgspec.structs.replace(record, samples=(record.samples[0] - saved * at_once,) * 9))
    model = fit_trains(records)
    fitted = {name: getattr(model, name).value for name in (*TRUE, "G_gap")}
    assert fitted == pytest.approx(TRUE | {"G_gap": 0.25 * G}, rel=1e-3)
    assert "clearly more in a single message" in " ".join(model.quality.remarks)
    costs = message_costs(Machine("m", (Segment("all", loggp=model),)), "loggp")(np.array([10001]))
    assert costs.gap == pytest.approx(g + 1e4 * 0.25 * G, rel=1e-3)
    assert costs.transit == pytest.approx(L + 1e4 * G, rel=1e-3)
    assert fit_trains(trains()).G_gap is None
