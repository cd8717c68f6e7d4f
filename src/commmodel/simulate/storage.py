"""The storage that ranks' files are on: what reading and writing takes. Main entries: `Storage`, `parse_storage`."""

from dataclasses import dataclass

from commmodel.arguments import finite
from commmodel.errors import InputError, choice_of
from commmodel.units import parse_rate, parse_time
from commmodel.values import Value


@dataclass(frozen=True)
class Storage(Value):
    """A file system that all hosts share.

    Each operation takes the latency; then its bytes share the bandwidth with those of all others that go on, fairly.
    """

    bandwidth: float
    """Bytes per second, of all hosts together."""
    latency: float = 0.0
    """Seconds of an operation, which reads or writes a contiguous part of a file, opens, closes or deletes one."""
    client: float | None = None
    """Bytes per second that one host has at most; None for all of the bandwidth."""

    def __post_init__(self) -> None:
        finite("bandwidth", self.bandwidth, above=0)
        finite("latency", self.latency, 0)
        if self.client is not None:
            finite("client", self.client, above=0)


_PARSERS = {"bandwidth": parse_rate, "latency": parse_time, "client": parse_rate}


def parse_storage(text: str) -> Storage:
    """Return a storage from text.

    >>> parse_storage("bandwidth=10GB/s,latency=100us")
    Storage(bandwidth=10000000000.0, latency=0.0001, client=None)
    """
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in _PARSERS:
            raise InputError(f"{part!r} says nothing of a storage: {choice_of(part, tuple(_PARSERS))}")
        if name in values:
            raise InputError(f"{name} is given twice")
        try:
            values[name] = _PARSERS[name](value)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    if "bandwidth" not in values:
        raise InputError("bandwidth is missing: say it like bandwidth=10GB/s,latency=100us")
    return Storage(**values)
