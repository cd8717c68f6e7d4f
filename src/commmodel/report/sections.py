"""Sections, the same on the terminal and on a page.

Main entries: `measured_sections`, `machine_section`, `predicted_section` and `sending_section`.

What has to be fitted for them is fitted here: the folders of the products only show.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.padding import Padding

from commmodel.fit.consistency import Agreement
from commmodel.fit.model_errors import ErrorSums
from commmodel.fit.overlap_parameters import fit_overlap
from commmodel.fit.oversubscription import network_oversubscription
from commmodel.machine import Machine, OverlapProfile
from commmodel.report.kit.blocks import Block, Bullets, CodeBlock, Folded, Heading, NameList, Section, Words, folded
from commmodel.report.kit.tables import Table, common_notes, text
from commmodel.report.machine.collective_times import collective_times_table
from commmodel.report.machine.hybrid import hybrid_remarks, hybrid_tables
from commmodel.report.machine.loggp import has_other_models, loggp_remarks, logp_tables
from commmodel.report.machine.model_errors import error_sums_table
from commmodel.report.machine.parameters import further_remarks, parameter_table, remarks
from commmodel.report.measurements.collectives import collective_tables
from commmodel.report.measurements.declared import declared_tables
from commmodel.report.measurements.endings import collective_endings, overlap_endings
from commmodel.report.measurements.memory import memory_tables
from commmodel.report.measurements.node_matrix import matrix_sentences
from commmodel.report.measurements.node_pairs import node_share_table
from commmodel.report.measurements.point_to_point import PathTables, path_tables
from commmodel.report.overlap.measurements import overlap_tables, overlap_verdicts
from commmodel.report.prediction.at_scale import at_scale
from commmodel.report.prediction.call_costs import calls_table
from commmodel.report.sending import examples, examples_table
from commmodel.results import Measurements, launch_count
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio

_MOST_ROWS, _MOST_OF_TABLE = 30, 12
"""Of a section's tables together, and of one of them, that are open on a page."""
_MINOR = "on streams and on models that are not recommended"
_BELOW = f"Below each median its {format_ratio(CONFIDENCE)} interval."
_RATES = (
    "Bytes per second of all k pairs together, k n / T; below it T, the median time of one message of the slowest pair."
)
_STREAM_RATES = (
    "Bytes per second of all k streams together, in one direction, k n / T; below it T, the median time of one message "
    "in a window of messages, of the slowest stream."
)
_SHARES = (
    "Rate of a node while h pairs of nodes communicate, each with k pairs of ranks, over its rate alone; below it the "
    f"ratios of the ends of both medians' {format_ratio(CONFIDENCE)} intervals."
)


class HintedTable(NamedTuple):
    """A table, and how to read it on a page, which has its details below its values."""

    table: Table
    hint: str = ""


@dataclass(frozen=True)
class MeasuredSection:
    """Tables and sentences on one subject, and how its records ended."""

    heading: str
    tables: tuple[HintedTable, ...]
    sentences: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    hint: str = ""
    """On all tables, for a page."""

    def __rich__(self) -> Group:
        """Return the section for the terminal."""
        blocks: list[RenderableType] = [hinted.table for hinted in self.tables]
        blocks += map(text, self.sentences)
        if blocks or self.endings:
            blocks.append(text(f"{self._ended()}\n", "dim") if self.endings else text(""))
        return Group(*blocks)

    def on_page(self) -> Section:
        """Return the section for a page: its tables are folded, and closed where together they are long."""
        blocks: list[Block] = [Words(sentence) for sentence in self.sentences]
        is_open = sum(len(hinted.table.rows) for hinted in self.tables) <= _MOST_ROWS
        for table, hint in self.tables:
            fold = folded(table, is_open=is_open)
            blocks.append(replace(fold, blocks=(*fold.blocks, Words(hint, is_hint=True))) if hint else fold)
        blocks += [Words(self.hint, is_hint=True)] if self.hint and self.tables else []
        blocks += [Words(self._ended(), is_hint=True)] if self.endings else []
        return Section(self.heading, tuple(blocks))

    def _ended(self) -> str:
        return f"How the records ended. {'; '.join(self.endings)}."


@dataclass(frozen=True)
class MachineSection:
    """Tables of a machine's parameters, and remarks on its fits."""

    tables: tuple[Table, ...]
    remarks: tuple[str, ...]
    further: tuple[str, ...] = ()
    """Minor remarks: a terminal shows their number only."""

    def __rich__(self) -> Group:
        """Return the section for the terminal."""
        blocks: list[RenderableType] = [*self.tables]
        if self.remarks:
            blocks += [text("Remarks", "bold"), *(Padding(text(line), (0, 0, 0, 2)) for line in self.remarks)]
        if self.further:
            words = f"{len(self.further)} more, {_MINOR}: in the page of commmodel report"
            blocks.append(text(words, "dim"))
        return Group(*blocks)

    def on_page(self, origin: tuple[tuple[str, tuple[str, ...]], ...]) -> Section:
        """Return the section for a page, with what is known of the machine's origin."""
        is_long = sum(len(table.rows) for table in self.tables) > _MOST_ROWS
        blocks: list[Block] = [
            folded(table, is_open=False) if is_long and len(table.rows) > _MOST_OF_TABLE else table
            for table in self.tables
        ]
        blocks += [Heading("Remarks"), Bullets(self.remarks)] if self.remarks else []
        if self.further:
            summary = f"Further remarks, {_MINOR} ({len(self.further)})"
            blocks.append(Folded(summary, (Bullets(self.further),), is_open=False))
        blocks += [Heading("Where they come from"), NameList(origin)] if origin else []
        return Section("Parameters of the model", tuple(blocks))


def parameter_section(machine: Machine) -> MachineSection:
    """Return the parameters of the models of ping-pongs and streams."""
    return MachineSection((parameter_table(machine),), tuple(remarks(machine)), tuple(further_remarks(machine)))


def machine_section(
    machine: Machine, agreements: Sequence[Agreement], sums: Sequence[ErrorSums] = ()
) -> MachineSection:
    """Return all tables of a machine and the remarks on its fits.

    Parameters
    ----------
    machine : Machine
    agreements : sequence of Agreement
        Of `commmodel.fit.consistency.consistency`.
    sums : sequence of ErrorSums
        Of `commmodel.fit.model_errors.error_sums`.
    """
    parameters = parameter_section(machine)
    tables = (
        *(parameters.tables if has_other_models(machine) else ()),
        *((error_sums_table(sums),) if sums else ()),
        *logp_tables(machine, agreements),
        *hybrid_tables(machine),
        *filter(None, [collective_times_table(machine), calls_table(machine)]),
    )
    lines = (*parameters.remarks, *loggp_remarks(machine), *hybrid_remarks(machine))
    return replace(parameters, tables=tables, remarks=lines)


def predicted_section(machine: Machine) -> MeasuredSection:
    """Return what a machine predicts of collectives on many nodes, or why it predicts none."""
    predicted = at_scale(machine)
    tables = () if predicted.table is None else (HintedTable(predicted.table),)
    sentences = () if tables else (f"No collective is predicted: {predicted.missing}.",)
    return MeasuredSection("Collectives on many nodes", tables, sentences)


@dataclass(frozen=True)
class SendingSection:
    """How to send examples of arrays and objects, with the lines to write."""

    table: Table
    codes: tuple[tuple[str, str], ...]
    """Example and lines of Python."""

    def __rich__(self) -> Group:
        """Return the section for the terminal."""
        return Group(self.table, *(text(f"{name}\n{_indented(code)}\n") for name, code in self.codes))

    def on_page(self) -> Section:
        """Return the section for a page."""
        folds = [
            Folded(f"The lines for {name}", (CodeBlock(tuple(code.splitlines())),), is_open=False)
            for name, code in self.codes
        ]
        return Section("How to send", (self.table, *folds))


def _indented(code: str) -> str:
    return "\n".join(f"  {line}" for line in code.splitlines())


def sending_section(machine: Machine) -> SendingSection | None:
    """Return how to send a column, a dictionary and a gigabyte; None where the machine has no such times."""
    advice = examples(machine)
    if not advice:
        return None
    return SendingSection(examples_table(advice), tuple((name, row.code) for name, row in advice.items()))


def _path_section(tables: PathTables, *, is_one_launch: bool) -> MeasuredSection:
    calls = " In send, in receive: time inside the call while the other side is ready." * tables.has_ping
    times = (
        f"Half of a round trip. Interval: {format_ratio(CONFIDENCE)} of the median, from order statistics, in the "
        "median's unit; none where there are too few samples for one."
        f"{' It is that of this launch: others differ by more.' * is_one_launch} p10 … p90: the tenth and the "
        f"ninetieth percentile.{calls}"
    )
    return MeasuredSection(
        f"Measurements, {tables.path}",
        (
            *([HintedTable(tables.times, times)] if tables.times is not None else []),
            *(HintedTable(table, _RATES) for table in tables.pairs),
            *(HintedTable(table, _STREAM_RATES) for table in tables.streams),
            *(HintedTable(replace(table, title=f"{tables.path}, {table.title}"), _BELOW) for table in tables.details),
        ),
        tuple(f"{tables.path}: {threshold}." for threshold in tables.thresholds),
        tables.endings,
    )


def overlap_profiles(measurements: Measurements, machine: Machine | None) -> tuple[OverlapProfile, ...]:
    """Return the profiles of the machine, or without any those of the measurements."""
    return machine.overlap if machine is not None and machine.overlap else fit_overlap(measurements)


def measured_sections(measurements: Measurements, machine: Machine | None = None) -> list[MeasuredSection]:
    """Return a section for each path, then collective operations, memory, overlap and the network; some may be empty.

    Overlap is that of the machine's profiles where it is given and has them. Of the network it is said what each node
    got beside the others, where several pairs of nodes were measured.
    """
    is_one_launch = launch_count(measurements) == 1
    profiles, network = overlap_profiles(measurements, machine), network_oversubscription(measurements)
    collectives = common_notes((*declared_tables(measurements), *collective_tables(measurements)))
    overlaps = common_notes(overlap_tables(measurements, profiles))
    shares = () if network is None or not network.shares else (HintedTable(node_share_table(network.shares)),)
    return [
        *(_path_section(tables, is_one_launch=is_one_launch) for tables in path_tables(measurements)),
        MeasuredSection(
            "Collective operations",
            tuple(map(HintedTable, collectives)),
            endings=collective_endings(measurements) if collectives else (),
            hint=_BELOW,
        ),
        MeasuredSection("Memory", tuple(map(HintedTable, memory_tables(measurements))), hint=_BELOW),
        MeasuredSection(
            "Overlap",
            tuple(map(HintedTable, overlaps)),
            tuple(overlap_verdicts(measurements, profiles)),
            overlap_endings(measurements),
        ),
        MeasuredSection(
            "Oversubscription of the network", shares, () if network is None else (network.verdict,), hint=_SHARES
        ),
        MeasuredSection("Slow nodes and links", (), matrix_sentences(measurements)),
    ]
