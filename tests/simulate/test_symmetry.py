"""Ranks that all do the same are simulated once: the times are those of all of them simulated."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.choices import DelayName, ScheduleRules, Slopes
from commmodel.collectives import Problem, build
from commmodel.collectives.operation import ScheduledName
from commmodel.errors import DeadlockError, InputError
from commmodel.simulate import (
    OPERATION,
    SMPI,
    Code,
    DelayModel,
    DelayParameters,
    Program,
    SimulationResult,
    delays,
    flows,
    fluid,
    goal,
    platform,
    run,
)
from commmodel.simulate.network import Network
from commmodel.simulate.platform import Platform
from commmodel.simulate.platform.topology import Backbone
from commmodel.simulate.symmetry import Symmetry, by_symmetry, part_for_all, schedule_by_symmetry
from commmodel.simulate.work import between_marks, collective, halo, pairwise, repeat, ring, shifts
from commmodel.simulate.work.block_streams import Block, program_of

WAIT = (Code.WAITALL, -1, -1, -1, 0.0)
FAT_TREE = platform.fat_tree([4, 4, 4], [1, 4, 2], [1, 1, 2], 125e6, 15e-6, loopback=(5e9, 0.0))


CABINETS = platform.cabinets([8, 8, 8, 8], 125e6, 15e-6, uplink=(1.25e9, 1e-6), limiter=187.5e6)


class Simulations:
    """Simulates programs with all ranks, or as it is done; counts those in which ranks stood for others."""

    def __init__(self) -> None:
        self.by_symmetry = 0
        self.usual = by_symmetry

    def simulated(self, *arguments: object) -> object:
        record = self.usual(*arguments)  # type: ignore[arg-type]
        self.by_symmetry += record is not None
        return record

    def compare(
        self, program: Program, where: Platform | None, model: Network | DelayModel = SMPI, slopes: Slopes | None = None
    ) -> tuple[SimulationResult, SimulationResult]:
        module = delays if where is None else flows
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "by_symmetry", self.simulated)
            few = run(program, model, where, slopes=slopes)
            patch.setattr(module, "by_symmetry", lambda *_: None)
            return few, run(program, model, where, slopes=slopes)


def assert_alike(few: SimulationResult, all_ranks: SimulationResult, tolerance: float = 0.0) -> None:
    np.testing.assert_allclose(few.ends, all_ranks.ends, rtol=tolerance)
    np.testing.assert_allclose(few.spent, all_ranks.spent, rtol=tolerance, atol=tolerance * all_ranks.seconds)
    np.testing.assert_allclose(few.link_bytes, all_ranks.link_bytes, rtol=1e-12)
    np.testing.assert_allclose(few.link_work, all_ranks.link_work, rtol=1e-12)
    assert few.messages == all_ranks.messages


@pytest.mark.parametrize("processes", [16, 27])
@pytest.mark.parametrize(
    "work",
    [
        lambda processes: pairwise(102400, processes),
        lambda processes: repeat(ring(1024, processes), 3),
        lambda processes: halo(65536, processes),
        lambda processes: collective("barrier", Problem(processes), algorithm="dissemination"),
        lambda processes: between_marks(collective("alltoall", Problem(processes, 20000), algorithm="pairwise")),
    ],
)
def test_on_a_switch_times_are_the_same_to_the_bit(work: Callable[[int], Program], processes: int) -> None:
    simulations = Simulations()
    for where in (
        platform.flat(processes, 125e6, 15e-6, limiter=187.5e6),
        platform.flat(processes + 3, 125e6, 15e-6, sharing="shared"),
    ):
        few, all_ranks = simulations.compare(work(processes), where)
        assert_alike(few, all_ranks)
        for column in ("number", "rank"):
            assert sorted(few.marks[column]) == sorted(all_ranks.marks[column])
    assert simulations.by_symmetry == 2


@pytest.mark.parametrize(
    ("work", "where"),
    [
        (collective("alltoall", Problem(64, 102400), algorithm="pairwise-xor"), FAT_TREE),
        (pairwise(102400, 64), FAT_TREE),
        (halo(102400, 27), platform.torus([3, 3, 3], 125e6, 15e-6)),
        (repeat(ring(102400, 25), 2), platform.torus([5, 5], 125e6, 15e-6)),
        (ring(102400, 16), platform.flat(16, 125e6, 15e-6, backbone=(1e9, 1e-6))),
        (ring(102400, 12), platform.flat(12, 125e6, 15e-6, backbone=Backbone(100e6, 1e-6, "fatpipe"))),
        (pairwise(102400, 32), CABINETS),
        (collective("alltoall", Problem(32, 102400), algorithm="pairwise-xor"), CABINETS),
    ],
)
def test_on_regular_networks_times_are_the_same_to_rounding(work: Program, where: Platform) -> None:
    simulations = Simulations()
    assert_alike(*simulations.compare(work, where), tolerance=1e-13)
    assert simulations.by_symmetry == 1


@pytest.mark.parametrize(
    ("work", "where"),
    [
        (shifts(65536, 16, 3), platform.flat(16, 125e6, 15e-6)),
        (collective("bcast", Problem(16, 1000)), platform.flat(16, 125e6, 15e-6)),
        # From the middle of a ring to its begin, routes go down, all others half-way round go up.
        (pairwise(102400, 16), platform.torus([4, 4], 125e6, 15e-6)),
        (pairwise(102400, 12), platform.torus([3, 4], 125e6, 15e-6, sharing="shared")),
        # As many flows as ranks on one link, whose sum is rounded.
        (ring(102400, 12), platform.flat(12, 125e6, 15e-6, backbone=(1e9, 1e-6))),
        # The third switch upwards names its port by two digits.
        (pairwise(102400, 36), platform.fat_tree([6, 6], [1, 4], [1, 1], 125e6, 15e-6)),
    ],
)
def test_what_is_not_symmetric_is_simulated_whole(work: Program, where: Platform) -> None:
    simulations = Simulations()
    assert_alike(*simulations.compare(work, where))
    assert simulations.by_symmetry == 0


@pytest.mark.parametrize("model", [SMPI, DelayModel(DelayParameters(L=1e-6, o=1e-6), "loggp")])
def test_messages_never_received_are_counted_for_all(model: Network | DelayModel) -> None:
    ranks = [np.array([(Code.ISEND, (rank + 1) % 8, 0, -1, 8.0), WAIT], OPERATION) for rank in range(8)]
    where = platform.flat(8, 125e6, 15e-6) if model is SMPI else None
    simulations = Simulations()
    for result in simulations.compare(Program.from_ranks(ranks), where, model):
        assert result.unmatched_messages == result.messages == 8
    assert simulations.by_symmetry == 1


def test_ranks_that_differ_later_are_all_simulated() -> None:
    def blocks() -> Iterator[Block]:
        for step in range(3):
            ranks = [[(Code.COMPUTE, -1, -1, -1, 1.0 + (step == 2 and rank == 5))] for rank in range(8)]
            program = Program.from_ranks([np.array(rank, OPERATION) for rank in ranks])
            yield Block(program.operations, program.offsets)

    simulations = Simulations()
    few, all_ranks = simulations.compare(program_of(8, blocks), platform.flat(8, 125e6, 15e-6))
    assert few.ends.tolist() == all_ranks.ends.tolist() == [3.0] * 5 + [4.0] + [3.0] * 2
    assert simulations.by_symmetry == 0


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ((Code.RECV, 1, 0, -1, 100.0), "rank 0 waits in MPI_Recv"),
        ((Code.SEND, 1, -1, -1, 100.0), "rank 0, operation 0: a message cannot have tag -1"),
    ],
)
def test_faults_are_told_of_all_ranks(operation: tuple[float, ...], words: str) -> None:
    rank = [np.array([operation], OPERATION) for _ in range(8)]
    for number, operations in enumerate(rank):
        operations["peer"] = (number + 1) % 8
    with pytest.raises((DeadlockError, InputError), match=words):
        run(Program.from_ranks(rank), SMPI, platform.flat(8, 125e6, 15e-6))


def test_receives_from_any_rank_are_not_shared() -> None:
    ranks = [
        np.array([(Code.ISEND, rank ^ 1, 0, -1, 8.0), (Code.RECV, -1, 0, -1, 8.0), WAIT], OPERATION)
        for rank in range(8)
    ]
    assert part_for_all(Program.from_ranks(ranks), Symmetry(1, (2, 2, 2), False)) is None


def moved(symmetry: Symmetry, rank: int, member: int) -> int:
    """Return a rank's image: the digits above the lowest are added."""
    shape = symmetry.bases[::-1]
    begin, way = (np.unravel_index(number, shape) for number in (rank // symmetry.representatives, member))
    digits = [(a + b) % base for a, b, base in zip(begin, way, shape, strict=True)]
    return int(np.ravel_multi_index(digits, shape)) * symmetry.representatives + rank % symmetry.representatives


@st.composite
def symmetric_programs(draw: st.DrawFn, symmetry: Symmetry) -> Program:
    """Programs of steps, in each of which a representative sends to some ranks, and all others do as much."""
    members = symmetry.ranks // symmetry.representatives
    calls: list[list[tuple[float, ...]]] = [[] for _ in range(symmetry.ranks)]
    for tag in range(draw(st.integers(1, 3))):
        sends = [
            (sender, draw(st.integers(0, symmetry.ranks - 1)), draw(st.sampled_from([8.0, 1000.0, 70000.0, 3e5])))
            for sender in range(symmetry.representatives)
            for _ in range(draw(st.integers(0, 2)))
        ]
        seconds = [draw(st.sampled_from([0.0, 1e-4, 3e-3])) for _ in range(symmetry.representatives)]
        for member in range(members):
            for sender, target, size in sends:
                receiver = target % symmetry.representatives
                back = next(way for way in range(members) if moved(symmetry, target, way) == receiver)
                source = moved(symmetry, moved(symmetry, sender, back), member)
                calls[moved(symmetry, receiver, member)].append((Code.IRECV, source, tag, -1, size))
            for sender, target, size in sends:
                calls[moved(symmetry, sender, member)].append(
                    (Code.ISEND, moved(symmetry, target, member), tag, -1, size)
                )
            for sender, time in enumerate(seconds):
                calls[moved(symmetry, sender, member)] += [(Code.COMPUTE, -1, -1, -1, time), WAIT]
    return Program.from_ranks([np.array(rank, OPERATION) for rank in calls])


PLACES = [
    (platform.flat(16, 125e6, 15e-6, limiter=187.5e6), Symmetry(1, (2, 2, 2, 2), False)),
    (platform.flat(15, 125e6, 15e-6, sharing="shared"), Symmetry(1, (15,), False)),
    (platform.flat(12, 125e6, 15e-6, loopback=(1e9, 1e-7)), Symmetry(1, (3, 4), False)),
    (platform.torus([3, 5], 125e6, 15e-6), Symmetry(1, (3, 5), True)),
    (platform.torus([3, 3, 3], 125e6, 15e-6, limiter=200e6), Symmetry(9, (3,), True)),
    (platform.fat_tree([4, 4], [1, 2], [1, 2], 125e6, 15e-6), Symmetry(1, (2, 2, 2, 2), False)),
    (platform.fat_tree([3, 6], [1, 3], [1, 1], 125e6, 15e-6), Symmetry(3, (6,), False)),
    (platform.fat_tree([4, 3], [1, 2], [2, 1], 125e6, 15e-6), Symmetry(1, (4, 3), False)),
    (platform.torus([4, 3], 125e6, 15e-6, sharing="shared"), Symmetry(1, (4, 3), True)),
    (platform.hyperx([2, 4], 125e6, 15e-6, nodes=2, sharing="shared"), Symmetry(4, (4,), True)),
    (platform.hyperx([3, 6], 125e6, 15e-6), Symmetry(3, (6,), True)),
]


@given(st.data())
def test_random_symmetric_programs(data: st.DataObject) -> None:
    where, symmetry = data.draw(st.sampled_from(PLACES))
    model = data.draw(st.sampled_from([SMPI, fluid()]))
    program = data.draw(symmetric_programs(symmetry))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows, "on_platform", lambda *_: iter([symmetry]))
        simulations = Simulations()
        few, all_ranks = simulations.compare(program, where, model)
    assert_alike(few, all_ranks, tolerance=1e-10)
    if not symmetry.must_be_checked:
        assert simulations.by_symmetry == 1


PARAMETERS = DelayParameters(L=3e-6, o=1e-6, g=1.5e-6, G=7e-9, O_s=1e-10, O_r=2e-10, S=65536)


@given(st.data())
def test_random_symmetric_programs_by_models_of_delays(data: st.DataObject) -> None:
    _, symmetry = data.draw(st.sampled_from(PLACES))
    model = DelayModel(PARAMETERS, data.draw(st.sampled_from(["logp", "loggp", "loggps"])))
    program = data.draw(symmetric_programs(symmetry))
    simulations = Simulations()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delays, "symmetries_of_ranks", lambda _: iter([symmetry]))
        few, all_ranks = simulations.compare(program, None, model, data.draw(st.sampled_from([None, "factors"])))
    assert few.ends.tolist() == all_ranks.ends.tolist()
    assert few.slopes.tolist() == all_ranks.slopes.tolist()
    assert few.messages == all_ranks.messages
    np.testing.assert_allclose(few.spent, all_ranks.spent, rtol=1e-12, atol=1e-18)


@pytest.mark.parametrize("model", ["logp", "loggp", "loggps"])
@pytest.mark.parametrize("size", [8, 100000])
def test_models_of_delays_know_symmetric_collectives(model: DelayName, size: int) -> None:
    simulations = Simulations()
    for work in (
        collective("barrier", Problem(27), algorithm="dissemination"),
        collective("alltoall", Problem(16, size), algorithm="pairwise"),
    ):
        few, all_ranks = simulations.compare(work, None, DelayModel(PARAMETERS, model))
        assert few.ends.tolist() == all_ranks.ends.tolist()
    assert simulations.by_symmetry == 2


def test_messages_that_come_at_once_tell_ranks_apart() -> None:
    # Of two that come at once, the processor takes that of the lower rank first, which is not the same one for all.
    ranks = []
    for rank in range(8):
        calls = [(Code.IRECV, (rank - 1) % 8, 0, -1, 8.0), (Code.IRECV, (rank + 1) % 8, 0, -1, 8.0), WAIT]
        sends = [(Code.ISEND, (rank + 1) % 8, 0, -1, 8.0), (Code.ISEND, (rank - 1) % 8, 0, -1, 8.0)]
        ranks.append(np.array(calls[:2] + sends + calls[2:], OPERATION))
    simulations = Simulations()
    model = DelayModel(DelayParameters(L=1e-6, o=0.0), "logp")
    few, all_ranks = simulations.compare(Program.from_ranks(ranks), None, model)
    assert few.ends.tolist() == all_ranks.ends.tolist()
    assert simulations.by_symmetry == 0


@pytest.mark.parametrize("rules", ["classic", "newer"])
@pytest.mark.parametrize(
    ("operation", "algorithm", "size", "is_symmetric"),
    [
        ("barrier", "dissemination", 0, True),
        ("alltoall", "pairwise-xor", 60000, True),
        ("alltoall", "pairwise-xor", 100000, False),
        ("alltoall", "linear", 8, False),
        ("bcast", "binomial", 8, False),
    ],
)
def test_schedules(
    rules: ScheduleRules, operation: ScheduledName, algorithm: str, size: int, is_symmetric: bool
) -> None:
    schedule = goal.from_collective(build(operation, algorithm, Problem(16, size)))
    used = []

    def simulated(*arguments: object) -> object:
        record = schedule_by_symmetry(*arguments)  # type: ignore[arg-type]
        used.append(record is not None)
        return record

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delays, "schedule_by_symmetry", simulated)
        few = delays.run_schedule(schedule, PARAMETERS, rules=rules, slopes="parameters")
        patch.setattr(delays, "schedule_by_symmetry", lambda *_: None)
        all_ranks = delays.run_schedule(schedule, PARAMETERS, rules=rules, slopes="parameters")
    assert used == [is_symmetric]
    assert few.ends.tolist() == all_ranks.ends.tolist()
    assert few.slopes.tolist() == all_ranks.slopes.tolist()
    assert few.messages == all_ranks.messages
    np.testing.assert_allclose(few.spent, all_ranks.spent, rtol=1e-12, atol=1e-18)


def test_a_long_program_of_symmetric_ranks_has_no_derivatives_on_a_network() -> None:
    program = collective("alltoall", Problem(256, 102400), algorithm="pairwise")
    assert program.refill is not None
    simulations = Simulations()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows, "by_symmetry", simulations.simulated)
        result = run(program, SMPI, platform.flat(256, 125e6, 15e-6), slopes="factors")
    assert simulations.by_symmetry == 1
    assert result.gradient is None
    assert result.notes[-1].startswith("no derivatives")
