"""Sensitivity of a choice to the estimated computation time. Source: Iancu 2007, Section 4.

Main entries: `sensitivity` and `misdiagnosis`.
"""

import math

import msgspec

from commmodel.choices import OverlapModel
from commmodel.docstrings import with_attributes
from commmodel.machine import Machine
from commmodel.models import overlap
from commmodel.optimize.parameters import MessageCosts
from commmodel.optimize.problem import Candidates, DecompositionSearch, TransferProblem
from commmodel.signatures import checked

_FURTHEST = 128.0
"""Factor up to which `sensitivity` looks."""
_STEP = 1.05


@with_attributes
class Sensitivity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Factors of the computation time between which the choice stays the same; inf: no limit.

    A factor of 1.2 is an error of 20 % (Iancu 2007, Table 2 A). Looked for up to 128, in steps of 5 %.
    """

    overestimate: float
    """The choice changes where the estimate is so many times the truth."""
    underestimate: float
    """The choice changes where the truth is so many times the estimate."""


@checked
def sensitivity(
    machine: Machine | MessageCosts,
    problem: TransferProblem,
    candidates: Candidates | None = None,
    *,
    model: OverlapModel = "bounded",
) -> Sensitivity:
    """Return the factors of the computation time between which the choice stays the same.

    Not to split is a choice too. With the rule ``measured`` the problem stays of the kind
    that it is.

    Parameters
    ----------
    machine, problem, candidates, model
        As of `choose`.

    Notes
    -----
    Iancu and Strohmaier 2007, Table 2 A, which gives the percentage, in steps of 10.

    Examples
    --------
    >>> network = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> found = sensitivity(network, TransferProblem(1 << 20, 500e-6))
    >>> round(found.overestimate, 2), round(found.underestimate, 2)
    (2.78, 108.95)
    """
    solver = DecompositionSearch(machine, problem, candidates, model=model)

    def chosen(factor: float) -> tuple[int, int, int]:
        result = solver.solve(factor)
        if solver.offers_whole and not solver.advice(result)[0]:
            return -1, 0, 0
        return result.implementation, result.row, result.column

    right = chosen(1.0)

    def changes(direction: int) -> float:
        inner, outer = 1.0, _STEP
        while chosen(outer**direction) == right:
            inner, outer = outer, outer * _STEP
            if inner > _FURTHEST:
                return math.inf
        for _ in range(20):
            middle = math.sqrt(inner * outer)
            inner, outer = (middle, outer) if chosen(middle**direction) == right else (inner, middle)
        return inner

    return Sensitivity(overestimate=changes(-1), underestimate=changes(1))


@checked
def misdiagnosis(
    machine: Machine | MessageCosts,
    problem: TransferProblem,
    candidates: Candidates | None = None,
    *,
    model: OverlapModel = "bounded",
) -> float:
    """Return the performance loss of the choice for a mistaken kind of problem.

    A communication-bound problem is decomposed by the formulas of a computation-bound one, or the other way round.

    Parameters
    ----------
    machine, problem, candidates, model
        As of `choose`.

    Returns
    -------
    float
        (T_wrong − T_best) / T_blocking, by the model.

    Notes
    -----
    Iancu and Strohmaier 2007, Table 2 B, which gives measured times.

    Examples
    --------
    >>> network = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> 0 <= misdiagnosis(network, TransferProblem(1 << 20, 500e-6)) < 0.1
    True
    """
    solver = DecompositionSearch(machine, problem, candidates, model=model)
    best = solver.solve()
    wrong = solver.solve(bound="computation" if solver.communicates else "communication")
    return float(overlap.performance_loss(solver.seconds(wrong), best.seconds, best.blocking_seconds))
