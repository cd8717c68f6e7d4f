"""Scaled places: links of other bandwidth or latency, faster cores. Main entries: `Scale`, `parse_scales`."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as with_values

from commmodel.arguments import finite
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, choice_of
from commmodel.signatures import check_fields
from commmodel.simulate.delays import DelayParameters
from commmodel.simulate.network import Network, Overhead
from commmodel.simulate.platform import Platform
from commmodel.units import parse_factors

if TYPE_CHECKING:
    from commmodel.simulate.goal import GoalSchedule

MOST_RUNS = 1000
_FACTORS = ("bandwidth", "latency", "compute", "overhead", "gap")
_EXAMPLE = "bandwidth=1,2,4,latency=0.5"


@with_attributes
@dataclass(frozen=True)
class Scale:
    """Factors of a place.

    >>> print(Scale(bandwidth=2.0, compute=4.0))
    bandwidth × 2, compute × 4
    """

    bandwidth: float = 1.0
    """Of all links, limiters and loopbacks too; of a delay model, G is divided by it."""
    latency: float = 1.0
    """Of all links; of a delay model, L."""
    compute: float = 1.0
    """Of the speed of cores, of their flop/s, and of work that is given or measured in seconds. Overheads of messages,
    and copying and combining in collectives, stay as they are."""
    overhead: float = 1.0
    """Of what processors spend on messages; of a delay model, o, O_s and O_r."""
    gap: float = 1.0
    """Of the least time between messages; of a delay model, g."""
    links: tuple[tuple[str, float], ...] = ()
    """Names of a platform's links, and a factor of the bandwidth of each, beside that of all."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name, factor in (*self.factors.items(), *self.links):
            finite(name, factor, above=0)

    @property
    def factors(self) -> dict[str, float]:
        """Name of each factor but those of single links -> the factor."""
        return {name: getattr(self, name) for name in _FACTORS}

    def __str__(self) -> str:
        """Return the factors that are not 1."""
        factors = (f"{name} × {factor:g}" for name, factor in (*self.factors.items(), *self.links) if factor != 1)
        return ", ".join(factors) or "as it is"

    def platform(self, platform: Platform) -> Platform:
        """Return a platform with its links scaled.

        >>> from commmodel.simulate.platform import flat
        >>> fast = Scale(bandwidth=4.0).platform(flat(hosts=2, bandwidth=125e6, latency=15e-6))
        >>> float(fast.capacity[0]), float(fast.latency[0])
        (500000000.0, 1.5e-05)
        """
        if self.bandwidth == self.latency == 1 and not self.links:
            return platform
        capacity, latency = platform.capacity * self.bandwidth, platform.latency * self.latency
        numbers = {name: number for number, name in enumerate(platform.link_names)} if self.links else {}
        for name, factor in self.links:
            if name not in numbers:
                raise InputError(f"platform {platform.name!r} has no link {name!r}: {choice_of(name, numbers)}")
            capacity[numbers[name]] *= factor
        return replace(platform, capacity=capacity, latency=latency, description=None)

    def delays(self, parameters: DelayParameters) -> DelayParameters:
        """Return the parameters of a delay model scaled.

        Raises
        ------
        InputError
            Where single links are scaled, which a delay model does not have.
        """
        if self.links:
            raise InputError(
                f"`links` are a platform's, and a delay model has no link {self.links[0][0]!r}: scale its bandwidth, "
                "or choose `model` fluid or hybrid", "links",
            )  # fmt: skip
        per_byte = {name: getattr(parameters, name) / self.bandwidth for name in ("G", "G_small")}
        spent = {name: getattr(parameters, name) * self.overhead for name in ("o", "O_s", "O_r")}
        return with_values(parameters, L=parameters.L * self.latency, g=parameters.g * self.gap, **per_byte, **spent)

    def network(self, network: Network) -> Network:
        """Return a model of messages on links with its overheads and gaps scaled.

        >>> from commmodel.simulate.network import Overhead, fluid
        >>> import math, msgspec
        >>> slow = msgspec.structs.replace(fluid(), send=(Overhead(math.inf, 1e-6, 2e-9),))
        >>> Scale(overhead=0.5).network(slow).send[0].constant
        5e-07
        """
        if self.overhead == self.gap == 1:
            return network
        spent = {name: _scaled(getattr(network, name), self.overhead) for name in ("send", "isend", "receive")}
        return with_values(network, message_gaps=_scaled(network.message_gaps, self.gap), **spent)

    def schedule(self, schedule: "GoalSchedule") -> "GoalSchedule":
        """Return a schedule with its computation scaled."""
        from commmodel._core.common.codes import GoalKind

        if self.compute == 1:
            return schedule
        operations = schedule.operations.copy()
        operations["value"][operations["kind"] == GoalKind.CALCULATE] /= self.compute
        return replace(schedule, operations=operations)


def _scaled(pieces: tuple[Overhead, ...], factor: float) -> tuple[Overhead, ...]:
    return tuple(Overhead(piece.limit, piece.constant * factor, piece.per_byte * factor) for piece in pieces)


def parse_scales(text: str) -> tuple[Scale, ...]:
    """Return all combinations of the factors of a text, those of the first name outermost.

    >>> [str(scale) for scale in parse_scales("bandwidth=1:4,latency=0.5")]
    ['latency × 0.5', 'bandwidth × 2, latency × 0.5', 'bandwidth × 4, latency × 0.5']
    >>> parse_scales("speed=2")
    Traceback (most recent call last):
    commmodel.errors.InputError: 'speed' cannot be scaled: choose one of bandwidth, latency, compute, overhead, gap
    """
    names = _FACTORS
    lists: dict[str, list[str]] = {}
    current: list[str] = []
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if equals:
            if name not in names:
                raise InputError(f"{name!r} cannot be scaled: {choice_of(name, names)}")
            if name in lists:
                raise InputError(f"{name} is given twice: give its factors as a list, like {_EXAMPLE}")
            current = lists[name] = []
        elif not lists:
            raise InputError(f"{part!r} names nothing to scale: write it like {_EXAMPLE}")
        current.append(value if equals else name)
    factors = {}
    for name, values in lists.items():
        try:
            factors[name] = parse_factors(",".join(values))
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    count = math.prod(map(len, factors.values()))
    if count > MOST_RUNS:
        raise InputError(f"{count} combinations: at most {MOST_RUNS} are run")
    rows = (dict[str, Any](zip(factors, values, strict=True)) for values in itertools.product(*factors.values()))
    return tuple(Scale(**row) for row in rows)
