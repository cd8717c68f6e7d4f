"""What all verbs share: their parsers, words that become numbers, and how they print."""

import argparse
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from commmodel.errors import InputError

__all__ = [
    "Parser", "add_format", "known_machine", "new_verb", "note", "parsed", "print_json", "refuse_functions", "show",
    "whole_number",
]  # fmt: skip


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

    measurements = formats.read(name_or_path)
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
    if not text.isdecimal() or len(text) > 18 or int(text) < least:
        raise InputError(f"{option}: {text!r} is no whole number from {least} up")
    return int(text)


def note(measurements: Any) -> None:
    """Say on standard error what the reader had to leave out."""
    for text in measurements.notes:
        print(f"note: {text}", file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    """Print an object."""
    import msgspec

    print(msgspec.json.encode(value).decode())


def show(*tables: Any) -> None:
    """Print tables. Captured first: written directly, rich would answer a closed pipe with exit code 1."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 120)
    with console.capture() as captured:
        console.print(*tables, sep="\n")
    print(captured.get(), end="")
