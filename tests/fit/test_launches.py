"""Intervals of several launches know how much launches differ; that of one says that it does not."""

import numpy as np
import pytest

from commmodel.cli import main
from commmodel.fit import FitSettings, fit_machine
from commmodel.machine import load
from commmodel.report.machine.headlines import headlines
from commmodel.report.machine.parameters import interval_words
from commmodel.report.page import render
from commmodel.results import Header, Launch, Library, Measurements, Record, Writer, launch_count
from commmodel.results.configurations import PingPong
from commmodel.results.file import FORMAT
from commmodel.statistics import log_half_width

SIZES = 2 ** np.arange(0, 18, 2)


def campaign(random, launches, scatter=0.08):
    """Launches of a machine of 1 us and 1 GB/s, each slower or faster as a whole, its medians off by 1 %."""

    def launch(number):
        factor = np.exp(scatter * random.normal())
        times = factor * (1e-6 + SIZES / 1e9) * np.exp(0.01 * random.normal(size=len(SIZES)))
        records = (Record(PingPong(int(size), "same-node"), "s", (float(time),) * 9)
                   for size, time in zip(SIZES, times, strict=True))  # fmt: skip
        header = Header(FORMAT, 1, f"2026-01-01T00:00:{number:02}", (), Library("made"), (), ())
        return Launch(header, tuple(records))

    return Measurements(tuple(map(launch, range(launches))))


def covers(measurements):
    machine = fit_machine(measurements, limits=(), settings=FitSettings(samples=40))
    alpha = machine.segments[0].postal.alpha
    return alpha.low <= 1e-6 <= alpha.high


def test_intervals_over_five_launches_hold_what_that_of_one_misses():
    of_five = sum(covers(campaign(np.random.default_rng(seed), 5)) for seed in range(12))
    of_one = sum(covers(campaign(np.random.default_rng(seed), 1)) for seed in range(12))
    assert of_five >= 10
    assert of_one <= 5


def test_the_fit_and_the_prediction_say_of_how_many_launches_they_are(tmp_path, capsys):
    for launches, words in ((1, "of this launch; launches differ by more"), (3, "over 3 launches")):
        path, machine = tmp_path / f"{launches}.jsonl", str(tmp_path / f"{launches}.toml")
        with Writer(path) as writer:
            for launch in campaign(np.random.default_rng(1), launches).launches:
                writer.write(launch.header)
                for record in launch.records:
                    writer.write(record)
        assert main(["fit", str(path), "-o", machine]) == 0
        assert words in " ".join(capsys.readouterr().out.split())
        assert load(machine).origin.launches == launches
        assert main(["predict", machine, "send", "-n", "1KiB"]) == 0
        result = " ".join(capsys.readouterr().out.split())
        assert ("of one launch: others differ by more" if launches == 1 else words) in result


def test_the_headline_of_several_launches_holds_the_machines_latency():
    """That of one launch is its own, some percent beside it."""
    for launches in (1, 6):
        (headline,) = headlines(campaign(np.random.default_rng(3), launches), None)
        fact = headline.facts[0]
        assert ("over 6 launches" in fact.meaning) == (launches == 6)
    page = render(campaign(np.random.default_rng(3), 1), None, "made")
    assert "intervals of this launch" in page
    assert "intervals of this launch" not in render(campaign(np.random.default_rng(3), 6), None, "made")


def test_a_machine_that_does_not_know_says_nothing_of_launches():
    machine = fit_machine(campaign(np.random.default_rng(1), 1), limits=(), settings=FitSettings(samples=20))
    assert "this launch" in interval_words(machine)
    assert interval_words(load("blue-waters")) in {"", "95.0 % intervals", "95 % intervals"}


def test_a_launch_that_measured_too_little_to_be_fitted_alone_is_no_failure():
    whole = campaign(np.random.default_rng(2), 2)
    short = Launch(whole.launches[1].header, whole.launches[1].records[:1])
    machine = fit_machine(Measurements((whole.launches[0], short)), limits=(), settings=FitSettings(samples=20))
    assert machine.origin.launches == 2
    assert launch_count(Measurements((whole.launches[0],))) == 1


@pytest.mark.parametrize("launches", [3, 6])
def test_the_interval_of_launches_holds_their_mean_as_often_as_it_says(launches):
    random = np.random.default_rng(4)
    values = np.exp(0.08 * random.normal(size=(400, launches)))
    result = [abs(np.log(row).mean()) <= log_half_width(row) for row in values]
    assert 0.92 <= np.mean(result) <= 0.98


def test_each_launch_is_fitted_by_the_loss_that_is_asked_for(monkeypatch):
    fitted = []

    def one_launch(machine, measurements, fit_one):
        fitted.append(fit_one(measurements, ()))
        return machine

    monkeypatch.setattr("commmodel.fit.over_launches", one_launch)
    measurements = campaign(np.random.default_rng(1), 2)
    for loss in ("paper", "paper", "robust"):
        fit_machine(measurements, limits=(), settings=FitSettings(samples=20, loss=loss))
    assert fitted[0] == fitted[1] != fitted[2]
