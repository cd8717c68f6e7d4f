"""Extra-P's text format: parameters and points, then for each region and metric a line of values per point.

::

    PARAMETER p
    POINTS (4) (8) (16)
    REGION main->solve
    METRIC time
    DATA 8.31 8.02
    DATA 22.74 22.66
    DATA 65.79 64.74

Several values of a line are repetitions. A metric holds until the next one, a region too. Lines that begin with # are
comments. Main entries: `parse` and `render`.
"""

import re
from collections.abc import Iterator, Sequence

from commmodel.formats.extrap import DEFAULT_METRIC, ROOT, FunctionRecords
from commmodel.formats.interchange import SampleTable
from commmodel.formats.lines import Text, TextLine, first_line, shown
from commmodel.results import Measurements
from commmodel.results.parameters import shortest

KEYWORDS = ("PARAMETER", "POINTS", "METRIC", "REGION", "DATA")
MOST_PARAMETERS = 4
"""That Extra-P reads of this format."""
_TOKENS = re.compile(r"[()]|[^\s()]+")


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that is neither empty nor a comment if it is of this format, else 0."""
    number = first_line(lines)
    return number if number and lines[number - 1].split(None, 1)[0] in KEYWORDS else 0


def _points(line: TextLine, words: str, count: int) -> list[tuple[float, ...]]:
    """Return the points of a line: groups of `count` numbers in brackets, optional with one parameter."""
    points: list[tuple[float, ...]] = []
    group: list[float] = []
    depth = 0
    for part in _TOKENS.findall(words):
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
        else:
            group.append(line.measurable(line.real(part, "a point"), "a point"))
        if depth < 0:
            raise line.damaged("a bracket is closed that was not opened; restore the line")
        if depth == 0 and part != ")" and count > 1:
            raise line.damaged(f"a point of {count} parameters is written like (4 1024); add the brackets")
        if depth == 0:
            if len(group) != count:
                problem = f"a point of {len(group)} values, but there are {count} parameters; restore the line"
                raise line.damaged(problem)
            points.append(tuple(group))
            group = []
    if depth:
        raise line.damaged("a bracket is not closed; restore the line")
    return points


class _TextReader:
    """State of a reader."""

    def __init__(self) -> None:
        self.gathered = FunctionRecords()
        self.names: list[str] = []
        self.points: list[tuple[float, ...]] = []
        self.region, self.metric = ROOT, DEFAULT_METRIC
        self.done: set[tuple[str, str]] = set()
        self.lines_read = 0
        """Lines of data of this region and metric."""

    def close(self, line: TextLine) -> None:
        """End the data of a region and metric."""
        if self.lines_read and self.lines_read < len(self.points):
            problem = (
                f"{self.lines_read} lines of DATA of {shown(self.region)}, {shown(self.metric)} "
                f"before it, but there are"
                f" {len(self.points)} points: add those that are missing"
            )
            raise line.damaged(problem)
        self.lines_read = 0

    def parameters(self, line: TextLine, words: str) -> None:
        """Take names."""
        if self.points:
            raise line.damaged("PARAMETER stands after POINTS: move it to the top")
        for name in words.split():
            if name in self.names:
                raise line.damaged(f"parameter {shown(name)} is there twice; remove one")
            self.names.append(name)

    def more_points(self, line: TextLine, words: str) -> None:
        """Take points."""
        if not self.names:
            raise line.damaged("POINTS stands before any PARAMETER: say first what the points are of")
        if self.done:
            raise line.damaged("POINTS stands after DATA: move it to the top")
        points = _points(line, words, len(self.names))
        if len({*self.points, *points}) < len(self.points) + len(points):
            raise line.damaged("a point is there twice: write its values into one line of DATA")
        self.points += points

    def data(self, line: TextLine, words: str) -> None:
        """Take the values at the next point."""
        if not self.points:
            raise line.damaged("DATA stands before any POINTS: say first where it was measured")
        if not self.lines_read:
            if (self.region, self.metric) in self.done:
                place = f"{shown(self.region)}, {shown(self.metric)}"
                raise line.damaged(f"{place} is there twice: write all values of a point into one line")
            self.done.add((self.region, self.metric))
        if self.lines_read == len(self.points):
            raise line.damaged(f"more lines of DATA than the {len(self.points)} points; remove it, or add a point")
        numbers = [line.real(word, "DATA") + 0.0 for word in words.split()]
        values = [line.measurable(value, "DATA") for value in numbers]
        parameters = list(zip(self.names, self.points[self.lines_read], strict=True))
        self.gathered.add(line, self.region, self.metric, parameters, values)
        self.lines_read += 1


def parse(text: Text) -> Measurements:
    """Return a file as one launch."""
    reader = _TextReader()
    for line in text.numbered():
        if not line.content or line.content[0] == "#":
            continue
        keyword, *rest = line.content.split(None, 1)
        if keyword not in KEYWORDS:
            raise line.damaged(f"{shown(keyword)} is none of {', '.join(KEYWORDS)}; correct or remove the line")
        if not rest:
            raise line.damaged(f"nothing behind {keyword}; restore or remove the line")
        if keyword != "DATA":
            reader.close(line)
        match keyword:
            case "PARAMETER":
                reader.parameters(line, rest[0])
            case "POINTS":
                reader.more_points(line, rest[0])
            case "METRIC":
                reader.metric = " ".join(rest[0].split())
            case "REGION":
                reader.region = " ".join(rest[0].split())
            case _:
                reader.data(line, rest[0])
    reader.close(TextLine(text, len(text.lines), ""))
    return reader.gathered.measurements()


def render(table: SampleTable) -> Iterator[bytes]:
    """Yield the lines of a table whose names have no line breaks."""
    yield f"PARAMETER {' '.join(table.parameters)}\n".encode()
    points = [" ".join(map(shortest, point)) for point in table.points]
    yield f"POINTS {' '.join(f'({point})' for point in points)}\n".encode()
    for row in table.rows:
        yield f"\nREGION {row.callpath}\nMETRIC {row.metric}\n".encode()
        for point in table.points:
            yield f"DATA {' '.join(map(shortest, row.samples[point]))}\n".encode()
