"""The table of algorithms, which the modules beside this one fill. Main entries: `algorithm` and `build`.

A new algorithm is a function from a `Problem` to `Round`s under `register` in the module of its operation: that is all.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from commmodel.collectives.operation import SCHEDULED, ScheduledName, operation
from commmodel.collectives.schedule import Problem, Round, Schedule, Scheduler, flatten
from commmodel.errors import InputError, choice_of
from commmodel.values import Value


class Stage(NamedTuple):
    """An operation within an algorithm in two levels."""

    operation: ScheduledName
    level: Literal["within", "between"]
    """Among the processes of each node, or among one process of each (or of each place on the nodes)."""
    message_size: int | None = None
    """Bytes where these are not what the size of the whole operation makes them, as of addresses."""


@dataclass(frozen=True)
class Algorithm(Value):
    """An algorithm of a collective operation; called with a `Problem`, it returns its rounds."""

    operation: ScheduledName
    name: str
    scheduler: Scheduler
    """The function that makes the rounds."""
    needs: Mapping[str, bool] = field(default_factory=dict)
    """Conditions on the number of processes (``power_of_two``, ``even``) under which libraries use it, those of a
    selector's rule for it."""
    all_pairs_at_once: bool = False
    """Whether its first round has P (P − 1) messages, too many to build for large P."""
    stages: tuple["Stage", ...] = ()
    """Of an algorithm in two levels, the operations that it consists of, one after the other; else empty."""

    def __call__(self, problem: Problem) -> Iterable[Round]:
        """Return the rounds."""
        return self.scheduler(problem)


ALGORITHMS: dict[str, dict[str, Algorithm]] = {name: {} for name in SCHEDULED}
"""Operation -> name -> algorithm."""


def register(
    operation: ScheduledName,
    name: str,
    *,
    needs: Mapping[str, bool] | None = None,
    all_pairs_at_once: bool = False,
    stages: tuple[Stage, ...] = (),
) -> Callable[[Scheduler], Scheduler]:
    """Enter the function below into `ALGORITHMS`; its docstring's first line is the summary in the documentation."""

    def enter(scheduler: Scheduler) -> Scheduler:
        ALGORITHMS[operation][name] = Algorithm(operation, name, scheduler, needs or {}, all_pairs_at_once, stages)
        return scheduler

    return enter


def algorithm(operation_name: str, name: str) -> Algorithm:
    """Return an algorithm by its operation's name and its own.

    Parameters
    ----------
    operation_name, name : str
        Words of `OPERATIONS` and, for the operation, of `ALGORITHMS`.

    Raises
    ------
    InputError
        Naming the algorithms that exist.
    """
    algorithms = ALGORITHMS[operation(operation_name).name]
    if name not in algorithms:
        raise InputError(f"{operation_name} has no algorithm {name!r}: {choice_of(name, algorithms)}")
    return algorithms[name]


def build(operation_name: str, name: str, problem: Problem) -> Schedule:
    """Return the schedule of an algorithm.

    Parameters
    ----------
    operation_name, name : str
        As of `algorithm`.

    Examples
    --------
    >>> build("barrier", "dissemination", Problem(8)).messages
    24
    """
    return flatten(problem.processes, algorithm(operation_name, name)(problem))


def summary(operation_name: str, name: str) -> str:
    """Return one line on what an algorithm does, with its source.

    Parameters
    ----------
    operation_name, name : str
        As of `algorithm`.

    Examples
    --------
    >>> summary("barrier", "dissemination")
    'In round i process r notifies r + 2^i, for ⌈log₂P⌉ rounds (Hensgen, Finkel and Manber 1988).'
    """
    return (algorithm(operation_name, name).scheduler.__doc__ or "").partition("\n")[0]
