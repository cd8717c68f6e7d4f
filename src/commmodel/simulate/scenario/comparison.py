"""A workload by several models, and beside measured timelines. Main entry: `side_by_side`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import msgspec

from commmodel.arguments import Positive
from commmodel.choices import ProgramModel, ScheduleModel, ScheduleRules
from commmodel.errors import InputError
from commmodel.frames import Tabular
from commmodel.signatures import checked
from commmodel.simulate.findings import Finding
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.scenario.places import Place
from commmodel.simulate.scenario.preparation import Change, Ranks, Scenario, prepare
from commmodel.simulate.scenario.scale import Scale
from commmodel.simulate.scenario.workloads import Workload
from commmodel.simulate.summary import RunSummary, loads_of, summary_as_json, summary_of
from commmodel.simulate.timeline import Timeline
from commmodel.values import OneLine

if TYPE_CHECKING:
    from commmodel.simulate.link_load import LinkLoad


class Preparation(TypedDict, total=False):
    """How a workload is prepared: arguments of `prepare`."""

    mapping: Ranks | None
    hosts: int | None
    speed: float | None
    rules: ScheduleRules
    scale: Scale | None


@dataclass(frozen=True, repr=False)
class ScenarioRuns(Tabular, OneLine):
    """Simulations of a workload by several models, beside measured timelines of it."""

    scenarios: tuple[Scenario, ...]
    results: tuple[SimulationResult, ...]
    """Of each scenario. Ranks that wait for ever are in `blocked` of it."""
    measured: tuple[Timeline, ...] = ()

    @property
    def workload(self) -> Workload:
        """The workload, on the hosts of its ranks."""
        return self.scenarios[0].workload

    @property
    def title(self) -> str:
        """What was simulated, where, and how ranks lie on hosts."""
        placements = dict.fromkeys(scenario.placement for scenario in self.scenarios if scenario.placement)
        return ", ".join([self.workload.title, self.scenarios[0].place.name, *placements])

    @property
    def notes(self) -> list[str]:
        """Notes on the results."""
        lines = dict.fromkeys(note for scenario in self.scenarios for note in scenario.notes)
        return [*lines, *self.workload.notes()]

    @property
    def blocked(self) -> list[tuple[str, SimulationResult]]:
        """Model and result of each deadlock."""
        pairs = zip(self.scenarios, self.results, strict=True)
        return [(scenario.model, result) for scenario, result in pairs if result.blocked]

    @property
    def findings(self) -> list[Finding]:
        """Wrong uses of MPI in any of the runs."""
        return [*dict.fromkeys(finding for result in self.results for finding in result.findings)]

    @property
    def timelines(self) -> list[Timeline]:
        """Timelines of what was recorded, and the measured ones."""
        pairs = zip(self.scenarios, self.results, strict=True)
        return [*(Timeline.of(result, scenario.model) for scenario, result in pairs), *self.measured]

    @property
    def summaries(self) -> list[RunSummary]:
        """What ranks spent their time on, by each model and in each measured timeline."""
        pairs = zip(self.scenarios, self.results, strict=True)
        simulated = [
            RunSummary(scenario.model, result.seconds, result.ends, result.spent, result,
                   () if scenario.platform is None else scenario.platform.link_names,
                   None if scenario.platform is None else scenario.platform.capacity)
            for scenario, result in pairs
        ]  # fmt: skip
        return [*simulated, *map(summary_of, self.measured)]

    @checked
    def loads(self, seconds: Positive) -> "list[list[LinkLoad]]":
        """Return for each model the load over time of the busiest links, on a time axis of so many seconds."""
        return [
            []
            if scenario.platform is None or scenario.hosts is None
            else loads_of(summary, scenario.hosts, scenario.platform.routing().route, seconds)
            for scenario, summary in zip(self.scenarios, self.summaries, strict=False)
        ]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns model, seconds, messages and events; None where there is no such number."""
        rows = self._rows()
        return {name: [row[name] for row in rows] for name in ("model", "seconds", "messages", "events")}

    def as_json(self) -> dict[str, Any]:
        """Return what ``commmodel simulate --json`` prints: the first model's result, the others in ``compared``."""
        first, *beside = self._rows()
        place = self.scenarios[0].place
        return {
            **first,
            "platform": place.name,
            "warnings": [] if place.machine is None else place.machine.warnings,
            "work": {"title": self.workload.title, **self.workload.facts},
            "compared": beside,
            "blocked": [
                {"model": model, **msgspec.to_builtins(rank), "says": str(rank)}
                for model, result in self.blocked
                for rank in result.blocked
            ],
            "findings": [{**msgspec.to_builtins(finding), "says": str(finding)} for finding in self.findings],
        }

    def _rows(self) -> list[dict[str, Any]]:
        rows = [summary_as_json(summary) for summary in self.summaries]
        endless = {model for model, _ in self.blocked}
        return [row | ({"seconds": None} if row["model"] in endless else {}) for row in rows]


@checked
def side_by_side(
    place: Place,
    workload: Workload,
    model: ProgramModel | ScheduleModel | None = None,
    compare: Sequence[ProgramModel | ScheduleModel | Timeline] = (),
    *,
    record: Literal["none", "first", "all"] = "none",
    change: Change | None = None,
    **how: Unpack[Preparation],
) -> ScenarioRuns:
    """Simulate a workload by one model and by others, and set it beside measured timelines.

    Parameters
    ----------
    place : Place
    workload : Workload
    model : str, optional
        By default the place's.
    compare : sequence of str or Timeline
        Further models, and timelines of the same number of ranks.
    record : {"none", "first", "all"}
        Of which models the timeline is kept.
    change : callable, optional
        Makes the program that is simulated of the workload's, as of `Scenario.run`.
    **how
        mapping, hosts, speed, rules and scale of `commmodel.simulate.scenario.prepare`.

    Raises
    ------
    InputError
        If a model is there twice, or a timeline is of other ranks; as of `commmodel.simulate.scenario.prepare`.

    Examples
    --------
    >>> from commmodel.simulate.scenario import place, side_by_side, workloads
    >>> graphene = place("graphene")
    >>> halo = workloads.exchange(graphene, "halo", 65536, 16)
    >>> runs = side_by_side(graphene, halo, compare=["fluid", "loggp"])
    >>> runs.to_dict()["model"]
    ['hybrid', 'fluid', 'loggp']
    >>> runs.as_json()["platform"], [len(loads) for loads in runs.loads(seconds=1e-3)]
    ('graphene', [0, 0, 0])
    """
    measured = [part for part in compare if isinstance(part, Timeline)]
    models = [model, *(part for part in compare if not isinstance(part, Timeline))]
    scenarios = [prepare(place, workload, name, **how) for name in models]
    if len({scenario.model for scenario in scenarios}) < len(scenarios):
        twice = "it would be set beside itself, name another model"
        raise InputError(f"compare {scenarios[0].model}: {twice}", "compare")
    for timeline in measured:
        if timeline.processes != workload.processes:
            problem = f"a timeline of {timeline.processes} ranks beside a program of {workload.processes}"
            mend = "measure and simulate the same number (`processes`)"
            raise InputError(f"compare {timeline.name}: {problem}: {mend}", "compare")
    results = [
        scenario.run(
            record=record == "all" or (record == "first" and scenario is scenarios[0]), deadlock="return", change=change
        )
        for scenario in scenarios
    ]
    return ScenarioRuns(tuple(scenarios), tuple(results), tuple(measured))
