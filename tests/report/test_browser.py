"""Every page in a real browser: no error, keyboard, dark and light, on paper, on a phone, for screen readers."""

import re
import signal

import pytest
from support.html_pages import PAGES
from support.paths import ROOT
from support.timelines import TOLD_APART, random_timeline
from tools.browser import missing, open_browser, visit

from commmodel.report.simulation.gantt_page import write_gantt

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
LEFT, TOP = 74, 22
"""Pixels beside and above the rows of a chart."""
PHONE, PAPER = {"width": 320, "height": 640}, {"width": 700, "height": 990}
AT_MOST = 300
"""Seconds of a test, so that a browser that does not answer ends it."""


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _limit():
    def stop(number, frame):
        raise TimeoutError(f"the browser has not answered for {AT_MOST} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(AT_MOST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return a function that writes an example, once."""
    folder, files = tmp_path_factory.mktemp("pages"), {}

    def write(name):
        if name not in files:
            files[name] = folder / f"{name}.html"
            PAGES[name][1](files[name])
        return files[name]

    return write


def test_every_module_that_writes_a_page_has_an_example():
    source = ROOT / "src" / "commmodel"
    modules = {
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in source.rglob("*.py")
        if "render_page(" in path.read_text("utf-8")
    }
    assert modules - {"report.kit.pages"} == {module for module, _ in PAGES.values()}


LOOKS = (ROOT / "tests" / "support" / "page_looks.js").read_text("utf-8")


def look(visited, name):
    """Return what one of the looks sees."""
    return visited.run(f"{LOOKS.strip()}.{name}()")


def violations(visited):
    """Return what axe-core finds, as words. Contrast is seen by `faint`: axe-core takes minutes."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": False}}}
    violation = Axe().run(visited.page, {"exclude": [["svg"]]}, options).response["violations"]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in violation for node in rule["nodes"][:3]]


def stops(visited):
    """Go through a page with the tabulator; return what is wrong with where it stops."""
    expected, places, dark = look(visited, "stops"), [], []
    for _ in range(expected):
        visited.page.keyboard.press("Tab")
        place, is_seen, words = look(visited, "focus")
        places.append(place)
        dark += [] if is_seen else [f"focus is not seen: {words}"]
    order = [] if places == sorted(set(places)) else [f"order of the tabulator: {places}"]
    return order + dark


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_by_everybody(browser, pages, name):
    """One test a page, as each part needs it written and opened; what is wrong is listed by part."""
    wrong = {}
    with visit(browser, pages(name), color_scheme="light") as visited:
        page = visited.page
        wrong["labels, order of headings"] = violations(visited)
        wrong["contrast"] = look(visited, "faint")
        wrong["names for screen readers"] = look(visited, "speechless")
        wrong["keyboard"] = stops(visited)
        page.emulate_media(color_scheme="dark")
        assert look(visited, "ground") == "rgb(21, 24, 28)"
        wrong["contrast, dark"] = look(visited, "faint")
        page.set_viewport_size(PHONE)
        visited.draw()
        wrong["wide on a phone"] = look(visited, "wide")
        page.set_viewport_size(PAPER)
        page.emulate_media(media="print", color_scheme="dark")
        assert look(visited, "ground") == "rgb(255, 255, 255)"
        wrong["cut off on paper"] = look(visited, "cut")
        wrong["contrast on paper"] = look(visited, "faint")
        wrong["useless or folded on paper"] = look(visited, "notForPaper")
        assert page.pdf(format="A4").startswith(b"%PDF-")
        wrong["messages"], wrong["requests"] = visited.messages, visited.requests
    assert {part: words for part, words in wrong.items() if words} == {}


BAD = """<!DOCTYPE html><title>bad</title><body style="background: white"><h3>low</h3>
<p style="color: #999">faint</p><svg><text y="9" fill="#aaa">faint plot</text></svg><table><tr><th>head<td>1</table>
<button style="outline: none">a</button><button tabindex="3">b</button><div style="width: 900px; height: 5px">wide</div>
<p style="width: 100px; overflow: hidden; white-space: pre">cut off because it is much longer than its box</p>
<img src="http://localhost:1/none.png"><script>console.log("hello"); nothing()</script>"""


def test_what_is_wrong_is_noticed(browser, tmp_path):
    """The looks of the test above see what they look for."""
    (tmp_path / "bad.html").write_text(BAD)
    with visit(browser, tmp_path / "bad.html", viewport=PHONE) as visited:
        assert [words.split(":")[0].split(",")[0] for words in look(visited, "faint")] == ["faint", "faint plot"]
        assert {"html-has-lang", "image-alt", "tabindex"} <= {words.split(":")[0] for words in violations(visited)}
        assert [words[:4] for words in look(visited, "speechless")] == ["<svg", "<th>", "<tab"]
        assert len(stops(visited)) == 2
        assert look(visited, "wide")
        assert len(look(visited, "cut")) == 1
        assert len(visited.messages) >= 3
        assert visited.requests == ["http://localhost:1/none.png"]


def test_folds_open_and_close_with_the_keys(browser, pages):
    with visit(browser, pages("recording")) as visited:
        visited.page.locator("summary").first.focus()
        for is_open in (True, False):
            visited.page.keyboard.press("Enter")
            assert visited.run("document.querySelector('details').open") == is_open


# Charts


@pytest.fixture(scope="module")
def charts(tmp_path_factory):
    """Return a page of one chart, and one of two."""
    folder = tmp_path_factory.mktemp("charts")
    write_gantt(folder / "one.html", "one", [TOLD_APART])
    write_gantt(folder / "two.html", "two", [random_timeline(60, 500), random_timeline(4, 100)])
    return folder


def picture(visited, number=0):
    visited.draw()
    return visited.run("(number) => document.getElementById(`canvas-${number}`).toDataURL()", number)


def tip(visited):
    visited.draw()
    return visited.run(
        "(() => { const tip = document.getElementById('tip'); return tip.hidden ? null : tip.textContent; })()"
    )


def test_keys_and_buttons_zoom_and_move(browser, charts):
    with visit(browser, charts / "two.html") as visited:
        first, keyboard = picture(visited), visited.page.keyboard
        visited.page.locator("#canvas-0").focus()
        for entry, back in (("+", "-"), ("]", "["), ("+", "0"), ("]", "Home")):
            keyboard.press(entry)
            assert picture(visited) != first
            keyboard.press(back)
            assert picture(visited) == first
        keyboard.press("+")
        half = picture(visited)
        for entry, back in (("ArrowRight", "ArrowLeft"), ("ArrowLeft", "ArrowRight")):
            keyboard.press(entry)
            assert picture(visited) != half
            keyboard.press(back)
            assert picture(visited) == half
        keyboard.press("Home")
        for button in visited.page.locator("#tools button").all():
            button.focus()
            keyboard.press("Enter")
        assert picture(visited) == first  # the last one shows everything
        assert visited.messages == []


def test_all_charts_move_together(browser, charts):
    with visit(browser, charts / "two.html") as visited:
        before = picture(visited, 1)
        visited.page.locator("#canvas-0").focus()
        visited.page.keyboard.press("+")
        assert picture(visited, 1) != before


def test_the_wheel_zooms_at_the_pointer_and_dragging_moves(browser, charts):
    with visit(browser, charts / "two.html") as visited:
        box = visited.page.locator("#canvas-0").bounding_box()
        x, y = box["x"] + LEFT + 300, box["y"] + TOP + 40
        first, mouse = picture(visited), visited.page.mouse
        mouse.move(x, y)
        pointed = tip(visited).splitlines()
        mouse.wheel(0, -120)
        zoomed = picture(visited)
        assert (zoomed != first, tip(visited)) == (True, None)
        mouse.move(x, y + 0.5)
        assert tip(visited).splitlines()[1:] == pointed[1:]
        mouse.down()
        mouse.move(x - 100, y)
        moved = picture(visited)
        assert moved != zoomed
        mouse.move(x, y)
        mouse.up()
        assert picture(visited) == zoomed


def test_dragging_along_the_axis_or_with_shift_zooms_to_a_span(browser, charts):
    with visit(browser, charts / "one.html") as visited:
        box = visited.page.locator("#canvas-0").bounding_box()
        inner, mouse = box["width"] - LEFT, visited.page.mouse
        pictures = []
        for is_shifted in (False, True):
            visited.page.locator("#canvas-0").focus()
            visited.page.keyboard.press("0")
            if is_shifted:
                visited.page.keyboard.down("Shift")
            mouse.move(box["x"] + LEFT + 0.25 * inner, box["y"] + (TOP + 10 if is_shifted else 5))
            mouse.down()
            mouse.move(box["x"] + LEFT + 0.5 * inner, box["y"] + 12)
            mouse.up()
            visited.page.keyboard.up("Shift")
            mouse.move(0, 0)
            pictures.append(picture(visited))
        visited.page.keyboard.press("0")
        visited.page.locator("#canvas-0").blur()
    with visit(browser, charts / "one.html", "#from=0.25&to=0.5") as visited:
        assert pictures == [picture(visited)] * 2


def test_enter_reads_an_interval_arrows_others_and_escape_ends_it(browser, charts):
    with visit(browser, charts / "one.html") as visited:
        before, keyboard, rows = picture(visited), visited.page.keyboard, []
        visited.page.locator("#canvas-0").focus()
        for key in ("Enter", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft"):
            keyboard.press(key)
            rows.append(tip(visited))
        assert rows == [
            "rank 0\nsend to rank 1, 1 KiB\nstart 0 s, length 1 us",
            "rank 0\ncompute\nstart 1 us, length 1.5 us",
            "rank 0\ntransfer\nstart 4 us, length 2 us",
            "rank 1\nreceive from rank 0, 1 KiB\nstart 1 us, length 2 us",
            *["rank 1\nwait with rank 0, 1 KiB\nstart 0 s, length 1 us"] * 2,
        ]
        assert visited.run("document.getElementById('tip').getAttribute('role')") == "status"
        assert picture(visited) != before
        keyboard.press("Escape")
        assert tip(visited) is None
        assert picture(visited) == before


def test_the_interval_that_is_read_is_brought_into_view(browser, charts):
    with visit(browser, charts / "two.html", "#from=0.5&to=0.51") as visited:
        visited.page.locator("#canvas-0").focus()
        visited.page.keyboard.press("]")
        visited.page.keyboard.press("Enter")
        before = picture(visited)
        for _ in range(12):
            visited.page.keyboard.press("ArrowRight")
        assert picture(visited) != before
        rank, *_ = tip(visited).splitlines()
        assert re.fullmatch(r"rank \d+", rank)
        for _ in range(70):
            visited.page.keyboard.press("ArrowDown")
        assert tip(visited).splitlines()[0] == "rank 59"
        assert visited.messages == []


def test_colours_of_a_chart_follow_the_scheme_and_paper_is_white(browser, charts):
    corner = "() => [...document.getElementById('canvas-0').getContext('2d').getImageData(1, 1, 1, 1).data]"
    with visit(browser, charts / "one.html", color_scheme="dark") as visited:
        assert visited.run(corner) == [21, 24, 28, 255]
        visited.run("() => dispatchEvent(new Event('beforeprint'))")
        assert visited.run(corner) == [255, 255, 255, 255]
        visited.run("() => dispatchEvent(new Event('afterprint'))")
        visited.page.emulate_media(color_scheme="light")
        visited.draw()
        assert visited.run(corner) == [255, 255, 255, 255]


def test_without_what_unpacks_the_columns_the_overview_stays(browser, charts):
    context = browser.new_context()
    context.add_init_script("delete globalThis.DecompressionStream")
    page = context.new_page()
    page.goto((charts / "one.html").as_uri())
    assert page.locator("svg.overview").is_visible()
    assert not page.locator("canvas").is_visible()
    context.close()
