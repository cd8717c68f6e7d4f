"""Parameters of the models, with unit and interval, and the quality of a fit. Main entry: `Parameter`."""

import math
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from commmodel.structs import InputStruct
from commmodel.values import OneLine, Value

UNITS = {
    "alpha": "s", "beta": "s/B", "R_C": "B/s", "R_N": "B/s", "R_Cb": "B/s", "R_Ci": "B/s",
    "queue_search": "s", "link_contention": "s/B", "memory_copy": "s/B", "reduction": "s/B",
    "L": "s", "o": "s", "g": "s", "G": "s/B", "G_gap": "s/B", "overlap": "s", "M": "1/s", "fall": "",
    "step": "s", "crosstalk": "s",
}  # fmt: skip
"""Base unit of each parameter, wherever it stands."""
RATES = {"B/s", "1/s"}
"""Units of rates: the larger, the faster."""
MODELS = ("postal", "max_rate", "extended", "latency_aware", "one_way", "loggp")
"""Models of a segment, in the file and in Python."""
PLOGP_COLUMNS = ("o_s", "o_r", "g")
"""Columns of a pLogP table that hold times."""


class Parameter(InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model parameter in an SI base unit, with its interval.

    An infinite rate means "not limiting": the data show no limit up to `low`.
    """

    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def is_limiting(self) -> bool:
        """False for an infinite rate."""
        return math.isfinite(self.value)


class Quality(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The quality of a fit: errors, and whether to trust it."""

    points: int
    relative_error_sum: float
    """Σ |T_model − T| / T, as in Gropp 2016, Table 2."""
    relative_error_mean: float
    """exp(mean |log T_model − log T|) − 1, of all records but those that were disturbed, as their own samples show."""
    relative_error_max: float
    """exp(max |log T_model − log T|) − 1, of the same records."""
    trusted: bool
    remarks: tuple[str, ...] = ()
    """Why not, or what to know: at a bound, too few sizes, R_N not limiting, ..."""
    information_criterion: float | None = None
    """Akaike's, corrected for few points (AICc); lower is better, on the same points only."""
    scatter: float = 0.0
    """Standard deviation of log T around log T_model, of the records that do not contradict the model: part of every
    predicted time's interval. 0 where it is not known."""
    disturbed: int = 0
    """Records that were disturbed, and are not in the mean and the maximum."""
    errors_with_disturbed: tuple[float, float] | None = None
    """Mean and maximum with them."""


class Postal(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = α + n β (Gropp 2016, Eq 2)."""

    alpha: Parameter
    beta: Parameter
    quality: Quality | None = None


class MaxRate(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = α + k n / min(R_N, k R_C) (Gropp 2016, Eq 3). R_N is absent where one number of pairs was measured."""

    alpha: Parameter
    R_C: Parameter
    R_N: Parameter | None = None
    quality: Quality | None = None
    overlap: Parameter = Parameter(0.0)
    """Of streams alone, the part of α in which bytes of other messages move, v seconds. A message takes T = α − v +
    max(v, k n / min(R_N, k R_C))."""


class Extended(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = α + k n / min(R_N, R_Cb + (k − 1) R_Ci) (Gropp 2016, Eq 4)."""

    alpha: Parameter
    R_Cb: Parameter
    R_Ci: Parameter
    R_N: Parameter
    quality: Quality | None = None


class LatencyAware(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = max(k n / R_N, α + n / R_C) (Gropp 2016, Eq 5)."""

    alpha: Parameter
    R_C: Parameter
    R_N: Parameter
    quality: Quality | None = None


class MessageRate(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Messages that a node sends in a second: α is no less than k / M_k, M_k = M (pairs / k)^fall."""

    M: Parameter
    """While `pairs` processes send."""
    pairs: Annotated[int, Meta(ge=1)] = 1
    fall: Parameter = Parameter(0.0)
    """How it falls with more of them, which it does not with 0."""
    upto: Annotated[int, Meta(ge=0)] | None = None
    """Largest message in bytes; all larger ones of the segment where it is None."""
    alpha: Annotated[float, Meta(ge=0)] = 0.0
    """Least α in seconds of several processes, before their messages reach the rate, as they share the interface."""
    scatter: Annotated[float, Meta(ge=0)] = 0.0
    """Standard deviation of log T of other numbers of processes."""

    def message_time(self, processes: Any) -> Any:
        """Return k / M_k, seconds, of a number of processes, or of each of an array.

        >>> MessageRate(Parameter(1e8), 50).message_time(25)
        2.5e-07
        """
        from commmodel.models.maxrate import message_time

        return message_time.python(processes, self.M.value, self.fall.value, self.pairs)


class LogGP(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = L + 2 o + (m − 1) G (March 2009); messages of one process begin at least max(o, g + (m − 1) G) apart."""

    L: Parameter
    o: Parameter
    g: Parameter
    G: Parameter | None = None
    """Absent where a publication gives it in a figure only."""
    quality: Quality | None = None
    G_gap: Parameter | None = None
    """Time of a byte of messages that follow one another, where it is clearly less than G. These begin at least g +
    (m − 1) G_gap apart, as several are on their way at once."""
    overlap: Parameter = Parameter(0.0)
    """Part of g in which bytes of messages that follow one another move, v seconds, where that is clear. They begin at
    least g − v + max(v, (m − 1) G_gap) apart."""
    bounded: bool = False
    """Whether o and g are only known to lie in their intervals, from latency and bandwidth."""


class PLogP(Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Parameterised LogP on one path: times at some sizes, linear between them, the last slope beyond.

    T = L + g(m) (Kielmann, Bal and Verstoep 2000). All columns have shape (sizes,), times in seconds.
    """

    L: Parameter
    sizes: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=2)]
    o_s: tuple[Annotated[float, Meta(ge=0)], ...]
    """Time of a send."""
    o_r: tuple[Annotated[float, Meta(ge=0)], ...]
    """Time of a receive of a message that is there."""
    g: tuple[Annotated[float, Meta(ge=0)], ...]
    """Least time between the begins of two messages."""
    path: str = "any"
    mode: Literal["blocking", "non-blocking"] = "blocking"
    low: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Column -> low ends of its intervals."""
    high: dict[str, tuple[float, ...]] = field(default_factory=dict)
    left_out: tuple[Annotated[int, Meta(ge=0)], ...] = ()
    """Sizes that were measured and disturbed, as their times are far above those of both neighbours."""

    def at(self, column: str, message_size: Any) -> Any:
        """Return a column's times at any sizes, an array of the same shape, extrapolated with the last slope.

        >>> table = PLogP(Parameter(1e-6), (0, 100), o_s=(1e-6, 2e-6), o_r=(1e-6, 2e-6), g=(1e-6, 3e-6))
        >>> table.at("g", [50, 200])
        array([2.e-06, 5.e-06])
        """
        import numpy as np

        requested, sizes, values = np.asarray(message_size, dtype=float), self.sizes, getattr(self, column)
        slope = max(0.0, (values[-1] - values[-2]) / (sizes[-1] - sizes[-2]))
        return np.interp(requested, sizes, values) + np.maximum(requested - sizes[-1], 0.0) * slope
