"""Plots of a recording: the communication matrix, and where each rank's time goes. Main entry: `draw`."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from commmodel.record import Profile
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, new_canvas
from commmodel.report.kit.maps import Corners, box, draw_cells, patches
from commmodel.report.recording.findings import volume
from commmodel.units import format_quantity, format_time

_MOST_BINS = 64
_CLASSES = 6
_LEAST_STEP, _MOST_STEP = 1.1, 4.0
"""Between the ends of two classes of the matrix."""
_STATES = ("computing", "waiting", "transferring", "files", "other")
_STATE_COLOURS = ("#009e73", "#d55e00", "#0072b2", "#b3578f", look.GRID)


def draw(profile: Profile) -> list[Plot]:
    """Return the plots; the matrix is left out where no rank has sent a message."""
    with look.style():
        plots = [_bars(profile)]
        if profile.matrix.bytes.sum():
            plots.append(_map(profile))
    return plots


def _bins(processes: int) -> list[range]:
    """Return neighbouring ranks that are drawn together.

    >>> _bins(3), _bins(128)[:2]
    ([range(0, 1), range(1, 2), range(2, 3)], [range(0, 2), range(2, 4)])
    """
    width = -(-processes // _MOST_BINS)
    return [range(first, min(first + width, processes)) for first in range(0, processes, width)]


def _words(ranks: range) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]} to {ranks[-1]}"


def _rank_ticks(bins: Sequence[range]) -> tuple[range, list[str]]:
    places = range(0, len(bins), max(1, -(-len(bins) // 8)))
    return places, [str(bins[place][0]) for place in places]


def _legend(canvas: Canvas, colours: Sequence[str], labels: Sequence[str]) -> None:
    handles = patches(colours, labels)
    look.legend(canvas.figure, handles, columns=2 if len(handles) == 4 else 3)


def _map(profile: Profile) -> Plot:
    canvas, bins = new_canvas(), _bins(profile.processes)
    matrix, width = profile.matrix, len(_bins(profile.processes)[0])
    sent = np.zeros((len(bins), len(bins)), dtype=np.int64)
    messages = np.zeros_like(sent)
    for sums, values in ((sent, matrix.bytes), (messages, matrix.messages)):
        np.add.at(sums, (matrix.source // width, matrix.destination // width), values)
    largest = int(sent.max())
    smallest = int(sent[sent > 0].min())
    step = min(_MOST_STEP, max(_LEAST_STEP, (largest / smallest) ** (1 / _CLASSES)))
    colours = look.error_colours(_CLASSES)
    classes: dict[int, list[tuple[Corners, str]]] = defaultdict(list)
    for source, destination in np.argwhere(messages).tolist():
        size = int(sent[source, destination])
        below = np.log(largest / size) / np.log(step) if size else _CLASSES
        corners = box(destination - 0.5, destination + 0.5, source - 0.5, source + 0.5)
        tip = (
            f"from {_words(bins[source])} to {_words(bins[destination])}: {volume(size)} in "
            f"{messages[source, destination]} messages"
        )
        classes[_CLASSES - 1 - min(_CLASSES - 1, int(below))].append((corners, tip))
    draw_cells(canvas, classes, colours)
    used = sorted(classes)
    ends = [largest / step ** (_CLASSES - 1 - number) for number in used]
    names = [f"{volume(largest)} each" if smallest == largest else f"up to {volume(end)}" for end in ends]
    _legend(canvas, [colours[number][0] for number in used], names)
    places, labels = _rank_ticks(bins)
    canvas.axes.set_xlim(-0.5, len(bins) - 0.5)
    canvas.axes.set_ylim(len(bins) - 0.5, -0.5)
    canvas.axes.set_xticks(places, labels)
    canvas.axes.set_yticks(places, labels)
    canvas.axes.set_xlabel("to rank")
    canvas.axes.set_ylabel("from rank")
    canvas.axes.set_aspect("equal")
    caption = "Bytes of point-to-point messages; what collectives move is not in it. Empty: no messages."
    return canvas.finish("matrix", "Who sends to whom", caption, look.FIXED_COLOURS | dict(colours))


def _bars(profile: Profile) -> Plot:
    canvas, bins = new_canvas(), _bins(profile.processes)
    by_rank = {rank.rank: rank for rank in profile.ranks}
    classes: dict[int, list[tuple[Corners, str]]] = defaultdict(list)
    for row, ranks in enumerate(bins):
        members = [by_rank[rank] for rank in ranks if rank in by_rank]
        begin = 0.0
        for number, state in enumerate(_STATES):
            seconds = sum(max(getattr(rank, state), 0.0) for rank in members) / max(len(members), 1)
            if seconds <= 0:
                continue
            end = begin + seconds
            corners = box(begin, end, row - 0.45, row + 0.45)
            classes[number].append((corners, f"{_words(ranks)}: {state} {format_time(seconds)}"))
            begin = end
    light = {colour: look.FIXED_COLOURS.get(colour, colour) for colour in _STATE_COLOURS}
    draw_cells(canvas, classes, list(light.items()))
    used = sorted(classes)
    _legend(canvas, [_STATE_COLOURS[number] for number in used], [_STATES[number] for number in used])
    places, labels = _rank_ticks(bins)
    longest = max((sum(max(getattr(rank, state), 0.0) for state in _STATES) for rank in profile.ranks), default=0.0)
    canvas.axes.set_xlim(0, longest or 1.0)
    canvas.axes.set_ylim(len(bins) - 0.5, -0.5)
    canvas.axes.set_yticks(places, labels)
    canvas.axes.set_ylabel("rank")
    canvas.axes.xaxis.set_major_formatter(lambda value, _: format_quantity(value, "s") if value else "0")
    canvas.axes.locator_params(axis="x", nbins=5)
    canvas.axes.set_xlabel("time")
    shared = f" Each bar is the mean of {len(bins[0])} neighbouring ranks." if len(bins[0]) > 1 else ""
    caption = f"Where the time of each rank goes; other is starting and ending MPI.{shared}"
    return canvas.finish("ranks", "Time of ranks", caption, look.FIXED_COLOURS)
