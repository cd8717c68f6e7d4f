"""Costs of MPI calls beside plain messages: one-sided operations and their like. Main entry: `CallCost`."""

from typing import Annotated, Literal

from msgspec import Meta, field

from commmodel.machine.measured_times import MeasuredTimes
from commmodel.machine.parameters import Parameter
from commmodel.structs import InputStruct
from commmodel.values import Value

CallKernel = Literal[
    "one-sided", "persistent", "matching", "threads", "start-up", "device", "device-collective", "device-copy"
]
"""Kernels of the benchmark that measure such calls."""
NUMBERS: dict[str, tuple[str, int]] = {
    "persistent": ("partitions", 1), "matching": ("entries", 0), "threads": ("threads", 1), "start-up": ("ranks", 1),
}  # fmt: skip
"""Kernel -> what its steps are, and the least number of it, with which there is no step; others have none."""
_NotNegativeCount = Annotated[int, Meta(ge=0)]


def first_number(kernel: CallKernel) -> int:
    """Return the least number of what a kernel's steps are."""
    return NUMBERS.get(kernel, ("", 0))[1]


class CallCost(Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call's time, T = α + n β + s δ + s (s + 1) κ (`commmodel.models.calls`), of n bytes and s steps."""

    kernel: CallKernel
    call: str
    """As the kernel names it, such as put or get."""
    alpha: Parameter
    path: str = "any"
    conditions: dict[str, str] = field(default_factory=dict)
    """What else it depends on, such as its synchronisation."""
    beta: Parameter | None = None
    """None where one size was measured."""
    step: Parameter | None = None
    """δ; None where one number of steps was measured."""
    crosstalk: Parameter | None = None
    """κ, of threads alone."""
    sizes: tuple[_NotNegativeCount, _NotNegativeCount] = (0, 0)
    """Smallest and largest message measured, bytes."""
    numbers: tuple[_NotNegativeCount, _NotNegativeCount] = (0, 0)
    """Smallest and largest number measured of what its steps are."""
    scatter: Annotated[float, Meta(ge=0)] = 0.0
    """Standard deviation of log T around the model."""
    times: MeasuredTimes | None = None
    """What was measured, where the line is more than 15 % off in the mean; predictions then go by it."""

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it apart from all others of a machine."""
        return (
            self.kernel,
            self.call,
            self.path,
            *(f"{name} {value}" for name, value in sorted(self.conditions.items())),
        )
