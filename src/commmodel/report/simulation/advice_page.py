"""Page of what to pay for. Main entry: `write_advice`."""

import os

from commmodel.advice import Advice
from commmodel.files import write_text
from commmodel.report.kit.blocks import Bullets, Section
from commmodel.report.kit.pages import render_page
from commmodel.report.simulation.advice import advice_lines, advice_table
from commmodel.report.simulation.critical_path import path_tables
from commmodel.report.simulation.placements import mapping_table
from commmodel.report.simulation.sensitivity import title_of
from commmodel.report.simulation.sensitivity_page import cost_blocks
from commmodel.signatures import checked

_ANSWER = 4
"""Sentences in large type: what to do first, and what each kind of change gains."""


@checked
def write_advice(path: str | os.PathLike[str], advice: Advice) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    advice : Advice
    """
    lines = advice_lines(advice)
    rest = tuple(lines[_ANSWER:])
    sections = [
        Section("What to pay for", (*((Bullets(rest),) if rest else ()), advice_table(advice))),
        Section("What the machine decides", tuple(cost_blocks(advice.sensitivity))),
        Section("What the program decides", tuple(path_tables(advice.path, advice.links, advice.sites))),
    ]
    if advice.mapping is not None:
        sections.append(Section("Where its ranks are", (mapping_table(advice.mapping),)))
    name = title_of(advice.sensitivity)
    write_text(path, render_page(name, f"Advice: {name}", "Advice", sections, answer=lines[:_ANSWER]))
