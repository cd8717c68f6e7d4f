"""Sensitivity of a choice to the estimated computation time. Source: Iancu 2007, Section 4.

Main entries: `sensitivity` and `misdiagnosis`.
"""

import math
from collections.abc import Callable
from typing import Unpack

import msgspec

from commmodel.machine import Machine
from commmodel.models import overlap
from commmodel.optimize.problem import ProblemOptions, TransferProblem

__all__ = ["Sensitivity", "misdiagnosis", "sensitivity"]

_FURTHEST = 128.0
"""Factor up to which `sensitivity` looks."""
_STEP = 1.05


class Sensitivity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Factors of the computation time between which the choice stays the same; inf: no limit.

    A factor of 1.2 is an error of 20 % (Iancu 2007, Table 2 A). Looked for up to 128, in steps of 5 %.
    """

    overestimate: float
    """The choice changes where the estimate is so many times the truth."""
    underestimate: float
    """The choice changes where the truth is so many times the estimate."""


def sensitivity(
    volume: int,
    computation: float | Callable[[int], float],
    machine: Machine | None = None,
    **options: Unpack[ProblemOptions],
) -> Sensitivity:
    """Return the factors of the computation time between which the choice stays the same.

    Arguments as in `choose`; not to cut is a choice too. With the rule ``measured`` the problem stays of the kind that
    it is.

    Notes
    -----
    Iancu and Strohmaier 2007, Table 2 A, which gives the percentage, in steps of 10.

    Examples
    --------
    >>> found = sensitivity(1 << 20, 500e-6, overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> round(found.overestimate, 2), round(found.underestimate, 2)
    (2.78, 108.95)
    """
    problem = TransferProblem(volume, computation, machine, options)

    def chosen(factor: float) -> tuple[int, int, int]:
        found = problem.solve(factor)
        if problem.offers_whole and not problem.advice(found)[0]:
            return -1, 0, 0
        return found.implementation, found.row, found.column

    right = chosen(1.0)

    def changes(direction: int) -> float:
        same, other = 1.0, _STEP
        while chosen(other**direction) == right:
            same, other = other, other * _STEP
            if same > _FURTHEST:
                return math.inf
        for _ in range(20):
            middle = math.sqrt(same * other)
            same, other = (middle, other) if chosen(middle**direction) == right else (same, middle)
        return same

    return Sensitivity(overestimate=changes(-1), underestimate=changes(1))


def misdiagnosis(
    volume: int,
    computation: float | Callable[[int], float],
    machine: Machine | None = None,
    **options: Unpack[ProblemOptions],
) -> float:
    """Return the performance loss of the choice for a mistaken kind of problem.

    A communication-bound problem is decomposed by the formulas of a computation-bound one, or the other way round.
    Arguments as in `choose`.

    Returns
    -------
    float
        (T_wrong − T_best) / T_blocking, by the model.

    Notes
    -----
    Iancu and Strohmaier 2007, Table 2 B, which gives measured times.

    Examples
    --------
    >>> 0 <= misdiagnosis(1 << 20, 500e-6, overhead=2e-6, latency=10e-6, byte_time=1 / 900e6) < 0.1
    True
    """
    problem = TransferProblem(volume, computation, machine, options)
    best = problem.solve()
    wrong = problem.solve(bound="computation" if problem.communicates else "communication")
    return float(overlap.performance_loss(problem.seconds(wrong), best.seconds, best.blocking_seconds))
