"""Choices that a model makes for an application. Importing this loads neither MPI, numba nor scipy.

Main entries: `communicating_processes`, how many processes of a node should talk at once, and `choose`, in which
messages and bursts to cut a transfer so that computation hides it; `surface` gives the times of many such at once.
"""

import math

from commmodel.errors import MissingParameterError
from commmodel.machine import Machine, Parameter, Table
from commmodel.models import maxrate
from commmodel.optimize.choice import LIMITS, Choice, choose
from commmodel.optimize.problem import Options
from commmodel.optimize.robustness import Sensitivity, misdiagnosis, sensitivity
from commmodel.optimize.surfaces import surface

__all__ = [
    "LIMITS", "Choice", "Options", "Sensitivity", "Table", "choose", "communicating_processes", "misdiagnosis",
    "sensitivity", "surface",
]  # fmt: skip


def communicating_processes(machine: Machine, message_size: float, path: str | None = None) -> int:
    """Return how many processes of a node should communicate at once to fill its way out.

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
        k = R_N / R_C, or of the extended model where only that is there, 1 + (R_N − R_Cb) / R_Ci; rounded up: with
        fewer, the node could send more; with more, each only gets less. 1 where further processes add nothing. Where
        streams alone were measured, the rates are those of one direction.

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
    extended, one_way = segment.extended, segment.one_way
    knows_both_ways = segment.max_rate is not None and segment.max_rate.R_N is not None
    if extended is not None and not knows_both_ways:
        if extended.R_Ci.value == 0:
            return 1
        R_N = _limiting(machine, extended.R_N)
        count: float = maxrate.best_process_count_extended(R_N, extended.R_Cb.value, extended.R_Ci.value)
    elif one_way is not None and one_way.R_N is not None and not knows_both_ways:
        count = maxrate.best_process_count(_limiting(machine, one_way.R_N), one_way.R_C.value)
    else:
        parameters = machine.max_rate(message_size, path)
        count = maxrate.best_process_count(_limiting(machine, parameters.R_N), parameters.R_C.value)
    return math.ceil(round(count, 9))  # 4.0000000001 processes are four


def _limiting(machine: Machine, R_N: Parameter | None) -> float:
    if R_N is None or not R_N.is_limiting:
        raise MissingParameterError(
            f"machine {machine.name!r}: R_N does not limit with as many pairs as were measured, so more processes move "
            "more: measure with more ranks on a node (python -m commmodel.bench pairs)"
        )
    return R_N.value
