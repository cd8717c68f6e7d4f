"""What a rank does in a collective of SMPI: calls of MPI, written one after the other, become its operations.

An algorithm is a function of a `Member` of a communicator and a `RankCall`. It says what one rank does; a rank
that waits for a message and then sends one says so in this order. Main entries: `Member`, `RankCall`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from commmodel.collectives.library.smpi_selection import DEFAULT, Selection
from commmodel.collectives.schedule import Integers, Problem, Scheduler
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.simulate.operations import ANY, COLLECTIVE_TAG, OPERATION, UNNAMED, Code, Operations
from commmodel.simulate.work.block_streams import program_of
from commmodel.simulate.work.communicators import translated
from commmodel.simulate.work.rounds import blocks_of

_FIRST_NAME = 1 << 24
"""Of requests, far from those of the application."""
_INT = 4


@with_attributes
@dataclass(frozen=True)
class RankCall:
    """The arguments of a collective."""

    size: int = 0
    """n in bytes, as in `commmodel.collectives.Problem`."""
    element: int = 1
    """Bytes of an element."""
    root: int = 0
    sizes: tuple[int, ...] = ()
    """Of an operation with a size for each rank: bytes of its block; of an alltoallv what the rank sends to it."""
    is_replayed: bool = False
    """Whether it is a trace's, which says not where blocks are: for SMPI all of an allgatherv are in one place."""
    is_ordered: bool = False
    """Whether the operator of a reduction does not commute."""
    is_derived: bool = False
    """Whether the datatype of a reduction is none of MPI's own."""

    @property
    def count(self) -> int:
        """The number of elements."""
        return self.size // self.element

    def block(self, rank: int) -> int:
        """Return the bytes of a rank's block, or of an alltoall's block for it."""
        return self.sizes[rank] if self.sizes else self.size

    def rooted(self, root: int = 0) -> "RankCall":
        """Return the call with another root."""
        return replace(self, root=root)

    def elements(self, count: int) -> "RankCall":
        """Return the call for so many elements."""
        return replace(self, size=count * self.element)

    def pieces(self, segment_size: int) -> tuple[int, int]:
        """Return the number of whole pieces of a segment size, and the bytes of one; one piece if there is no whole."""
        piece = max(segment_size // self.element, 1) * self.element
        return (self.size // piece, piece) if self.size > piece else (1, self.size)


@dataclass
class _RankState:
    """What a rank has in all its communicators."""

    selection: Selection
    table: "Mapping[str, Mapping[str, Algorithm]]"
    operations: list[Operations] = field(default_factory=list)
    recent: list[tuple[int, int, int, int, float]] = field(default_factory=list)
    prepared: set[tuple[int, ...]] = field(default_factory=set)
    looks: int = 0
    """How often a communicator has been asked who shares a node in it, and did not know."""
    names: int = _FIRST_NAME


class Member:
    """A rank in a communicator, which makes calls of MPI.

    `members` are the ranks of the communicator in MPI_COMM_WORLD, `rank` is its own in the communicator. In one of a
    node or of the first ranks of nodes (`is_of_nodes`), SMPI looks for no nodes.
    """

    def __init__(self, members: tuple[int, ...], rank: int, state: _RankState, is_of_nodes: bool = False) -> None:
        self.members: tuple[int, ...] = members
        self.rank: int = rank
        self.is_of_nodes: bool = is_of_nodes
        self._rank = state

    @classmethod
    def of_world(
        cls, processes: int, rank: int, selection: Selection, table: "Mapping[str, Mapping[str, Algorithm]]"
    ) -> "Member":
        """Return a rank in MPI_COMM_WORLD."""
        return cls(_world(processes), rank, _RankState(selection, table))

    @property
    def processes(self) -> int:
        """The size of the communicator."""
        return len(self.members)

    def at(self, distance: int) -> int:
        """Return the rank at a distance around the ring of all."""
        return (self.rank + distance) % self.processes

    @property
    def other_ranks(self) -> list[int]:
        """All other ranks of the communicator."""
        return [rank for rank in range(self.processes) if rank != self.rank]

    def drain(self) -> Operations:
        """Return the operations of all calls since the last time."""
        state = self._rank
        self._collect()
        operations = np.concatenate([np.empty(0, dtype=OPERATION), *state.operations])
        state.operations = []
        return operations

    def _collect(self) -> None:
        if self._rank.recent:
            self._rank.operations.append(np.array(self._rank.recent, dtype=OPERATION))
            self._rank.recent = []

    def insert(self, operations: Operations) -> None:
        """Carry out operations whose peers are ranks of the communicator."""
        self._collect()
        self._rank.operations.append(translated(operations, np.array(self.members)))

    def _put(self, code: Code, peer: int, request: int, size: float) -> None:
        rank = ANY if peer == ANY else self.members[peer]
        self._rank.recent.append((code, rank, COLLECTIVE_TAG, request, size))

    def send(self, to: int, size: int) -> None:
        """MPI_Send."""
        self._put(Code.SEND, to, UNNAMED, size)

    def receive(self, source: int) -> None:
        """MPI_Recv."""
        self._put(Code.RECV, source, UNNAMED, -1.0)

    def isend(self, to: int, size: int) -> int:
        """MPI_Isend; returns the request."""
        self._rank.names += 1
        self._put(Code.ISEND, to, self._rank.names, size)
        return self._rank.names

    def ireceive(self, source: int) -> int:
        """MPI_Irecv; returns the request."""
        self._rank.names += 1
        self._put(Code.IRECV, source, self._rank.names, -1.0)
        return self._rank.names

    def wait(self, *requests: int) -> None:
        """MPI_Wait for one request after the other; `post` waits for messages as they end, as MPI_Waitall does."""
        self._rank.recent += [(Code.WAIT, ANY, ANY, request, 0.0) for request in requests]

    def post(self, messages: Iterable[tuple[int, int | None]]) -> None:
        """Begin sends of so many bytes to ranks, and receives (None) from ranks or ANY, in this order; wait for all."""
        begun = False
        for peer, size in messages:
            if size is None:
                self._put(Code.IRECV, peer, UNNAMED, -1.0)
            else:
                self._put(Code.ISEND, peer, UNNAMED, size)
            begun = True
        if begun:
            self._rank.recent.append((Code.WAITALL, ANY, ANY, UNNAMED, 0.0))

    def exchange(self, to: int, size: int, source: int) -> None:
        """MPI_Sendrecv; with oneself it only copies."""
        if not to == source == self.rank:
            self.post([(to, size), (source, None)])

    def swap(self, partner: int, size: int) -> None:
        """MPI_Sendrecv, both with one rank."""
        self.exchange(partner, size, partner)

    def exchange_with(self, partners: Sequence[int], size: Callable[[int], int]) -> None:
        """Receives from all partners and sends to them at once; a size for each."""
        self.post([*((partner, None) for partner in partners), *((partner, size(partner)) for partner in partners)])

    def hand_over(self, size: int, source: int, to: int) -> None:
        """MPI_Send and MPI_Recv from one rank to another; nothing where they are the same."""
        if source == to:
            return
        if self.rank == source:
            self.send(to, size)
        elif self.rank == to:
            self.receive(source)

    def is_default(self, operation: str) -> bool:
        """Whether an operation has SMPI's default algorithm."""
        return self._rank.selection.algorithm(operation) == DEFAULT

    def call(self, operation: str, call: RankCall, algorithm: str | None = None) -> None:
        """Call a collective of this communicator, by the algorithm given or the one selected.

        `InputError` where SMPI has no such algorithm, or ends in it.
        """
        name = self._rank.selection.algorithm(operation) if algorithm is None else algorithm
        algorithms = self._rank.table[operation]
        if name not in algorithms:
            names = ", ".join(algorithms)
            raise InputError(f"SMPI's {operation} by {name!r} is not known: choose one of {names}")
        algorithms[name](self, call)

    @cached_property
    def _nodes(self) -> "tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]":
        hosts = self._rank.selection.hosts
        return _nodes_of(tuple(hosts[member] for member in self.members) if hosts else self.members)

    def _within(self, ranks: tuple[int, ...]) -> "Member":
        members = tuple(self.members[rank] for rank in ranks)
        return Member(members, ranks.index(self.rank), self._rank, is_of_nodes=True)

    @property
    def is_prepared(self) -> bool:
        """Whether the nodes of the communicator are known."""
        is_known = self._rank.selection.is_prepared or self.members in self._rank.prepared
        self._rank.looks += not is_known and not self.is_of_nodes
        return is_known

    @property
    def looks(self) -> int:
        """How often a call has asked for nodes that were not known: it may be another one next time."""
        return self._rank.looks

    @property
    def node(self) -> "Member":
        """The communicator of the ranks on this host."""
        nodes, places = self._nodes
        return self._within(nodes[places[self.rank]])

    @property
    def leaders(self) -> "Member | None":
        """The communicator of the first ranks of all hosts, where this is one."""
        ranks = tuple(node[0] for node in self._nodes[0])
        return self._within(ranks) if self.rank in ranks else None

    def leader_of(self, rank: int) -> int:
        """Return the first rank on the host of a rank."""
        nodes, places = self._nodes
        return nodes[places[rank]][0]

    def place_of_leader(self, rank: int) -> int:
        """Return the number of a rank's host, which is the rank of its first rank among those of all hosts."""
        return self._nodes[1][rank]

    @property
    def node_sizes(self) -> list[int]:
        """How many ranks each host has."""
        return [len(node) for node in self._nodes[0]]

    @property
    def is_uniform(self) -> bool:
        """Whether there are as many ranks on all hosts; SMPI takes it for true until it is prepared."""
        return not self.is_prepared or len(set(self.node_sizes)) == 1

    @property
    def is_blocked(self) -> bool:
        """Whether ranks on a host follow one another; SMPI takes it for false until it is prepared."""
        return self.is_prepared and all(node[-1] - node[0] == len(node) - 1 for node in self._nodes[0])

    @property
    def per_node(self) -> int:
        """Ranks on a host, 1 where there are not as many on all."""
        return self.node.processes if self.is_uniform else 1

    def prepare(self) -> None:
        """Make the communicators of nodes if there are none, which is a collective operation."""
        if self.is_prepared:
            return
        number = RankCall(_INT, _INT)
        self.call("allgather", number, "ring")
        leaders, node = self.leaders, self.node
        if leaders is not None:
            leaders.call("allgather", number, "ring")
        node.call("bcast", number, "scatter_LR_allgather")
        self.call("allreduce", number, DEFAULT)
        self._rank.prepared.add(self.members)


Algorithm = Callable[[Member, RankCall], None]
"""What a rank does in a collective."""


@lru_cache(maxsize=4)
def _world(processes: int) -> tuple[int, ...]:
    return tuple(range(processes))


@lru_cache(maxsize=64)
def _nodes_of(hosts: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return the ranks on each host, and the number of each rank's host, hosts in the order of their first ranks."""
    nodes: dict[int, list[int]] = {}
    for rank, host in enumerate(hosts):
        nodes.setdefault(host, []).append(rank)
    places = {host: place for place, host in enumerate(nodes)}
    return tuple(map(tuple, nodes.values())), tuple(places[host] for host in hosts)


@lru_cache(maxsize=64)
def _block(make: Scheduler, problem: Problem) -> tuple[Operations, tuple[int, ...]]:
    processes = problem.processes
    program = program_of(processes, lambda: blocks_of(processes, iter(make(problem)), block=1 << 30))
    return _as_called(program.operations, program.offsets)


def _as_called(operations: Operations, offsets: Integers) -> tuple[Operations, tuple[int, ...]]:
    """Return rounds as the calls that they are: one message is blocking, and of an exchange the send comes first."""
    operations = operations.copy()
    ends = np.flatnonzero(operations["code"] == Code.WAITALL)
    messages = np.diff(ends, prepend=-1) - 1
    single = ends[messages == 1]
    code = operations["code"]
    code[single - 1] = np.where(code[single - 1] == Code.ISEND, Code.SEND, Code.RECV)
    pairs = ends[messages == 2]
    pairs = pairs[(code[pairs - 2] == Code.IRECV) & (code[pairs - 1] == Code.ISEND)]
    receives = operations[pairs - 2]
    operations[pairs - 2] = operations[pairs - 1]
    operations[pairs - 1] = receives
    mask = np.ones(operations.size, dtype=bool)
    mask[single] = False
    places = np.concatenate([[0], np.cumsum(mask)])
    return operations[mask], tuple(places[offsets].tolist())


def by_rounds(make: Scheduler) -> Algorithm:
    """Return the algorithm whose messages are those of a schedule's rounds."""

    def algorithm(member: Member, call: RankCall) -> None:
        operations, offsets = _block(make, Problem(member.processes, call.size, call.root))
        member.insert(operations[offsets[member.rank] : offsets[member.rank + 1]])

    return algorithm


def power_of_two_only(member: Member, name: str) -> None:
    """Raise where SMPI ends with an exception, as the processes are no power of two."""
    if member.processes & (member.processes - 1):
        raise InputError(f"SMPI's {name} ends on {member.processes} processes: their number must be a power of two")
