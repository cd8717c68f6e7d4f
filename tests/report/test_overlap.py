"""What the report shows of overlap: overhead, queue, progress, bandwidth, what it brought, and how good choices are."""

import argparse
import json

import pytest
from support.overlap_samples import PROFILE, G, decompositions, machine, measurements, overlap_record, problem
from support.report_samples import header, record, shown
from support.whole_html import Balance, text_of_page

from commmodel import machine as machines
from commmodel.cli.optimize import _validate as run
from commmodel.errors import InputError
from commmodel.machine import OverlapProfile, ParameterTable
from commmodel.optimize.validation import validate
from commmodel.report import measurements_table, write_html
from commmodel.report.measurements.bursts import burst_tables
from commmodel.report.measurements.endings import overlap_endings
from commmodel.report.measurements.point_to_point import path_tables
from commmodel.report.overlap.measurements import (
    decomposition_words,
    overlap_tables,
    overlap_verdicts,
)
from commmodel.report.overlap.plots import profile_plots
from commmodel.report.overlap.validation import case_tables, cost_tables, validation_tables, verdicts
from commmodel.report.overlap.validation_page import write_validation
from commmodel.report.overlap.validation_plots import draw
from commmodel.report.sections import overlap_profiles
from commmodel.results import Writer
from commmodel.results.configurations import Bandwidth, Burst, PingPong, Queue

V = 1 << 20
SIZES = (8, 1024, 65536)


def overhead(size, burst):
    return (1e-6 + 1e-11 * size) / burst**0.5


BURSTS = [
    record(Burst(size, burst, operation, "same-node"), overhead(size, burst))
    for operation in ("isend", "irecv")
    for size in SIZES
    for burst in (1, 4, 16)
]
QUEUE = record(Queue(8, "isend", "same-node"), 1e-7)


def bandwidth(processes, pattern, direction):
    path = "same-node" if processes == 2 else "any"
    return [
        record(Bandwidth(size, processes, pattern, direction, path), size * G * processes, fastest=(size * G,) * 9)
        for size in SIZES
    ]


BANDWIDTHS = [
    *(entry for direction in ("one-way", "both-ways") for entry in bandwidth(2, "nearest-neighbour", direction)),
    *bandwidth(4, "nearest-neighbour", "one-way"),
    *bandwidth(4, "cross", "one-way"),
]
SWEEPS = [*problem(V, 0.9), *problem(V // 4, 0.9), *problem(V, 0.9, "tight")]
ALL = measurements(*BURSTS, QUEUE, *BANDWIDTHS, *SWEEPS)
KNOWN = machine(overlap=(PROFILE,))
HIDING = machine(overlap=(OverlapProfile("same-node", progress=ParameterTable((8.0,), (1.0,), ((1.0,),))),))
"""As the formulas of the samples have it: everything goes on by itself."""


def headings(table):
    return [column.heading for column in table.columns]


def words(part):
    return [tuple(cell.value for cell in row) for row in part.rows]


def test_overhead_has_a_row_for_each_size_and_a_column_for_each_burst():
    isend, irecv, queue = burst_tables([*BURSTS, QUEUE])
    assert isend.title == "overhead of MPI_Isend, b in a row"
    assert headings(irecv) == ["size", "b = 1", "b = 4", "b = 16"]
    assert words(isend)[1] == ("1 KiB", "1.01 us", "505 ns", "253 ns")
    assert words(queue) == [("MPI_Isend", "8 B", "11", "99.0 ns", "100 ns", "101 ns")]


def test_bandwidth_says_the_slowest_pair_and_with_more_than_two_processes_the_fastest():
    parts = {part.title: part for part in overlap_tables(ALL, KNOWN.overlap)}
    alone = parts["bandwidth of a pair, nearest-neighbour, same-node"]
    assert headings(alone) == ["size", "p = 2, both ways", "p = 2, one way"]
    assert words(alone)[0] == ("8 B", "1.25 GB/s", "1.25 GB/s")
    assert not any(cell.detail for row in alone.rows for cell in row)
    across = parts["bandwidth of a pair, cross"]
    assert str(across.rows[-1][1]) == "625 MB/s to 2.50 GB/s"


def test_progress_is_that_of_the_machine():
    part = next(part for part in overlap_tables(ALL, KNOWN.overlap) if part.title.startswith("progress"))
    assert words(part) == [("1 KiB", "95 %", "100 %"), ("64 KiB", "30 %", "20 %"), ("1 MiB", "2.0 %", "0.0 %")]


def test_what_overlap_brought_has_a_row_for_each_problem_and_a_column_for_each_template():
    part = overlap_tables(ALL, KNOWN.overlap)[-1]
    assert [column.detail for column in part.columns[-2:]] == ["tight", "pipelined"]
    small, large = part.rows
    assert (small[0].value, large[0].value) == ("256 KiB", "1 MiB")
    assert small[-2].value == ""
    assert large[-1].detail.endswith(" %")


def test_verdicts_name_progress_and_the_queue():
    progress, queue, volume = overlap_verdicts(ALL, KNOWN.overlap)
    assert "messages of 1 MiB and more do not move while both sides compute" in progress
    assert "queue is full with 64 messages" in queue
    assert "more than 4 MiB under way" in volume
    (endless,) = overlap_verdicts(ALL, (OverlapProfile("same-node"),))
    assert "no limit of the queue up to 11 messages" in endless


def test_figures_1_to_5_are_drawn_with_what_each_point_says():
    plots = {plot.key: plot for plot in profile_plots(ALL)}
    assert list(plots) == [
        "overhead-isend-same-node", "overhead-irecv-same-node", "bandwidth-same-node", "bandwidth-4-one-way"
    ]  # fmt: skip
    assert "1 KiB, b = 4: 505 ns" in plots["overhead-isend-same-node"].svg
    assert "64 KiB: 2.50 GB/s, cross, fastest" in plots["bandwidth-4-one-way"].svg
    assert profile_plots(measurements(QUEUE)) == []


@pytest.mark.parametrize(
    ("records", "known_machine"), [(ALL.records, KNOWN), (BURSTS, None), (BANDWIDTHS[-3:], None), (SWEEPS, None)]
)
def test_terminal_and_page_show_the_same_tables(records, known_machine, tmp_path):
    result = measurements(*records)
    printed = shown(measurements_table(result, known_machine), width=160)
    write_html(tmp_path / "report.html", result, known_machine)
    page = Balance((tmp_path / "report.html").read_text())
    assert page.events == []
    assert all(reference.startswith("#") for reference in page.references)
    assert len(set(page.ids)) == len(page.ids)
    parts = [
        *overlap_tables(result, overlap_profiles(result, known_machine)),
        *(table for tables in path_tables(result) for table in tables.details),
    ]
    assert parts
    for part in parts:
        assert part.title in " ".join(printed.split())
        assert part.title[1:] in page.text
        for row in part.rows:
            for cell in row:
                assert cell.value in printed
                assert cell.value in page.text
    for sentence in overlap_verdicts(result, overlap_profiles(result, known_machine)):
        assert sentence in page.text
    assert "No measurements" not in printed


def test_records_of_bandwidth_and_overlap_say_how_they_ended():
    assert overlap_endings(ALL) == (
        "bandwidth: 12 × interval narrow enough",
        f"overlap: {len(SWEEPS)} × interval narrow enough",
    )


def test_a_case_is_one_line():
    result = validate(ALL, HIDING)
    pipelined, tight = case_tables(result)
    assert pipelined.title == "point-to-point, two-sided, same-node, pipelined"
    assert [row[0].value for row in pipelined.rows] == ["256 KiB", "1 MiB"]
    assert [row[-1].value for row in (*pipelined.rows, *tight.rows)] == ["best"] * 3
    best = result.cases[0].sweep.best
    assert pipelined.rows[0][3].value == decomposition_words(best.message_size, best.burst)
    assert cost_tables(result)[0].rows[0][0].value == "all"


def test_verdicts_say_what_is_lost_and_where_nothing_can_be_hidden():
    result = [overlap_record(V, *where, "pipelined", 1e-3, 1.0, passes=7) for where in decompositions(V)]
    entry = validate(
        measurements(*problem(V, 0.9), overlap_record(V, V, 1, "blocking", 1e-3, 1.0, passes=7), *result), HIDING
    )
    progress, lost, advice, hidden = verdicts(entry)
    assert advice.startswith("In 1 of 2 cases the advice is not to split.")
    assert lost.startswith("In one case the choices lose at most 0.0 %")
    assert hidden.startswith("In one further case there is nothing to hide")
    assert "computation can hide them" in progress
    assert "nothing to hide" in shown(*validation_tables(entry)[:1], width=120)


def test_maps_and_curves_of_every_amount_of_computation():
    (tight, result), (pipelined, entry) = reversed(draw(validate(ALL, KNOWN)))
    assert (tight[-5:], [plot.key for plot in result]) == ("tight", ["burst-1-1"])
    assert (pipelined[-9:], [plot.key for plot in entry]) == ("pipelined", ["map-0-1", "burst-0-1"])
    curves = result[0].svg
    for size, burst in decompositions(V):
        assert f"V = 1 MiB, {decomposition_words(size, burst)}: " in curves
    assert "best, measured: V = 256 KiB" in entry[0].svg
    assert "chosen: V = 1 MiB" in entry[0].svg


def test_the_page_is_whole_and_says_what_the_terminal_says():
    result = validate(measurements(*ALL.records, *problem(V, 0.9, "loose")), KNOWN)
    page = Balance(text_of_page(write_validation, "clust<er>", result))
    assert page.events == []
    assert all(reference.startswith("#") for reference in page.references)
    assert len(set(page.ids)) == len(page.ids)
    assert page.tags["svg"] == 3
    assert "clust<er>" in page.text
    for sentence in (*verdicts(result), *result.left_out):
        assert sentence in page.text
    for part in case_tables(result):
        for row in part.rows:
            assert all(cell.value in page.text for cell in row)


@pytest.fixture
def stored(tmp_path):
    with Writer(tmp_path / "results.jsonl") as writer:
        writer.write(header())
        for entry in ALL.records:
            writer.write(entry)
    machines.dump(HIDING, tmp_path / "machine.toml")
    return tmp_path


def problem_in(folder, **more):
    values = {"machine": str(folder / "machine.toml"), "validate": str(folder / "results.jsonl"), "output": None}
    values |= {"placement": None, "model": "paper"}  # from whose equations the records are made
    return argparse.Namespace(**(values | {"json": False} | more))


def test_the_verb_prints_and_writes_the_page(stored, capsys):
    assert run(problem_in(stored, output=str(stored / "overlap.html"))) == 0
    printed = capsys.readouterr().out
    assert "How good the choices are" in printed
    assert f"written to {stored / 'overlap.html'}" in printed
    assert "Burst, V = 1 MiB" in (stored / "overlap.html").read_text()


def test_the_verb_gives_one_json_object(stored, capsys):
    assert run(problem_in(stored, json=True)) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"cases", "summaries", "left_out", "progress", "output"}
    case = document["cases"][0]
    assert case["volume"] == V // 4
    assert case["chosen"] == case["best"]
    assert case["loss"] == 0
    assert case["share_of_best"] == 1
    assert document["summaries"][0]["cases"] == 3


def test_without_records_of_overlap_the_verb_names_the_command_that_makes_them(tmp_path):
    with Writer(tmp_path / "results.jsonl") as writer:
        writer.write(header())
        writer.write(record(PingPong(8, "same-node"), 1e-6))
    for entry in ({"machine": None}, {}):
        machines.dump(KNOWN, tmp_path / "machine.toml")
        with pytest.raises(InputError, match="pingpong burst bandwidth progress overlap --exhaustive") as raised:
            run(problem_in(tmp_path, **entry))
        assert raised.value.exit_code == 2


def test_without_a_machine_it_is_fitted_from_the_same_file(stored, capsys, monkeypatch):
    monkeypatch.setattr("commmodel.fit.fit_machine", lambda measurements_: KNOWN if measurements_.launches else None)
    assert run(problem_in(stored, machine=None, json=True)) == 0
    assert len(json.loads(capsys.readouterr().out)["cases"]) == 3
