"""A program that runs while it is simulated, as a workload. Main entry: `workload`."""

import math
import os
import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from commmodel.arguments import Count, finite, rank_count
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate.findings import Finding
from commmodel.simulate.online.collectives import Collectives
from commmodel.simulate.online.computation import RecordedComputation
from commmodel.simulate.online.live import LiveProgram, Outlets
from commmodel.simulate.online.processes import executable, library
from commmodel.simulate.operations import Program
from commmodel.simulate.scenario import Place, Workload
from commmodel.simulate.scenario.workloads import on_hosts
from commmodel.simulate.work.block_streams import NOTHING


@checked
def workload(
    place: Place,
    command: Sequence[str],
    processes: Count | None = None,
    *,
    computation: float | RecordedComputation = 1.0,
    settings: CollectiveSettings | None = None,
    outlets: Outlets | None = None,
    universe: Count | None = None,
    name: str | None = None,
) -> Workload:
    """Return a program that runs, unchanged, while it is simulated.

    Parameters
    ----------
    place : Place
    command : sequence of str
        The program and its arguments: one of Python, or one that is linked with MPICH's ABI.
    processes : int, optional
        Number of ranks; by default that of the place's cores.
    computation : float or RecordedComputation
        Simulated seconds for each second that a rank computes here, 0 or more; or the computation of a recording of the
        same program (`commmodel.record.computation`).
    settings : CollectiveSettings, optional
        Of collectives; by default the place's.
    outlets : Outlets, optional
        Where the program's standard output goes, and what is said of its memory.
    universe : int, optional
        Number of ranks with those that the program may spawn, placed on the hosts after it; by default none.
    name : str, optional
        Of the program in titles; by default its words.

    Raises
    ------
    InputError
        Where there is no such program, or an argument is wrong.
    MPIEnvironmentError
        Where our MPI library is not built.

    Examples
    --------
    >>> from commmodel.simulate.scenario import place, prepare
    >>> program = workload(place("graphene"), ["python", "app.py"], 64, computation=0.0)
    >>> program.title
    'python app.py on 64 ranks'

    ``prepare(place("graphene"), program).run().seconds`` starts it, and is its simulated time.
    """
    if not command:
        raise InputError("no program to run")
    recorded = computation if isinstance(computation, RecordedComputation) else None
    factor = computation.factor if isinstance(computation, RecordedComputation) else computation
    finite("computation", factor, 0)
    library()
    if outlets is None or outlets.forks is None:
        executable(command[0])
    count = rank_count(place.processes(processes))
    if recorded is not None and recorded.processes != count:
        raise InputError(f"{recorded.source} has {recorded.processes} ranks, not {count}: record {count}, or give -p")
    most = count if universe is None else rank_count(universe, name="universe")
    if most < count:
        raise InputError(f"a universe of {most} ranks for a program of {count}: give {count} or more")
    notes: list[str] = []
    findings: list[Finding] = []
    sites: list[str] = []
    chosen = place.settings_or(settings)
    words = name or shlex.join(command)

    latest: dict[tuple[float, ...], Collectives] = {}

    def program(speeds: Any, faster: float) -> Program:
        def collectives() -> Collectives:
            key = tuple(speeds)
            latest[key] = Collectives(most, key, chosen, latest.get(key))
            return latest[key]

        live = LiveProgram(command, count, collectives, factor / faster, recorded, outlets, most)
        live.storage = place.storage
        live.notes, live.findings, live.sites = notes, findings, sites
        live.has_buffers = place.buffering is None or 0 < place.buffering < math.inf  # else nothing depends on them
        return Program(NOTHING, np.zeros(most + 1, dtype=np.int64), live, os.path.basename(command[0]))

    ranks = "one rank" if count == 1 else f"{count} ranks"
    facts = {"program": words, "compute": factor, "chosen_by": chosen.name}
    if recorded is not None:
        facts["computation"] = recorded.source

    again = partial(workload, place, command, processes, computation=computation, outlets=outlets, universe=universe,
                    name=name)  # fmt: skip
    title = f"{words} on {ranks}"
    return Workload(
        most, title, program, facts, notes=lambda: notes, findings=lambda: findings, on_hosts=on_hosts(chosen, again),
        runs=True, sites=lambda: sites,
    )  # fmt: skip
