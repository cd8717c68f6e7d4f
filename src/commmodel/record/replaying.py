"""A recording as what is simulated, on any platform and by any model. Main entry: `workload`."""

from functools import partial
from typing import Any

from commmodel.arguments import Count, Positive, finite
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.record.actions import RecordedActions
from commmodel.record.files import Recording
from commmodel.signatures import checked
from commmodel.simulate.operations import Program
from commmodel.simulate.scenario import Place, Workload
from commmodel.simulate.scenario.workloads import on_hosts


@checked
def workload(
    place: Place,
    recording: Recording,
    processes: Count | None = None,
    *,
    faster: Positive = 1.0,
    settings: CollectiveSettings | None = None,
) -> Workload:
    """Return the replay of a recording; its ranks compute as long as they did.

    Parameters
    ----------
    place : Place
    recording : Recording
    processes : int, optional
        Must be that of the recording where it is given.
    faster : float
        How many times faster processors are than those of the recording.
    settings : CollectiveSettings, optional
        Of collectives; by default the place's.

    Raises
    ------
    InputError
        Where the number of processes is another, or the factor is not above 0.
    """
    if processes not in (None, recording.processes):
        raise InputError(
            f"{recording.folder} has {recording.processes} processes, and so has its replay: leave `processes` out; "
            f"for {processes}, record the program again: mpiexec -n {processes} commmodel record ..."
        )
    if not finite("faster", faster, 0) > 0:
        raise InputError("processors 0 times faster: give a factor above 0")
    chosen = place.settings_or(settings)
    actions = RecordedActions(recording)

    located_actions = RecordedActions(recording, located=True)

    def program(_: Any, factor: float) -> Program:
        return actions.program(faster=faster * factor, settings=chosen)

    def located(_: Any, factor: float) -> Program:
        return located_actions.program(faster=faster * factor, settings=chosen)

    ranks = "one rank" if recording.processes == 1 else f"{recording.processes} ranks"
    title = f"Replay of {recording.folder} on {ranks}, collectives as {chosen.name} picks"
    facts = {"recording": str(recording.folder), "faster": faster, "chosen_by": chosen.name}

    def notes() -> list[str]:
        crowded = (f"{line}; `faster` makes them compute faster" for line in recording.oversubscription if faster == 1)
        return [*recording.faults, *crowded, *actions.notes(), *located_actions.notes()]

    again = partial(workload, place, recording, processes, faster=faster)
    count = recording.processes
    return Workload(
        count, title, program, facts, notes=notes, on_hosts=on_hosts(chosen, again), located=located,
        sites=located_actions.sites,
    )  # fmt: skip
