"""Recordings: any MPI program, recorded without rebuilding it.

`launch` makes this process a program whose calls of MPI are recorded (the verb ``commmodel record``). `CALLS` lists
the calls of MPI that a recording holds.
"""

from commmodel.record.calls import CALLS, Call
from commmodel.record.launch import launch

__all__ = ["CALLS", "Call", "launch"]
