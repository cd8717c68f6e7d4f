"""The costliest exchange of a recorded program, as `commmodel optimize` wants it. Main entry: `costliest_exchange`.

An exchange is what a rank sends between two stretches of computation: its messages, to each of its peers, or an
all-to-all. The rank that moves most bytes stands for all.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import Role
from commmodel.record.calls import CALLS
from commmodel.record.files import CallBlock, Recording
from commmodel.record.profiles import Profile, SiteProfile
from commmodel.record.roles import kinds
from commmodel.record.timelines import analysed
from commmodel.signatures import checked
from commmodel.values import OneLine

_GROUPS = {"point-to-point", "completion"}
_ALL_TO_ALL = {"MPI_Alltoall", "MPI_Alltoallv", "MPI_Ialltoall", "MPI_Ialltoallv"}
_SENDS = {Role.SENDS, Role.SENDS_LATER, Role.EXCHANGES, Role.EXCHANGES_LATER}
_POSTS = [call.code for call in CALLS if call.name in {"MPI_Isend", "MPI_Irecv"}]
_FAST = 0.1
_UNKNOWN = 1e-7
"""Seconds of an overhead or a latency of which nothing is known, and the least of both."""
_STRETCH = 0.05
"""Of the computation before an exchange: between calls with less than that share of it there is none."""
_CODES_OF = {call.name: call.code for call in CALLS}
_ROLES = {code: Role(role) for code, role in enumerate(kinds()[:, 0].tolist())}


@dataclass(frozen=True)
class RecordedExchange(OneLine):
    """An exchange of a recorded program."""

    site: SiteProfile
    """Where most of its time is."""
    volume: float
    """Bytes to each peer, the median over the exchanges; of an all-to-all those to all peers together."""
    computation: float
    """Seconds that the rank computes from one exchange to the next, the median."""
    volumes: tuple[int, ...]
    """Bytes to each peer in the exchange of the median sum, by their ranks; of an all-to-all the sum alone."""
    peers: int
    """Ranks to which a rank sends, the median; of an all-to-all those that take part."""
    is_all_to_all: bool
    count: int
    """Exchanges of the rank."""
    overhead: float
    """Seconds that posting a message and its receive takes, together, the median over the rank's calls."""
    latency: float
    """Seconds of the fastest tenth of the small messages to the rank, less those overheads."""
    byte_time: float
    """Seconds per byte that the fastest tenth of the large messages to the rank takes more."""


@dataclass
class _Exchange:
    """What a rank does until its call at the site has ended, since the one before."""

    computation: float = 0.0
    bytes_of: Counter[int] = field(default_factory=Counter)


@checked
def costliest_exchange(recording: Recording, profile: Profile) -> RecordedExchange | None:
    """Return the exchange that takes most of the time in communication; None where there is none with data.

    Parameters
    ----------
    recording : Recording
    profile : Profile
        Of the recording.

    Examples
    --------
    ``record.costliest_exchange(recording, record.profile(recording)).volume`` is for ``commmodel optimize --volume``.
    """
    sites = [site for site in profile.communication_sites if _is_exchange(profile, site)]
    if not sites or not profile.ranks:
        return None
    site = sites[0]
    is_all_to_all = site.call in _ALL_TO_ALL
    rank = max(profile.ranks, key=lambda rank: rank.bytes).rank
    exchanges = [exchange for exchange in _exchanges(recording, rank, site) if exchange.bytes_of]
    if not exchanges:
        return None
    sums = [sum(exchange.bytes_of.values()) for exchange in exchanges]
    peers = [len(exchange.bytes_of) for exchange in exchanges]
    means = sums if is_all_to_all else [total / count for total, count in zip(sums, peers, strict=True)]
    count = profile.processes if is_all_to_all else round(float(np.median(peers)))
    computing = [exchange.computation for exchange in exchanges[1:] or exchanges]  # before the first, the program began
    volume, computation = float(np.median(means)), float(np.median(computing))
    if not (volume >= 1 and computation > 0):
        return None
    typical = exchanges[int(np.argsort(sums, kind="stable")[len(sums) // 2])].bytes_of
    volumes = tuple(typical[peer] for peer in sorted(typical) if typical[peer])
    network = _network(recording, rank)
    return RecordedExchange(site, volume, computation, volumes, count, is_all_to_all, len(exchanges), *network)


def _network(recording: Recording, rank: int) -> tuple[float, float, float]:
    """Return overhead, latency and byte time, as this rank's messages had them."""
    posting = [np.empty(0)]
    for begins, ends, codes in recording.times(rank):
        posting.append((ends - begins)[np.isin(codes, _POSTS)])
    times = np.concatenate(posting)
    overhead = 2.0 * float(np.median(times)) if times.size else _UNKNOWN
    messages = analysed(recording)[0]
    messages = messages[messages["receiver"] == rank]
    sizes, lasts = messages["size"], messages["arrived"] - messages["left"]
    small = lasts[sizes <= np.quantile(sizes, _FAST)] if sizes.size else lasts
    latency = max(float(np.quantile(small, _FAST)) - overhead, _UNKNOWN) if small.size else _UNKNOWN
    is_large = sizes >= max(1.0, float(sizes.max(initial=1.0)) / 2)
    more = (lasts[is_large] - latency - overhead) / sizes[is_large]
    byte_time = max(float(np.quantile(more, _FAST)), 1e-12) if more.size else 1e-12
    return max(overhead, _UNKNOWN), latency, byte_time


def _is_exchange(profile: Profile, site: SiteProfile) -> bool:
    return profile.calls[site.call].group in _GROUPS or site.call in _ALL_TO_ALL


def _exchanges(recording: Recording, rank: int, site: SiteProfile) -> list[_Exchange]:
    """Return a rank's exchanges, from one call at a site to the next; those that follow at once are one."""
    is_all_to_all, code_of_site = site.call in _ALL_TO_ALL, _CODES_OF[site.call]
    places = [
        number for number, where in enumerate(recording.sites)
        if (where.file, where.line, where.function) == (site.file, site.line, site.function)
    ]  # fmt: skip
    is_there = np.isin(recording.site_numbers(rank), places)
    sizes = {view.local: recording.groups[view.group].size for view in recording.views(rank)}
    stretches = np.concatenate([np.empty(0), *_stretches(recording, rank)]).tolist()
    exchanges = [_Exchange()]
    prepared: dict[int, tuple[int, int]] = {}
    place = 0
    for block in recording.events(rank):
        for call in block.calls:
            exchange, code = exchanges[-1], int(call["code"])
            exchange.computation += stretches[place]
            place += 1
            if not is_all_to_all:
                for peer, size in _messages(call, block, prepared):
                    exchange.bytes_of[peer] += size
            elif code == code_of_site:
                exchange.bytes_of[-1] += _sent_to_all(call, block, sizes)
            if code == code_of_site and is_there[min(int(call["site"]), is_there.size - 1)]:
                exchanges.append(_Exchange())
    return _together(exchanges[:-1])


def _together(exchanges: list[_Exchange]) -> list[_Exchange]:
    """Return exchanges with those put together between which there is next to no computation."""
    falling = np.sort([exchange.computation for exchange in exchanges[1:]])[::-1]
    half = int(np.searchsorted(np.cumsum(falling), 0.5 * falling.sum()))
    least = _STRETCH * float(falling[half]) if falling.size else 0.0
    joined: list[_Exchange] = []
    for exchange in exchanges:
        if joined and exchange.computation < least:
            joined[-1].computation += exchange.computation
            joined[-1].bytes_of += exchange.bytes_of
        else:
            joined.append(exchange)
    return joined


def _stretches(recording: Recording, rank: int) -> list[NDArray[np.float64]]:
    """Return how long a rank computes before each of its calls."""
    previous = recording.interval(rank)[0]
    stretches = []
    for begins, ends, _ in recording.times(rank):
        if begins.size:
            before = np.maximum.accumulate(np.concatenate(([previous], ends[:-1])))
            stretches.append(np.maximum(begins - before, 0.0))
            previous = max(previous, float(ends.max()))
    return stretches


def _messages(call: np.void, block: CallBlock, prepared: dict[int, tuple[int, int]]) -> list[tuple[int, int]]:
    """Return peer and bytes of each message that a call sends."""
    role = _ROLES[int(call["code"])]
    message = int(call["peer"]), int(call["bytes"])
    if role in _SENDS:
        return [message] if message[0] >= 0 else []
    if role is Role.SEND_PREPARED and message[0] >= 0:
        prepared[int(call["request"])] = message
    elif role is Role.STARTS:
        first = int(call["requests_at"])
        requests = block.numbers[first : first + int(call["requests"])].tolist()
        return [prepared[request] for request in requests if request in prepared]
    return []


def _sent_to_all(call: np.void, block: CallBlock, sizes: Mapping[int, int]) -> int:
    """Return the bytes that a rank gives to an all-to-all."""
    if int(call["sent_counts"]):
        first = int(call["sent_counts_at"])
        return int(block.numbers[first : first + int(call["sent_counts"])].sum())
    return int(call["bytes"]) * sizes.get(int(call["communicator"]), 1)
