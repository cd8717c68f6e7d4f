"""The report: the same numbers in terminal and page, nothing dangerous, nothing lost, and the same bytes each time."""

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from support.report_samples import (
    FULL,
    PAIRS,
    SIZES,
    cluster,
    cluster_measurements,
    cluster_page,
    full_page,
    header,
    machine,
    measurements,
    parameter,
    quality,
    record,
    records,
    seconds,
    segment,
    shown,
    threshold,
)
from support.whole_html import Balance

from commmodel import report
from commmodel.errors import InputError
from commmodel.machine import Limit, Machine, MaxRate, Origin, Parameter, Postal, Segment
from commmodel.machine.rates import duplex_factor
from commmodel.report import environment_table, machine_table, measurements_table, page
from commmodel.report.kit.pages import render_page
from commmodel.report.machine.headlines import headlines
from commmodel.report.machine.parameters import further_remarks, parameter_table, remarks
from commmodel.report.measurements.collectives import collective_answer
from commmodel.results import Launch, Library, Measurements, Rank, Record
from commmodel.results.configurations import Collective, Ping, PingPong, Stream, Threshold
from commmodel.units import format_rate, format_time

EVIL = "<script>alert('x')</script>"


# The page


@pytest.mark.parametrize(
    ("subject", "fitted"),
    [
        (FULL, machine()),
        (FULL, None),
        (FULL, machine(path="any")),
        (FULL, machine(path="between-nodes")),
        (measurements(records("same-node"), records("between-nodes")), machine()),
        (measurements(records(pairs=(1,))), machine()),
        (measurements([record(PingPong(1, "same-node"), 1e-6)]), machine()),
        (measurements([record(PingPong(0, "same-node"), 1e-6)]), machine()),
        (measurements([record(PingPong(8, "same-node"), 0.0)]), None),
        (measurements(records(pairs=tuple(range(1, 41)))), machine()),
        (measurements([record(Ping(8, "send", "same-node"), 1e-6)]), None),
        (measurements([threshold()]), None),
        (measurements([threshold()]), machine()),
        (measurements([]), None),
        (Measurements(()), machine()),
    ],
)
def test_a_page_is_whole_and_needs_nothing_from_elsewhere(subject: Measurements, fitted: Machine | None) -> None:
    html = page.render(subject, fitted, "a name")
    parsed = Balance(html)
    assert parsed.tags["script"] == 0
    assert parsed.events == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert all(reference.startswith("#") for reference in parsed.references)
    assert {reference[1:] for reference in parsed.references} <= set(parsed.ids)
    assert not re.search(r"https?:|//\w|@import", html)


def test_names_from_files_are_text() -> None:
    head = header(
        EVIL, command=("python", EVIL), warnings=(EVIL,), versions={EVIL: EVIL}, mpi=Library(EVIL, EVIL, EVIL)
    )
    limited = Limit(8116, "threshold")
    fit = MaxRate(parameter(1e-6, "s"), parameter(1e9, "B/s"), None, quality(EVIL))
    bad = Machine(EVIL, (Segment(EVIL, EVIL, limited, max_rate=fit), Segment(EVIL, EVIL)), origin=Origin(source=EVIL))
    html = page.render(Measurements((Launch(head, tuple(records())),), (EVIL,)), bad, EVIL)
    assert "<script" not in html
    parsed = Balance(html)
    assert parsed.tags["script"] == 0
    assert parsed.text.count(EVIL) >= 10


def test_terminal_tables_show_names_from_files_as_they_are() -> None:
    escape = "[bold]x[/bold]\x1b[31m"
    text = shown(environment_table(header(escape, warnings=(escape,))), 200)
    assert text.count("[bold]x[/bold]") >= 2
    assert "\x1b" not in text
    assert "[bold]x[/bold]" in shown(machine_table(machine(name=escape)))


def test_the_same_input_gives_the_same_bytes() -> None:
    assert full_page() == page.render(FULL, machine(), "m")


def test_a_matplotlibrc_changes_nothing() -> None:
    import matplotlib

    expected = full_page()
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": False, "savefig.dpi": 300}):
        assert page.render(FULL, machine(), "m") == expected
        assert matplotlib.rcParams["font.size"] == 30


def test_the_file_is_the_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report.write_html(path, FULL, None)
    assert path.read_text(encoding="utf-8") == report.render(FULL, None, "node1")
    with pytest.raises(InputError, match="cannot be written"):
        report.write_html(path / "below", FULL, None)


def test_headline_numbers_and_parameters_are_on_the_page() -> None:
    text = Balance(full_page()).text
    for number in (
        "750 ns",
        "[712, 788]",
        "1.50 us",
        "3.00 GB/s",
        "20.0 GB/s",
        "40.0 GB/s",
        "8116 B",
        "2.1 %",
        "8.3 %",
    ):
        assert number in text
    assert "mpiexec -n 4 python -m commmodel.bench --sizes '1:1 MiB'" in text


def test_every_measurement_is_on_the_page_and_in_the_terminal() -> None:
    text = Balance(full_page(fitted=False)).text
    terminal = shown(measurements_table(FULL))
    for size in SIZES:
        assert format_time(seconds(size, 1)) in terminal
        for pairs in PAIRS:
            assert format_time(seconds(size, pairs)) in text
            if size:
                assert format_rate(pairs * size / seconds(size, pairs)) in text
                assert format_rate(pairs * size / seconds(size, pairs)) in terminal
    assert "[744, 756]" in text
    assert "[744, 756]" in terminal


def test_warnings_and_notes_stand_before_the_numbers() -> None:
    head = header(warnings=("node1: busy",))
    html = page.render(Measurements((Launch(head, tuple(records())),), ("line 7 left out",)), None, "m")
    assert html.index("node1: busy") < html.index("line 7 left out") < html.index("as measured")


def test_headlines_come_from_the_model_or_from_the_measurements() -> None:
    measured = measurements(records("same-node"), records("between-nodes"), [threshold()])
    by_path = {entry.path: entry for entry in headlines(measured, machine())}
    assert by_path["same-node"].source == "from the model"
    assert by_path["between-nodes"].source == "as measured"
    assert [str(fact.cell) for fact in by_path["same-node"].facts][:2] == [
        "750 ns [712, 788]",
        "20.0 GB/s [19.0, 21.0]",
    ]
    assert [fact.label for fact in by_path["between-nodes"].facts] == ["Latency", "One pair", "8 pairs together"]


def test_a_doubtful_fit_is_not_trusted() -> None:
    fit = MaxRate(parameter(1e-6, "s"), parameter(1e9, "B/s"), None, quality("too few sizes"))
    doubtful = Machine("m", (Segment("all", "same-node", max_rate=fit),))
    html = page.render(FULL, doubtful, "m")
    assert "0 of 1 segment" in html
    assert "not all: see the remarks" in html
    assert "all (same-node): too few sizes" in html
    assert "not trusted" in shown(machine_table(doubtful))
    assert "too few sizes" in shown(machine_table(doubtful))


def test_numbers_of_a_doubtful_fit_are_grey_with_the_measured_peak_beside_them() -> None:
    fit = MaxRate(parameter(1e-6, "s"), parameter(1e9, "B/s"), None, quality("too few sizes"))
    html = page.render(FULL, Machine("m", (Segment("all", "same-node", max_rate=fit),)), "m")
    assert html.count('<div class="doubtful">') == 2
    assert "Latency <em>(not trusted)</em>" in html
    assert "Measured peak, one pair" in Balance(html).text
    assert f"{(1 << 20) / seconds(1 << 20, 1) / 1e9:.1f} GB/s" in html
    assert '<td class="quiet">' in html
    assert "(not trusted)" not in full_page()


def test_remarks_on_models_that_nobody_is_told_to_use_are_behind_the_others() -> None:
    text = shown(machine_table(cluster()))
    assert "off by 35 %" not in text
    assert "1 more, on streams and on models that are not recommended" in text
    html = cluster_page()
    assert html.index("Further remarks, on streams and on models that are not recommended (1)") < html.index(
        "off by 35 %"
    )


def test_remarks_that_differ_in_figures_alone_are_one() -> None:
    fits = [MaxRate(parameter(1e-6, "s"), parameter(1e9, "B/s"), None, quality(f"off by {error} % at {error} KiB"))
            for error in (20, 35, 50)]  # fmt: skip
    segments = [
        Segment(name, "p", Limit(1 << 10 * at), max_rate=fit)
        for at, (name, fit) in enumerate(zip("abc", fits, strict=True), 1)
    ]
    doubtful = Machine("m", tuple(segments))
    assert remarks(doubtful) == ["a (p): off by 20 % at 20 KiB (2 more like it)"]
    assert further_remarks(doubtful) == ["b (p): off by 35 % at 35 KiB", "c (p): off by 50 % at 50 KiB"]


def test_a_machine_without_models_is_shown() -> None:
    bare = Machine("m", (Segment("eager", limit=Limit(8192)), Segment("rendezvous")))
    assert "up to 8 KiB" in shown(machine_table(bare))
    assert "no fit is recorded for eager up to 8 KiB, rendezvous above 8 KiB" in page.render(FULL, bare, "m")


# The terminal


@pytest.mark.parametrize(
    ("R_N", "words"),
    [(Parameter(math.inf, "B/s", 12e9, math.inf), "up to 12.0 GB/s"), (parameter(40e9, "B/s"), "[38.0, 42.0]")],
)
def test_the_rate_of_a_node_is_in_words(R_N: Parameter, words: str) -> None:
    assert words in shown(machine_table(machine(R_N=R_N)))


def test_one_pair_measured_is_in_words() -> None:
    alone = Machine("m", (segment("all", 1e-6, 1e9, None, "same-node", None),))
    text = shown(machine_table(alone))
    assert "one pair" in text
    assert "measured" in text


def test_a_limit_seen_in_the_times_alone_lies_between_two_sizes() -> None:
    result = Machine("m", (Segment("eager", limit=Limit(8192, "change-point", 16384)), Segment("rendezvous")))
    assert "between 8 KiB and 16 KiB" in shown(machine_table(result))


def test_no_cell_of_a_machine_is_broken_at_100_columns() -> None:
    unlimited = Parameter(math.inf, "B/s", 24.5e9, math.inf)
    limit = Limit(65536, "change-point", 131072)
    wide = Machine(
        "m",
        (
            segment("rendezvous", 1.5e-6, 20e9, unlimited, "between-nodes", limit),
            segment("rendezvous", 1.5e-6, 20e9, unlimited, "between-nodes", None),
        ),
    )
    text = shown(machine_table(wide))
    for cell in ("between-nodes", "change-point", "up to 24.5 GB/s", "[19.0, 21.0]", "max 8.3 %", "up to 64 KiB"):
        assert cell in text


def test_times_inside_calls_are_shown_where_they_were_measured() -> None:
    pings = [record(Ping(1024, "send", "same-node"), 3e-7), record(Ping(2048, "receive", "same-node"), 4e-7)]
    text = shown(measurements_table(measurements(records(), pings)))
    assert "in send" in text
    assert "300 ns" in text
    assert "400 ns" in text
    assert "in send" not in shown(measurements_table(FULL))


def test_thresholds_are_in_words() -> None:
    none_above = Record(Threshold("same-node"), "B", (4194304.0,), bracket=(4194304.0, None))
    assert "eager limit 8116 B (a message of 8120 B waits" in shown(measurements_table(measurements([threshold()])))
    assert "eager limit at least 4 MiB" in shown(measurements_table(measurements([none_above])))


def test_records_that_ended_early_have_a_star() -> None:
    early = measurements([record(PingPong(1, "same-node"), 1e-6, stop="time")])
    assert "time*" in shown(measurements_table(early))
    assert "ended before the interval was as narrow as asked" in shown(measurements_table(early))
    assert "*" not in shown(measurements_table(FULL))


def test_a_median_of_few_samples_has_no_interval() -> None:
    few = measurements([Record(PingPong(8, "same-node"), "s", (1e-6, 2e-6, 3e-6))])
    text = shown(measurements_table(few))
    assert "2.00 us" in text
    assert "inf" not in text
    assert "inf" not in Balance(page.render(few, None, "m")).text


def test_the_environment_names_what_was_recorded() -> None:
    text = shown(environment_table(header(warnings=("node1: busy",))))
    for words in (
        "MPICH Version: 5.0.2 (MPI 4.1)",
        "node1",
        "A CPU",
        "0.400 ns",
        "0 → 0, 1 → 1",
        "node1: busy",
        "seed: 42",
    ):
        assert words in text


def test_unbound_ranks_are_named_together() -> None:
    free = header(ranks=tuple(Rank(rank, 0, "0-3", rank) for rank in range(4)))
    assert "0–3 → 0-3" in shown(environment_table(free))


# Several models


def test_each_model_has_a_line_and_the_recommended_one_is_named() -> None:
    text = shown(machine_table(cluster()))
    html = cluster_page()
    page_text = Balance(html).text
    for words in (
        "latency-aware", "R_Cb 2.00 GB/s", "R_Ci 1.10 GB/s", "[1.04, 1.16]", "29.40", "+444", "best", "max 140 %",
        "up to 24.5 GB/s", "between-nodes",
        "the simplest that is good enough: mean error 2.4 %",
    ):  # fmt: skip
        assert words in re.sub(r"\s+", " ", text)
        assert words in page_text
    assert text.count("recommended\n") + text.count("recommended ") >= 6
    assert html.count('<div class="good">recommended</div>') == 6
    assert max(map(len, text.splitlines())) <= 100


def test_a_criterion_compares_models_of_the_same_points_only() -> None:
    rows = parameter_table(cluster()).rows[:5]
    assert {row[1].value: row[-1].value for row in rows} == {
        "postal": "–", "max-rate": "+444", "extended": "best", "latency-aware": "+420", "one way": "–",
    }  # fmt: skip


def test_one_pair_and_one_model_look_simple() -> None:
    fit = quality()
    rates = MaxRate(parameter(1e-6, "s"), parameter(1e9, "B/s"), None, fit)
    alone = Postal(parameter(1e-6, "s"), parameter(1e-9, "s/B"), fit)
    simple = Machine("m", (Segment("all", "same-node", None, alone, rates, recommended="postal", reason="one pair"),))
    text = shown(machine_table(simple))
    for words in ("ΔAICc", "sum", "recommended", "max-rate", "Remarks", "T ="):
        assert words not in text
    assert "all sizes" in text


def test_rates_of_streams_are_told_apart_from_those_of_pingpongs() -> None:
    text = re.sub(r"\s+", " ", shown(machine_table(cluster())))
    assert "one way" in text
    assert "a message" in text  # below α, which is no latency
    assert "duplex factor 1.80 [1.63, 1.99], R_N of ping-pongs over R_N of streams: between 1 and 2" in text
    facts = {fact.label: fact for fact in headlines(cluster_measurements(), cluster())[1].facts}
    assert facts["All pairs of a node"].cell.value == "50.0 GB/s"
    assert facts["All pairs of a node"].meaning == "R_N of rendezvous; both ways at once"
    assert facts["All pairs, one way"].cell.value == "27.8 GB/s"
    assert str(facts["Duplex factor"].cell) == "1.80 [1.63, 1.99]"


@pytest.mark.parametrize(
    ("both_ways", "one_way", "factor"),
    [
        (Parameter(18e9, low=17e9, high=19e9), Parameter(10e9, low=9e9, high=11e9), (1.8, 17 / 11, 2.0)),
        (Parameter(10e9, low=8e9, high=12e9), Parameter(10e9, low=9e9, high=11e9), (1.0, 1.0, 12 / 9)),
        (Parameter(30e9, low=29e9, high=31e9), Parameter(10e9, low=9e9, high=11e9), (3.0, 29 / 11, 3.0)),
        (Parameter(15e9, low=0.0, high=math.inf), Parameter(10e9, low=0.0, high=math.inf), (1.5, 1.0, 2.0)),
        (Parameter(15e9), Parameter(10e9, low=9e9, high=11e9), (1.5, None, None)),
        (Parameter(math.inf, low=9e9, high=math.inf), Parameter(10e9), None),
        (Parameter(15e9), Parameter(math.inf, low=9e9, high=math.inf), None),
    ],
)
def test_the_duplex_factor_has_an_interval_that_a_link_can_have(
    both_ways: Parameter, one_way: Parameter, factor: tuple[float, float | None, float | None] | None
) -> None:
    rates = [MaxRate(parameter(1e-6, "s"), parameter(1e9, "B/s"), rate) for rate in (both_ways, one_way)]
    result = duplex_factor(Segment("all", max_rate=rates[0], one_way=rates[1]))
    assert (result and (result.value, result.low, result.high)) == (factor and pytest.approx(factor))


@pytest.mark.parametrize("found_by", get_args(get_type_hints(Limit)["found_by"]))
def test_a_limit_has_words_however_it_was_found(found_by: Any) -> None:
    fit = Postal(parameter(1e-6, "s"), parameter(1e-9, "s/B"), quality())
    limited = Machine("m", tuple(Segment("all", "same-node", limit, fit) for limit in (Limit(8192, found_by), None)))
    (headline,) = headlines(FULL, limited)
    assert next(fact.meaning for fact in headline.facts if fact.label == "Protocol limit")


def test_a_stream_that_is_not_trusted_is_named() -> None:
    poor = MaxRate(parameter(1e-6, "s"), parameter(1e9, "B/s"), None, quality("too few sizes"))
    good = Postal(parameter(1e-6, "s"), parameter(1e-9, "s/B"), quality())
    doubtful = Machine("m", (Segment("all", "same-node", postal=good, one_way=poor),))
    (headline,) = headlines(FULL, doubtful)
    assert headline.facts[-1].meaning == "not all (one way, streams): see the remarks"
    assert "1 more, on streams" in shown(machine_table(doubtful))
    assert "all (same-node; streams): too few sizes" in Balance(page.render(FULL, doubtful, "m")).text


def test_rates_of_streams_are_in_page_and_terminal() -> None:
    streams = measurements([record(Stream(1 << 20, pairs, "same-node"), pairs * 1e-4) for pairs in PAIRS])
    text = re.sub(r"\s+", " ", shown(measurements_table(streams)))
    heading = "same-node, k streams together, one way, windows of 64 messages, into a buffer of its own each"
    assert f"{heading}: rate k n / T" in text
    for place in (text, Balance(page.render(streams, None, "m")).text):
        assert "10.5 GB/s" in place
        assert "k = 8" in place
    (headline,) = headlines(streams, None)
    assert [fact.label for fact in headline.facts] == ["One stream"]


# The package


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_report_is_cheap() -> None:
    heavy = "('matplotlib', 'jinja2', 'rich', 'numpy', 'numba', 'scipy', 'mpi4py')"
    assert python(f"import sys, commmodel.report; print([m for m in {heavy} if m in sys.modules])") == "[]"


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
@pytest.mark.parametrize("advice", ["write_html", "render"])
def test_a_missing_extra_is_named(missing: str, advice: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from commmodel.errors import CommModelError\n"
        "from commmodel.report import machine_table\n"
        f"try:\n    from commmodel.report import {advice}\n"
        "except CommModelError as error:\n    print(error)"
    )
    assert python(code) == f"reports need {missing}, which is not here: pip install 'commmodel[report]'"


def test_all_public_names_are_there() -> None:
    assert all(callable(getattr(report, name)) for name in report.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        report.nothing  # noqa: B018


def test_an_answer_has_no_line_end_between_number_and_unit() -> None:
    answers = ("12.8 GB/s of 4 pairs, 885 ns, 3 MiB, 25 %.",)
    html = render_page("a", "a", "a", [], answer=answers)
    assert "12.8\u00a0GB/s of 4 pairs, 885\u00a0ns, 3\u00a0MiB, 25\u00a0%." in html


def test_collectives_are_answered_for_the_most_processes() -> None:
    kinds: list[tuple[Any, int, int]] = [
        ("bcast", 8, 4), ("bcast", 8, 8), ("bcast", 64, 8), ("barrier", 0, 8), ("bcast", 1, 2)
    ]  # fmt: skip
    runs = tuple(Record(Collective(*kind), "s", (1e-6 * kind[2],) * 5) for kind in kinds)
    answer = collective_answer(Measurements((Launch(FULL.launches[0].header, runs),)))
    assert answer == "On 8 processes bcast of 8 B takes 8.00 us, barrier takes 8.00 us."
