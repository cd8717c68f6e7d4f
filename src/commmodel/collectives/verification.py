"""Verification of schedules: whether the right data arrive, by running them on symbols.

Main entries: `verify` for an algorithm, `verify_rounds` for the rounds of one problem.

Every process holds blocks (`commmodel.collectives.algorithms.blocks` names them), and of each the set of processes
whose data are in it. A message carries what its sender held before the round. Afterwards every process must hold what
the operation promises it: each block whole, nobody's share missing, and nobody's counted twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from commmodel.arguments import Count, Whole, enough_memory
from commmodel.collectives.algorithms.blocks import piece_sizes
from commmodel.collectives.algorithms.registry import algorithm as algorithm_of
from commmodel.collectives.operation import operation as operation_of
from commmodel.collectives.schedule import Problem, Round
from commmodel.errors import InputError
from commmodel.signatures import checked

Held = dict[int, int]
"""Id of a block -> whose data are in it: bit r is set for process r."""


class ScheduleError(InputError):
    """A schedule that does not implement its operation; names round, sender, receiver and block."""


@checked
def verify(operation: str, algorithm: str, processes: Count, message_size: Whole | None = None) -> None:
    """Run an algorithm on symbolic blocks, for several roots and sizes; raise `ScheduleError` at the first error.

    Parameters
    ----------
    operation, algorithm : str
        Words of `commmodel.collectives.ALGORITHMS`.
    processes : int
        P.
    message_size : int, optional
        n in bytes; by default 0, 1, and sizes that P divides and does not divide, whole and in segments.

    Raises
    ------
    InputError
        There is no such algorithm, or not for so many processes.
    ScheduleError
        As of `verify_rounds`; it begins with the problem.

    Examples
    --------
    >>> verify("allreduce", "ring", 6)
    """
    enough_memory(float(processes) ** 2, f"{processes} processes")
    make, has_root = algorithm_of(operation, algorithm), operation_of(operation).has_root
    sizes = [(0, None), (1, None), (8 * processes, None), (8 * processes + 3, 8)]
    for root in sorted({0, processes // 2, processes - 1} if has_root else {0}):
        for size, segment_size in sizes if message_size is None else [(message_size, None)]:
            problem = Problem(processes, size, root, segment_size)
            try:
                verify_rounds(operation, make(problem), problem)
            except ScheduleError as error:
                title = f"{operation} {algorithm}, {processes} processes, {size} bytes"
                raise ScheduleError(f"{title}{f', root {root}' * has_root}: {error}") from None


def verify_rounds(operation: str, rounds: Iterable[Round], problem: Problem) -> None:
    """Run rounds on symbolic blocks; raise `ScheduleError` at the first error.

    Local copies are not followed, since a block is named by what it is and not by where it lies.

    Parameters
    ----------
    operation : str
        Name of an operation, such as ``"bcast"``: it says who holds what before, and who must hold what afterwards.
    rounds : iterable of Round
        What an algorithm returned.
    problem : Problem
        What it was given.

    Raises
    ------
    InputError
        There is no such operation.
    ScheduleError
        Ranks out of range, a process that sends to itself or a block twice in a round, a sender without the block
        that it sends, a size that is not that of its blocks, a share combined twice, combined bytes other than those
        received, memory read of a process that may not have begun, or a process that does not hold at the end what it
        should.

    >>> from commmodel.collectives.algorithms.broadcast import chain
    >>> verify_rounds("bcast", chain(Problem(3, 8)), Problem(3, 8))
    >>> verify_rounds("bcast", list(chain(Problem(3, 8)))[1:], Problem(3, 8))
    Traceback (most recent call last):
    commmodel.collectives.verification.ScheduleError: round 0: 1 -> 2: the sender does not hold block 0
    """
    combines = operation_of(operation).combines
    sizes, state, goal = _DEFINITIONS[operation](problem)
    begun = [1 << rank for rank in range(problem.processes)]
    for number, exchange in enumerate(rounds):
        _check_form(number, exchange, problem.processes)
        if np.any(exchange.combine) and not combines:
            raise ScheduleError(f"round {number}: {operation} combines nothing")
        arrived = [] if exchange.is_control else _arriving(number, exchange, sizes, state)
        combined = _put(number, arrived, sizes, state)
        _hear(exchange, begun)
        combined += _put(number, _read_from_memory(number, exchange, begun, state), sizes, state)
        _check_combined(number, exchange, combined)
    for rank, (blocks, due) in enumerate(zip(state, goal, strict=True)):
        for block, owners in due.items():
            if blocks.get(block) != owners:
                raise ScheduleError(
                    f"at the end: process {rank}, block {block}: "
                    f"has the data of {_processes(blocks.get(block, 0))}, not of {_processes(owners)}"
                )


def _check_form(number: int, exchange: Round, processes: int) -> None:
    """Check shapes, ranks and duplicates of a round."""
    if not exchange.sender.shape == exchange.receiver.shape == exchange.size.shape:
        raise ScheduleError(f"round {number}: there are not as many senders as receivers and sizes")
    pairs: dict[tuple[int, int], set[int]] = {}
    for index, pair in enumerate(zip(exchange.sender.tolist(), exchange.receiver.tolist(), strict=True)):
        sender, receiver = pair
        if not (0 <= sender < processes and 0 <= receiver < processes):
            raise ScheduleError(f"round {number}: {sender} -> {receiver}: the {processes} processes are 0 and up")
        if sender == receiver:
            raise ScheduleError(f"round {number}: {sender} -> {receiver}: a process sends to itself")
        carried = set(exchange.blocks(index))
        if carried & pairs.get(pair, set()):
            raise ScheduleError(f"round {number}: {sender} -> {receiver}: two messages of the same in one round")
        pairs[pair] = pairs.get(pair, set()) | carried
    for role, ranks, sizes in (
        ("copies", exchange.copier, exchange.copied),
        ("combines", exchange.reducer, exchange.reduced),
    ):
        listed = ranks.tolist()
        if ranks.shape != sizes.shape or len(set(listed)) < len(listed):
            raise ScheduleError(f"round {number}: each process that {role} must be named once, with one size")
        if listed and not (0 <= min(listed) <= max(listed) < processes and sizes.min() >= 0):
            raise ScheduleError(f"round {number}: a process that {role} is out of range, or its size negative")


Arrival = tuple[int, int, Sequence[int], list[int], bool]
"""Sender, receiver, ids under which it puts the blocks, whose data are in each, whether it combines them."""


def _arriving(number: int, exchange: Round, sizes: Sequence[int], state: list[Held]) -> list[Arrival]:
    """Return what the messages of a round carry: all leave before any arrives."""
    arriving = []
    messages = zip(exchange.sender.tolist(), exchange.receiver.tolist(), exchange.size.tolist(), strict=True)
    combine = np.broadcast_to(exchange.combine, exchange.size.shape)
    for index, (sender, receiver, size) in enumerate(messages):
        carried = exchange.blocks(index)
        content = _content(number, sender, receiver, carried, state)
        due = sum([sizes[block % len(sizes)] for block in carried])
        if size != due:
            raise ScheduleError(f"round {number}: {sender} -> {receiver}: {size} bytes, but its blocks have {due}")
        places = carried
        if exchange.into is not None:
            places = exchange.into(index)
            copies = 2 if len(places) > len(carried) else 1
            if [place % len(sizes) for place in places] != [block % len(sizes) for block in carried] * copies:
                raise ScheduleError(
                    f"round {number}: {sender} -> {receiver}: blocks {list(carried)} put as {list(places)}"
                )
            content *= copies
        arriving.append((sender, receiver, places, content, bool(combine[index])))
    return arriving


def _content(number: int, owner: int, process: int, blocks: Sequence[int], state: list[Held]) -> list[int]:
    """Return whose data are in blocks that one process has for another."""
    contents = state[owner]
    for block in blocks:
        if block not in contents:
            raise ScheduleError(f"round {number}: {owner} -> {process}: the sender does not hold block {block}")
    return [contents[block] for block in blocks]


def _hear(exchange: Round, begun: list[int]) -> None:
    """Note who can know after a round that which others have begun."""
    before = list(begun)
    for sender, receiver in zip(exchange.sender.tolist(), exchange.receiver.tolist(), strict=True):
        begun[receiver] |= before[sender]


def _read_from_memory(number: int, exchange: Round, begun: Sequence[int], state: list[Held]) -> list[Arrival]:
    """Return what processes take from memory after the messages."""
    arrivals = []
    for process, owner, blocks, into, combine in exchange.accesses():
        if not begun[process] >> owner & 1:
            raise ScheduleError(f"round {number}: {process} reads the memory of {owner}, which may not have begun")
        arrivals.append((owner, process, into, _content(number, owner, process, blocks, state), combine))
    return arrivals


def _put(number: int, arrived: Sequence[Arrival], sizes: Sequence[int], state: list[Held]) -> Counter[int]:
    """Put what arrived where it belongs; return the bytes that each process combined."""
    combined: Counter[int] = Counter()
    for _, receiver, places, content, combines in arrived:
        if not combines:
            state[receiver].update(zip(places, content, strict=True))
    for sender, receiver, places, content, combines in arrived:
        blocks = state[receiver]
        for block, owners in zip(places, content, strict=True) if combines else ():
            twice = blocks.get(block, 0) & owners
            if twice:
                raise ScheduleError(
                    f"round {number}: {sender} -> {receiver}: block {block} has the data of {_processes(twice)} already"
                )
            blocks[block] = blocks.get(block, 0) | owners
            combined[receiver] += sizes[block % len(sizes)]
    return combined


def _check_combined(number: int, exchange: Round, combined: Counter[int]) -> None:
    """Check the bytes that processes combine."""
    reductions = dict(zip(exchange.reducer.tolist(), exchange.reduced.tolist(), strict=True))
    for rank in combined.keys() | reductions.keys():
        if combined[rank] != reductions.get(rank, 0):
            raise ScheduleError(
                f"round {number}: process {rank} combines {reductions.get(rank, 0)} bytes, but it got {combined[rank]}"
            )


def _processes(holders: int) -> str:
    """Return the names of a set of processes, the first few of a long one."""
    ranks = [rank for rank in range(holders.bit_length()) if holders >> rank & 1]
    shown = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    return shown or "nobody"


Definition = tuple[Sequence[int], list[Held], list[Held]]
"""Bytes of each block, what each process holds before, what each must hold afterwards.

Ids that differ by the number of blocks are places for the same data.
"""


def _everybody(problem: Problem) -> int:
    return (1 << problem.processes) - 1


def _own_blocks(problem: Problem) -> list[Held]:
    return [{rank: 1 << rank} for rank in range(problem.processes)]


def _barrier(problem: Problem) -> Definition:
    contributions = {rank: 1 << rank for rank in range(problem.processes)}
    return [0] * problem.processes, _own_blocks(problem), [contributions] * problem.processes


def _bcast(problem: Problem) -> Definition:
    sizes = piece_sizes(problem)
    vector = dict.fromkeys(range(len(sizes)), 1 << problem.root)
    start: list[Held] = [{} for _ in range(problem.processes)]
    start[problem.root] = dict(vector)
    return sizes, start, [vector] * problem.processes


def _at_root(problem: Problem, blocks: Held) -> list[Held]:
    return [blocks if rank == problem.root else {} for rank in range(problem.processes)]


def _reduce(problem: Problem) -> Definition:
    sizes, start, goal = _allreduce(problem)
    return sizes, start, _at_root(problem, goal[problem.root])


def _allreduce(problem: Problem) -> Definition:
    sizes = piece_sizes(problem)
    blocks = range(len(sizes))
    start = [dict.fromkeys(blocks, 1 << rank) for rank in range(problem.processes)]
    return sizes, start, [dict.fromkeys(blocks, _everybody(problem))] * problem.processes


def _gather(problem: Problem) -> Definition:
    sizes, start, goal = _allgather(problem)
    return sizes, start, _at_root(problem, goal[problem.root])


def _scatter(problem: Problem) -> Definition:
    sizes = [problem.message_size] * problem.processes
    data = 1 << problem.root
    blocks = range(problem.processes)
    return sizes, _at_root(problem, dict.fromkeys(blocks, data)), [{rank: data} for rank in blocks]


def _allgather(problem: Problem) -> Definition:
    sizes = [problem.message_size] * problem.processes
    contributions = {rank: 1 << rank for rank in range(problem.processes)}
    return sizes, _own_blocks(problem), [contributions] * problem.processes


def _alltoall(problem: Problem) -> Definition:
    processes = problem.processes
    ranks = range(processes)
    start = [dict.fromkeys(range(rank * processes, (rank + 1) * processes), 1 << rank) for rank in ranks]
    goal = [{sender * processes + rank: 1 << sender for sender in ranks} for rank in ranks]
    return [problem.message_size] * processes**2, start, goal


def _reduce_scatter(problem: Problem) -> Definition:
    ranks = range(problem.processes)
    start = [dict.fromkeys(ranks, 1 << rank) for rank in ranks]
    return [problem.message_size] * problem.processes, start, [{rank: _everybody(problem)} for rank in ranks]


def _scan(problem: Problem) -> Definition:
    sizes = piece_sizes(problem)
    start = [dict.fromkeys(range(2 * len(sizes)), 1 << rank) for rank in range(problem.processes)]
    goal = [dict.fromkeys(range(len(sizes)), (2 << rank) - 1) for rank in range(problem.processes)]
    return sizes, start, goal


_DEFINITIONS: dict[str, Callable[[Problem], Definition]] = {
    "barrier": _barrier,
    "bcast": _bcast,
    "reduce": _reduce,
    "allreduce": _allreduce,
    "gather": _gather,
    "scatter": _scatter,
    "allgather": _allgather,
    "alltoall": _alltoall,
    "reduce_scatter": _reduce_scatter,
    "reduce_scatter_block": _reduce_scatter,
    "scan": _scan,
}
"""Operation -> what it is defined to do."""
