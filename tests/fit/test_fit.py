"""The fit finds what is in the data: parameters, limits, and how well it knows them."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares
from support.fit_samples import BLUE_WATERS, PAIRS, SIZES, blue_waters, measurements, points

from commmodel.errors import InputError
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.bootstrap import interval
from commmodel.fit.least_squares import fit_max_rate, fit_unlimited
from commmodel.fit.points import Points, collect, collect_streams
from commmodel.fit.protocol_limits import change_points
from commmodel.fit.segment import fit_max_rate_model, fit_postal_model
from commmodel.results import Header, Library, Measurements, Record
from commmodel.results.configurations import Pairs, PingPong, Stream, Threshold
from commmodel.results.file import FORMAT


def measured(data, path="same-node"):
    rows = zip(data.message_size.tolist(), data.pairs.tolist(), data.seconds.tolist(), strict=True)
    return [Record(Pairs(size, count, path), "s", (time,) * 9) for size, count, time in rows]


@given(alpha=st.floats(1e-7, 1e-4), R_C=st.floats(1e8, 1e11), ratio=st.floats(1.01, 15.0), seed=st.integers(0, 2**16))
def test_max_rate_finds_the_parameters_of_exact_data(alpha, R_C, ratio, seed):
    data = points(SIZES, PAIRS, alpha, R_C, ratio * R_C)
    shuffled = data.where(np.random.default_rng(seed).permutation(len(data)))
    size, pairs = shuffled.message_size.astype(float), shuffled.pairs.astype(float)
    fit = fit_max_rate(size, pairs, 1 / size, shuffled.seconds[None])
    values = [fit.alpha[0], 1 / fit.b[0], 1 / fit.c[0]]
    assert values == pytest.approx([alpha, R_C, ratio * R_C], rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_max_rate_is_no_worse_than_an_iterative_solver_from_many_starts(seed):
    data = points(SIZES, PAIRS, 4e-6, 3.76e9, 6.61e9, noise=0.2, seed=seed)
    size, pairs = data.message_size.astype(float), data.pairs.astype(float)
    fit = fit_max_rate(size, pairs, 1 / size, data.seconds[None])
    cost = ((fit.predict(size, pairs)[0] - data.seconds) ** 2 / size).sum()

    def residuals(logarithms):
        alpha, R_N, R_C = np.exp(logarithms)
        return 1e9 * (alpha + pairs * size / np.minimum(R_N, pairs * R_C) - data.seconds) / np.sqrt(size)

    starts = [np.log([1e-6, R_N, R_C]) for R_N in (3e9, 6e9, 2e10) for R_C in (1e9, 4e9)]
    iterative = min((residuals(least_squares(residuals, start).x) ** 2).sum() / 1e18 for start in starts)
    assert cost <= iterative * (1 + 1e-9)


def test_postal_never_gives_a_negative_latency():
    sizes = np.array([1e3, 1e4, 1e5])
    fit = fit_unlimited(sizes, np.ones(3), 1 / sizes, np.array([[1e-6, 2e-5, 3e-4]]))
    assert fit.alpha[0] == 0
    assert fit.b[0] > 0


def test_times_that_do_not_grow_leave_the_rate_undetermined_and_say_so():
    flat = points(2 ** np.arange(6), [1], 1e-6, math.inf, math.inf, noise=0.01)
    assert fit_max_rate_model(flat, FitSettings()).R_C.high == math.inf
    assert fit_postal_model(flat, FitSettings()).beta.low == 0
    falling = Points(
        *(np.array(column) for column in ([1, 2, 4, 8], [1] * 4, [4e-6, 3e-6, 2e-6, 1e-6], [0] * 4, [0] * 4))
    )
    quality = fit_max_rate_model(falling, FitSettings()).quality
    assert not quality.trusted
    assert any("do not lie on one line" in remark for remark in quality.remarks)


COVERAGE = {
    "node limits": (SIZES, PAIRS, 4e-6, 3.76e9, 6.61e9),
    "one pair": (SIZES, [1], 2e-6, 3.76e9, math.inf),
    "few points": (SIZES[:5], [1, 2], 4e-6, 3.76e9, 5e9),
    "small messages": (2 ** np.arange(14), [1], 1e-6, 3.76e9, math.inf),
}


@pytest.mark.parametrize("case", COVERAGE)
def test_intervals_of_90_percent_cover_the_truth_in_85_to_97_percent_of_data_sets(case):
    sizes, pairs, *truth = COVERAGE[case]
    covered = {name: 0 for name, value in zip(("alpha", "R_C", "R_N"), truth, strict=True) if math.isfinite(value)}
    data_sets = 200
    for seed in range(data_sets):
        model = fit_max_rate_model(points(sizes, pairs, *truth, noise=0.05, seed=seed), FitSettings(0.9, 400, seed))
        for name, value in zip(("alpha", "R_C", "R_N"), truth, strict=True):
            if name in covered:
                parameter = getattr(model, name)
                covered[name] += parameter.low <= value <= parameter.high
    assert {name: 0.85 <= count / data_sets <= 0.97 for name, count in covered.items()} == dict.fromkeys(
        covered, True
    ), covered


@given(st.integers(20, 2000), st.floats(0.5, 0.99))
def test_one_more_data_set_lies_beyond_a_percentile_interval_as_rarely_as_it_says(count, confidence):
    low, high = interval(np.random.default_rng(count).permutation(count).astype(float), confidence)
    beyond = (low + 1 + count - high) / (count + 1)  # ranks that one more may have, below and above
    assert beyond <= max(1 - confidence, 2 / (count + 1)) + 1e-9
    assert beyond >= 1 - confidence - 2 / (count + 1)


def test_postal_intervals_cover_the_truth_too():
    covered = {"alpha": 0, "beta": 0}
    for seed in range(200):
        data = points(SIZES, [1], 2e-6, 3.76e9, math.inf, noise=0.05, seed=1000 + seed)
        model = fit_postal_model(data, FitSettings(0.9, 400, seed))
        covered["alpha"] += model.alpha.low <= 2e-6 <= model.alpha.high
        covered["beta"] += model.beta.low <= 1 / 3.76e9 <= model.beta.high
    assert all(170 <= count <= 190 for count in covered.values()), covered


def test_a_node_that_does_not_limit_is_called_so_and_given_no_number():
    wrongly_limited = 0
    for seed in range(50):
        data = points(2 ** np.arange(14), PAIRS, 1e-6, 3.76e9, math.inf, noise=0.05, seed=seed)
        model = fit_max_rate_model(data, FitSettings(samples=200))
        if model.R_N.is_limiting:
            wrongly_limited += 1
            continue
        assert 3.76e9 < model.R_N.low <= 16 * model.R_C.value * 1.001
        assert any("does not limit" in remark for remark in model.quality.remarks)
    assert wrongly_limited <= 5  # 2.5 % are to be expected


def test_one_pair_alone_leaves_r_n_unmeasured():
    model = fit_max_rate_model(points(SIZES, [1], 1e-6, 1e9, math.inf, noise=0.01), FitSettings())
    assert model.R_N is None
    assert any("R_N is not measured" in remark for remark in model.quality.remarks)
    streams = fit_max_rate_model(points(SIZES, PAIRS, 1e-6, 1e9, 4e9, noise=0.01), FitSettings())
    model = fit_max_rate_model(points(SIZES, [1], 1e-6, 1e9, math.inf, noise=0.01), FitSettings(), streams)
    assert not any("R_N is not measured" in remark for remark in model.quality.remarks)
    assert any("that of streams" in remark for remark in model.quality.remarks)


def test_three_sizes_are_too_few_to_be_trusted():
    quality = fit_max_rate_model(points(SIZES[:3], [1], 1e-6, 1e9, math.inf, noise=0.01), FitSettings()).quality
    assert not quality.trusted
    assert "too few sizes" in quality.remarks[0]


def protocol_change(limit, seed=0, noise=0.02):
    sizes = 2 ** np.arange(21)
    seconds = np.where(sizes <= limit, 1e-6 + sizes / 3e9, 4e-6 + sizes / 1e10)
    seconds *= 1 + noise * np.random.default_rng(seed).standard_normal(sizes.size)
    return [
        Record(PingPong(size, "same-node"), "s", (time,) * 9)
        for size, time in zip(sizes.tolist(), seconds.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_a_protocol_change_is_found_in_the_times(seed):
    machine = fit_machine(measurements(*protocol_change(8192, seed)))
    assert [segment.protocol for segment in machine.segments] == ["eager", "rendezvous"]
    limit = machine.segments[0].limit
    assert (limit.value, limit.above, limit.found_by) == (8192, 16384, "change-point")
    assert machine.segments[0].postal.alpha.value == pytest.approx(1e-6, rel=0.1)
    assert machine.segments[1].postal.alpha.value == pytest.approx(4e-6, rel=0.1)


def test_times_on_one_line_are_one_segment_but_for_a_few_unlucky_data_sets():
    data = (points(2 ** np.arange(20), [1], 1e-6, 3e9, math.inf, noise=0.05, seed=seed) for seed in range(100))
    assert sum(bool(change_points(entry)) for entry in data) <= 10
    assert change_points(points(2 ** np.arange(20), [1], 1e-6, 3e9, math.inf, noise=0.02)) == []


def disturbed_line(random, factor=1.0, limit=0, noise=0.05):
    """Return a point for each power of 2, one in ten of which is disturbed; those beyond the limit are slower."""
    sizes = 2 ** np.arange(25)
    alpha, rate = 10 ** random.uniform(-6.5, -5), 10 ** random.uniform(8.8, 10.5)
    seconds = (alpha + sizes / rate) * np.where(sizes > limit, factor, 1.0) * np.exp(noise * random.standard_normal(25))
    seconds *= np.where(random.random(25) < 0.1, random.uniform(1.3, 3, 25), 1.0)
    return Points(sizes, np.ones_like(sizes), seconds, seconds, seconds)


def test_disturbed_records_make_no_limit_and_hide_none():
    random = np.random.default_rng(7)
    assert sum(bool(change_points(disturbed_line(random))) for _ in range(60)) <= 3
    limits = 2 ** random.integers(5, 20, 60, endpoint=True)
    assert sum(bool(change_points(disturbed_line(random, 1.5, limit))) for limit in limits) >= 56


def test_times_that_wander_as_a_whole_make_no_limit_and_hide_none():
    sizes = 2 ** np.arange(25)
    random = np.random.default_rng(11)
    alike = np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(np.arange(25), np.arange(25))))

    def limits(factor):
        seconds = (1e-6 + sizes / 3e9) * np.where(sizes > 1024, factor, 1.0)
        seconds *= np.exp(0.1 * alike @ random.standard_normal(25))
        return change_points(Points(sizes, np.ones_like(sizes), seconds, seconds, seconds))

    assert sum(bool(limits(1.0)) for _ in range(12)) <= 1
    assert sum((1024, 2048) in limits(1.6) for _ in range(3)) >= 2


def test_a_bend_larger_than_what_wanders_stays_a_limit():
    """As 50 Gb/s Ethernet between nodes: one line through all sizes is 38 % off at 16 KiB."""
    sizes = np.array([0, *2 ** np.arange(23)])
    off = [-4, -3, -4, -2, -4, -4, -3, 2, 5, 18, 23, 27, 35, 37, 38, 28, 17, 22, 8, 1, -4, -6, -7, -8]
    seconds = (3e-6 + sizes / 5e9) * np.exp(np.array(off) / 100)
    points = Points(sizes, np.ones_like(sizes), seconds, seconds, seconds)
    assert len(change_points(points)) == 1


def test_a_jump_where_latency_and_byte_time_weigh_the_same_is_a_limit():
    sizes = 2 ** np.arange(25)
    random = np.random.default_rng(3)
    exact = (1e-6 + sizes / 1e10) * np.where(sizes > 8192, 1.5, 1.0)
    data = (exact * np.exp(0.03 * random.standard_normal(25)) for _ in range(20))
    hits = sum(bool(change_points(Points(sizes, np.ones_like(sizes), times, times, times))) for times in data)
    assert hits == 20


def test_a_limit_needs_less_where_the_noise_cannot_be_smaller_and_more_where_few_sizes_tell_it():
    """A jump by half at the bend, in noise of 5 %; and lines of nine sizes, or in noise of 14 %."""
    random = np.random.default_rng(17)

    def share(data):
        return np.mean([bool(change_points(Points(sizes, np.ones_like(sizes), *[times] * 3))) for sizes, times in data])

    def times(sizes, noise, factor=1.0):
        exact = (1e-6 + sizes / 1e10) * np.where(sizes > 8192, factor, 1.0)
        return sizes, exact * np.exp(noise * random.standard_normal(sizes.size))

    assert share(times(2 ** np.arange(25), 0.05, 1.5) for _ in range(60)) >= 0.8
    assert share(times(2 ** np.arange(25), 0.14) for _ in range(100)) <= 0.05
    assert share(times(8 ** np.arange(9), 0.1) for _ in range(100)) <= 0.05


def test_several_records_of_a_size_that_agree_are_not_disturbed():
    """One size is 2.5 times slower in each of eight launches: it is where the next protocol begins."""
    sizes = np.repeat(2 ** np.arange(2, 14), 8)
    seconds = np.where(sizes < 512, 2e-6, 7e-6 + sizes / 4e9) * np.where(sizes == 512, 0.8, 1.0)
    assert change_points(Points(sizes, np.ones_like(sizes), seconds, seconds, seconds)) == [(256, 512)]


def test_no_bytes_have_a_time_of_their_own():
    sizes = np.array([0, *2 ** np.arange(20)])
    seconds = np.where(sizes <= 4096, 1e-6 + sizes / 1e10, 5e-6 + sizes / 1e10)
    assert change_points(Points(sizes, np.ones_like(sizes), seconds, seconds, seconds)) == [(4096, 8192)]


def test_the_probe_decides_where_it_was_run():
    probe = Record(Threshold("same-node"), "B", (9000.0,), bracket=(9000.0, 9001.0))
    machine = fit_machine(measurements(probe, *protocol_change(9000)))
    limit = machine.segments[0].limit
    assert (limit.value, limit.above, limit.found_by) == (9000, 9001, "threshold")


def test_where_nothing_waits_everything_is_eager():
    probe = Record(Threshold("same-node"), "B", (4194304.0,), bracket=(4194304.0, None))
    machine = fit_machine(measurements(probe, *protocol_change(8192)))
    assert {segment.protocol for segment in machine.segments} == {"eager"}
    assert machine.segments[-1].limit is None


def test_different_mpi_libraries_are_not_mixed():
    launches = measurements(*protocol_change(8192)).launches
    other = msgspec.structs.replace(launches[0], header=Header(FORMAT, 1, "", (), Library("other"), (), ()))
    with pytest.raises(InputError, match=r"different MPI libraries were measured \(made; other\)"):
        fit_machine(Measurements((launches[0], other)))


def test_limits_given_by_the_user_win():
    machine = fit_machine(measurements(*protocol_change(8192)), limits=[64, 8192])
    assert [segment.protocol for segment in machine.segments] == ["short", "eager", "rendezvous"]
    assert {segment.limit.found_by for segment in machine.segments[:2]} == {"user"}


def test_each_path_is_fitted_on_its_own():
    near = points(SIZES, [1], 1e-6, 1e10, math.inf, noise=0.01)
    far = points(SIZES, [1], 5e-6, 1e9, math.inf, noise=0.01)
    machine = fit_machine(measurements(*measured(near), *measured(far, "between-nodes")))
    assert machine.segment(1 << 20, "same-node").max_rate.R_C.value == pytest.approx(1e10, rel=0.05)
    assert machine.segment(1 << 20).max_rate.R_C.value == pytest.approx(1e9, rel=0.05)


def test_several_pairs_of_nodes_change_no_model_of_a_node():
    kinds = (Pairs, Stream)
    values = [Record(kind(4096, 2, "between-nodes"), "s", (1e-6,) * 9) for kind in kinds]
    several = [Record(kind(4096, 2, "between-nodes", node_pairs=2), "s", (1.0,) * 9) for kind in kinds]
    for collected in (collect, collect_streams):
        points = collected(measurements(*several, *values))["between-nodes"]
        assert points.seconds.tolist() == [1e-6]
        assert collected(measurements(*several)) == {}


def test_nothing_to_fit_is_one_line_with_the_mend():
    with pytest.raises(InputError, match="no records of the kernels pingpong, pairs, stream, loggp or plogp"):
        fit_machine(measurements(Record(Threshold("same-node"), "B", (1.0,))))


def test_the_same_seed_gives_the_same_machine():
    records = measurements(*measured(points(SIZES, PAIRS, 4e-6, 3.76e9, 6.61e9, noise=0.05)))
    assert fit_machine(records) == fit_machine(records)


@pytest.mark.skipif(not BLUE_WATERS.is_dir(), reason="the Blue Waters measurements are not beside this checkout")
def test_blue_waters_gives_the_published_fit():
    """All tables, ≥ 8000 B: α 4.0e-6, R_N 6.61e9, R_C 3.76e9, Σ|relative error| 47.8; limits at 500 and 8000 B."""
    data = blue_waters()
    model = fit_max_rate_model(data.where(data.message_size >= 8000), FitSettings(samples=50, loss="paper"))
    values = [model.alpha.value, model.R_N.value, model.R_C.value, model.quality.relative_error_sum]
    assert values == pytest.approx([4.0e-6, 6.61e9, 3.76e9, 47.8], rel=3e-3)
    assert change_points(data) == [(256, 512), (4096, 8192)]


def test_seed_and_confidence_come_before_those_of_the_settings():
    measured = measurements(*protocol_change(8192))
    settings = FitSettings(samples=40, seed=3, confidence=0.8)
    assert fit_machine(measured, settings=FitSettings(samples=40)) == fit_machine(
        measured, settings=settings, seed=1, confidence=0.95
    )
    with pytest.raises(InputError, match="confidence"):
        fit_machine(measured, confidence=95)
