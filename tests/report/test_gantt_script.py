"""The script of a page of Gantt charts, run by Node.js on canvases that note what is drawn (`gantt_page.js`)."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from support.paths import ROOT
from support.timelines import TOLD_APART, random_timeline

from commmodel import simulate
from commmodel.report.simulation import gantt_page
from commmodel.report.simulation.gantt_page import render
from commmodel.simulate.critical_path import critical_path
from commmodel.simulate.link_load import COLUMNS, LinkLoad
from commmodel.simulate.result import INTERVAL, MESSAGE
from commmodel.simulate.states import State
from commmodel.simulate.timeline import Timeline

NODE = shutil.which("node") or shutil.which("nodejs")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node.js here to run the page's script")
HARNESS = ROOT / "tests" / "support" / "gantt_page.js"
ABOVE_THE_END = 10
"""Pixels: a point so far above the end of a canvas lies in its last strip."""
LEFT, TOP, INNER, TICKS = 74, 22, 1000, 2**32 - 1
"""Pixels beside and above the rows, pixels of the axis, and what the axis is divided into."""


@pytest.fixture
def shown(tmp_path):
    """Return a function that shows timelines, takes steps, and returns what is seen at first and after each step."""

    def show(timelines, *steps, hash_="", loads=(), critical_path=None):
        page = tmp_path / "page.html"
        page.write_text(render("page", timelines, loads=loads, critical_path=critical_path), encoding="utf-8")
        done = subprocess.run(
            [NODE, HARNESS, page, hash_], input=json.dumps(steps), capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return show


def pixel(seconds, whole=6e-6):
    return LEFT + seconds / whole * INNER


def bars_of(page, chart=0):
    return page["charts"][chart]["bars"]


def row(page, rank, ranks, chart=0):
    """Return a rank's bars but for columns mostly idle: state, begin and end in pixels of the axis."""
    value = (page["charts"][chart]["height"] - TOP - 6) / ranks
    bars = [bar for bar in bars_of(page, chart) if int((bar["y"] - TOP) // value) == rank and not bar["faint"]]
    return [(bar["state"], bar["x"] - LEFT, bar["x"] - LEFT + bar["width"]) for bar in bars]


def test_every_interval_is_drawn_where_it_is(shown):
    (begin,) = shown([TOLD_APART])
    assert row(begin, 0, 2) == [(State.SEND, 0, 167), (State.COMPUTE, 167, 417), (State.TRANSFER, 667, 1000)]
    assert row(begin, 1, 2) == [(State.WAIT, 0, 167), (State.RECEIVE, 167, 500)]
    texts = [entry["text"] for entry in begin["charts"][0]["texts"]]
    assert {"rank 0", "rank 1", "0 s", "1 us", "5 us", "C", "S", "R", "T"} <= set(texts)


def test_pointing_tells_state_peer_bytes_start_and_length(shown):
    high = (shown([TOLD_APART])[0]["charts"][0]["height"] - TOP - 6) / 2
    points = [
        ("point", 0, pixel(at * 1e-6), TOP + (rank + 0.5) * high)
        for at, rank in ((0.5, 0), (2, 0), (5, 0), (3, 0), (2, 1))
    ]
    tips = [entry["tip"] for entry in shown([TOLD_APART], *points, ("point", 0, LEFT - 5, TOP + 5))[1:]]
    assert tips == [
        "rank 0 at 500 ns\nsend to rank 1, 1 KiB\nstart 0 s, length 1 us",
        "rank 0 at 2 us\ncompute\nstart 1 us, length 1.5 us",
        "rank 0 at 5 us\ntransfer\nstart 4 us, length 2 us",
        "rank 0 at 3 us\nidle",
        "rank 1 at 2 us\nreceive from rank 0, 1 KiB\nstart 1 us, length 2 us",
        None,
    ]


def test_zooming_keeps_the_time_under_the_pointer(shown):
    at = ("point", 0, pixel(2e-6), TOP + 10)
    result = shown([TOLD_APART], at, ("wheel", 0, pixel(2e-6), TOP + 10, -120), at, ("do", "all"), ("key", 0, "0"))
    first, begin, zoomed, again, all_, key = result
    assert begin["tip"] == again["tip"]
    assert zoomed["tip"] is None
    lengths = [
        next(end - start for state, start, end in row(entry, 0, 2) if state == State.COMPUTE)
        for entry in (first, zoomed)
    ]
    assert lengths[1] / lengths[0] == pytest.approx(np.exp(0.36), rel=0.02)
    assert bars_of(all_) == bars_of(key) == bars_of(first)


def test_keys_buttons_and_dragging_move_the_view(shown):
    steps = [("do", "in"), ("key", 0, "ArrowRight"), ("do", "later"), ("drag", 0, 574, 824), ("key", 0, "Home")]
    first, half, later, end, back, home = shown([TOLD_APART], *steps)
    # the view is 1.5 to 4.5 us, then a quarter of it later twice, then a quarter earlier
    assert row(half, 0, 2) == [(State.COMPUTE, 0, 333), (State.TRANSFER, 833, 1000)]
    assert row(later, 0, 2)[0] == (State.COMPUTE, 0, 83)
    assert row(end, 0, 2) == [(State.TRANSFER, 333, 1000)]
    assert row(back, 0, 2) == row(later, 0, 2)
    assert row(home, 0, 2) == row(first, 0, 2)


def test_the_view_ends_where_the_axis_does(shown):
    result = shown([TOLD_APART], ("do", "out"), ("do", "earlier"), *[("do", "in")] * 40, *[("do", "later")] * 4)
    assert bars_of(result[0]) == bars_of(result[1]) == bars_of(result[2])
    assert all(0 <= begin < end <= INNER for entry in result for _, begin, end in row(entry, 0, 2))


def test_a_view_may_be_named_behind_the_page(shown):
    (half,) = shown([TOLD_APART], hash_="#from=0.5&to=1")
    assert row(half, 0, 2) == [(State.TRANSFER, 333, 1000)]
    (all_,), (wrong,) = (shown([TOLD_APART], hash_=entry) for entry in ("", "#from=x&to=-1"))
    assert bars_of(all_) == bars_of(wrong)


def test_messages_are_arrows_where_few_are_in_view(shown):
    few, many = TOLD_APART, random_timeline(4, 8000)
    result = shown([few, many], ("arrows", True), ("do", "in"), ("arrows", False))
    assert [result[step]["charts"][0]["marks"] for step in (0, 1, 3)] == [0, 2, 0]
    assert result[1]["charts"][1]["marks"] == 0
    assert "messages in view: point at a row" in result[1]["charts"][1]["says"]
    assert result[3]["charts"][0]["says"] == result[3]["charts"][1]["says"] == ""
    alone = shown([few], ("arrows", True), ("do", "in"), ("do", "in"), hash_="#from=0.6&to=1")
    assert alone[1]["charts"][0]["says"] == "1 message in view."


def test_where_arrows_would_cover_the_rows_those_of_the_rank_pointed_at_are_drawn(shown):
    ranks = 8
    pairs = [(index, number) for index in range(ranks) for number in range(ranks) if index != number]
    rows = np.array([(rank, State.WAIT, -1, -1, 0, 0.0, 6e-6) for rank in range(ranks)], dtype=INTERVAL)
    sent = np.array([(index, number, 0, 8, 0.0, 0.0, 6e-6) for index, number in pairs], dtype=MESSAGE)
    everybody = Timeline("alltoall", ranks, rows, sent)
    middle = ("point", 0, pixel(3e-6), TOP + 10)
    away = ("point", 0, LEFT - 5, TOP + 10)
    begin, pointed, left = shown([everybody], ("arrows", True), middle, away)[1:]
    assert begin["charts"][0]["marks"] == left["charts"][0]["marks"] == 0
    assert begin["charts"][0]["says"] == "56 messages in view: point at a row for those of its rank, or zoom in."
    assert pointed["charts"][0]["marks"] == 2 * (ranks - 1)


def test_a_strip_below_the_ranks_tells_the_load_of_a_link(shown):
    load = LinkLoad("backbone of the whole machine", np.repeat([0.5, 0.0], COLUMNS // 2))
    begin, on, off = shown(
        [TOLD_APART], *(("point", 0, pixel(at), -ABOVE_THE_END) for at in (1e-6, 5e-6)), loads=[[load]]
    )
    assert begin["charts"][0]["marks"] == 1  # one piece, of one colour
    assert [entry["tip"] for entry in (on, off)] == [
        "backbone of the whole machine\nload 50 % at 1 us",
        "backbone of the whole machine\nload 0 % at 5 us",
    ]


def test_columns_have_the_state_that_took_most_of_them(shown):
    result = random_timeline(3, 400)
    (begin,) = shown([result])
    whole = max(result.seconds, result.transfers["arrived"].max())
    intervals = result.intervals
    for rank in range(3):
        interval = intervals[intervals["rank"] == rank]
        for state, start, end in row(begin, rank, 3):
            edges = np.array([start, end]) / INNER * whole
            shared = np.minimum(interval["end"], edges[1]) - np.maximum(interval["start"], edges[0])
            entry = np.bincount(interval["state"], np.maximum(shared, 0), len(State))
            assert entry[state] == pytest.approx(entry.max(), rel=1e-3)


def test_what_was_put_together_is_told_as_such(shown, monkeypatch):
    monkeypatch.setattr(gantt_page, "MOST_INTERVALS", 15_000)
    value = 10_000
    table = np.zeros(2 * value, dtype=INTERVAL)
    table["rank"] = np.repeat([0, 1], value)
    table["start"] = np.tile(np.arange(value), 2) * 1e-6
    table["end"], table["state"], table["peer"] = table["start"] + 1e-6, State.WAIT, -1
    _, after = shown([Timeline("many", 2, table, np.empty(0, MESSAGE))], ("point", 0, LEFT + 500, TOP + 10))
    assert " short intervals, 100 % wait\n" in after["tip"]


def test_of_many_ranks_some_rows_are_shown_and_scrolled(shown):
    result = random_timeline(200, 3)
    entry = shown([result], *[("do", "taller")] * 4, *[("do", "down")] * 40, ("do", "all"))
    names = [
        [text["text"] for text in step["charts"][0]["texts"] if text["text"].startswith("rank ")] for step in entry
    ]
    assert names[0] == []  # numbers alone, not of every rank
    assert names[-2][-1] == "rank 199"
    assert bars_of(entry[0]) == bars_of(entry[-1])


def test_the_critical_path_is_one_line_through_the_ranks(shown):
    result = simulate.exchange("ring", 65536, 4, on="L=4us,o=1us,G=1ns", record=True)
    timeline, path = Timeline.of(result), critical_path(result)
    assert [kind.name for kind in path.by_kind()] == ["transfer", "send", "receive"]
    without, drawn = shown([timeline], ["path", True], critical_path=path)
    # of the sender to the end of its overhead, to the receiver, and on; twice, as its halo is drawn first
    assert drawn["charts"][0]["lines"] - without["charts"][0]["lines"] == 2 * 3
    assert "</span> critical path</li>" in render("page", [timeline], critical_path=path)
    assert "</span> critical path</li>" not in render("page", [timeline])
