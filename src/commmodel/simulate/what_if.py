"""Many scenarios side by side: predicted run times of scaled places. Main entries: `predictions`,
`PredictedRuns`.
"""

import ctypes
import multiprocessing
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, overload

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import Count, refuse
from commmodel.errors import InputError, blame
from commmodel.frames import Tabular, axes_of, extent, of_axes
from commmodel.progress import ProgressLine
from commmodel.signatures import checked, returned
from commmodel.simulate.findings import Finding
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.scenario.places import Place, Where
from commmodel.simulate.scenario.scale import MOST_RUNS, Scale
from commmodel.simulate.states import IDLE, SIMULATED, STATE_NAMES
from commmodel.simulate.summary import idle_times
from commmodel.values import OneLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PredictedRun", "PredictedRuns", "RankTimes", "predictions"]

Question = Callable[[Any, Scale], SimulationResult]
_PR_SET_PDEATHSIG = 1


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

    def to_dict(self) -> dict[str, Any]:
        """Return a row of `PredictedRuns`."""
        names = ("place", "title", "model", "processes", "seconds", "messages", "events", "wall_seconds")
        return {name: getattr(self, name) for name in names} | asdict(self.scale)

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the run time as a bar."""
        return PredictedRuns([self]).plot(axes)


class PredictedRuns(Tabular, list[PredictedRun]):
    """The list of predicted run times that `predictions` returns."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> PredictedRun: ...
    @overload
    def __getitem__(self, index: "slice[Any, Any, Any]") -> "PredictedRuns": ...
    def __getitem__(self, index: Any) -> Any:
        """Return a run, or of a slice some of them, which are such a list, too."""
        runs = super().__getitem__(index)
        return PredictedRuns(runs) if isinstance(index, slice) else runs

    def __repr__(self) -> str:
        """Return how many runs there are, and how long they take."""
        return f"PredictedRuns({extent(np.array([run.seconds for run in self]), 's')})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each run: its place, title, model, what was counted, and the factors of its scale."""
        rows = [run.to_dict() for run in self]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}

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
    runs = [*product(places, scales)]
    if not 0 < len(runs) <= MOST_RUNS:
        raise InputError(f"{len(runs)} runs: give at least one and at most {MOST_RUNS}")
    if workers < 1:
        raise refuse("workers", workers, "give a whole number from 1 up")
    sent = cloudpickle.dumps(question)
    with ProgressLine("what if") as line:
        tell = progress or line.count
        if executor is not None:
            return _gathered([executor.submit(_prediction_of, sent, *run) for run in runs], tell)
        if workers == 1 or len(runs) == 1:
            results = PredictedRuns()
            for run in runs:
                results.append(_prediction(question, *run))
                tell(len(results), len(runs))
            return results
        with _pool(min(workers, len(runs))) as pool:
            return _gathered([pool.submit(_prediction_of, sent, *run) for run in runs], tell)


def _gathered(futures: "Sequence[Future[PredictedRun]]", tell: Callable[[int, int], None]) -> PredictedRuns:
    """Return the results in their order; raise the first error, and begin no more then."""
    try:
        for count, future in enumerate(as_completed(futures)):
            future.result()
            tell(count + 1, len(futures))
    except BrokenExecutor:
        problem = "`workers`: a process was killed, as where memory is full: run fewer side by side"
        raise InputError(problem) from None
    finally:
        for future in futures:
            future.cancel()
    return PredictedRuns(future.result() for future in futures)


@contextmanager
def _pool(workers: int) -> Iterator[Executor]:
    """Yield processes side by side; they end with this one, and at once where it fails or is interrupted."""
    before = {process.pid for process in multiprocessing.active_children()}
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), _begin)
    try:
        yield pool
    except BaseException:  # whatever it was, no worker goes on; it is raised again
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process.pid not in before:
                process.kill()
        raise
    finally:
        pool.shutdown()


def _begin() -> None:
    """Let a worker end with its parent; Ctrl-C and SIGTERM are for the parent."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prediction_of(question: bytes, where: Where | Place, scale: Scale) -> PredictedRun:
    return _prediction(pickle.loads(question), where, scale)  # noqa: S301  (the caller's own)


def _prediction(question: Question, where: Where | Place, scale: Scale) -> PredictedRun:
    """Run a question; return what is small enough to be sent to another process."""
    try:
        answer = question(where, scale)
    except Exception as error:
        blame(error, f"the question about {where}", question)
        raise
    result = returned("question(place, scale)", answer, SimulationResult)
    return PredictedRun(
        result.where, scale, result.model, result.title, result.ends.size, result.seconds, _rank_times(result),
        result.messages, result.events, result.wall_seconds,
        tuple(result.deadlock_lines(result.model)) if result.blocked else (), result.notes, result.findings,
    )  # fmt: skip


def _rank_times(result: SimulationResult) -> dict[str, RankTimes]:
    times = {STATE_NAMES[state]: _times(result.spent[:, state]) for state in SIMULATED}
    return times | {IDLE: _times(idle_times(result.spent, result.seconds))}


def _times(seconds: NDArray[np.float64]) -> RankTimes:
    return RankTimes(float(seconds.min()), float(np.median(seconds)), float(seconds.max()), float(seconds.mean()))
