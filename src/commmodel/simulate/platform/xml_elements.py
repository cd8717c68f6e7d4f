"""Platform XML as a tree of elements with lines; units and number lists of its attributes.

The file is not trusted: a document type with declarations of its own and any entity are refused, nothing is fetched,
and size, depth and number of elements are bounded. Main entry: `parse`.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate.platform.description import MOST_HOSTS
from commmodel.units import parse_scaled, parse_whole

_MOST_BYTES = 2**26
_MOST_ELEMENTS = 2**21
_DEEPEST = 64
_TRACES = {"trace", "trace_connect"}
_PROFILE = "profiles of availability are not simulated: take it out"
_BLANKS = " \t\n\r\f\v"
_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY = {prefix + "i": 2 ** (10 * power) for power, prefix in enumerate("KMGTPE", 1)} | {"ki": 2**10}
_PREFIXES = _DECIMAL | _BINARY
_UNITS: dict[str, dict[str, int | Decimal]] = {
    "bandwidth": {prefix + "Bps": factor for prefix, factor in _PREFIXES.items()}
    | {prefix + "bps": Decimal(factor) / 8 for prefix, factor in _PREFIXES.items()},
    "latency": {
        "w": 604800,
        "d": 86400,
        "h": 3600,
        "m": 60,
        "s": 1,
        "ms": Decimal("1e-3"),
        "us": Decimal("1e-6"),
        "ns": Decimal("1e-9"),
        "ps": Decimal("1e-12"),
    },
    "speed": {prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("f", "flops")},
}


@dataclass
class Element:
    """An element, with what it takes to say where something is wrong."""

    path: Path
    line: int
    tag: str
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)

    def error(self, problem: str) -> DamagedFileError:
        """Return the error for this element."""
        return DamagedFileError(self.path, f"line {self.line}", f"<{self.tag[:40]}>: {problem[:400]}")

    def fail(self, problem: str) -> NoReturn:
        """Raise the error for this element."""
        raise self.error(problem)

    def check(self, attributes: set[str], children: set[str]) -> None:
        """Raise where there are unknown attributes or children."""
        for name in self.attributes.keys() - attributes:
            self.fail(f"{name!r}: {_PROFILE}" if name.endswith("_file") else f"unknown attribute {name!r}")
        for child in self.children:
            if child.tag not in children:
                child.fail(_PROFILE if child.tag in _TRACES else f"not known in <{self.tag}>")

    def text(self, name: str, default: str | None = None) -> str:
        """Return an attribute; without a default it is required."""
        value = self.attributes.get(name, default)
        if value is None:
            self.fail(f"attribute {name!r} is missing")
        return value

    def choice(self, name: str, choices: dict[str, Any], default: str) -> Any:
        """Return the meaning of an attribute's word."""
        value = self.text(name, default)
        if value not in choices:
            self.fail(f"{name} {value!r}: expected one of {', '.join(choices)}")
        return choices[value]

    def quantity(self, name: str, kind: str, default: str | None = None, *, may_be_zero: bool = False) -> float:
        """Return a number with a unit; without one, it is in B/s, s or flop/s."""
        text = self.text(name, default)
        value = parse_scaled(text, _UNITS[kind])
        if value is None:
            examples = {"bandwidth": "125MBps or 1Gbps", "latency": "15us", "speed": "1Gf"}
            self.fail(f"{name} {text[:80]!r} is no {kind}: write it like {examples[kind]}")
        may_be_zero |= kind == "latency"
        if not 0 <= value < math.inf or (value == 0 and not may_be_zero):
            self.fail(f"{name} {text[:80]!r} must be finite and {'not negative' if may_be_zero else 'above 0'}")
        return value

    def count(self, name: str, default: str | None = None, most: int = 2**20) -> int:
        """Return a count of at least one."""
        try:
            return parse_whole(self.text(name, default), 1, most)
        except InputError as error:
            self.fail(f"{name} {error}")

    def counts(self, name: str, text: str) -> tuple[int, ...]:
        """Return comma-separated numbers."""
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > 64 or not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
            self.fail(f"{name}: {text!r} are no numbers with commas between them")
        return tuple(map(int, parts))


class Ranges:
    """Numbers of hosts, as ``0-3,7,9-11`` names them, without a list of them.

    >>> ranges = Ranges("0-3,7")
    >>> len(ranges), list(ranges), ranges.index(7), ranges.index(5)
    (5, [0, 1, 2, 3, 7], 4, None)
    """

    def __init__(self, text: str) -> None:
        self._ranges: list[tuple[int, int, int]] = []  # first number, how many, first place
        size = 0
        for part in text.replace(";", ",").split(","):
            words = [word.strip(_BLANKS) for word in part.split("-", 2)]
            if len(words) > 2 or not all(word.isascii() and word.isdecimal() and len(word) <= 15 for word in words):
                raise InputError(f"{text[:80]!r} is no list of numbers like 0-3,7,9-11")
            first, last = int(words[0]), int(words[-1])
            if last < first:
                raise InputError(f"{text[:80]!r} is no list of numbers like 0-3,7,9-11")
            count = last - first + 1
            self._ranges.append((first, count, size))
            size += count
            if size > MOST_HOSTS:
                raise InputError(f"{text[:80]!r}: more than {MOST_HOSTS} hosts")
        ordered = sorted(self._ranges)
        for (first, count, _), (following, _, _) in pairwise(ordered):
            if first + count > following:
                raise InputError(f"{text[:80]!r}: {following} occurs twice")
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[int]:
        for first, count, _ in self._ranges:
            yield from range(first, first + count)

    def __getitem__(self, place: int) -> int:
        following = bisect_right(self._ranges, place, key=lambda listed: listed[2])
        first, count, start = self._ranges[max(following - 1, 0)]
        if not 0 <= place - start < count:
            raise IndexError(place)
        return first + place - start

    def index(self, number: int) -> int | None:
        """Return the index of a number, or None."""
        for first, count, start in self._ranges:
            if first <= number < first + count:
                return start + number - first
        return None

    def overlaps(self, other: "Ranges") -> bool:
        """Whether two sets of ranges have a common number."""
        return any(
            first < following + more and following < first + count
            for first, count, _ in self._ranges
            for following, more, _ in other._ranges
        )


def parse(path: Path) -> Element:
    """Return the root element of an XML file; `DamagedFileError` names file and line of what is wrong."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > _MOST_BYTES:
        raise DamagedFileError(path, "", f"larger than {_MOST_BYTES >> 20} MiB")
    return parse_bytes(path, content)


_LATE = re.compile(rb"""(\s+)<\?xml\s(?:[^?]*?encoding\s*=\s*["']([\w.-]{1,40})["'])?[^?]*\?>""")


def _without_late_declaration(content: bytes) -> tuple[bytes, str | None]:
    r"""Return XML without a declaration that stands behind blanks, where it may not stand, and its encoding.

    >>> _without_late_declaration(b"\n<?xml version='1.0'?>\n<a/>")
    (b'\n\n<a/>', None)
    """
    if (late := _LATE.match(content)) is None:
        return content, None
    lines = late[0].count(b"\n") * b"\n"
    return lines + content[late.end() :], late[2].decode() if late[2] else None


def parse_bytes(path: Path, content: bytes) -> Element:
    """Return the root element of XML."""
    content, encoding = _without_late_declaration(content)
    parser = expat.ParserCreate(encoding)
    document = Element(path, 0, "document", {})
    open_elements = [document]
    elements = 0

    def fail(problem: str) -> NoReturn:
        raise DamagedFileError(path, f"line {parser.CurrentLineNumber}", problem)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal elements
        elements += 1
        if len(open_elements) > _DEEPEST or elements > _MOST_ELEMENTS:
            fail(f"more than {_DEEPEST} elements within each other, or more than {_MOST_ELEMENTS} in all")
        element = Element(path, parser.CurrentLineNumber, tag, attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def data(text: str) -> None:
        if text.strip() and open_elements[-1].tag not in _TRACES:
            fail(f"unexpected text {text.strip()[:40]!r}")

    def doctype(_name: str, _system: str | None, _public: str | None, has_internal_subset: bool) -> None:
        if has_internal_subset:
            fail("a document type with declarations of its own is not read: take them out")

    def entity(*_: Any) -> NoReturn:
        fail("entities are not read: write out what they stand for")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: open_elements.pop() and None
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    parser.SkippedEntityHandler = entity
    parser.ExternalEntityRefHandler = entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DamagedFileError(path, f"line {error.lineno}", f"not XML: {expat.ErrorString(error.code)}") from None
    except (ValueError, LookupError) as error:
        if isinstance(error, InputError):
            raise
        raise DamagedFileError(path, "", f"not XML: {error}") from None
    return document.children[0]
