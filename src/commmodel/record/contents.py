"""What messages of a recorded program hold that are not in one piece: data in pieces, and pickled objects of Python.

Main entry: `site_contents`.
"""

from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import IS_ROOT, DataShape, Role, Volume
from commmodel.choices import DataLayout, ObjectKind
from commmodel.record.calls import CALLS
from commmodel.record.files import CallBlock, RecordedLayout, Recording
from commmodel.record.roles import kinds
from commmodel.signatures import checked
from commmodel.values import Value

_KINDS = kinds()
_ROLES = {call.code: Role(int(_KINDS[call.code, 0])) for call in CALLS}
_PREPARED = [code for code, role in _ROLES.items() if role is Role.SEND_PREPARED]
_SENDS = [
    code for code, role in _ROLES.items()
    if role in {Role.SENDS, Role.SENDS_LATER, Role.EXCHANGES, Role.EXCHANGES_LATER}
]  # fmt: skip
_STARTS = [code for code, role in _ROLES.items() if role is Role.STARTS]
_RECEIVES = [call.code for call in CALLS if call.name in {"MPI_Recv", "MPI_Irecv", "MPI_Mrecv", "MPI_Imrecv"}]
_COLLECTIVES = [call.code for call in CALLS if call.group in {"collective", "neighbourhood"}]
_TO_EACH = [code for code in _COLLECTIVES if _KINDS[code, 3] == Volume.TO_EACH]
_FROM_ROOT = [
    call.code for call in CALLS
    if call.name.lower().removesuffix("_init").removesuffix("v").removeprefix("mpi_").removeprefix("i")
    in {"bcast", "scatter"}
]  # fmt: skip
_NAMES = {call.code: call.name for call in CALLS}


class SiteContent(Value, msgspec.Struct, frozen=True):
    """What the calls of one name at one line of the program give to MPI, or receive, that is not in one piece."""

    file: str
    line: int
    function: str
    call: str
    place: str
    """File and line as people write them."""
    is_python: bool
    """Whether the line is one of Python."""
    is_sent: bool
    """False where the rank receives into pieces."""
    calls: int
    messages: int
    """As many as calls, but one to each peer of an alltoall or a scatter."""
    bytes: int
    """Of all messages together; where the rank receives, the room for them."""
    layout: DataLayout | None = None
    """How pieces lie; None of an object."""
    block: float = 0.0
    """Bytes of a piece, on average."""
    stride: int | None = None
    """Bytes from begin to begin; None where there is no single distance, or lengths differ."""
    kind: ObjectKind | None = None
    """What a pickled object is; None of pieces, and of an object that is none of these."""

    @property
    def message_size(self) -> int:
        """Bytes of a message, the mean.

        >>> SiteContent("a.py", 1, "f", "MPI_Send", "a.py:1", True, True, 2, 2, 2048, "vector", 8.0, 16).message_size
        1024
        """
        return round(self.bytes / self.messages) if self.messages else 0

    @property
    def pieces(self) -> int:
        """Pieces of a message, the mean; 0 of an object."""
        return max(1, round(self.message_size / self.block)) if self.block else 0


@checked
def site_contents(recording: Recording) -> tuple[SiteContent, ...]:
    """Return what messages hold that are not in one piece, by call site, those with most bytes first.

    Parameters
    ----------
    recording : Recording

    Returns
    -------
    tuple of SiteContent
        Empty where all messages are in one piece, and of recordings whose version of the log is before 3. A persistent
        request counts as often as it was started, and a receive as often as it was prepared.

    Examples
    --------
    `SiteContent.place` of the first is the line that sends most bytes in pieces or pickled.
    """
    sums: dict[tuple[int, int, bool, RecordedLayout], NDArray[np.int64]] = {}
    for rank in recording.ranks:
        layouts = recording.layouts(rank)
        sites = recording.site_numbers(rank)
        for site, code, number, *amounts in _counted(recording, rank) if layouts else ():
            if layout := layouts.get(number):
                key = (int(sites[site]) if site < sites.size else 0, code, code not in _RECEIVES, _like(layout))
                sums[key] = sums.get(key, np.zeros(3, np.int64)) + np.array(amounts)
    contents = [_content(recording, *key, *map(int, amounts)) for key, amounts in sums.items() if amounts[1]]
    return tuple(sorted(contents, key=lambda content: (-content.bytes, content.place, content.call)))


def _like(layout: RecordedLayout) -> RecordedLayout:
    """Return the layout of a piece alone: those of more or fewer of the same pieces are one."""
    return RecordedLayout(layout.shape, round(layout.block), 1, layout.distance) if layout.pieces else layout


def _content(
    recording: Recording,
    site: int,
    code: int,
    is_sent: bool,
    layout: RecordedLayout,
    calls: int,
    messages: int,
    size: int,
) -> SiteContent:
    where = recording.sites[site]
    place = (
        where.file,
        where.line,
        where.function,
        _NAMES[code],
        str(where),
        where.language == 1,
        is_sent,
        calls,
        messages,
        size,
    )
    if layout.shape >= DataShape.PICKLED_OBJECT:
        kind = DataShape(layout.shape).name.removeprefix("PICKLED_").lower()
        return SiteContent(*place, kind=kind if kind in get_args(ObjectKind) else None)  # type: ignore[arg-type]
    words: tuple[DataLayout, ...] = get_args(DataLayout)
    return SiteContent(*place, words[layout.shape], layout.block, layout.distance or None)


def _counted(recording: Recording, rank: int) -> Iterator[tuple[int, ...]]:
    """Yield site and code of calls, the number of a layout, how many calls and messages have it, and their bytes."""
    prepared: dict[int, tuple[int, int, int, int]] = {}
    sizes, places = _communicators(recording, rank)
    for block in recording.events(rank):
        calls = block.calls
        with_layout = calls[calls["content"] > 0]
        for call in with_layout[np.isin(with_layout["code"], _PREPARED) & (with_layout["peer"] >= 0)]:
            place = int(call["site"]), int(call["code"]), int(call["content"])
            prepared[int(call["request"])] = (*place, int(call["bytes"]))
        if prepared:
            for call in calls[np.isin(calls["code"], _STARTS)]:
                first = int(call["requests_at"])
                for request in block.numbers[first : first + int(call["requests"])].tolist():
                    if request in prepared:
                        *start, size = prepared[request]
                        yield (*start, 1, 1, size)
        single = with_layout[
            (np.isin(with_layout["code"], _SENDS) & (with_layout["peer"] >= 0))
            | np.isin(with_layout["code"], _RECEIVES)
        ]
        yield from _summed(single, np.ones(single.size, np.int64), single["bytes"])
        together = with_layout[np.isin(with_layout["code"], _COLLECTIVES)]
        yield from _summed(together, *_volumes(together, block, sizes, places))


def _communicators(recording: Recording, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of peers in each communicator of a rank, and the rank's place, by its numbers."""
    views = recording.views(rank)
    sizes, places = np.zeros((2, 1 + max((view.local for view in views), default=0)), np.int64)
    for view in views:
        sizes[view.local], places[view.local] = recording.groups[view.group].size, view.place
    return sizes, places


def _volumes(
    calls: NDArray[np.void], block: CallBlock, sizes: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return messages and bytes that a rank gives to collectives: one to each peer, or one to all."""
    communicator = np.minimum(calls["communicator"], sizes.size - 1)
    to_each = np.isin(calls["code"], _TO_EACH)
    messages = np.where(to_each, sizes[communicator], 1)
    volumes = messages * calls["bytes"]
    counts, first = calls["sent_counts"], calls["sent_counts_at"]
    for values, of_list in ((volumes, block.numbers), (messages, (block.numbers > 0).astype(np.int64))):
        before = np.concatenate([[0], np.cumsum(of_list)])
        has_list = counts > 0
        values[has_list] = (before[first + counts] - before[first])[has_list]
    gives = ~np.isin(calls["code"], _FROM_ROOT) | (calls["root"] == IS_ROOT) | (calls["root"] == places[communicator])
    return np.where(gives, messages, 0), np.where(gives, volumes, 0)


def _summed(
    calls: NDArray[np.void], messages: NDArray[np.int64], volumes: NDArray[np.int64]
) -> Iterator[tuple[int, ...]]:
    """Yield sums over the calls of each site, code and layout."""
    used = (messages > 0) & (volumes > 0)
    calls, messages, volumes = calls[used], messages[used], volumes[used]
    keys = np.stack([calls[name].astype(np.int64) for name in ("site", "code", "content")], axis=1)
    groups, group = np.unique(keys, axis=0, return_inverse=True)
    sums: Any = np.zeros((len(groups), 3), np.int64)
    np.add.at(sums, group.ravel(), np.stack([np.ones_like(messages), messages, volumes], axis=1))
    yield from (tuple(map(int, (*key, *amounts))) for key, amounts in zip(groups, sums, strict=True))
