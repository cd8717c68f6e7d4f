"""How to do it again: the commands that measured, fitted and reported. Main entry: `repeat_section`."""

import shlex
from collections.abc import Sequence

from commmodel.machine import Machine
from commmodel.report.kit.blocks import Block, CodeBlock, Section, Words
from commmodel.report.kit.commands import pasted
from commmodel.results import Header, Measurements
from commmodel.results.records import UNKNOWN_LIBRARY
from commmodel.results.repeating import command_words, is_launched


def _is_told(header: Header) -> bool:
    """Return whether a file tells the command of its launch; other suites' tell the name of a program at most."""
    is_of_suite = header.mpi.version.startswith(UNKNOWN_LIBRARY)
    return bool(header.command) and not is_of_suite and (bool(header.ranks) or is_launched(header))


def _measuring(headers: Sequence[Header]) -> list[str]:
    """Return the lines that set variables of the MPI library and start each launch."""
    lines: list[str] = []
    variables: dict[str, str] = {}
    for header in headers:
        if not _is_told(header):
            continue
        unset = (
            [f"unset {shlex.join(missing)}"]
            if (missing := sorted(variables.keys() - header.environment.keys()))
            else []
        )
        settings = header.environment.items() - variables.items()
        lines += [*unset, *(f"export {name}={shlex.quote(value)}" for name, value in sorted(settings))]
        lines += pasted(command_words(header))
        variables = header.environment
    return lines


def repeat_section(measurements: Measurements, machine: Machine | None, command: Sequence[str]) -> Section:
    """Return the commands that measured, fitted and reported, as far as the files tell them.

    `command` is that of the page; empty where a program made it.
    """
    headers = [launch.header for launch in measurements.launches]
    lines = _measuring(headers)
    fitted = machine.origin.command if machine is not None and machine.origin is not None else ()
    blocks: list[Block] = []
    if unknown := sum(not _is_told(header) for header in headers):
        subject = "the launches" if unknown == len(headers) else f"{unknown} of {len(headers)} launches"
        blocks.append(Words(f"The files do not tell by which commands {subject} were measured."))
    code = (*lines, *(pasted(fitted) if fitted else ()), *(pasted(command) if command else ()))
    if code:
        where = "In another folder, as existing files are not replaced; Environment lists each rank's processors."
        blocks += [CodeBlock(code), Words(where, is_hint=True)]
    return Section("How to do it again", tuple(blocks))
