"""The command ``commmodel VERB``: each verb is a thin function over the module that does the work, in its own module.

Exit codes: 0 done, 1 a check did not hold, 2 wrong usage or bad input, 3 the MPI environment cannot do it, 130
interrupted. A reader that closes our output early is no fault: the command goes on in silence, and its exit code says
how it ended. Main entry: `main`.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from commmodel.cli.check import add as add_check
from commmodel.cli.compare import add as add_difference
from commmodel.cli.convert import add as add_convert
from commmodel.cli.fit import add as add_fit
from commmodel.cli.machines import add as add_machines
from commmodel.cli.memory_library import add as add_memory_library
from commmodel.cli.optimize import add as add_optimize
from commmodel.cli.parsers import Parser, refuse_inputs_as_outputs
from commmodel.cli.predict import add as add_predict
from commmodel.cli.report import add as add_report
from commmodel.cli.simulate import add as add_simulate
from commmodel.cli.sweep import add as add_sweep
from commmodel.cli.tune import add as add_tune
from commmodel.errors import CommModelError
from commmodel.streams import guarded

__all__ = ["main", "run"]

_INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ends


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit code."""
    try:
        with guarded():
            return _carry_out(arguments)
    except CommModelError as error:
        return _fail(str(error), error.exit_code)
    except MemoryError as error:
        return _fail(f"there is not enough memory for what is asked{_because(error)}: ask for less")
    except RecursionError:
        return _fail("what is read is nested too deeply: make it flatter")
    except KeyboardInterrupt as error:
        return _fail(f"interrupted{_because(error)}", _INTERRUPTED)
    except UnicodeError as error:
        return _fail(f"a name or a text is not UTF-8: {error}: rename or convert it")
    except OSError as error:  # that nobody foresaw where it arose
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}")


def _carry_out(arguments: Sequence[str] | None) -> int:
    asked = _parser().parse_args(arguments)
    refuse_inputs_as_outputs(asked)
    verb: Callable[[argparse.Namespace], int] = asked.verb
    return verb(asked)


def _because(error: BaseException) -> str:
    return f": {error}" if str(error) else ""


def _fail(problem: str, code: int = 2) -> int:
    """Say what is wrong, where there is still somebody to hear it."""
    with suppress(OSError):
        print(f"commmodel: {problem}", file=sys.stderr, flush=True)
    return code


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
