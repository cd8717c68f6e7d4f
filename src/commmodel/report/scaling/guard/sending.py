"""How to send, in a guard's result: at the programs' call sites, and examples. Main entry: `sending_sections`."""

from collections.abc import Iterable
from dataclasses import replace

from commmodel.guard.counts import Counts
from commmodel.machine import Machine
from commmodel.record import SiteContent
from commmodel.report.recording.sending import (
    SendFindings,
    sending_codes,
    sending_findings,
    sending_tables,
    sending_words,
)
from commmodel.report.sections import SendingSection, sending_section


def site_findings(counts: Counts, machine: Machine) -> SendFindings | None:
    """Return what to do about what the programs send, each on the most ranks; None where all is in one piece."""
    return sending_findings(_contents(counts), machine)


def _contents(counts: Counts) -> Iterable[SiteContent]:
    largest = {run.program: run for run in sorted(counts.runs, key=lambda run: run.processes)}
    return (content for run in largest.values() for content in run.contents)


def sending_sections(counts: Counts, machine: Machine) -> tuple[SendingSection, ...]:
    """Return where another way to send gains in the programs, and how to send examples on the machine."""
    examples, findings = sending_section(machine), site_findings(counts, machine)
    sections = [] if examples is None else [examples]
    if findings is not None and (tables := sending_tables(findings)):
        first = replace(tables[0], notes=(*tables[0].notes, *sending_words(findings)))
        sections.insert(0, SendingSection(first, sending_codes(findings)))
    return tuple(sections)
