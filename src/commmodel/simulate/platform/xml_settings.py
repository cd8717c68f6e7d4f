"""Settings for SMPI that a platform file holds, as a `Network`.

Lists of factors are ``T:v;T:v``: v holds above T bytes, 1 up to the lowest T; lists of overheads ``T:a:b``: a + b n
above T, and those of the lowest T up to it, too. What cannot change simulated messages is left; any other setting is
refused, unless it says what holds anyway. Main entries: `network`, `check`.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import msgspec

from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate.network import SMPI, Factor, Network, Overhead
from commmodel.units import parse_number

_OLD_NAMES = {
    "network/bandwidth-factor": "smpi/bw-factor",
    "network/latency-factor": "smpi/lat-factor",
    "smpi/async-small-thres": "smpi/async-small-thresh",
    "smpi/send-is-detached-thres": "smpi/send-is-detached-thresh",
}
_CROSS_TRAFFIC = 0.05
"""Share of a flow's rate that its acknowledgements take: SMPI."""


def _number(name: str, text: str) -> float:
    try:
        return parse_number(text)
    except InputError:
        raise InputError(f"setting {name}: {text[:40]!r} is no number") from None


def _pieces(name: str, text: str, values: int) -> list[tuple[float, tuple[float, ...]]]:
    """Return thresholds in order, each with its values."""
    pieces: dict[float, tuple[float, ...]] = {}
    for part in text.split(";"):
        numbers = [_number(name, word) for word in part.split(":")]
        if not 2 <= len(numbers) <= values + 1 or numbers[0] in pieces or min(numbers[:2]) < 0:
            raise InputError(f"setting {name}: {part[:40]!r} is no piece like {'T:a:b' if values == 2 else 'T:v'}")
        pieces[numbers[0]] = (*numbers[1:], *[0.0] * (values + 1 - len(numbers)))
    return sorted(pieces.items())


def _factors(name: str, text: str) -> tuple[Factor, ...]:
    if ":" not in text:
        return (Factor(math.inf, _number(name, text)),)
    factors = tuple(Factor(*piece) for piece in _up_to_limits(_pieces(name, text, 1), 1.0))
    if any(factor.value <= 0 for factor in factors):
        raise InputError(f"setting {name}: a factor must be above 0")
    return factors


def _overheads(name: str, text: str) -> tuple[Overhead, ...]:
    return tuple(Overhead(*piece) for piece in [*_up_to_limits(_pieces(name, text, 2), 0.0)][1:])


def _up_to_limits(pieces: list[tuple[float, tuple[float, ...]]], lowest: float) -> Iterator[tuple[float, ...]]:
    """Yield values behind the limit up to which they hold, of those that hold above thresholds; the lowest first."""
    yield pieces[0][0], lowest
    for (_, values), (limit, _) in zip_longest(pieces, pieces[1:], fillvalue=(math.inf, ())):
        yield limit, *values


def _key(name: str) -> str:
    key = name.lower().replace("_", "-")
    return _OLD_NAMES.get(key, key)


def _switch(name: str, text: str) -> bool:
    if text.lower() not in {"yes", "no", "on", "off", "1", "0", "true", "false"}:
        raise InputError(f"setting {name}: {text[:40]!r} is neither yes nor no")
    return text.lower() in {"yes", "on", "1", "true"}


def _cross_traffic(name: str, text: str) -> float:
    return _CROSS_TRAFFIC if _switch(name, text) else 0.0


def _below(name: str, text: str) -> float:
    """Return the largest whole number of bytes below a threshold: -1 below 0, as not even empty messages are."""
    return max(-1.0, math.ceil(_number(name, text)) - 1.0)


_MEANING: dict[str, tuple[str, Any]] = {
    "smpi/bw-factor": ("bandwidth_factors", _factors),
    "smpi/lat-factor": ("latency_factors", _factors),
    "smpi/os": ("send", _overheads),
    "smpi/ois": ("isend", _overheads),
    "smpi/or": ("receive", _overheads),
    "smpi/async-small-thresh": ("eager_limit", _below),
    "smpi/send-is-detached-thresh": ("detached_limit", _below),
    "network/tcp-gamma": ("window", _number),
    "network/weight-s": ("capacity_weight", _number),
    "network/crosstraffic": ("cross_traffic", _cross_traffic),
}


_LEFT = (
    "contexts/", "debug/", "disk/", "exception/", "model-check/", "plugin", "storage/", "tracing", "vm/", "viva/",
    "path", "help", "smpi/keep-temps", "smpi/tmpdir", "smpi/privatization", "smpi/shared-malloc",
    "smpi/auto-shared-malloc", "smpi/display-", "smpi/list-leaks", "smpi/pedantic", "smpi/errors-are-fatal",
    "smpi/papi-events", "smpi/trace-call-", "smpi/replay", "smpi/host-speed", "smpi/cpu-threshold", "smpi/buffering",
    "maxmin/precision", "surf/precision", "precision/", "network/optim", "network/maxmin-selective-update",
    "cpu/optim", "cpu/maxmin-selective-update",
)  # fmt: skip
"""Beginnings of settings that change no simulated message: of tracing, memory, other resources, exactness."""
_HOLDS_ANYWAY = {
    "network/model": {"smpi"},
    "host/model": {"default", "compound"},
    "cpu/model": {"cas01"},
    "network/loopback-bw": {"10000000000"},
    "network/loopback-lat": {"0"},
    "network/sender-gap": {"0"},
    "network/coordinates": {"yes", "no"},
    "smpi/coll-selector": {"default"},
    "smpi/init": {"0"},
    "smpi/finalization-barrier": {"0", "no", "off", "false"},
    "smpi/barrier-finalization": {"0", "no", "off", "false"},
    "smpi/grow-injected-times": {"1", "yes", "on", "true"},
}
_MENDS = {"smpi/coll-selector": "say --selector smpi-ompi, smpi-mpich and the like"}
_COMPUTATION = "smpi/simulate-computation"


@checked
def check(name: str, text: str) -> None:
    """Raise where a setting of a platform file would change a simulation and is not known here.

    Parameters
    ----------
    name, text : str
        The setting and its value.

    Raises
    ------
    InputError
        Naming it.

    Examples
    --------
    >>> check("smpi/os", "0:1e-6:2e-9"); check("tracing/filename", "t.paje")
    >>> check("host/model", "ptask_L07")
    Traceback (most recent call last):
    commmodel.errors.InputError: setting host/model: 'ptask_L07' is not simulated: take it out
    """
    key = _key(name)
    if key in _MEANING or key.startswith(_LEFT) or text.lower() in _HOLDS_ANYWAY.get(key, ()):
        return
    if key == _COMPUTATION:
        _switch(name, text)
        return
    mend = f" and {_MENDS[key]}" if key in _MENDS else ""
    raise InputError(f"setting {name}: {text[:40]!r} is not simulated: take it out{mend}")


def computes(properties: Mapping[str, str]) -> bool:
    """Whether a platform file lets the computation of programs that run take time.

    >>> computes({"smpi/simulate-computation": "no"})
    False
    """
    return all(_switch(name, text) for name, text in properties.items() if _key(name) == _COMPUTATION)


def network(properties: Mapping[str, str], base: Network = SMPI) -> Network:
    """Return a network model with what a platform file sets.

    Parameters
    ----------
    properties : mapping of str to str
        What `commmodel.simulate.platform.read_xml` returns beside the platform. Other settings than these are left:
        ``smpi/bw-factor``, ``smpi/lat-factor``, ``smpi/os``, ``smpi/or``, ``smpi/ois``, ``smpi/async-small-thresh``,
        ``smpi/send-is-detached-thresh``, ``network/TCP-gamma``, ``network/weight-S``, ``network/crosstraffic``, and
        the older names of them.
    base : Network
        What holds where nothing is set.

    Raises
    ------
    InputError
        Where a setting's value cannot be read.

    Examples
    --------
    >>> network({"smpi/os": "0:1e-6:2e-9", "network/crosstraffic": "no"}).send[0].per_byte
    2e-09
    """
    changes: dict[str, Any] = {}
    for name, text in properties.items():
        key = _key(name)
        if key in _MEANING:
            field, meaning = _MEANING[key]
            changes[field] = meaning(name, text)
            if field in {"window", "capacity_weight"} and changes[field] < 0:
                raise InputError(f"setting {name}: {text!r} must not be negative")
    return msgspec.structs.replace(base, **changes) if changes else base
