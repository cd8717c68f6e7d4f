"""Symmetries of programs and platforms: ranks that all do the same at the same time are simulated once.

In an alltoall by pairs, a ring or a halo on a periodic grid every rank does what every other one does, with partners
that are as far away. Where the platform looks the same from all of them, so do their times: one rank, or a few, stand
for all. How the engine does that stands in ``_core/flows/link_classes.hpp``. Main entry: `by_symmetry`, with the
`symmetries_of_ranks`, or those `on_platform`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import GoalKind
from commmodel._core.program.run import AsymmetryError
from commmodel._core.program.symmetry import holds
from commmodel.errors import InputError
from commmodel.simulate.network import Network
from commmodel.simulate.operations import Program
from commmodel.simulate.result import MARK
from commmodel.simulate.work.block_streams import Block, BlockStream
from commmodel.simulate.work.grids import square_grid

if TYPE_CHECKING:
    from commmodel.simulate.goal import GoalSchedule
    from commmodel.simulate.platform import Platform

_FEWEST = 4
"""Ranks below which nothing is gained."""


@dataclass(frozen=True)
class Symmetry:
    """Ranks 0 to representatives - 1 stand for all: those that differ in the digits above the lowest of their numbers.

    A rank's number has a lowest digit, which is that of a representative, and above it digits with `bases`. To add to
    these, each modulo its base, moves every rank to another one.
    """

    representatives: int
    bases: tuple[int, ...]
    must_be_checked: bool
    """Whether it is not sure that routes follow it."""

    @property
    def ranks(self) -> int:
        """P."""
        return self.representatives * prod(self.bases)

    def holds(self, block: Block) -> bool:
        """Whether all ranks do in a block what their representatives do."""
        return holds(block.operations, block.offsets, self.representatives, self.bases)

    def moves(self, peers: NDArray[np.int32]) -> bool:
        """Whether partners, shape (ranks, n), are those of rank 0, moved as the ranks are."""
        ranks = np.arange(self.ranks, dtype=np.int32)[:, None]
        if (peers < 0).any():
            return False
        stride, places = self.representatives, np.zeros_like(peers)
        for base in self.bases:
            places += (peers // stride - ranks // stride) % base * stride
            stride *= base
        return bool((places == peers[0]).all())

    def part(self, block: Block) -> Block:
        """Return the operations of the representatives."""
        offsets = block.offsets[: self.representatives + 1]
        return Block(block.operations[: offsets[-1]], offsets)


def symmetries_of_ranks(ranks: int) -> Iterator[Symmetry]:
    """Yield what may be symmetries of a program where all hosts are alike: XOR, rotation, translation in grids."""
    if ranks < _FEWEST:
        return
    if ranks & (ranks - 1) == 0:
        yield Symmetry(1, (2,) * (ranks.bit_length() - 1), False)
    grids = [square_grid(ranks, dimensions) for dimensions in (1, 2, 3)]
    for bases in dict.fromkeys(tuple(side for side in grid if side > 1) for grid in grids):
        yield Symmetry(1, bases, False)


def on_platform(platform: "Platform", hosts: NDArray[np.integer[Any]], network: Network) -> Iterator[Symmetry]:
    """Yield what may be symmetries of ranks on these hosts, those with the fewest representatives first.

    There is none where messages differ by chance, nor where they queue at a host: of those that come at once, one has
    to be the first there, and which one it is tells ranks apart.
    """
    ranks = hosts.size
    queues = network.send_buffer or network.message_gaps or network.one_queue or network.answers_in_order
    if ranks < _FEWEST or queues or network.variation or network.unevenness:
        return
    is_power, in_order = ranks & (ranks - 1) == 0, np.array_equal(hosts, np.arange(ranks))
    bits = (2,) * (ranks.bit_length() - 1)
    if len(platform.zones) > 1:
        alike = {int(zone["hosts"]) for zone in platform.zones}
        if len(alike) == 1 and ranks == platform.hosts and in_order:
            if is_power:
                yield Symmetry(1, bits, True)
            yield Symmetry(alike.pop(), (len(platform.zones),), True)
        return
    zone = platform.zones[0]
    kind = zone["kind"]
    if kind == "star":
        if _are_alike(platform, zone, hosts):
            yield from symmetries_of_ranks(ranks)
        return
    sizes = tuple(int(size) for size in zone.get("sizes", ()))
    if prod(sizes) != ranks or not in_order:
        return
    if kind == "fat-tree":
        if zone["as_simgrid"] or not _ports_follow(zone):
            return
        if is_power:
            yield Symmetry(1, bits, False)
    sure = kind == "fat-tree"
    for level in range(len(sizes)):
        yield Symmetry(prod(sizes[:level]), sizes[level:], not sure)


def _are_alike(platform: "Platform", zone: Mapping[str, Any], hosts: NDArray[np.integer[Any]]) -> bool:
    """Whether each rank has a host of its own on a star, by links like those of the others."""
    if not _differ(hosts):
        return False
    for role in ("limiter", "up", "down", "loopback"):
        links = np.asarray(zone[role])[hosts]
        if (links < 0).all():
            continue
        if (links < 0).any() or not _differ(links):
            return False
        for property_ in (platform.capacity, platform.latency, platform.fatpipe):
            if (property_[links] != property_[links[0]]).any():
                return False
    return True


def _differ(numbers: NDArray[np.integer[Any]]) -> bool:
    # np.unique would load masked arrays, which take longer than most simulations
    return bool((np.diff(np.sort(numbers)) > 0).all())


def _ports_follow(zone: Mapping[str, Any]) -> bool:
    """Whether the ports of a fat tree that destinations name depend on one digit of their numbers each."""
    sizes, parents, cables = ([int(n) for n in zone[name]] for name in ("sizes", "parents", "cables"))
    below = [prod(sizes[:level]) for level in range(len(sizes))]
    stride = 1
    for up, parallel in zip(parents, cables, strict=True):
        ports = up * parallel
        if ports > 1 and not (stride in below and sizes[below.index(stride)] % ports == 0):
            return False
        stride = min(prod(sizes), stride * ports)
    return True


def part_for_all(program: Program, symmetry: Symmetry) -> Program | None:
    """Return the program of the representatives; None where ranks differ from the first.

    Where they differ later, `AsymmetryError` comes out of it while it runs.
    """
    stream = program.refill
    first = Block(program.operations, program.offsets)
    if not (stream is None or isinstance(stream, BlockStream)) or not symmetry.holds(first):
        return None
    part = symmetry.part(first)
    if stream is None:
        return Program(part.operations, part.offsets, name=program.name)
    source = stream

    def blocks() -> Iterator[Block]:
        for block in source.blocks():
            if not symmetry.holds(block):
                raise AsymmetryError(f"{program.name}: ranks do not all do the same")
            yield symmetry.part(block)

    return Program(part.operations, part.offsets, BlockStream(symmetry.representatives, blocks), program.name)


def by_symmetry(
    candidates: Iterable[Symmetry], program: Program, simulate: Callable[[Program, Symmetry], dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the record of a program of which some ranks stand for all.

    None where none do, or where something is wrong with it, which is to be told of all ranks. `simulate` returns the
    record of a program of representatives.
    """
    for symmetry in candidates:
        part = part_for_all(program, symmetry)
        if part is None:
            continue
        try:
            record = simulate(part, symmetry)
        except (AsymmetryError, InputError):
            return None
        return None if record["hanging"].size else for_all(record, symmetry)
    return None


def schedule_by_symmetry(schedule: "GoalSchedule", simulate: Callable[..., dict[str, Any]]) -> dict[str, Any] | None:
    """Return the record of a GOAL schedule of which one rank stands for all, as `by_symmetry` that of a program.

    `simulate` takes the arrays of a schedule, offsets, operations and dependencies, and the symmetry.
    """
    ranks, operations = schedule.processes, schedule.operations
    count, rest = divmod(operations.size, ranks)
    edges, rest_of_edges = divmod(schedule.dependencies.size, ranks)
    if ranks < _FEWEST or rest or rest_of_edges or (np.diff(schedule.offsets) != count).any():
        return None
    columns = operations.reshape(ranks, count)
    if any((columns[name] != columns[name][0]).any() for name in ("kind", "cpu", "nic", "value", "tag")):
        return None
    first_edges = schedule.dependencies[:edges]
    of_ranks, begins = schedule.dependencies.reshape(ranks, edges), schedule.offsets[:-1, None]
    if (of_ranks["start"] != first_edges["start"]).any() or any(
        (of_ranks[name] - begins != first_edges[name]).any() for name in ("dependent", "on")
    ):
        return None
    peers = columns["peer"][:, columns["kind"][0] != GoalKind.CALCULATE]
    for symmetry in symmetries_of_ranks(ranks):
        if not symmetry.moves(peers):
            continue
        try:
            record = simulate(schedule.offsets[:2], operations[:count], first_edges, symmetry)
        except AsymmetryError:
            return None
        return None if record["hanging"].size else for_all(record, symmetry)
    return None


def for_all(record: Mapping[str, Any], symmetry: Symmetry) -> dict[str, Any]:
    """Return the record of all ranks, made of that of the representatives."""
    members = prod(symmetry.bases)
    changes = {name: np.tile(record[name], members) for name in ("ends", "spent", "slopes")}
    counts = {name: record[name] * members for name in ("messages", "unmatched_messages")}
    marks = np.tile(record["marks"].view(MARK), members)
    marks["rank"] += np.repeat(np.arange(members) * symmetry.representatives, marks.size // members)
    return {**record, **changes, **counts, "marks": marks}
