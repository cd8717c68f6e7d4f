"""Tables for a terminal of 100 columns, as objects of rich; nothing is printed here.

Main entries: `machine_blocks`, `measurements_table` and `environment_table`.
"""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable

from commmodel.fit.consistency import Agreement
from commmodel.fit.model_errors import ErrorSums
from commmodel.machine import Machine
from commmodel.report.kit.tables import text
from commmodel.report.machine.hybrid import hybrid_remarks, hybrid_tables
from commmodel.report.machine.loggp import has_other_models, loggp_remarks, logp_tables
from commmodel.report.machine.model_errors import error_sums_table
from commmodel.report.machine.parameters import further_remarks, parameter_table, remarks
from commmodel.report.measurements.environment import command_line, environment_rows
from commmodel.report.sections import measured_sections
from commmodel.results import Header, Measurements


def _list(title: str, lines: Sequence[str]) -> Iterable[RenderableType]:
    if lines:
        yield text(title, "bold")
        yield from (Padding(text(line), (0, 0, 0, 2)) for line in lines)


def machine_table(machine: Machine) -> Group:
    """Return the parameters of a machine and the remarks on its fits; minor remarks are only counted."""
    further = len(further_remarks(machine))
    words = f"{further} more, on streams and on models that are not recommended: in the page of commmodel report"
    return Group(
        parameter_table(machine),
        *_list("Remarks", remarks(machine)),
        *([text(words, "dim")] if further else []),
    )


def machine_blocks(
    machine: Machine, agreements: Sequence[Agreement], sums: Sequence[ErrorSums] = ()
) -> list[RenderableType]:
    """Return all tables of a machine and the remarks on its fits.

    Parameters
    ----------
    machine : Machine
    agreements : sequence of Agreement
        Of `commmodel.fit.consistency.consistency`.
    sums : sequence of ErrorSums
        Of `commmodel.fit.model_errors.error_sums`.
    """
    return [
        *([machine_table(machine)] if has_other_models(machine) else []),
        *([error_sums_table(sums)] if sums else []),
        *logp_tables(machine, agreements),
        *hybrid_tables(machine),
        *_list("Remarks", [*loggp_remarks(machine), *hybrid_remarks(machine)]),
    ]


def measurements_table(measurements: Measurements, machine: Machine | None = None) -> Group:
    """Return times of one pair, rates of pairs and streams and eager limits of each path, then what has no path.

    That is collective operations, memory, overlap, with the machine's profiles where it has them, and the network.
    """
    if not any(True for _ in measurements.records):
        return Group(text("No measurements.", "dim"))
    return Group(*measured_sections(measurements, machine))


def environment_table(header: Header) -> RichTable:
    """Return the environment of a launch: MPI library, hosts, clock, binding and warnings."""
    table = RichTable(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, lines in [*environment_rows(header), ("command", (command_line(header),))]:
        style = "yellow" if name == "warnings" else ""
        table.add_row(text(name), text("\n".join(lines), style))
    return table
