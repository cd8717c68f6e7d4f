"""The command ``commmodel VERB``: each verb is a thin function over the module that does the work, in its own module.

Exit codes: 0 done, 1 a check did not hold, 2 wrong usage or bad input, 3 the MPI environment cannot do it. Main
entry: `main`.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from commmodel.cli.check import add as add_check
from commmodel.cli.convert import add as add_convert
from commmodel.cli.difference import add as add_difference
from commmodel.cli.fit import add as add_fit
from commmodel.cli.machines import add as add_machines
from commmodel.cli.memory_library import add as add_memory_library
from commmodel.cli.optimize import add as add_optimize
from commmodel.cli.predict import add as add_predict
from commmodel.cli.report import add as add_report
from commmodel.cli.simulate import add as add_simulate
from commmodel.cli.sweep import add as add_sweep
from commmodel.cli.tune import add as add_tune
from commmodel.cli.words import Parser
from commmodel.errors import CommModelError

__all__ = ["main", "run"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit code."""
    try:
        asked = _parser().parse_args(arguments)
        verb: Callable[[argparse.Namespace], int] = asked.verb
        code = verb(asked)
        sys.stdout.flush()  # here, where a closed pipe is expected
        return code
    except CommModelError as error:
        print(f"commmodel: {error}", file=sys.stderr)
        return error.exit_code
    except MemoryError as error:
        why = f": {error}" if str(error) else ""
        print(f"commmodel: there is not enough memory for what is asked{why}: ask for less", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output, head for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run() -> NoReturn:
    """Run the command and exit."""
    raise SystemExit(main())


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="commmodel",
        description="Models of a machine's MPI communication. To measure: mpiexec -n 2 python -m commmodel.bench",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for add in (
        add_fit,
        add_report,
        add_predict,
        add_optimize,
        add_tune,
        add_simulate,
        add_check,
        add_difference,
        add_convert,
        add_sweep,
        add_machines,
        add_memory_library,
    ):
        add(verbs)
    return parser


def _version() -> str:
    from commmodel import __version__

    return f"commmodel {__version__}"
