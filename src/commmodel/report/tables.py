"""Tables for a terminal of 100 columns, as objects of rich; nothing is printed here.

Main entries: `machine_blocks`, `measurements_table` and `environment_table`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable

from commmodel.fit.consistency import Agreement
from commmodel.fit.model_errors import ErrorSums
from commmodel.fit.oversubscription import network_oversubscription
from commmodel.machine import Machine
from commmodel.report.kit.tables import common_notes, text
from commmodel.report.machine.hybrid import hybrid_remarks, hybrid_tables
from commmodel.report.machine.loggp import has_other_models, loggp_remarks, logp_tables
from commmodel.report.machine.model_errors import error_sums_table
from commmodel.report.machine.parameters import further_remarks, parameter_table, remarks
from commmodel.report.measurements.collectives import collective_tables
from commmodel.report.measurements.declared import declared_tables
from commmodel.report.measurements.endings import collective_endings, overlap_endings
from commmodel.report.measurements.environment import command_line, environment_rows
from commmodel.report.measurements.memory import memory_tables
from commmodel.report.measurements.node_pairs import node_share_table
from commmodel.report.measurements.point_to_point import PathTables, path_tables
from commmodel.report.overlap.measurements import overlap_tables, overlap_verdicts
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


def _endings(endings: Sequence[str]) -> RenderableType:
    return text(f"How the records ended. {'; '.join(endings)}\n", "dim")


def _path_blocks(tables: PathTables) -> Iterable[RenderableType]:
    yield from (table for table in (tables.times, tables.pairs, *tables.streams) if table is not None)
    yield from (replace(table, title=f"{tables.path}, {table.title}", notes=()) for table in tables.details)
    yield from (text(f"{tables.path}: {threshold}") for threshold in tables.thresholds)
    yield _endings(tables.endings)


def _overlap_blocks(measurements: Measurements, machine: Machine | None) -> Iterable[RenderableType]:
    tables, verdicts = overlap_tables(measurements, machine), overlap_verdicts(measurements, machine)
    yield from common_notes(tables)
    yield from map(text, verdicts)
    if tables and (endings := overlap_endings(measurements)):
        yield _endings(endings)
    elif tables or verdicts:
        yield text("")


def measurements_table(measurements: Measurements, machine: Machine | None = None) -> Group:
    """Return, for each path, times of one pair, rates of pairs and streams, eager limits and ends of records.

    Collective operations, which have no path, follow, and what is known of overlap, with the machine's profiles where
    it is given and has them. Where several pairs of nodes were measured, what each node got beside the others comes
    last.
    """
    blocks: list[RenderableType] = [block for tables in path_tables(measurements) for block in _path_blocks(tables)]
    collectives = (*declared_tables(measurements), *collective_tables(measurements))
    blocks += common_notes(collectives)
    blocks += [_endings(collective_endings(measurements))] if collectives else []
    blocks += _overlap_blocks(measurements, machine)
    blocks += memory_tables(measurements)
    network = network_oversubscription(measurements)
    if network is not None:
        blocks += [node_share_table(network.shares)] if network.shares else []
        blocks.append(text(f"{network.verdict}\n"))
    return Group(*blocks) if any(True for _ in measurements.records) else Group(text("No measurements.", "dim"))


def environment_table(header: Header) -> RichTable:
    """Return the environment of a launch: MPI library, hosts, clock, binding and warnings."""
    table = RichTable(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, lines in [*environment_rows(header), ("command", (command_line(header),))]:
        style = "yellow" if name == "warnings" else ""
        table.add_row(text(name), text("\n".join(lines), style))
    return table
