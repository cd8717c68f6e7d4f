"""Tables of a recording, and what a terminal shows of it. Main entries: `profile_tables`, `recording_blocks`."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.padding import Padding

from commmodel.record import Efficiency, Profile, RecordedExchange
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right, text
from commmodel.report.recording.findings import costly_sites, factors_table, next_commands, place, verdict, volume
from commmodel.report.recording.sending import SendFindings, sending_codes, sending_tables, sending_words
from commmodel.simulate.critical_path import CriticalPath
from commmodel.units import format_ratio, format_size, format_time

_MOST_ROWS = 20
_MOST_DECISIVE = 6


def recording_blocks(
    profile: Profile,
    efficiency: Efficiency | None,
    *folders: str,
    critical_path: CriticalPath | None = None,
    exchange: RecordedExchange | None = None,
    sending: SendFindings | None = None,
) -> list[RenderableType]:
    """Return the verdict, the sites that matter, how to send, the efficiency, what to type next, and all tables."""
    blocks: list[RenderableType] = [text(sentence, "bold") for sentence in verdict(profile, efficiency)]
    for number, site in enumerate(costly_sites(profile), 1):
        blocks += [text(""), text(f"{number}. {site.title}", "bold")]
        blocks += [Padding(text(words), (0, 0, 0, 3)) for words in site.lines]
    blocks += [] if sending is None else _sending_blocks(sending)
    blocks += [text(""), factors_table(efficiency)] if efficiency is not None else []
    blocks += [text(""), path_table(critical_path)] if critical_path is not None else []
    commands = next_commands(*folders, exchange=exchange)
    blocks += [text(""), text("What to do next", "bold"), *(text(f"  {line}") for line in commands)]
    return [*blocks, text(""), *profile_tables(profile)]


def _sending_blocks(findings: SendFindings) -> list[RenderableType]:
    blocks: list[RenderableType] = [text(""), *sending_tables(findings), *map(text, sending_words(findings))]
    for name, code in sending_codes(findings):
        blocks += [text(name, "bold"), *(text(f"  {line}") for line in code.splitlines())]
    return blocks


def path_table(path: CriticalPath) -> Table:
    """Return the call sites on the critical path, those that decide most of the time first."""
    shares = path.by_site()
    rows = plain_rows(
        (share.name, format_time(share.seconds), format_ratio(share.share)) for share in shares[:_MOST_DECISIVE]
    )
    rest = shares[_MOST_DECISIVE:]
    more = (f"And {len(rest)} more, {format_time(sum(share.seconds for share in rest))}.",) if rest else ()
    note = (
        "From the end of the last rank back to the begin, always to the rank that was waited for. Shortening a line "
        "gains that much at most: less where another path is nearly as long."
    )
    columns = (*left("shorten this first"), *right("by up to", "of the run"))
    return Table("Critical path", columns, rows, (note, *more))


def profile_tables(profile: Profile) -> list[Table]:
    """Return calls, call sites, ranks, sizes, communicators and the pairs of ranks that send most."""
    return [
        table
        for table in (
            _calls(profile), _sites(profile), _ranks(profile), _sizes(profile), _communicators(profile), _pairs(profile)
        )
        if table.rows
    ]  # fmt: skip


def _share(part: float, whole: float) -> str:
    return format_ratio(part / whole) if whole > 0 else ""


def _notes(rows: Sequence[object], rows_name: str) -> tuple[str, ...]:
    left_out = len(rows) - _MOST_ROWS
    return (f"And {left_out} more {rows_name}.",) if left_out > 0 else ()


def _time(profile: Profile) -> float:
    return sum(rank.seconds for rank in profile.ranks)


def _calls(profile: Profile) -> Table:
    time = _time(profile)
    rows = (
        (name, str(call.count), volume(call.bytes), format_time(call.seconds), _share(call.seconds, time),
         _share(call.waiting, call.seconds))
        for name, call in profile.calls.items()
    )  # fmt: skip
    columns = (*left("call"), *right("calls", "bytes", "time", "of all time", "waiting"))
    notes = ("Times are those of all ranks together; waiting is a share of the call's time.",)
    return Table("Calls", columns, plain_rows(rows), notes)


def _sites(profile: Profile) -> Table:
    time = _time(profile)
    sites = [site for site in profile.sites if profile.calls[site.call].group != "environment"]
    rows = tuple(
        (Cell(place(site), site.function.strip("<>")),
         *map(Cell, (site.call, str(site.count), volume(site.bytes), format_time(site.seconds),
                     _share(site.seconds, time), _share(site.waiting, site.seconds),
                     "" if site.waits_for is None else str(site.waits_for), next(iter(site.reasons), ""))))
        for site in sites[:_MOST_ROWS]
    )  # fmt: skip
    columns = (
        *left("site", "call"), *right("calls", "bytes", "time", "of all time", "waiting", "for rank"), *left("mostly")
    )  # fmt: skip
    notes = (
        "For rank: the one that has caused most of the waiting; mostly: why. Starting and ending MPI is not here.",
        *(
            ("name@0x...: a program without debugging information; compile it with -g for lines.",)
            if any("@0x" in site.function for site in sites)
            else ()
        ),
        *_notes(sites, "sites"),
    )
    return Table("Call sites", columns, rows, notes, details="none")


def _ranks(profile: Profile) -> Table:
    chosen = sorted(profile.ranks, key=lambda rank: -rank.caused)[:_MOST_ROWS]
    rows = (
        (str(rank.rank), *map(_seconds, (rank.computing, rank.waiting, rank.transferring, rank.files, rank.caused)),
         str(rank.messages), volume(rank.bytes))
        for rank in sorted(chosen, key=lambda rank: rank.rank)
    )  # fmt: skip
    columns = right("rank", "computing", "waiting", "transferring", "in files", "others wait", "messages", "bytes")
    notes = (
        f"Load balance of computing: {format_ratio(profile.load_balance)}. Others wait: what all other ranks together "
        "have waited for this one. Bytes: sent and received, but of MPI_Sendrecv those sent.",
        *((f"And {len(profile.ranks) - _MOST_ROWS} more ranks, for which others wait less.",)
          if len(profile.ranks) > _MOST_ROWS else ()),
    )  # fmt: skip
    return Table("Ranks", columns, plain_rows(rows), notes)


def _seconds(seconds: float) -> str:
    return format_time(seconds) if seconds > 0 else "0"


def _sizes(profile: Profile) -> Table:
    rows = (
        (size.kind, f"{format_size(size.least)} to {_end(size.most)}" if size.most else "0 B", str(size.count),
         volume(size.bytes), format_time(size.seconds))
        for size in profile.sizes
    )  # fmt: skip
    columns = (*left("kind", "size"), *right("number", "bytes", "time in the call"))
    return Table("Sizes", columns, plain_rows(rows))


def _end(most: int) -> str:
    """Return the end of a class of sizes: the power of two that is in the next one."""
    return format_size(most + 1) if most > 1 else "1 B"


def _communicators(profile: Profile) -> Table:
    listed = sorted(profile.communicators, key=lambda group: -group.seconds)
    rows = (
        (group.name, str(group.processes or ""), str(group.count), volume(group.bytes), format_time(group.seconds),
         _share(group.waiting, group.seconds))
        for group in listed[:_MOST_ROWS]
    )  # fmt: skip
    columns = (*left("communicator"), *right("ranks", "calls", "bytes", "time", "waiting"))
    return Table("Communicators", columns, plain_rows(rows), _notes(listed, "communicators"))


def _pairs(profile: Profile) -> Table:
    matrix = profile.matrix
    order = (-matrix.bytes).argsort(kind="stable")[:_MOST_ROWS]
    rows: Iterable[tuple[str, ...]] = (
        (str(matrix.source[place]), str(matrix.destination[place]), str(matrix.messages[place]),
         volume(float(matrix.bytes[place])))
        for place in order.tolist()
    )  # fmt: skip
    columns = right("from rank", "to rank", "messages", "bytes")
    return Table("Pairs of ranks that send most", columns, plain_rows(rows), _notes(matrix.bytes.tolist(), "pairs"))
