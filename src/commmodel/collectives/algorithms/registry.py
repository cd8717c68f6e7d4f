"""The table of algorithms, which the modules beside this one fill. Main entries: `algorithm` and `build`.

A new algorithm is a function from a `Problem` to `Round`s under `register`: here in the module of its operation, or in
another program, or in a module that a distribution names as an entry point of ``commmodel.algorithms``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from commmodel.collectives.operation import SCHEDULED, ScheduledName
from commmodel.collectives.operation import operation as operation_of
from commmodel.collectives.schedule import Problem, Round, Schedule, Scheduler, flatten
from commmodel.errors import InputError, blame
from commmodel.plugins import Parts
from commmodel.signatures import checked
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

    def __call__(self, problem: Problem) -> Iterator[Round]:
        """Yield the rounds; `InputError` where the scheduler makes something else, or a rank is none."""
        title = f"algorithm {self.name} of {self.operation}"
        try:
            yield from self._checked_rounds(problem, title)
        except Exception as error:
            blame(error, f"the {title}", self.scheduler)
            raise

    def _checked_rounds(self, problem: Problem, title: str) -> Iterator[Round]:
        rounds = self.scheduler(problem)
        for round_ in rounds if isinstance(rounds, Iterable) else (rounds,):
            if not isinstance(round_, Round):
                raise InputError(f"{title} yields {round_!r}: yield Rounds, as `vector_round` and `block_round` make")
            for role, ranks in (("sender", round_.sender), ("receiver", round_.receiver)):
                if ranks.size and not 0 <= ranks.min() <= ranks.max() < problem.processes:
                    wrong = ranks[(ranks < 0) | (ranks >= problem.processes)][0]
                    raise InputError(f"{title}: {role} {wrong} of {problem.processes} processes, numbered from 0")
            yield round_


ALGORITHMS: dict[str, Parts[Algorithm]] = {
    name: Parts(f"{name} has no algorithm", "commmodel.algorithms") for name in SCHEDULED
}
"""Operation -> name -> algorithm."""


@checked
def register(
    operation: ScheduledName,
    name: str,
    *,
    needs: Mapping[str, bool] | None = None,
    all_pairs_at_once: bool = False,
    stages: tuple[Stage, ...] = (),
) -> Callable[[Scheduler], Scheduler]:
    """Return a decorator that makes a function from a `Problem` to rounds an algorithm of an operation.

    It is known everywhere by its name; the first line of its docstring is its summary.

    Parameters
    ----------
    operation, name : str
        A word of `OPERATIONS`, and the algorithm's own.
    needs, all_pairs_at_once, stages
        As of `Algorithm`.

    Raises
    ------
    InputError
        Where there is no such operation, or another module has an algorithm of this name.

    Examples
    --------
    >>> def by_the_root(problem):  # or as a decorator: @register("bcast", "by-the-root")
    ...     '''The root sends to every process.'''
    ...     return algorithm("bcast", "linear")(problem)
    >>> _ = register("bcast", "by-the-root")(by_the_root)
    >>> build("bcast", "by-the-root", Problem(8, 1024)).messages, summary("bcast", "by-the-root")
    (7, 'The root sends to every process.')
    >>> _ = ALGORITHMS["bcast"].pop("by-the-root")
    """
    algorithms = ALGORITHMS[operation_of(operation).name]

    def enter(scheduler: Scheduler) -> Scheduler:
        part = Algorithm(operation, name, scheduler, needs or {}, all_pairs_at_once, stages)
        algorithms.add(name, part, scheduler)
        return scheduler

    return enter


@checked
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
    return ALGORITHMS[operation_of(operation_name).name][name]


@checked
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


@checked
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
