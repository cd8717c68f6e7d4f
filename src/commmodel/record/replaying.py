"""A recording as what is simulated, on any platform, by any model and on other numbers of processes.

Main entry: `workload`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from commmodel.arguments import Count, Positive, finite
from commmodel.choices import ProblemGrowth
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.record.actions import RecordedActions
from commmodel.record.files import Recording
from commmodel.signatures import checked
from commmodel.simulate.operations import Program
from commmodel.simulate.scenario import Place, Workload
from commmodel.simulate.scenario.workloads import on_hosts
from commmodel.units import counted


@checked
def workload(
    place: Place,
    recording: Recording,
    processes: Count | None = None,
    *,
    further: Sequence[Recording] = (),
    faster: Positive = 1.0,
    settings: CollectiveSettings | None = None,
    scaling: ProblemGrowth | None = None,
    grid: tuple[int, ...] | None = None,
) -> Workload:
    """Return the replay of a recording; its ranks compute as long as they did.

    Parameters
    ----------
    place : Place
    recording : Recording
    processes : int, optional
        By default that of the recording; for another number the program is extrapolated.
    further : sequence of Recording
        The same program on other numbers of processes: they say how it grows.
    faster : float
        How many times faster processors are than those of the recording.
    settings : CollectiveSettings, optional
        Of collectives; by default the place's.
    scaling : {"strong", "weak"}, optional
        Of one recording that is extrapolated: whether all processes together do the same work, or each of them does.
    grid : tuple of int, optional
        Of an extrapolated program, the dimensions of its grid of processes, where it has one.

    Raises
    ------
    InputError
        Where the factor is not above 0, or what a rank does on another number of processes cannot be told.
    """
    if not finite("faster", faster, 0) > 0:
        raise InputError("processors 0 times faster: give a factor above 0")
    recordings = [recording, *further]
    if processes is None and further:
        raise InputError("several recordings: give the number of `processes` on which the program is to run")
    chosen = place.settings_or(settings)
    source = next((item for item in recordings if processes in (None, item.processes)), None)
    again = partial(workload, place, recording, processes, further=further, faster=faster, scaling=scaling, grid=grid)
    if source is None and processes is not None:
        return _extrapolated(recordings, processes, faster, chosen, again, scaling=scaling, grid=grid)
    replay = source or recording
    for name, value in (("scaling", scaling), ("grid", grid)):
        if value is not None and processes is None:
            raise InputError(f"{name}: the replay has the {replay.processes} processes of the recording: leave it out")
    actions, located_actions = RecordedActions(replay), RecordedActions(replay, located=True)

    def program(_: Any, factor: float) -> Program:
        return actions.program(faster=faster * factor, settings=chosen)

    def located(_: Any, factor: float) -> Program:
        return located_actions.program(faster=faster * factor, settings=chosen)

    title = f"Replay of {replay.folder} on {counted(replay.processes, 'rank')}, collectives as {chosen.name} picks"
    facts = {"recording": str(replay.folder), "faster": faster, "chosen_by": chosen.name}

    def notes() -> list[str]:
        return [*replay.faults, *_crowded(replay, faster), *actions.notes(), *located_actions.notes()]

    return Workload(
        replay.processes, title, program, facts, notes=notes, on_hosts=on_hosts(chosen, again), located=located,
        sites=located_actions.sites,
    )  # fmt: skip


def _crowded(recording: Recording, faster: float) -> list[str]:
    return [f"{line}; `faster` makes them compute faster" for line in recording.oversubscription if faster == 1]


def _extrapolated(
    recordings: Sequence[Recording],
    processes: int,
    faster: float,
    settings: CollectiveSettings,
    again: Any,
    **how: Any,
) -> Workload:
    """Return the program of recordings on another number of processes."""
    from commmodel.simulate.extrapolation import ExtrapolatedActions, StructureModel

    sources = [RecordedActions(recording) for recording in recordings]
    actions = ExtrapolatedActions(StructureModel(sources), processes, **how)
    names = " and ".join(str(recording.folder) for recording in recordings)

    def program(_: Any, factor: float) -> Program:
        return actions.program(faster=faster * factor, settings=settings, title=f"extrapolation of {names}")

    def located(_: Any, factor: float) -> Program:
        return actions.program(faster=faster * factor, settings=settings, title=f"of {names}", located=True)

    title = f"{names} extrapolated to {counted(processes, 'rank')}, collectives as {settings.name} picks"
    facts = {
        "recordings": [str(recording.folder) for recording in recordings],
        "recorded_processes": actions.model.sizes,
        "faster": faster,
        "chosen_by": settings.name,
    }

    def notes() -> list[str]:
        lines = [line for source in sources for line in source.notes()]
        for recording in recordings:
            lines += [*recording.faults, *_crowded(recording, faster)]
        return [*actions.notes, *lines]

    return Workload(
        processes, title, program, facts, notes=notes, on_hosts=on_hosts(settings, again), located=located,
        sites=actions.sites,
    )  # fmt: skip
