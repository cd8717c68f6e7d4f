"""Plots of the gain by overlap and of the choices: maps over volume and message size, curves over the burst.

After Iancu 2007, Figures 7 to 12.
Main entry: `draw`.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commmodel.optimize.validation import Case, Timed, Validation
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, Dashes, cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.cells import measured_cell
from commmodel.report.kit.maps import STEPS, Corners, borders, box, draw_cells, patches, step_names, step_of
from commmodel.report.overlap.measurements import decomposition_words, problem_words
from commmodel.units import format_ratio, format_size, format_time

_NO_FASTER = len(STEPS) + 1  # classes are those of `STEPS`, one above them, and this
"""Class of decompositions that are no faster than blocking."""
_COLUMNS = 3
_MOST_VOLUMES = 5
_SOLID: Dashes = "-"
_DASHED: Dashes = (0, (3, 2))
_MEASURED, _CHOSEN = "best, measured", "chosen"


def _class(timed: Timed, case: Case) -> int:
    blocking = case.sweep.blocking
    if blocking is not None and timed.seconds >= blocking.seconds and timed.seconds > case.sweep.best.seconds:
        return _NO_FASTER
    return step_of(timed.seconds / case.sweep.best.seconds - 1)


def _tip(timed: Timed, case: Case) -> str:
    time = measured_cell(timed.seconds, timed.low, timed.high, "s")
    over = format_ratio(timed.seconds / case.sweep.best.seconds - 1)
    where = decomposition_words(timed.message_size, timed.burst)
    return f"V = {format_size(case.sweep.volume)}, {where}: {time}, {over} over best"


def _by_size(case: Case) -> dict[int, list[Timed]]:
    by_size: dict[int, list[Timed]] = defaultdict(list)
    for decomposition in case.sweep.decompositions:
        by_size[decomposition.message_size].append(decomposition)
    return by_size


def _cells(canvas: Canvas, cases: Sequence[Case], colours: Sequence[tuple[str, str]]) -> list[int]:
    """Draw a cell for each volume and message size; return the classes in the map."""
    volumes = sorted({case.sweep.volume for case in cases})
    sizes = sorted({decomposition.message_size for case in cases for decomposition in case.sweep.decompositions})
    across, up = borders(volumes), borders(sizes)
    classes: dict[int, list[tuple[Corners, str]]] = defaultdict(list)
    for case in cases:
        column = volumes.index(case.sweep.volume)
        for same_size in _by_size(case).values():
            fastest = min(same_size, key=lambda timed: timed.seconds)
            row = sizes.index(fastest.message_size)
            corners = box(across[column], across[column + 1], up[row], up[row + 1])
            classes[_class(fastest, case)].append((corners, _tip(fastest, case)))
    draw_cells(canvas, classes, colours)
    look.size_axis(canvas.axes, volumes[0], volumes[-1])
    canvas.axes.set_xlim(across[0], across[-1])
    step = -(-len(volumes) // _MOST_VOLUMES)
    canvas.axes.set_xticks(volumes[::step])
    canvas.axes.set_xlabel("volume V")
    look.size_axis(canvas.axes, sizes[0], sizes[-1], is_vertical=True)
    canvas.axes.set_ylim(up[0], up[-1])
    return sorted(classes)


def _ratio_words(cases: Sequence[Case]) -> str:
    ratios = [case.sweep.ratio for case in cases if case.sweep.ratio is not None]
    if not ratios:
        return ""
    least, most = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    return f" Computation over communication: {least}{f' to {most}' * (least != most)}."


def _map(cases: Sequence[Case], key: str, title: str) -> Plot:
    canvas = new_canvas()
    cases = sorted(cases, key=lambda case: case.sweep.volume)
    colours = [*look.error_colours(_NO_FASTER), (look.GRID, look.FIXED_COLOURS[look.GRID])]
    used = _cells(canvas, cases, colours)
    volumes = [case.sweep.volume for case in cases]
    handles: list[Patch | Line2D] = []
    for label, chosen, marker, filling, dashes in (
        (_MEASURED, [case.sweep.best for case in cases], "o", look.INK, _SOLID),
        (_CHOSEN, [case.chosen for case in cases], "s", look.PAPER, _DASHED),
    ):
        sizes = [decomposition.message_size for decomposition in chosen]
        series = label.partition(",")[0]
        canvas.axes.plot(volumes, sizes, color=look.PAPER, linewidth=4, zorder=3)
        canvas.axes.plot(volumes, sizes, color=look.INK, linestyle=dashes, linewidth=1.4, zorder=3.1)
        canvas.axes.plot(
            volumes, sizes, marker, markersize=6, markerfacecolor=filling, markeredgecolor=look.INK, gid=series,
            zorder=3.2, clip_on=False,
        )  # fmt: skip
        canvas.points[series] = [
            f"{label}: {_tip(decomposition, case)}" for decomposition, case in zip(chosen, cases, strict=True)
        ]
        line = Line2D([], [], color=look.INK, marker=marker, linestyle=dashes, label=label)
        line.set_markerfacecolor(filling)
        handles.append(line)
    names = ["no faster than blocking" if number == _NO_FASTER else step_names([number])[0] for number in used]
    handles += patches([colours[number][0] for number in used], names)
    look.legend(canvas.figure, handles, columns=_COLUMNS)
    remark = " In none of them is there anything to hide." * all(case.sweep.nothing_to_hide for case in cases)
    words = (
        "How much longer each message size takes, with its best burst, than the best decomposition of its volume."
        f"{_ratio_words(cases)}{remark} Lines join the best measured and the chosen decomposition of each volume "
        "(Figures 7 to 9, 11 and 12)."
    )
    return canvas.finish(key, title, words, look.FIXED_COLOURS | dict(colours))


def _curves(case: Case, key: str, title: str) -> Plot:
    canvas = new_canvas()
    by_size = sorted(_by_size(case).items())
    styles, colours = cycled_styles(f"S = {format_size(size)}" for size, _ in by_size)
    for (size, group), style in zip(by_size, styles, strict=True):
        group.sort(key=lambda decomposition: decomposition.burst)
        bursts, times = [timed.burst for timed in group], [timed.seconds for timed in group]
        draw_series(canvas, bursts, times, [_tip(timed, case) for timed in group], f"size-{size}", style)
    legend_of(canvas, styles)
    look.count_axis(canvas.axes, [decomposition.burst for decomposition in case.sweep.decompositions], "burst b")
    bounds = {
        "blocking": case.sweep.blocking.seconds if case.sweep.blocking is not None else None,
        "computation alone": case.sweep.computation,
    }
    lines = {name: seconds for name, seconds in bounds.items() if seconds}
    for name, seconds in lines.items():
        canvas.axes.axhline(seconds, color=look.INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        canvas.axes.annotate(
            name, (1, seconds), xycoords=("axes fraction", "data"), xytext=(0, 2), textcoords="offset points",
            ha="right", va="bottom", fontsize=9.5, color=look.INK,
        )  # fmt: skip
    canvas.shown += list(lines.values())
    look.log_axis(canvas.axes, canvas.shown, "s", "time T")
    best, chosen = (
        f"{decomposition_words(decomposition.message_size, decomposition.burst)}, {format_time(decomposition.seconds)}"
        for decomposition in (case.sweep.best, case.chosen)
    )
    words = (
        f"Time over the burst, a line for each message size. Best: {best}; chosen: {chosen}.{_ratio_words([case])} "
        "Dashed: without overlap, and the computation alone (Figure 10)."
    )
    return canvas.finish(key, title, words, colours)


def draw(validation: Validation) -> list[tuple[str, list[Plot]]]:
    """Return, for each pattern, operation, path and template, its plots: maps, and curves of the largest volume.

    There is one of each for every amount of computation; no map where a single volume was measured.
    """
    several = len({case.sweep.library for case in validation.cases}) > 1
    groups = []
    with look.style():
        for number, (name, group) in enumerate(
            groupby(
                validation.cases,
                key=lambda case: f"{problem_words(case.sweep, with_library=several)}, {case.sweep.template}",
            )
        ):
            plots = []
            by_passes: dict[int, list[Case]] = defaultdict(list)
            for case in group:
                by_passes[case.sweep.passes].append(case)
            for passes, cases in sorted(by_passes.items()):
                work = f"{passes} pass{'es' * (passes != 1)} over the data"
                if len(cases) > 1:
                    plots.append(_map(cases, f"map-{number}-{passes}", f"Message size over volume, {work}"))
                largest = max(cases, key=lambda case: case.sweep.volume)
                if len({decomposition.burst for decomposition in largest.sweep.decompositions}) > 1:
                    title = f"Burst, V = {format_size(largest.sweep.volume)}, {work}"
                    plots.append(_curves(largest, f"burst-{number}-{passes}", title))
            groups.append((name, plots))
    return groups
