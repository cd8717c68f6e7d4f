"""Predicted times of many problems in many decompositions. Main entry: `surface`."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.arguments import numbers
from commmodel.errors import InputError
from commmodel.machine import Machine, ParameterTable
from commmodel.models.compiled import compiled
from commmodel.optimize import search
from commmodel.optimize.parameters import Conditions, problem_parameters
from commmodel.optimize.problem import MODELS, check_peers, one_of, shape

__all__ = ["surface"]

Array = NDArray[np.float64]

_CODES = {"pipelined": search.PIPELINED, "tight": search.TIGHT}
_ONE, _TWO = "float64[::1]", "float64[:,::1]"
_FILL = (
    f"void(float64[:,:,:,::1], int64, int64, int64, {_ONE}, {_ONE}, {_ONE}, {_ONE}, float64, float64, {_TWO}, {_TWO}, "
    f"{_ONE}, {_ONE}, {_ONE}, {_TWO})"
)


def surface(
    volumes: ArrayLike,
    sizes: ArrayLike,
    bursts: ArrayLike,
    computations: ArrayLike,
    machine: Machine | None = None,
    *,
    pattern: str = "point-to-point",
    implementation: str = "pipelined",
    peers: int = 1,
    overhead: float | ParameterTable | None = None,
    latency: float | None = None,
    byte_time: float | ParameterTable | None = None,
    progress: float | ParameterTable | None = None,
    operation: str = "two-sided",
    direction: str = "both-ways",
    path: str | None = None,
    model: str = "bounded",
    out: Array | None = None,
) -> Array:
    """Return the time of every decomposition of every problem, in seconds.

    Parameters
    ----------
    volumes, sizes, bursts, computations : array-like
        V and S in bytes and b, all from 1 up, t_V in seconds; one dimension each.
    machine, pattern, implementation, peers, overhead, latency, byte_time, progress, operation, direction, path, model
        As in `choose`; one implementation.
    out : array, optional
        Takes the result: float64, its values one after the other in memory.

    Returns
    -------
    array
        Shape (volumes, sizes, bursts, computations). The times are those by which `choose` chooses, constraints aside.
        Messages longer than V are one of V bytes, bursts of more messages than there are one of all of them.

    Raises
    ------
    InputError
        Where an argument is wrong.
    MissingParameterError
        Where neither the machine nor the caller knows what a message costs.

    Notes
    -----
    Iancu and Strohmaier 2007, Eq 1, 5 to 7 and 9 to 11. More than 10⁸ times a second on one core where there are many
    computations, which are the innermost loop. Fresh memory takes longer than the formulas: give `out` where
    surfaces are conditions for again and again.

    Examples
    --------
    >>> times = surface([1 << 20], [32768], [8, 16], [5e-4], overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> times.shape, times[0, 0, 1, 0] < times[0, 0, 0, 0]
    ((1, 1, 2, 1), np.True_)
    """
    if implementation not in _CODES:
        raise InputError(f"there is no implementation {implementation!r}: choose one of {', '.join(_CODES)}")
    V, S, b = (_axis(name, one, 1) for name, one in (("volumes", volumes), ("sizes", sizes), ("bursts", bursts)))
    t = _axis("computations", computations, 0)
    one_of("pattern", pattern)
    one_of("model", model)
    check_peers(pattern, peers)
    shapes = [shape(pattern, int(volume), peers) for volume in V]
    own = shapes[0]
    conditions = Conditions(path, operation, direction, own.profile)
    found = problem_parameters(machine, conditions, S, b, peers, overhead, latency, byte_time, progress)
    largest = np.array([each.largest for each in shapes], dtype=np.float64)
    whole = problem_parameters(machine, conditions, largest, np.ones(1), peers, overhead, latency, byte_time, None)
    least_o = np.zeros((V.size, S.size))
    if model == "bounded":
        least_o = whole.o[0] / np.ceil(largest[:, None] / np.minimum(S, largest[:, None]))
    o, share = (np.broadcast_to(each[0], (S.size, b.size)).copy() for each in (found.o, found.progress))
    times = _taken(out, (V.size, S.size, b.size, t.size))
    compiled(search.fill, _FILL)(
        times, MODELS[model], _CODES[implementation], own.added, V / own.parts, S, b, t / own.parts, peers,
        own.repeats, o, least_o, found.L[0], found.G[0], whole.G[0],
        share,
    )  # fmt: skip
    return times


def _axis(name: str, values: Any, least: float) -> Array:
    axis = np.atleast_1d(numbers(name, values))
    if axis.ndim != 1 or not axis.size:
        raise InputError(f"{name} has shape {axis.shape}: give a row of numbers")
    if not (axis.min() >= least and np.isfinite(axis).all()):
        raise InputError(f"{name}: give finite numbers, all from {least} up")
    if least and (axis != np.floor(axis)).any():
        raise InputError(f"{name}: give whole numbers, not {axis[axis != np.floor(axis)][0]}")
    return axis


def _taken(out: Array | None, whole: tuple[int, ...]) -> Array:
    if out is None:
        return np.empty(whole)
    if not isinstance(out, np.ndarray) or out.shape != whole or out.dtype != np.float64 or not out.flags.carray:
        raise InputError(f"out: give an array of float64 of shape {whole}, its values one after the other in memory")
    return out
