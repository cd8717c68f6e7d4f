"""In-tree build backend: setuptools, plus an MPI compiler where the machine has none.

Thus ``pip install .`` works without any MPI: the ``mpich`` wheel, which carries mpicc, is added to the
build requirements only if no mpicc is found.
"""

import os
import shutil

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  (a backend offers every hook of the one it extends)


def _mpi_requirements() -> list[str]:
    named = os.environ.get("MPICC") or "mpicc"
    first_program = named.split(":")[0].split()[0]
    return [] if shutil.which(first_program) else ["mpich>=4.3"]


def get_requires_for_build_wheel(config_settings=None):
    """Return what building a wheel needs beside ``build-system.requires``."""
    return build_meta.get_requires_for_build_wheel(config_settings) + _mpi_requirements()


def get_requires_for_build_editable(config_settings=None):
    """Return what an editable install needs beside ``build-system.requires``."""
    return build_meta.get_requires_for_build_editable(config_settings) + _mpi_requirements()
