"""What the report shows of trains, pLogP quantities and collectives, which have no row among the ping-pongs."""

import re
from pathlib import Path

import pytest
from support.report_samples import header, shown

from commmodel.fit.overlap_share import overlap_share
from commmodel.report import measurements_table, write_html
from commmodel.report.measurements.collective_plots import MOST_PANELS, collective_plots
from commmodel.report.measurements.collectives import collective_tables
from commmodel.report.measurements.endings import collective_endings
from commmodel.report.measurements.point_to_point import path_tables
from commmodel.report.measurements.trains import train_tables
from commmodel.report.page import render
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import Collective, PLogPParameter, Train
from commmodel.results.pooling import TABLED, pool


def record(configuration, seconds, **more):
    return Record(configuration, "s", (seconds,) * 20, stop=more.pop("stop", "interval"), **more)


RECORDS = (
    record(Train(8, 1, "same-node"), 1e-6),
    record(Train(8, 16, "same-node"), 5e-6),
    record(Train(8, 16, "same-node", delayed=True), 2e-5, delay=1.1e-6, stop="time"),
    record(Train(1024, 1, "same-node", mode="non-blocking"), 3e-6),
    record(PLogPParameter(0, "round-trip", "same-node"), 1.5e-6),
    record(PLogPParameter(8, "send", "same-node"), 2e-7),
    record(PLogPParameter(8, "gap", "same-node"), 4e-7),
    record(Collective("bcast", 1024, 2), 2e-6),
    record(Collective("bcast", 1024, 4), 3e-6, stop="repetitions"),
    record(Collective("barrier", 0, 4), 1e-6),
)
MEASUREMENTS = Measurements((Launch(header(), RECORDS),))


def headings(table):
    return [column.heading for column in table.columns]


def cells(table):
    return [tuple(cell.value for cell in row) for row in table.rows]


def test_trains_of_a_size_stand_in_one_row_with_their_number_and_their_delay():
    blocking, non_blocking, _ = train_tables(RECORDS)
    assert cells(blocking) == [("8 B", "16", "1.00 us", "5.00 us", "20.0 us*", "1.10 us")]
    assert cells(non_blocking) == [("1 KiB", "", "3.00 us", "", "", "")]


def test_quantities_of_plogp_stand_beside_each_other():
    *_, table = train_tables(RECORDS)
    assert cells(table) == [("0 B", "", "", "", "1.50 us"), ("8 B", "200 ns", "", "400 ns", "")]


def test_each_operation_has_a_table_with_a_column_for_each_number_of_processes():
    barrier, bcast = collective_tables(MEASUREMENTS)
    assert (headings(barrier), cells(barrier)) == (["size", "p = 4"], [("0 B", "1.00 us")])
    assert (headings(bcast), cells(bcast)) == (["size", "p = 2", "p = 4"], [("1 KiB", "2.00 us", "3.00 us*")])
    assert bcast.rows[0][1].detail


def test_modes_and_starts_have_tables_of_their_own():
    values = [
        record(Collective("bcast", 8, 2, start, mode), seconds, delay=delay)
        for start, mode, seconds, delay in (
            ("round-time", "overlapped", 3e-6, 2e-6),
            ("round-time", "non-blocking", 2e-6, None),
            ("round-time", "blocking", 1e-6, None),
            ("fixed-window", "blocking", 1.1e-6, None),
            ("barrier", "blocking", 1.2e-6, None),
        )
    ]
    tables = collective_tables(Measurements((Launch(header(), tuple(values)),)))
    assert [(table.title, cells(table)) for table in tables] == [
        ("bcast, p processes", [("8 B", "1.20 us")]),
        ("bcast, p processes, fixed-window", [("8 B", "1.10 us")]),
        ("bcast, p processes, round-time", [("8 B", "1.00 us")]),
        ("bcast, p processes, non-blocking, round-time", [("8 B", "2.00 us")]),
        ("bcast, p processes, overlapped, round-time", [("8 B", "3.00 us", "50 %")]),
    ]
    assert headings(tables[-1]) == ["size", "p = 2", "overlap, p = 2"]
    for table, words in zip(tables, ("barrier", "fixed length", "announced", "announced", "2 - T / d"), strict=True):
        assert words in table.notes[0]


@pytest.mark.parametrize(
    ("seconds", "delay", "share"),
    [(1e-6, 1e-6, 1.0), (2e-6, 1e-6, 0.0), (1.5e-6, 1e-6, 0.5), (5e-6, 1e-6, 0.0), (0.9e-6, 1e-6, 1.0)],
)
def test_the_share_of_overlap_lies_between_nothing_and_all(seconds, delay, share):
    overlapped = record(Collective("bcast", 8, 2, mode="overlapped"), seconds, delay=delay)
    assert overlap_share(overlapped) == pytest.approx((share,) * 3)


def test_without_a_delay_there_is_no_share_of_overlap():
    """A clock may be too coarse for the delay."""
    for delay in (None, 0.0):
        assert overlap_share(record(Collective("bcast", 8, 2, mode="overlapped"), 1e-6, delay=delay)) is None


def test_the_interval_of_the_share_is_that_of_the_time():
    times = tuple(1e-6 * (1 + place / 100) for place in range(21))
    result = Record(Collective("bcast", 8, 2, mode="overlapped"), "s", times, delay=1e-6)
    share, low, high = overlap_share(result)
    assert low < share < high
    assert (low, high) == pytest.approx((2 - result.summary.high / 1e-6, 2 - result.summary.low / 1e-6))


def test_what_was_measured_twice_has_two_rows():
    twice = Measurements((MEASUREMENTS.launches[0], MEASUREMENTS.launches[0]))
    _, bcast = collective_tables(twice)
    assert cells(bcast) == [("1 KiB", "2.00 us", "3.00 us*")] * 2


def test_collectives_have_no_path_and_their_own_endings():
    (tables,) = path_tables(MEASUREMENTS)
    assert tables.path == "same-node"
    assert not any("collective" in ending for ending in tables.endings)
    assert collective_endings(MEASUREMENTS)[0].startswith("collective: ")


def test_the_endings_of_pooled_records_are_those_of_all():
    """100,000 records were 920."""
    ended = ["interval"] * 90 + ["time"] * 9
    many = tuple(record(Collective("bcast", 8, 2), 1e-6, stop=stop) for stop in ended)
    pooled = pool(Measurements((Launch(header(), many),)), 4, TABLED)
    assert len([*pooled.records]) == 4
    assert "90 × interval narrow enough, 9 × time spent" in collective_endings(pooled)[0]


@pytest.mark.parametrize("results_file", [RECORDS, RECORDS[:7], RECORDS[7:]], ids=["all", "paths", "collectives"])
def test_terminal_and_page_show_the_same_medians(results_file, tmp_path: Path):
    measurements = Measurements((Launch(header(), results_file),))
    printed = shown(measurements_table(measurements))
    write_html(tmp_path / "report.html", measurements, None)
    page = (tmp_path / "report.html").read_text()
    for entry in {row[-1].value for table in collective_tables(measurements) for row in table.rows}:
        assert entry in printed
        assert entry in page
    for table in train_tables(results_file):
        assert table.title in printed
        for row in table.rows:
            for cell in row:
                assert cell.value in printed
                assert cell.value in page
    assert "No measurements" not in printed


def collectives_of(*operations, counts=(2, 4, 8), sizes=(1, 1024, 1 << 20)):
    records = [
        record(Collective(operation, size, count), (1e-6 + 1e-9 * size) * count)
        for operation in operations
        for count in counts
        for size in ((0,) if operation == "barrier" else sizes)
    ]
    return Measurements((Launch(header(), tuple(records)),))


def test_each_operation_has_a_small_panel_with_a_line_for_each_number_of_processes():
    (barrier, bcast, scan), left_out = collective_plots(collectives_of("bcast", "barrier", "scan"))
    assert ([barrier.title, bcast.title, scan.title], left_out) == (["barrier", "bcast", "scan"], 0)
    for plot in (bcast, scan):
        assert plot.svg.count("<title>") == 9
        assert all(f">P={count}<" in plot.svg for count in (2, 4, 8))
        assert "<title>1 KiB, P = 4: 8.10 us" in plot.svg
    assert "processes P" in barrier.svg
    assert barrier.svg.count("<title>") == 3


def test_without_two_sizes_or_two_numbers_of_processes_there_is_no_panel():
    assert collective_plots(collectives_of("bcast", counts=(2,), sizes=(8,))) == ([], 0)


def test_many_panels_are_counted():
    plots, left_out = collective_plots(
        Measurements((Launch(header(), tuple(
            record(Collective("bcast", size, 2, algorithm=f"a{number}"), 1e-6)
            for number in range(MOST_PANELS + 3) for size in (8, 16)
        )),))
    )  # fmt: skip
    assert (len(plots), left_out) == (MOST_PANELS, 3)


def test_a_page_has_panels_first_and_long_tables_folded():
    page = render(collectives_of("bcast", "scan", "gather", sizes=[1 << power for power in range(20)]), None, "m")
    assert page.count('class="plots small"') == 1
    assert page.index('class="plots small"') < page.index("<summary>bcast, p processes")
    assert re.search(r"<details>\s*<summary>bcast, p processes", page)
    short = render(collectives_of("bcast"), None, "m")
    assert re.search(r"<details open>\s*<summary>bcast, p processes", short)
