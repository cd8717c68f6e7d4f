"""When hosts and links of a platform file first change, by its profiles of availability.

A profile is a text file beside the platform: a line holds a time in seconds and a value from then on, ``STOCHASTIC``
and the like say how values are drawn or repeated. A simulation that ends before the first change is right without it;
later changes are not simulated. Main entry: `changes`.
"""

import math
from pathlib import Path
from typing import Any

from commmodel.simulate.platform.xml_elements import Element

_MOST_BYTES = 2**24
PROFILES = {
    "availability_file": None, "speed_file": None, "state_file": None, "bandwidth_file": "bandwidth",
    "latency_file": "latency",
}  # fmt: skip
"""Attribute -> the one whose value it changes; the others change a share of all, which is 1."""
OF_HOST, OF_LINK = {"availability_file", "speed_file", "state_file"}, {"bandwidth_file", "latency_file", "state_file"}


def changes(element: Element) -> list[tuple[float, str]]:
    """Return when each profile of a host or link first changes it, and in which file and line that is asked for."""
    times: list[tuple[float, str]] = []
    for name, base in PROFILES.items():
        if name in element.attributes:
            nominal: Any = 1.0 if base is None else element.quantity(base, base, "0")
            seconds = _first_change(element, name, nominal)
            if seconds < math.inf:
                times.append((seconds, f"line {element.line}: {name}"))
    return times


def _first_change(element: Element, name: str, nominal: float) -> float:
    """Return the first time of a profile at which its value is not the nominal one; 0 where that is drawn at random."""
    words = element.text(name)
    path = Path(words)
    if path.is_absolute() or ".." in path.parts or not words:
        element.fail(f"{name} {words[:80]!r}: name a file below the platform's folder")
    try:
        with (element.path.parent / path).open("rb") as file:
            content = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        raise element.error(f"{name} {words[:80]!r}: {getattr(error, 'strerror', None) or error}") from None
    for number, line in enumerate(content.splitlines(), 1):
        parts = line.split()
        if not parts or parts[0][0] in "#%" or parts[0] in {"LOOPAFTER", "PERIODICITY"}:
            continue
        if parts[0] == "STOCHASTIC":
            return 0.0
        try:
            seconds, value = map(float, parts)
        except ValueError:
            element.fail(f"{name} {words[:80]!r}, line {number}: expected a time and a value")
        if not 0 <= seconds < math.inf:
            element.fail(f"{name} {words[:80]!r}, line {number}: {parts[0][:40]!r} is no time")
        if value != nominal:
            return seconds
    return math.inf
