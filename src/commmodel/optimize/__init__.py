"""Optimisation: message size, bursts and processes that a model recommends. Loads neither MPI, numba nor scipy.

Main entries: `communicating_processes`, how many processes of a node should send at once, and `choose`, into which
messages and bursts to split a transfer so that computation hides it; `surface` gives the times of many decompositions
at once; `how_to_send`, how to send an array or an object with mpi4py. All except the first are loaded at their first
use.
"""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from commmodel.arguments import NotNegative
from commmodel.errors import MissingParameterError
from commmodel.lazy import attributes
from commmodel.machine import (
    Extended,
    LatencyAware,
    Machine,
    MaxRate,
    MeasuredTimes,
    Parameter,
    Postal,
    Segment,
    choose_model,
)
from commmodel.machine.model_choice import seconds
from commmodel.machine.rates import message_time
from commmodel.models import maxrate
from commmodel.signatures import checked

if TYPE_CHECKING:
    from commmodel.optimize.choice import LIMITS, Choice, Choices, RejectedCandidate, choose, ranking
    from commmodel.optimize.parameters import MessageCosts
    from commmodel.optimize.partitions import PartitionedGain, partitioned_gain
    from commmodel.optimize.problem import Candidates, TransferProblem, TransferProblems
    from commmodel.optimize.robustness import Sensitivity, misdiagnosis, sensitivity
    from commmodel.optimize.sending import PickledObject, PieceLayout, SendAdvice, WayTime, how_to_send
    from commmodel.optimize.surfaces import SurfaceAxes, surface
    from commmodel.optimize.unequal import PeerTransfer, choose_exchange
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "LIMITS", "Candidates", "Choice", "Choices", "MessageCosts", "PartitionedGain", "PeerTransfer", "PickledObject",
    "PieceLayout", "RejectedCandidate", "SendAdvice", "Sensitivity", "SurfaceAxes", "TransferProblem",
    "TransferProblems", "WayTime", "choose", "choose_exchange", "communicating_processes", "how_to_send",
    "misdiagnosis", "partitioned_gain", "ranking", "sensitivity", "surface",
]  # fmt: skip

_ALL_BUT = 0.95
"""Share of the highest rate that is as good as all of it."""
_MOST_SENDERS = 256
"""Processes of a node that are tried where its message rate limits."""


@checked
def communicating_processes(machine: Machine, message_size: NotNegative, path: str | None = None) -> int:
    """Return how many processes of a node should communicate at once to saturate its bandwidth.

    Parameters
    ----------
    machine : Machine
        With max-rate parameters for the message size.
    message_size : float
        Bytes of each message, ≥ 0.
    path : str, optional
        ``between-nodes`` where the machine has it and nothing else is said.

    Returns
    -------
    int
        k = R_N / R_C, or of the extended model 1 + (R_N − R_Cb) / R_Ci, of the model that speaks for the most
        processes that were measured (`commmodel.machine.choose_model`); rounded up: with fewer, the node could send
        more; with more, each only gets less. 1 where further processes add nothing. Where no model describes what was
        measured, or the node's message rate is known, the fewest processes that move 95 % of the most that any number
        does. Where streams alone were
        measured, the rates are those of one direction.

    Raises
    ------
    MissingParameterError
        Where R_N was not measured, or does not limit with as many pairs as were measured.

    Notes
    -----
    Gropp, Olson and Samfass 2016, Section 5.

    Examples
    --------
    >>> from commmodel.machine import MaxRate, Parameter, Segment
    >>> rates = MaxRate(Parameter(4e-6, "s"), Parameter(3.76e9, "B/s"), Parameter(6.61e9, "B/s"))
    >>> communicating_processes(Machine("m", (Segment("all", max_rate=rates),)), 1 << 20)
    2
    """
    segment = machine.segment(message_size, path)
    most = max((measured.pairs for measured in segment.measured), default=2)
    if (rate := segment.message_rate_of(message_size)) is not None:
        return _filling(segment, message_size, range(1, max(rate.pairs, _MOST_SENDERS) + 1))
    match choose_model(segment, max(most, 2), message_size).model:
        case None:
            machine.max_rate(message_size, path)  # raises: nothing is known of several
            raise AssertionError
        case MeasuredTimes():
            counts = [measured.pairs for measured in segment.measured]
            if (filling := _filling(segment, message_size, counts)) == max(counts):
                _limiting(machine, None)
            return filling
        case Postal():
            count = float(_limiting(machine, None))
        case Extended(R_Ci=Parameter(value=0.0)):
            return 1
        case Extended(R_N=R_N, R_Cb=first, R_Ci=further):
            count = maxrate.best_process_count_extended(_limiting(machine, R_N), first.value, further.value)
        case MaxRate(R_N=R_N, R_C=R_C) | LatencyAware(R_N=R_N, R_C=R_C):
            count = maxrate.best_process_count(_limiting(machine, R_N), R_C.value)
    return math.ceil(round(count, 9))  # 4.0000000001 processes are four


def _filling(segment: Segment, message_size: float, counts: Iterable[int]) -> int:
    """Return the smallest of some numbers of processes with nearly the highest total rate."""
    rates = {}
    for pairs in counts:
        model = choose_model(segment, pairs, message_size).model
        if model is not None:
            time = seconds(model, message_size, pairs, message_time(segment, message_size, pairs))
            rates[pairs] = pairs / time if time > 0 else 0.0
    highest = max(rates.values())
    return min(pairs for pairs, rate in rates.items() if rate >= _ALL_BUT * highest)


def _limiting(machine: Machine, R_N: Parameter | None) -> float:
    if R_N is None or not R_N.is_limiting:
        raise MissingParameterError(
            f"machine {machine.name!r}: R_N does not limit with as many pairs as were measured, so more processes move "
            "more: measure with more ranks on a node (python -m commmodel.bench pairs)"
        )
    return R_N.value
