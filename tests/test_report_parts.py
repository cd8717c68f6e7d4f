"""What the report shows of trains, pLogP quantities and collectives, which have no row among the ping-pongs."""

from pathlib import Path

import pytest
from report_samples import header, shown

from commmodel.report import write_html
from commmodel.report.measured import collective_endings, path_rows
from commmodel.report.parts import collective_tables, path_parts
from commmodel.report.tables import measurements_table
from commmodel.results import Collective, Launch, Measurements, PLogP, Record, Train


def record(configuration, seconds, **more):
    return Record(configuration, "s", (seconds,) * 20, stop=more.pop("stop", "interval"), **more)


RECORDS = (
    record(Train(8, 1, "same-node"), 1e-6),
    record(Train(8, 16, "same-node"), 5e-6),
    record(Train(8, 16, "same-node", delayed=True), 2e-5, delay=1.1e-6, stop="time"),
    record(Train(1024, 1, "same-node", mode="non-blocking"), 3e-6),
    record(PLogP(0, "round-trip", "same-node"), 1.5e-6),
    record(PLogP(8, "send", "same-node"), 2e-7),
    record(PLogP(8, "gap", "same-node"), 4e-7),
    record(Collective("bcast", 1024, 2), 2e-6),
    record(Collective("bcast", 1024, 4), 3e-6, stop="repetitions"),
    record(Collective("barrier", 0, 4), 1e-6),
)
MEASUREMENTS = Measurements((Launch(header(), RECORDS),))


def cells(table):
    return [tuple(cell.value for cell in row) for row in table.rows]


def test_trains_of_a_size_stand_in_one_row_with_their_number_and_their_delay():
    blocking, non_blocking, _ = path_parts(RECORDS)
    assert cells(blocking) == [("8 B", "16", "1.00 us", "5.00 us", "20.0 us*", "1.10 us")]
    assert cells(non_blocking) == [("1 KiB", "", "3.00 us", "", "", "")]


def test_quantities_of_plogp_stand_beside_each_other():
    *_, table = path_parts(RECORDS)
    assert cells(table) == [("0 B", "", "", "", "1.50 us"), ("8 B", "200 ns", "", "400 ns", "")]


def test_each_operation_has_a_table_with_a_column_for_each_number_of_processes():
    barrier, bcast = collective_tables(MEASUREMENTS)
    assert (barrier.columns, cells(barrier)) == (("size", "P = 4"), [("0 B", "1.00 us")])
    assert (bcast.columns, cells(bcast)) == (("size", "P = 2", "P = 4"), [("1 KiB", "2.00 us", "3.00 us*")])
    assert bcast.rows[0][1].detail


def test_what_was_measured_twice_has_two_rows():
    twice = Measurements((MEASUREMENTS.launches[0], MEASUREMENTS.launches[0]))
    _, bcast = collective_tables(twice)
    assert cells(bcast) == [("1 KiB", "2.00 us", "3.00 us*")] * 2


def test_collectives_have_no_path_and_their_own_endings():
    (rows,) = path_rows(MEASUREMENTS)
    assert rows.path == "same-node"
    assert not any("collective" in ending for ending in rows.endings)
    assert collective_endings(MEASUREMENTS)[0].startswith("collective: ")


@pytest.mark.parametrize("kept", [RECORDS, RECORDS[:7], RECORDS[7:]], ids=["all", "paths", "collectives"])
def test_terminal_and_page_show_the_same_medians(kept, tmp_path: Path):
    measurements = Measurements((Launch(header(), kept),))
    printed = shown(measurements_table(measurements))
    write_html(tmp_path / "report.html", measurements, None)
    page = (tmp_path / "report.html").read_text()
    for one in {row[-1].value for table in collective_tables(measurements) for row in table.rows}:
        assert one in printed
        assert one in page
    for table in path_parts(kept):
        assert table.title in printed
        for row in table.rows:
            for cell in row:
                assert cell.value in printed
                assert cell.value in page
    assert "No measurements" not in printed
