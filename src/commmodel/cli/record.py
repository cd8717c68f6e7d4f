"""The verb ``record``: any MPI program, with its calls of MPI recorded."""

import argparse
from typing import Any

from commmodel.errors import CommModelError, InputError

_EXAMPLE = "mpiexec -n 4 commmodel record -o recording -- python app.py"


def add(verbs: Any) -> None:
    """Add the verb."""
    purpose = "run a program and record its MPI calls: on the ranks of mpiexec or srun"
    record = verbs.add_parser(
        "record", help=purpose, description=purpose, epilog=f"example: {_EXAMPLE}",
        usage="commmodel record [-o FOLDER] [--force] -- PROGRAM [ARGUMENT ...]",
    )  # fmt: skip
    record.add_argument(
        "-o", "--output", dest="folder", metavar="FOLDER", default="recording",
        help="folder to make, which must not exist (default: %(default)s)",
    )  # fmt: skip
    record.add_argument("--force", dest="replace", action="store_true", help="replace an existing recording")
    record.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM", help="the program and its arguments")
    record.set_defaults(verb=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Become the program."""
    from commmodel.record.launching import launch, quiet_but_first

    command = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    try:
        if not command:
            raise InputError(f"no program to record: {_EXAMPLE}")
        launch(command, arguments.folder, force=arguments.replace)
    except CommModelError as error:
        return quiet_but_first(error)
