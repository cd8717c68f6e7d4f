"""Validation: the loss of the model's choices where every decomposition was measured. Main entry: `validate`.

For each problem of the records of the kernel overlap, `commmodel.optimize.choose` picks among the decompositions that
were measured, and its pick is judged by measured times alone. Source: Iancu and Strohmaier 2007, Section 4 and Table 2.
Main entry: `validate`.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median
from typing import Any, Literal, NamedTuple, cast

import msgspec
import numpy as np

from commmodel.choices import OverlapModel
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Machine
from commmodel.models import overlap
from commmodel.optimize import Candidates, MessageCosts, TransferProblem, choose
from commmodel.optimize.progress import progress_sentence
from commmodel.optimize.search import EQUAL
from commmodel.results import Header, Measurements, Record
from commmodel.results.configurations import Overlap
from commmodel.statistics import summarise
from commmodel.units import format_ratio
from commmodel.values import OneLine

MISESTIMATES = (0.5, 0.8, 1.2, 1.5)
"""Estimates of the computation over the truth, with which choices are made again (Iancu 2007, Table 2)."""
_LITTLE = 0.1
"""Share of the communication below which nothing is hidden."""
_UNSTEADY = 1.5  # times as long: the same computation in other records
_FEWEST = 3  # decompositions: between fewer there is no choice to judge
_MEASURE = "mpiexec -n 2 python -m commmodel.bench pingpong burst bandwidth progress overlap --exhaustive"


class Timed(msgspec.Struct, frozen=True):
    """A decomposition and its measured time, in seconds.

    `low` and `high` are the interval of the median; of fewer than eight samples, which have none, the least and the
    largest.
    """

    message_size: int
    burst: int
    seconds: float
    low: float
    high: float


class Sweep(OneLine, msgspec.Struct, frozen=True):
    """One problem, and the measured time of each of its decompositions. Times in seconds, sizes in bytes."""

    pattern: str
    operation: str
    path: str
    processes: int
    template: str
    iterations: int
    library: str
    volume: int
    passes: int
    decompositions: tuple[Timed, ...]
    blocking: Timed | None = None
    """The same problem without overlap, in one message from each peer; None where that was not measured."""
    computation: float | None = None
    """t_V, of all that a process computes on; None where that was not measured."""
    scatter: float = 1.0
    """By which factor t_V differs between the records: 90th over 10th percentile."""

    @property
    def disturbed(self) -> bool:
        """Whether the processor was too noisy to separate the best decomposition from a lucky one."""
        return self.scatter > _UNSTEADY

    @property
    def best(self) -> Timed:
        """The fastest decomposition."""
        return min(self.decompositions, key=lambda decomposition: decomposition.seconds)

    @property
    def ratio(self) -> float | None:
        """Computation over communication, r = t_V / (T_blocking − t_V); None where unknown or not positive."""
        communication = self.communication
        if communication is None or self.computation is None or communication <= 0:
            return None
        return self.computation / communication

    @property
    def communication(self) -> float | None:
        """T_blocking − t_V; noise may make it negative. None where one of them is missing."""
        if self.blocking is None or self.computation is None:
            return None
        return self.blocking.seconds - self.computation

    def hidden_share(self, seconds: float) -> float | None:
        """Return which share of the communication is hidden at this time; None where there is none to hide."""
        communication = self.communication
        if self.blocking is None or self.computation is None or communication is None or communication <= 0:
            return None
        return float(overlap.hidden_share(seconds, self.blocking.seconds, self.computation))

    @property
    def nothing_to_hide(self) -> str:
        """Why overlap cannot gain anything here; empty where it can, or where that is unknown."""
        if self.blocking is None or self.computation is None:
            return ""
        if self.computation == 0:
            return "there is no computation to hide it with"
        if self.blocking.low <= self.computation:
            return "without overlap it takes no longer than the computation"
        share = self.hidden_share(self.best.seconds)
        if share is not None and share < _LITTLE:
            return f"the best hides {format_ratio(max(share, 0.0))} of the communication"
        return ""


class Misestimate(msgspec.Struct, frozen=True):
    """The choice with a wrong estimate of the computation, and its measured loss."""

    factor: float
    """Estimate over truth."""
    message_size: int
    burst: int
    loss: float


class Case(OneLine, msgspec.Struct, frozen=True):
    """A problem, the model's choice, and its measured loss."""

    sweep: Sweep
    chosen: Timed
    """The model's choice, as measured; the blocking version where it says not to cut."""
    model_seconds: float
    """What the model promises of it."""
    loss: float
    """(T_chosen − T_best) / T_blocking, of measured times; the best of all decompositions and the blocking version."""
    misestimates: tuple[Misestimate, ...]
    advice: Literal["split", "do not split"]
    against_blocking: float
    """(T_chosen − T_blocking) / T_blocking, of measured times: above 0 the advice costs time."""

    @property
    def within_noise(self) -> bool:
        """Whether the intervals of the choice and of the best overlap."""
        return self.chosen.low <= _fastest(self.sweep).high

    @property
    def hidden_share(self) -> float | None:
        """Share of the communication that the choice hides."""
        return self.sweep.hidden_share(self.chosen.seconds)

    @property
    def best_hidden_share(self) -> float | None:
        """Share of the communication that the best hides."""
        return self.sweep.hidden_share(self.sweep.best.seconds)

    @property
    def share_of_best(self) -> float | None:
        """The hidden share of the choice over that of the best; None where there is nothing to hide."""
        chosen, best = self.hidden_share, self.best_hidden_share
        if self.sweep.nothing_to_hide or chosen is None or best is None:
            return None
        return chosen / best


def _fastest(sweep: Sweep) -> Timed:
    """Return the fastest of all decompositions and the blocking version."""
    best = sweep.best
    return sweep.blocking if sweep.blocking is not None and sweep.blocking.seconds <= best.seconds else best


class ValidationSummary(OneLine, msgspec.Struct, frozen=True):
    """Averages over several cases, None where unknown; empty names: over all cases."""

    pattern: str
    operation: str
    path: str
    template: str
    library: str
    cases: int
    """Those in which there is something to hide; losses and shares are of these."""
    within_noise: int
    """Of them, those in which the choice is not known to be slower than the best."""
    median_loss: float | None
    worst_loss: float | None
    least_share_of_best: float | None
    nothing_to_hide: int
    """Further cases, in which overlap cannot bring anything."""
    worst_loss_of_nothing: float | None
    misestimates: tuple[tuple[float, float, float], ...]
    """(estimate of the computation over the truth, median loss, worst loss)."""
    not_split: int
    """Of all cases, those in which the advice is not to cut."""
    median_loss_of_all: float
    """With those in which there is nothing to hide."""
    worst_against_blocking: float
    """The most that the advice costs over blocking messages, in all cases; below 0 it never costs anything."""
    disturbed: int
    """Of all cases, those whose records are too unsteady to judge by: see `Sweep.disturbed`."""


class Validation(OneLine, msgspec.Struct, frozen=True):
    """All cases, their summaries, what was left out, and the machine's MPI progress."""

    cases: tuple[Case, ...]
    summaries: tuple[ValidationSummary, ...]
    """Of all cases, then of each pattern, operation, path, template and library where there are several."""
    left_out: tuple[str, ...]
    """What could not be judged, a line each."""
    progress: tuple[str, ...]
    """A sentence for each path and operation of which the machine knows it."""


_Names = tuple[str, str, str, str, str]
"""Pattern, operation, path, template and library."""


class _Problem(NamedTuple):
    """The common properties of the records of a sweep, except the template."""

    pattern: str
    operation: str
    path: str
    processes: int
    iterations: int
    library: str
    volume: int
    passes: int


def _library(header: Header) -> str:
    """Return the first line of the MPI library's version, with single spaces."""
    return " ".join(header.mpi.version.strip().partition("\n")[0].split())


def _timed(message_size: int, burst: int, records: Sequence[Record]) -> Timed:
    summary = summarise([sample for record in records for sample in record.samples])
    low = summary.low if math.isfinite(summary.low) else summary.minimum
    high = summary.high if math.isfinite(summary.high) else summary.maximum
    return Timed(message_size, burst, summary.median, low, high)


def _computation(problem: _Problem, records: Iterable[Record]) -> float | None:
    measured = [record.computation for record in records if record.computation is not None]
    if measured:
        return median(measured)
    return 0.0 if problem.passes == 0 else None


def _scatter(records: Iterable[Record]) -> float:
    times = [record.computation for record in records if record.computation]
    low, high = np.quantile(times, (0.1, 0.9)) if times else (1.0, 1.0)
    return float(high / low)


def sweeps(measurements: Measurements) -> tuple[Sweep, ...]:
    """Return the measurements of each problem and template; blocking ones belong to each of them.

    Records of the same configuration and library, from several launches, are taken together.

    >>> from commmodel.results import Launch, Library
    >>> header = Header("commmodel-results", 1, "", (), Library("MPICH"), (), ())
    >>> whole = Overlap(4096, 4096, 1, "blocking", 1, 2, "same-node")
    >>> pieces = Overlap(4096, 1024, 2, "pipelined", 1, 2, "same-node")
    >>> records = Record(whole, "s", (9e-6,), computation=4e-6), Record(pieces, "s", (7e-6,), computation=4e-6)
    >>> (found,) = sweeps(Measurements((Launch(header, records),)))
    >>> found.best.message_size, round(found.ratio, 2), round(found.hidden_share(found.best.seconds), 2)
    (1024, 0.8, 0.4)
    """
    groups: dict[_Problem, dict[str, dict[tuple[int, int], list[Record]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for launch in measurements.launches:
        library = _library(launch.header)
        for record in launch.records:
            if isinstance(configuration := record.configuration, Overlap):
                problem = _Problem(
                    configuration.pattern, configuration.operation, configuration.path, configuration.processes,
                    configuration.iterations, library, configuration.volume, configuration.passes,
                )  # fmt: skip
                groups[problem][configuration.template][configuration.message_size, configuration.burst].append(record)
    result = []
    for problem, templates in groups.items():
        whole = templates.pop("blocking", {})
        largest = max(whole, default=(problem.volume, 1))  # less than V where that comes from several peers
        base = whole.get(largest, [])
        blocking = _timed(*largest, base) if base else None
        for template, decompositions in templates.items():
            all_records = [record for records in decompositions.values() for record in records]
            result.append(
                Sweep(
                    **problem._asdict(),
                    template=template,
                    decompositions=tuple(_timed(*where, records) for where, records in sorted(decompositions.items())),
                    blocking=blocking,
                    computation=_computation(problem, base or all_records),
                    scatter=_scatter([*base, *all_records]),
                )
            )
    return tuple(sorted(result, key=_order))


def required_sweeps(measurements: Measurements) -> tuple[Sweep, ...]:
    """Return `sweeps`; raise where there are none.

    >>> required_sweeps(Measurements(()))
    Traceback (most recent call last):
    commmodel.errors.InputError: no records of the kernel overlap: measure them with mpiexec -n 2 python -m \
commmodel.bench pingpong burst bandwidth progress overlap --exhaustive
    """
    if not any(isinstance(record.configuration, Overlap) for record in measurements.records):
        raise InputError(f"no records of the kernel overlap: measure them with {_MEASURE}")
    result = sweeps(measurements)
    if not result:
        raise InputError(
            "the records of the kernel overlap are all of the template blocking: measure others too, with --templates "
            "blocking,pipelined"
        )
    return result


def _group(sweep: Sweep) -> _Names:
    return sweep.pattern, sweep.operation, sweep.path, sweep.template, sweep.library


def _order(sweep: Sweep) -> tuple[object, ...]:
    return *_group(sweep), sweep.processes, sweep.iterations, sweep.passes, sweep.volume


class _Chosen(NamedTuple):
    """The model's choice among measured decompositions: its measured and predicted times, and whether it pays."""

    timed: Timed
    seconds: float
    advice: Literal["split", "do not split"]


def _choice(sweep: Sweep, blocking: Timed, machine: Machine, computation: float, model: OverlapModel) -> _Chosen:
    """Return the model's choice among the measured decompositions and the blocking version.

    Size by size, as not every burst was measured with every size; of equally fast ones the largest size, as `choose`.
    """
    several = sweep.pattern in {"multiple-end-points-contiguous", "multiple-end-points-interleaved"}
    peers = {"point-to-point": 1}.get(
        sweep.pattern, sweep.processes if sweep.pattern.startswith("all-to-all") else sweep.processes - 1
    )
    costs = MessageCosts(machine, None if sweep.path == "any" else sweep.path, cast(Any, sweep.operation))
    pattern: Any = sweep.pattern
    problem = TransferProblem(sweep.volume, computation / peers if several else computation, pattern, peers)
    measured = {(timed.message_size, timed.burst): timed for timed in sweep.decompositions}
    least = math.inf
    chosen: _Chosen | None = None
    refused: InputError | None = None
    for size in sorted({timed.message_size for timed in sweep.decompositions}, reverse=True):
        try:
            bursts = tuple(timed.burst for timed in sweep.decompositions if timed.message_size == size)
            candidates = Candidates(cast(Any, sweep.template), sizes=(size,), bursts=bursts)
            choice = choose(costs, problem, candidates, model=model)
        except InputError as error:  # messages of this size keep no constraint: others may
            refused = error
            continue
        if choice.seconds < least * (1 - EQUAL):
            least = choice.seconds
            if choice.advice == "split" or model == "paper":
                chosen = _Chosen(measured[choice.message_size, choice.burst], least, choice.advice)
            else:
                chosen = _Chosen(blocking, choice.blocking_seconds, choice.advice)
    if chosen is None:
        raise refused or InputError(f"no decomposition of {sweep.volume} bytes can be chosen")
    return chosen


def _judged(sweep: Sweep, blocking: Timed, computation: float, machine: Machine, model: OverlapModel) -> Case:
    least = _fastest(sweep).seconds

    def loss(seconds: float) -> float:
        return float(overlap.performance_loss(seconds, least, blocking.seconds))

    chosen = _choice(sweep, blocking, machine, computation, model)
    misestimates = []
    for factor in MISESTIMATES:
        other = _choice(sweep, blocking, machine, factor * computation, model).timed
        misestimates.append(Misestimate(factor, other.message_size, other.burst, loss(other.seconds)))
    seconds = chosen.timed.seconds
    return Case(
        sweep, chosen.timed, chosen.seconds, loss(seconds), tuple(misestimates), chosen.advice,
        float(overlap.performance_loss(seconds, blocking.seconds, blocking.seconds)),
    )  # fmt: skip


def _summary(names: _Names, cases: Sequence[Case]) -> ValidationSummary:
    telling = [case for case in cases if not case.sweep.nothing_to_hide]
    losses = [case.loss for case in telling]
    shares = [case.share_of_best for case in telling if case.share_of_best is not None]
    losses_of_nothing = [case.loss for case in cases if case.sweep.nothing_to_hide]
    by_factor = {
        factor: [
            misestimate.loss for case in telling for misestimate in case.misestimates if misestimate.factor == factor
        ]
        for factor in MISESTIMATES
    }
    pattern, operation, path, template, library = names
    return ValidationSummary(
        pattern=pattern,
        operation=operation,
        path=path,
        template=template,
        library=library,
        cases=len(telling),
        within_noise=sum(case.within_noise for case in telling),
        median_loss=median(losses) if losses else None,
        worst_loss=max(losses, default=None),
        least_share_of_best=min(shares, default=None),
        nothing_to_hide=len(losses_of_nothing),
        worst_loss_of_nothing=max(losses_of_nothing, default=None),
        misestimates=tuple(
            (factor, median(factor_losses), max(factor_losses))
            for factor, factor_losses in by_factor.items()
            if factor_losses
        ),
        not_split=sum(case.advice == "do not split" for case in cases),
        median_loss_of_all=median(case.loss for case in cases),
        worst_against_blocking=max(case.against_blocking for case in cases),
        disturbed=sum(case.sweep.disturbed for case in cases),
    )


def _summaries(cases: Sequence[Case]) -> tuple[ValidationSummary, ...]:
    if not cases:
        return ()
    groups = [(names, list(group)) for names, group in groupby(cases, key=lambda case: _group(case.sweep))]
    over_all = _summary(("", "", "", "", ""), cases)
    return (over_all, *(_summary(*group) for group in groups)) if len(groups) > 1 else (_summary(*groups[0]),)


def _why_not(sweep: Sweep) -> str:
    """Return why a problem cannot be validated; empty where it can."""
    if sweep.template not in {"pipelined", "tight"}:
        return f"of template {sweep.template}, for which the paper has no formula"
    if sweep.blocking is None:
        return "without a record of the template blocking: measure it too, with --templates blocking,pipelined"
    if sweep.computation is None:
        return "without the time of the computation alone"
    if len(sweep.decompositions) < _FEWEST:
        return f"with fewer than {_FEWEST} message sizes and bursts: measure more, with --exhaustive"
    return ""


def validate(measurements: Measurements, machine: Machine, model: OverlapModel = "bounded") -> Validation:
    """Compare the model's choices with the best measured decompositions.

    Parameters
    ----------
    measurements : Measurements
        With records of the kernel overlap: template blocking, and pipelined or tight in several sizes and bursts.
    machine : Machine
        With whose parameters `commmodel.optimize.choose` chooses among the sizes and bursts that were measured.
    model : str
        ``bounded`` or ``paper``, as in `commmodel.optimize.choose`.

    Returns
    -------
    Validation
        A case for each pattern, operation, path, number of processes, template, volume and amount of computation.

    Raises
    ------
    InputError
        Where there are no records of the kernel overlap, or none of them makes a case.
    MissingParameterError
        Where the machine knows too little for any of the cases.

    Notes
    -----
    Iancu and Strohmaier 2007, Section 4: the loss of performance is (T_chosen − T_best) / T_blocking, and the hidden
    share of the communication (T_blocking − T_chosen) / (T_blocking − t_V). All these are measured medians; the model's
    own time of its choice stands beside them. As in Table 2, choices with a wrong estimate of t_V are judged too.

    Of the bounded model the choice is the blocking version where its advice is not to cut.

    Where the best decomposition hides less than 10 % of the communication, or the blocking version is not known to be
    slower than the computation alone, there is nothing to hide, and any choice would do: such cases are summed apart.

    Examples
    --------
    >>> from commmodel.machine import LogGP, Parameter, Segment
    >>> from commmodel.results import Launch, Library
    >>> o, L, G, t_V = 1e-6, 5e-6, 1e-9, 300e-6
    >>> model = LogGP(L=Parameter(L), o=Parameter(o), g=Parameter(o), G=Parameter(G))
    >>> machine = Machine("m", (Segment("all", loggp=model),))
    >>> header = Header("commmodel-results", 1, "", (), Library("MPICH"), (), ())
    >>> measured = {("blocking", 1 << 20, 1): 1.36e-3, ("pipelined", 1 << 20, 1): 1.35e-3}
    >>> measured |= {("pipelined", 1 << 16, 4): 1.07e-3, ("pipelined", 1 << 14, 16): 1.09e-3}
    >>> records = [
    ...     Record(Overlap(1 << 20, S, b, template, 1, 2, "same-node"), "s", (seconds,) * 9, computation=t_V)
    ...     for (template, S, b), seconds in measured.items()
    ... ]
    >>> (case,) = validate(Measurements((Launch(header, tuple(records)),)), machine).cases
    >>> case.chosen.message_size, case.chosen.burst, case.loss, round(case.hidden_share, 2)
    (65536, 4, 0.0, 0.27)
    """
    left_out: dict[str, int] = defaultdict(int)
    missing: MissingParameterError | None = None
    cases = []
    for sweep in required_sweeps(measurements):
        reason = _why_not(sweep)
        if not reason and sweep.blocking is not None and sweep.computation is not None:
            try:
                cases.append(_judged(sweep, sweep.blocking, sweep.computation, machine, model))
                continue
            except (MissingParameterError, InputError) as error:
                missing = error if isinstance(error, MissingParameterError) else missing
                reason = f"of {sweep.pattern}, {sweep.operation}, {sweep.path}: {error}"
        left_out[reason] += 1
    if not cases and missing is not None:
        raise missing
    lines = tuple(f"{count} case{'s' * (count > 1)} left out, {reason}" for reason, count in left_out.items())
    if not cases:
        raise InputError(f"no case to judge: {'; '.join(lines)}")
    sentences = tuple(filter(None, map(progress_sentence, machine.overlap)))
    return Validation(tuple(cases), _summaries(cases), lines, sentences)
