"""One program on several numbers of processes: run times, speed-up, efficiency and its reasons.

Main entries: `sizes`, `SizedRuns`.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from commmodel.arguments import Count, choice
from commmodel.choices import ProblemGrowth
from commmodel.errors import InputError
from commmodel.frames import Tabular, axes_of, of_axes
from commmodel.signatures import checked
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.run_lists import RunList
from commmodel.simulate.scenario.scale import Scale
from commmodel.simulate.what_if import PredictedRun, prediction
from commmodel.simulate.workers import spread
from commmodel.values import OneLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SizedRun", "SizedRuns", "sizes"]

_AT_WORK = ("compute", "sleep", "files")
_MOVING = ("send", "receive", "transfer")


@dataclass(frozen=True)
class SizedRun(Tabular, OneLine):
    """The predicted run of a program on a number of processes, beside the one on the fewest.

    Parallel efficiency and its factors are those of the POP Centre of Excellence, from 0 to 1. The time of a run on an
    ideal network, where messages take no time, is taken to be the run time less the mean time in which ranks transfer.
    """

    prediction: PredictedRun
    speedup: float
    """Work done in a time, as a multiple of that of the first run."""
    efficiency: float
    """Speed-up divided by the multiple of processes."""

    @property
    def processes(self) -> int:
        """P."""
        return self.prediction.processes

    @property
    def seconds(self) -> float:
        """Simulated run time."""
        return self.prediction.seconds

    @property
    def transferring(self) -> float:
        """Share of the run time in which messages move, in the mean over the ranks."""
        return self._mean(_MOVING) / self.seconds if self.seconds else 0.0

    @property
    def waiting(self) -> float:
        """Share of the run time in which ranks wait while nothing moves, or are done, in the mean."""
        return self._mean(("wait", "idle")) / self.seconds if self.seconds else 0.0

    @property
    def load_balance(self) -> float | None:
        """Mean time of computing divided by the longest of any rank; None where nothing computes."""
        longest = self._longest
        return min(self._mean(_AT_WORK) / longest, 1.0) if longest else None

    @property
    def serialisation(self) -> float | None:
        """Longest time of computing divided by the run time on an ideal network; None where nothing computes."""
        longest = self._longest
        return longest / self._ideal_seconds if longest else None

    @property
    def transfer(self) -> float | None:
        """Run time on an ideal network divided by the run time; None where nothing computes."""
        return self._ideal_seconds / self.seconds if self._longest else None

    @property
    def parallel(self) -> float | None:
        """Parallel efficiency, the product of load balance, serialisation and transfer; None where nothing computes."""
        return self._mean(_AT_WORK) / self.seconds if self._longest else None

    @property
    def _longest(self) -> float:
        """Time of the rank that computes longest, no more than the run takes."""
        return min(sum(self.prediction.ranks[state].most for state in _AT_WORK), self.seconds)

    @property
    def _ideal_seconds(self) -> float:
        return max(self.seconds - self._mean(_MOVING), self._longest)

    def _mean(self, states: Sequence[str]) -> float:
        return sum(self.prediction.ranks[state].mean for state in states)

    def to_dict(self) -> dict[str, Any]:
        """Return a row of `SizedRuns`."""
        names = (
            "processes", "seconds", "speedup", "efficiency", "parallel", "load_balance", "serialisation", "transfer",
            "transferring", "waiting",
        )  # fmt: skip
        counted = {name: getattr(self.prediction, name) for name in ("messages", "joules", "price")}
        return {name: getattr(self, name) for name in names} | counted

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the run time as a point."""
        return SizedRuns([self]).plot(axes)


class SizedRuns(RunList[SizedRun]):
    """The list of runs that `sizes` returns, from the fewest processes to the most."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the numbers of processes."""
        return f"SizedRuns(P = {', '.join(str(run.processes) for run in self)})"

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the run time over the number of processes."""
        axes = axes_of(axes)
        axes.loglog([run.processes for run in self], [run.seconds for run in self], "o-", base=2)
        axes.set_xlabel("processes")
        axes.set_ylabel("time in s")
        return axes


@checked
def sizes(
    question: Callable[[int], SimulationResult],
    processes: Sequence[Count],
    *,
    scaling: ProblemGrowth = "strong",
    workers: Count = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SizedRuns:
    """Return the predicted runs of a program on several numbers of processes, the fewest first.

    Parameters
    ----------
    question : callable
        Number of processes -> result of the simulation. Other processes call it where there are several workers: it may
        be of a notebook, a lambda, or within another function.
    processes : sequence of int
        Different ones, each 1 or more.
    scaling : {"strong", "weak"}
        Whether all processes together do the same work, or each of them does.
    workers : int
        How many processes run side by side, 1 or more; with one, all is run in this process.
    executor : concurrent.futures.Executor, optional
        Runs them in place of workers, as ``mpi4py.futures.MPIPoolExecutor`` does on the hosts of a cluster.
    progress : callable, optional
        (runs that are done, runs), called after each.

    Raises
    ------
    InputError
        Where there is nothing to run, a number comes twice, or a result is of another number of processes.

    Examples
    --------
    >>> from commmodel import simulate
    >>> runs = sizes(lambda ranks: simulate.application("cg", "S", ranks, on="graphene", iterations=1), [4, 16])
    >>> for run in runs:
    ...     print(f"{run.processes}: {1e3 * run.seconds:.2f} ms, speed-up {run.speedup:.2f}")
    4: 2.83 ms, speed-up 1.00
    16: 7.65 ms, speed-up 0.37
    """
    choice("scaling", scaling, ProblemGrowth)
    counts = sorted(processes)
    if len({*counts}) < len(counts):
        raise InputError(f"processes {', '.join(map(str, counts))}: a number comes twice: name each once")
    largest_first = counts[::-1]  # as they take the longest
    runs = spread(
        partial(_sized, question), [(count,) for count in largest_first],
        workers=workers, executor=executor, progress=progress, label="sizes",
    )[::-1]  # fmt: skip
    return SizedRuns(_beside(run, runs[0], scaling) for run in runs)


def _sized(question: Callable[[int], SimulationResult], count: int) -> PredictedRun:
    run = prediction(lambda *_: question(count), f"{count} processes", Scale())
    if run.processes != count:
        raise InputError(f"question({count}) is of {run.processes} processes: simulate as many as it says")
    return run


def _beside(run: PredictedRun, first: PredictedRun, scaling: ProblemGrowth) -> SizedRun:
    """Return a run with its speed-up over the first one, as far as both come to an end."""
    growth = run.processes / first.processes
    if run.blocked or first.blocked or not run.seconds:
        return SizedRun(run, float("nan"), float("nan"))
    speedup = first.seconds / run.seconds * (growth if scaling == "weak" else 1.0)
    return SizedRun(run, speedup, speedup / growth)
