"""The verb ``memory-library``: where the library is that counts what MPI allocates."""

import argparse
from typing import Any

from commmodel.cli.parsers import new_verb, print_json
from commmodel.errors import MPIEnvironmentError

__all__ = ["add"]

_EXAMPLE = "mpiexec -n 4 env LD_PRELOAD=$(commmodel memory-library) python -m commmodel.bench memory"


def add(verbs: Any) -> None:
    """Add the verb."""
    new_verb(verbs, "memory-library", _run, "where the library is that counts allocations, to be preloaded", _EXAMPLE)


def _run(asked: argparse.Namespace) -> int:
    """Print the place of the library."""
    from commmodel.bench.kernels.memory import LIBRARY

    if not LIBRARY.is_file():
        raise MPIEnvironmentError(f"{LIBRARY} was not built: allocations can be counted on Linux only")
    if asked.json:
        print_json({"library": str(LIBRARY)})
    else:
        print(LIBRARY)
    return 0
