"""Run a script of Python with all that a rank says in a file of its own.

``python rank_report.py REPORT SCRIPT ARGUMENTS`` under mpiexec, or as a program that is simulated: rank 3 writes
``REPORT.3``.
"""

import os
import runpy
import sys
from contextlib import suppress


def rank() -> int:
    """Return this process's rank, before MPI begins."""
    for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK"):
        if name in os.environ:
            return int(os.environ[name])
    return int(os.environ["COMMMODEL_ONLINE"].partition(":")[2])


def main() -> None:
    """Run the script."""
    report = os.open(f"{sys.argv[1]}.{rank()}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(report, stream)
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    with suppress(SystemExit):  # a rank that fails does not end the others
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
