"""Scenarios: a workload on a platform or a machine, by a model; the work of ``commmodel simulate``.

::

    places       where it runs: platform, machine and parameters, and what holds where nobody names a model
    workloads    what runs: a collective, an exchange, an application kernel, a replayed trace, a GOAL schedule
    scale        links and cores that are better than they are
    preparation  both together, by a model: a scenario that is ready to run
    comparison   one workload by several models, beside measured timelines
    jobs         several workloads at once on one platform
    expansion    programs that are kept in memory, for many simulations of one workload

Main entries: `place`, `workloads`, `prepare`, `Scenario.run`, `side_by_side`, `run_jobs`. Many places at once:
`commmodel.simulate.what_if`.

A broadcast on the links of a published platform, by the hybrid model of the machine of the same name, and by LogGPS:

>>> from commmodel.collectives import Problem
>>> from commmodel.simulate.scenario import place, prepare, workloads
>>> graphene = place("graphene")
>>> bcast = workloads.collective(graphene, "bcast", Problem(16, 1 << 20))
>>> prepare(graphene, bcast).workload.title
'Bcast of 1 MiB on 16 ranks: two-level-pipelined, as openmpi picks'
>>> for model in (None, "loggps"):
...     scenario = prepare(graphene, bcast, model)
...     print(f"{scenario.model}: {1e3 * scenario.run().seconds:.1f} ms")
hybrid: 30.9 ms
loggps: 50.5 ms
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.simulate.scenario import workloads
from commmodel.simulate.scenario.places import (
    Place,
    Where,
    are_parameters,
    machine_of_parameters,
    parse_parameters,
    place,
)
from commmodel.simulate.scenario.preparation import FLOW_MODELS, PROGRAM_MODELS, SCHEDULE_MODELS, Scenario, prepare
from commmodel.simulate.scenario.scale import Scale, parse_scales
from commmodel.simulate.scenario.workloads import Workload

if TYPE_CHECKING:
    from commmodel.simulate.scenario import jobs
    from commmodel.simulate.scenario.comparison import ScenarioRuns, side_by_side
    from commmodel.simulate.scenario.jobs import JobRuns, run_jobs
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "FLOW_MODELS", "PROGRAM_MODELS", "SCHEDULE_MODELS", "JobRuns", "Place", "Scale", "Scenario", "ScenarioRuns",
    "Where", "Workload", "are_parameters", "jobs", "machine_of_parameters", "parse_parameters", "parse_scales", "place",
    "prepare", "run_jobs", "side_by_side", "workloads",
]  # fmt: skip
