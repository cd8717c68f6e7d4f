"""Recordings: any MPI program, recorded without rebuilding it.

`launch` replaces this process by a program whose calls of MPI are recorded (the verb ``commmodel record``). What one
reads from a recording: `load` it, then take its `profile` or its `matrix`, or go through the calls with
`Recording.events`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commmodel.record.files import Recording, is_recording, load
    from commmodel.record.matrices import Matrix, matrix
    from commmodel.record.profiles import Profile, profile

__all__ = ["Matrix", "Profile", "Recording", "is_recording", "load", "matrix", "profile"]

_MODULES = {
    "Matrix": "matrices", "Profile": "profiles", "Recording": "files", "is_recording": "files", "load": "files",
    "matrix": "matrices", "profile": "profiles",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
