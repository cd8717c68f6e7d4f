"""What all verbs share: their parsers, words that become numbers, and how they print."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from commmodel.errors import InputError, MissingPackageError
from commmodel.files import refuse_inputs
from commmodel.units import parse_whole

__all__ = [
    "Parser", "add_format", "add_thread_level", "known_machine", "new_verb", "note", "parsed", "plain_number",
    "print_json", "refuse_functions", "refuse_inputs_as_outputs", "refuse_other_levels", "show", "warn_of",
    "whole_number", "wrote_page",
]  # fmt: skip

_MOST_OF_A_LIST = 1 << 24
_OUTPUTS = ("output", "trace")
_INPUTS = (
    "after", "baseline", "before", "compare", "exchange", "expectations", "files", "goal", "machine", "mapping",
    "parameters", "platform", "replay", "results", "selector", "validate",
)  # fmt: skip
"""Options, by their names in the parsed command, whose words may be files that are read."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise it."""
        raise InputError(f"{message} (see {self.prog} --help)")


def new_verb(verbs: Any, name: str, function: Callable[[argparse.Namespace], int], what: str, example: str) -> Any:
    """Return the parser of a verb, with --json in it."""
    parser = verbs.add_parser(name, help=what, description=what, epilog=f"example: {example}", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(verb=function)
    return parser


def add_format(parser: Any) -> None:
    """Add the option that says of which suite the measurements are."""
    parser.add_argument(
        "--format", default="auto",
        help="of the measurements: auto, commmodel, osu, imb, nodecomm, csv, extrap-json or extrap-text (auto)",
    )  # fmt: skip


def known_machine(name_or_path: str) -> Any:
    """Return a machine by its name or from its file; one fitted on the fly where the file holds measurements."""
    from commmodel import machine

    if not name_or_path.endswith(".jsonl"):
        return machine.load(name_or_path)
    from commmodel import formats
    from commmodel.fit import fit_machine

    measurements = formats.load(name_or_path)
    note(measurements)
    refuse_functions(measurements)
    return fit_machine(measurements)


def refuse_functions(measurements: Any) -> None:
    """Refuse, as the base of a machine, what holds another program's functions only."""
    from commmodel.results import Function

    records = [*measurements.records]
    if records and all(isinstance(record.configuration, Function) for record in records):
        problem = "only functions of another program, and no messages of which a machine is made: see commmodel check"
        raise InputError(problem)


def parsed(option: str, text: str | None, parse: Callable[[str], Any]) -> Any:
    """Return what a word means, or nothing where there is none; errors name the option."""
    if text is None:
        return None
    try:
        return parse(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def whole_number(option: str, text: str, least: int) -> int:
    """Return the number that an option says."""
    return int(parsed(option, text, lambda word: parse_whole(word, least)))


def note(measurements: Any, machine: Any = None) -> None:
    """Say on standard error what the reader left out, and where thread levels differ: of launches, or a machine's."""
    from commmodel.results import thread_level

    fitted = machine.origin.thread_level if machine is not None and machine.origin is not None else ""
    for text in (*measurements.notes, *thread_level.remarks(measurements.launches, fitted)):
        print(f"note: {text}", file=sys.stderr)


def warn_of(machine: Any) -> list[str]:
    """Say on standard error what was wrong while a machine was measured; return it, for JSON."""
    warnings = [] if machine is None or machine.origin is None else [*machine.origin.warnings]
    for text in warnings:
        print(f"warning: {text}", file=sys.stderr)
    return warnings


def add_thread_level(parser: argparse.ArgumentParser) -> None:
    """Add the option that lets a verb take measurements of different MPI thread levels together."""
    parser.add_argument(
        "--any-thread-level", action="store_true", help="compare what was measured at different MPI thread levels, too"
    )


def refuse_other_levels(asked: argparse.Namespace, *sides: Any) -> None:
    """Refuse measurements of different MPI thread levels, unless the option of `add_thread_level` was given."""
    from commmodel.results import thread_level

    if not asked.any_thread_level:
        launches = [launch for measurements in sides for launch in measurements.launches]
        thread_level.refuse_different(
            launches, "measure both with the same --thread-level, or compare them all the same with --any-thread-level"
        )


def refuse_inputs_as_outputs(asked: argparse.Namespace) -> None:
    """Refuse to write a file that the same command reads; before anything is read."""
    inputs: list[str] = []
    for name in _INPUTS:
        words = getattr(asked, name, None) or ()
        inputs += [words] if isinstance(words, str) else words
    outputs = [word for name in _OUTPUTS if (word := getattr(asked, name, None)) is not None]
    if getattr(asked, "replay", None) and any(map(os.path.exists, outputs)):
        inputs += _listed(asked.replay)
    for output in outputs:
        refuse_inputs(output, inputs)
    if len({os.path.realpath(output) for output in outputs}) < len(outputs):
        raise InputError(f"{outputs[0]} would be written twice: name two files")


def wrote_page(write: Callable[[], None]) -> bool:
    """Write a page, or say what is missing for it and go on: tables need less."""
    try:
        write()
    except MissingPackageError as error:
        print(f"note: {error}; tables only", file=sys.stderr)
        return False
    return True


def _listed(path: str) -> list[str]:
    """Return what a list of traces may name; of what is no list, nothing that is a file."""
    try:
        with open(path, "rb") as file:
            words = os.fsdecode(file.read(_MOST_OF_A_LIST)).splitlines()
    except (OSError, ValueError):
        return []
    return [os.path.join(os.path.dirname(path), word.strip()) for word in words]


def plain_number(number: Any) -> Any:
    """Return a number of numpy as one of Python, for msgspec; numba, where it is switched off, leaves such ones."""
    return number.item()


def print_json(value: dict[str, Any]) -> None:
    """Print an object, in which there may be numbers of numpy."""
    import msgspec

    print(msgspec.json.encode(value, enc_hook=plain_number).decode())


def show(*tables: Any) -> None:
    """Print tables. Captured first: written directly, rich would answer a closed pipe with exit code 1."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 120)
    with console.capture() as captured:
        console.print(*tables, sep="\n")
    print(captured.get(), end="")
