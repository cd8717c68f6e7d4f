"""What no machine does, and what siblings do not: times that say something else was measured. Main entry: `physics`.

No expectation of growth is needed. A message between two nodes that takes half a microsecond stayed on one; bytes that
move faster than any memory moves them did not move; and of several files of like systems one whose operation takes half
as long again as that of the others was disturbed, or is set up differently.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from commmodel.arguments import Positive
from commmodel.errors import InputError
from commmodel.results import Measurements
from commmodel.results.conditions import memory_of
from commmodel.results.configurations import Collective, Pairs, PingPong, Stream
from commmodel.results.parameters import describe
from commmodel.results.words import configuration_words
from commmodel.signatures import checked
from commmodel.statistics import TO_DEVIATION
from commmodel.units import format_quantity, format_ratio, format_time
from commmodel.values import Value

LEAST_LATENCY = 0.7e-6
"""Seconds from a process to one of another node, at least: networks of 2025 take 0.8 to 1.1 microseconds."""
MOST_RATE = 400e9
"""Bytes per second of one message, at most: beyond what a process or its accelerator reads and writes."""
_SHORT = 64
"""Bytes that take no time of their own."""
_LONG = 1 << 20
"""Bytes from which a rate is one of bytes."""
_ROUNDED = 1.01
"""Of a bandwidth as it is printed and called."""
_FEWEST = 3
"""Files of like systems of which one can be told from the others."""
_APART = 4.0
"""Standard deviations of the siblings."""
_OF_TWO = 4.0
"""Times as long as in the only sibling from which on noise is no explanation."""
_LEAST_OF_LINK = 0.25
"""Of a link's bandwidth that long messages reach, all together, where they take it: half is common with one process."""

_ANOTHER_WAY = (
    "the library uses another network or provider; look at FI_PROVIDER, UCX_TLS, OMPI_MCA_pml and the container's hooks"
)


class PhysicsDoubt(Value, Struct, frozen=True):
    """A time that cannot be what it is said to be, or that siblings do not have."""

    file: str
    kind: Literal["latency", "bytes", "sibling", "link", "slow link"]
    about: str
    """The configuration, or the operation."""
    value: float
    """Seconds, bytes per second, or times as long as in the siblings."""
    words: str
    """A sentence without its full stop."""


@checked
def physics(
    files: Mapping[str, Measurements], least: Positive = 0.25, link_bandwidth: Positive | None = None
) -> list[PhysicsDoubt]:
    """Return what is impossible in each file, and which files differ from their siblings.

    Parameters
    ----------
    files : mapping of str to Measurements
        By names that are shown. Three or more that measured the same are compared with one another; of two, the slower
        one is named from four times the other's times on.
    least : float
        Smallest share by which a sibling's times are longer or shorter that counts.
    link_bandwidth : float, optional
        Bytes per second of a node's link, one way, beyond which nothing moves between nodes; messages of 1 MiB or more
        that move less than a quarter of it took another way.

    Returns
    -------
    list of PhysicsDoubt
        Of each file and kind the clearest one, and one for each operation in which it differs from its siblings. Files
        with the same times count once.

    Raises
    ------
    InputError
        Where a number is not positive, or a link is given and no file has messages between nodes.

    Examples
    --------
    >>> from commmodel.results import Header, Launch, Library, Record
    >>> header = Header("commmodel-results", 1, "", (), Library("MPICH"), (), ())
    >>> fast = Measurements((Launch(header, (Record(PingPong(8, "between-nodes"), "s", (4.9e-7,)),)),))
    >>> physics({"efa.txt": fast})[0].words
    'pingpong, 8 B, between-nodes takes 490 ns: no network is so fast, its ranks shared a node'
    """
    doubts = [doubt for name, measurements in files.items() for doubt in _impossible(name, measurements)]
    if link_bandwidth is not None:
        rates = {name: _rates_between(measurements) for name, measurements in files.items()}
        if not any(rates.values()):
            problem = (
                "no file has ping-pongs, pairs or streams between nodes: say so of other suites by ranks, like 2/1"
            )
            raise InputError(f"`link_bandwidth`: {problem}")
        doubts += [doubt for name, values in rates.items() for doubt in _unlike_link(name, values, link_bandwidth)]
    return [*doubts, *_siblings(files, least)]


def _rates_between(measurements: Measurements) -> dict[PingPong | Pairs | Stream, float]:
    """Return the bytes that leave a node each second, of all messages between two nodes."""
    rates = {}
    for record in measurements.records:
        about = record.configuration
        if isinstance(about, PingPong | Pairs | Stream) and about.path == "between-nodes" and record.summary.median > 0:
            pairs = 1 if isinstance(about, PingPong) else about.pairs
            rates[about] = pairs * about.message_size / record.summary.median
    return rates


def _unlike_link(file: str, rates: Mapping[Any, float], link_bandwidth: float) -> Iterator[PhysicsDoubt]:
    """Yield the largest rate, if it is beyond a link's or, of long messages, far below it."""
    if rates and max(rates.values()) > _ROUNDED * link_bandwidth:
        words, rate = _clearest(rates, max)
        link = format_quantity(link_bandwidth, "B/s")
        sentence = f"{words} moves {format_quantity(rate, 'B/s')}, beyond the link's {link}: it took another way"
        yield PhysicsDoubt(file, "link", words, rate, sentence)
    long = {about: rate for about, rate in rates.items() if about.message_size >= _LONG}
    if long and max(long.values()) < _LEAST_OF_LINK * link_bandwidth:
        words, rate = _clearest(long, max)
        share = f"{format_ratio(rate / link_bandwidth)} of the link's {format_quantity(link_bandwidth, 'B/s')}"
        sentence = f"{words} moves {format_quantity(rate, 'B/s')}, {share}: {_ANOTHER_WAY}"
        yield PhysicsDoubt(file, "slow link", words, rate, sentence)


def _impossible(file: str, measurements: Measurements) -> Iterator[PhysicsDoubt]:
    """Yield the clearest latency that is too short, and the largest rate that is too high."""
    times = {
        record.configuration: record.summary.median
        for record in measurements.records
        if isinstance(record.configuration, PingPong | Pairs | Stream)
    }
    short = {
        about: seconds
        for about, seconds in times.items()
        if isinstance(about, PingPong) and about.path == "between-nodes" and about.message_size <= _SHORT
        and seconds < LEAST_LATENCY
    }  # fmt: skip
    if short:
        words, seconds = _clearest(short, min)
        sentence = f"{words} takes {format_time(seconds)}: no network is so fast, its ranks shared a node"
        yield PhysicsDoubt(file, "latency", words, seconds, sentence)
    rates = {
        about: about.message_size / seconds
        for about, seconds in times.items()
        if about.message_size >= _LONG and about.message_size / seconds > MOST_RATE
    }
    if rates:
        words, rate = _clearest(rates, max)
        sentence = f"{words} moves {format_quantity(rate, 'B/s')} a message: no memory is so fast, nothing moved"
        yield PhysicsDoubt(file, "bytes", words, rate, sentence)


def _clearest(values: Mapping[Any, float], best: Callable[[Iterable[float]], float]) -> tuple[str, float]:
    """Return the configuration with the best value, as words, and the value."""
    value = best(values.values())
    return next((configuration_words(about), value) for about, other in values.items() if other == value)


def _siblings(files: Mapping[str, Measurements], least: float) -> Iterator[PhysicsDoubt]:
    """Yield the files whose operations take longer or shorter than those of the others, by more than these differ."""
    logs: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    copies: dict[str, set[tuple[tuple[str, float], ...]]] = defaultdict(set)
    for file, measurements in files.items():
        for operation, times in _by_operation(measurements).items():
            if (content := tuple(sorted(times.items()))) not in copies[operation]:  # a copy is no sibling
                copies[operation].add(content)
                for words, seconds in times.items():
                    logs[operation][words][file] = math.log(seconds)
    for operation, rows in logs.items():
        scores = _scores(rows.values())
        if len(scores) < _FEWEST:
            yield from _slower_of_two(operation, rows.values())
            continue
        values = np.array(list(scores.values()))
        deviation = TO_DEVIATION * float(np.median(np.abs(values - np.median(values))))
        for file, score in scores.items():
            if abs(score) > max(math.log1p(least), _APART * deviation):
                factor = math.exp(score)
                sentence = f"{operation} takes {factor:.2f} times as long as in its {len(scores) - 1} siblings"
                yield PhysicsDoubt(file, "sibling", operation, factor, sentence)


def _by_operation(measurements: Measurements) -> dict[str, dict[str, float]]:
    """Return the times of each kernel or operation, and kind of memory, by configuration."""
    times: dict[str, dict[str, float]] = defaultdict(dict)
    for launch in measurements.launches:
        memory = "" if memory_of(launch.header) == "host" else " of device memory"
        for record in launch.records:
            about = record.configuration
            if isinstance(about, PingPong | Pairs | Stream | Collective) and record.summary.median > 0:
                times[describe(about)[0] + memory][configuration_words(about)] = record.summary.median
    return times


def _slower_of_two(operation: str, rows: Iterable[Mapping[str, float]]) -> Iterator[PhysicsDoubt]:
    """Yield the slower of two files, if it is slower by more than machines of one kind ever differ."""
    differences: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        differences[tuple(row)].append(list(row.values())[-1] - next(iter(row.values())))
    for files, values in differences.items():
        factor = math.exp(abs(float(np.median(values))))
        if len(files) == _FEWEST - 1 and factor >= _OF_TWO:
            slower, faster = files if np.median(values) < 0 else files[::-1]
            sentence = f"{operation} takes {factor:.2f} times as long as in {faster}: {_ANOTHER_WAY}"
            yield PhysicsDoubt(slower, "sibling", operation, factor, sentence)


def _scores(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return by how much the logarithm of each file's times differs from the median of all, over all sizes."""
    differences: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if len(row) >= _FEWEST:
            middle = float(np.median(list(row.values())))
            for file, value in row.items():
                differences[file].append(value - middle)
    return {file: float(np.median(values)) for file, values in differences.items()}
