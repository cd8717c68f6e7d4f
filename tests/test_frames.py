"""Results as data frames and plots, with and without the packages for them."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from support.paths import ROOT
from support.report_samples import FULL
from support.structs import public_classes

from commmodel import frames, machine, record, scaling, simulate
from commmodel.collectives import Problem
from commmodel.errors import InputError, MissingPackageError, MissingParameterError
from commmodel.machine import Limit, LogGP, Machine, Parameter, Segment
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Pairs
from commmodel.simulate import platform, work
from commmodel.simulate.scenario import Scale
from commmodel.simulate.sizes import SizedRuns, sizes
from commmodel.simulate.what_if import PredictedRuns, predictions


def _ring(where, scale):
    return simulate.exchange("ring", 65536, 4, on=where, scale=scale)


RUNS = predictions(_ring, ["switch"], [Scale(), Scale(bandwidth=2.0)])
SCALES = (1, 2, 4, 8, 16)
SERIES = scaling.check_values(SCALES, [[n, 1.01 * n, 1.02 * n] for n in SCALES], "log p")


@pytest.fixture(autouse=True)
def no_figure_stays():
    matplotlib.use("agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.parametrize(
    "table",
    [
        FULL,
        machine.load("blue-waters"),
        simulate.run(work.collective("alltoall", Problem(4, 8)), simulate.fluid(), platform.load("graphene")),
        scaling.CheckResult((SERIES,)),
        SERIES,
        SERIES.judgement,
        RUNS,
        PredictedRuns(),
        sizes(lambda ranks: simulate.exchange("ring", 8, ranks, on="switch"), [2, 4]),
        SizedRuns(),
    ],
    ids=lambda table: type(table).__name__,
)
def test_a_frame_has_the_columns_of_a_result(table):
    frame, columns = table.to_frame(), table.to_dict()
    assert list(frame.columns) == list(columns)
    for name, column in columns.items():
        assert [None if value != value else value for value in frame[name]] == column or frame[name].isna().any()


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="data frames need pandas, which is not here: pip install pandas"):
        machine.load("blue-waters").to_frame()


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.delattr(matplotlib, "pyplot", raising=False)
    with pytest.raises(MissingPackageError, match=r"plots need matplotlib.*pip install 'commmodel\[report\]'"):
        frames.axes_of()


def test_an_error_within_an_installed_package_is_passed_on(monkeypatch, tmp_path):
    (tmp_path / "pandas.py").write_text("import numpi")
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="numpi"):
        frames.frame({})


def test_given_axes_come_back_and_missing_ones_are_made():
    axes = frames.axes_of()
    assert frames.axes_of(axes) is axes
    assert frames.draw(axes, [1, 2], {"a": [1.0, 2.0]}) is axes


def test_curves_have_labels_bands_and_readable_ticks():
    low = np.array([1e-6, 2e-6])
    axes = frames.draw(None, [0, 65536], {"a": (2 * low, low, 3 * low), "b": (low, None, None)})
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    assert len(axes.collections) == 1
    assert axes.get_xscale() == "symlog"  # a size of 0 is shown
    assert axes.xaxis.get_major_formatter()(65536, 0) == "64 KiB"
    assert axes.yaxis.get_major_formatter()(2e-6, 0) == "2.00 us"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    counts = frames.draw(None, [1, 2], {"a": low}, ("processes", ""))
    assert counts.xaxis.get_major_formatter()(2.0, 0) == "2"
    assert counts.get_legend() is None


def test_measurements_are_drawn_with_a_curve_for_each_number_of_pairs():
    sizes = (8, 1024, 65536)
    records = [Record(Pairs(size, pairs, "any"), "s", (pairs * 1e-6,) * 9) for size in sizes for pairs in (1, 2)]
    header = Header("commmodel-results", 1, "", (), Library("MPICH"), (), ())
    axes = Measurements((Launch(header, tuple(records)),)).plot(Figure().subplots())
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "pairs, pairs 1, any",
        "pairs, pairs 2, any",
    ]
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1e-6] * 3, [2e-6] * 3]
    assert [line.get_xdata().tolist() for line in axes.lines] == [[*sizes]] * 2
    with pytest.raises(InputError, match="no times of messages to draw"):
        Measurements((Launch(header, ()),)).plot(Figure().subplots())


@pytest.mark.parametrize("count", [2, 3])
def test_measurements_without_intervals_are_drawn_alone(count):
    records = tuple(Record(Pairs(8 << place, 1, "any"), "s", (1e-6,)) for place in range(count))
    header = Header("commmodel-results", 1, "", (), Library("MPICH"), (), ())
    axes = Measurements((Launch(header, records),)).plot(Figure().subplots())
    assert axes.lines[0].get_ydata().tolist() == [1e-6] * count
    assert not axes.collections


def test_a_machine_is_drawn_with_a_curve_for_each_path_that_has_a_model():
    lines = machine.load("blue-waters").plot(Figure().subplots()).lines
    assert [line.get_label() for line in lines] == [*machine.load("blue-waters").paths]
    loggp = LogGP(Parameter(2e-6), Parameter(1e-6), Parameter(2e-6), Parameter(1e-9))
    segments = (Segment("short", "a", Limit(1024), loggp=loggp), Segment("all", "b"))
    (line,) = Machine("m", segments).plot(Figure().subplots()).lines
    assert line.get_ydata()[0] == 4e-6
    assert np.isfinite(line.get_ydata()).sum() == 11  # up to the limit
    with pytest.raises(MissingParameterError, match="no model of a message"):
        Machine("m", (Segment("all"),)).plot(Figure().subplots())


def test_a_judgement_is_drawn_beside_what_was_expected():
    axes = SERIES.plot(Figure().subplots())
    measured, best, expected = axes.lines
    assert measured.get_ydata().tolist() == SERIES.judgement.ensemble.values.tolist()
    assert best.get_label() == "best model: p"
    assert not np.allclose(expected.get_ydata(), best.get_ydata(), rtol=0.1)
    assert axes.get_xlabel() == "p"


def test_zeros_are_drawn_without_a_logarithm():
    assert frames.draw(Figure().subplots(), [1, 2], {"a": [0.0, 0.0]}).get_yscale() == "linear"


def test_predicted_runs_are_rows_and_bars():
    assert [bar.get_width() for bar in RUNS.plot(Figure().subplots()).patches] == [run.seconds for run in RUNS]
    assert RUNS.to_dict()["bandwidth"] == [1.0, 2.0]
    assert "\n" not in repr(RUNS)


def test_a_profile_is_drawn_with_its_costliest_sites():
    profile = record.profile(record.load(ROOT / "tests/frozen/recording-1"))
    bars = profile.plot(Figure().subplots()).patches
    sites = profile.communication_sites[:10]
    assert sum(bar.get_width() for bar in bars) == pytest.approx(sum(site.seconds for site in sites))


def test_one_run_and_a_slice_of_runs_are_shown_as_all_are():
    assert RUNS[:1] == PredictedRuns(list(RUNS)[:1])
    assert type(RUNS[:1]) is PredictedRuns
    assert RUNS[1].plot(Figure().subplots()).patches[0].get_width() == RUNS[1].seconds
    assert RUNS[1].to_frame().to_dict("list") == RUNS[1:].to_frame().to_dict("list")


def test_every_plot_says_what_its_axes_are():
    plots = [kind.plot for kind in public_classes() if hasattr(kind, "plot")]
    assert len(plots) > 10
    assert [plot.__qualname__ for plot in plots if plot.__doc__.count("axes : matplotlib axes, optional") != 1] == []
