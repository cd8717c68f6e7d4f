"""The table of mappings of a program's ranks. Main entries: `mapping_table`, `mapping_lines`."""

import numpy as np

from commmodel.placement import CandidateMapping, RankMapping
from commmodel.report.kit.tables import NOTHING, Cell, Table, left, right
from commmodel.report.simulation.tables import volume
from commmodel.report.simulation.what_if import beside_words
from commmodel.units import format_ratio, format_time


def mapping_table(mapping: RankMapping) -> Table:
    """Return the simulated time of each mapping and the bytes between its nodes; the best one is marked."""
    rows = []
    for candidate in mapping.candidates:
        share = candidate.cut / mapping.total if mapping.total else 0.0
        name = Cell(candidate.name, style="strong" if candidate is mapping.best else "")
        rows.append((name, *_times(candidate, mapping.block), Cell(volume(candidate.cut)), Cell(format_ratio(share))))
    columns = (*left("mapping"), *right("simulated time", "against block", "between nodes", "of all bytes"))
    return Table("", columns, tuple(rows))


def _times(candidate: CandidateMapping, block: CandidateMapping) -> tuple[Cell, Cell]:
    if not np.isfinite(candidate.seconds):
        return Cell("deadlock", style="bad"), NOTHING
    beside = "" if candidate is block else beside_words(candidate.seconds, block.seconds) if block.seconds else ""
    is_better = candidate.seconds < block.seconds
    return Cell(format_time(candidate.seconds)), Cell(beside, style="good" if is_better else "")


def mapping_lines(mapping: RankMapping) -> list[str]:
    """Return a sentence: what the best mapping gains over blocks in time and in bytes between nodes."""
    best, block = mapping.best, mapping.block
    if best is block:
        return ["Blocks are best: nothing else is faster in simulation."]
    time = beside_words(best.seconds, block.seconds) if block.seconds else "the same"
    fewer = f"; {format_ratio(1 - best.cut / block.cut)} fewer bytes between nodes" if best.cut < block.cut else ""
    return [f"Best is {best.name}: {time} than ranks in blocks{fewer}."]
