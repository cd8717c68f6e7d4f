"""Tables for a terminal of 100 columns, as objects of rich; nothing is printed here.

Main entries: `machine_table`, `measurements_table` and `environment_table`.
"""

import shlex
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table as RichTable

from commmodel.machine import Machine
from commmodel.report.kit.tables import text
from commmodel.report.measurements.environment import environment_rows
from commmodel.report.sections import MachineSection, measured_sections, parameter_section
from commmodel.results import Header, Measurements
from commmodel.results.repeating import command_words
from commmodel.shell import command_lines
from commmodel.signatures import checked


class _Command(NamedTuple):
    """A command that a terminal shows on as many lines as it needs."""

    line: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield text("\n".join(command_lines(self.line, max(options.max_width, _LEAST))))


_LEAST = 20


@checked
def machine_table(machine: Machine) -> MachineSection:
    """Return the parameters of a machine and the remarks on its fits; minor remarks are only counted."""
    return parameter_section(machine)


@checked
def measurements_table(measurements: Measurements, machine: Machine | None = None) -> Group:
    """Return times of one pair, rates of pairs and streams and eager limits of each path, then what has no path.

    That is collective operations, memory, overlap, with the machine's profiles where it has them, and the network.
    """
    if not any(True for _ in measurements.records):
        return Group(text("No measurements.", "dim"))
    return Group(*measured_sections(measurements, machine))


@checked
def environment_table(header: Header) -> RichTable:
    """Return the environment of a launch: MPI library, hosts, clock, binding and warnings."""
    table = RichTable(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, lines in environment_rows(header):
        style = "yellow" if name == "warnings" else ""
        table.add_row(text(name), text("\n".join(lines), style))
    table.add_row(text("command"), _Command(shlex.join(command_words(header)) or "not recorded"))
    return table
