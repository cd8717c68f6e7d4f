"""GOAL schedules: operations of ranks with dependencies, read and written as text or binary, or made of collectives.

The Group Operation Assembly Language (Hoefler, Siebert and Lumsdaine 2009) is what LogGOPSim simulates, and what its
generators and trace converters write. Unlike in a program (`commmodel.simulate.operations`), what does not depend on
one another may happen in any order, on several processors and NICs. `docs/reference/goal.md` gives the format.
Main entries: `load`, `dump`; `from_collective`; `commmodel.simulate.delays.run_schedule` simulates a schedule.
"""

from commmodel._core.common.codes import GoalKind as Kind
from commmodel.lazy import attributes
from commmodel.simulate.goal.conversions import from_collective, from_program
from commmodel.simulate.goal.files import dump, is_schedule, load
from commmodel.simulate.goal.schedule import DEPENDENCY, GOAL_OPERATION, GoalSchedule
from commmodel.simulate.goal.text_form import parse, text

__all__ = [
    "DEPENDENCY", "GOAL_OPERATION", "GoalSchedule", "Kind", "dump", "from_collective", "from_program", "is_schedule",
    "load", "parse", "text",
]  # fmt: skip
__dir__ = attributes(__name__)[1]
