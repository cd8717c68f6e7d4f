"""petsc4py's own test suite on simulated ranks: ``python -m benchmarks.validation.petsc4py_suite FOLDER``.

FOLDER is ``test`` of petsc4py's sources, of the version that this interpreter imports; its PETSc has the MPICH ABI.
Which share of the tests that pass under mpiexec passes simulated, on so many ranks, is told as of mpi4py's: see
``mpi4py_suite.py``. The exit code is 1 where the share is below 97 %.
"""

import argparse
from pathlib import Path

from benchmarks.validation import mpi4py_simulated


def main() -> None:
    """Run the suite both ways and print a table for each number of ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="test of petsc4py's sources")
    parser.add_argument("--simulated", type=int, nargs="+", default=[1, 2, 4], help="numbers of ranks (1 2 4)")
    parser.add_argument("--group", type=int, default=8, help="modules in one launch (%(default)s)")
    parser.add_argument("--include", default="", help="regular expression of the modules to run (all)")
    parser.add_argument("--seconds", type=float, default=300, help="a launch may take (%(default)s)")
    parser.add_argument("--reference", type=Path, help="file that keeps the verdicts under mpiexec (none)")
    options = parser.parse_args()
    if not (options.folder / "runtests.py").is_file():
        raise SystemExit(f"{options.folder}: not petsc4py's folder of tests: runtests.py is missing")
    options.script, options.left_out, options.left_out_cases = "runtests.py", r"(?!)", r"(?!)"  # nothing
    raise SystemExit(0 if mpi4py_simulated.compare(options) else 1)


if __name__ == "__main__":
    main()
