"""Random programs as time-independent traces: phases of messages, collectives and computation, free of deadlocks.

Every phase says what each rank does in it, and can do with a rank less: so a program shrinks. Main entries:
`random_program`, `traces`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple, Protocol

TYPES = (0, 1, 2, 3, 4, 5, 6, 6, 6, 6)
"""Numbers of types, as SMPI numbers them; 6 is a byte."""
_LIMITS = (1, 241, 242, 1410, 1411, 5760, 65456, 65457, 65519, 65520, 65535, 65536, 65537)
"""Sizes at which the model of the network changes."""


class Phase(Protocol):
    """What all ranks do for a while."""

    def actions(self, rank: int, processes: int, /) -> Iterator[str]:
        """Yield the actions of a rank."""

    def without(self, rank: int, processes: int, /) -> "Phase | None":
        """Return the phase of the other ranks, those above it one lower; None where nothing is left."""

    def smaller(self) -> Iterator["Phase"]:
        """Yield phases that do a little less."""


class Message(NamedTuple):
    """A message of `count` elements."""

    source: int
    destination: int
    count: int


def _lower(rank: int, removed: int) -> int:
    return rank - (rank > removed)


@dataclass(frozen=True)
class Exchange:
    """Messages, sent and received in one of `STYLES`; their tags are their places, from 1."""

    style: str
    messages: tuple[Message, ...]
    type_: int = 6
    flops: float = 0.0
    """Computed by every rank while messages are under way."""

    def actions(self, rank: int, _processes: int) -> Iterator[str]:
        """Yield the actions of a rank."""
        return STYLES[self.style](self, rank)

    def without(self, rank: int, _processes: int) -> "Exchange | None":
        """Return the messages of the other ranks."""
        remaining = [message for message in self.messages if rank not in message[:2]]
        if self.style == "sendRecv" and len(remaining) < len(self.messages):
            return None
        lowered = (
            Message(_lower(message.source, rank), _lower(message.destination, rank), message.count)
            for message in remaining
        )
        return replace(self, messages=tuple(lowered)) if remaining else None

    def smaller(self) -> Iterator["Exchange"]:
        """Yield exchanges with fewer messages, of bytes, without computation."""
        if self.flops:
            yield replace(self, flops=0.0)
        if self.style != "sendRecv":
            for place in range(len(self.messages)):
                yield replace(self, messages=self.messages[:place] + self.messages[place + 1 :])
            if self.style != "waitall":
                yield replace(self, style="waitall")
        if self.type_ != 6:
            yield replace(self, type_=6)
        if len({message.count for message in self.messages}) > 1:
            most = max(message.count for message in self.messages)
            yield replace(self, messages=tuple(message._replace(count=most) for message in self.messages))

    def send(self, action: str, tag: int) -> str:
        """Return the send of a message."""
        message = self.messages[tag - 1]
        return f"{action} {message.destination} {tag} {message.count} {self.type_}"

    def receive(self, action: str, tag: int) -> str:
        """Return the receive of a message; one of no bytes would be of unknown size."""
        message = self.messages[tag - 1]
        return f"{action} {message.source} {tag} {max(1, message.count)} {self.type_}"

    def wait(self, tag: int, action: str = "wait") -> str:
        """Return the wait for a message."""
        message = self.messages[tag - 1]
        return f"{action} {message.source} {message.destination} {tag}"

    def sent(self, rank: int) -> list[int]:
        """Return the tags of the messages from a rank."""
        return [tag for tag, message in enumerate(self.messages, 1) if message.source == rank]

    def received(self, rank: int) -> list[int]:
        """Return the tags of the messages to a rank."""
        return [tag for tag, message in enumerate(self.messages, 1) if message.destination == rank]

    def compute(self) -> Iterator[str]:
        """Yield the computation."""
        if self.flops:
            yield f"compute {self.flops:g}"


def _blocking(exchange: Exchange, rank: int) -> Iterator[str]:
    """One message after the other."""
    for tag, message in enumerate(exchange.messages, 1):
        if message.source == rank:
            yield exchange.send("send", tag)
        if message.destination == rank:
            yield exchange.receive("recv", tag)
    yield from exchange.compute()


def _waitall(exchange: Exchange, rank: int) -> Iterator[str]:
    """All at once, receives first."""
    for tag in exchange.received(rank):
        yield exchange.receive("irecv", tag)
    for tag in exchange.sent(rank):
        yield exchange.send("isend", tag)
    yield from exchange.compute()
    yield "waitall"


def _mixed(exchange: Exchange, rank: int) -> Iterator[str]:
    """All at once, sends and receives in the order of messages, each waited for, the last first."""
    tags = sorted({*exchange.sent(rank), *exchange.received(rank)})
    for tag in tags:
        if exchange.messages[tag - 1].source == rank:
            yield exchange.send("isend", tag)
        else:
            yield exchange.receive("irecv", tag)
    yield from exchange.compute()
    for tag in reversed(tags):
        yield exchange.wait(tag)


def _posted_receives(exchange: Exchange, rank: int) -> Iterator[str]:
    """Receives are posted, then sends block."""
    for tag in exchange.received(rank):
        yield exchange.receive("irecv", tag)
    yield from exchange.compute()
    for tag in exchange.sent(rank):
        yield exchange.send("send", tag)
    for tag in exchange.received(rank):
        yield exchange.wait(tag)


def _posted_sends(exchange: Exchange, rank: int) -> Iterator[str]:
    """Sends are posted, then receives block."""
    for tag in exchange.sent(rank):
        yield exchange.send("isend", tag)
    yield from exchange.compute()
    for tag in exchange.received(rank):
        yield exchange.receive("recv", tag)
    yield "waitall"


def _send_receive(exchange: Exchange, rank: int) -> Iterator[str]:
    """Each rank of a ring sends to the next and receives from the one before."""
    for tag in exchange.sent(rank):
        sent = exchange.messages[tag - 1]
        (received,) = (exchange.messages[other - 1] for other in exchange.received(rank))
        counts = f"{sent.count} {sent.destination} {max(1, received.count)} {received.source}"
        yield f"sendRecv {counts} {exchange.type_} {exchange.type_}"
    yield from exchange.compute()


STYLES: dict[str, Callable[[Exchange, int], Iterator[str]]] = {
    "blocking": _blocking,
    "waitall": _waitall,
    "mixed": _mixed,
    "posted receives": _posted_receives,
    "posted sends": _posted_sends,
    "sendRecv": _send_receive,
}
"""Style of an exchange -> function that yields a rank's actions."""


@dataclass(frozen=True)
class Computation:
    """Each rank computes, or sleeps, for a time of its own."""

    amounts: tuple[float, ...]
    action: str = "compute"

    def actions(self, rank: int, _processes: int) -> Iterator[str]:
        """Yield the actions of a rank."""
        if self.amounts[rank]:
            yield f"{self.action} {self.amounts[rank]:g}"

    def without(self, rank: int, _processes: int) -> "Computation":
        """Return the computation of the other ranks."""
        return replace(self, amounts=self.amounts[:rank] + self.amounts[rank + 1 :])

    def smaller(self) -> Iterator["Computation"]:
        """Yield computations without that of one rank."""
        for rank, amount in enumerate(self.amounts):
            if amount:
                yield replace(self, amounts=(*self.amounts[:rank], 0.0, *self.amounts[rank + 1 :]))


@dataclass(frozen=True)
class Collective:
    """A collective; counts: one, one for each rank, or a matrix of them, as its action needs."""

    action: str
    counts: tuple[int, ...] = ()
    type_: int = 6
    root: int = 0
    flops: float = 0.0

    def actions(self, rank: int, processes: int) -> Iterator[str]:
        """Yield the actions of a rank."""
        yield " ".join(str(word) for word in (self.action, *COLLECTIVES[self.action](self, rank, processes)))

    def without(self, rank: int, processes: int) -> "Collective":
        """Return the collective of the other ranks."""
        counts: tuple[int, ...] = self.counts
        if len(counts) == processes:
            counts = counts[:rank] + counts[rank + 1 :]
        elif len(counts) > 1:
            counts = tuple(
                count for place, count in enumerate(counts) if place // processes != rank and place % processes != rank
            )
        root = min(_lower(self.root, rank), processes - 2)
        return replace(self, counts=counts, root=root)

    def smaller(self) -> Iterator["Collective"]:
        """Yield collectives of bytes, with root 0, without computation, and with a count less."""
        if self.flops:
            yield replace(self, flops=0.0)
        if self.root:
            yield replace(self, root=0)
        if self.type_ != 6:
            yield replace(self, type_=6)
        if len(self.counts) > 1:
            if len(set(self.counts)) > 1:
                yield replace(self, counts=(max(self.counts),) * len(self.counts))
            for place, count in enumerate(self.counts):
                if count:
                    yield replace(self, counts=(*self.counts[:place], 0, *self.counts[place + 1 :]))


def _words(*words: str) -> Callable[[Collective, int, int], list[object]]:
    """Return the arguments of a collective with one count: words name them."""

    def arguments(collective: Collective, _rank: int, _processes: int) -> list[object]:
        meanings = {
            "count": collective.counts[0] if collective.counts else 0,
            "flops": f"{collective.flops:g}",
            "root": collective.root,
            "type": collective.type_,
        }
        return [meanings[word] for word in words]

    return arguments


def _gatherv(collective: Collective, rank: int, _processes: int) -> list[object]:
    types = collective.type_, collective.type_
    return [collective.counts[rank], *collective.counts, collective.root, *types]


def _scatterv(collective: Collective, rank: int, _processes: int) -> list[object]:
    return [*collective.counts, collective.counts[rank], collective.root]


def _allgatherv(collective: Collective, rank: int, _processes: int) -> list[object]:
    return [collective.counts[rank], *collective.counts]


def _alltoallv(collective: Collective, rank: int, processes: int) -> list[object]:
    sent = collective.counts[rank * processes : (rank + 1) * processes]
    received = collective.counts[rank::processes]
    return [sum(sent), *sent, sum(received), *received, collective.type_, collective.type_]


def _reducescatter(collective: Collective, _rank: int, _processes: int) -> list[object]:
    return [*collective.counts, f"{collective.flops:g}", collective.type_]


COLLECTIVES: dict[str, Callable[[Collective, int, int], list[object]]] = {
    "barrier": _words(),
    "bcast": _words("count", "root", "type"),
    "reduce": _words("count", "flops", "root", "type"),
    "allreduce": _words("count", "flops", "type"),
    "scan": _words("count", "flops", "type"),
    "exscan": _words("count", "flops", "type"),
    "gather": _words("count", "count", "root", "type", "type"),
    "scatter": _words("count", "count", "root", "type", "type"),
    "allgather": _words("count", "count", "type", "type"),
    "alltoall": _words("count", "count", "type", "type"),
    "gatherv": _gatherv,
    "scatterv": _scatterv,
    "allgatherv": _allgatherv,
    "alltoallv": _alltoallv,
    "reducescatter": _reducescatter,
}
"""Action -> function that returns a rank's arguments."""
_WITHOUT_TYPES = ("scatterv", "allgatherv")
"""They have the default type: SMPI 3.32 takes a type of allgatherv for that of the sends alone."""
_COUNTS = {"barrier": 0, "gatherv": 1, "scatterv": 1, "allgatherv": 1, "reducescatter": 1, "alltoallv": 2}
"""How many counts an action has: P to that power, else one."""


def traces(phases: Sequence[Phase], processes: int) -> list[list[str]]:
    """Return each rank's actions.

    >>> traces([Exchange("blocking", (Message(0, 1, 8),)), Collective("barrier")], 2)
    [['init', 'send 1 1 8 6', 'barrier', 'finalize'], ['init', 'recv 0 1 8 6', 'barrier', 'finalize']]
    """
    return [
        ["init", *(line for phase in phases for line in phase.actions(rank, processes)), "finalize"]
        for rank in range(processes)
    ]


def random_program(random: Random, processes: int) -> list[Phase]:
    """Return one to six phases."""
    makers = (_random_exchange, _random_exchange, _random_collective, _random_collective, _random_computation)
    phases = [random.choice(makers)(random, processes) for _ in range(random.randint(1, 6))]
    if all(isinstance(phase, Computation) for phase in phases):
        phases.append(_random_exchange(random, processes))
    return phases


def _count(random: Random, type_: int, most: float = 6.3) -> int:
    """Return a number of elements, of up to 10**most bytes, at times none."""
    chance = random.random()
    if chance < 0.05:
        return 0
    size = random.choice(_LIMITS) if chance < 0.25 else int(10 ** random.uniform(0, most))
    return max(1, size // (8, 4, 1, 2, 8, 4, 1)[type_])


def _random_exchange(random: Random, processes: int) -> Phase:
    style, type_ = random.choice(list(STYLES)), random.choice(TYPES)
    flops = random.choice((0.0, 0.0, float(f"{10 ** random.uniform(3, 7):.3g}")))
    if style == "sendRecv":
        ring = random.sample(range(processes), random.randint(2, processes))
        pairs = [(rank, ring[(place + 1) % len(ring)]) for place, rank in enumerate(ring)]
    else:
        pairs = [tuple(random.sample(range(processes), 2)) for _ in range(random.randint(1, 2 * processes))]
    alike = _count(random, type_) if random.random() < 0.3 else None
    messages = (Message(*pair, _count(random, type_) if alike is None else alike) for pair in pairs)
    return Exchange(style, tuple(messages), type_, flops)


def _random_collective(random: Random, processes: int) -> Phase:
    action = random.choice(list(COLLECTIVES))
    type_ = 6 if action in _WITHOUT_TYPES else random.choice(TYPES)
    power = _COUNTS.get(action)
    if action == "barrier":
        counts: tuple[int, ...] = ()
    elif power is None:
        counts = (_count(random, type_, 5.5),)
    elif random.random() < 0.3:
        counts = (_count(random, type_, 5.5),) * processes**power
    else:
        counts = tuple(_count(random, type_, 5.5) for _ in range(processes**power))
    flops = random.choice((0.0, float(f"{10 ** random.uniform(3, 7):.3g}")))
    return Collective(action, counts, type_, random.randrange(processes), flops)


def _random_computation(random: Random, processes: int) -> Phase:
    if random.random() < 0.2:
        return Computation(tuple(float(f"{10 ** random.uniform(-6, -3):.3g}") for _ in range(processes)), "sleep")
    return Computation(tuple(float(f"{10 ** random.uniform(3, 7):.3g}") for _ in range(processes)))
