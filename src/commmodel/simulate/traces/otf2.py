"""Archives of OTF2, which Score-P and others write, by the Python package of OTF2's authors (Debian: python3-otf2).

Each MPI rank is a location; what lies outside of MPI's regions is computation. The event that ends a receive says whom
it was from, so that events are read ahead from where a receive was posted to where it ended. Main entries:
`recognise`, `load`.
"""

import importlib
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commmodel.collectives.call import CollectiveCall
from commmodel.errors import DamagedFileError, InputError, MissingPackageError
from commmodel.simulate.traces.action_text import Action, Tags, is_opaque, is_waiting
from commmodel.simulate.traces.rank_actions import WORLD, ForeignTrace, RankActions

_MAGIC = b"\x03BOTF2"
_DEBIAN = Path("/usr/lib/python3/dist-packages")
"""Where Debian installs packages for its own Python, which other Pythons do not search."""
_EVENTS_AT_ONCE = 1000
_UNEVEN = {"gatherv": "gather", "scatterv": "scatter", "allgatherv": "allgather", "alltoallv": "alltoall"}
_WITH_ROOT = {"bcast", "reduce", "gather", "scatter"}
_OTHER_VERBS = {"alltoallw": "alltoall", "reduce_scatter": "reduce_scatter_block"}


def recognise(begin: bytes) -> bool:
    """Whether a file that begins so is the anchor file of an archive (``traces.otf2``)."""
    return begin.startswith(_MAGIC)


def _package() -> Any:
    """Return the package otf2."""
    try:
        return importlib.import_module("otf2")
    except ImportError:
        pass
    sys.path.append(str(_DEBIAN))
    try:
        return importlib.import_module("otf2")
    except ImportError as error:
        problem = f"archives of OTF2 need its Python package ({error}): install Debian's python3-otf2"
        raise MissingPackageError(problem) from None
    finally:
        sys.path.remove(str(_DEBIAN))


@contextmanager
def _reader(path: Path) -> Iterator[Any]:
    """Open an archive; what OTF2 refuses is damage."""
    package = _package()
    low_level = importlib.import_module("_otf2")
    try:
        with package.reader.open(str(path), batch_events=_EVENTS_AT_ONCE) as reader:
            yield reader
    except InputError:
        raise
    except (package.error.Error, low_level.Error, TypeError, ValueError, LookupError, AttributeError) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise DamagedFileError(path, "", f"OTF2 cannot read the archive: {words[:200]}") from None


class _Communicators:
    """Ranks of each communicator of an archive, and the location of each rank."""

    def __init__(self, path: Path, definitions: Any, package: Any) -> None:
        groups = package.GroupType
        of_mpi = [
            group
            for group in definitions.groups
            if group.group_type == groups.COMM_LOCATIONS and group.paradigm == package.Paradigm.MPI
        ]
        if not of_mpi or not of_mpi[-1].members:
            raise DamagedFileError(path, "", "an archive without ranks of MPI: there is nothing to replay")
        self.locations = [location._ref for location in of_mpi[-1].members]
        ranks = {location: rank for rank, location in enumerate(self.locations)}
        self.members: dict[int, Sequence[int]] = {WORLD: range(len(ranks))}
        self.numbers: dict[int, int | None] = {}
        """Of communicators by their references; None is that of a rank alone."""
        for communicator in definitions.comms:
            group = communicator.group
            if group.group_type == groups.COMM_SELF:
                self.numbers[communicator._ref] = None
                continue
            try:
                members = tuple(ranks[location._ref] for location in group.members)
            except KeyError as error:
                problem = f"communicator {communicator.name!r} has location {error}, which is no rank of MPI"
                raise DamagedFileError(path, "", problem) from None
            is_world = members == tuple(self.members[WORLD]) and WORLD not in self.numbers.values()
            number = WORLD if is_world else len(self.members)
            self.numbers[communicator._ref], self.members[number] = number, members
        self.alone = {rank: len(self.members) + rank for rank in ranks.values()}
        self.members.update((number, (rank,)) for rank, number in self.alone.items())


def load(path: Path, files: Sequence[Path]) -> ForeignTrace:
    """Return the trace of an archive, by its anchor file."""
    if len(files) != 1:
        raise InputError(f"{path}: {len(files)} archives of OTF2: name one, which has all ranks")
    anchor = files[0]
    package = _package()
    with _reader(anchor) as reader:
        communicators = _Communicators(anchor, reader.definitions, package)
    tags = Tags()

    def parts(rank: int, not_carried: Counter[str]) -> Iterator[list[Action]]:
        actions = RankActions(rank, communicators.members, tags, not_carried)
        with _reader(anchor) as reader:
            location = reader.definitions.locations[communicators.locations[rank]]
            writer = _EventWriter(actions, communicators, anchor, reader.definitions.clock_properties)
            events = (event for _, event in reader.events([location]))
            for number, (event, receive) in enumerate(_with_receives(events), 1):
                writer.write(event, receive)
                if not number % _EVENTS_AT_ONCE:
                    yield actions.take()
        actions.complete_all()
        yield actions.take()

    return ForeignTrace(path, len(communicators.locations), parts)


def _with_receives(events: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield events, with those that post a receive the event that ends it, or None."""
    ahead: deque[Any] = deque()
    ended: dict[int, deque[Any]] = {}

    def read() -> bool:
        event = next(events, None)
        if event is None:
            return False
        ahead.append(event)
        if type(event).__name__ in ("MpiIrecv", "MpiRequestCancelled"):
            ended.setdefault(event.request_id, deque()).append(event)
        return True

    while ahead or read():
        event = ahead.popleft()
        receive = None
        if type(event).__name__ == "MpiIrecvRequest":
            while not ended.get(event.request_id) and read():
                pass
            if listed := ended.get(event.request_id):
                receive = listed.popleft()
                if not listed:
                    del ended[event.request_id]
        elif type(event).__name__ == "MpiRequestCancelled" and ended.get(event.request_id):
            ended[event.request_id].popleft()  # of a send
        yield event, receive


class _EventWriter:
    """Writes a rank's events as actions."""

    def __init__(self, actions: RankActions, communicators: _Communicators, path: Path, clock: Any) -> None:
        self._actions, self._communicators, self._path = actions, communicators, path
        self._first, self._resolution = clock.global_offset, clock.timer_resolution
        if not self._resolution > 0:
            raise DamagedFileError(path, "", "a clock of 0 ticks per second")
        self._regions: list[str] = []
        """Regions of MPI that the rank is in."""
        self._entered = 0.0
        self._carried = False

    def write(self, event: Any, receive: Any) -> None:
        """Write an event; `receive` is what ends a receive that it posts."""
        kind, time = type(event).__name__, (event.time - self._first) / self._resolution
        if kind in ("Enter", "Leave"):
            self._region(event.region, time, enters=kind == "Enter")
            return
        if not kind.startswith(("Mpi", "NonBlockingCollective")):
            return
        if not self._regions:
            self._actions.call(time, time)
        self._carried = True
        match kind:
            case "MpiSend":
                self._message(event, None, is_send=True)
            case "MpiIsend":
                self._message(event, event.request_id, is_send=True)
            case "MpiRecv":
                self._message(event, None, is_send=False)
            case "MpiIrecvRequest" if receive is not None and type(receive).__name__ == "MpiIrecv":
                self._message(receive, event.request_id, is_send=False)
            case "MpiIsendComplete" | "MpiIrecv":
                self._actions.complete(event.request_id)
            case "MpiCollectiveEnd" | "NonBlockingCollectiveComplete":
                self._collective(event)

    def _region(self, region: Any, time: float, *, enters: bool) -> None:
        """Note that the rank enters or leaves a region."""
        name = region.name or ""
        if not name.startswith("MPI_"):
            return
        if enters:
            if not self._regions:
                self._actions.call(time, None)
                self._entered, self._carried = time, False
            self._regions.append(name)
            return
        if not self._regions or self._regions.pop() != name:
            raise DamagedFileError(self._path, f"rank {self._actions.rank}", f"it leaves {name}, in which it is not")
        if self._regions:
            return
        self._actions.call(None, time)
        if self._carried or is_waiting(name):
            return
        if is_opaque(name):
            self._actions.opaque(name, time - self._entered)
        else:
            self._actions.compute(time - self._entered)

    def _communicator(self, event: Any) -> int | None:
        """Return a communicator's number; None of one between two groups."""
        reference = event.communicator._ref
        if reference not in self._communicators.numbers:
            return None
        number = self._communicators.numbers[reference]
        return self._communicators.alone[self._actions.rank] if number is None else number

    def _peer(self, communicator: int, peer: int) -> int:
        processes = len(self._communicators.members[communicator])
        if peer >= processes:
            problem = f"rank {peer} of a communicator of {processes}"
            raise DamagedFileError(self._path, f"rank {self._actions.rank}", problem)
        return peer

    def _message(self, event: Any, request: object, *, is_send: bool) -> None:
        communicator = self._communicator(event)
        if communicator is None:
            self._actions.opaque(f"messages {'to' if is_send else 'from'} another group", 0.0)
            return
        peer = self._peer(communicator, event.receiver if is_send else event.sender)
        post = self._actions.send if is_send else self._actions.receive
        post(communicator, peer, event.msg_tag & 0x7FFFFFFF, event.msg_length, request)

    def _collective(self, event: Any) -> None:
        """Write a collective; of one with sizes of each rank's own the archive has the sums alone."""
        verb = str(event.collective_op).rpartition(".")[2].lower()
        communicator = self._communicator(event)
        if verb.startswith(("destroy", "deallocate")):
            return
        if communicator is None:
            self._actions.opaque(f"{verb} of another group", 0.0)
            return
        members = self._communicators.members[communicator]
        if verb.startswith(("create", "allocate")):
            self._actions.collective(communicator, CollectiveCall("allreduce", 8))
            return
        verb = _OTHER_VERBS.get(verb, _UNEVEN.get(verb, verb))
        sent, received, root = event.size_sent, event.size_received, 0
        if verb in _WITH_ROOT:
            root = self._peer(communicator, event.root)
        at_root = members[root] == self._actions.rank
        sent, received = _per_rank(verb, sent, received, len(members), at_root)
        call = CollectiveCall.of(verb, sent=sent, received=received, root=root)
        if call is None:
            self._actions.opaque(verb, 0.0)
        else:
            self._actions.collective(communicator, call)


def _per_rank(verb: str, sent: int, received: int, processes: int, at_root: bool) -> tuple[int, int]:
    """Return what a rank sends to one and receives from one, of what it sends and receives in all."""
    match verb:
        case "bcast":
            return received or -(-sent // processes), 0
        case "gather":
            return sent, -(-received // processes) if at_root else 0
        case "scatter":
            return -(-sent // processes) if at_root else 0, received
        case "allgather":
            part = -(-received // processes)
            return part, part
        case "alltoall":
            return -(-sent // processes), -(-received // processes)
        case "reduce_scatter_block":
            return -(-sent // processes), 0
    return sent, received
