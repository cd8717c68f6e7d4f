"""Page of mappings of a program's ranks. Main entry: `write_placement`."""

import math
import os

from commmodel.files import write_text
from commmodel.placement import RankMapping
from commmodel.report.kit import axes as look
from commmodel.report.kit.bars import BarWords, bar_plot
from commmodel.report.kit.blocks import Bullets, CodeBlock, Figures, Folded, Section
from commmodel.report.kit.pages import render_page
from commmodel.report.simulation.placements import mapping_lines, mapping_table
from commmodel.signatures import checked

_TIMES = BarWords(
    "placement-times", "Run time by mapping", "Simulated run time where ranks are mapped so.", "run time", "s"
)
_CUTS = BarWords(
    "placement-bytes", "Bytes between nodes by mapping", "Bytes of messages that leave a node.", "bytes between nodes",
    "B",
)  # fmt: skip


@checked
def write_placement(path: str | os.PathLike[str], mapping: RankMapping) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    mapping : RankMapping
    """
    finished = [candidate for candidate in mapping.candidates if math.isfinite(candidate.seconds)]
    names = [candidate.name for candidate in finished]
    with look.style():
        plots = [
            bar_plot(names, {words.title: values}, words)
            for words, values in (
                (_TIMES, [candidate.seconds for candidate in finished]),
                (_CUTS, [candidate.cut for candidate in finished]),
            )
            if any(values)
        ]
    files = [Folded(name, (CodeBlock(tuple(text.splitlines())),)) for name, text in mapping.files().items()]
    notes = (Bullets(mapping.notes),) if mapping.notes else ()
    sections = [
        Section("Mappings of ranks", (mapping_table(mapping), *((Figures(tuple(plots)),) if plots else ()), *notes)),
        Section(f"Files of the best mapping, {mapping.best.name}", tuple(files)),
    ]
    name = f"{mapping.title}, {mapping.platform.name}, {mapping.model}"
    write_text(path, render_page(name, f"Placement: {name}", "Placement", sections, answer=mapping_lines(mapping)))
