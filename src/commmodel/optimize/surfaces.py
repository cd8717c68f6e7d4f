"""Predicted times of many problems in many decompositions. Main entry: `surface`."""

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

from commmodel.arguments import Count, numbers
from commmodel.arrays import Array
from commmodel.choices import Implementation, OverlapModel
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.machine import Machine
from commmodel.optimize import search
from commmodel.optimize.parameters import MessageCosts, problem_parameters
from commmodel.optimize.problem import IMPLEMENTATIONS, MODELS, check_peers, shape
from commmodel.results.configurations import Pattern
from commmodel.signatures import checked


@with_attributes
class SurfaceAxes(NamedTuple):
    """Axes of a surface of times: array-likes of one dimension each."""

    volumes: ArrayLike
    """V in bytes, from 1 up, as sizes and bursts."""
    sizes: ArrayLike
    """S in bytes."""
    bursts: ArrayLike
    """b."""
    computations: ArrayLike
    """t_V in seconds."""


@checked
def surface(
    machine: Machine | MessageCosts,
    axes: SurfaceAxes,
    *,
    pattern: Pattern = "point-to-point",
    implementation: Implementation = "pipelined",
    peers: Count = 1,
    model: OverlapModel = "bounded",
    out: Array | None = None,
) -> Array:
    """Return the time of every decomposition of every problem, in seconds.

    Parameters
    ----------
    machine : Machine or MessageCosts
        As in `choose`.
    axes : SurfaceAxes
        Volumes, sizes, bursts and computations.
    pattern, peers, implementation, model
        As in `TransferProblem`, `Candidates` and `choose`; one implementation.
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
    >>> network = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> times = surface(network, SurfaceAxes([1 << 20], [32768], [8, 16], [5e-4]))
    >>> times.shape, times[0, 0, 1, 0] < times[0, 0, 0, 0]
    ((1, 1, 2, 1), np.True_)
    """
    costs = MessageCosts.of(machine)
    V, S, b, t = (_axis(name, axis, int(name != "computations")) for name, axis in SurfaceAxes(*axes)._asdict().items())
    check_peers(pattern, peers)
    shapes = [shape(pattern, int(volume), peers) for volume in V]
    first = shapes[0]
    parameters = problem_parameters(costs, first.profile, S, b, peers)
    largest = np.array([volume_shape.largest for volume_shape in shapes], dtype=np.float64)
    whole = problem_parameters(replace(costs, progress=None), first.profile, largest, np.ones(1), peers)
    least_o = np.zeros((V.size, S.size))
    if model == "bounded":
        least_o = whole.o[0] / np.ceil(largest[:, None] / np.minimum(S, largest[:, None]))
    o, share = (np.broadcast_to(values[0], (S.size, b.size)).copy() for values in (parameters.o, parameters.progress))
    times = _output(out, (V.size, S.size, b.size, t.size))
    search.fill(
        times,
        search.Method(
            MODELS[model],
            IMPLEMENTATIONS.index(implementation),
            search.EITHER,
            first.added,
            float(peers),
            first.repeats,
        ),
        search.SurfaceGrid(
            V / first.parts, S, b, t / first.parts, o, least_o, parameters.L[0], parameters.G[0], whole.G[0], share
        ),
    )
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


def _output(out: Array | None, shape: tuple[int, ...]) -> Array:
    if out is None:
        return np.empty(shape)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != np.float64 or not out.flags.carray:
        raise InputError(f"out: give an array of float64 of shape {shape}, its values one after the other in memory")
    return out
