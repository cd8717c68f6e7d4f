"""What mpi4py would load in this interpreter: its module and, where it is found by looking, the MPI library.

Run as a script by interpreters that need not have commmodel, imported by ours. Main entry: `find`.
"""

import re
import sys
from importlib.util import find_spec


def find() -> tuple[str | None, str | None]:
    """Return the paths of the module ``mpi4py.MPI`` and of the MPI library that it has opened to choose it.

    `RuntimeError` by mpi4py, which finds no MPI library.
    """
    try:
        spec = find_spec("mpi4py.MPI")
    except ModuleNotFoundError:
        return None, None
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        opened = re.search(r"/\S*/libmpi(?:ch|_abi)?\.so\S*$", maps.read(), re.MULTILINE)
    return spec.origin if spec else None, opened[0] if opened else None


if __name__ == "__main__":
    try:
        print(*(path or "" for path in find()), sep="\n")
    except RuntimeError as error:
        sys.exit(str(error).partition("\n")[0])
