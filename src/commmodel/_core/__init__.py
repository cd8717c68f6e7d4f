"""The compiled core: loops whose timing matters, and the simulator's engines. No policy here.

The folder is the subject and the build rule: what is in ``mpi`` is compiled once for each MPI ABI, what is in
``preload`` is a library to preload into any program, all else is compiled once and knows no MPI.
"""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from commmodel.errors import MissingPackageError

if not any(file.name.endswith((*EXTENSION_SUFFIXES,)) for file in Path(__file__).parent.glob("*/*")):
    raise MissingPackageError(
        f"{Path(__file__).parents[1]}: sources whose compiled core is not built: leave this folder, or pip install ."
    )
