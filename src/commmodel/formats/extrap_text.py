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
from commmodel.formats.lines import Text, first_line, measurable, real, shown
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


def _points(text: Text, number: int, words: str, count: int) -> list[tuple[float, ...]]:
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
            group.append(measurable(text, number, real(text, number, part, "a point"), "a point"))
        if depth < 0:
            raise text.damaged(number, "a bracket is closed that was not opened; restore the line")
        if depth == 0 and part != ")" and count > 1:
            raise text.damaged(number, f"a point of {count} parameters is written like (4 1024); add the brackets")
        if depth == 0:
            if len(group) != count:
                problem = f"a point of {len(group)} values, but there are {count} parameters; restore the line"
                raise text.damaged(number, problem)
            points.append(tuple(group))
            group = []
    if depth:
        raise text.damaged(number, "a bracket is not closed; restore the line")
    return points


class _TextReader:
    """State of a reader."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.gathered = FunctionRecords(text)
        self.names: list[str] = []
        self.points: list[tuple[float, ...]] = []
        self.region, self.metric = ROOT, DEFAULT_METRIC
        self.done: set[tuple[str, str]] = set()
        self.lines_read = 0
        """Lines of data of this region and metric."""

    def close(self, number: int) -> None:
        """End the data of a region and metric."""
        if self.lines_read and self.lines_read < len(self.points):
            problem = (
                f"{self.lines_read} lines of DATA of {shown(self.region)}, {shown(self.metric)} "
                f"before it, but there are"
                f" {len(self.points)} points: add those that are missing"
            )
            raise self.text.damaged(number, problem)
        self.lines_read = 0

    def parameters(self, number: int, words: str) -> None:
        """Take names."""
        if self.points:
            raise self.text.damaged(number, "PARAMETER stands after POINTS: move it to the top")
        for name in words.split():
            if name in self.names:
                raise self.text.damaged(number, f"parameter {shown(name)} is there twice; remove one")
            self.names.append(name)

    def more_points(self, number: int, words: str) -> None:
        """Take points."""
        if not self.names:
            raise self.text.damaged(number, "POINTS stands before any PARAMETER: say first what the points are of")
        if self.done:
            raise self.text.damaged(number, "POINTS stands after DATA: move it to the top")
        points = _points(self.text, number, words, len(self.names))
        if len({*self.points, *points}) < len(self.points) + len(points):
            raise self.text.damaged(number, "a point is there twice: write its values into one line of DATA")
        self.points += points

    def data(self, number: int, words: str) -> None:
        """Take the values at the next point."""
        if not self.points:
            raise self.text.damaged(number, "DATA stands before any POINTS: say first where it was measured")
        if not self.lines_read:
            if (self.region, self.metric) in self.done:
                place = f"{shown(self.region)}, {shown(self.metric)}"
                problem = f"{place} is there twice: write all values of a point into one line"
                raise self.text.damaged(number, problem)
            self.done.add((self.region, self.metric))
        if self.lines_read == len(self.points):
            problem = f"more lines of DATA than the {len(self.points)} points; remove it, or add a point"
            raise self.text.damaged(number, problem)
        numbers = [real(self.text, number, word, "DATA") + 0.0 for word in words.split()]
        values = [measurable(self.text, number, value, "DATA") for value in numbers]
        parameters = list(zip(self.names, self.points[self.lines_read], strict=True))
        self.gathered.add(number, self.region, self.metric, parameters, values)
        self.lines_read += 1


def parse(text: Text) -> Measurements:
    """Return a file as one launch."""
    reader = _TextReader(text)
    for number, line in enumerate(text.lines, start=1):
        if not line or line[0] == "#":
            continue
        keyword, *rest = line.split(None, 1)
        if keyword not in KEYWORDS:
            problem = f"{shown(keyword)} is none of {', '.join(KEYWORDS)}; correct or remove the line"
            raise text.damaged(number, problem)
        if not rest:
            raise text.damaged(number, f"nothing behind {keyword}; restore or remove the line")
        if keyword != "DATA":
            reader.close(number)
        match keyword:
            case "PARAMETER":
                reader.parameters(number, rest[0])
            case "POINTS":
                reader.more_points(number, rest[0])
            case "METRIC":
                reader.metric = " ".join(rest[0].split())
            case "REGION":
                reader.region = " ".join(rest[0].split())
            case _:
                reader.data(number, rest[0])
    reader.close(len(text.lines))
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
