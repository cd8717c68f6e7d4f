"""Many runs side by side: in this process, in processes of this host, or by an executor of a cluster.

Main entry: `spread`.
"""

import ctypes
import multiprocessing
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

import cloudpickle

from commmodel.arguments import refuse
from commmodel.errors import InputError
from commmodel.progress import ProgressLine
from commmodel.simulate.scenario.scale import MOST_RUNS

_PR_SET_PDEATHSIG = 1
_Result = TypeVar("_Result")


def spread(
    function: Callable[..., _Result],
    calls: Sequence[tuple[Any, ...]],
    *,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
    label: str = "",
) -> list[_Result]:
    """Return what a function returns for each tuple of arguments, in their order.

    Parameters
    ----------
    function : callable
        It may be of a notebook, a lambda, or within another function.
    calls : sequence of tuple
        Arguments of each call.
    workers : int
        How many processes run side by side, 1 or more; with one, all is run in this process.
    executor : concurrent.futures.Executor, optional
        In place of workers.
    progress : callable, optional
        (calls that are done, calls), called after each.
    label : str
        What the line of progress says.

    Raises
    ------
    InputError
        Where there is nothing to run, or too much, or a worker was killed; and the errors of the function.

    Examples
    --------
    >>> spread(lambda a, b: a + b, [(1, 2), (3, 4)])
    [3, 7]
    """
    if not 0 < len(calls) <= MOST_RUNS:
        raise InputError(f"{len(calls)} runs: give at least one and at most {MOST_RUNS}")
    if workers < 1:
        raise refuse("workers", workers, "give a whole number from 1 up")
    with ProgressLine(label) as line:
        tell = progress or line.count
        if executor is not None:
            sent = cloudpickle.dumps(function)
            return _gathered([executor.submit(_call, sent, *arguments) for arguments in calls], tell)
        if workers == 1 or len(calls) == 1:
            results = []
            for arguments in calls:
                results.append(function(*arguments))
                tell(len(results), len(calls))
            return results
        sent = cloudpickle.dumps(function)
        with pool(min(workers, len(calls))) as side_by_side:
            return _gathered([side_by_side.submit(_call, sent, *arguments) for arguments in calls], tell)


def _call(function: bytes, *arguments: Any) -> Any:
    return pickle.loads(function)(*arguments)  # noqa: S301  (the caller's own)


def _gathered(futures: "Sequence[Future[_Result]]", tell: Callable[[int, int], None]) -> list[_Result]:
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
    return [future.result() for future in futures]


@contextmanager
def pool(workers: int) -> Iterator[Executor]:
    """Yield processes side by side; they end with this one, and at once where it fails or is interrupted."""
    before = {process.pid for process in multiprocessing.active_children()}
    executor = ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), _begin)
    try:
        yield executor
    except BaseException:  # whatever it was, no worker goes on; it is raised again
        executor.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process.pid not in before:
                process.kill()
        raise
    finally:
        executor.shutdown()


def _begin() -> None:
    """Let a worker end with its parent; Ctrl-C and SIGTERM are for the parent."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
