"""Whether partitioned sends gain in place of many messages, by measured times. Main entry: `partitioned_gain`."""

from msgspec import Struct

from commmodel.arguments import Count
from commmodel.machine import Machine
from commmodel.predict import Seconds
from commmodel.predict.call_costs import calls
from commmodel.signatures import checked
from commmodel.values import Value


class PartitionedGain(Value, Struct, frozen=True):
    """Times of one message of all bytes: in parts, and by a persistent request in one piece."""

    partitions: int
    """As many as there would be messages."""
    partitioned: Seconds
    persistent: Seconds

    @property
    def is_certain(self) -> bool:
        """Whether the parts cost nothing for certain, so that they gain the overhead of all messages but one."""
        high, low = self.partitioned.high, self.persistent.low
        return (self.partitioned.seconds if high is None else high) < (self.persistent.seconds if low is None else low)


@checked
def partitioned_gain(machine: Machine, volume: Count, message_size: Count, path: str | None = None) -> PartitionedGain:
    """Compare a partitioned send with a persistent request, both of all bytes.

    Parameters
    ----------
    machine : Machine
        With `calls` of the kernel ``persistent``.
    volume, message_size : int
        Bytes, ≥ 1; the partitions are as many as messages of that size would be.
    path : str, optional
        That messages take; by default the slowest that was measured.

    Raises
    ------
    MissingParameterError
        Where not both kinds of requests were measured.

    Examples
    --------
    >>> from commmodel.machine import CallCost, Parameter, Segment
    >>> costs = tuple(
    ...     CallCost("persistent", call, Parameter(alpha, "s"), beta=Parameter(1e-9, "s/B"), sizes=(8, 1 << 20))
    ...     for call, alpha in (("persistent", 1e-6), ("partitioned", 2e-6))
    ... )
    >>> gain = partitioned_gain(Machine("m", (Segment("all"),), calls=costs), 1 << 20, 1 << 16)
    >>> gain.partitions, gain.is_certain
    (16, False)
    """
    partitions = -(-volume // message_size)
    times = []
    for call, number in (("partitioned", partitions), ("persistent", 1)):
        predicted = calls(machine, "persistent", call=call, path=path, message_size=volume, number=number)
        times.append(max((row.time for row in predicted), key=lambda time: time.seconds))
    return PartitionedGain(partitions, times[0], times[1])
