"""A recording as actions of each rank: the text of time-independent traces, for replays and conversions.

What ranks did between two calls is computation. Point-to-point messages name ranks of the whole program; a tag stands
for a communicator and a tag in it. Collectives of other communicators than MPI_COMM_WORLD are written with our
extension of the format (`commmodel.simulate.work.communicators`). How each call is written:

- blocking calls, requests and their completion: as they are; a wait names the request that completed;
- matched probes: the receive stands where the probe did, and the receive itself takes no time;
- Iprobe and Test without success: nothing, and the time between two such calls from one place is none of computation;
- persistent calls: at each start;
- non-blocking collectives: at their completion, as a rank of a replay does one thing at a time;
- partitioned messages: whole, at the first MPI_Pready after each start;
- neighbourhood collectives: as messages to and from neighbours, posted where the call was;
- collectives of intercommunicators: within each group, with messages between the groups;
- one-sided operations between fences: as messages that the target takes at the fence, which is a barrier;
- calls that make communicators and windows: an allreduce of 8 bytes of the ranks that call them.

What has no action (other one-sided calls, files, calls with processes of other programs) lasts as long as it did, and
is counted. Main entry: `RecordedActions`.
"""

from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from commmodel._core.common.codes import ANY, NO_PROCESS, DataFlag
from commmodel._core.recordings.logs import CALL
from commmodel.collectives.between_groups import GroupExchange, between_groups
from commmodel.collectives.call import MOVED, CollectiveCall
from commmodel.collectives.operation import Operator
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.record.calls import CALLS
from commmodel.record.communicators import View
from commmodel.record.files import CallBlock, Recording
from commmodel.record.windows import Epochs, Windows
from commmodel.simulate.operations import Program
from commmodel.simulate.traces import replay_texts
from commmodel.simulate.traces.action_text import Action, MemberCall, Tags
from commmodel.simulate.traces.rank_actions import CountedActions
from commmodel.simulate.work.communicators import Definition
from commmodel.sites import without_suffix

NAMES = {call.code: call.name for call in CALLS}
_GROUPS = {call.code: call.group for call in CALLS}
_ROOM = 1 << 30  # bytes that a matched probe with wildcards has room for: no call says so
_REMEMBERED = 512  # calls of a rank; few, as each may have counts for thousands of ranks
_WORLD = 1  # MPI_COMM_WORLD in each log
_EXCHANGE = -1  # the request of an MPI_Sendrecv
_NEIGHBOURS, _BETWEEN_GROUPS, _TO_WINDOW, _FROM_WINDOW, _PARTITIONED = -10, -11, -12, -13, -20
"""Tags of messages that are not point-to-point ones; that of a partitioned message is _PARTITIONED less its own."""
_POLLS = {"MPI_Iprobe", "MPI_Improbe", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"}
_SENDS = {"send", "bsend", "ssend", "rsend"}
_EXCHANGES = {"sendrecv", "sendrecv_replace", "isendrecv", "isendrecv_replace"}
_WITHOUT_TIME = {
    "MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Pcontrol", "MPI_Comm_set_name", "MPI_Comm_free", "MPI_Probe",
    "MPI_Iprobe", "MPI_Mrecv", "MPI_Imrecv", "MPI_Request_get_status", "MPI_Buffer_attach", "MPI_Buffer_detach",
}  # fmt: skip
_OTHER_PROGRAMS = {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join"}
_Wait = Callable[[int, int], Action]
"""Source and tag of what has been received -> the action that waits for it; empty where nothing has come."""
_named_tuple: Any = namedtuple  # of names that are known at run time alone
Row: Any = _named_tuple("Row", CALL.names)
"""A call; see the columns of `CallBlock.calls`."""


def _numbers(call: Any, block: CallBlock, field: str) -> list[int]:
    """Return the list that a call has in a field."""
    first = getattr(call, f"{field}_at")
    numbers: list[int] = block.numbers[first : first + getattr(call, field)].tolist()
    return numbers


def _with_counts(call: Any, block: CallBlock) -> Any:
    """Return the call with its lists of bytes in place of their lengths."""
    if not (call.sent_counts or call.received_counts):
        return call
    sent, received = (_numbers(call, block, field) for field in ("sent_counts", "received_counts"))
    return call._replace(sent_counts=sent, received_counts=received)


def _operator(flags: int) -> Operator:
    if not flags & DataFlag.OF_USER:
        return "predefined"
    return "non-commutative" if flags & DataFlag.ORDERED else "commutative"


def _counts(counts: list[int] | int) -> tuple[int, ...]:
    """Return bytes to or from each rank; none where they mean nothing on this rank."""
    return tuple(counts) if isinstance(counts, list) else ()


def _fields(call: Any) -> dict[str, Any]:
    """Return the fields of a collective's call."""
    return {
        "sent": call.bytes,
        "received": call.room,
        "root": call.root,
        "element": call.element,
        "operator": _operator(call.data_flags),
        "in_place": bool(call.data_flags & DataFlag.IN_PLACE),
        "sent_counts": _counts(call.sent_counts),
        "received_counts": _counts(call.received_counts),
    }


def _lines(rank: int, tag: int, sends: list[tuple[int, int]], receives: list[tuple[int, int]]) -> list[list[str]]:
    """Return the lines that post messages with ranks of the program, and those that wait for them.

    >>> _lines(0, 7, [(1, 80)], [(2, 40)])
    [['irecv 2 7 40 6', 'isend 1 7 80 6'], ['wait 2 0 7', 'wait 0 1 7']]
    """
    posts = [f"irecv {peer} {tag} {size} 6" for peer, size in receives]
    posts += [f"isend {peer} {tag} {size} 6" for peer, size in sends]
    waits = [f"wait {peer} {rank} {tag}" for peer, _ in receives]
    return [posts, waits + [f"wait {rank} {peer} {tag}" for peer, _ in sends]]


def _of_neighbours(call: Any, view: View, *, is_cartesian: bool) -> GroupExchange | None:
    """Return a neighbourhood collective; None where the log does not say with whom.

    The k-th message to a neighbour is the k-th that it has from this rank. In a Cartesian topology what goes up a
    dimension comes from below, which matters where both neighbours are the same rank.
    """
    if view.sources is None or view.destinations is None:
        return None
    sends = _messages(view.destinations, call.sent_counts, call.bytes)
    receives = _messages(view.sources, call.received_counts, call.room)
    if is_cartesian and len(sends) % 2:
        return None  # a damaged log: neighbours in a Cartesian topology come in pairs
    if is_cartesian:
        sends = [sends[number ^ 1] for number in range(len(sends))]
    without = [message for message in sends if message[0] != NO_PROCESS]
    return GroupExchange(without, [message for message in receives if message[0] != NO_PROCESS])


def _messages(peers: tuple[int, ...], counts: list[int] | int, size: int) -> list[tuple[int, int]]:
    sizes = counts if isinstance(counts, list) and counts else [size] * len(peers)
    return list(zip(peers, sizes, strict=False))


class RecordedActions(CountedActions):
    """What each rank of a recording did, as text of time-independent traces.

    Parameters
    ----------
    recording : Recording
    speed : float
        Flops per second: a second of computation becomes so many flops.
    located : bool
        Whether what belongs to a call, and the computation before it, is behind a mark with the number of its site.

    Raises
    ------
    InputError
        Where the log of a rank is missing.
    """

    def __init__(self, recording: Recording, speed: float = 1e9, *, located: bool = False) -> None:
        self.recording: Recording = recording
        self.located: bool = located
        self._call_sites: dict[tuple[int, int], int] = {}
        self.speed: float = speed
        super().__init__(recording.processes, self._parts_of)
        missing = sorted(set(range(self.processes)) - set(recording.ranks))
        if missing:
            shown = ", ".join(map(str, missing[:8])) + ", ..." * (len(missing) > 8)
            raise InputError(f"{recording.folder}: no log of ranks {shown}: only complete recordings can be replayed")
        self.tags: Tags = Tags()

    def site_mark(self, site: int, code: int) -> int:
        """Return the number of the mark of a call at a site of the recording."""
        return self._call_sites.setdefault((site, code), len(self._call_sites))

    def sites(self) -> tuple[str, ...]:
        """Return the sites by the numbers of their marks, as far as the recording has been read."""
        names = [without_suffix(str(site)) for site in self.recording.sites]
        return tuple(f"{names[site]}, {NAMES[code]}" for site, code in self._call_sites)

    @cached_property
    def windows(self) -> Windows:
        """The recording's windows, with the operations on them."""
        return Windows(self.recording)

    def _parts_of(self, rank: int, not_carried: Counter[str]) -> Iterator[list[Action]]:
        writer = _Rank(self, rank, not_carried)
        yield ["init"]
        yield from filter(None, map(writer.actions, self.recording.events(rank)))

    @property
    def title(self) -> str:
        """Folder of the recording."""
        return str(self.recording.folder)

    def steps(self, rank: int) -> Iterator[tuple[str, Sequence[Action]]]:
        """Yield the calls of a rank: name and site of each, and its actions, with the computation before it."""
        writer = _Rank(self, rank, Counter())
        sites, numbers = self.recording.sites, self.recording.site_numbers(rank)
        for block in self.recording.events(rank):
            for call, actions in writer.calls(block):
                yield f"{NAMES[call.code]} at {sites[numbers[call.site]]}", actions

    def context(self, tag: int) -> tuple[tuple[int, ...] | None, int]:
        """Return the members of the communicator of a tag in actions, None for all ranks, and the tag in it."""
        number, local = self.tags.origin(tag)
        if number == 0:
            return None, local
        members = tuple(self.recording.communicators[number].ranks.tolist())
        return (None if members == tuple(range(self.processes)) else members), local

    def program(self, *, faster: float | Sequence[float] = 1.0, settings: CollectiveSettings | None = None) -> Program:
        """Return the program that does what the recorded ranks did, computing between calls as long as they did.

        Parameters
        ----------
        faster : float or sequence of float
            How many times faster all ranks' processors are than those of the recording, or each rank's.
        settings : CollectiveSettings, optional
            Of collectives.

        Returns
        -------
        Program
            A stream: it reads the recording as it runs.
        """
        names = [f"{self.recording.folder}, rank {rank}" for rank in range(self.processes)]
        factors = [faster] * self.processes if isinstance(faster, int | float) else faster
        speeds = [self.speed * factor for factor in factors]
        title = f"replay of {self.recording.folder.name}"
        return replay_texts(self.pieces, names, speeds=speeds, settings=settings, title=title)


class _Rank:
    """Writes the actions of one rank."""

    def __init__(self, actions: RecordedActions, rank: int, not_carried: Counter[str]) -> None:
        self._rank, self._speed, self._tags = rank, actions.speed, actions.tags
        self._not_carried = not_carried
        self._groups = actions.recording.groups
        self._views = {  # without those that processes of other programs belong to
            view.local: view
            for view in actions.recording.views(rank)
            if (self._groups[view.group] < actions.processes).all()
        }
        self._kinds = [communicator.kind for communicator in actions.recording.communicators]
        self._windows, self._epochs = actions.windows, Epochs()
        self._actions = actions
        self._sites = actions.recording.site_numbers(rank) if actions.located else None
        self._window_waits: dict[int, list[str]] = {}
        self._defined: set[int] = set()
        self._alike: dict[tuple[object, ...], Action] = {}
        self._lines: list[Action] = []
        self._previous_end: float | None = None
        self._previous_poll: tuple[int, int] | None = None
        self._waits: dict[int, list[_Wait]] = {}
        self._persistent: dict[int, tuple[str, Any]] = {}
        self._partitioned: dict[int, Any] = {}  # started, and no partition is ready
        self._cancelled: Counter[tuple[int, int]] = Counter()  # posted receives that the recorded program took back

    def actions(self, block: CallBlock) -> list[Action]:
        """Return the actions of a block of calls."""
        return [action for _, actions in self.calls(block) for action in actions]

    def calls(self, block: CallBlock) -> Iterator[tuple[Any, list[Action]]]:
        """Yield each call of a block, and its actions, with the computation before it."""
        for call in map(Row._make, block.calls.tolist()):
            name = NAMES[call.code]
            if self._sites is not None:
                self._add(
                    f"mark {self._actions.site_mark(int(self._sites[min(call.site, self._sites.size - 1)]), call.code)}"
                )
            self._compute_until(name, call)
            if name in _WITHOUT_TIME:
                continue
            before = len(self._lines)
            if not self._carry(name.removeprefix("MPI_"), call, block):
                del self._lines[before:]
                self._not_carried[name] += 1
                self._add(f"sleep {max(call.end - call.begin, 0.0):.12g}")
            actions, self._lines = self._lines, []
            yield call, actions
        if self._lines:  # computation before a call that takes no time
            actions, self._lines = self._lines, []
            yield call, actions

    def _add(self, action: Action) -> None:
        self._lines.append(action)

    def _compute_until(self, name: str, call: Any) -> None:
        """Write the computation between the call before and this one; none between two calls that poll."""
        poll = (call.code, call.site) if name in _POLLS and not call.flag and not call.completed else None
        gap = 0.0 if self._previous_end is None else call.begin - self._previous_end
        if gap > 0 and (poll is None or poll != self._previous_poll):
            self._add(f"compute {gap * self._speed:.12g}")
        self._previous_end = max(call.end, self._previous_end or call.end)
        self._previous_poll = poll

    def _carry(self, verb: str, call: Any, block: CallBlock) -> bool:
        """Write the actions of a call; return whether it has any form in a trace."""
        group = _GROUPS[call.code]
        if call.communicator and call.communicator not in self._views:
            return False
        if verb.endswith("_init"):
            self._persistent[call.request] = verb.removesuffix("_init"), _with_counts(call, block)
            return True
        if group == "completion":
            return self._complete(call, block)
        if verb in ("Start", "Startall"):
            started = [self._persistent.get(request) for request in _numbers(call, block, "requests")]
            carried = [item is not None and self._carry_one("I" + item[0].lower(), item[1]) for item in started]
            return any(carried) or not carried  # what has a counterpart elsewhere must not be missing
        if verb.startswith("Pready"):
            for request in _numbers(call, block, "requests"):
                if request in self._partitioned:
                    self._post_partitioned(self._partitioned.pop(request), is_send=True)
            return True
        if group in ("one-sided", "synchronisation"):
            return self._one_sided(verb, call)
        if group == "communicator":
            return self._created(call)
        return self._carry_one(verb, _with_counts(call, block))

    def _carry_one(self, verb: str, call: Any) -> bool:
        """Write a message or a collective that is posted now."""
        group = _GROUPS[call.code]
        if call.communicator not in self._views:
            return False
        if group == "point-to-point":
            return self._message(verb, call)
        if group == "probe":
            if call.message and call.peer != NO_PROCESS:  # a matched probe that has found its message is the receive
                self._receive(call)
            return True
        if group in ("collective", "neighbourhood"):
            return self._collective(verb, call)
        return False

    # Point to point

    def _world(self, call: Any, peer: int) -> int:
        """Return the rank of a peer in the whole program."""
        if peer < 0:
            return peer
        group = self._groups[self._views[call.communicator].group]
        if peer >= group.size:
            raise InputError(f"rank {self._rank}: a message to rank {peer} of {group.size}: its log is damaged")
        return int(group[peer])

    def _tag(self, call: Any, tag: int) -> int:
        is_world = call.communicator == _WORLD
        return self._tags(0 if is_world else self._views[call.communicator].number, tag)

    def _message(self, verb: str, call: Any) -> bool:
        verb = verb.lower()
        if verb in _SENDS or verb.removeprefix("i") in _SENDS:
            self._post_send("isend" if verb.startswith("i") else "send", call)
        elif verb == "recv":
            if call.peer != NO_PROCESS:
                self._receive(call)
        elif verb == "irecv":
            self._post_receive(call, call.peer, call.tag)
        elif verb in _EXCHANGES:
            blocks = not verb.startswith("i")
            exchange = call._replace(request=_EXCHANGE) if blocks else call
            self._post_receive(exchange, call.receive_peer, call.receive_tag)
            self._post_send("isend", exchange)
            if blocks:
                self._completed(_EXCHANGE, call.source, call.received_tag)
        elif verb == "ipsend":
            self._partitioned[call.request] = call
        elif verb == "iprecv":
            self._post_partitioned(call, is_send=False)
        else:
            return False
        return True

    def _receive(self, call: Any) -> None:
        peer, tag = self._world(call, call.peer), self._tag(call, call.tag)
        if self._cancelled[peer, tag] and call.source >= 0:  # its message comes to the receive that was taken back
            self._cancelled[peer, tag] -= 1
            self._add(f"wait {self._world(call, call.source)} {self._rank} {self._tag(call, call.received_tag)}")
        else:
            size = call.received_bytes
            if ANY in (call.peer, call.tag):  # a replay may have another, longer message for it
                size = max(size, call.bytes or _ROOM)
            self._add(f"recv {peer} {tag} {size} 6")

    def _post_partitioned(self, call: Any, *, is_send: bool) -> None:
        if call.peer == NO_PROCESS:
            return
        message = [(self._world(call, call.peer), call.bytes)]
        tag = self._tag(call, _PARTITIONED - call.tag)
        posts, waits = _lines(self._rank, tag, *((message, []) if is_send else ([], message)))
        self._lines += posts
        self._wait_later(call.request, waits)

    def _wait_later(self, request: int, actions: Iterable[Action]) -> None:
        """Keep actions until a request completes."""
        self._waits.setdefault(request, []).extend((lambda *_, action=action: action) for action in actions)

    def _post_send(self, action: str, call: Any) -> None:
        if call.peer == NO_PROCESS:
            return
        peer, tag = self._world(call, call.peer), self._tag(call, call.tag)
        self._add(f"{action} {peer} {tag} {call.bytes} 6")
        if action == "isend":
            self._wait_later(call.request, [f"wait {self._rank} {peer} {tag}"])

    def _post_receive(self, call: Any, peer: int, tag: int) -> None:
        if peer == NO_PROCESS:
            return
        key = self._world(call, peer), self._tag(call, tag)
        if self._cancelled[key]:
            self._cancelled[key] -= 1
        else:
            self._add(f"irecv {key[0]} {key[1]} {call.room or call.bytes} 6")

        def wait(source: int, received: int) -> str:
            if source < 0:  # cancelled: no message has come
                self._cancelled[key] += 1
                return ""
            if peer >= 0:  # MPICH gives MPI_Isendrecv no status
                source = peer
            received = tag if tag >= 0 else received
            return f"wait {self._world(call, source)} {self._rank} {self._tag(call, received)}"

        self._waits.setdefault(call.request, []).append(wait)

    def _complete(self, call: Any, block: CallBlock) -> bool:
        first = call.completed_at
        for request, _, source, tag in block.completed[first : first + call.completed].tolist():
            self._completed(request, source, tag)
        return True

    def _completed(self, request: int, source: int, tag: int) -> None:
        for wait in self._waits.pop(request, ()):
            if line := wait(source, tag):
                self._add(line)

    # Collectives

    def _created(self, call: Any) -> bool:
        if NAMES[call.code] == "MPI_Comm_create_group":  # called by the members of the new one alone
            call = call._replace(communicator=call.new_communicator)
        if call.communicator not in self._views or NAMES[call.code] in _OTHER_PROGRAMS:
            return False
        return self._collective("allreduce", call._replace(bytes=8))

    def _collective(self, verb: str, call: Any) -> bool:
        """Write a collective; of one that does not block, what is to be done once its request completes."""
        verb = verb.lower()
        later = verb not in MOVED and not verb.startswith("neighbor")
        verb = verb.removeprefix("i") if later else verb
        view = self._views[call.communicator]
        local, remote = len(self._groups[view.own_group]), len(self._groups[view.group])
        posts: list[str] = []
        rest: Sequence[Action]
        if verb.startswith("neighbor"):
            exchange = _of_neighbours(call, view, is_cartesian=self._kinds[view.number] == "Cartesian")
            if exchange is None:
                return False
            posts, rest = self._exchanged(exchange, call, _NEIGHBOURS)
        elif view.is_inter:
            exchange = between_groups(CollectiveCall(verb, **_fields(call)), local, remote, view.place)
            if exchange is None:
                return False
            rest = self._between_groups(exchange, call, view)
        else:
            action = self._plain_collective(verb, call, view)
            if action is None:
                return False
            rest = [action]
        self._lines += posts
        if later:
            self._wait_later(call.request, rest)
        else:
            self._lines += rest
        return True

    def _plain_collective(self, verb: str, call: Any, view: View) -> Action | None:
        """Return a collective of one group; the same object for calls that are alike."""
        counts = _counts(call.sent_counts), _counts(call.received_counts)
        key = verb, call.communicator, call.bytes, call.room, call.root, call.element, call.data_flags, counts
        action = self._alike.get(key)
        if action is None:
            collective = CollectiveCall.of(verb, **_fields(call))
            if collective is None:
                return None
            action = self._within(0 if call.communicator == _WORLD else view.number, view.group, collective)
            if len(self._alike) >= _REMEMBERED:
                self._alike.clear()
            self._alike[key] = action
        return action

    def _exchanged(self, exchange: GroupExchange, call: Any, tag: int) -> list[list[str]]:
        """Return the lines that post messages, and those that wait for them."""
        ways = [[(self._world(call, peer), size) for peer, size in way] for way in exchange[:2]]
        return _lines(self._rank, self._tag(call, tag), *ways)

    def _between_groups(self, exchange: GroupExchange, call: Any, view: View) -> list[Action]:
        posts, waits = self._exchanged(exchange, call, _BETWEEN_GROUPS)
        number = len(self._kinds) + view.own_group
        before, after = (
            [self._within(number, view.own_group, step)] if step else [] for step in (exchange.before, exchange.after)
        )
        return [*before, *posts, *waits, *after]

    def _within(self, number: int, group: int, call: CollectiveCall) -> Action:
        """Return a collective as that of a communicator, 0 for MPI_COMM_WORLD, which is defined where it is new."""
        if number and number not in self._defined:
            self._defined.add(number)
            self._add(Definition(number, self._groups[group]))
        return MemberCall(call._replace(communicator=number), len(self._groups[group]))

    # Windows

    def _one_sided(self, name: str, call: Any) -> bool:
        if call.communicator:
            return self._created(call)
        operation = self._epochs.operation(name, call)
        view = self._windows.view(self._rank, call.window)
        if view is None or view.local not in self._views:
            return False
        call = call._replace(communicator=view.local)
        if name == "Win_free":
            return self._collective("barrier", call)
        if name == "Win_fence":
            self._fence(call)
            return self._collective("barrier", call)
        if operation is None:
            return False
        if call.target != NO_PROCESS:
            parts = [(GroupExchange([(call.target, operation.sent)], []), _TO_WINDOW)]
            if operation.answer is not None:
                parts.append((GroupExchange([], [(call.target, operation.answer)]), _FROM_WINDOW))
            for exchange, tag in parts:
                posts, waits = self._exchanged(exchange, call, tag)
                self._lines += posts
                self._window_waits.setdefault(call.window, []).extend(waits)
        return True

    def _fence(self, call: Any) -> None:
        """Take and answer what others have sent since the last fence, and wait for what this rank has."""
        key = (self._rank, self._windows.numbers[self._rank, call.window], self._epochs.fences[call.window] - 1)
        incoming = self._windows.incoming.get(key, [])
        to_window, from_window = (self._tag(call, tag) for tag in (_TO_WINDOW, _FROM_WINDOW))
        takes = _lines(self._rank, to_window, [], [(origin, operation.sent) for origin, operation in incoming])
        answers = [(origin, operation.answer) for origin, operation in incoming if operation.answer is not None]
        posts, waits = _lines(self._rank, from_window, answers, [])
        self._lines += [*takes[0], *takes[1], *posts, *self._window_waits.pop(call.window, []), *waits]
