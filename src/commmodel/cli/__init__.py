"""The command ``commmodel VERB``: each verb is a thin function over the module that does the work, in its own module.

Exit codes: 0 done, 1 a check did not hold, 2 wrong usage or bad input, 3 the MPI environment cannot do it, 130
interrupted, 143 terminated. A reader that closes our output early is no fault: the command goes on in silence, and its
exit code says how it ended. Main entry: `main`.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from commmodel.cli.parsers import OPTIONS, Parser, as_typed, options_of, refuse_outputs, tell_findings
from commmodel.errors import CommModelError, blamed
from commmodel.interruption import ending
from commmodel.progress import ProgressLine
from commmodel.streams import discard, guarded

__all__ = ["main", "run"]

_VERBS = (
    "record", "fit", "report", "predict", "optimize", "tune", "simulate", "place", "study", "check", "compare",
    "guard", "convert", "sweep", "list",
)  # fmt: skip
"""Verbs, in the order of the help text: modules of this package."""
_BENCH = "bench"
_LAUNCHING = ("bench", "record", "sweep")
"""Verbs that start or measure programs of the user, whose environment must stay as it is."""


def main(words: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit code."""
    words = sys.argv[1:] if words is None else words
    if [*words[:1]] == [_BENCH]:  # its words are parsed on every rank, and rank 0 speaks for all
        from commmodel.bench.command import run as bench

        return bench(words[1:])
    try:
        with guarded():
            return _run(words)
    except CommModelError as error:
        tell_findings(getattr(error, "findings", ()))
        return _fail(_with_options(error), error.exit_code)
    except MemoryError as error:
        return _fail(f"there is not enough memory for what is asked{_because(error)}: ask for less")
    except RecursionError:
        return _fail("what is read is nested too deeply: make it flatter")
    except KeyboardInterrupt as error:
        word, code = ending(error)
        return _fail(f"{word}{_because(error)}", code) if _speaks() else code
    except UnicodeError as error:
        if line := blamed(error):
            return _fail(line)
        return _fail(f"a name or a text is not UTF-8: {error}: rename or convert it")
    except OSError as error:  # that nobody foresaw where it arose
        if line := blamed(error):
            return _fail(line)
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}")
    except Exception as error:
        if line := blamed(error):  # of an algorithm, a reader or another part of the user's
            return _fail(line)
        raise


def _speaks() -> bool:
    """Return whether nobody else speaks for this process, as rank 0 does where a launcher ends the others."""
    from commmodel.launchers import rank

    return rank() == 0


def _run(words: Sequence[str]) -> int:
    parser = _parser(words)
    OPTIONS.clear()
    OPTIONS.update(options_of(parser))
    arguments = parser.parse_args(words)
    arguments.words = ("commmodel", *words)
    refuse_outputs(arguments)
    verb: Callable[[argparse.Namespace], int] = arguments.verb
    return verb(arguments)


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """Return the arguments of a command."""
    arguments = _parser(words).parse_args(words)
    arguments.words = ("commmodel", *words)
    return arguments


def _with_options(error: CommModelError) -> str:
    """Return an error's message with options for parameters: the first word, and those in `...`."""
    message, name = str(error), getattr(error, "parameter", "").partition("[")[0]
    if name or "`" in message:
        message = re.sub(r"`(\w+)`", r"\1", as_typed(OPTIONS.get(name, name) + message.removeprefix(name)))
    return message


def _because(error: BaseException) -> str:
    return f": {error}" if str(error) else ""


def _fail(problem: str, code: int = 2) -> int:
    """Print an error on standard error, unless that is closed."""
    try:
        print(f"commmodel: {problem}", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)
    return code


def run() -> NoReturn:
    """Run the command and exit.

    OpenBLAS, of numpy and scipy, starts a thread for each core as it is loaded. Matrices here are small, so it gets
    one thread, unless the user says otherwise.
    """
    if not sys.argv[1:] or sys.argv[1] not in _LAUNCHING:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    ProgressLine.at_command = True
    raise SystemExit(main())


def _parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the verb that is typed, or where there is none, of all verbs."""
    parser = Parser(
        words,
        prog="commmodel",
        description="Models of a machine's MPI communication: measure, fit, predict, optimise, simulate, guard.",
        epilog="example: mpiexec -n 2 commmodel bench && commmodel fit results.jsonl",
    )
    parser.add_argument("--version", action="version", version=_version())
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    verbs.add_parser(_BENCH, help="measure on the ranks that mpiexec or srun starts (= python -m commmodel.bench)")
    for verb in parser.typed_alone(_VERBS):
        import_module(f"{__name__}.{verb}").add(verbs)
    return parser


def _version() -> str:
    from commmodel import __version__

    return f"commmodel {__version__}"
