"""What a recording tells first: the verdict, the call sites that matter and why, and what to do next.

Main entries: `verdict`, `costly_sites`, `factors_table`, `next_commands`.
"""

import os
import shlex
from typing import NamedTuple

from commmodel.record import Efficiency, Profile, RecordedExchange
from commmodel.record.profiles import SiteProfile
from commmodel.report.kit.tables import Cell, Style, Table, left, right
from commmodel.report.recording.guides import guide
from commmodel.report.recording.objects import array_advice, object_methods
from commmodel.shell import command_lines
from commmodel.sites import without_suffix
from commmodel.units import format_rate, format_ratio, format_time

_MOST_SITES = 3
_LEAST_SHARE = 0.02
_LOW = 0.8
_UNBALANCED = 0.9
_MOSTLY = 0.5
_LONG_START = 0.1
_MOVES_DATA = "most of whose time moves data; the rest waits for other ranks"
_SHORT = 78
"""Of a command, on a terminal that indents it."""
_SMALL = 8192
"""Bytes; what a smaller message costs is latency."""
_REASONS = {
    "late sender": "receives before the message is sent",
    "late receiver": "sends before the receive is posted",
    "wait at N x N": "waits until the last rank comes",
    "late broadcast": "waits until the root comes",
    "early reduce": "the root waits until the last rank comes",
    "wait in a scan": "waits until the ranks before it come",
}
_ADVICE = {
    "late sender": "send earlier, or post the receive early (MPI_Irecv) and compute until the message is needed",
    "late receiver": "post the receive earlier (MPI_Irecv), or send without blocking (MPI_Isend)",
    "wait at N x N": "balance the computing before it, or begin it without blocking (MPI_I...) and compute meanwhile",
    "late broadcast": "let the root come earlier: move its own work behind the call",
    "early reduce": "balance the computing before it, or begin it without blocking (MPI_I...)",
    "wait in a scan": "balance the computing before it",
}


def volume(size: float) -> str:
    """Return bytes in three digits: sums, of which nobody wants every byte.

    >>> volume(123456789), volume(32)
    ('123 MB', '32 B')
    """
    return f"{size:.0f} B" if size < 1000 else format_rate(size).removesuffix("/s")


def place(site: SiteProfile) -> str:
    """Return where a site is; of a compiled module of Python, its name alone."""
    return without_suffix(site.place)


class CostlySite(NamedTuple):
    """One of the call sites that matter."""

    title: str
    """Where it is, and its call."""
    cost: str
    why: str
    advice: str
    guide: str = ""
    """The page of the documentation that goes on, and where it is; empty where there is none."""

    @property
    def lines(self) -> tuple[str, ...]:
        """What a reader should know of it, a paragraph each."""
        further = (f"Guide: {self.guide}",) if self.guide else ()
        return (self.cost, self.why, f"To do: {self.advice}.", *further)


def _time(profile: Profile) -> float:
    """Return the time of all ranks in communication."""
    return sum(rank.waiting + rank.transferring for rank in profile.ranks)


def _is_for_objects(profile: Profile, site: SiteProfile) -> bool:
    """Return whether a site copies a communicator because mpi4py reduces objects there."""
    if site.call != "MPI_Comm_dup" or not site.file.endswith(".py"):
        return False
    calls = {other.call for other in profile.sites if (other.file, other.line) == (site.file, site.line)}
    return not calls.isdisjoint({"MPI_Send", "MPI_Recv", "MPI_Bcast", "MPI_Sendrecv"})


def _call(profile: Profile, site: SiteProfile) -> str:
    """Return the call of a site, and who calls it where the program does not."""
    if _is_for_objects(profile, site):
        return f"{site.call} of mpi4py's reduction of objects"
    method = object_methods(profile).get((site.file, site.line), "")
    return f"{site.call} of mpi4py's {method}" if method else site.call


def _awaited(site: SiteProfile) -> str:
    """Return for whom calls wait, in words."""
    if site.waits_for is None or site.waits_for_share <= _MOSTLY:
        return "other ranks, of which no single one is late"
    return f"rank {site.waits_for}"


def verdict(profile: Profile, efficiency: Efficiency | None = None) -> list[str]:
    """Return what a reader should know first, a sentence each."""
    total = _time(profile)
    share, seconds = format_ratio(profile.communication), format_time(profile.seconds)
    if not total:
        return [f"No communication in {seconds}."]
    waiting = sum(rank.waiting for rank in profile.ranks) / total
    first = profile.communication_sites[0]
    part = first.seconds / total
    subject = "most of it" if part > _MOSTLY else "the largest part of it"
    waits = first.waiting >= _MOSTLY * first.seconds and first.waits_for is not None
    how = f"which waits for {_awaited(first)}" if waits else _MOVES_DATA
    sentences = [
        f"{share} of {seconds} is communication; {subject} ({format_ratio(part)}) is {_call(profile, first)} at "
        f"{place(first)}, "
        f"{how}.",
        f"Of all time in communication {format_ratio(waiting)} is waiting for other ranks.",
    ]  # fmt: skip
    if profile.load_balance < _UNBALANCED:
        longest = max(profile.ranks, key=lambda rank: rank.computing)
        sentences.append(
            f"Computing is unbalanced: ranks compute {format_ratio(profile.load_balance)} of what rank {longest.rank} "
            f"does, {format_time(longest.computing)}."
        )
    if efficiency is not None:
        sentences.append(_efficiency_sentence(efficiency))
    start = sum(rank.other for rank in profile.ranks) / max(sum(rank.seconds for rank in profile.ranks), 1e-300)
    if start > _LONG_START:
        sentences.append(f"Starting and ending MPI takes {format_ratio(start)} of the time: a longer run tells more.")
    return sentences


def _efficiency_sentence(efficiency: Efficiency) -> str:
    """Return the parallel efficiency, and the factor that loses most."""
    factors = {"load balance": efficiency.load_balance, "communication": efficiency.communication}
    if efficiency.serialisation is not None and efficiency.transfer is not None:
        del factors["communication"]
        factors |= {"serialisation": efficiency.serialisation, "transfer": efficiency.transfer}
    worst = min(factors, key=factors.__getitem__)
    return (
        f"Parallel efficiency {format_ratio(efficiency.parallel)}; its lowest factor is {worst}, "
        f"{format_ratio(factors[worst])}."
    )


def factors_table(efficiency: Efficiency) -> Table:
    """Return the factors of the parallel efficiency, what each means and what to do about a low one."""
    rows: list[tuple[str, float | None, str, str]] = [
        ("parallel efficiency", efficiency.parallel, "mean computing / run time", "see its factors"),
        ("load balance", efficiency.load_balance, "mean computing / the longest rank's", "give ranks equal work"),
        ("communication", efficiency.communication, "the longest rank's computing / run time", "see its factors"),
        ("  serialisation", efficiency.serialisation, "the same, if messages took no time",
         "ranks wait in turns: balance each step"),
        ("  transfer", efficiency.transfer, "run time, if messages took no time / run time",
         "fewer, larger messages; overlap"),
    ]  # fmt: skip
    cells = tuple(
        (Cell(name), Cell("–" if value is None else format_ratio(value), style=_style(value)), *map(Cell, words))
        for name, value, *words in rows
    )
    columns = (*left("factor"), *right("value"), *left("is", "where it is low"))
    notes = (
        "Parallel efficiency = load balance x communication; communication = serialisation x transfer. Run time: "
        "without starting and ending MPI, which all other shares of time include.",
        *((f"Serialisation and transfer need a replay: {efficiency.problem}.",) if efficiency.problem else ()),
    )
    return Table("Parallel efficiency", columns, cells, notes)


def _style(value: float | None) -> Style:
    return "quiet" if value is None else "bad" if value < _LOW else ""


def costly_sites(profile: Profile) -> list[CostlySite]:
    """Return the call sites that take most of the time in communication, why, and what would shorten them."""
    total = _time(profile)
    sites = [site for site in profile.communication_sites[:_MOST_SITES] if site.seconds >= _LEAST_SHARE * total > 0]
    return [_costly_site(profile, site, total) for site in sites]


def _costly_site(profile: Profile, site: SiteProfile, total: float) -> CostlySite:
    function = "" if not site.line or site.function.startswith("<") else f" in {site.function}"
    transferring = site.seconds - site.waiting
    parts = {**site.reasons, "transfer": transferring}
    parts = {name: seconds for name, seconds in parts.items() if seconds >= 0.1 * site.seconds}
    size = site.bytes / site.count
    words = []
    for name, seconds in sorted(parts.items(), key=lambda item: -item[1]):
        if name == "transfer":
            words.append(f"{format_ratio(seconds / site.seconds)} transfer ({volume(size)} a call)" if site.bytes else
                         f"{format_ratio(seconds / site.seconds)} transfer")  # fmt: skip
        else:
            words.append(f"{format_ratio(seconds / site.seconds)} {name}: {_REASONS[name]}")
    why = "; ".join(words) + (f"; it waits for {_awaited(site)}." if site.waiting >= 0.1 * site.seconds else ".")
    largest = max(parts, key=parts.__getitem__)
    method = object_methods(profile).get((site.file, site.line), "")
    instead = array_advice(method)
    is_waiting_for_one = largest != "transfer" and site.waits_for is not None and site.waits_for_share > _MOSTLY
    page = guide(profile, site, method, is_waiting_for_one=is_waiting_for_one)
    advice = _transfer_advice(profile, site, size) if largest == "transfer" else _advice(site, largest)
    return CostlySite(
        f"{place(site)}{function}, {_call(profile, site)}",
        f"{format_ratio(site.seconds / total)} of communication: {format_time(site.seconds)} of all ranks, "
        f"{site.count} call{'s' if site.count > 1 else ''}",
        why,
        "; ".join(filter(None, (instead, advice) if largest == "transfer" else (advice, instead))),
        str(page or ""),
    )


def _advice(site: SiteProfile, reason: str) -> str:
    if site.waits_for is not None and site.waits_for_share > _MOSTLY:
        return f"{_ADVICE[reason]}; begin with rank {site.waits_for}"
    return f"{_ADVICE[reason]}; no rank is always the last, so noise or work that moves between ranks causes it"


def _transfer_advice(profile: Profile, site: SiteProfile, size: float) -> str:
    group = profile.calls[site.call].group
    if _is_for_objects(profile, site):
        return "mpi4py copies the communicator at its first reduction of objects: once; Reduce of arrays copies none"
    if group == "communicator":
        return "make communicators once, before loops"
    if group == "completion":
        return "compute between posting and waiting, or send less"
    if not site.bytes:
        return "latency counts: call it less often"
    if size < _SMALL:
        return "latency counts: put several small messages into one, or call it less often"
    return "bandwidth counts: send less, or compute meanwhile with non-blocking calls (MPI_I...)"


_MOST_PEERS, _UNEQUAL = 26, 1.1
"""Volumes that are typed one by one, as the neighbours in three dimensions, and times the least that count as more."""


def optimize_command(exchange: RecordedExchange) -> str:
    """Return the command that asks into which messages to cut an exchange, so that computation hides it.

    Its network is that of the recorded messages; a measured machine says more.
    """
    with_each = exchange.computation / (1 if exchange.is_all_to_all else exchange.peers)
    volumes, computations, pattern = str(round(exchange.volume)), _shell_time(with_each), ""
    if _are_unequal(exchange):
        total = sum(exchange.volumes)
        volumes = ",".join(map(str, exchange.volumes))
        computations = ",".join(_shell_time(exchange.computation * part / total) for part in exchange.volumes)
    elif exchange.is_all_to_all or exchange.peers > 1:
        kind = "all-to-all-contiguous" if exchange.is_all_to_all else "multiple-end-points-contiguous"
        pattern = f" --peers {exchange.peers} --patterns {kind}"
    network = f"--overhead {_shell_time(exchange.overhead)} --latency {_shell_time(exchange.latency)}"
    byte_time = f"--byte-time {1e9 * exchange.byte_time:.3g}ns/B"
    return f"commmodel optimize --volume {volumes} --computation {computations} {network} {byte_time}{pattern}"


def _shell_time(seconds: float) -> str:
    return format_time(seconds).replace(" ", "")


def _are_unequal(exchange: RecordedExchange) -> bool:
    """Whether peers get different volumes, and few enough to be typed."""
    volumes = exchange.volumes
    return not exchange.is_all_to_all and 1 < len(volumes) <= _MOST_PEERS and max(volumes) > _UNEQUAL * min(volumes)


def next_commands(folder: str, *further: str, exchange: RecordedExchange | None = None) -> tuple[str, ...]:
    """Return what to type next; of several folders of one recording, first what makes one of them."""
    name = "all" if further else shlex.quote(folder)
    folders = " ".join(shlex.quote(os.path.join(path, ".")) for path in (folder, *further))
    commands = {f"mkdir all && cp -R {folders} all": "one folder for the logs of all ranks"} if further else {}
    commands |= {
        f"commmodel convert {name} -o timeline.html": "each rank over time, with its messages",
        f"commmodel simulate graphene replay {name}": "the same ranks on another machine",
        f"commmodel simulate graphene replay {name} -k 1": "and a node for each of them",
    }
    if exchange is not None:
        where = without_suffix(exchange.site.place)
        commands[optimize_command(exchange)] = f"messages with which computation hides the exchange at {where}"
    width = max(map(len, commands))
    lines = [f"{command:{width}}  # {purpose}" for command, purpose in commands.items()]
    if max(map(len, lines)) <= _SHORT:
        return tuple(lines)
    return tuple(
        line for command, purpose in commands.items() for line in (f"# {purpose}", *command_lines(command, _SHORT))
    )
