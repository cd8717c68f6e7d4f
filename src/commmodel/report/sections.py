"""Sections on measurements, the same on the terminal and on a page. Main entry: `measured_sections`.

What has to be fitted for them is fitted here: the folders of the products only show.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from rich.console import Group, RenderableType

from commmodel.fit.overlap_parameters import fit_overlap
from commmodel.fit.oversubscription import network_oversubscription
from commmodel.machine import Machine, OverlapProfile
from commmodel.report.kit.blocks import Block, Folded, Section, Words, folded
from commmodel.report.kit.tables import Table, common_notes, text
from commmodel.report.measurements.collectives import collective_tables
from commmodel.report.measurements.declared import declared_tables
from commmodel.report.measurements.endings import collective_endings, overlap_endings
from commmodel.report.measurements.memory import memory_tables
from commmodel.report.measurements.node_pairs import node_share_table
from commmodel.report.measurements.point_to_point import PathTables, path_tables
from commmodel.report.overlap.measurements import overlap_tables, overlap_verdicts
from commmodel.results import Measurements, launch_count
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio

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
        """Return the section for a page: its tables can be folded."""
        blocks: list[Block] = [Words(sentence) for sentence in self.sentences]
        for table, hint in self.tables:
            fold = folded(table)
            blocks.append(Folded(fold.summary, (*fold.blocks, Words(hint, is_hint=True))) if hint else fold)
        blocks += [Words(self.hint, is_hint=True)] if self.hint and self.tables else []
        blocks += [Words(self._ended(), is_hint=True)] if self.endings else []
        return Section(self.heading, tuple(blocks))

    def _ended(self) -> str:
        return f"How the records ended. {'; '.join(self.endings)}."


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
    ]
