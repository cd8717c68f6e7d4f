"""Drawings of time lines: two messages under LogGP, and an exchange hidden behind computation.

Main entries: `loggp` and `overlap`.
"""

from tools.drawings.canvas import Canvas, Frame

from commmodel.models import loggp as laws
from commmodel.models import overlap as overlaps
from commmodel.units import format_size, format_time

_L, _O, _GAP, _BYTE_TIME, _SIZE = 3e-6, 1e-6, 1e-6, 2e-9, 1001
"""Of the drawing of LogGP: two messages of so many bytes."""
_VOLUME, _MESSAGES, _BURST = 1 << 20, 8, 2
_COMPUTATION = 1e-3
_OVERHEAD, _LATENCY, _RATE = 2e-6, 10e-6, 900e6
"""Of the exchange: the network of the page's example."""


def loggp() -> str:
    """Two messages from one process to another: where o, g, G and L are on the time lines of both."""
    canvas = Canvas(760, 330)
    left, per_second = 96.0, 600 / laws.train_time(_SIZE, 2, _L, _O, _GAP, _BYTE_TIME)
    sender, receiver, height = 108.0, 228.0, 26.0
    rest = (_SIZE - 1) * _BYTE_TIME
    step = laws.train_time(_SIZE, 2, _L, _O, _GAP, _BYTE_TIME) - laws.time(_SIZE, _L, _O, _BYTE_TIME)

    def at(seconds: float) -> float:
        return left + seconds * per_second

    for y, name in ((sender, "sender"), (receiver, "receiver")):
        canvas.path([(left, y), (at(0) + 640, y)], "thin s-soft")
        canvas.text((left - 12, y + 4), name, "strong", "end")
    for index, colour in enumerate(("a", "b")):
        begin = index * step
        first, last, arrival = begin + _O, begin + _O + rest, begin + _O + _L
        bytes_of_message = [(at(first), sender), (at(last), sender), (at(last + _L), receiver), (at(arrival), receiver)]
        canvas.area(bytes_of_message, f"f-{colour} faint")
        canvas.path([*bytes_of_message, bytes_of_message[0]], f"thin s-{colour}")
        canvas.rectangle(Frame(at(begin), sender - height, _O * per_second, height), f"f-{colour}")
        canvas.rectangle(Frame(at(last + _L), receiver, _O * per_second, height), f"f-{colour}")
    canvas.span((at(0), sender - 36), (at(_O), sender - 36), "o_{s} = o")
    canvas.span((at(_O), sender - 36), (at(_O + rest), sender - 36), "(m − 1) G")
    canvas.span((at(_O + rest), sender - 36), (at(step + _O), sender - 36), "g")
    canvas.arrow((at(0), sender - 68), (at(step), sender - 68), is_double=True)
    canvas.text((at(step) + 10, sender - 64), "two messages begin max(o, g + (m − 1) G) apart")
    canvas.path([(at(_O), sender), (at(_O), receiver)], "thin s-rule dashed")
    canvas.span((at(_O), receiver + 12), (at(_O + _L), receiver + 12), "L", above=False)
    canvas.span((at(_O + _L), receiver + 12), (at(_O + _L + rest), receiver + 12), "(m − 1) G", above=False)
    end = laws.time(_SIZE, _L, _O, _BYTE_TIME)
    canvas.text((at(end - _O / 2), receiver + height + 16), "o_{r} = o", anchor="middle")
    middle = (sender + receiver) / 2
    canvas.text((at(step + _O + rest + _L / 2) + 12, middle + 4), "bytes under way", "soft")
    for row, (colour, words) in enumerate((("a", "first message"), ("b", "second message"))):
        canvas.rectangle(Frame(left + 480, receiver + 54 + 18 * row, 12, 12), f"f-{colour}")
        canvas.text((left + 498, receiver + 65 + 18 * row), words, "soft")
    canvas.span((at(0), receiver + 66), (at(end), receiver + 66), "T = L + 2 o + (m − 1) G", above=False)
    canvas.text((left + 640, receiver - 8), "time", "soft", "end")
    return canvas.svg()


def overlap() -> str:
    """An exchange before computation, and the same in bursts of messages that computation hides."""
    canvas = Canvas(760, 300)
    byte_time = 1 / _RATE
    blocking = float(overlaps.blocking_time(_VOLUME, _VOLUME, _COMPUTATION, _OVERHEAD, _LATENCY, byte_time))
    size = _VOLUME / _MESSAGES
    hidden = float(overlaps.pipelined_least_time(_VOLUME, size, _COMPUTATION, _OVERHEAD, _LATENCY, byte_time))
    left, per_second, height = 104.0, 620 / blocking, 30.0

    def bar(row: float, begin: float, end: float, look: str, words: str = "") -> None:
        frame = Frame(left + begin * per_second, row, (end - begin) * per_second - 1, height)
        canvas.rectangle(frame, f"f-{look} faint")
        canvas.rectangle(frame, f"thin s-{look}")
        canvas.text((frame.x + frame.width / 2, row + height / 2 + 4.5), words, anchor="middle")

    def title(row: float, words: str) -> None:
        canvas.text((left - 12, row + height / 2 + 4.5), words, "soft", "end")

    canvas.text((14, 26), f"Blocking, {format_time(blocking)}: first the exchange, then the computation", "strong")
    title(38, "network")
    title(72, "processor")
    transfer = blocking - _COMPUTATION
    bar(38, 0, transfer, "a", f"exchange of {format_size(_VOLUME)}")
    bar(72, transfer, blocking, "b", "computation on all of them")
    words = (
        f"Split, {format_time(hidden)}: it computes on a burst of {_BURST} messages while the next ones are under way"
    )
    canvas.text((14, 146), words, "strong")
    title(158, "network")
    title(192, "processor")
    free = 0.0
    for message in range(_MESSAGES):
        arrival = _OVERHEAD + _LATENCY + (message + 1) * size * byte_time
        bar(158, arrival - size * byte_time, arrival, "d" if message // _BURST % 2 else "a", str(message + 1))
        free = max(arrival, free) + _COMPUTATION / _MESSAGES
        bar(192, free - _COMPUTATION / _MESSAGES, free, "b", str(message + 1))
    if abs(free / hidden - 1) > 1e-9:
        raise ValueError(f"the drawing ends at {free} s, the formula at {hidden} s")
    end, before = left + hidden * per_second, left + blocking * per_second
    canvas.path([(end, 150), (end, 268)], "thin s-soft dashed")
    canvas.path([(before, 66), (before, 268)], "thin s-soft dashed")
    canvas.span((end, 252), (before, 252), f"saved: {format_time(blocking - hidden)}", above=False)
    canvas.arrow((left, 236), (left + 620, 236))
    canvas.text((left, 252), "time", "soft")
    return canvas.svg()
