"""Gantt pages in a browser: how long one of a million intervals takes to open, and how smoothly it moves.

    python -m benchmarks.speed.page_opening [--ranks 64] [--intervals 1000000] [--rounds 5] [--page timeline.html]

Opening is from the start of navigation to the moment when all intervals are drawn, as the browser's own clock has it.
Beside it stands a page of as many bytes that does nothing with them: what reading the file alone takes. Frames are the
times between two pictures while the chart moves along time with half of it in view, and while it zooms from all to a
thousandth; beside them are those of the page that does nothing. Needs ``pip install 'commmodel[browser]'`` and an
installed Chromium. The timeline is made by rule from a seed, without any repetition, which is the largest file there
is; ``--page`` takes a page that is there instead.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from typing import Any

import numpy as np
from tools.browser import missing, open_browser, visit

from commmodel.report.simulation.gantt_page import write_gantt
from commmodel.simulate.result import INTERVAL, MESSAGE
from commmodel.simulate.states import State
from commmodel.simulate.timeline import Timeline

NOTHING = """<!DOCTYPE html><title>as many bytes</title><script type="text/plain" id="bytes">{}</script>
<script>
  document.getElementById("bytes").textContent.length;
  requestAnimationFrame(() => performance.mark("drawn"));
</script>"""
OPENED = "performance.getEntriesByName('drawn')[0].startTime"
FRAMES = """async ([count, move]) => {
  const next = () => new Promise(requestAnimationFrame), canvas = document.querySelector("canvas"), times = [];
  const box = canvas?.getBoundingClientRect(), at = { clientX: box?.left + 0.6 * box?.width, clientY: box?.top + 60 };
  const wheel = (deltaX, deltaY) => canvas?.dispatchEvent(new WheelEvent("wheel", { deltaX, deltaY, ...at }));
  if (move) for (let step = 0; step < 2; step++) wheel(0, -115);  // half is in view
  for (let frame = 0; frame < count; frame++) {
    if (move) wheel(frame % 40 < 20 ? 12 : -12, 0); else wheel(0, frame < count / 2 ? -40 : 40);
    times.push(await next());
  }
  return times.slice(1).map((time, index) => time - times[index]);
}"""
COUNT = 120
WANTED = "wanted: a million intervals open within a second, and most frames come at the screen's rate (16.7 ms)"


def made_timeline(ranks: int, intervals: int, seed: int = 0) -> Timeline:
    """Return a timeline of ranks that go from state to state at random, with a message for every fourth interval."""
    random, count = np.random.default_rng(seed), intervals // ranks
    lengths, gaps = random.exponential(1e-5, (ranks, count)), random.exponential(1e-6, (ranks, count))
    ends = np.cumsum(lengths + gaps, axis=1)
    rows = np.zeros(ranks * count, dtype=INTERVAL)
    rows["rank"], rows["tag"] = np.repeat(np.arange(ranks), count), 1
    rows["start"], rows["end"] = (ends - lengths).ravel(), ends.ravel()
    rows["state"] = random.choice([State.COMPUTE, State.SEND, State.RECEIVE], rows.size)
    rows["peer"], rows["size"] = random.integers(0, ranks, rows.size), random.integers(1, 1 << 20, rows.size)
    sent = np.zeros(rows.size // 4, dtype=MESSAGE)
    sent["sender"], sent["receiver"] = random.integers(0, ranks, (2, sent.size))
    sent["posted"] = sent["left"] = np.sort(random.uniform(0, ends.max(), sent.size))
    sent["arrived"], sent["size"] = sent["posted"] + 2e-5, random.integers(1, 1 << 20, sent.size)
    return Timeline(f"{rows.size:,} intervals", ranks, rows, sent)


def opening(browser: Any, file: Path) -> float:
    """Return the milliseconds from the start of navigation to the picture."""
    with visit(browser, file) as visited:
        visited.draw()
        return float(visited.run(OPENED))


def frames(browser: Any, file: Path, *, move: bool) -> list[float]:
    """Return the milliseconds between pictures while a chart moves, or zooms."""
    with visit(browser, file) as visited:
        return list(visited.run(FRAMES, [COUNT, move]))


def row(name: str, times: list[float], reference: list[float]) -> str:
    """Return a row of the table: median, 95th percentile and largest, and the median over the reference's."""
    rest = f"{quantiles(times, n=20)[-1]:>10.1f}{max(times):>10.1f}{median(times) / median(reference):>10.2f}"
    return f"{name:<34}{median(times):>10.1f}{rest}"


def main() -> None:
    """Make the page and the one beside it, open both in turn, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=64, help="ranks of the timeline (default: %(default)s)")
    parser.add_argument("--intervals", type=int, default=1_000_000, help="intervals of it (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="openings of each page (default: %(default)s)")
    parser.add_argument("--page", type=Path, help="a page of a chart that is there")
    arguments = parser.parse_args()
    if problem := missing():
        print(f"not measured: {problem}")
        return
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        page, filler = arguments.page, Path(folder) / "nothing.html"
        if page is None:
            page, begin = Path(folder) / "page.html", process_time()
            write_gantt(page, "made", [made_timeline(arguments.ranks, arguments.intervals)])
            print(f"written in {process_time() - begin:.1f} s of processor time")
        size = page.stat().st_size
        filler.write_text(NOTHING.format("A" * size), "ascii")
        print(f"the page has {size / 1e6:.1f} MB\n")
        opened = [(opening(browser, filler), opening(browser, page.resolve())) for _ in range(arguments.rounds)]
        empty, drawn = (list(times) for times in zip(*opened, strict=True))
        rate = frames(browser, filler, move=True)
        print(f"{'milliseconds':<34}{'median':>10}{'95 %':>10}{'most':>10}{'ratio':>10}")
        print(row("as many bytes, opened", empty, empty))
        print(row("the page, opened and drawn", drawn, empty))
        print(row("a frame of nothing", rate, rate))
        print(row("a frame while moving", frames(browser, page.resolve(), move=True), rate))
        print(row("a frame while zooming", frames(browser, page.resolve(), move=False), rate))
    print(f"\n{WANTED}")


if __name__ == "__main__":
    main()
