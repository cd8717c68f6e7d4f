"""Fits of what a busy machine measures: modes, disturbed records, cliffs behind noise, limits of caches."""

import math

import msgspec
import numpy as np
import pytest

from commmodel import predict
from commmodel.bench.environment import data_caches
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.points import Points, collect
from commmodel.fit.protocol_limits import change_points
from commmodel.fit.robust import minimise
from commmodel.fit.segment import fit_max_rate_model, fit_postal_model
from commmodel.fit.trust import judge, mean_error, recommend
from commmodel.fit.undisturbed import undisturbed
from commmodel.machine import LatencyAware, MaxRate, Parameter, Postal, Quality, Segment
from commmodel.machine.file import dumps, load
from commmodel.models import maxrate
from commmodel.results import Header, Host, Launch, Library, Measurements, Rank, Record
from commmodel.results.configurations import Pairs, PingPong, Threshold
from commmodel.results.file import FORMAT

SIZES = 2 ** np.arange(25)


def measurements(*records, **header):
    return Measurements(
        (Launch(msgspec.structs.replace(Header(FORMAT, 1, "", (), Library("made"), (), ()), **header), records),)
    )


def alone(sizes, seconds):
    return Points(sizes, np.ones_like(sizes), seconds, seconds, seconds)


def ping_pongs(sizes, seconds, disturbed_size=None, scatter=0.03, seed=0):
    """Return records of 60 samples; of one size most are a millisecond longer."""
    random = np.random.default_rng(seed)
    for size, time in zip(sizes.tolist(), seconds.tolist(), strict=True):
        samples = time * np.exp(scatter * random.standard_normal(60))
        if size == disturbed_size:
            samples[:36] += random.uniform(0.8e-3, 1.6e-3, 36)
        yield Record(PingPong(size, "same-node"), "s", tuple(samples.tolist()))


def test_the_undisturbed_mode_is_taken_though_the_disturbed_one_holds_the_majority():
    random = np.random.default_rng(1)
    samples = np.concatenate([65e-6 * np.exp(0.03 * random.standard_normal(30)), random.uniform(1e-3, 2e-3, 70)])
    result = undisturbed(samples)
    assert result.median == pytest.approx(65e-6, rel=0.03)
    assert result.modes[0].share == pytest.approx(0.3)
    assert result.error > undisturbed(samples[:30]).error


def test_what_disturbed_messages_took_is_told_with_predictions_near_them(tmp_path):
    machine = fit_machine(measurements(*ping_pongs(SIZES, 1e-6 + SIZES / 1e10, disturbed_size=65536)))
    path = tmp_path / "machine.toml"
    path.write_text(dumps(machine))
    machine = load(path)
    (table,) = (entry.disturbed for entry in machine.segments[0].measured)
    assert table.sizes == (65536,)
    assert 0.8e-3 < table.seconds[0] < 1.7e-3
    (remark,) = predict.send(machine, 50_000).remarks
    assert "most messages of 64 KiB, and half of them took 1" in remark
    assert predict.send(machine, 1024).remarks == predict.send(machine, 0).remarks == ()


def test_two_close_levels_and_a_few_outliers_are_one_mode():
    random = np.random.default_rng(2)
    samples = np.concatenate([random.normal(0.78, 0.02, 100), random.normal(0.94, 0.02, 400), [20.0] * 8])
    assert len(undisturbed(samples).modes) == 1


def test_the_share_of_each_mode_is_told_in_the_fit_and_in_its_file(tmp_path):
    records = ping_pongs(SIZES[13:20], 2e-6 + SIZES[13:20] / 1e10, disturbed_size=1 << 19)
    machine = fit_machine(measurements(*records), limits=[])
    (remark,) = [remark for remark in machine.segments[0].postal.quality.remarks if "modes" in remark]
    assert "512 KiB 40 % at 54" in remark
    (tmp_path / "machine.toml").write_text(dumps(machine))
    assert remark in load(tmp_path / "machine.toml").segments[0].postal.quality.remarks


def test_noisy_large_sizes_hide_no_cliff_before_them():
    seconds = np.where(SIZES <= 1 << 20, 2e-6 + SIZES / 2e10, 1e-5 + SIZES / 2e9)
    seconds[-2:] *= (4.0, 3.0)
    assert change_points(alone(SIZES, seconds)) == [(1 << 20, 1 << 21)]


def test_one_bad_size_makes_no_limit():
    for bad in range(25):
        seconds = (1e-6 + SIZES / 1e10) * np.where(np.arange(25) == bad, 2.0, 1.0)
        assert change_points(alone(SIZES, seconds)) == []


def test_a_cache_is_a_limit_on_less_evidence():
    rows = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        seconds = (1e-6 + SIZES / np.where(SIZES <= 1 << 20, 1e10, 1e10 / 1.35)) * np.exp(
            0.1 * random.standard_normal(25)
        )
        rows.append([bool(change_points(alone(SIZES, seconds), caches)) for caches in ((), (1 << 20,))])
    without, beside = np.mean(rows, axis=0)
    assert beside > without


def test_a_limit_at_a_known_cache_is_called_so():
    seconds = np.where(SIZES <= 1 << 20, 1e-6 + SIZES / 2e10, 1e-6 + SIZES / 4e9)
    host = Host("vm", cpus=2, caches={"L2": 2 << 20})
    machine = fit_machine(measurements(*ping_pongs(SIZES, seconds), hosts=(host,)))
    assert [(limit.limit.value, limit.limit.found_by) for limit in machine.segments[:-1]] == [(1 << 20, "cache")]


def test_data_caches_are_read_from_the_system(tmp_path):
    for index, (level, kind, size) in enumerate(
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K")]
    ):
        folder = tmp_path / "cpu0" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, value in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(value + "\n")
    assert data_caches(tmp_path) == {"L1": 48 << 10, "L2": 2 << 20}
    assert data_caches(tmp_path / "nowhere") == {}


def test_disturbed_records_leave_the_parameters_alone_and_are_told():
    sizes, pairs = np.repeat(SIZES[10:22], 4), np.tile([1, 2, 4, 8], 12)
    seconds = maxrate.time(sizes, pairs, 2e-6, 1.2e10, 4e9) * np.exp(
        0.03 * np.random.default_rng(3).standard_normal(48)
    )
    seconds[::7] *= 2.5
    data = Points(sizes, pairs, seconds, seconds, seconds)
    model, by_squares = (fit_max_rate_model(data, FitSettings(samples=100, loss=loss)) for loss in ("robust", "paper"))
    values = [model.alpha.value, model.R_C.value, model.R_N.value]
    assert values == pytest.approx([2e-6, 4e9, 1.2e10], rel=0.05)
    assert abs(by_squares.alpha.value / 2e-6 - 1) > 0.1
    assert not model.quality.trusted  # nothing shows that these records were disturbed: they are counted
    assert model.quality.relative_error_mean > 0.1
    assert model.quality.remarks[0].startswith("7 of 48 records lie beside the model: ")


def test_a_robust_mean_ignores_what_is_far_off():
    times = np.append(np.random.default_rng(4).normal(1.0, 0.02, 20), [30.0, 40.0, 0.01])
    size = np.full(23, 8.0)
    result = minimise(lambda w, t: w @ t / w.sum(), lambda mean: np.full(23, mean), size, times, np.zeros(23), 1)
    assert result.fit == pytest.approx(1.0, abs=0.02)


def test_large_messages_alone_have_a_rate_and_no_latency():
    sizes = SIZES[21:]
    model = fit_postal_model(alone(sizes, sizes / 1e10 * np.array([1.02, 0.97, 1.03, 0.99])), FitSettings())
    assert model.alpha.value == 0
    assert model.alpha.high > 0
    assert 1 / model.beta.value == pytest.approx(1e10, rel=0.03)
    assert model.quality.trusted
    assert any("T = n / R" in remark for remark in model.quality.remarks)


@pytest.mark.parametrize(
    ("limits", "protocols"),
    [
        ([64, 1 << 20], ["eager", "eager/rendezvous", "rendezvous"]),
        ([8192, 1 << 20], ["eager", "rendezvous", "rendezvous"]),
        ([], ["eager/rendezvous"]),
    ],
)
def test_limits_that_are_given_leave_the_protocols_to_the_probe(limits, protocols):
    probe = Record(Threshold("same-node"), "B", (8192.0,), bracket=(8192.0, 8193.0))
    machine = fit_machine(measurements(probe, *ping_pongs(SIZES, 1e-6 + SIZES / 1e10)), limits=limits)
    assert [segment.protocol for segment in machine.segments] == protocols


def test_an_underestimate_counts_as_much_as_an_overestimate():
    seconds = np.array([1.0, 1.0])
    assert mean_error(seconds / 20, seconds) == pytest.approx(mean_error(seconds * 20, seconds)) == pytest.approx(19)
    points = Points(np.array([1, 2]), np.ones(2, dtype=int), seconds, seconds, seconds)
    assert judge(points, seconds / 20, {}, [], spread=np.zeros((2, 2))).relative_error_max == pytest.approx(19)


def test_a_trusted_model_is_preferred_to_a_slightly_better_untrusted_one():
    rate, time = Parameter(1e9, "B/s"), Parameter(1e-6, "s")

    def quality(error, trusted):
        return Quality(20, 1.0, error, error, trusted)

    segment = Segment(
        "all",
        postal=Postal(time, Parameter(1e-9, "s/B"), quality(0.01, trusted=True)),
        max_rate=MaxRate(time, rate, rate, quality(0.064, trusted=True)),
        latency_aware=LatencyAware(time, rate, rate, quality(0.05, trusted=False)),
    )
    assert recommend(segment, 3.0)[0] == "max-rate"
    untrusted = msgspec.structs.replace(segment, max_rate=MaxRate(time, rate, rate, quality(0.064, trusted=False)))
    assert recommend(untrusted, 3.0)[0] == "latency-aware"


def test_shared_processors_are_told_with_the_machine():
    records = [Record(Pairs(int(size), 1, "same-node"), "s", (1e-6 + int(size) / 1e10,) * 9) for size in SIZES[:8]]
    crowded = measurements(*records, hosts=(Host("vm", cpus=2),), ranks=tuple(Rank(rank, 0) for rank in range(4)))
    (warning,) = fit_machine(crowded).origin.warnings
    assert warning.startswith("vm: 4 ranks share 2 processors")
    assert fit_machine(measurements(*records)).origin.warnings == ()


@pytest.mark.parametrize("noise", ["even", "uneven"])
def test_intervals_cover_the_truth_whatever_the_noise(noise):
    sizes, pairs = np.repeat(SIZES[4:23], 4), np.tile([1, 2, 4, 8], 19)
    covered = np.zeros(3)
    for seed in range(60):
        random = np.random.default_rng(seed)
        deviation = np.where(sizes < 1024, 0.08, 0.02) if noise == "uneven" else 0.04
        seconds = maxrate.time(sizes, pairs, 2e-6, 1.2e10, 4e9) * np.exp(deviation * random.standard_normal(sizes.size))
        model = fit_max_rate_model(Points(sizes, pairs, seconds, seconds, seconds), FitSettings(samples=200, seed=seed))
        for index, (name, truth) in enumerate((("alpha", 2e-6), ("R_C", 4e9), ("R_N", 1.2e10))):
            covered[index] += getattr(model, name).low <= truth <= getattr(model, name).high
    assert (covered / 60 >= 0.85).all(), covered


def test_a_record_of_few_samples_has_an_unbounded_interval_and_one_of_zeros_no_modes():
    few = collect(measurements(Record(PingPong(8, "same-node"), "s", (1e-6, 1.1e-6, 1.2e-6))))["same-node"]
    assert few.seconds[0] == 1.1e-6
    assert math.isinf(few.high[0])
    assert undisturbed([0.0, 0.0, 1.0]).median == 0.0
