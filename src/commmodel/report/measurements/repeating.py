"""How to do it again: the commands that measured, fitted and reported. Main entry: `repeat_section`."""

import os
import re
import shlex
from collections.abc import Sequence
from itertools import groupby, pairwise

from commmodel.machine import Machine
from commmodel.report.kit.blocks import Block, CodeBlock, Section, Words
from commmodel.results import Header, Measurements
from commmodel.results.records import UNKNOWN_LIBRARY
from commmodel.results.repeating import command_words, is_launched
from commmodel.shell import command_lines

_BENCH = "commmodel.bench"
_OUTPUTS = ("-o", "--output")
_PART = re.compile(r"\.(.+)\.launch")
"""Name of the file of one launch, which `bench --launches` appends to that of all."""


def _is_told(header: Header) -> bool:
    """Return whether a file tells the command of its launch; other suites' tell the name of a program at most."""
    is_of_suite = header.mpi.version.startswith(UNKNOWN_LIBRARY)
    return bool(header.command) and not is_of_suite and (bool(header.ranks) or is_launched(header))


def _started_together(words: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the command of `bench --launches` for launches that it started; any other as it is.

    >>> _started_together(("srun", "python", "-m", "commmodel.bench", "--json", "-o", ".a.jsonl.launch"), 2)
    ('python', '-m', 'commmodel.bench', '--launches', '2', '--launcher', 'srun', '-o', 'a.jsonl')
    """
    program = words.index(_BENCH) - 2 if _BENCH in words else 0
    part = _PART.fullmatch(os.path.basename(words[-1]))
    if program < 1 or part is None or tuple(words[-3:-1]) != ("--json", "-o"):
        return tuple(words)
    output = os.path.join(os.path.dirname(words[-1]), part[1])
    together = ("--launches", str(count), "--launcher", shlex.join(words[:program]), "-o", output)
    return (*words[program:-3], *together)


def _output(words: Sequence[str], default: str = "") -> str:
    """Return the file that a command writes."""
    return next((value for option, value in pairwise(words) if option in _OUTPUTS), default)


def _in_folder(words: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return a command that writes into this folder, and reads there what commands before it write under these names.

    >>> _in_folder(("commmodel", "fit", "../runs/a.jsonl", "-o", "models/m.toml"), ["results.jsonl"])
    ('commmodel', 'fit', 'results.jsonl', '-o', 'm.toml')
    """
    output = _output(words)
    words = [os.path.basename(word) if word == output or os.path.basename(word) in names else word for word in words]
    suffixes = [os.path.splitext(name)[1] for name in names]
    for name, suffix in zip(names, suffixes, strict=True):
        files = {word for word in words if suffix and word.endswith(suffix)} - {os.path.basename(output)}
        if len(files) == suffixes.count(suffix) == 1:
            words = [name if word in files else word for word in words]
    return tuple(words)


def _measuring(headers: Sequence[Header]) -> tuple[list[str], list[str]]:
    """Return the lines that set variables of the MPI library and start each launch, and the files that they write."""
    lines: list[str] = []
    names: list[str] = []
    variables: dict[str, str] = {}
    launches = groupby(filter(_is_told, headers), lambda header: (header.environment, command_words(header)))
    for (environment, words), group in launches:
        count = len(list(group))
        command = _in_folder(_started_together(words, count), ())
        again = count if command == _in_folder(words, ()) else 1
        missing = sorted(variables.keys() - environment.keys())
        unset = [f"unset {shlex.join(missing)}"] if missing else []
        settings = environment.items() - variables.items()
        lines += [*unset, *(f"export {name}={shlex.quote(value)}" for name, value in sorted(settings))]
        lines += command_lines(shlex.join(command)) * again
        names.append(_output(command, "results.jsonl"))
        variables = environment
    return lines, list(dict.fromkeys(names))


def repeat_section(measurements: Measurements, machine: Machine | None, command: Sequence[str]) -> Section:
    """Return the commands that measured, fitted and reported, as far as the files tell them.

    `command` is that of the page; empty where a program made it.
    """
    headers = [launch.header for launch in measurements.launches]
    lines, names = _measuring(headers)
    fitted = machine.origin.command if machine is not None and machine.origin is not None else ()
    blocks: list[Block] = []
    if unknown := sum(not _is_told(header) for header in headers):
        subject = "the launches" if unknown == len(headers) else f"{unknown} of {len(headers)} launches"
        blocks.append(Words(f"The files do not tell by which commands {subject} were measured."))
    else:
        fitted = _in_folder(fitted, names)
        command = _in_folder(command, [*names, *filter(None, [_output(fitted)])])
    code = (*lines, *(line for words in (fitted, command) if words for line in command_lines(shlex.join(words))))
    if code:
        where = "In another folder, as existing files are not replaced; Environment lists each rank's processors."
        blocks += [CodeBlock(code), Words(where, is_hint=True)]
    return Section("How to do it again", tuple(blocks))
