"""A reader: lines of bytes and microseconds below the title of a program called latencies."""

from commmodel import formats
from commmodel.results.configurations import PingPong

TITLE = "latencies: bytes, microseconds"


def recognise(lines):
    """Return the number of the line that shows the format, 0 if there is none."""
    return lines.index(TITLE) + 1 if TITLE in lines else 0


def parse(text):
    """Yield the records of a file of this format."""
    for line in text.numbered(recognise(text.lines) + 1):
        if line.content:
            size, _, time = line.content.partition(" ")
            yield line.record(PingPong(line.whole(size, "bytes"), "any"), 1e-6 * line.real(time, "microseconds"))


formats.register("latencies", formats.Format(recognise, parse, f"a table below '{TITLE}'"))
