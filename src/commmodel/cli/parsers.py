"""Common parts of the verbs: parsers, types of options, shared options, and printed output."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from typing import Any, NoReturn

from commmodel.errors import InputError, MissingPackageError, choice_of, refuse_unknown
from commmodel.files import refuse_inputs
from commmodel.spellings import NEGATIVE, accept_old_spellings
from commmodel.units import (
    parse_confidence,
    parse_counts,
    parse_fraction,
    parse_number,
    parse_quantity,
    parse_size,
    parse_sizes,
    parse_time,
    parse_whole,
)

_HEAD = 1 << 16
"""Bytes of a file that tell what it is."""
_MOST_OF_A_LIST = 1 << 24
_OUTPUTS = {"output": "-o", "trace": "--trace", "markdown": "--markdown", "junit": "--junit", "badge": "--badge"}
_INPUTS = (
    "after", "baseline", "before", "compare", "expectations", "file", "files", "machine", "mapping", "parameters",
    "results", "selector", "traces", "validate", "where",
)  # fmt: skip
"""Names of arguments, in the parsed command, whose words may be files that are read."""
_SUFFIXES = (".csv", ".goal", ".json", ".jsonl", ".toml", ".txt", ".xml")
_OTHER_SUFFIXES = (*_SUFFIXES, ".pdf", ".png", ".svg")
"""What is no HTML page."""
_STREAMS = ("/dev/", "/proc/")
_CHOICE = re.compile(r"argument (?P<name>\S+): invalid choice: '(?P<word>.*)' \(choose from (?P<names>.*)\)", re.DOTALL)
"""What argparse says of a word that is none of some."""


class Parser(argparse.ArgumentParser):
    """Argument parser with errors of one line that names an option as typed.

    Parameters
    ----------
    words : sequence of str
        The words that it will parse, for `typed_alone`.
    options : dict
        Those of `argparse.ArgumentParser`.
    """

    def __init__(self, words: Sequence[str] = (), **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        self._negative_number_matcher = NEGATIVE
        self._words = [*words]

    def add_subparsers(self, **options: Any) -> Any:
        """Add verbs, whose parsers know the words behind the verb."""
        behind = self._words[len(self._get_positional_actions()) + 1 :]
        return super().add_subparsers(**{"parser_class": partial(Parser, behind), **options})

    def typed_alone(self, names: Collection[str]) -> list[str]:
        """Return the verb that is typed, alone; all verbs where none is, or an option comes first, like --help."""
        place = len(self._get_positional_actions()) - 1
        if any(word.startswith("-") for word in self._words[:place]):
            return [*names]
        return [word for word in self._words[place : place + 1] if word in names] or [*names]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse words and keep them for error messages."""
        self._words = [*(sys.argv[1:] if args is None else args)]
        if self._subparsers is not None:
            self._refuse_other_order()
            self._refuse_early_options()
        accept_old_spellings("".join(self.prog.split()[1:2]), self._option_string_actions)
        return super().parse_known_args(args, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse words; those that nothing knows are an error of the verb, which knows its options."""
        namespace, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = self._innermost()
            spellings = [spelling for action in parser._actions for spelling in action.option_strings]
            refuse_unknown(unknown, self._words, spellings, parser.prog)
        return namespace

    def _innermost(self) -> "Parser":
        """Return the parser of the verb that was typed, or of its own verb."""
        parser = self
        for word in self._words:
            if parser._subparsers is None:
                break
            verbs = parser._subparsers._group_actions[0].choices or {}
            parser = verbs[word] if isinstance(verbs, dict) and word in verbs else parser
        return parser

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        if choice := _CHOICE.fullmatch(message):
            where = f"{self._typed(choice['name'])}: " if choice["name"].startswith("-") else ""
            names = choice["names"].replace("'", "").split(", ")
            raise InputError(f"{where}there is no {choice['word']!r}: {choice_of(choice['word'], names)}")
        name, colon, problem = message.partition(": ")
        if colon and name.startswith("argument -"):
            option = self._typed(name.removeprefix("argument "))
            if problem.startswith("not allowed with argument "):
                raise InputError(f"{option} and {problem.split()[-1]} exclude each other: leave one out")
            value = self._words[self._words.index(option) + 1 :][:1] if option in self._words else []
            mend = ""
            if value and problem == "expected one argument":
                is_option = value[0].partition("=")[0] in self._option_string_actions
                mend = f", before {value[0]}" if is_option else f": write {option}={value[0]}"
            raise InputError(f"{option}: {problem}{mend}")
        message = message.removeprefix("argument ")
        raise InputError(f"{message} (see {self.prog} --help)")

    def _refuse_early_options(self) -> None:
        """Refuse an option of a verb that stands before the verb: argparse would take its value for the verb."""
        names = [str(action.metavar) for action in self._get_positional_actions()]
        for word in self._words[: len(names)]:
            if word.startswith("-") and word not in self._option_string_actions:
                option = word.partition("=")[0]
                raise InputError(f"{option} comes after {names[-1]}: {self.prog} {' '.join(names)} {option} ...")

    def _refuse_other_order(self) -> None:
        """Refuse `predict send machine.toml`: the machine comes first."""
        *before, verbs = self._get_positional_actions()
        for word in self._words[: len(before)]:
            behind = self._words[len(before) : len(before) + 1]
            if word in (verbs.choices or ()) and not (behind and behind[0] in (verbs.choices or ())):
                name = before[0].metavar
                raise InputError(f"{name} comes before {word}: {self.prog} {name} {word} ...")

    def _typed(self, name: str) -> str:
        """Return the typed spelling of an option that has several, like -o/--output."""
        spellings = name.split("/")
        return next(
            (spelling for spelling in spellings if any(_is_option(word, spelling) for word in self._words)),
            spellings[0],
        )


OPTIONS: dict[str, str] = {}
"""Parameter -> option or operand of the command that runs."""


def as_typed(text: str) -> str:
    """Return a text with options for the parameters of the library that it quotes.

    >>> OPTIONS["memory_copy"] = "--copy"
    >>> as_typed("copies cost nothing (`memory_copy`), `and` so on")
    'copies cost nothing (--copy), `and` so on'
    """
    return re.sub(r"`(\w+)`", lambda word: OPTIONS.get(word[1], word[0]), text)


def tell(kind: str, texts: Iterable[str]) -> None:
    """Print notes or warnings on standard error."""
    for text in texts:
        print(f"{kind}: {as_typed(text)}", file=sys.stderr)


def tell_findings(findings: Iterable[object]) -> int:
    """Print findings on standard error; return the exit code of a negative verdict, or 0."""
    lines = [*map(str, findings)]
    tell("finding", lines)
    return 1 if lines else 0


def options_of(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return parameter -> option or operand of a parser and of its verbs."""
    options: dict[str, str] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                options |= options_of(verb)
        else:
            options[action.dest] = next(iter(action.option_strings), str(action.metavar or action.dest))
    return options


def _is_option(word: str, spelling: str) -> bool:
    """Whether a word is an option, with its value attached or not.

    >>> _is_option("--size=8", "--size"), _is_option("-n8", "-n"), _is_option("--size", "-n")
    (True, True, False)
    """
    return word.partition("=")[0] == spelling or (len(spelling) == 2 and word.startswith(spelling))


def typed(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return an argparse type from a function of a word; its errors name the option."""

    def convert(word: str) -> Any:
        try:
            return parse(word)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


size, sizes, counts = typed(parse_size), typed(parse_sizes), typed(parse_counts)
duration, share, confidence = typed(parse_time), typed(parse_fraction), typed(parse_confidence)
byte_time = typed(lambda word: parse_quantity(word, "s/B"))
flop_rate = typed(lambda word: parse_quantity(word, "flop/s"))
message_rate = typed(lambda word: parse_quantity(word, "1/s"))
number = typed(parse_number)


def whole(least: int, most: int = 10**18 - 1) -> Callable[[str], int]:
    """Return the type of whole numbers within limits."""
    return typed(lambda word: parse_whole(word, least, most))


def choices(names: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return the type of a list of some names, each once."""

    def parse(word: str) -> tuple[str, ...]:
        chosen = tuple(dict.fromkeys(part.strip() for part in word.split(",")))
        for name in chosen:
            if name not in names:
                raise InputError(f"there is no {name!r}: {choice_of(name, names)}")
        return chosen

    return typed(parse)


def new_verb(verbs: Any, name: str, function: Callable[[argparse.Namespace], int], purpose: str, example: str,
             parents: Sequence[Any] = ()) -> Any:  # fmt: skip
    """Return the parser of a verb or of a sub-verb, with the option --json."""
    parser = verbs.add_parser(name, help=purpose, description=purpose, epilog=f"example: {example}", parents=parents)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(verb=function)
    return parser


def parent() -> Parser:
    """Return a parent parser of options that several verbs share."""
    return Parser(add_help=False)


def add_output(parser: Any, purpose: str, *, default: str | None = None, required: bool = False) -> None:
    """Add the output file and --force."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=required, type=_page if purpose.startswith("HTML") else str,
        help=f"{purpose}; must not exist" + ("" if required else f" (default: {default or 'none'})"),
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.set_defaults(default_output=default)


@typed
def _page(path: str) -> str:
    stem, suffix = os.path.splitext(path)
    if suffix in _OTHER_SUFFIXES:
        raise InputError(f"a page is HTML: name it {stem}.html")
    return path


def output_path(arguments: argparse.Namespace) -> Any:
    """Return the output file, by default that of the verb; or None."""
    default = arguments.default_output
    return arguments.output or (default(arguments) if callable(default) else default)


def add_machine(parser: Any, purpose: str = "", nargs: str | None = None) -> None:
    """Add the machine of a verb."""
    parser.add_argument(
        "machine", nargs=nargs, metavar="MACHINE",
        help=f"machine file, name of a published machine (commmodel list machines), results.jsonl to fit, or "
        f"LogGP parameters, like L=2us,o=1us,g=2us,G=1ns{purpose}",
    )  # fmt: skip


def add_processes(parser: Any, purpose: str, kind: Callable[[str], Any], *, required: bool = False) -> None:
    """Add the number of MPI processes."""
    parser.add_argument("-p", "--processes", metavar="P", type=kind, required=required, help=purpose)


def add_size(parser: Any, *, required: bool = True) -> None:
    """Add the size of a message."""
    parser.add_argument(
        "-n", "--size", dest="message_size", metavar="SIZE", type=size, required=required,
        help="message size, like 64KiB; of a collective, that of MPI's count",
    )  # fmt: skip


def add_format(parser: Any) -> None:
    """Add the format of the measurements."""
    parser.add_argument(
        "--format", default="auto",
        help="format of the measurements, of: commmodel list formats (default: recognised by content)",
    )  # fmt: skip
    add_ranks(parser)


def add_ranks(parser: Any) -> None:
    """Add the ranks of other suites' output."""
    parser.add_argument(
        "--ranks", dest="placement", metavar="P[/K]", type=typed(_placement),
        help="ranks, and ranks of a node, of other suites' output that does not say (default: a job script beside it)",
    )  # fmt: skip


def _placement(word: str) -> Any:
    from commmodel.formats.job_scripts import parse_placement

    return parse_placement(word)


def known_machine(
    name_or_path: str, memory_copy: float | None = None, reduction: float | None = None, placement: Any = None
) -> Any:
    """Return a machine by name, from its file or from parameters; measurements are fitted on the fly.

    With times of copying and combining a byte, where they are given in place of the machine's; `placement` is that of
    the ranks of other suites' output.
    """
    machine = _machine(name_or_path, placement)
    if memory_copy is reduction is None:
        return machine
    from commmodel.predict import with_byte_times

    return with_byte_times(machine, memory_copy, reduction)


def _machine(name_or_path: str, placement: Any) -> Any:
    from commmodel import machine

    if "=" in name_or_path and not os.path.exists(name_or_path):
        from commmodel.simulate.scenario import machine_of_parameters

        return machine_of_parameters(name_or_path)
    if not _is_measured(name_or_path):
        return machine.load(name_or_path)
    from commmodel import formats
    from commmodel.fit import fit_machine

    measurements = formats.load_all([name_or_path], placement=placement)
    note(measurements)
    return fit_machine(measurements)


def _is_measured(name_or_path: str) -> bool:
    """Whether a name is that of a file of measurements, ours or another suite's, and of no machine."""
    from commmodel import machine
    from commmodel.documents import read_bytes

    if name_or_path.endswith((".jsonl", ".toml")) or name_or_path in machine.published():
        return name_or_path.endswith(".jsonl")
    if os.path.isdir(name_or_path):
        return True
    return os.path.isfile(name_or_path) and b"commmodel-machine" not in read_bytes(name_or_path, _HEAD, complete=False)


def note(measurements: Any, machine: Any = None) -> None:
    """Print notes of the reader and differences in thread level on standard error."""
    from commmodel.results.conditions import remarks

    origin = None if machine is None else machine.origin
    of_machine = () if origin is None else (origin.thread_level, origin.buffers)
    tell("note", (*measurements.notes, *remarks(measurements.launches, *of_machine)))


def warn_of_launches(measurements: Any) -> None:
    """Print what launches warned of while they measured on standard error."""
    tell("warning", dict.fromkeys(text for launch in measurements.launches for text in launch.header.warnings))


def warn_of(machine: Any) -> list[str]:
    """Print warnings about the measurement of a machine on standard error; return them for JSON."""
    warnings = [] if machine is None else [*machine.warnings]
    tell("warning", warnings)
    return warnings


def add_segment_size(parser: Any) -> None:
    """Add the segment size of a collective operation."""
    parser.add_argument(
        "--segment-size", metavar="SIZE", type=size, help="segment size of pipelining (default: as the rules say)"
    )


def add_root(parser: Any) -> None:
    """Add the root of a collective operation."""
    parser.add_argument("--root", metavar="RANK", type=whole(0), default=0, help="root (default: %(default)s)")


def collective_parents(
    operation: str, messages: Parser, pieces: Parser, copying: Parser, root: Parser, combining: Parser
) -> list[Parser]:
    """Return those of some options that a collective operation has."""
    from commmodel.collectives.operation import OPERATIONS

    described = OPERATIONS[operation]
    sized = [messages, pieces, copying, _of_call(described.combines, operation == "alltoall")]
    return [*sized * described.has_size, *[root] * described.has_root, *[combining] * described.combines]


CALL_OPTIONS = ("element_size", "operator", "in_place")
"""What libraries look at beside sizes, as `commmodel.collectives.Problem` calls it."""


@cache
def _of_call(combines: bool, has_place: bool) -> Parser:
    """Return the options of a collective's elements, and of its operator and buffers where they matter."""
    from commmodel.collectives.operation import ELEMENT_SIZE, OPERATORS

    options = parent()
    options.add_argument(
        "--element", dest="element_size", metavar="SIZE", type=size, default=ELEMENT_SIZE,
        help="size of an element: libraries choose by their number, too (default: %(default)s)",
    )  # fmt: skip
    if combines:
        options.add_argument(
            "--operator", choices=OPERATORS, default=OPERATORS[0],
            help="operator: MPI's own, or a user's, which commutes or not (default: %(default)s)",
        )  # fmt: skip
    if has_place:
        options.add_argument("--in-place", action="store_true", help="the send buffer is MPI_IN_PLACE")
    return options


def add_byte_times(copying: Any, combining: Any) -> None:
    """Add the times of copying and combining a byte."""
    copying.add_argument(
        "--copy", dest="memory_copy", metavar="TIME", type=byte_time,
        help="time of copying a byte, like 0.125ns/B (default: the machine's)",
    )  # fmt: skip
    combining.add_argument(
        "--reduction", metavar="TIME", type=byte_time,
        help="time of combining a byte, like 0.25ns/B (default: that of copying)",
    )  # fmt: skip


def add_thread_level(parser: argparse.ArgumentParser) -> None:
    """Add the option that permits different MPI thread levels."""
    parser.add_argument(
        "--any-thread-level", action="store_true", help="compare what was measured at different MPI thread levels, too"
    )


def refuse_other_levels(arguments: argparse.Namespace, *sides: Any) -> None:
    """Raise where measurements have different MPI thread levels, unless permitted by an option."""
    from commmodel.results.conditions import THREAD_LEVEL

    if not arguments.any_thread_level:
        launches = [launch for measurements in sides for launch in measurements.launches]
        THREAD_LEVEL.refuse_different(
            launches, "measure both with the same --thread-level, or compare them all the same with --any-thread-level"
        )


def refuse_outputs(arguments: argparse.Namespace) -> None:
    """Raise where an output is an input of the command, or exists without --force; before any work."""
    inputs: list[str] = []
    for name in _INPUTS:
        words = getattr(arguments, name, None)
        inputs += [words] if isinstance(words, str) else words if isinstance(words, list) else []
    outputs = {option: path for name, option in _OUTPUTS.items() if (path := getattr(arguments, name, None))}
    if getattr(arguments, "traces", None) and any(map(os.path.exists, outputs.values())):
        traces = [arguments.traces] if isinstance(arguments.traces, str) else arguments.traces
        inputs += [file for trace in traces for file in _listed(trace)]
    for path in outputs.values():
        refuse_inputs(path, inputs)
    if len({os.path.realpath(path) for path in outputs.values()}) < len(outputs):
        raise InputError(f"{next(iter(outputs.values()))} would be written twice: name two files")
    if getattr(arguments, "force", True):
        return
    for option, path in {"-o": output_path(arguments), **outputs}.items():
        if path is not None and os.path.isfile(path) and not path.startswith(_STREAMS):
            _refuse_missing(inputs)
            raise InputError(f"{path} exists: replace it with --force, or name another file with {option}")


def _refuse_missing(inputs: Sequence[str]) -> None:
    """Raise where an input that has the name of a file is not there."""
    for path in inputs:
        if os.path.splitext(path)[1] in _SUFFIXES and not os.path.exists(path):
            raise InputError(f"{path}: No such file or directory")


def wrote_page(write: Callable[[], None]) -> bool:
    """Write a page; print an error and go on where a package is missing, as tables need less."""
    try:
        write()
    except MissingPackageError as error:
        tell("note", [f"{error}; tables only"])
        return False
    return True


def write_requested_page(output: str | None, name: str, *contents: Any) -> tuple[str | None, int]:
    """Write a page beside tables by a function of the report; return its path, if it was written, and the exit code."""
    if output is None:
        return None, 0
    from commmodel import report

    is_written = wrote_page(lambda: getattr(report, name)(output, *contents))
    return (output, 0) if is_written else (None, MissingPackageError.exit_code)


def page_writer(name: str) -> Any:
    """Return a function of the report that writes a page; None, with a note printed, where a package is missing."""
    from commmodel import report

    try:
        return getattr(report, name)
    except MissingPackageError as error:
        tell("note", [f"{error}; tables only"])
        return None


def check_folder(path: str | None) -> None:
    """Raise where an output folder does not exist, before a long simulation."""
    folder = os.path.dirname(os.path.abspath(path)) if path is not None else ""
    if path is not None and os.path.isdir(path):
        raise InputError(f"{path}: cannot be written: it is a folder: name a file")
    if path is not None and not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise InputError(f"{path}: cannot be written: {folder} is no folder that one may write to")


def _listed(path: str) -> list[str]:
    """Return the files that a list of traces may name; empty where the file is no list."""
    try:
        with open(path, "rb") as file:
            words = os.fsdecode(file.read(_MOST_OF_A_LIST)).splitlines()
    except (OSError, ValueError):
        return []
    return [os.path.join(os.path.dirname(path), word.strip()) for word in words]


def plain_number(number: Any) -> Any:
    """Return a number of numpy or one with a unit as a Python number, for msgspec."""
    return float(number) if isinstance(number, float) else number.item()


def print_json(value: dict[str, Any]) -> None:
    """Print an object as JSON; numbers may be those of numpy. NaN and infinity, which JSON does not have, are null."""
    import msgspec

    print(as_typed(msgspec.json.encode(value, enc_hook=plain_number).decode()))


def show(*tables: Any) -> None:
    """Print tables through a buffer, as rich would end a closed pipe with exit code 1; into a file without padding.

    As wide as the terminal, or as the variable COLUMNS says; else 120 columns.
    """
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    is_given = is_terminal or os.environ.get("COLUMNS", "").isdigit()
    console = Console(width=None if is_given else 120)
    with console.capture() as captured:
        console.print(*tables, sep="\n")
    text = as_typed(captured.get())
    print(text if is_terminal else re.sub(r" +$", "", text, flags=re.MULTILINE), end="")
