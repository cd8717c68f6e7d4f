"""The hybrid model of a path: modes by message size, and contention in a node's link (Bédaride 2013, Section IV).

Main entry: `Hybrid`, of which `commmodel.simulate.from_machine` makes a network and a platform.
"""

import math
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from commmodel.errors import DamagedFileError
from commmodel.machine.parameters import Parameter
from commmodel.structs import InputStruct
from commmodel.units import format_ratio, format_size
from commmodel.values import OneLine

HYBRID_UNITS = {
    "o_s": "s", "O_s": "s/B", "o_is": "s", "O_is": "s/B", "o_r": "s", "O_r": "s/B", "L": "s", "B": "B/s",
    "contention": "1", "send_buffer": "B", "unexpected": "1", "answer_delay": "1", "answer_latency": "s",
    "link_latency": "s", "link_bandwidth": "B/s",
}  # fmt: skip
"""Base unit of each parameter of the section."""
_OF_PATH = (
    "contention",
    "send_buffer",
    "unexpected",
    "answer_delay",
    "answer_latency",
    "link_latency",
    "link_bandwidth",
)
LIKELY = 0.5
"""Confidence from which a limit is more likely there than not."""
_KINDS = ("asynchronous", "detached", "synchronous")
_Size = Annotated[int, Meta(ge=0, le=2**63 - 1)]


def answers_wait(answer_delay: Parameter | None) -> bool:
    """Whether the answer to a rendezvous waits behind the data that go the same way, by a path's `answer_delay`.

    >>> answers_wait(Parameter(0.8, "1")), answers_wait(None)
    (True, False)
    """
    return answer_delay is not None and answer_delay.value > 0.5


class Edge(InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The end of a mode: messages of at most `value` bytes."""

    value: _Size
    low: _Size | None = None
    """Ends of its interval."""
    high: _Size | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Share of the bootstrap's data sets in which there is a limit within 10 % of it."""
    found_by: Literal["threshold", "change-point", "user", "hand"] = "hand"


class Mode(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The cost of a message of k bytes in one mode."""

    kind: Literal["asynchronous", "detached", "synchronous"]
    """Asynchronous: it leaves whether or not its receive is posted. Detached: the sender goes on, the message leaves
    when its receive is posted. Synchronous: the sender waits until the transfer ends."""
    L: Parameter
    B: Parameter
    """One way takes L + k / B, and o_r + k O_r at the receiver."""
    limit: Edge | None = None
    """None: it holds for all larger messages."""
    o_s: Parameter = Parameter(0.0, "s")
    """MPI_Send to a posted receive takes o_s + k O_s; 0 where it takes as long as the transfer (synchronous)."""
    O_s: Parameter = Parameter(0.0, "s/B")
    o_r: Parameter = Parameter(0.0, "s")
    """MPI_Recv of a message that is there takes o_r + k O_r; 0 where it cannot be there before (not asynchronous)."""
    O_r: Parameter = Parameter(0.0, "s/B")
    o_is: Parameter | None = None
    """MPI_Isend alone takes o_is + k O_is; as MPI_Send where it was not measured."""
    O_is: Parameter | None = None
    relative_error: float | None = None
    """Median over the measured sizes of the difference from half a round trip."""


class Hybrid(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The hybrid model of one path."""

    modes: Annotated[tuple[Mode, ...], Meta(min_length=1)]
    path: str = "any"
    contention: Parameter | None = None
    """What a node sends and receives at once, over what it sends alone, from 1 to 2."""
    send_buffer: Parameter | None = None
    """Bytes that a socket takes at once. A synchronous send ends when no more than these are still to be transferred;
    eager messages of up to so many bytes leave a node one after the other."""
    unexpected: Parameter | None = None
    """Share of a large message that comes before its receive is posted, while its receiver is in MPI: from 0 to 1."""
    answer_delay: Parameter | None = None
    """MPI_Send to a rank that has sent a quarter of a larger message the other way, over the time of that message: from
    0 to 1. What is left of it, or more, where the answer to a rendezvous waits behind the data."""
    answer_latency: Parameter | None = None
    """Half a round trip of empty messages, as the request and the answer of a rendezvous are."""
    link_latency: Parameter | None = None
    """Latency and bandwidth of the way between two nodes as platforms have them: of these, L and B of a mode become
    factors. Where they are missing, the L of the smallest messages and the B of the largest."""
    link_bandwidth: Parameter | None = None
    remarks: tuple[str, ...] = ()

    def mode(self, message_size: float) -> Mode:
        """Return the mode of a message of so many bytes.

        >>> rate = Parameter(1e8, "B/s")
        >>> small = Mode("asynchronous", Parameter(3e-5, "s"), rate, limit=Edge(1420))
        >>> model = Hybrid((small, Mode("synchronous", Parameter(0.0, "s"), rate)))
        >>> model.mode(1420).kind, model.mode(1421).kind
        ('asynchronous', 'synchronous')
        """
        return next(
            (mode for mode in self.modes if mode.limit is None or message_size <= mode.limit.value), self.modes[-1]
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the mode of some messages is not known: limits between kinds that most resampled data sets do not have.

        >>> rate, none = Parameter(1e8, "B/s"), Parameter(0.0, "s")
        >>> first = Mode("asynchronous", none, rate, Edge(4096, 4096, 8192, 0.37, "change-point"))
        >>> (doubt,) = Hybrid((first, Mode("synchronous", none, rate))).doubts
        >>> print(doubt.partition(",")[0])
        hybrid model (any): that messages are asynchronous up to 4 KiB only
        """
        return tuple(
            f"hybrid model ({self.path}): that messages are {mode.kind} up to {format_size(mode.limit.value)} only, "
            f"then {above.kind}, is in {format_ratio(mode.limit.confidence)} of resampled data sets: times of messages "
            "of such sizes and above may be far off: run the kernel threshold, too, or draw more --random-sizes"
            for mode, above in pairwise(self.modes)
            if mode.kind != above.kind and mode.limit is not None
            and mode.limit.confidence is not None and mode.limit.confidence < LIKELY
        )  # fmt: skip

    def seconds(self, message_size: float) -> float:
        """Return the time of one message one way, from the send's begin to the receive's end."""
        mode = self.mode(message_size)
        per_byte = 1 / mode.B.value + mode.O_r.value
        return mode.L.value + mode.o_r.value + message_size * per_byte


def _check_parameter(path: Path, where: str, name: str, parameter: Parameter) -> None:
    is_rate = name in {"B", "link_bandwidth"}
    if not 0 <= parameter.value < math.inf or (is_rate and parameter.value == 0):
        least = "above 0" if is_rate else "from 0 up"
        raise DamagedFileError(path, where, f"{parameter.value} is not a finite number {least}")
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    if not low <= high:
        raise DamagedFileError(path, where, f"its interval [{low}, {high}] does not ascend")
    if name == "contention" and not 1 <= parameter.value <= 2:
        raise DamagedFileError(path, where, f"{parameter.value} does not lie between 1 and 2")
    if name in {"unexpected", "answer_delay"} and parameter.value > 1:
        raise DamagedFileError(path, where, f"{parameter.value} does not lie between 0 and 1")


def check(path: Path, models: tuple[Hybrid, ...]) -> None:
    """Raise where the numbers of the section contradict each other."""
    for index, model in enumerate(models):
        where = f"field hybrid[{index}]"
        if model.path in {other.path for other in models[:index]}:
            raise DamagedFileError(path, f"{where}.path", f"a second model of path {model.path!r}")
        for name in _OF_PATH:
            if (number := getattr(model, name)) is not None:
                _check_parameter(path, f"{where}.{name}", name, number)
        for place, mode in enumerate(model.modes):
            for name in HYBRID_UNITS:
                parameter: Any = getattr(mode, name, None)
                if parameter is not None:
                    _check_parameter(path, f"{where}.modes[{place}].{name}", name, parameter)
        limits = [math.inf if mode.limit is None else mode.limit.value for mode in model.modes]
        if any(above <= below for below, above in pairwise(limits)) or limits[-1] < math.inf:
            problem = f"limits must ascend, and only the last mode must have none: {limits}"
            raise DamagedFileError(path, f"{where}.modes", problem)
        kinds = [_KINDS.index(mode.kind) for mode in model.modes]
        if kinds != sorted(kinds):
            problem = "modes must be asynchronous, then detached, then synchronous"
            raise DamagedFileError(path, f"{where}.modes", problem)
