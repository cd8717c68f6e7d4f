"""Message size and burst that hide most of a transfer behind computation. Source: Iancu and Strohmaier 2007.

Every decomposition of a grid is evaluated by the formulas of `commmodel.models.overlap`, with the overhead of both
ends, o = o_s + o_r, and the gap between messages left out, as in the paper. What the equations leave open:

- A decomposition is communication bound where the transfer, with its own G_S, is longer than computation and the
  overhead of all messages (Eq 2, with G_S for G_V), and computation bound where it is shorter than the computation.
  Between, overhead is what is longest, and both formulas bound the time from below: the larger holds.
- Where S does not divide V, the last message is shorter, and so is the last burst. Messages and bursts are counted
  whole, N = ⌈V / S⌉ and n_b = ⌈N / b⌉, and the formulas see the mean message V / N and the mean burst N / n_b: bytes,
  messages, bursts and computation are all there. o, G and the constraints are those of a full message and burst.
- Of equally fast decompositions: the one of fewest messages, then of the longest burst.

The model ``paper`` is that. In the model ``bounded`` no time is below what one processor and one port need for the
messages in their order, nor is a byte faster in a smaller message, and where the gain is below its error the answer is
not to split.

Main entries: `choose` and `ranking`.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import broadcast
from commmodel.choices import Implementation, OverlapModel
from commmodel.docstrings import with_attributes
from commmodel.frames import Tabular, bars, columns, draw_over, extent, of_axes
from commmodel.machine import Machine
from commmodel.models import overlap
from commmodel.optimize import search
from commmodel.optimize.parameters import MessageCosts
from commmodel.optimize.problem import (
    IMPLEMENTATIONS,
    Candidates,
    DecompositionSearch,
    TransferProblem,
    TransferProblems,
)
from commmodel.optimize.search import SearchResult
from commmodel.predict.extrapolation import collective_reach
from commmodel.predict.seconds import Seconds
from commmodel.progress import ProgressLine
from commmodel.results.configurations import Pattern
from commmodel.signatures import checked
from commmodel.units import format_size
from commmodel.values import OneLine, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIMITS = {
    "initiation": "the overhead of all messages must fit into what the transfer takes longer than computation (Eq 2)",
    "burst-overhead": "the first message of a burst must hide the overhead of the others (Eq 3)",
    "queue-depth": "a burst must be shorter than the network's queue (Eq 8)",
    "outstanding-volume": "a burst's bytes must be at most those that may be under way (Section 3.1)",
    "independent-progress": "only a share of a transfer goes on while nobody calls MPI",
}
"""Name of a constraint -> what it asks for; in the order of their bits in `commmodel.optimize.search`."""


@with_attributes
class RejectedCandidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fastest decomposition by the model, rejected as its gain is not above the model's error."""

    message_size: int
    burst: int
    seconds: float


class Choice(Tabular, OneLine, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decomposition and its predicted times; ``message_size`` is S in bytes, times are in seconds."""

    message_size: int
    """S, bytes of a message; the last one may be shorter."""
    burst: int
    """b, messages to ask for one after the other; the last burst may be shorter."""
    messages: int
    """N, with each peer; in all-to-all patterns with all of them together."""
    seconds: float
    """Of computation and communication together, with all peers."""
    blocking_seconds: float
    """The same in one blocking message with each peer."""
    hidden_fraction: float
    """Share of the blocking communication that is hidden."""
    limits: tuple[str, ...]
    """Names of `LIMITS` without which another decomposition would be faster."""
    implementation: Implementation
    pattern: Pattern
    alternatives: tuple[tuple[int, int], ...]
    """(S, b) beside the choice on the grid that may be as fast within the intervals of the machine's parameters."""
    low: float
    """The interval of `seconds` begins here: all parameters at the fast ends of their intervals."""
    high: float
    """It ends here."""
    advice: Literal["split", "do not split"]
    """"do not split" where the gain is not above its error; the choice is then the whole transfer, if it is offered."""
    gain_seconds: float
    """By what the model's fastest decomposition is faster than blocking messages."""
    error_seconds: float
    """The amount by which that gain may be too large, from the error of the model and the intervals of parameters."""
    progress: float
    """The largest share of a transfer that goes on by itself, of the message sizes offered; 1 where nobody knows."""
    rejected: RejectedCandidate | None = None
    """What was not taken although the model holds it for faster."""
    extrapolates: tuple[str, ...] = ()
    """What lies beyond what was measured, as far as the machine tells what was."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a table of one row."""
        return {name: [getattr(self, name)] for name in self.__struct_fields__}

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the time, with its interval, below that of blocking messages."""
        label = f"{format_size(self.message_size)} x {self.burst}, {self.implementation}"
        return bars(axes, ["blocking", label], [Seconds(self.blocking_seconds), self])


class Choices(Tabular, Value, msgspec.Struct, frozen=True):
    """Decompositions of many transfers; all arrays have the shape to which what is to move broadcasts."""

    arguments: dict[str, NDArray[Any]]
    """``volume``, ``computation`` and ``peers``, broadcast."""
    message_size: NDArray[np.int64]
    """As in `Choice`, as the rest."""
    burst: NDArray[np.int64]
    messages: NDArray[np.int64]
    seconds: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    blocking_seconds: NDArray[np.float64]
    hidden_fraction: NDArray[np.float64]
    advice: NDArray[np.str_]
    gain_seconds: NDArray[np.float64]
    error_seconds: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"Choices({extent(self.seconds, 's')})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each choice: volume, computation and peers, then the other arrays."""
        return columns(self.arguments) | columns({name: getattr(self, name) for name in self.__struct_fields__[1:]})

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw times with their intervals over the argument that varies most, a curve for each value of the others."""
        return draw_over(axes, self.arguments, self)


@overload
def choose(
    machine: Machine | MessageCosts,
    problem: TransferProblem,
    candidates: Candidates | None = None,
    *,
    model: OverlapModel = "bounded",
) -> Choice: ...
@overload
def choose(
    machine: Machine | MessageCosts,
    problem: TransferProblems,
    candidates: Candidates | None = None,
    *,
    model: OverlapModel = "bounded",
) -> Choices: ...
@checked
def choose(
    machine: Machine | MessageCosts,
    problem: TransferProblem | TransferProblems,
    candidates: Candidates | None = None,
    *,
    model: OverlapModel = "bounded",
) -> Choice | Choices:
    """Return the message size and the burst with which computation hides most of a transfer.

    Parameters
    ----------
    machine : Machine or MessageCosts
        With profiles of overlap and bandwidth; what they lack is taken from LogGP, or from a pLogP table. Or costs:
        numbers, tables or functions in place of what the machine says, or without one.
    problem : TransferProblem or TransferProblems
        Volume, computation, pattern and number of peers; of many transfers, arrays of them.
    candidates : Candidates, optional
        Implementation, sizes and bursts to choose from; by default pipelined ones, of powers of two.
    model : str
        ``bounded``, or ``paper``: the equations as they are printed, corrections aside, whose promises may be below
        what the processor alone needs.

    Returns
    -------
    Choice or Choices
        The fastest decomposition; of the bounded model the whole, in blocking messages, where the fastest one's gain is
        not above its error.

    Raises
    ------
    InputError
        Where an argument is wrong, or nothing of what is offered keeps the constraints.
    MissingParameterError
        Where neither the machine nor the caller knows what a message costs.

    Notes
    -----
    Iancu and Strohmaier 2007. The module's text says how the equations are put together. G of the machine's profiles is
    that of the slowest pair among P processes, of neighbours where the pattern is contiguous, across the network where
    it is interleaved (Section 3.2), and in other patterns that of two processes.

    Examples
    --------
    >>> network = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> chosen = choose(network, TransferProblem(volume=1 << 20, computation=500e-6))
    >>> chosen.message_size, chosen.burst, chosen.messages, round(chosen.hidden_fraction, 2)
    (32768, 16, 32, 0.41)

    Many at once:

    >>> many = TransferProblems(volume=[1 << 18, 1 << 20], computation=[[100e-6], [500e-6]])
    >>> choose(network, many).message_size.tolist()
    [[16384, 16384], [16384, 32768]]
    """
    if isinstance(problem, TransferProblems):
        arguments, flat = broadcast({name: getattr(problem, name) for name in ("volume", "computation", "peers")})
        rows = zip(*(column.tolist() for column in flat.values()), strict=True)
        ask = cache(
            lambda *row: choose(
                machine, TransferProblem(row[0], row[1], problem.pattern, row[2]), candidates, model=model
            )
        )
        choices = []
        with ProgressLine("choosing messages") as line:
            for number, row in enumerate(rows):
                line.count(number, arguments["volume"].size, "choices")
                choices.append(ask(*row))
        shape = arguments["volume"].shape
        names = Choices.__struct_fields__[1:]
        return Choices(
            arguments, *(np.array([getattr(choice, name) for choice in choices]).reshape(shape) for name in names)
        )
    solver = DecompositionSearch(machine, problem, candidates, model=model)
    result = solver.solve()
    offered = solver.grid
    size, length = int(offered.sizes[result.row]), int(offered.bursts[result.column])
    # What messages of another size add to the computation is no communication, hidden or not.
    repeats = solver.shape.repeats / solver.shape.parts
    whole, computation = float(solver.computed[0]) * repeats, float(solver.computed[result.row]) * repeats
    (is_split, gain, error), rejected = solver.advice(result), None
    seconds, low, high = result.seconds, result.low, result.high
    if not is_split and solver.offers_whole:
        if gain > search.EQUAL * result.blocking_seconds:
            rejected = RejectedCandidate(size, length, result.seconds)
        size, length, computation = int(offered.sizes[0]), 1, whole
        seconds, low, high = result.blocking_seconds, result.blocking_low, result.blocking_high
    return Choice(
        message_size=size,
        burst=length,
        messages=-(-solver.volume // size),
        seconds=seconds,
        blocking_seconds=result.blocking_seconds,
        hidden_fraction=overlap.hidden_share.python(seconds - computation + whole, result.blocking_seconds, whole),
        limits=tuple(name for bit, name in enumerate(LIMITS) if result.limits >> bit & 1),
        implementation=IMPLEMENTATIONS[result.implementation],
        pattern=solver.pattern,
        alternatives=() if rejected else tuple(cut for cut in _neighbours(solver, result) if cut != (size, length)),
        low=low,
        high=high,
        advice="split" if is_split else "do not split",
        gain_seconds=gain,
        error_seconds=error,
        progress=float(solver.parameters.progress[0, offered.first_row :].max()),
        rejected=rejected,
        extrapolates=_extrapolates(machine, problem, size),
    )


@checked
def ranking(
    machine: Machine | MessageCosts,
    problems: Sequence[TransferProblem],
    candidates: Candidates | None = None,
    *,
    model: OverlapModel = "bounded",
) -> list[Choice]:
    """Return the choices for several problems, such as patterns of one transfer, the fastest first.

    Parameters
    ----------
    machine, candidates, model
        As of `choose`. Where any implementation is offered, there is a choice for each; the measured rule holds for the
        patterns that have one.
    problems : sequence of TransferProblem

    Raises
    ------
    InputError, MissingParameterError
        As of `choose`.

    Examples
    --------
    >>> network = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> transfer = TransferProblem(volume=1 << 20, computation=500e-6)
    >>> [choice.implementation for choice in ranking(network, [transfer], Candidates("any"))]
    ['pipelined', 'tight']
    """
    offered = candidates or Candidates()
    implementations = IMPLEMENTATIONS if offered.implementation == "any" else (offered.implementation,)
    choices: list[Choice] = []
    with ProgressLine("choosing messages") as line:
        for problem in problems:
            has_rule = len(problems) == 1 or problem.pattern.startswith("all-to-all")
            for name in implementations:
                line.count(len(choices), len(problems) * len(implementations), "choices")
                alone = msgspec.structs.replace(
                    offered, implementation=name, rule=offered.rule if has_rule else "equations"
                )
                choices.append(choose(machine, problem, alone, model=model))
    return sorted(choices, key=lambda choice: choice.seconds)


def _extrapolates(machine: Machine | MessageCosts, problem: TransferProblem, message_size: int) -> tuple[str, ...]:
    """Return lines on a choice beyond the range of the machine's measurements; empty without any."""
    costs = MessageCosts.of(machine)
    if costs.machine is None:
        return ()
    processes = problem.peers + (not problem.pattern.startswith("all-to-all"))
    return collective_reach(costs.machine, processes, message_size, costs.path)


def _neighbours(solver: DecompositionSearch, result: SearchResult) -> tuple[tuple[int, int], ...]:
    sizes, bursts = solver.grid.sizes, solver.grid.bursts
    return tuple(
        (int(sizes[result.row + near // 3 - 1]), int(bursts[result.column + near % 3 - 1]))
        for near in range(9)
        if result.neighbours >> near & 1
    )
