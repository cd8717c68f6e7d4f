"""Where a recorded program's communication time goes. Main entries: `profile`, `Profile`.

Time in communication is waiting or transferring. *Waiting* is what a call spends until another rank has come to its
part of the operation, which no faster network would shorten:

late sender
    A receive, a probe, or a wait for receives has begun before the message's send: until that send begins; of several
    messages, the last of them.
late receiver
    A send, or a wait for sends, has begun before the message's receive is posted, and ends after that: until it is
    posted. A send that ends earlier was buffered, and has not waited.
wait at N x N
    Barrier, allreduce, alltoall and other collectives of all with all: until the last rank has entered. In a scan a
    rank waits for those up to itself alone.
late broadcast, early reduce
    In bcast and scatter the others wait for the root; in reduce and gather the root waits for the last.

*Transferring* is all other time in communication, one-sided and neighbourhood operations included, whose waits are not
told apart. Messages are matched first in, first out for each communicator, source, destination and tag. Receives with
wildcards are put in the order in which they were posted among themselves; where one with and one without wildcards
could take the same message, the two may be exchanged.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from commmodel._core.common.codes import Share
from commmodel.frames import Tabular, axes_of, frame, of_axes
from commmodel.record.calls import CALLS
from commmodel.record.communicators import names
from commmodel.record.files import Recording
from commmodel.record.matching import analyse
from commmodel.record.matrices import Matrix, matrix_of
from commmodel.record.roles import REASONS, is_communication
from commmodel.signatures import checked
from commmodel.values import Value

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["CallProfile", "CommunicatorProfile", "Profile", "RankProfile", "SiteProfile", "SizeProfile", "profile"]

_MOST_DRAWN = 10
"""Sites."""


class CallProfile(msgspec.Struct, frozen=True):
    """All calls of one name."""

    count: int
    bytes: int
    """Sent, received by receives, or put into collectives, by all ranks together."""
    seconds: float
    waiting: float
    """Of all ranks together; the waiting is a part of the seconds."""
    group: str
    """Like ``point-to-point``."""


class SiteProfile(Value, msgspec.Struct, frozen=True):
    """All calls of one name at one line of the program."""

    file: str
    line: int
    function: str
    call: str
    count: int
    bytes: int
    seconds: float
    waiting: float
    waits_for: int | None
    """The rank that has caused most of the waiting."""
    waits_for_share: float
    """The part of the waiting that it has caused."""
    reasons: dict[str, float]
    """Why calls wait, like ``late sender`` -> seconds, the longest first."""
    place: str
    """File and line as people write them."""


class RankProfile(msgspec.Struct, frozen=True):
    """The time of one rank, in seconds."""

    rank: int
    seconds: float
    """From its first tick to its last."""
    computing: float
    """Outside of MPI, on the thread that called MPI first."""
    waiting: float
    transferring: float
    """In communication, like the waiting, on all threads."""
    files: float
    """In files."""
    other: float
    """In starting and ending MPI."""
    caused: float
    """What other ranks have waited for this one."""
    calls: int
    messages: int
    bytes: int


class CommunicatorProfile(msgspec.Struct, frozen=True):
    """All calls on one communicator; those without one, like MPI_Wait, come under their own name."""

    name: str
    processes: int
    count: int
    bytes: int
    seconds: float
    waiting: float


class SizeProfile(msgspec.Struct, frozen=True):
    """Messages, or collectives, of a number of bytes from `least` to `most`; seconds of sends are those in the call."""

    kind: str
    least: int
    most: int
    count: int
    bytes: int
    seconds: float


class Profile(Tabular, Value, msgspec.Struct, frozen=True):
    """What a program's communication costs."""

    seconds: float
    """From the first tick of any rank to the last."""
    processes: int
    messages: int
    bytes: int
    """Sent from rank to rank; collectives are among the calls."""
    communication: float
    """Share of the ranks' time that is communication, on the threads that called MPI first."""
    load_balance: float
    """Mean of the ranks' computing time over its maximum."""
    calls: dict[str, CallProfile]
    """Name -> `CallProfile`, by time."""
    sites: tuple[SiteProfile, ...]
    """By time."""
    ranks: tuple[RankProfile, ...]
    communicators: tuple[CommunicatorProfile, ...]
    sizes: tuple[SizeProfile, ...]
    matrix: Matrix
    faults: tuple[str, ...]
    """What is missing in the recording."""

    @property
    def communication_sites(self) -> tuple[SiteProfile, ...]:
        """Sites of communication alone, without files and the start and end of MPI."""
        return tuple(site for site in self.sites if is_communication(self.calls[site.call].group))

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as dictionaries, lists and numbers."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "matrix"}
        result: dict[str, Any] = msgspec.to_builtins(fields)
        return result | {"matrix": self.matrix.to_dict()}

    def to_frame(self) -> "pandas.DataFrame":
        """Return the call sites as a pandas DataFrame, the costliest first; `MissingPackageError` without pandas."""
        names = [name for name in SiteProfile.__struct_fields__ if name != "reasons"]
        return frame({name: [getattr(site, name) for site in self.sites] for name in names})

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw seconds of waiting and of transferring at the costliest sites of communication."""
        axes, sites = axes_of(axes), self.communication_sites[:_MOST_DRAWN]
        labels, waiting = [f"{site.call}, {site.place}" for site in sites], [site.waiting for site in sites]
        axes.barh(labels, waiting, label="waiting")
        axes.barh(labels, [site.seconds - site.waiting for site in sites], left=waiting, label="transferring")
        axes.invert_yaxis()
        axes.set_xlabel("time of all ranks in s")
        axes.legend()
        return axes


@checked
def profile(recording: Recording) -> Profile:
    """Return where a recorded program's communication time goes."""
    analysis = analyse(recording)
    by_code = {call.code: call for call in CALLS}
    calls: dict[str, CallProfile] = {}
    sites = []
    for code, site, count, size, seconds, waiting, causes, reasons in analysis.rows:
        call, where = by_code[code], recording.sites[site]
        before = calls.get(call.name, CallProfile(0, 0, 0.0, 0.0, call.group))
        calls[call.name] = CallProfile(
            before.count + count, before.bytes + size, before.seconds + seconds, before.waiting + waiting, call.group
        )
        by_reason = sorted(zip(REASONS, reasons, strict=True), key=lambda item: -item[1])
        sites.append(
            SiteProfile(
                where.file, where.line, where.function, call.name, count, size, seconds, waiting, *_most(causes),
                {reason: time for reason, time in by_reason if time > 0}, str(where),
            )
        )  # fmt: skip
    messages, sent, sends, receives, collectives = analysis.totals
    ranks = _ranks(recording, analysis.of_ranks)
    time = sum(rank.seconds for rank in ranks)
    inside = sum(row[3][Share.COMMUNICATION] for row in analysis.of_ranks)
    intervals = [recording.interval(rank) for rank in recording.ranks]
    computing = [rank.computing for rank in ranks]
    return Profile(
        seconds=max(end for _, end in intervals) - min(begin for begin, _ in intervals),
        processes=recording.processes,
        messages=messages,
        bytes=sent,
        communication=inside / time if time > 0 else 0.0,
        load_balance=float(np.mean(computing)) / max(computing) if max(computing) > 0 else 1.0,
        calls=dict(sorted(calls.items(), key=lambda item: -item[1].seconds)),
        sites=tuple(sorted(sites, key=lambda site: -site.seconds)),
        ranks=ranks,
        communicators=tuple(
            CommunicatorProfile(name, communicator.ranks.size, *sums)
            for name, communicator, sums in zip(
                names(recording.communicators), recording.communicators, analysis.communicators, strict=True
            )
            if sums[0]
        ),
        sizes=tuple(
            SizeProfile(kind, 1 << bits >> 1, (1 << bits) - 1, *sums)
            for kind, sizes in zip(("messages", "collectives"), analysis.sizes, strict=True)
            for bits, sums in sizes.items()
        ),
        matrix=matrix_of(recording.processes, analysis),
        faults=(*recording.oversubscription, *recording.faults, *_unmatched(sends, receives, collectives)),
    )


def _most(causes: Mapping[int, float]) -> tuple[int | None, float]:
    """Return the rank that others have waited for longest, and its share of the waiting."""
    if not causes:
        return None, 0.0
    rank = max(sorted(causes), key=causes.__getitem__)
    return rank, causes[rank] / sum(causes.values())


def _ranks(recording: Recording, rows: list[tuple[Any, ...]]) -> tuple[RankProfile, ...]:
    ranks = []
    for rank in recording.ranks:
        _, _, seconds, main, calls, messages, size, waiting, caused = rows[rank]
        begin, end = recording.interval(rank)
        ranks.append(
            RankProfile(
                rank=rank,
                seconds=end - begin,
                computing=max(end - begin - sum(main), 0.0),
                waiting=waiting,
                transferring=seconds[Share.COMMUNICATION] - waiting,
                files=seconds[Share.FILES],
                other=seconds[Share.OTHER],
                caused=caused,
                calls=calls,
                messages=messages,
                bytes=size,
            )
        )
    return tuple(ranks)


def _unmatched(sends: int, receives: int, collectives: int) -> list[str]:
    """Return what the recording lacks to tell waiting from transferring everywhere."""
    counts = (
        (sends, "messages without a receive in the recording"),
        (receives, "receives without a send in the recording"),
        (collectives, "collectives that not all ranks have entered in the recording"),
    )
    return [f"{kind}: {count}" for count, kind in counts if count]
