"""A workload on a place, by a model. Main entries: `prepare`, `Scenario`.

What holds where nobody says otherwise: the place's model; on a machine, a host for each rank; ranks in blocks as long
as cores last, else round robin; the platform's speed of a core, else 1 Gflop/s.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import Count, Positive, choice, finite, refuse
from commmodel.choices import FlowModel, ProgramModel, ScheduleModel, ScheduleRules, Slopes
from commmodel.errors import InputError, MissingParameterError, RankEndedError, choice_of
from commmodel.machine.rates import node_rate
from commmodel.progress import ProgressLine
from commmodel.signatures import checked
from commmodel.simulate import delays, energy, from_machine
from commmodel.simulate.delays import DelayModel, DelayParameters
from commmodel.simulate.network import SMPI, Network, Overhead, fluid
from commmodel.simulate.operations import Program
from commmodel.simulate.platform import Platform, flat
from commmodel.simulate.platform.description import MappingRule
from commmodel.simulate.ports import ports
from commmodel.simulate.result import Deadlock, SimulationResult
from commmodel.simulate.run import run
from commmodel.simulate.scenario.places import EXAMPLE, Place
from commmodel.simulate.scenario.scale import Scale
from commmodel.simulate.scenario.workloads import Workload
from commmodel.values import Value

if TYPE_CHECKING:
    from commmodel.simulate.goal import GoalSchedule

FLOW_MODELS: tuple[FlowModel, ...] = get_args(FlowModel)
PROGRAM_MODELS: tuple[ProgramModel, ...] = get_args(ProgramModel)
SCHEDULE_MODELS: tuple[ScheduleModel, ...] = get_args(ScheduleModel)
_SPEED = 1e9
"""Flop/s of a core, where nothing says it."""

Ranks = MappingRule | str | os.PathLike[str] | int | Sequence[int] | Sequence[str]
"""Where ranks are: a rule, a file of hosts, how many are on each host, or the host of each."""
Hosts = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Change = Callable[[Program], Program]
"""Makes another program of one."""


@dataclass(frozen=True)
class Scenario(Value):
    """A workload on a place by a model, ready to run."""

    model: str
    place: Place
    workload: Workload
    platform: Platform | None
    """Whose links messages share; None for delay models."""
    hosts: Hosts | None
    """Host of each rank on that platform, shape (processes,)."""
    _simulate: Callable[[bool, Callable[[float, int], None] | None, Slopes | None, Change | None], SimulationResult]
    is_default: bool = False
    """Whether nobody has asked for the model."""

    @checked
    def run(
        self,
        *,
        record: bool = False,
        progress: Callable[[float, int], None] | None = None,
        deadlock: Deadlock = "raise",
        slopes: Slopes | None = None,
        change: Change | None = None,
    ) -> SimulationResult:
        """Simulate.

        Parameters
        ----------
        record, progress, deadlock, slopes
            As of `commmodel.simulate.run`.
        change : callable, optional
            Makes the program that is simulated of the workload's, which has marks of its call sites then, where they
            are known. A schedule and a program that runs stay what they are.

        Raises
        ------
        DeadlockError
            If ranks wait for ever.
        """
        with ProgressLine(f"{self.workload.title}, by {self.model}") as line:
            try:
                shown = line.note if progress is None and line.is_shown else progress
                result = self._simulate(record, shown, slopes, change)
            except RankEndedError as error:
                error.findings = tuple(self.workload.findings())
                raise
        warnings = () if self.place.machine is None else self.place.machine.warnings
        notes = (*warnings, *self.notes, *self.workload.notes(), *result.notes)
        findings = tuple(self.workload.findings())
        if result.unmatched_messages and not result.blocked and not findings:
            notes = (*notes, f"{result.unmatched_messages} messages were never received")
        title = self.workload.title
        complete = replace(result, title=title, where=self.place.name, model=self.model, notes=notes, findings=findings)
        return complete.or_deadlock(deadlock)

    @property
    def placement(self) -> str:
        """On how many hosts the ranks are; empty where each has one and there are no others."""
        if self.platform is None or self.hosts is None:
            return ""
        used = np.bincount(self.hosts)
        most, count = used.max(), (used > 0).sum()
        if most == 1 and count == self.platform.hosts:
            return ""
        return f"{most} on a host, {count} of {self.platform.hosts} hosts"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the result, one per line."""
        lines = (*(() if self.platform is None else self.platform.notes), *self._differences())
        if self.platform is None or self.hosts is None:
            return lines
        used = np.bincount(self.hosts, minlength=self.platform.hosts)
        if (used <= self.platform.cores).all():
            return lines
        crowd = f"{used.sum()} ranks on the {self.platform.cores[used > 0].sum()} cores of {self.place.name}"
        return (*lines, f"{crowd}: several share a core, and the model lets each compute as if it had its own")

    def _differences(self) -> tuple[str, ...]:
        """Return what `commmodel predict` does otherwise with this machine, and doubts of LogGP's parameters."""
        machine = self.place.machine
        if machine is None or self.place.parameters is not None:
            return ()
        fitted = [segment.loggp for segment in machine.segments if segment.loggp is not None]
        lines = []
        other = "plogp" if machine.plogp else "loggp" if fitted else self.model
        if (
            self.is_default
            and other != self.model
            and self.place.platform is None
            and "operation" in self.workload.facts
        ):
            mend = "" if other == "plogp" else f" (`model` {other})"
            lines.append(f"by the model {self.model}; predict takes {other}{mend}")
        if self.model not in delays.MODELS:
            return tuple(lines)
        if self.model == "loggps" and len(fitted) > 1:
            lines.append("loggps has one set of parameters for all sizes; predict takes those of each size")
        rates = [node_rate(segment) for segment in machine.segments]
        if self.hosts is not None and any(rate is not None and rate.is_limiting for rate in rates):
            lines.append(
                f"{self.model} lets messages between nodes not disturb each other; predict has the node's rate"
            )
        if any(loggp.quality is not None and not loggp.quality.trusted for loggp in fitted):
            lines.append("some of the LogGP parameters are not trusted: commmodel report says which, and why")
        return tuple(lines)


@checked
def prepare(
    place: Place,
    workload: Workload,
    model: ProgramModel | ScheduleModel | None = None,
    *,
    mapping: Ranks | None = None,
    hosts: Count | None = None,
    speed: Positive | None = None,
    rules: ScheduleRules = "classic",
    scale: Scale | None = None,
) -> Scenario:
    """Return a workload on a place by a model, ready to run.

    Parameters
    ----------
    place : Place
    workload : Workload
    model : str, optional
        One of `PROGRAM_MODELS`, or of `SCHEDULE_MODELS` for a schedule; by default the place's, ``loggops`` for a
        schedule.
    mapping : str, path, int or sequence, optional
        ``block``, ``round-robin``, a file that names a host on each line, how many ranks are on each host, 1 or more,
        or the number or name of each rank's host. A file of fewer hosts begins again; fewer hosts in a list must divide
        the ranks.
    hosts : int, optional
        Of a machine's switch, 1 or more; by default one for each rank, or as many as the mapping asks for.
    speed : float, optional
        Flop/s of a core, above 0; by default the platform's.
    rules : {'classic', 'newer'}
        Of a schedule's messages.
    scale : Scale, optional
        By how much the place is better than it is.

    Raises
    ------
    InputError
        If the model does not run such a workload, or needs what the place does not have.
    MissingParameterError
        If the machine lacks a parameter of the model.

    Examples
    --------
    >>> from commmodel.simulate.scenario import place, workloads
    >>> delays = place("L=4us,o=1us,G=1ns")
    >>> ring = workloads.exchange(delays, "ring", 1000, 4)
    >>> prepare(delays, ring, "fluid")
    Traceback (most recent call last):
    commmodel.errors.InputError: messages of the model fluid share links: name a platform, not only L=4us,o=1us,G=1ns
    >>> prepare(delays, ring).model
    'loggp'
    """
    name = model or place.model
    scale = scale or Scale()
    if workload.schedule is not None:
        return _schedule(name or "loggops", place, workload, scale.schedule(workload.schedule), rules, scale)
    name = name or place.default_model
    choice("model", name, ProgramModel)
    messages, count, shared = _limited(_messages(name, place), place), workload.processes, name in FLOW_MODELS
    platform = _platform(name, place, count, hosts, mapping) if shared else place.platform
    if platform is not None:
        platform = scale.platform(platform)
    if isinstance(messages, DelayModel):
        messages = messages.changed(scale.delays)
        if workload.runs:  # a parameter is part of several of such a network
            messages, platform = _ports(messages, count, hosts if hosts is not None else mapping)
    else:
        messages = scale.network(messages)
    nodes = platform if platform is not None or mapping is hosts is None else _nodes(count, hosts, mapping)
    ranks = None if nodes is None else _hosts(nodes, count, mapping)
    if ranks is not None and workload.on_hosts is not None:
        workload = workload.on_hosts(tuple(ranks.tolist()))
    speeds = _speeds(platform, ranks, count, speed) * scale.compute
    has_ports = name in delays.MODELS and workload.runs

    def simulate(
        record: bool, progress: Callable[[float, int], None] | None, slopes: Slopes | None, change: Change | None
    ) -> SimulationResult:
        make = workload.located if change is not None and workload.located is not None else workload.program
        program = make(speeds, scale.compute)
        if change is not None and not workload.runs:
            program = change(program)
        costs = None if platform is None or ranks is None or not energy.has_costs(platform) else (platform, ranks)
        records = record or (costs is not None and energy.needs_intervals(*costs))
        result = run(
            program, messages, platform, hosts=ranks, record=records, progress=progress, deadlock="return",
            slopes=None if has_ports else slopes,
        )  # fmt: skip
        if costs is not None:
            use = energy.energy_use(*costs, result)
            result = replace(result if record else result.without_record(), energy=use)
        return replace(result, sites=tuple(workload.sites())) if change is not None or workload.runs else result

    is_default = model is None and place.model is None
    return Scenario(name, place, workload, platform if shared or workload.runs else None, ranks, simulate, is_default)


def _schedule(
    name: ProgramModel | ScheduleModel,
    place: Place,
    workload: Workload,
    schedule: "GoalSchedule",
    rules: ScheduleRules,
    scale: Scale,
) -> Scenario:
    model: ScheduleModel = choice("model", name, ScheduleModel)
    parameters = scale.delays(_parameters(name, place))

    def simulate(
        record: bool, _: Callable[[float, int], None] | None, slopes: Slopes | None, __: Change | None
    ) -> SimulationResult:
        return delays.run_schedule(
            schedule, parameters, model=model, rules=rules, record=record, deadlock="return", slopes=slopes
        )

    return Scenario(name, place, workload, None, None, simulate)


def _parameters(model: str, place: Place) -> DelayParameters:
    """Return the parameters of a delay model."""
    if place.parameters is not None:
        return place.parameters
    if place.machine is None:
        raise InputError(
            f"the model {model} needs parameters of a machine: give `parameters`, a machine's or one by one: {EXAMPLE}"
        )
    return delays.from_machine(place.machine, place.path)


def _messages(model: Any, place: Place) -> Network | DelayModel:
    """Return the model of messages: a network, or a delay model."""
    if model not in FLOW_MODELS:
        if place.parameters is not None or place.machine is None:
            return DelayModel(_parameters(model, place), model)
        return delays.of_machine(place.machine, model, place.path)
    if model == "smpi":
        return place.network or SMPI
    if model == "hybrid" and place.machine is None:
        raise InputError("the model hybrid needs parameters of a machine: name it with `parameters`")
    if place.machine is None or (model == "fluid" and not place.machine.hybrid):
        return fluid()
    measured = from_machine.network(place.machine, place.path)
    return measured if model == "hybrid" else fluid(measured.detached_limit, measured.eager_limit)


def _limited(messages: Network | DelayModel, place: Place) -> Network | DelayModel:
    """Return a model with the limits that are asked for: of sends that end before their receives, and of messages."""
    if isinstance(messages, DelayModel):
        if place.buffering is not None:
            problem = "a limit of networks' models: of loggps it is the parameter S, others have none"
            raise refuse("buffering", place.buffering, problem)
        if place.message_rate is not None:
            raise refuse(
                "message_rate", place.message_rate, "a limit of networks' models: name a platform, or leave it out"
            )
        return messages
    if place.buffering is not None:
        limit = place.buffering if place.buffering > 0 else -1.0  # of empty messages, too
        messages = msgspec.structs.replace(messages, eager_limit=limit, detached_limit=limit, leaves_unexpected=False)
    if place.message_rate is not None:
        messages = msgspec.structs.replace(messages, message_gaps=(Overhead(math.inf, 1 / place.message_rate),))
    return messages


def _ports(model: DelayModel, processes: int, ranks: Ranks | None) -> tuple[Network, Platform]:
    """Return a delay model of a program that runs, and the ports of its ranks."""
    if ranks is not None:
        raise InputError(f"{model.name} has a port for each rank, and no hosts: leave out where ranks are")
    return ports(model, processes)


def _platform(model: str, place: Place, processes: int, hosts: int | None, mapping: Ranks | None) -> Platform:
    """Return the platform of the links; that of a machine is one switch."""
    per_node = mapping if isinstance(mapping, int) else None
    if place.platform is not None:
        if hosts is not None:
            raise refuse("hosts", hosts, f"{place.name} is a platform, which says how many hosts it has: leave it out")
        return place.platform
    if place.machine is None:
        raise InputError(f"messages of the model {model} share links: name a platform, not only {place.name}")
    if not place.machine.hybrid:
        raise MissingParameterError(
            f"{place.name} has no hybrid section, from which a platform could be made: calibrate it (python -m "
            "commmodel.bench), name a platform, or choose `model` loggp"
        )
    count = -(-processes // (per_node or 1)) if hosts is None else hosts
    cores = per_node or -(-processes // count)
    return from_machine.platform(place.machine, count, place.path, cores=cores, speed=_SPEED)


def _nodes(processes: int, hosts: int | None, mapping: Ranks | None) -> Platform:
    """Return hosts on which ranks of a delay model lie: it knows no links."""
    per_node = mapping if isinstance(mapping, int) else None
    count = -(-processes // (per_node or 1)) if hosts is None else hosts
    return flat(count, 1.0, 0.0, cores=per_node or -(-processes // count))


def _speeds(platform: Platform | None, hosts: Hosts | None, processes: int, speed: float | None) -> Floats:
    """Return the flop/s of each rank."""
    if speed is not None:
        return np.full(processes, finite("speed", speed, above=0))
    return np.full(processes, _SPEED) if platform is None else platform.speeds[hosts]


def _hosts(platform: Platform, processes: int, mapping: Ranks | None) -> Hosts:
    """Return the host of each rank."""
    if mapping is None:
        return platform.place(processes, "block" if processes <= int(platform.cores.sum()) else "round-robin")
    if not isinstance(mapping, str | os.PathLike) or mapping in get_args(MappingRule):
        return platform.place(processes, mapping)  # type: ignore[arg-type]  # no path: it is a rule
    names = host_names(mapping)
    try:
        return platform.place(processes, [*islice(cycle(names), processes)])
    except InputError as error:
        raise refuse("mapping", mapping, str(error)) from None


def host_names(path: str | os.PathLike[str], rules: Any = MappingRule, parameter: str = "mapping") -> list[str]:
    """Return the hosts of a file, one per line; ``:n`` after a name and comments are ignored.

    `rules` are the words that the parameter takes in place of a file.
    """
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.partition("#")[0].strip() for line in file.read(1 << 28).splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        words = get_args(rules)
        if not words:
            raise refuse(parameter, path, f"no file of names, one on each line ({why})") from None
        problem = f"{' nor '.join([f'neither {words[0]}', *words[1:]])}, nor a file of hosts ({why})"
        raise refuse(parameter, path, f"{problem}: {choice_of(str(path), words)}") from None
    names = [line.split()[0].partition(":")[0] for line in lines if line]
    if not names:
        raise refuse(parameter, path, "the file names no host: one on each line")
    return names
