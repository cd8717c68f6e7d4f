"""Choices that a model makes for an application. Importing this loads neither MPI, numba nor scipy.

Main entry so far: `communicating_processes`, how many processes of a node should talk at once.
"""

import math

from commmodel.errors import MissingParameterError
from commmodel.machine import Machine
from commmodel.models import maxrate

__all__ = ["communicating_processes"]


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
        k = R_N / R_C, rounded up: with fewer, the node could send more; with more, each only gets less.

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
    parameters = machine.max_rate(message_size, path)
    if parameters.R_N is None or not parameters.R_N.is_limiting:
        raise MissingParameterError(
            f"machine {machine.name!r}: R_N does not limit with as many pairs as were measured, so more processes move "
            "more: measure with more ranks on a node (python -m commmodel.bench pairs)"
        )
    count: float = maxrate.best_process_count(parameters.R_N.value, parameters.R_C.value)
    return math.ceil(round(count, 9))  # 4.0000000001 processes are four
