"""Predicted times of calls beside plain messages: one-sided operations and their like. Main entry: `calls`."""

from msgspec import Struct

from commmodel.arguments import NotNegative, Whole, whole
from commmodel.errors import InputError, MissingParameterError, choice_of
from commmodel.machine import CallCost, Machine, Parameter
from commmodel.machine.call_costs import NUMBERS, CallKernel, first_number
from commmodel.models import calls as formulas
from commmodel.predict.seconds import End, Seconds, at_ends, value_at, with_scatter
from commmodel.signatures import checked
from commmodel.units import format_size
from commmodel.values import Value

_NOTHING = Parameter(0.0)


class CallPrediction(Value, Struct, frozen=True):
    """The predicted time of a call."""

    kernel: str
    """The kernel of the benchmark that measured it."""
    call: str
    path: str
    conditions: dict[str, str]
    """What else it depends on, such as its synchronisation."""
    message_size: int
    """Bytes."""
    number: int
    """Of threads, partitions, entries or ranks, by kernel; 0 where there is none."""
    time: Seconds
    model: str
    """``line``, or ``measured`` where that describes it badly and measured times are interpolated."""
    rate: float | None = None
    """Messages a second of all threads together; None of other kernels."""
    extrapolates: tuple[str, ...] = ()
    """What lies beyond what was measured, a line each."""


@checked
def calls(
    machine: Machine,
    kernel: CallKernel,
    *,
    call: str | None = None,
    path: str | None = None,
    message_size: NotNegative | None = None,
    number: Whole | None = None,
) -> tuple[CallPrediction, ...]:
    """Return the time of each call that a kernel has measured, on each path, under each condition.

    T = α + n β + s δ + s (s + 1) κ (`commmodel.models.calls`).

    Parameters
    ----------
    machine : Machine
        With `calls` of this kernel.
    kernel : str
        ``one-sided``, ``persistent``, ``matching``, ``threads``, ``start-up``, ``device``,
        ``device-collective`` or ``device-copy``.
    call, path : str, optional
        Of these alone.
    message_size : float, optional
        n, a whole number of bytes, ≥ 0; the smallest that was measured, if left out. Calls of one size keep it.
    number : int, optional
        Of queue entries, threads, partitions or ranks, by kernel, ≥ 0; the least that there can be, if left out.

    Returns
    -------
    tuple of CallPrediction
        In the order of the machine; times in seconds, with the interval of the parameters and of the scatter.

    Raises
    ------
    InputError
        Where a number is no whole one, or too small, or the kernel has none.
    MissingParameterError
        Where nothing of it was measured, naming the kernel.

    Examples
    --------
    >>> from commmodel.machine import Segment
    >>> put = CallCost("one-sided", "put", Parameter(1e-6), beta=Parameter(1.6e-10), sizes=(8, 1 << 20))
    >>> (found,) = calls(Machine("foMPI", (Segment("all"),), calls=(put,)), "one-sided", message_size=8192)
    >>> round(1e6 * found.time.seconds, 2)
    2.31
    """
    size = None if message_size is None else whole("message_size", message_size, 0)
    if number is not None and kernel not in NUMBERS:
        raise InputError(f"number is {number}: {kernel} has no number of anything")
    chosen = [cost for cost in machine.calls if cost.kernel == kernel]
    if not chosen:
        raise MissingParameterError(
            f"machine {machine.name!r} has no calls of {kernel}: measure them with python -m commmodel.bench {kernel}, "
            "then fit"
        )
    for field, word in (("call", call), ("path", path)):
        names = list(dict.fromkeys(getattr(cost, field) for cost in chosen))
        if word is not None and word not in names:
            raise MissingParameterError(
                f"machine {machine.name!r} has no {kernel} of {field} {word!r}: {choice_of(word, names)}"
            )
        chosen = [cost for cost in chosen if word in (None, getattr(cost, field))]
    return tuple(predicted_call(machine, cost, size, number) for cost in chosen)


def predicted_call(machine: Machine, cost: CallCost, size: int | None, number: int | None = None) -> CallPrediction:
    """Return the time of one call, as `calls` does."""
    least = first_number(cost.kernel)
    number = least if number is None else max(number, least)
    size = cost.sizes[0] if size is None or cost.beta is None else size

    def time(end: End) -> float:
        beta, step, crosstalk = (
            value_at(parameter or _NOTHING, end) for parameter in (cost.beta, cost.step, cost.crosstalk)
        )
        return float(formulas.time.python(size, number - least, value_at(cost.alpha, end), beta, step, crosstalk))

    parameters = [part for part in (cost.alpha, cost.beta, cost.step, cost.crosstalk) if part is not None]
    seconds = with_scatter(at_ends(time, *parameters), cost.scatter, machine.confidence)
    if cost.times is not None:
        ends = (None, None) if cost.times.low is None else (cost.times.at(size, "low"), cost.times.at(size, "high"))
        seconds = Seconds(cost.times.at(size), *ends)
    return CallPrediction(
        cost.kernel, cost.call, cost.path, cost.conditions, size, number, seconds,
        "line" if cost.times is None else "measured", number / seconds.seconds if cost.kernel == "threads" else None,
        tuple(_beyond(cost, size, number)),
    )  # fmt: skip


def _beyond(cost: CallCost, size: int, number: int) -> list[str]:
    lines = []
    if not cost.sizes[0] <= size <= cost.sizes[1]:
        smallest, largest = map(format_size, cost.sizes)
        lines.append(f"{cost.call}: {format_size(size)} is beyond what was measured, {smallest} to {largest}")
    if cost.kernel in NUMBERS and not cost.numbers[0] <= number <= cost.numbers[1]:
        name, (fewest, most) = NUMBERS[cost.kernel][0], cost.numbers
        lines.append(f"{cost.call}: {number} {name} are beyond what was measured, {fewest} to {most}")
    return lines
