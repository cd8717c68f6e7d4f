"""The script of a page of Gantt charts, run by Node.js on canvases that note what is drawn (`gantt_page.js`)."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from support.paths import ROOT
from support.timelines import TOLD_APART, random_timeline

from commmodel.report.simulation import gantt_page
from commmodel.report.simulation.gantt_page import render
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

    def show(timelines, *steps, hash_="", loads=()):
        page = tmp_path / "page.html"
        page.write_text(render("page", timelines, loads=loads), encoding="utf-8")
        done = subprocess.run(
            [NODE, HARNESS, page, hash_], input=json.dumps(steps), capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return show


def pixel(seconds, whole=6e-6):
    return LEFT + seconds / whole * INNER


def bars_of(one, chart=0):
    return one["charts"][chart]["bars"]


def row(one, rank, ranks, chart=0):
    """Return a rank's bars but for columns mostly idle: state, begin and end in pixels of the axis."""
    each = (one["charts"][chart]["height"] - TOP - 6) / ranks
    own = [bar for bar in bars_of(one, chart) if int((bar["y"] - TOP) // each) == rank and not bar["faint"]]
    return [(bar["state"], bar["x"] - LEFT, bar["x"] - LEFT + bar["width"]) for bar in own]


def test_every_interval_is_drawn_where_it_is(shown):
    (begin,) = shown([TOLD_APART])
    assert row(begin, 0, 2) == [(State.SEND, 0, 167), (State.COMPUTE, 167, 417), (State.TRANSFER, 667, 1000)]
    assert row(begin, 1, 2) == [(State.WAIT, 0, 167), (State.RECEIVE, 167, 500)]
    texts = [one["text"] for one in begin["charts"][0]["texts"]]
    assert {"rank 0", "rank 1", "0 s", "1 us", "5 us", "C", "S", "R", "T"} <= set(texts)


def test_pointing_tells_state_peer_bytes_start_and_length(shown):
    high = (shown([TOLD_APART])[0]["charts"][0]["height"] - TOP - 6) / 2
    points = [
        ("point", 0, pixel(at * 1e-6), TOP + (rank + 0.5) * high)
        for at, rank in ((0.5, 0), (2, 0), (5, 0), (3, 0), (2, 1))
    ]
    tips = [one["tip"] for one in shown([TOLD_APART], *points, ("point", 0, LEFT - 5, TOP + 5))[1:]]
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
    found = shown([TOLD_APART], at, ("wheel", 0, pixel(2e-6), TOP + 10, -120), at, ("do", "all"), ("key", 0, "0"))
    first, begin, zoomed, again, all_, key = found
    assert begin["tip"] == again["tip"]
    assert zoomed["tip"] is None
    lengths = [
        next(end - start for state, start, end in row(one, 0, 2) if state == State.COMPUTE) for one in (first, zoomed)
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
    found = shown([TOLD_APART], ("do", "out"), ("do", "earlier"), *[("do", "in")] * 40, *[("do", "later")] * 4)
    assert bars_of(found[0]) == bars_of(found[1]) == bars_of(found[2])
    assert all(0 <= begin < end <= INNER for one in found for _, begin, end in row(one, 0, 2))


def test_a_view_may_be_named_behind_the_page(shown):
    (half,) = shown([TOLD_APART], hash_="#from=0.5&to=1")
    assert row(half, 0, 2) == [(State.TRANSFER, 333, 1000)]
    (all_,), (wrong,) = (shown([TOLD_APART], hash_=named) for named in ("", "#from=x&to=-1"))
    assert bars_of(all_) == bars_of(wrong)


def test_messages_are_arrows_where_few_are_in_view(shown):
    few, many = TOLD_APART, random_timeline(4, 8000)
    found = shown([few, many], ("arrows", True), ("do", "in"), ("arrows", False))
    assert [found[step]["charts"][0]["marks"] for step in (0, 1, 3)] == [0, 2, 0]
    assert found[1]["charts"][1]["marks"] == 0
    assert "messages in view: point at a row" in found[1]["charts"][1]["says"]
    assert found[3]["charts"][0]["says"] == found[3]["charts"][1]["says"] == ""
    alone = shown([few], ("arrows", True), ("do", "in"), ("do", "in"), hash_="#from=0.6&to=1")
    assert alone[1]["charts"][0]["says"] == "1 message in view."


def test_where_arrows_would_cover_the_rows_those_of_the_rank_pointed_at_are_drawn(shown):
    ranks = 8
    pairs = [(here, there) for here in range(ranks) for there in range(ranks) if here != there]
    rows = np.array([(rank, State.WAIT, -1, -1, 0, 0.0, 6e-6) for rank in range(ranks)], dtype=INTERVAL)
    sent = np.array([(here, there, 0, 8, 0.0, 0.0, 6e-6) for here, there in pairs], dtype=MESSAGE)
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
    assert [one["tip"] for one in (on, off)] == [
        "backbone of the whole machine\nload 50 % at 1 us",
        "backbone of the whole machine\nload 0 % at 5 us",
    ]


def test_columns_have_the_state_that_took_most_of_them(shown):
    one = random_timeline(3, 400)
    (begin,) = shown([one])
    whole = max(one.seconds, one.transfers["arrived"].max())
    intervals = one.intervals
    for rank in range(3):
        own = intervals[intervals["rank"] == rank]
        for state, start, end in row(begin, rank, 3):
            edges = np.array([start, end]) / INNER * whole
            shared = np.minimum(own["end"], edges[1]) - np.maximum(own["start"], edges[0])
            taken = np.bincount(own["state"], np.maximum(shared, 0), len(State))
            assert taken[state] == pytest.approx(taken.max(), rel=1e-3)


def test_what_was_put_together_is_told_as_such(shown, monkeypatch):
    monkeypatch.setattr(gantt_page, "MOST_INTERVALS", 15_000)
    each = 10_000
    table = np.zeros(2 * each, dtype=INTERVAL)
    table["rank"] = np.repeat([0, 1], each)
    table["start"] = np.tile(np.arange(each), 2) * 1e-6
    table["end"], table["state"], table["peer"] = table["start"] + 1e-6, State.WAIT, -1
    _, after = shown([Timeline("many", 2, table, np.empty(0, MESSAGE))], ("point", 0, LEFT + 500, TOP + 10))
    assert " short intervals, 100 % wait\n" in after["tip"]


def test_of_many_ranks_some_rows_are_shown_and_scrolled(shown):
    one = random_timeline(200, 3)
    found = shown([one], *[("do", "taller")] * 4, *[("do", "down")] * 40, ("do", "all"))
    names = [
        [text["text"] for text in step["charts"][0]["texts"] if text["text"].startswith("rank ")] for step in found
    ]
    assert names[0] == []  # numbers alone, not of every rank
    assert names[-2][-1] == "rank 199"
    assert bars_of(found[0]) == bars_of(found[-1])
