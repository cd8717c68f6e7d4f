"""Extra-P's JSON lines: each line has a value or list of values of one function at one point.

::

    {"params": {"p": 4, "n": 1024}, "callpath": "main->solve", "metric": "time", "value": 1.5}

Lines that say the same point are repetitions. Main entries: `parse` and `render`.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from commmodel.documents import decode_json
from commmodel.errors import DamagedFileError
from commmodel.formats.extrap import DEFAULT_METRIC, ROOT, FunctionRecords
from commmodel.formats.interchange import SampleTable
from commmodel.formats.lines import Text, TextLine, shown
from commmodel.results import Measurements

_DECODER = msgspec.json.Decoder()
_KEYS = {"params", "value", "callpath", "metric"}
_PARAMETERS = re.compile(r'"params"\s*:')
_OURS = re.compile(r'"type"\s*:')
_NO_NUMBER = re.compile(r"\b(?:NaN|Infinity)\b")


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line with something on it if it is of this format, else 0."""
    number = next((number for number, line in enumerate(lines, 1) if line), 0)
    line = lines[number - 1] if number else ""
    return number if line.startswith("{") and _PARAMETERS.search(line) and not _OURS.search(line) else 0


def _decoded(line: TextLine) -> dict[str, Any]:
    try:
        fields = decode_json(line.text.path, line.content.encode(), _DECODER, f"line {line.number}")
    except DamagedFileError:
        if _NO_NUMBER.search(line.content):
            raise line.damaged("NaN or Infinity is no measured value: remove the line") from None
        raise
    if not isinstance(fields, dict):
        raise line.damaged('no object like {"params": {"p": 4}, "value": 1.5}; restore or delete this line')
    return fields


def _number(line: TextLine, value: object, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number_ = float(value)
        except OverflowError:
            number_ = math.inf
        if 0 <= number_ < math.inf:
            return line.measurable(number_ + 0.0, name)  # no -0.0
    raise line.damaged(f"{name}: {shown(str(value))} is no finite number from 0 up; correct or remove the line")


def _word(line: TextLine, fields: dict[str, Any], key: str, default: str) -> str:
    word = fields.get(key, default)
    if not isinstance(word, str) or not word.strip():
        raise line.damaged(f"{key}: {shown(str(word))} is no name; give a text, or leave {key} out")
    return word


def _parameters(line: TextLine, fields: dict[str, Any], names: Sequence[str]) -> list[tuple[str, float]]:
    """Return the point of a line in the order of the first line's names."""
    values = fields.get("params")
    if not isinstance(values, dict) or not values:
        raise line.damaged('no "params" with a parameter in it, like {"p": 4}; restore the line')
    for name in names or values:
        if name not in values:
            raise line.damaged(f"parameter {shown(name)} of the lines before is missing; add its value")
    for name in values:
        if not name.strip() or (names and name not in names):
            raise line.damaged(f"parameter {shown(name)} is not in the lines before; remove it, or add it there")
    return [(name, _number(line, values[name], f"parameter {name}")) for name in names or values]


def _values(line: TextLine, fields: dict[str, Any]) -> list[float]:
    if "value" not in fields:
        raise line.damaged('no "value"; restore the line')
    value = fields["value"]
    if value == []:
        raise line.damaged("value: an empty list; give the measured values, or remove the line")
    return [_number(line, item, "value") for item in (value if isinstance(value, list) else [value])]


def parse(text: Text) -> Measurements:
    """Return the lines of a file as one launch."""
    gathered, names, notes = FunctionRecords(), list[str](), []
    for line in text.numbered():
        if not line.content:
            continue
        entry = _decoded(line)
        if unknown := sorted(entry.keys() - _KEYS):
            notes.append(line.note(f"left out, as the format has no such field: {', '.join(map(shown, unknown))}"))
        parameters = _parameters(line, entry, names)
        names = [name for name, _ in parameters]
        callpath = _word(line, entry, "callpath", ROOT)
        metric = _word(line, entry, "metric", DEFAULT_METRIC)
        gathered.add(line, callpath, metric, parameters, _values(line, entry))
    return gathered.measurements(notes)


def render(table: SampleTable) -> Iterator[bytes]:
    """Yield the lines of a table."""
    for row in table.rows:
        for point in table.points:
            values: list[float] = row.samples[point]
            line = {
                "params": {
                    name: int(value) if value.is_integer() and value < 1 << 53 else value
                    for name, value in zip(table.parameters, point, strict=True)
                },
                "callpath": row.callpath,
                "metric": row.metric,
                "value": values[0] if len(values) == 1 else values,
            }
            yield msgspec.json.encode(line) + b"\n"
