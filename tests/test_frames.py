"""Results as data frames and plots, with and without the packages for them."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from support.report_samples import FULL

from commmodel import frames, machine, simulate
from commmodel.collectives import Problem
from commmodel.errors import InputError, MissingPackageError
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Pairs
from commmodel.simulate import platform, work


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
