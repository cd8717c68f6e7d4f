"""Collectives in two levels: within each node, and between one process of each node.

Open MPI's component han, and what MPICH calls smp and composition alpha: an operation becomes several smaller ones,
which algorithms of one level carry out. Processes of a node have consecutive ranks, every node as many. The process of
a node that takes part between nodes has the root's place on its node, as in han; where there is no root it is the
first. MPICH takes the first always, which is the same for root 0. Forms in which all take part between nodes are in
`commmodel.collectives.algorithms.multi_leader`, and a scan in `commmodel.collectives.algorithms.two_level_scan`.

Pipelined, a vector goes in segments. In step t each stage works on segment t less the stage's number; a process begins
its messages between nodes before those within and goes to the next step when all of the step are done. Source: Luo et
al., "HAN: a hierarchical autotuned collective communication framework", 2020; Open MPI 5.0, ``coll/han``. Main entry:
`stage_problem`; the algorithms are in `commmodel.collectives.algorithms.registry.ALGORITHMS`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest

import numpy as np

from commmodel.collectives.algorithms.blocks import cuts, segments
from commmodel.collectives.algorithms.registry import Stage, algorithm, register
from commmodel.collectives.operation import OPERATIONS, ScheduledName
from commmodel.collectives.schedule import Integers, Nodes, Problem, Round
from commmodel.errors import InputError

TWO_LEVEL, PIPELINED = "two-level", "two-level-pipelined"
USUAL: dict[str, str] = {
    "allgather": "ring", "allreduce": "recursive-doubling", "alltoall": "pairwise", "barrier": "recursive-doubling",
    "bcast": "binomial", "gather": "binomial", "reduce": "binomial", "scan": "recursive-doubling",
    "scatter": "binomial",
}  # fmt: skip
"""Operation -> algorithm of a level where a problem names none."""
Carried = Callable[[int, Sequence[int]], Sequence[int]]
# (group of processes, block ids of a stage's message) -> ids in the whole operation

_SUMMARIES: dict[tuple[ScheduledName, str], tuple[str, tuple[tuple[ScheduledName, bool], ...]]] = {
    ("barrier", TWO_LEVEL): (
        "Barrier within each node, between one process of each, and within each again (han, MPICH's smp).",
        (("barrier", False), ("barrier", True), ("barrier", False)),
    ),
    ("bcast", TWO_LEVEL): (
        "Broadcast between one process of each node, then within each (han's simple, MPICH's smp).",
        (("bcast", True), ("bcast", False)),
    ),
    ("bcast", PIPELINED): (
        "Like two-level in segments: one is broadcast within nodes while the next is between them (han's intra).",
        (("bcast", True), ("bcast", False)),
    ),
    ("reduce", TWO_LEVEL): (
        "Reduction within each node, then between one process of each (han's simple, MPICH's smp).",
        (("reduce", False), ("reduce", True)),
    ),
    ("reduce", PIPELINED): (
        "Like two-level in segments: one is reduced between nodes while the next is within them (han's intra).",
        (("reduce", False), ("reduce", True)),
    ),
    ("allreduce", TWO_LEVEL): (
        "Reduction within each node, allreduce between one process of each, broadcast (han's simple, MPICH's smp).",
        (("reduce", False), ("allreduce", True), ("bcast", False)),
    ),
    ("allreduce", PIPELINED): (
        "In segments: reduction within nodes and between, broadcast between and within, all at once (han's intra).",
        (("reduce", False), ("reduce", True), ("bcast", True), ("bcast", False)),
    ),
    ("gather", TWO_LEVEL): (
        "Gather within each node, then between one process of each (han).",
        (("gather", False), ("gather", True)),
    ),
    ("scatter", TWO_LEVEL): (
        "Scatter between one process of each node, then within each (han).",
        (("scatter", True), ("scatter", False)),
    ),
    ("allgather", TWO_LEVEL): (
        "Gather within each node, allgather between one process of each, broadcast of everything within (han).",
        (("gather", False), ("allgather", True), ("bcast", False)),
    ),
}


def node_layout(problem: Problem) -> tuple[Nodes, int]:
    """Return the nodes and the processes of each; raise where nodes are not known or not alike."""
    nodes, processes = problem.nodes, problem.processes
    if nodes is None:
        raise InputError(
            "two levels need the number of processes on each node: predict takes it with -k, simulate from a platform"
        )
    per_node = min(nodes.per_node, processes)
    if processes % per_node:
        raise InputError(f"two levels need as many processes on each node: {processes} are not {per_node} each")
    return nodes, per_node


def stage_problem(operation: ScheduledName, stage: Stage, problem: Problem) -> Problem:
    """Return what a stage of an operation in two levels has to do on its level.

    >>> from commmodel.collectives.schedule import Nodes
    >>> part = stage_problem("allgather", Stage("gather", "within"), Problem(64, 8, nodes=Nodes(16)))
    >>> part.processes, part.message_size
    (16, 8)
    """
    _, per_node = node_layout(problem)
    blocks, size = 1, problem.message_size
    if OPERATIONS[operation].size_is_per_block:
        if stage.level == "between":
            blocks = per_node
        elif not OPERATIONS[stage.operation].size_is_per_block:
            blocks = problem.processes
    call = replace(problem, segment_size=None, nodes=None, in_place=False)
    if stage.level == "between":
        count, root, size = problem.processes // per_node, problem.root // per_node, blocks * size
    else:
        count, root = per_node, problem.root % per_node
        size = blocks * size if stage.message_size is None else stage.message_size
    return replace(call, processes=count, message_size=size, root=root)


def _stage(
    operation: ScheduledName, stages: Sequence[Stage], number: int, problem: Problem, piece: tuple[int, int]
) -> Iterator[Round]:
    """Yield the rounds of one stage, of a piece of the vector where one moves: bytes from and up to which."""
    nodes, per_node = node_layout(problem)
    low, high = piece
    stage = stages[number]
    of_vector = not OPERATIONS[operation].size_is_per_block and OPERATIONS[operation].has_size
    part = stage_problem(operation, stage, problem)
    if of_vector:
        part = Problem(part.processes, high - low, part.root)
    ranks = np.arange(problem.processes).reshape(-1, per_node)
    names = nodes.within
    if stage.level == "between":
        ranks, names = ranks[:, problem.root % per_node].reshape(1, -1), nodes.between
    if of_vector:
        carried: Carried = partial(vector_pieces, problem, part, low)
    elif OPERATIONS[stage.operation].has_size and not OPERATIONS[stage.operation].size_is_per_block:
        carried = partial(_of_blocks, problem)
    else:
        is_last = stage.level == "within" and number == len(stages) - 1 and operation == "barrier"
        carried = partial(_of_ranks, problem.processes, per_node, stage.level == "between", is_last)
    for round_ in algorithm(stage.operation, names.get(stage.operation, USUAL[stage.operation]))(part):
        yield placed(round_, ranks, carried)


def vector_pieces(problem: Problem, part: Problem, base: int, _: int, blocks: Sequence[int]) -> Sequence[int]:
    """Return the pieces of the whole vector that a stage's pieces, which follow one another, consist of."""
    if not blocks:
        return ()
    offsets = base + cuts(part)
    first, last = np.searchsorted(cuts(problem), (offsets[blocks[0]], offsets[blocks[-1] + 1]))
    return range(int(first), int(last))


def _of_blocks(problem: Problem, _: int, pieces: Sequence[int]) -> Sequence[int]:
    """Return the processes' blocks in pieces of the vector of all blocks, which a broadcast cuts between blocks."""
    processes, size = problem.processes, problem.message_size
    per_node = node_layout(problem)[1]
    if not size:
        return range(processes)
    offsets = cuts(Problem(per_node, processes * size))
    return range(int(offsets[pieces[0]]) // size, -(-int(offsets[pieces[-1] + 1]) // size)) if pieces else ()


def _of_ranks(
    processes: int, per_node: int, is_between: bool, is_last: bool, group: int, blocks: Sequence[int]
) -> Sequence[int]:
    """Return the processes that a stage's processes stand for: whole nodes between them, all after the last barrier."""
    if is_between:
        return list(chain.from_iterable(range(node * per_node, (node + 1) * per_node) for node in blocks))
    if is_last and 0 in blocks:
        return range(processes)
    return [group * per_node + member for member in blocks]


def placed(round_: Round, ranks: Integers, carried: Carried) -> Round:
    """Return the round of a stage in each group of processes; `ranks` has a row for each."""
    groups, messages = ranks.shape[0], round_.size.size

    def blocks(message: int) -> Sequence[int]:
        return carried(message // messages, round_.blocks(message % messages))

    def into(message: int) -> Sequence[int]:
        return carried(message // messages, round_.into(message % messages) if round_.into else ())

    def on_groups(members: Integers) -> Integers:
        return ranks[:, members].ravel()

    return Round(
        on_groups(round_.sender), on_groups(round_.receiver), np.tile(round_.size, groups), blocks,
        into=into if round_.into else None, combine=np.tile(np.broadcast_to(round_.combine, messages), groups),
        copier=on_groups(round_.copier), copied=np.tile(round_.copied, groups),
        reducer=on_groups(round_.reducer), reduced=np.tile(round_.reduced, groups),
    )  # fmt: skip


def _at_once(rounds: Sequence[Round]) -> Round:
    """Return rounds that happen at the same time as one."""
    if len(rounds) == 1:
        return rounds[0]
    ends = np.cumsum([round_.size.size for round_ in rounds]).tolist()

    def blocks(message: int) -> Sequence[int]:
        number = bisect_right(ends, message)
        return rounds[number].blocks(message - (ends[number - 1] if number else 0))

    copier, copied = _summed([(round_.copier, round_.copied) for round_ in rounds])
    reducer, reduced = _summed([(round_.reducer, round_.reduced) for round_ in rounds])
    sender, receiver, size = (
        np.concatenate([getattr(round_, name) for round_ in rounds]) for name in ("sender", "receiver", "size")
    )
    combine = np.concatenate([np.broadcast_to(round_.combine, round_.size.shape) for round_ in rounds])
    return Round(
        sender, receiver, size, blocks,
        combine=combine, copier=copier, copied=copied, reducer=reducer, reduced=reduced,
    )  # fmt: skip


def _summed(columns: Iterable[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Return ranks, each once, and the sum of each one's bytes."""
    listed = list(columns)
    ranks, place = np.unique(np.concatenate([ranks for ranks, _ in listed]), return_inverse=True)
    sums = np.zeros(ranks.size, dtype=np.int64)
    np.add.at(sums, place, np.concatenate([sizes for _, sizes in listed]))
    return ranks, sums


def _rounds(operation: ScheduledName, stages: Sequence[Stage], pipelined: bool, problem: Problem) -> Iterator[Round]:
    """Yield the rounds of an operation in two levels."""
    node_layout(problem)
    pieces = segments(problem) if pipelined else [(0, problem.message_size)]
    order = sorted(range(len(stages)), key=lambda number: (stages[number].level == "within", -number))
    for step in range(len(pieces) + len(stages) - 1):
        active = [
            _stage(operation, stages, number, problem, pieces[step - number])
            for number in order
            if 0 <= step - number < len(pieces)
        ]
        for rounds in zip_longest(*active):
            yield _at_once([round_ for round_ in rounds if round_ is not None])


def _enter(operation: ScheduledName, name: str, summary: str, stages: tuple[Stage, ...]) -> None:
    def scheduler(problem: Problem) -> Iterator[Round]:
        return _rounds(operation, stages, name == PIPELINED, problem)

    scheduler.__doc__ = summary
    register(operation, name, stages=stages)(scheduler)


for (_operation, _name), (_summary, _listed) in _SUMMARIES.items():
    _enter(
        _operation, _name, _summary,
        tuple(Stage(operation, "between" if is_between else "within") for operation, is_between in _listed),
    )  # fmt: skip
