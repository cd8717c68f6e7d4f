"""Simulation of programs on platforms, from the time of one message to that of a full program.

::

    questions    one question, one call: a collective, an exchange, a trace, a program, a function on a place
    operations   what ranks do, as streams of operations: the form of every program
    work         programs from collectives, exchanges, generators, and traces
    platform     hosts, links and the routes between them: built, read from TOML or from XML
    network      how messages behave on links: parameters of the flow-level models
    run          the one way to simulate a program by any model: `run`
    flows        the hybrid, the fluid and SMPI's model: messages share links
    delays       LogP, LogGP, LogGPS: messages that only take their time; goal: schedules of LogGOPS
    from_machine network and platform of a measured machine
    result       the result of a simulation; findings: wrong uses of MPI in it
    timeline     what each rank did when, for viewers
    critical_path  what decides the time of a run
    scenario     a workload on a platform by a model; online: programs that run
    study        many scenarios that a file lists, in parts that resume
    what_if      many scenarios; sizes: one on several numbers of processes;
                 sensitivity: one with dearer and cheaper messages and cores

Main entries: `collective` and the other questions; `run`, for programs of one's own. GOAL schedules are another kind of
work, which `delays.run_schedule` runs. Modules that are not needed at once are loaded at their first use.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.simulate.delays import DelayModel, DelayParameters
from commmodel.simulate.findings import Finding
from commmodel.simulate.network import SMPI, Network, fluid
from commmodel.simulate.operations import OPERATION, Code, Program
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.run import run

if TYPE_CHECKING:
    from commmodel.simulate import (
        critical_path,
        from_machine,
        goal,
        gradient,
        noise,
        online,
        platform,
        scenario,
        sensitivity,
        sizes,
        study,
        timeline,
        traces,
        what_if,
        work,
    )
    from commmodel.simulate.questions import application, collective, command, exchange, function, jobs, replay
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "OPERATION", "SMPI", "Code", "DelayModel", "DelayParameters", "Finding", "Network", "Program", "SimulationResult",
    "application", "collective", "command", "critical_path", "exchange", "fluid", "from_machine", "function", "goal",
    "gradient", "jobs", "noise", "online", "platform", "replay", "run", "scenario", "sensitivity", "sizes", "study",
    "timeline", "traces", "what_if", "work",
]  # fmt: skip
