"""Gantt charts: bounded size, nothing lost unsaid, nothing from outside, and an overview without script."""

import base64
import hashlib
import json
import re
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.timelines import PING_PONG, TOLD_APART, random_timeline
from support.whole_html import VOID, Balance

from commmodel.errors import InputError
from commmodel.report.simulation import gantt_page
from commmodel.report.simulation.gantt import MOST_INTERVALS, MOST_MESSAGES, chart, overview, shares, thinned
from commmodel.report.simulation.gantt_page import render
from commmodel.simulate.link_load import COLUMNS, LinkLoad
from commmodel.simulate.result import INTERVAL
from commmodel.simulate.states import State
from commmodel.simulate.timeline import Timeline

TICKS = 2**32 - 1


def columns_of(chart_data):
    """Return the arrays of a chart, unpacked: planes of bytes of one weight, times as what lies between them."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(chart_data.columns)), np.uint8)
    pieces, messages = chart_data.data["pieces"], chart_data.data["messages"]
    kinds = [("first", "<u4", chart_data.data["ranks"] + 1)]
    kinds += [(name, kind, pieces) for name, kind in zip(("start", "end"), ("<u4", "<u4"), strict=True)]
    kinds += [("state", "<u1", pieces), ("peer", "<i4", pieces), ("detail", "<f4", pieces)]
    kinds += [("left", "<u4", messages), ("arrived", "<u4", messages)]
    kinds += [("sender", "<i4", messages), ("receiver", "<i4", messages), ("bytes", "<f4", messages)]
    columns, place = {}, 0
    for name, kind, count in kinds:
        width = np.dtype(kind).itemsize
        part = planes[place : place + width * count].reshape(width, count)
        columns[name] = np.ascontiguousarray(part.T).view(kind).ravel()
        place += part.size
    assert place + len(chart_data.data["links"]) * COLUMNS == planes.size
    for begin, end in (("start", "end"), ("left", "arrived")):
        gaps, lengths = columns[begin].astype(np.int64), columns[end].astype(np.int64)
        columns[end] = np.cumsum(gaps + lengths) % 2**32
        columns[begin] = (columns[end] - lengths) % 2**32
    return columns


def test_a_timeline_that_fits_is_drawn_as_it_is():
    pieces, resolution = thinned(PING_PONG, 4)
    assert resolution == 0
    assert (pieces["count"] == 1).all()
    for name in ("rank", "state", "peer", "size", "start", "end"):
        assert pieces[name].tolist() == PING_PONG.intervals[name].tolist()


def test_the_page_has_every_interval_at_its_time():
    load = LinkLoad("backbone", np.linspace(0, 1, COLUMNS))
    columns = columns_of(chart(PING_PONG, 8e-6, 100, 100, [load]))
    assert columns["first"].tolist() == [0, 3, 4]
    assert columns["state"].tolist() == PING_PONG.intervals["state"].tolist()
    for name in ("start", "end"):
        assert columns[name] / TICKS * 8e-6 == pytest.approx(PING_PONG.intervals[name], abs=1e-14)
    assert columns["detail"].tolist() == PING_PONG.intervals["size"].tolist()
    assert columns["peer"].tolist() == PING_PONG.intervals["peer"].tolist()
    assert columns["arrived"] / TICKS * 8e-6 == pytest.approx([3e-6, 6e-6], abs=1e-14)
    assert (columns["sender"].tolist(), columns["bytes"].tolist()) == ([0, 1], [1024, 16])


@given(st.integers(1, 6), st.integers(1, 60), st.integers(1, 100), st.integers(0, 3))
def test_thinning_loses_no_interval_and_keeps_to_the_limit(processes, per_rank, most, seed):
    timeline = random_timeline(processes, per_rank, seed)
    pieces, resolution = thinned(timeline, most)
    assert pieces["count"].sum() == timeline.intervals.size
    assert pieces.size <= max(most, processes)
    if resolution == 0:
        assert timeline.intervals.size <= most
    assert pieces["end"].max() == timeline.seconds
    for rank in range(processes):
        piece = pieces[pieces["rank"] == rank]
        assert (piece["start"][1:] >= piece["end"][:-1]).all()
    together = pieces[pieces["count"] > 1]
    assert ((together["share"] > 0) & (together["share"] <= 1)).all()


def test_intervals_longer_than_the_resolution_stay_whole():
    table = np.array(
        [(0, State.SEND, 1, 1, 8, i * 1e-6, (i + 1) * 1e-6) for i in range(1000)]
        + [(0, State.WAIT, 2, 3, 9, 1e-3, 5e-3)],
        dtype=INTERVAL,
    )
    pieces, resolution = thinned(Timeline("t", 1, table), 20)
    assert 2 <= pieces.size <= 20
    assert pieces[-1].tolist() == (0, State.WAIT, 2, 9.0, 1, 1.0, 1e-3, 5e-3)
    assert 1e-6 < resolution < 4e-3


def test_a_page_of_many_intervals_is_small_and_says_what_it_leaves_out(monkeypatch):
    for name, most in (("MOST_INTERVALS", MOST_INTERVALS), ("MOST_MESSAGES", MOST_MESSAGES)):
        monkeypatch.setattr(gantt_page, name, most // 4)  # a quarter of the time, too
    timeline = random_timeline(64, 5_000)
    page = render("long", [timeline])
    assert timeline.intervals.size > MOST_INTERVALS // 4
    assert len(page) < 10e6 / 3
    assert re.search(r"[\d,]+ intervals are drawn as 2\d\d,\d\d\d pieces: those shorter than", page)
    assert f"messages {MOST_MESSAGES // 4:,} are drawn, the largest." in page


def test_of_many_messages_the_largest_stay_in_order():
    timeline = random_timeline(4, 40)
    result = chart(timeline, timeline.seconds, 1000, 7)
    largest = np.sort(timeline.transfers["size"])[-7:]
    columns = columns_of(result)
    assert sorted(columns["bytes"].tolist()) == largest.tolist()
    assert (np.diff(columns["left"]) >= 0).all()


def test_of_equal_messages_some_from_all_of_the_time_stay():
    timeline = random_timeline(4, 400)
    timeline.transfers["size"] = 8
    left = columns_of(chart(timeline, timeline.seconds, 1000, 40))["left"].astype(float)
    quarters = np.quantile(timeline.transfers["posted"], [0, 0.25, 0.5, 0.75, 1]) / timeline.seconds * TICKS
    assert np.histogram(left, np.add(quarters, [-1, 0, 0, 0, 1]))[0].min() >= 8


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.integers(0, 2000))
def test_what_one_chart_does_not_need_is_for_the_others(needs, most):
    given_away = shares(needs, most)
    assert all(0 <= entry <= want for entry, want in zip(given_away, needs, strict=True))
    assert most - len(needs) < sum(given_away) <= most or given_away == needs


def test_the_overview_shows_the_state_that_took_most_of_each_column():
    pieces, _ = thinned(PING_PONG, 100)
    first, second = overview(pieces, 2, 6e-6, columns=12)
    assert first == [(State.SEND, 0, 2), (State.COMPUTE, 2, 5), (State.WAIT, 8, 12)]
    assert second == [(State.RECEIVE, 0, 6)]
    assert overview(pieces, 2, 6e-6, most_bands=1, columns=2)[0][0][0] == State.RECEIVE


@given(st.integers(1, 8), st.integers(1, 40), st.integers(1, 8))
def test_overviews_have_ordered_runs_inside_their_columns(processes, per_rank, bands):
    timeline = random_timeline(processes, per_rank)
    pieces, _ = thinned(timeline, 10**6)
    result = overview(pieces, processes, timeline.seconds, bands, 50)
    assert len(result) == min(processes, bands)
    for runs in result:
        edges = [edge for _, begin, end in runs for edge in (begin, end)]
        assert edges == sorted(edges)
        assert all(0 <= begin < end <= 50 for _, begin, end in runs)


# The page


EVIL = "</script><script>alert('x')</script>"


@pytest.fixture
def page():
    other = random_timeline(3, 5, name=EVIL)
    return render(EVIL, [TOLD_APART, other])


def test_the_page_is_whole_and_refers_to_nothing_outside(page, monkeypatch):
    monkeypatch.setattr("support.whole_html.VOID", VOID | {"input"})
    read = Balance(page)
    assert read.events == []
    assert all(reference.startswith("#") for reference in read.references)
    assert len(read.ids) == len(set(read.ids))
    assert read.tags["canvas"] == read.tags["svg"] == 2
    assert not re.search(r"(?:src|href)=|@import|https?://", page)


def test_only_our_script_runs_and_what_files_say_is_escaped(page):
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1 + 2 + 1  # names, columns of each chart, the script
    assert all(re.fullmatch(r"[\w+/]+=*", columns, re.ASCII) for _, columns in scripts[1:3])
    digest = base64.b64encode(hashlib.sha256(scripts[3][1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    assert "alert('x')</script>" not in page
    data = json.loads(scripts[0][1])
    assert [entry["name"] for entry in data["charts"]] == ["ping-pong", EVIL]
    assert data["letters"] == ["C", "S", "R", "W", "Z", "T", "F", "M"]


def test_the_charts_share_an_axis_and_the_same_timelines_give_the_same_page(page):
    assert page == render(EVIL, [TOLD_APART, random_timeline(3, 5, name=EVIL)])
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert data["seconds"] >= max(entry["seconds"] for entry in data["charts"])


def test_all_that_the_script_looks_for_is_there(page):
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]
    result = set(re.findall(r'getElementById\("([a-z-]+)"\)', script))
    assert {"data", "tip", "arrows", "tools", "usage", "light"} <= result
    result |= {f"{kind}-{number}" for kind in ("canvas", "seen", "overview", "columns") for number in (0, 1)}
    assert all(f'id="{name}"' in page for name in result)
    acts = re.findall(r'data-do="(\w+)"', page)
    assert len(acts) == 7
    assert all(re.search(rf"\b{act}: (?:\(\) =>|everything)", script) for act in acts)


def test_states_differ_by_more_than_colour(page):
    for letter, name in zip("CSRWZT", ("compute", "send", "receive", "wait", "sleep", "transfer"), strict=True):
        assert re.search(rf'<span class="swatch swatch-\d">{letter}</span> {name}', page)


def test_the_legend_names_what_is_there_and_nothing_else():
    rows = np.array([(0, State.COMPUTE, -1, -1, 0, 0.0, 1e-6)], dtype=INTERVAL)
    legend = re.search(r'<ul class="legend".*?</ul>', render("t", [Timeline("t", 1, rows)]), re.DOTALL)[0]
    assert re.findall(r"</span> (\w+)", legend) == ["compute"]
    legend = re.search(r'<ul class="legend".*?</ul>', render("t", [TOLD_APART]), re.DOTALL)[0]
    assert re.findall(r"</span> (\w+)", legend) == ["compute", "send", "receive", "wait", "transfer", "message"]


def test_nothing_to_draw_is_said():
    with pytest.raises(InputError, match="nothing to draw"):
        render("empty", [Timeline("t", 2, np.empty(0, INTERVAL))])
