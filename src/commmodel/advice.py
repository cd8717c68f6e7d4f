"""What to pay for: which of a better network, faster cores, another placement or better code gains most for a program.

Each option is a simulation of the same program on the same platform with one thing better: a cost of messages or of
computation halved, a link twice as wide, ranks placed otherwise, a call site without its time. Main entry: `advise`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from commmodel.arguments import Count, Positive
from commmodel.choices import ProgramModel, Slopes
from commmodel.errors import InputError, MissingPackageError
from commmodel.frames import Tabular
from commmodel.placement import RankMapping, map_ranks
from commmodel.signatures import checked
from commmodel.simulate.critical_path import CriticalPath, PathShare, SiteGain, critical_path, gains, with_steps
from commmodel.simulate.extrapolation.streams import END
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.scenario import FLOW_MODELS, Place, Scale, Scenario, Where, Workload, place, prepare
from commmodel.simulate.scenario.expansion import expanded_once
from commmodel.simulate.scenario.preparation import Ranks
from commmodel.simulate.sensitivity import CostCurve, CostSensitivity, sensitivity
from commmodel.simulate.workers import spread
from commmodel.values import OneLine, Value

__all__ = ["Advice", "AdvisedOption", "advise"]

_BETTER = {
    "latency": ("half the latency", Scale(latency=0.5)),
    "overhead": ("half the overhead of messages", Scale(overhead=0.5)),
    "gap": ("half the gap between messages", Scale(gap=0.5)),
    "bandwidth": ("twice the bandwidth", Scale(bandwidth=2.0)),
    "compute": ("cores twice as fast", Scale(compute=2.0)),
}
"""Cost -> words, and what is better."""
_LINKS = 3
"""Of the critical path, each of which is tried alone."""


@dataclass(frozen=True)
class AdvisedOption(OneLine):
    """Something that can be better, and the time with it."""

    kind: Literal["machine", "placement", "program"]
    words: str
    seconds: float
    bounds: tuple[float, float] | None = None
    """Factors between which the machine's cost is, by the intervals of its parameters; None without any."""

    @checked
    def gain_interval(self, seconds: float) -> tuple[float, float]:
        """Return between which shares of a time the saving is, by the bounds of the cost.

        Parameters
        ----------
        seconds : float
            The time without it, 0 or more.

        Examples
        --------
        >>> AdvisedOption("machine", "half the latency", 0.5, (0.0, 3.0)).gain_interval(1.0)
        (0.0, 0.75)
        """
        low, high = self.bounds or (1.0, 1.0)
        gain = self.gain(seconds)
        return CostCurve.within(gain, low), CostCurve.within(gain, high)

    @checked
    def gain(self, seconds: float) -> float:
        """Return the share of a time that it saves.

        Parameters
        ----------
        seconds : float
            The time without it, 0 or more.
        """
        return 1 - self.seconds / seconds if seconds else 0.0


@dataclass(frozen=True, repr=False)
class Advice(Tabular, Value):
    """What would gain how much, for one program on one platform."""

    options: tuple[AdvisedOption, ...]
    """The one that gains most first."""
    sensitivity: CostSensitivity
    path: CriticalPath
    links: tuple[PathShare, ...]
    """Of the critical path, where messages share links."""
    sites: tuple[SiteGain, ...]
    """Call sites, where they are known."""
    mapping: RankMapping | None = None
    """Of the ranks, where they can be placed otherwise."""
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Time of the program as it is."""
        return self.sensitivity.seconds

    def __repr__(self) -> str:
        """Return the time, and what gains most."""
        best = f", best: {self.options[0].words}" if self.options else ""
        return f"Advice({self.seconds:.6g} s{best})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each option: its kind and words, the seconds with it, the share of the time it saves."""
        return {
            "kind": [option.kind for option in self.options],
            "option": [option.words for option in self.options],
            "seconds": [option.seconds for option in self.options],
            "gain": [option.gain(self.seconds) for option in self.options],
            "gain_low": [option.gain_interval(self.seconds)[0] for option in self.options],
            "gain_high": [option.gain_interval(self.seconds)[1] for option in self.options],
        }


def _answer(
    where: Place, workload: Workload, how: dict[str, Any], scale: Scale, slopes: Slopes | None = None
) -> SimulationResult:
    return prepare(where, workload, scale=scale, **how).run(deadlock="return", slopes=slopes)


@checked
def advise(
    workload: Workload,
    *,
    on: Where | Place,
    model: ProgramModel | None = None,
    mapping: Ranks | None = None,
    hosts: Count | None = None,
    speed: Positive | None = None,
    percents: Sequence[float] = (1.0, 2.0, 5.0),
    workers: Count = 1,
) -> Advice:
    """Say which of a better machine, another placement and better code gains most.

    Parameters
    ----------
    workload : Workload
        Of `commmodel.simulate.scenario.workloads`, or a recording's: `commmodel.simulate.questions.replayed`.
    on : str, path, Platform, Machine, DelayParameters or Place
        What `commmodel.simulate.scenario.place` takes.
    model, mapping, hosts, speed
        Of `commmodel.simulate.scenario.prepare`.
    percents : sequence of float
        Of `commmodel.simulate.sensitivity.sensitivity`; none save half of the runs.
    workers : int
        Simulations side by side, 1 or more.

    Raises
    ------
    InputError
        If the program cannot run there.
    DeadlockError
        If ranks wait for ever.

    Examples
    --------
    >>> from commmodel.simulate.scenario import place, workloads
    >>> graphene = place("graphene")
    >>> halo = workloads.exchange(graphene, "halo", 65536, 16)
    >>> advice = advise(halo, on=graphene)
    >>> [f"{option.words}: {option.gain(advice.seconds):.0%}" for option in advice.options][:2]
    ['twice the bandwidth: 47%', 'half the latency: 3%']
    """
    where = place(on)
    how: dict[str, Any] = {"model": model, "mapping": mapping, "hosts": hosts, "speed": speed}
    with expanded_once(workload) as work:
        return _advice(where, work, how, percents, workers)


def _advice(
    where: Place, workload: Workload, how: dict[str, Any], percents: Sequence[float], workers: int
) -> Advice:  # fmt: skip
    """Return the advice on a workload, of which most programs are in memory once the path is known."""

    def question(_: Any, scale: Scale, slopes: Slopes | None) -> SimulationResult:
        return _answer(where, workload, how, scale, slopes)

    scenario = prepare(where, workload, **how)
    path = critical_path(scenario.run(record=True, change=with_steps))
    costs = sensitivity(question, where, percents=percents, pieces=False, machine=where.machine, workers=workers)
    links = [] if scenario.platform is None else path.by_link(scenario.platform)
    bounds = {curve.cost: curve.bounds for curve in costs.curves}
    better = [(*_BETTER[curve.cost], curve.bounds) for curve in costs.curves]
    better += [
        (f"twice the bandwidth of {link.name}", Scale(links=((link.name, 2.0),)), bounds.get("bandwidth"))
        for link in links[:_LINKS]
    ]
    calls = [(scale,) for _, scale, _ in better]
    label = "advice: better machines"
    results = spread(partial(_answer, where, workload, how), calls, workers=workers, label=label) if calls else []
    sites = gains(scenario, path, workers=workers)
    options = [
        AdvisedOption("machine", words, run.seconds, interval)
        for (words, _, interval), run in zip(better, results, strict=True)
    ]
    options += [
        AdvisedOption("program", f"no time for {_site_words(site.site)}", costs.seconds - site.gain)
        for site in sites
        if site.gain > 0
    ]
    placed, notes = _placed(scenario, how["mapping"], costs.seconds, workers)
    if placed is not None:
        options.append(AdvisedOption("placement", f"ranks placed {placed.best.name}", placed.best.seconds))
    options.sort(key=lambda option: option.seconds)
    return Advice(tuple(options), costs, path, tuple(links), tuple(sites), placed, (*costs.notes, *notes))


def _site_words(site: str) -> str:
    return "the computation before its end" if site == END else site


def _placed(
    scenario: Scenario, mapping: Ranks | None, seconds: float, workers: int
) -> tuple[RankMapping | None, tuple[str, ...]]:
    """Return the best mapping of the ranks, where it can be held against the run as it is, and what is to be said."""
    workload, is_placed = scenario.workload, mapping is not None and not isinstance(mapping, int)
    if scenario.place.platform is None or scenario.model not in FLOW_MODELS or workload.runs or is_placed:
        return None, ()
    per_node, model = cast("int | None", mapping), cast(ProgramModel, scenario.model)
    try:
        placed = map_ranks(workload, on=scenario.place, model=model, per_node=per_node, workers=workers)
    except (MissingPackageError, InputError) as error:
        return None, (f"other placements are not tried: {error}",)
    if not math.isclose(placed.block.seconds, seconds, rel_tol=1e-9):
        return None, ("other placements are not tried: ranks are not in blocks, or cores have another speed",)
    return placed, ()
