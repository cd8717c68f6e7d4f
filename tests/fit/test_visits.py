"""Time of a configuration from its visits: no bias, its error, and what disturbed visits do."""

import msgspec
import numpy as np
import pytest
from support.effort import effort
from support.report_samples import header

from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.points import collect
from commmodel.fit.segment import fit_max_rate_model, fit_postal_model
from commmodel.fit.undisturbed import APART, undisturbed
from commmodel.fit.visits import drift, time_of, visit_scatter
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import Pairs, PingPong

SIZES = [1 << power for power in range(21)]


def record(size, visits):
    samples = tuple(sample for visit in visits for sample in visit)
    return Record(PingPong(size, "same-node"), "s", samples, visits=tuple(map(len, visits)))


def times(medians):
    return [undisturbed(median * np.linspace(0.99, 1.01, 21)) for median in medians]


def measured(scatter, random, alpha=1e-6, rate=5e9):
    records = []
    for size in SIZES:
        off = np.exp(scatter * random.standard_normal(4))
        visits = [(alpha + size / rate) * entry * np.exp(0.03 * random.standard_normal(25)) for entry in off]
        records.append(record(size, [visit.tolist() for visit in visits]))
    return Measurements((Launch(header(), tuple(records)),))


@pytest.mark.parametrize("scatter", [0.02, 0.05, 0.1])
def test_visits_that_scatter_to_both_sides_bias_nothing(scatter):
    random, settings = np.random.default_rng(5), FitSettings(samples=20)
    machines = [fit_machine(measured(scatter, random), limits=[1 << 30], settings=settings) for _ in range(20)]
    alphas, betas = np.array([(m.segments[0].postal.alpha.value, m.segments[0].postal.beta.value) for m in machines]).T
    expected = pytest.approx(0, abs=scatter / 4)  # the faster half: -0.6 times the scatter
    assert np.log(alphas / 1e-6).mean() == expected
    assert np.log(betas * 5e9).mean() == expected


@pytest.mark.parametrize("scatter", [0.02, 0.1])
def test_the_scatter_between_visits_is_found_with_a_quarter_of_them_disturbed(scatter):
    random = np.random.default_rng(7)
    quiet = np.exp(scatter * random.standard_normal((100, 4)))
    size = np.full(100, 1024)
    assert visit_scatter(size, list(map(times, quiet))) == pytest.approx(scatter, rel=0.2)
    quiet[random.random(quiet.shape) < 0.25] *= 1000
    assert visit_scatter(size, list(map(times, quiet))) == pytest.approx(scatter, rel=0.6)
    assert not visit_scatter(size[:2], [times([1.0]), times([2.0])]).any()


def test_visits_to_small_messages_may_scatter_more():
    random, size = np.random.default_rng(3), np.repeat(SIZES, 8)
    logs = np.where(size < 1024, 0.08, 0.02)[:, None] * random.standard_normal((size.size, 3))
    scatter = visit_scatter(size, list(map(times, np.exp(logs))))
    assert scatter[size == 1] == pytest.approx(0.08, rel=0.2)
    assert scatter[size == 1 << 20] == pytest.approx(0.02, rel=0.2)


def test_the_error_of_a_point_is_that_of_so_many_visits():
    random = np.random.default_rng(8)
    points = collect(measured(0.05, random))["same-node"]
    off = np.log(points.seconds / (1e-6 + points.message_size / 5e9))
    assert np.median(points.error) == pytest.approx(0.025, rel=0.3)
    assert np.std(off) == pytest.approx(0.025, rel=0.3)


@pytest.mark.parametrize(
    ("medians", "right"),
    [
        ([1.0, 1.0, 1.0, 0.7], 1.0),  # a faster clock for a while: the other visits agree
        ([1.0, 1.0, 1.0, 1.4], 1.0),
        ([1.0, 1.0, 1.4, 1.4], 1.0),  # of two camps the faster
        ([1.0, 1.5, 1.5], 1.0),  # two slow visits may agree by chance
        ([1.0, 1.0, 5e3, 8e3], 1.0),  # the scheduler
        ([1.0, 4e3, 6e3, 5e3], 1.0),
    ],
)
def test_visits_far_from_the_others_do_not_count(medians, right):
    time = time_of(times(medians), 0.02)
    assert time.median == pytest.approx(right, rel=1e-3)
    assert time.low < right < time.high
    assert time.error > time_of(times([1.0] * 4), 0.02).error  # those left out are doubt
    assert (len(time.modes) > 1) == (max(medians) > APART)
    if len(time.modes) > 1:
        assert time.modes[0].share == pytest.approx(np.mean(np.array(medians) < APART))


@pytest.mark.parametrize("slow", [0.0, 0.125])
@pytest.mark.parametrize("rounds", [3, 4])
def test_what_rounds_have_in_common_is_found_in_full(rounds, slow):
    random, sizes, squares, expected = np.random.default_rng(9), np.repeat(SIZES, 4), [], []
    for _ in range(30):
        common = (0.06 if slow else 0.03) * random.standard_normal(rounds)
        logs = common + 0.05 * random.standard_normal((sizes.size, rounds))
        logs += np.log(np.where(random.random(logs.shape) < slow, random.uniform(1.3, 3, logs.shape), 1))
        factors, freedom = drift(sizes.astype(float), [[undisturbed([time]) for time in row] for row in np.exp(logs)])
        assert freedom == rounds - 1
        squares.append((factors**2).sum(axis=1).mean())
        expected.append(common.var(ddof=1) / rounds)
    assert np.mean(squares) == pytest.approx(np.mean(expected), rel=0.2 if slow else 0.1)


def alike(random, count, factor):
    """Return noise of which neighbours are alike by a factor."""
    noise = [random.standard_normal()]
    for _ in range(count - 1):
        noise.append(factor * noise[-1] + np.sqrt(1 - factor**2) * random.standard_normal())
    return np.array(noise)


@pytest.mark.parametrize(("share", "least", "most"), [(0.7, 1.1, 1.7), (0.0, 1.0, 1.05)])
def test_rounds_are_alike_where_times_drift_within_them(share, least, most):
    """A drift that is half gone after a tenth of a round: the mean of three varies 1.18 times as much as they say."""
    random, size = np.random.default_rng(2), np.repeat(SIZES, 5).astype(float)
    ratios = []
    for _ in range(effort(quick=4, thorough=12)):
        wander = np.sqrt(share) * alike(random, 3 * size.size, 0.5 ** (10 / size.size)).reshape(3, size.size)
        wander += np.sqrt(1 - share) * random.standard_normal(wander.shape) + 2 * random.standard_normal((3, 1))
        order = np.array([random.permutation(size.size) for _ in range(3)])  # of each round: a place for each
        logs = 0.03 * np.take_along_axis(wander, order, axis=1).T
        visits = [[undisturbed([time]) for time in row] for row in np.exp(logs)]
        independent, continued = ((drift(size, visits, *places)[0] ** 2).sum() for places in ((), (order[0],)))
        ratios.append(continued / independent)
    assert least <= np.mean(ratios) <= most


def drift_over_sizes(random):
    return 0.05 * np.array([alike(random, 11, 0.9) for _ in range(4)])[:, :, None]


NOISE = {  # of four visits to eleven sizes and three numbers of pairs, in logarithms
    "visits": lambda random: 0.05 * random.standard_normal((4, 11, 3)),
    "rounds": lambda random: 0.03 * random.standard_normal((4, 1, 1)),
    "sizes": lambda random: 0.03 * random.standard_normal((1, 11, 1)),
    "drift over sizes": drift_over_sizes,
}


@pytest.mark.parametrize("kind", NOISE)
def test_intervals_hold_the_truth_whatever_visits_have_in_common(kind):
    random, sizes, pairs, sets = np.random.default_rng(11), np.array(SIZES[::2]), (1, 2, 4), 40
    truth, covered = {"alpha": 1e-6, "R_C": 5e9, "R_N": 1e10}, dict.fromkeys(("alpha", "R_C", "R_N"), 0)
    exact = 1e-6 + sizes[:, None] * np.maximum(1 / 5e9, np.array(pairs) / 1e10)
    for number in range(sets):
        off = 0.02 * random.standard_normal((4, sizes.size, 3)) + NOISE[kind](random)
        visits = (exact * np.exp(off))[..., None] * np.exp(0.02 * random.standard_normal((*off.shape, 10)))
        records = tuple(
            msgspec.structs.replace(
                record(1, visits[:, row, column].tolist()), configuration=Pairs(size, k, "same-node")
            )
            for row, size in enumerate(sizes.tolist())
            for column, k in enumerate(pairs)
        )
        points = collect(Measurements((Launch(header(), records),)))["same-node"]
        model = fit_max_rate_model(points, FitSettings(samples=200, seed=number + 1))
        for name, value in truth.items():
            covered[name] += getattr(model, name).low <= value <= getattr(model, name).high
    # of 40 at 95 %, fewer than 33 are a chance of 1 to 3000
    assert all(count >= 33 for count in covered.values()), covered


@pytest.mark.parametrize(("factor", "least"), [(0.0, 33), (0.9, 24)])
def test_sizes_measured_in_their_order_may_be_off_alike(factor, least):
    random, size, covered = np.random.default_rng(12), np.array(SIZES), np.zeros(2)
    for number in range(40):
        seconds = (1e-6 + size / 5e9) * np.exp(0.05 * alike(random, size.size, factor))
        records = tuple(
            Record(PingPong(n, "same-node"), "s", (second,) * 10)
            for n, second in zip(SIZES, seconds.tolist(), strict=True)
        )
        points = collect(Measurements((Launch(header(), records),)))["same-node"]
        model = fit_postal_model(points, FitSettings(samples=200, seed=number + 1))
        covered += model.alpha.low <= 1e-6 <= model.alpha.high, model.beta.low <= 1 / 5e9 <= model.beta.high
    assert covered.min() >= least, covered  # taken as independent, 8 of 40 at a factor of 0.9
