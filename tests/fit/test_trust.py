"""What is trusted, what is left out, and what predictions follow where a record leaves its model."""

from itertools import islice, product

import msgspec
import numpy as np
import pytest
from benchmarks.validation.contradictions import measured_sets, ping_pongs, tally
from support.effort import effort
from support.paths import SHARED

from commmodel import predict
from commmodel.errors import CommModelError
from commmodel.fit import FitSettings, fit_machine
from commmodel.machine.file import dumps, load
from commmodel.machine.model_choice import MEASURED
from commmodel.models import maxrate
from commmodel.results import Header, Host, Launch, Library, Measurements, Record
from commmodel.results.configurations import Pairs, PingPong, Stream, Threshold
from commmodel.results.file import FORMAT

QUICK = FitSettings(samples=40)
SIZES = 2 ** np.arange(25)


def law(size):
    """As a shared memory: a protocol above 8 KiB, a cache that holds messages of up to half a MiB."""
    size = np.asarray(size)
    return np.where(size <= 8192, 0.9e-6 + size / 5e9, np.where(size <= 1 << 19, 2e-6 + size / 2.3e10, size / 1.05e10))


def synthetic(factors=None, *, samples=40, scatter=0.01, load=None, disturbed=None):
    """Return ping-pongs of the law, of which some sizes take so many times as long, by their own samples or not."""
    random = np.random.default_rng(7)
    records = [Record(Threshold("same-node"), "B", (8192.0,), bracket=(8192.0, 8193.0))]
    for size in SIZES.tolist():
        deviation = np.exp(0.02 * random.standard_normal())
        times = float(law(size)) * deviation * np.exp(scatter * random.standard_normal(samples))
        times *= (factors or {}).get(size, 1.0)
        if size == disturbed:
            times[: int(0.7 * samples)] += 2e-3
        records.append(Record(PingPong(size, "same-node"), "s", tuple(times.tolist())))
    header = Header(FORMAT, 1, "", (), Library("made"), (Host("vm", cpus=2, load=load),), ())
    return Measurements((Launch(header, tuple(records)),))


def quality(machine, size):
    return machine.segment(size).postal.quality


def test_the_last_size_before_a_limit_is_predicted_as_measured_and_not_called_disturbed(tmp_path):
    measurements = synthetic({1 << 20: 0.65})  # 65 us: neither 48 nor 100, as a cache of two MiB is nearly full
    machine = fit_machine(measurements, settings=QUICK)
    (tmp_path / "machine.toml").write_text(dumps(machine))
    machine = load(tmp_path / "machine.toml")
    last = predict.send(machine, 1 << 20)
    assert last.model == MEASURED
    assert last.time.seconds == pytest.approx(65e-6, rel=0.05)
    assert last.time.low < 64e-6 < 66e-6 < last.time.high
    assert any("leave the model's line" in remark for remark in last.remarks)
    assert predict.send(machine, 1 << 18).model == "postal"
    assert predict.send(machine, 700_000).time.seconds == pytest.approx((law(1 << 19) * 65e-6) ** 0.5, rel=0.2)
    assert quality(machine, 1 << 18).trusted


def test_several_slower_sizes_at_the_end_of_a_protocol_are_followed():
    sizes = 2 ** np.arange(23)
    seconds = np.where(sizes <= 1 << 15, 150e-6 + sizes / 5e8, 450e-6 + sizes / 1.15e8)
    seconds[13:16] = 228e-6, 305e-6, 462e-6  # 8 to 32 KiB
    machine = fit_machine(ping_pongs([list(zip(sizes.tolist(), seconds.tolist(), strict=True))]), settings=QUICK)
    for size, expected in zip(sizes.tolist(), seconds.tolist(), strict=True):
        assert predict.send(machine, size).time.seconds == pytest.approx(expected, rel=0.05), size


@pytest.mark.parametrize("confirmed", [True, False])
def test_slower_sizes_between_others_are_followed_where_all_numbers_of_pairs_confirm_them(confirmed):
    """Messages of 4 to 16 KiB take twice as long, and longer than those of 32 KiB."""
    random = np.random.default_rng(3)
    records = []
    for size, pairs in product(SIZES.tolist(), (1, 2, 4)):
        is_slow = 4096 <= size <= 16384 and (confirmed or pairs == 1)
        seconds = float(maxrate.time(size, pairs, 2e-6, 1.2e10, 4e9)) * (2.0 if is_slow else 1.0)
        samples = tuple((seconds * np.exp(0.01 * random.standard_normal(30))).tolist())
        records.append(Record(Pairs(size, pairs, "between-nodes"), "s", samples))
    header = Header(FORMAT, 1, "", (), Library("made"), (), ())
    machine = fit_machine(Measurements((Launch(header, tuple(records)),)), settings=QUICK)
    predicted = predict.send(machine, 16384, processes=2)
    if confirmed:
        assert predicted.model == MEASURED
        assert predicted.time.seconds == pytest.approx(2 * maxrate.time(16384, 2, 2e-6, 1.2e10, 4e9), rel=0.02)
        assert machine.segment(16384).max_rate.quality.trusted
        assert any("measured with 4 pairs" in remark for remark in predict.send(machine, 16384, processes=3).remarks)
    else:
        assert not machine.segment(16384).max_rate.quality.trusted


@pytest.mark.parametrize("factor", [3, 5, 20])
@pytest.mark.parametrize("size", [8, 256, 1 << 15, 1 << 17, 1 << 22])
def test_one_bad_record_leaves_the_model_in_use_and_is_told(size, factor):
    machine = fit_machine(synthetic({size: factor}), settings=QUICK)
    bad = predict.send(machine, size)
    assert bad.time.seconds == pytest.approx(float(law(size)), rel=0.15)
    assert any("measure it again" in remark for remark in bad.remarks)
    fit = quality(machine, size)
    assert not fit.trusted
    assert "though its samples agree" in fit.remarks[0]
    assert fit.relative_error_max == pytest.approx(factor - 1, rel=0.2)
    assert fit.scatter < 0.05


def test_a_record_that_its_own_samples_call_disturbed_is_left_out_and_both_errors_are_told():
    machine = fit_machine(synthetic(disturbed=1 << 16, samples=60), settings=QUICK)
    fit = quality(machine, 1 << 16)
    assert fit.trusted
    assert fit.disturbed == 1
    assert fit.relative_error_max < 0.1
    assert fit.errors_with_disturbed is not None


def test_a_launch_under_load_is_not_trusted():
    machine = fit_machine(synthetic(load=(12.0, 8.0, 3.0)), settings=QUICK)
    assert not any(segment.postal.quality.trusted for segment in machine.segments)
    assert "load average 12.0 on 2 processors" in machine.origin.warnings[0]
    assert predict.send(machine, 1 << 20).warnings == machine.origin.warnings
    quiet = fit_machine(synthetic(load=(1.1, 0.4, 0.2)), settings=QUICK)
    assert quality(quiet, 1 << 17).trusted


def test_larger_messages_never_take_less_without_a_word():
    for size in (1 << 10, 1 << 14, 1 << 19, 1 << 24):
        machine = fit_machine(synthetic({size: 20}, samples=3), settings=QUICK)
        before = None
        for other in SIZES.tolist():
            time = predict.send(machine, other)
            assert before is None or before.remarks or time.time.seconds > before.time.seconds / 1.06, (size, other)
            before = time


def test_measured_times_that_no_model_describes_are_not_interpolated_through_a_lone_bad_one():
    seconds = 1e-4 * np.array([1.0, 1.05, 1.1, 1.8, 1.9, 2.0, 5.0, 60.0, 5.3, 9.0, 9.2, 20.0])
    sizes = 2 ** np.arange(12)
    machine = fit_machine(ping_pongs([list(zip(sizes.tolist(), seconds.tolist(), strict=True))]), limits=[])
    (entry,) = machine.segments[0].measured
    if entry.times is not None:
        assert 128 not in entry.times.sizes
    bad = predict.send(machine, 128)
    assert bad.time.seconds < 1e-3
    assert bad.remarks


@pytest.mark.parametrize("factor", [1.5, 2, 5, 20])
@pytest.mark.parametrize("samples", [3, 40])
def test_nothing_made_is_trusted_that_its_data_contradict(factor, samples):
    for place in range(0, SIZES.size, effort(quick=5, thorough=1)):
        bad = {int(SIZES[place]): factor} | ({int(SIZES[place - 1]): factor} if place % 2 else {})
        assert tally(synthetic(bad, samples=samples), QUICK).contradicting == 0, bad


@pytest.mark.skipif(not SHARED.is_dir(), reason="the measurements are not beside this checkout")
def test_nothing_measured_is_trusted_that_its_data_contradict():
    trusted, points = 0, 0
    for source, measurements in islice(measured_sets(SHARED), 0, None, effort(quick=5, thorough=1)):
        try:
            row = tally(Measurements(measurements.launches[: effort(quick=2, thorough=100)]), QUICK)
        except CommModelError:  # no ping-pongs
            continue
        assert row.contradicting == 0, source
        trusted, points = trusted + row.trusted, points + row.points
    assert trusted > effort(quick=15, thorough=40)
    assert points > effort(quick=400, thorough=1000)


def test_streams_of_many_pairs_that_the_rate_of_few_does_not_describe_are_predicted_as_measured():
    sizes, counts = 2 ** np.arange(23), (1, 2, 4, 8, 32)
    records = [
        Record(Stream(int(size), pairs, "between-nodes"), "s", (float(time),))
        for pairs in counts
        for size, time in zip(sizes, 0.2e-6 * (6 if pairs == 32 else 1) + pairs * sizes / 1e10, strict=True)
    ]
    machine = fit_machine(
        Measurements((Launch(Header(FORMAT, 1, "", (), Library("made"), (), ()), tuple(records)),)), settings=QUICK
    )
    for size in (1, 64, 1 << 12):
        many = predict.send(machine, size, processes=32)
        assert many.time.seconds == pytest.approx(1.2e-6 + 32 * size / 1e10, rel=0.1)
        assert many.remarks
    assert not machine.segment(1).one_way.quality.trusted


def test_half_of_the_launches_under_load_are_doubt_and_a_large_node_is_not_crowded_by_few():
    quiet, crowded = synthetic(load=(0.1, 0.1, 0.1)).launches[0], synthetic(load=(12.0, 8.0, 3.0)).launches[0]
    machine = fit_machine(Measurements((quiet, crowded)), settings=QUICK)
    assert not any(segment.postal.quality.trusted for segment in machine.segments)
    large = msgspec.structs.replace(crowded.header, hosts=(Host("node", 2, load=(12.0, 8.0, 3.0), processors=128),))
    machine = fit_machine(Measurements((msgspec.structs.replace(crowded, header=large),)), settings=QUICK)
    assert all(segment.postal.quality.trusted for segment in machine.segments)


def test_measured_times_of_launches_that_disagree_have_an_interval_that_holds_them_all():
    fast, slow = synthetic().launches[0], synthetic(dict.fromkeys([1 << step for step in range(25)], 8.0)).launches[0]
    machine = fit_machine(Measurements((fast, slow)), settings=QUICK)
    time = predict.send(machine, 1 << 16).time
    alone = [predict.send(fit_machine(Measurements((item,)), settings=QUICK), 1 << 16).time for item in (fast, slow)]
    assert time.low <= alone[0].seconds * 1.02
    assert time.high >= alone[1].seconds / 1.02


def test_a_prediction_says_that_its_fit_is_not_trusted():
    machine = fit_machine(synthetic({1 << 12: 5.0}), settings=QUICK)
    assert any("not trusted: 1 of" in remark for remark in predict.send(machine, 1 << 10).remarks)
    assert not predict.send(fit_machine(synthetic(), settings=QUICK), 1 << 10).remarks


def pairs_of(times_of):
    """Return pairs records of which the time of each size and number of pairs is given, with 2 % of scatter."""
    random = np.random.default_rng(5)
    records = []
    for size, pairs in product([0, *SIZES[:11].tolist()], (1, 2, 4)):
        seconds = times_of(size, pairs) * np.exp(0.02 * random.standard_normal() + 0.001 * random.standard_normal(20))
        records.append(Record(Pairs(size, pairs, "between-nodes"), "s", tuple(seconds.tolist())))
    return Measurements((Launch(Header(FORMAT, 1, "", (), Library("made"), (), ()), tuple(records)),))


def test_the_model_of_one_pair_has_an_interval_for_several_that_their_times_do_not_contradict():
    """Four pairs take 12 % less than one, whose times scatter by 2 %."""
    measurements = pairs_of(lambda size, pairs: (7e-6 + size / 3.6e8) * (0.88 if pairs == 4 else 1.0))
    machine = fit_machine(measurements, settings=QUICK)
    assert predict.send(machine, 0, processes=4).model == "postal"
    assert tally(measurements, QUICK).contradicting == 0
    shared, alone = (predict.send(machine, 64, processes=pairs).time for pairs in (4, 1))
    assert shared.high / shared.low > 1.3 > alone.high / alone.low


def test_a_model_that_is_asked_for_says_where_the_times_leave_its_line():
    machine = fit_machine(synthetic({1 << 20: 0.65}), settings=QUICK)
    assert predict.send(machine, 1 << 20).model == MEASURED
    remarks = predict.send(machine, 1 << 20, model="postal").remarks
    assert any("512 KiB to 1 MiB leave the line of this model" in remark for remark in remarks)
    assert not predict.send(machine, 1 << 18, model="postal").remarks


@pytest.mark.parametrize("ping_pongs", [True, False])
def test_streams_that_leave_their_line_are_doubt_where_no_prediction_follows_them(ping_pongs):
    def record(kernel, size, factor):
        seconds = float(2e-6 + size / 1e10) * factor
        configuration = PingPong(size, "same-node") if kernel is PingPong else Stream(size, 1, "same-node")
        return Record(configuration, "s", (seconds, 1.01 * seconds, 0.99 * seconds) * 4)

    records = [record(Stream, size, 1.7 if size >= 1 << 21 else 1.0) for size in SIZES[:23].tolist()]
    records += [record(PingPong, size, 1.0) for size in SIZES[:23].tolist()] * ping_pongs
    header = Header(FORMAT, 1, "", (), Library("made"), (), ())
    machine = fit_machine(Measurements((Launch(header, tuple(records)),)), limits=[], settings=QUICK)
    assert machine.segments[0].one_way.quality.trusted != ping_pongs
    if not ping_pongs:
        assert predict.send(machine, 1 << 22).model == MEASURED
