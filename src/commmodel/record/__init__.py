"""Recordings: any MPI program, recorded without rebuilding it.

`launch` makes this process a program whose calls of MPI are recorded (the verb ``commmodel record``). `CALLS` lists
the calls of MPI that a recording holds. Of a recording, `load` it, then take its `profile` or its `matrix`, or go
through the calls with `Recording.events`; what these need is loaded at their first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from commmodel.record.calls import CALLS, Call
from commmodel.record.launch import launch

if TYPE_CHECKING:
    from commmodel.record.files import Recording, is_recording, load
    from commmodel.record.matrices import Matrix, matrix
    from commmodel.record.profiles import Profile, profile

__all__ = [
    "CALLS", "Call", "Matrix", "Profile", "Recording", "is_recording", "launch", "load", "matrix", "profile",
]  # fmt: skip

_MODULES = {
    "Matrix": "matrices", "Profile": "profiles", "Recording": "files", "is_recording": "files", "load": "files",
    "matrix": "matrices", "profile": "profiles",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
