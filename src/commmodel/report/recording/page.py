"""The page of a recording: where does my program's communication time go? Main entry: `write_recording`."""

import os
from collections.abc import Sequence
from typing import TypedDict, Unpack

from commmodel.files import write_text
from commmodel.record import Efficiency, Profile, RecordedExchange
from commmodel.report.kit.blocks import (
    Block,
    Bullets,
    CodeBlock,
    Fact,
    Facts,
    Figures,
    Folded,
    NameList,
    Section,
    Words,
    folded,
)
from commmodel.report.kit.pages import render_page
from commmodel.report.kit.tables import Cell
from commmodel.report.recording.findings import costly_sites, factors_table, next_commands, verdict, volume
from commmodel.report.recording.plots import draw
from commmodel.report.recording.sending import SendFindings, sending_codes, sending_tables, sending_words
from commmodel.report.recording.tables import path_table, profile_tables
from commmodel.signatures import checked
from commmodel.simulate.critical_path import CriticalPath
from commmodel.units import format_ratio, format_time

_HOW_TO_READ = (
    "Waiting: until another rank has begun its part of the operation: a late sender, a late receiver, the last rank of "
    "a collective. A faster network does not shorten it; balanced computing does.",
    "Transferring: all other time in communication. Fewer or larger messages, other algorithms, overlap or a faster "
    "network shorten it.",
    "Load balance: mean computing time of the ranks over that of the longest.",
)


class Leads(TypedDict, total=False):
    """Where a recording leads on."""

    critical_path: CriticalPath | None
    """What `commmodel.record.critical_path` returns."""
    exchange: RecordedExchange | None
    """What `commmodel.record.costliest_exchange` returns, for the commands."""
    sending: SendFindings | None
    """What it sends in pieces or pickled."""


@checked
def write_recording(
    path: str | os.PathLike[str],
    name: str,
    profile: Profile,
    subtitle: tuple[str, ...] = (),
    *,
    efficiency: Efficiency | None = None,
    folder: str = "FOLDER",
    further: Sequence[str] = (),
    **leads: Unpack[Leads],
) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    name : str
        What was recorded, such as its command.
    profile : Profile
    subtitle : tuple of str
        Lines below the name.
    efficiency : Efficiency or None
        None: it is left out.
    folder : str
        The recording's, for the commands that the page suggests.
    further : sequence of str
        Folders of further nodes of the same recording.
    **leads
        What `Leads` names.
    """
    critical_path, exchange, sending = leads.get("critical_path"), leads.get("exchange"), leads.get("sending")
    sites = tuple((site.title, site.lines) for site in costly_sites(profile))
    details = tuple(folded(table, is_open=table.title == "Call sites") for table in profile_tables(profile))
    factors = (factors_table(efficiency).untitled(),) if efficiency is not None else ()
    decisive = (path_table(critical_path).untitled(),) if critical_path is not None else ()
    faults = (Bullets(profile.faults),) if profile.faults else ()
    sections = [
        Section("Before you trust these numbers", faults, is_warning=True),
        Section("Where the communication time goes", (Facts(_facts(profile)),)),
        Section("The call sites that matter", (NameList(sites),) if sites else ()),
        Section("How to send", () if sending is None else _sending_blocks(sending)),
        Section("What decides its time", decisive),
        Section("Parallel efficiency", factors),
        Section("Ranks and messages", (Figures(tuple(draw(profile))),)),
        Section("In numbers", details),
        Section("What to do next", (CodeBlock(next_commands(folder, *further, exchange=exchange)),)),
        Section("How to read it", tuple(Words(text, is_hint=True) for text in _HOW_TO_READ)),
    ]  # fmt: skip
    title, answer = f"Where {name} spends its communication time", verdict(profile, efficiency)
    write_text(path, render_page(title, title, "Recorded program", sections, subtitle, answer=answer))


def _sending_blocks(findings: SendFindings) -> tuple[Block, ...]:
    folds = (
        Folded(f"The lines for {name}", (CodeBlock(tuple(code.splitlines())),), is_open=False)
        for name, code in sending_codes(findings)
    )
    return (*sending_tables(findings), *map(Words, sending_words(findings)), *folds)


def _facts(profile: Profile) -> tuple[Fact, ...]:
    waiting = sum(rank.waiting for rank in profile.ranks)
    total = waiting + sum(rank.transferring for rank in profile.ranks)
    return (
        Fact("Run time", Cell(format_time(profile.seconds)), f"of {profile.processes} processes"),
        Fact("Communication", Cell(format_ratio(profile.communication)), "of the ranks' time"),
        Fact("Waiting", Cell(format_ratio(waiting / total if total else 0.0)), "of the time in communication"),
        Fact("Load balance", Cell(format_ratio(profile.load_balance)), "of computing"),
        Fact("Messages", Cell(str(profile.messages)), f"{volume(profile.bytes)} from rank to rank"),
    )
