"""The loops that call MPI, between two ticks of a clock.

Each module here is built once for each MPI ABI (``pingpong.mpich.abi3.so``); asking for one,
``from commmodel._core.mpi import pingpong``, loads the build whose ABI is that of the running mpi4py.
"""

import ctypes
import os
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

_MODULES = frozenset((
    "answer", "burst", "clock_sync", "collective", "datatype", "exchange_requests", "halo", "matching", "memory",
    "one_sided", "overlap_templates", "persistent", "pingpong", "threads", "trains", "unexpected",
))  # fmt: skip


def mpi_abi() -> str:
    """Return the MPI ABI of the loaded mpi4py: ``mpich``, ``openmpi`` or ``mpiabi`` (the standard's own)."""
    import mpi4py

    if tuple(map(int, mpi4py.__version__.split(".")[:2])) < (4, 1):
        raise ImportError(f"mpi4py {mpi4py.__version__} is too old: pip install -U 'mpi4py>=4.1'")
    from mpi4py import MPI

    standard_abi = getattr(MPI, "Get_abi_version", lambda: (-1, -1))()
    if standard_abi[0] >= 1:
        return "mpiabi"
    return "mpich" if MPI._sizeof(MPI.Comm) == 4 else "openmpi"


class _DlInfo(ctypes.Structure):
    """What dladdr says of an address."""

    _fields_ = (("path", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("address", ctypes.c_void_p))  # fmt: skip


@cache
def _share_library() -> None:
    """Let the modules here find the functions of the library that mpi4py has loaded.

    They are not linked with MPICH's, whose file has other names at other sites: libmpi.so.12, libmpich.so.12.
    """
    from mpi4py import MPI

    place = _DlInfo()
    function = ctypes.cast(ctypes.CDLL(MPI.__file__).MPI_Initialized, ctypes.c_void_p)
    if ctypes.CDLL(None).dladdr(function, ctypes.byref(place)) and place.path:
        ctypes.CDLL(os.fsdecode(place.path), os.RTLD_GLOBAL | os.RTLD_NOLOAD | os.RTLD_NOW)


def _load(name: str) -> ModuleType:
    full_name, folder, abi = f"{__name__}.{name}", Path(__file__).parent, mpi_abi()
    if abi == "mpich":
        _share_library()
    for path in (folder / f"{name}.{abi}{suffix}" for suffix in EXTENSION_SUFFIXES):
        spec = spec_from_file_location(full_name, path) if path.is_file() else None
        if spec and spec.loader:
            module = sys.modules[full_name] = module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
            except BaseException:  # whatever it was: a module that is half made must not stay
                del sys.modules[full_name]
                raise
            return module
    built = sorted(path.name for path in folder.glob(f"{name}.*.so"))
    raise ImportError(
        f"{full_name} was not built for the MPI ABI {abi!r} of the running mpi4py "
        f"(built: {', '.join(built) or 'none'}); install commmodel again with MPICC set to that library's mpicc"
    )


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        module = globals()[name] = _load(name)
        return module
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
