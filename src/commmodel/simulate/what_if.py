"""Many scenarios side by side: predicted run times of scaled places. Main entries: `predictions`,
`PredictedRuns`.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import Count
from commmodel.errors import blame
from commmodel.frames import Tabular, axes_of, extent, of_axes
from commmodel.signatures import checked, returned
from commmodel.simulate.findings import Finding
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.run_lists import RunList
from commmodel.simulate.scenario.places import Place, Where
from commmodel.simulate.scenario.scale import Scale
from commmodel.simulate.states import IDLE, SIMULATED, STATE_NAMES
from commmodel.simulate.summary import idle_times
from commmodel.simulate.workers import spread
from commmodel.values import OneLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PredictedRun", "PredictedRuns", "RankTimes", "predictions"]

Question = Callable[[Any, Scale], SimulationResult]


class RankTimes(NamedTuple):
    """Seconds of the ranks in one state."""

    least: float
    median: float
    most: float
    mean: float


@dataclass(frozen=True)
class PredictedRun(Tabular, OneLine):
    """The predicted run time of a workload on a scaled place."""

    place: str
    scale: Scale
    model: str
    title: str
    """Of the workload."""
    processes: int
    seconds: float
    """Simulated."""
    ranks: dict[str, RankTimes]
    """Word of a state (`commmodel.simulate.states`) -> seconds of the ranks."""
    messages: int
    events: int
    wall_seconds: float
    """Of the simulation."""
    blocked: tuple[str, ...] = ()
    """Lines on a deadlock; empty where there is none."""
    notes: tuple[str, ...] = ()
    """What is to be said of the run."""
    findings: tuple[Finding, ...] = ()
    """Wrong uses of MPI, of a program that ran with checks."""
    joules: float | None = None
    """Energy of the hosts with ranks; None where the platform does not say their power."""
    price: float | None = None
    """Of the hosts with ranks; None where the platform does not say it."""

    def to_dict(self) -> dict[str, Any]:
        """Return a row of `PredictedRuns`."""
        names = ("place", "title", "model", "processes", "seconds", "messages", "events", "wall_seconds",
                 "joules", "price")  # fmt: skip
        return {name: getattr(self, name) for name in names} | self.scale.factors

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the run time as a bar."""
        return PredictedRuns([self]).plot(axes)


class PredictedRuns(RunList[PredictedRun]):
    """The list of predicted run times that `predictions` returns."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return how many runs there are, and how long they take."""
        return f"PredictedRuns({extent(np.array([run.seconds for run in self]), 's')})"

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the run times as bars."""
        axes = axes_of(axes)
        axes.barh([f"{run.place}, {run.scale}" for run in self], [run.seconds for run in self])
        axes.invert_yaxis()
        axes.set_xlabel("time in s")
        return axes


@checked
def predictions(
    question: Question,
    places: Sequence[Where | Place],
    scales: Sequence[Scale] = (Scale(),),
    *,
    workers: Count = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PredictedRuns:
    """Return the predicted run times of all places and scales, those of the first place first.

    Parameters
    ----------
    question : callable
        (place, scale) -> result of its simulation there. Other processes call it where there are several workers: it
        may be of a notebook, a lambda, or within another function.
    places : sequence of str, path, Platform, Machine, DelayParameters or Place
        What `commmodel.simulate.scenario.place` takes.
    scales : sequence of Scale
    workers : int
        How many processes run side by side, 1 or more; with one, all is run in this process.
    executor : concurrent.futures.Executor, optional
        Runs them in place of workers, as ``mpi4py.futures.MPIPoolExecutor`` does on the hosts of a cluster.
    progress : callable, optional
        (runs that are done, runs), called after each.

    Raises
    ------
    InputError
        Where there is nothing to run, or too much, or a worker was killed; and the errors of `question`.

    Examples
    --------
    >>> from commmodel import simulate
    >>> def ring(where, scale):
    ...     return simulate.exchange("ring", 65536, 16, on=where, scale=scale)
    >>> for prediction in predictions(ring, ["switch"], [Scale(), Scale(bandwidth=2.0)]):
    ...     print(f"{prediction.scale}: {1e6 * prediction.seconds:.0f} µs")
    as it is: 729 µs
    bandwidth × 2: 380 µs
    """
    results = spread(
        partial(prediction, question),
        [*product(places, scales)],
        workers=workers, executor=executor, progress=progress, label="what if",
    )  # fmt: skip
    return PredictedRuns(results)


def prediction(question: Question, where: Where | Place, scale: Scale) -> PredictedRun:
    """Return the predicted run of a question: what is small enough to be sent to another process."""
    try:
        answer = question(where, scale)
    except Exception as error:
        blame(error, f"the question about {where}", question)
        raise
    result = returned("question(place, scale)", answer, SimulationResult)
    use = None if result.blocked else result.energy
    return PredictedRun(
        result.where, scale, result.model, result.title, result.ends.size, result.seconds, _rank_times(result),
        result.messages, result.events, result.wall_seconds,
        tuple(result.deadlock_lines(result.model)) if result.blocked else (), result.notes, result.findings,
        None if use is None else use.used_joules, None if use is None else use.price,
    )  # fmt: skip


def _rank_times(result: SimulationResult) -> dict[str, RankTimes]:
    times = {STATE_NAMES[state]: _times(result.spent[:, state]) for state in SIMULATED}
    return times | {IDLE: _times(idle_times(result.spent, result.seconds))}


def _times(seconds: NDArray[np.float64]) -> RankTimes:
    return RankTimes(float(seconds.min()), float(np.median(seconds)), float(seconds.max()), float(seconds.mean()))
