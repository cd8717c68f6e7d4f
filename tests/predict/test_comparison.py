"""Measured beside predicted: errors of measurements that are made to fit, the tables, the page, the verb."""

import json
import math

import pytest
from support.report_samples import header, record, shown
from support.whole_html import Balance, text_of_page

from commmodel import machine, predict, results
from commmodel.cli import main
from commmodel.collectives import Nodes, Problem
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Limit, LogGP, Machine, Parameter, PLogP, Postal, Segment
from commmodel.report.kit.cells import error_words
from commmodel.report.prediction.comparison import (
    compared_tables,
    factor_words,
    operation_tables,
    summary_table,
)
from commmodel.report.prediction.comparison_page import write_comparison
from commmodel.results import Host, Launch, Measurements, Rank, Record, Writer
from commmodel.results.configurations import Collective, PingPong

LOGGP = LogGP(Parameter(2e-6, "s"), Parameter(1e-6, "s"), Parameter(1.5e-6, "s"), Parameter(1e-9, "s/B"))
POSTAL = Postal(Parameter(4e-6, "s"), Parameter(1e-9, "s/B"))
TABLE = PLogP(Parameter(2e-6, "s"), (0, 1 << 20), (1e-6, 1e-3), (1e-6, 1e-3), (2e-6, 2e-3), path="same-node")
KNOWN = Machine("<m> & co", (Segment("all", "same-node", postal=POSTAL, loggp=LOGGP),), plogp=(TABLE,))
LOGGP_ALONE = Machine("m", (Segment("all", loggp=LOGGP),))
SIZES = (1, 1024, 1 << 20)
COUNTS = (2, 4, 5)


def measured_with(factor=1.0, known_machine=KNOWN, operations=("bcast", "barrier", "alltoall"), model="loggp"):
    """Measurements whose medians are the model's times over the factor."""
    values = []
    for operation in operations:
        for processes in COUNTS:
            for size in (0,) if operation == "barrier" else SIZES:
                time = predict.collective(known_machine, operation, Problem(processes, size), model=model).time.seconds
                values.append(record(Collective(operation, size, processes), time / factor))
    for size in (0, *SIZES):
        time = predict.send(known_machine, size, model=model).time.seconds
        values.append(record(PingPong(size, "same-node"), time / factor))
    return Measurements((Launch(header(), tuple(values)),))


@pytest.mark.parametrize("model", ["loggp", "plogp", "logp"])
def test_measurements_of_a_model_are_what_it_predicts(model):
    result = predict.compare(KNOWN, measured_with(model=model))
    assert result.notes == ()
    assert len(result.rows) == 2 * 9 + 3 + 4
    assert all(row.relative_error(model) == pytest.approx(0, abs=1e-12) for row in result.rows)
    for entry in predict.summarise(result.rows):
        if entry.model == model:
            assert entry.mean_relative_error == pytest.approx(0, abs=1e-12)
            assert entry.factor == pytest.approx(1)


def test_a_model_that_is_twice_too_slow_says_so():
    result = predict.compare(KNOWN, measured_with(2.0), models=["loggp"])
    summaries = {entry.operation: entry for entry in predict.summarise(result.rows)}
    assert list(summaries) == ["send", "barrier", "bcast", "alltoall"]
    for row in result.rows:
        assert list(row.predicted) == ["loggp"]
        assert row.relative_error("loggp") == pytest.approx(1)
        assert row.absolute_error("loggp") == pytest.approx(row.measured.seconds)
        assert row.measured.low == pytest.approx(0.992 * row.measured.seconds)
    bcast = summaries["bcast"]
    assert (bcast.points, bcast.largest_processes) == (9, 5)
    assert bcast.mean_relative_error == pytest.approx(1)
    assert bcast.factor == pytest.approx(2)
    measured = [row.measured.seconds for row in result.rows if row.operation == "bcast"]
    assert bcast.mean_absolute_error == pytest.approx(sum(measured) / len(measured))
    assert list(bcast.by_size) == list(SIZES)
    assert list(bcast.by_processes) == list(COUNTS)


def test_the_factor_is_that_of_the_worst_size_on_the_most_processes():
    def row(size, processes, seconds):
        return predict.ComparedTime(
            "bcast", size, processes, "x", "", predict.Seconds(1.0), {"loggp": predict.Seconds(seconds)}
        )

    rows = [row(1, 2, 100.0), row(1, 4, 3.0), row(8, 4, 0.25), row(64, 4, 1.0)]
    (entry,) = predict.summarise(rows)
    assert (entry.factor, entry.factor_size, entry.largest_processes) == (0.25, 8, 4)
    assert entry.mean_relative_error == pytest.approx((99 + 2 + 0.75 + 0) / 4)
    assert entry.by_size == {1: pytest.approx(50.5), 8: 0.75, 64: 0}
    assert entry.by_processes == {2: 99, 4: pytest.approx(2.75 / 3)}


def test_every_model_that_is_known_speaks_unless_told_which():
    result = predict.compare(KNOWN, measured_with())
    by_operation = {row.operation: list(row.predicted) for row in result.rows}
    assert by_operation["bcast"] == ["plogp", "loggp", "logp"]
    assert by_operation["send"] == ["plogp", "loggp", "logp", "postal"]
    only = predict.compare(KNOWN, measured_with(), models=["postal"]).rows
    assert {row.operation for row in only} == {"send"}
    chosen = predict.compare(KNOWN, measured_with(), operation="bcast", algorithm="linear").rows
    assert {(row.operation, row.algorithm) for row in chosen} == {("bcast", "linear")}
    best = predict.compare(KNOWN, measured_with(), operation="alltoall", algorithm="best", models=["loggp"]).rows
    for row in best:
        fastest = predict.algorithms(KNOWN, "alltoall", Problem(row.processes, row.message_size), model="loggp")[0]
        assert row.predicted["loggp"] == fastest.time


def test_processes_on_several_nodes_take_the_path_between_them():
    result = Machine("m", (Segment("all", "same-node", loggp=LOGGP), Segment("all", "between-nodes", loggp=LOGGP)))
    near = predict.compare(result, measured_with()).rows
    assert {row.path for row in near} == {"same-node"}
    ranks = tuple(Rank(rank, rank % 2) for rank in range(5))
    apart = header(hosts=(Host("one"), Host("two")), ranks=ranks)
    far = Measurements((Launch(apart, tuple(measured_with().records)),))
    rows = predict.compare(result, far, operation="bcast").rows
    assert {row.path for row in rows} == {"between-nodes"}
    assert {row.path for row in predict.compare(result, far, operation="bcast", path="same-node").rows} == {"same-node"}
    assert {row.path for row in predict.compare(LOGGP_ALONE, far, operation="bcast").rows} == {""}


def test_messages_of_processes_that_fill_nodes_take_the_path_within_them_or_between():
    near = LogGP(Parameter(1e-7), Parameter(1e-7), Parameter(1e-7), Parameter(1e-10))
    result = Machine("m", (Segment("all", "same-node", loggp=near), Segment("all", "between-nodes", loggp=LOGGP)))
    in_blocks = header(hosts=(Host("one"), Host("two")), ranks=tuple(Rank(rank, rank // 2) for rank in range(4)))
    entry = Record(Collective("bcast", 8, 4), "s", (1e-5,) * 9)
    (row,) = predict.compare(result, Measurements((Launch(in_blocks, (entry,)),)), models=["loggp"]).rows
    nodes = Problem(4, 8, nodes=Nodes(2))
    assert row.predicted["loggp"] == predict.collective(result, "bcast", nodes, model="loggp").time
    (row,) = predict.compare(
        result, Measurements((Launch(in_blocks, (entry,)),)), models=["loggp"], path="between-nodes"
    ).rows
    apart = predict.collective(result, "bcast", Problem(4, 8), model="loggp", path="between-nodes")
    assert row.predicted["loggp"] == apart.time


def test_what_no_model_knows_is_left_out_and_said():
    short = Machine("m", (Segment("all", limit=Limit(64), loggp=LOGGP), Segment("all", postal=POSTAL)))
    result = predict.compare(short, measured_with(), operation="bcast")
    assert {row.message_size for row in result.rows} == {1}
    assert result.notes[0].startswith("6 records left out: machine 'm', segment all (any): it has no LogGP parameters")
    ranger = machine.load("ranger")
    rows = predict.compare(ranger, measured_with(), operation="bcast").rows
    assert [list(row.predicted) for row in rows if row.message_size > 8] == [["logp"]] * 6
    entry = Measurements((Launch(header(), (Record(Collective("barrier", 0, 2), "s", (0.0,) * 9),)),))
    with pytest.raises(InputError, match="nothing to compare: 1 record left out: a median time is 0"):
        predict.compare(KNOWN, entry)


def test_collectives_that_no_model_is_of_are_left_out_and_counted():
    result = tuple(measured_with(operations=("bcast",)).records)
    values = (
        Collective("gatherv", 8, 2),
        Collective("gatherv", 8, 4),
        Collective("bcast", 8, 2, mode="non-blocking"),
        Collective("bcast", 8, 2, mode="overlapped"),
        Collective("bcast_linear", 8, 2, start="round-time"),
    )
    entry = predict.compare(
        KNOWN, Measurements((Launch(header(), (*result, *(record(other, 1e-6) for other in values))),))
    )
    assert len(entry.rows) == len(result)
    assert set(entry.notes) == {
        "2 records left out: no model is of gatherv",
        "1 record left out: no model is of non-blocking collectives",
        "1 record left out: no model is of overlapped collectives",
        "1 record left out: no model is of bcast_linear",
    }


def test_blocking_collectives_are_compared_however_they_began():
    started = [record(Collective("bcast", 1024, 4, start), 1e-5) for start in ("barrier", "round-time", "fixed-window")]
    result = predict.compare(KNOWN, Measurements((Launch(header(), tuple(started)),)))
    assert result.notes == ()
    assert len(result.rows) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"operation": "scan"}, "nothing to compare of scan: no records"),
        ({"operation": "halo"}, "operation is 'halo'"),
        ({"models": ["hockney"]}, "models\\[0\\] is 'hockney'"),
        ({"operation": "bcast", "algorithm": "ring"}, "bcast has no algorithm 'ring'"),
        ({"operation": "bcast", "models": ["postal"]}, "nothing to compare of bcast"),
        ({"selector": "moon"}, "neither a file nor a published selector"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        predict.compare(KNOWN, measured_with(), **options)
    assert issubclass(MissingParameterError, LookupError)


def test_errors_in_words():
    assert [error_words(error) for error in (0, 1e-9, -1e-9, 0.05, -0.5, 1.0, 0.0996)] == [
        "0 %", "0 %", "0 %", "+5.0 %", "−50 %", "+100 %", "+10 %",
    ]  # fmt: skip
    assert [factor_words(factor) for factor in (1.0, 1.04, 0.5, 12, 0.0, math.inf)] == [
        "right", "1.04 x too long", "2.0 x too short", "12.0 x too long", "–", "–",
    ]  # fmt: skip


def test_tables_for_the_terminal():
    result = predict.compare(KNOWN, measured_with(2.0))
    summaries = predict.summarise(result.rows)
    printed = "\n".join(shown(table, 140) for table in compared_tables(result.rows, summaries))
    for words in ("Mean |E| by size", "by number of processes", "2.0 x too long p = 5, 1 B", "binomial", "+100 %"):
        assert words in printed
    parts = {part.title: part for part in operation_tables(result.rows)}
    headings = [column.heading for column in parts["bcast"].columns]
    assert headings[:4] == ["size", "p", "algorithm", "measured"]
    assert len(parts["bcast"].rows) == 9
    assert len(summary_table(summaries).rows) == len(summaries)


def test_the_page_is_whole_and_holds_what_was_compared():
    result = predict.compare(KNOWN, measured_with(2.0))
    page = Balance(html := text_of_page(write_comparison, KNOWN.name, result, predict.summarise(result.rows)))
    assert page.tags["script"] == 0
    assert page.events == []
    assert len(set(page.ids)) == len(page.ids)
    assert all(reference.startswith("#") for reference in page.references)
    assert "<m> & co" in page.text
    plots = [reference for reference in page.ids if "-size-" in reference or "-count-" in reference]
    # bcast and alltoall over size on 2, 4 and 5 processes and over processes for 3 sizes, barrier over processes
    assert page.tags["figure"] == 2 * (3 + 3) + 1 + 1
    assert {"bcast-size-4", "bcast-count-1024", "barrier-count-0", "send-same-node"} <= set(plots) | set(page.ids)
    assert "binomial; plogp" in html
    assert text_of_page(write_comparison, KNOWN.name, result, predict.summarise(result.rows)) == html


def write(tmp_path, measurements=None, name="measured.jsonl"):
    path = tmp_path / name
    with Writer(path) as writer:
        for launch in (measurements or measured_with(2.0)).launches:
            writer.write(launch.header)
            for entry in launch.records:
                writer.write(entry)
    return str(path)


@pytest.fixture
def stored(tmp_path):
    """A machine file that holds what LOGGP_ALONE does."""
    path = tmp_path / "m.toml"
    machine.dump(LOGGP_ALONE, path)
    return str(path)


def test_the_verb_compares_and_writes_the_page(tmp_path, stored, capsys):
    page = tmp_path / "page.html"
    measured = write(tmp_path)
    assert main(["predict", stored, "measurements", measured, "-o", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "2.0 x too long" in printed
    assert f"written to {page}" in printed
    Balance(page.read_text())
    assert (
        main(["predict", stored, "measurements", measured, "--collective", "bcast", "--model", "loggp,logp", "--json"])
        == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert {row["operation"] for row in printed["rows"]} == {"bcast"}
    assert all(row["relative_error"]["loggp"] == pytest.approx(1) for row in printed["rows"])
    assert [entry["model"] for entry in printed["summary"]] == ["loggp", "logp"]
    assert printed["output"] is None


def test_a_results_file_in_place_of_the_machine_is_fitted(tmp_path, capsys):
    trains = []
    for size in (1, 64, 1024, 16384, 1 << 18, 1 << 20):
        rest = (size - 1) * 1e-9
        for count in (1, 16):
            time = 2 * 2e-6 + 4 * 1e-6 + rest + (count - 1) * (1.5e-6 + rest)
            trains.append(record(results.configurations.Train(size, count, "same-node"), time))
        delay = 6e-6 + rest
        time = delay + 15 * (1e-6 + delay)
        trains.append(record(results.configurations.Train(size, 16, "same-node", delayed=True), time, delay=delay))
    measured = [
        entry
        for entry in measured_with(known_machine=LOGGP_ALONE).records
        if isinstance(entry.configuration, Collective)
    ]
    path = write(tmp_path, Measurements((Launch(header(), (*trains, *measured)),)))
    assert main(["predict", path, "measurements", path, "--model", "loggp", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert max(entry["mean_relative_error"] for entry in printed["summary"]) < 0.1
