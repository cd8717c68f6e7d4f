"""The report: the same numbers in terminal and page, nothing dangerous, nothing lost, and the same bytes each time."""

import math
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console, RenderableType

from commmodel import report
from commmodel.errors import InputError
from commmodel.machine import Limit, Machine, MaxRate, Origin, Parameter, Postal, Quality, Segment
from commmodel.models import maxrate
from commmodel.report import environment_table, machine_table, measurements_table, page
from commmodel.report.curves import lines, prediction
from commmodel.report.headlines import headlines
from commmodel.report.plots import draw
from commmodel.results import (
    Buffers,
    Clock,
    Header,
    Host,
    Launch,
    Library,
    Measurements,
    MessagePath,
    Options,
    Pairs,
    Ping,
    PingPong,
    Rank,
    Record,
    Threshold,
)
from commmodel.units import format_rate, format_time

EVIL = "<script>alert('x')</script>"
SIZES = (0, 1, 1024, 8116, 8192, 1 << 20)
PAIRS = (1, 2, 8)
VOID = {"meta", "br"}


def header(host: str = "node1", **changes: object) -> Header:
    clock = Clock("tsc", 2.5e9, "kernel", 8e-9, 1.6e-8, 1e-6)
    values: dict[str, object] = {
        "format": "commmodel-results",
        "version": 1,
        "created": "2026-01-02T03:04:05+00:00",
        "command": ("python", "-m", "commmodel.bench", "--sizes", "1:1 MiB"),
        "mpi": Library("MPICH Version:      5.0.2\nMPICH ABI: 18", "mpich", "4.1"),
        "hosts": (Host(host, 4, "A CPU", "6.1", "performance", "tsc", "madvise", (0.1, 0.2, 0.3), clock),),
        "ranks": tuple(Rank(rank, 0, f"{rank}", rank) for rank in range(4)),
        "versions": {"commmodel": "0.1.0"},
        "options": Options(("pingpong",), SIZES, None, None, 60.0, 0.02, 0.95, 1000, "never", 42),
        "buffers": Buffers(4096, "never", 0),
        "placement": {"same-node": ((0, 1), (2, 3))},
    }
    return Header(**(values | changes))  # type: ignore[arg-type]


def record(configuration: PingPong | Pairs | Ping, seconds: float, **changes: object) -> Record:
    """A record whose median is `seconds`, with the interval [0.992, 1.008] of it."""
    samples = tuple(seconds * (1 + 0.01 * (rank - 5) / 5) for rank in range(11))
    return Record(configuration, "s", samples, **({"stop": "interval"} | changes))  # type: ignore[arg-type]


def threshold(path: MessagePath = "same-node") -> Record:
    return Record(Threshold(path), "B", (8116.0,), bracket=(8116.0, 8120.0))


def seconds(size: int, pairs: int) -> float:
    alpha, R_C = (0.75e-6, 3e9) if size <= 8116 else (1.5e-6, 20e9)
    return maxrate.time(size, pairs, alpha, 40e9, R_C)


def records(path: MessagePath = "same-node", pairs: tuple[int, ...] = PAIRS) -> list[Record]:
    single = [record(PingPong(size, path), seconds(size, 1)) for size in SIZES]
    return single + [record(Pairs(size, k, path), seconds(size, k)) for size in SIZES for k in pairs]


def measurements(*parts: list[Record], head: Header | None = None) -> Measurements:
    return Measurements((Launch(head or header(), tuple(one for part in parts for one in part)),))


def parameter(value: float, unit: str) -> Parameter:
    return Parameter(value, unit, 0.95 * value, 1.05 * value)


def quality(*remarks: str) -> Quality:
    return Quality(6, 0.3, 0.021, 0.083, not remarks, remarks)


def segment(protocol: str, alpha: float, R_C: float, R_N: Parameter | None, path: str, limit: Limit | None) -> Segment:
    rates = MaxRate(parameter(alpha, "s"), parameter(R_C, "B/s"), R_N, quality())
    postal = Postal(parameter(alpha, "s"), parameter(1 / R_C, "s/B"), quality())
    return Segment(protocol, path, limit, postal, rates)


def machine(path: str = "same-node", R_N: Parameter | None = None, name: str = "m") -> Machine:
    limit = Limit(8116, "threshold", above=8120)
    rate = R_N or parameter(40e9, "B/s")
    eager = segment("eager", 0.75e-6, 3e9, rate, path, limit)
    return Machine(name, (eager, segment("rendezvous", 1.5e-6, 20e9, rate, path, None)), confidence=0.95)


def shown(renderable: RenderableType, width: int = 100) -> str:
    console = Console(width=width, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


class Balance(HTMLParser):
    """Checks that every element is closed in order, and collects ids, references and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.events: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in {"href", "src", "srcset", "action", "data"}:
                self.references.append(str(value))
            self.references += re.findall(r"url\(([^)]*)\)", str(value))
            if name.startswith("on"):
                self.events.append(name)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def series(svg: str) -> Counter[str]:
    """Return how many markers each series of measured points has."""
    groups = re.findall(r'<g id="[a-z-]*?-(measured-[^"]*)">(.*?</g>)', svg, re.DOTALL)
    return Counter({name: content.count("<use ") for name, content in groups})


FULL = measurements([threshold()], records())


# The page


@pytest.mark.parametrize(
    ("what", "fitted"),
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
def test_a_page_is_whole_and_needs_nothing_from_elsewhere(what: Measurements, fitted: Machine | None) -> None:
    html = page.render(what, fitted, "a name")
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
    first = page.render(FULL, machine(), "m")
    assert first == page.render(FULL, machine(), "m")


def test_a_matplotlibrc_changes_nothing() -> None:
    import matplotlib

    expected = page.render(FULL, machine(), "m")
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
    text = Balance(page.render(FULL, machine(), "m")).text
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
    text = Balance(page.render(FULL, None, "m")).text
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
    assert html.index("node1: busy") < html.index("line 7 left out") < html.index("Headline of")


def test_headlines_come_from_the_model_or_from_the_measurements() -> None:
    measured = measurements(records("same-node"), records("between-nodes"), [threshold()])
    by_path = {one.path: one for one in headlines(measured, machine())}
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
    assert "not the fit of all" in html
    assert "all (same-node): too few sizes" in html
    assert "not trusted" in shown(machine_table(doubtful))
    assert "too few sizes" in shown(machine_table(doubtful))


def test_a_machine_without_models_is_shown() -> None:
    bare = Machine("m", (Segment("eager", limit=Limit(8192)), Segment("rendezvous")))
    assert "up to 8 KiB" in shown(machine_table(bare))
    assert "no fit is recorded for eager, rendezvous" in page.render(FULL, bare, "m")


# The plots


def test_every_plot_has_as_many_points_as_the_data() -> None:
    plots = {plot.key: plot for plot in draw(FULL, machine())}
    sized = len(SIZES) - 1  # 0 bytes have no place on a logarithmic axis
    assert set(plots) == {"time", "bandwidth", "rate-same-node", "residuals-same-node"}
    for key in ("time", "bandwidth"):
        assert series(plots[key].svg) == {"measured-same-node": 2 * sized}  # pingpong, and pairs of one
        assert "Left out: 2 of 0 bytes" in plots[key].caption
    for key in ("rate-same-node", "residuals-same-node"):
        assert series(plots[key].svg) == {
            "measured-same-node-1": 2 * sized, "measured-same-node-2": sized, "measured-same-node-8": sized
        }  # fmt: skip
        assert "Left out: 4 of 0 bytes" in plots[key].caption


def test_points_say_what_they_are() -> None:
    time = draw(FULL, None)[0]
    assert "<title>1 MiB, 1 pair: 53.9 us [53.5, 54.4], 19.4 GB/s</title>" in time.svg


def test_without_a_model_there_are_points_alone() -> None:
    plots = draw(FULL, None)
    assert [plot.key for plot in plots] == ["time", "bandwidth", "rate-same-node"]
    assert all("only the points are shown" in plot.caption for plot in plots)
    assert all("Lines:" not in plot.caption for plot in plots)


def test_one_pair_alone_is_said_to_be_all() -> None:
    plots = {plot.key: plot for plot in draw(measurements(records(pairs=(1,))), machine())}
    assert "Only one pair was measured" in plots["rate-same-node"].caption


def test_the_colours_of_a_plot_are_variables() -> None:
    for plot in draw(FULL, machine()):
        assert not re.search(r"(?<!, )#[0-9a-f]{6}", plot.svg)
        assert {f"#{name}" for name in re.findall(r"var\(--c-([0-9a-f]{6})", plot.svg)} <= set(plot.colours)


def test_model_lines_stop_where_their_segment_does() -> None:
    eager, rendezvous = lines(machine().segments, 1, 1 << 20, 1)
    assert (eager.message_size[0], eager.message_size[-1]) == (1, 8116)
    assert (rendezvous.message_size[0], rendezvous.message_size[-1]) == (8117, 1 << 20)


def test_the_band_holds_the_parameters_at_the_ends_of_their_intervals() -> None:
    (line,) = lines(machine().segments, 1, 8116, 1)
    assert line.fast is not None
    assert line.slow is not None
    assert line.fast[-1] == pytest.approx(0.95 * 0.75e-6 + 8116 / (1.05 * 3e9))
    assert line.slow[-1] == pytest.approx(1.05 * 0.75e-6 + 8116 / (0.95 * 3e9))


@pytest.mark.parametrize("alpha", [Parameter(0.0, "s", -1.0, 1e-9), Parameter(1e-6, "s", 0.0, math.inf)])
@pytest.mark.parametrize("R_C", [Parameter(math.inf, "B/s", 1e9, math.inf), Parameter(1e9, "B/s", 0.0, math.inf)])
def test_intervals_without_an_end_can_be_drawn(alpha: Parameter, R_C: Parameter) -> None:
    fitted = Machine("m", (Segment("all", "any", max_rate=MaxRate(alpha, R_C, R_C)),))
    Balance(page.render(FULL, fitted, "m"))


def test_a_model_of_one_pair_predicts_nothing_for_two() -> None:
    sizes = np.array([1.0, 8116.0, 8117.0])
    alone = segment("all", 1e-6, 1e9, None, "any", None)
    assert prediction([alone], sizes, 1) == pytest.approx(1e-6 + sizes / 1e9)
    assert np.isnan(prediction([alone], sizes, 2)).all()


def test_a_model_predicts_nothing_beyond_its_last_limit() -> None:
    ending = segment("eager", 1e-6, 1e9, None, "any", Limit(64))
    assert np.isfinite(prediction([ending], np.array([64.0, 65.0]), 1)).tolist() == [True, False]


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
    seen = Machine("m", (Segment("eager", limit=Limit(8192, "change-point", 16384)), Segment("rendezvous")))
    assert "its limit lies between 8 KiB and 16 KiB" in shown(machine_table(seen))


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


# The package


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_report_is_cheap() -> None:
    heavy = "('matplotlib', 'jinja2', 'rich', 'numpy', 'numba', 'scipy', 'mpi4py')"
    assert python(f"import sys, commmodel.report; print([m for m in {heavy} if m in sys.modules])") == "[]"


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
@pytest.mark.parametrize("wanted", ["write_html", "page"])
def test_a_missing_extra_is_named(missing: str, wanted: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from commmodel.errors import CommModelError\n"
        "from commmodel.report import machine_table\n"
        f"try:\n    from commmodel.report import {wanted}\n"
        "except CommModelError as error:\n    print(error)"
    )
    assert python(code) == f"reports need {missing}, which is not here: pip install 'commmodel[report]'"


def test_all_public_names_are_there() -> None:
    assert all(callable(getattr(report, name)) for name in report.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        report.nothing  # noqa: B018
