"""How measurements grow, in the report: models, verdicts, and the plots of Figure 2 and of the divergence."""

import json
import re

import numpy as np
import pytest
from msgspec.structs import replace
from support.report_samples import header, shown
from support.whole_html import Balance

from commmodel import report
from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.report.measurements.environment import environment_rows
from commmodel.report.scaling import plots
from commmodel.report.scaling.growth import model_tables, model_words, overview_blocks, sentences
from commmodel.results import Host, Launch, Library, Measurements, Record, Writer, describe, parameter_words
from commmodel.results.configurations import Collective, Function, Memory, PingPong
from commmodel.scaling import Expectation, Expectations, Growth, Model, check, load, parse_growth
from commmodel.scaling.growth import ONE
from commmodel.scaling.overview import overview

SCALES = (2, 4, 8, 16, 32)
GROWTHS = {"bcast": "log p", "barrier": "p", "allreduce": "log p"}


def launch(seed=0, scales=SCALES, sizes=(8,), **changes):
    random = np.random.default_rng(seed)
    records = [
        Record(Collective(operation, size, p), "s", tuple(
            (1e-6 * (1 + float(parse_growth(growth)(p))) * (1 + 0.01 * random.random(40))).tolist()
        ))
        for operation, growth in GROWTHS.items()
        for size in sizes
        for p in scales
    ]  # fmt: skip
    records += [Record(Memory("comm_dup", p), "B", (400.0 + 64 * p,)) for p in scales]
    return Launch(header(**changes), tuple(records))


MEASUREMENTS = Measurements((launch(0), launch(1)))
MPI = load("mpi")


def rows_by_name(page_rows):
    return {(row.series.name, row.library): row for row in page_rows.rows}


def groups(svg, name):
    """Return how many markers a series of points has, and what they say."""
    (content,) = re.findall(rf'<g id="[a-z0-9-]*-{name}">(.*?</g>)', svg, re.DOTALL)
    return content.count("<use "), re.findall(r"<title>(.*?)</title>", content)


def test_what_is_expected_has_a_verdict_and_all_has_a_model():
    result = overview(MEASUREMENTS, MPI)
    rows = rows_by_name(result)
    verdicts = {name: row.judgement.verdict for (name, _), row in rows.items()}
    assert verdicts == {"bcast": "match", "barrier": "mismatch", "allreduce": "match", "comm_dup": "mismatch"}
    assert any("2 match" in sentence for sentence in sentences(result))
    models = rows_by_name(overview(MEASUREMENTS))
    assert {row.judgement for row in models.values()} == {None}
    assert {name: row.ensemble.best.growth.text("p") for (name, _), row in models.items()} == GROWTHS | {
        "comm_dup": "p"
    }


def test_two_parameters_are_one_model_where_both_were_measured():
    records = tuple(
        Record(Collective("bcast", n, p), "s", (1e-6 + 2e-9 * n * np.log2(p),))
        for p in SCALES
        for n in (0, 64, 512, 4096)
    )
    result = overview(Measurements((Launch(header(), records),)))
    (surface,) = result.surfaces
    assert (surface.points, surface.error < 1e-6) == (15, True)  # and 0 B is no size to have a growth
    printed = "\n".join(map(shown, overview_blocks(result)))
    assert "1.00 us + 2.00 ns × log p × n" in printed
    assert overview(MEASUREMENTS).surfaces == ()  # one size only


def test_hosts_that_are_alike_are_one_row():
    hosts = tuple(Host(f"n{number}", cpus=8, load=(number / 10, 0.0, 0.0)) for number in range(40))
    rows = environment_rows(replace(header(), hosts=hosts))
    (lines,) = [lines for name, lines in rows if name == "40 hosts"]
    assert lines[0].startswith("n0, n1, ")
    assert lines[1:] == ("processors: 8 for these ranks", "load before of n0: 0.00, 0.00, 0.00")


def test_libraries_are_kept_apart():
    measurements = Measurements((launch(0), launch(1, mpi=Library("Open MPI v5.0.8"))))
    rows = rows_by_name(overview(measurements))
    assert {machine for _, machine in rows} == {"MPICH Version: 5.0.2", "Open MPI v5.0.8"}
    assert len(rows) == 8
    assert all(
        "MPI library" in [column.heading for column in part.columns]
        for part in model_tables(overview(measurements).rows)
    )


def test_two_scales_are_no_series():
    few = Measurements((launch(0, scales=(2, 4)),))
    assert overview(few).rows == ()
    assert "scaling-heading" not in report.render(few, None, "few")


def test_pingpongs_do_not_grow_and_expectations_of_them_are_refused():
    pingpong = Measurements((Launch(header(), (Record(PingPong(8, "same-node"), "s", (1e-6,)),)),))
    assert overview(pingpong).rows == ()
    with pytest.raises(InputError, match="nothing that can grow was measured"):
        overview(pingpong, MPI)


def test_functions_of_other_programs_grow_over_their_own_parameters():
    records = tuple(
        Record(Function("sort", "time", (("n", float(n)),)), "s", (2e-9 * n * np.log2(n),)) for n in (64, 128, 256, 512)
    )
    (row,) = overview(Measurements((Launch(header(), records),))).rows
    assert (row.series.over, row.ensemble.best.growth.text("n")) == ("n", "n log n")


def test_tables_say_model_set_and_verdict():
    time, memory = model_tables(overview(MEASUREMENTS, MPI).rows)
    assert (time.title, memory.title) == ("time over p", "memory over p")
    cells = {row[0].value: [cell.value for cell in row] for row in time.rows}
    assert cells["barrier"][1:3] == ["n = 8 B, start = barrier", "1.00 us + 1.00 us × p"]
    assert cells["barrier"][-3:] == ["log p", "p / log p", "✗ mismatch"]
    assert memory.rows[0][2].value == "400 B + 64 B × p"
    printed = "\n".join(map(shown, overview_blocks(overview(MEASUREMENTS, MPI))))
    assert "mismatch" in printed
    assert "p / log p" in printed


def test_words():
    assert model_words(Model(-1e-6, 2e-6, Growth(power=1)), "s", "p") == "2.00 us × p − 1.00 us"
    assert model_words(Model(3.5, 0.0, ONE), "1", "p") == "3.5"
    fixed = describe(Collective("bcast", 8, 4))[2].items()
    assert parameter_words(fixed) == "n = 8 B, p = 4, start = barrier"


def test_a_parameter_of_another_program_has_no_unit():
    """What Extra-P calls n may count neurons."""
    assert parameter_words(describe(Function("train", "time", (("n", 5000.0),)))[2].items()) == "n = 5000"


def test_a_growth_plot_has_a_point_at_each_scale_and_says_what_the_model_is():
    (row,) = (row for row in overview(MEASUREMENTS, MPI).rows if row.series.name == "bcast")
    plot = plots.draw([row])[-1]
    count, tips = groups(plot.svg, "values")
    assert count == len(SCALES)
    assert tips[0].startswith("p = 2: 2.0")
    assert plot.title == "bcast, n = 8 B, start = barrier: time over p"
    assert "1.00 us + 1.00 us × log p" in plot.svg
    assert "limit p^0.5 log p" in plot.svg
    assert "Expected: log p: match" in plot.caption
    assert "25 of up to 80 drawn" in plot.caption


def test_what_grows_as_it_should_lies_within_the_limits_and_what_does_not_passes_one():
    rows = {row.series.name: row for row in overview(MEASUREMENTS, MPI).rows if row.series.metric == "time"}
    values, limits = rows["bcast"].ensemble.values, [limit(SCALES) for _, limit in rows["bcast"].limits()]
    assert len(limits) == 1  # of log p, every growth below it is permitted
    assert (values <= np.max(limits, axis=0) * 1.001).all()
    assert rows["bcast"].passed(1e6) is None
    assert rows["barrier"].passed(SCALES[-1]) is None  # half as steep as a root at the beginning
    limit, scale = rows["barrier"].passed(1e3)
    assert limit.text("p") == "p^0.5 log p"
    assert (scale - 1) / 2 == pytest.approx(np.sqrt(scale / 2) * np.log2(scale), rel=0.1)
    (plot,) = (plot for plot in plots.draw([rows["barrier"]]) if plot.title.startswith("barrier"))
    assert (
        f"Expected: log p: mismatch, it passes the limit p^0.5 log p at p = {float(f'{scale:.2g}'):g}. Dotted"
        in plot.caption
    )


def test_without_an_expectation_there_are_neither_limits_nor_divergence():
    rows = overview(MEASUREMENTS).rows
    drawn = plots.draw(rows)
    assert len(drawn) == len(rows)
    assert not any("limit" in plot.svg or "Expected" in plot.caption for plot in drawn)


def test_the_divergence_of_each_class_is_drawn_where_it_belongs():
    rows = [row for row in overview(MEASUREMENTS, MPI).rows if row.series.metric == "time"]
    plot = plots.draw(rows)[0]
    assert plot.title == "Divergence of time over p"
    result, tips = groups(plot.svg, "delta-0")
    assert result == len(SCALES)
    assert set(tips) == {f"p = {p}: 1 times (bcast, allreduce)" for p in SCALES}
    _, tips = groups(plot.svg, "delta-1")
    assert tips[-1] == f"p = 32: {(32 / 5) / (2 / 1):.3g} times (barrier)"


@pytest.mark.slow
def test_every_function_is_drawn_before_any_is_drawn_twice():
    many = Measurements((launch(0, sizes=(8, 16, 32, 64)),))
    result = overview(many, MPI)
    rows = result.rows
    drawn = [plot for plot in plots.draw(rows) if plot.key.startswith("growth")]
    assert len(drawn) == plots.MOST_PLOTS < len(rows)
    names = [plot.title.partition(",")[0].partition(":")[0] for plot in drawn]
    assert set(names[:4]) == {*GROWTHS, "comm_dup"}
    html = report.render(many, None, "many", result)
    assert f"{len(rows) - len(drawn)} further series" in Balance(html).text


def test_what_grows_exponentially_is_drawn_not_far_beyond_what_was_measured():
    def seconds(k):
        return 1e-6 * k**3 * 2.0**k

    records = tuple(
        Record(Function("gen", "time", (("k", float(k)),)), "s", (seconds(k),)) for k in (5, 10, 20, 40, 60)
    )
    measured = Measurements((Launch(header(), records),))
    expected = Expectations("", (Expectation("gen", parse_growth("k^2 2^k"), over="k"),))
    (row,) = overview(measured, expected).rows
    assert row.judgement.divergence.text("k") == "k"
    drawn = plots.draw([row])
    assert [plot.key for plot in drawn] == ["divergence-0", "growth-0"]
    assert groups(drawn[1].svg, "values")[0] == len(records)


def test_values_of_zero_are_drawn():
    records = tuple(Record(Function("f", "bytes", (("p", float(p)),)), "B", (float(64 * (p - 2)),)) for p in SCALES)
    (plot,) = plots.draw(overview(Measurements((Launch(header(), records),))).rows)
    assert groups(plot.svg, "values")[0] == len(SCALES)
    result = tuple(Record(Memory("comm_dup", p, "mapped"), "B", (0.0, 0.0)) for p in SCALES)
    entry = overview(Measurements((Launch(header(), result),)))
    assert (len(entry.rows), plots.draw(entry.rows)) == (1, [])


@pytest.mark.parametrize("expectations", [None, MPI], ids=["models", "verdicts"])
def test_the_page_is_whole_and_every_colour_can_turn_dark(expectations):
    html = report.render(MEASUREMENTS, None, "name", overview(MEASUREMENTS, expectations))
    parsed = Balance(html)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert all(reference.startswith("#") for reference in parsed.references)
    assert "Nothing was measured" not in parsed.text
    used = set(re.findall(r"var\((--c-[0-9a-f]{6})", html))
    for declared in re.findall(r":root { (--c-[^}]*) }", html):
        assert used <= {part.split(":")[0].strip() for part in declared.split(";")}
    assert html == report.render(MEASUREMENTS, None, "name", overview(MEASUREMENTS, expectations))


def test_names_from_files_cannot_act_on_the_page(tmp_path):
    name = "<script>alert(1)</script>"
    records = tuple(Record(Function(name, "time", (("p", float(p)),)), "s", (1e-6 * p,)) for p in SCALES)
    html = report.render(Measurements((Launch(header(), records),)), None, "name")
    assert "<script" not in html
    assert name in Balance(html).text


@pytest.mark.parametrize("name", ["main\x01->solve", "main\x1bsolve", "a$b_^$"])
def test_names_from_files_are_drawn_whatever_is_in_them(name, tmp_path):
    records = tuple(Record(Function(name, "time", (("p", float(p)),)), "s", (1e-6 * p,)) for p in SCALES)
    measurements = Measurements((Launch(header(), records),))
    expectation = Expectation(name, parse_growth("log p"), deviation=parse_growth("p^0.5"))
    checked = check(measurements, Expectations("x", (expectation,)))
    report.write_check(tmp_path / "checked.html", "x", checked)
    assert Balance((tmp_path / "checked.html").read_text()).tags["svg"]


def test_a_check_has_a_page_of_its_own(tmp_path):
    checked = check(MEASUREMENTS, MPI)
    path = tmp_path / "checked.html"
    report.write_check(path, "MPI & more", checked)
    parsed = Balance(path.read_text())
    assert "MPI & more" in parsed.text
    assert "mismatch" in parsed.text
    assert parsed.tags["svg"] == 2 + len(checked.rows)
    with pytest.raises(InputError, match="cannot be written"):
        report.write_check(tmp_path, "MPI", checked)


def test_the_command_takes_expectations(tmp_path, capsys):
    results, page = tmp_path / "results.jsonl", tmp_path / "report.html"
    with Writer(results) as writer:
        for line in (MEASUREMENTS.launches[0].header, *MEASUREMENTS.launches[0].records):
            writer.write(line)
    assert main(["report", str(results), "--expectations", "mpi", "-o", str(page)]) == 0
    assert "mismatch" in capsys.readouterr().out
    assert "Divergence of time over p" in page.read_text()
    assert main(["report", str(results), "-o", str(page), "--force", "--json"]) == 0
    values = {row["name"]: row for row in json.loads(capsys.readouterr().out)["scaling"]}
    assert values["barrier"]["model"] == "p"
    assert values["barrier"]["verdict"] is None
    assert main(["report", str(results), "--expectations", "none.toml", "-o", str(page), "--force"]) == 2
