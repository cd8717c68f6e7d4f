"""Programs on more ranks than they were recorded on."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel.collectives.call import CollectiveCall
from commmodel.errors import InputError
from commmodel.simulate import run
from commmodel.simulate.delays import DelayModel, DelayParameters
from commmodel.simulate.extrapolation import ExtrapolatedActions, StructureModel
from commmodel.simulate.extrapolation.grids import ProcessGrid, balanced
from commmodel.simulate.extrapolation.growths import size_laws, time_factor
from commmodel.simulate.extrapolation.skeletons import Skeleton, loops_of
from commmodel.simulate.traces.action_text import MemberCall
from commmodel.simulate.work.communicators import Definition

LOGGP = DelayModel(DelayParameters(L=2e-6, o=1e-6, g=0.0, G=1e-9), "loggp")


class Written:
    """A program as a function from rank and P to (site, actions)."""

    def __init__(self, make, processes):
        self.processes, self.title, self._make = processes, f"{make.__name__} on {processes}", make

    def steps(self, rank):
        yield from self._make(rank, self.processes)

    def context(self, tag):
        return None, tag


def model(make, *sizes):
    return StructureModel([Written(make, size) for size in sizes])


def texts(actions, rank):
    """Return what a rank does, without numbers of communicators."""
    lines = []
    members = {0: None}
    for text, records in actions.pieces(rank):
        for line in text.decode().splitlines():
            words = line.split()[1:]
            if words[0] != "collective":
                lines.append(" ".join(words))
            elif isinstance(records[int(words[1])], Definition):
                definition = records[int(words[1])]
                members[definition.number] = tuple(definition.members)
            else:
                call = records[int(words[1])]
                lines.append((call._replace(communicator=0), members[call.communicator]))
    return [line for line in lines if line not in ("init", "finalize")]


def text_of(make, rank, processes):
    lines = []
    members = {0: None}
    for _, actions in make(rank, processes):
        for action in actions:
            if isinstance(action, Definition):
                members[action.number] = tuple(action.members)
            elif isinstance(action, MemberCall):
                lines.append((action.call._replace(communicator=0), members[action.call.communicator]))
            else:
                lines.append(action)
    return lines


def assert_same(make, sizes, processes, **how):
    extrapolated = ExtrapolatedActions(model(make, *sizes), processes, **how)
    for rank in range(processes):
        assert texts(extrapolated, rank) == text_of(make, rank, processes), f"rank {rank}"
    return extrapolated


def ring(rank, processes):
    after, before = (rank + 1) % processes, (rank - 1) % processes
    for _ in range(10):
        yield "a.c:1", [f"irecv {before} 0 800 6", f"isend {after} 0 800 6"]
        yield "a.c:2", [f"wait {before} {rank} 0", f"wait {rank} {after} 0"]
        yield "a.c:3", ["compute 1000", MemberCall(CollectiveCall("allreduce", 8), processes)]


def halo(rank, processes, dimensions=2, steps=7, is_periodic=False, size=1 << 20):
    grid = ProcessGrid(balanced(processes, dimensions))
    spot = grid.coordinates(rank)
    for _ in range(steps):
        waits = []
        for place, side in enumerate(grid.sides):
            for way in (-1, 1):
                neighbour = list(spot)
                neighbour[place] += way
                if is_periodic or 0 <= neighbour[place] < side:
                    peer = grid.rank(neighbour)
                    face = size * side // processes
                    yield (
                        f"h.py:{place}",
                        [
                            f"irecv {peer} {2 * place + (way < 0)} {face} 6",
                            f"isend {peer} {2 * place + (way > 0)} {face} 6",
                        ],
                    )
                    waits += [
                        f"wait {peer} {rank} {2 * place + (way < 0)}",
                        f"wait {rank} {peer} {2 * place + (way > 0)}",
                    ]
        yield "h.py:9", waits


def periodic_halo(rank, processes):
    return halo(rank, processes, is_periodic=True)


def cube(rank, processes):
    return halo(rank, processes, dimensions=3)


def butterfly(rank, processes):
    for _ in range(3):
        for level in range(processes.bit_length() - 1):
            peer = rank ^ (1 << level)
            yield "b.py:3", [f"irecv {peer} {level} 64 6", f"isend {peer} {level} 64 6"]
            yield "b.py:4", [f"wait {peer} {rank} {level}", f"wait {rank} {peer} {level}"]


def workers(rank, processes):
    for _ in range(6):
        if rank:
            yield "w.py:5", ["recv 0 1 100 6"]
            yield "w.py:6", ["send 0 2 200 6"]
        else:
            for worker in range(1, processes):
                yield "w.py:8", [f"send {worker} 1 100 6"]
            for worker in range(1, processes):
                yield "w.py:9", [f"recv {worker} 2 200 6"]


def shifted(rank, processes):
    """Everybody with everybody, in P - 1 rounds."""
    for distance in range(1, processes):
        to, source = (rank + distance) % processes, (rank - distance) % processes
        yield "s.py:2", [f"irecv {source} 0 {4096 // processes} 6", f"isend {to} 0 {4096 // processes} 6"]
        yield "s.py:3", [f"wait {source} {rank} 0", f"wait {rank} {to} 0"]


def rows_and_columns(rank, processes):
    grid = ProcessGrid(balanced(processes, 2))
    for spanned in ((1,), (0,)):
        members = grid.members(rank, spanned)
        yield "m.py:1", [Definition(1 + 1000 * spanned[0] + members[0], members)]
        call = CollectiveCall("bcast", 512, root=0, communicator=1 + 1000 * spanned[0] + members[0])
        for _ in range(7):
            yield f"m.py:{2 + spanned[0]}", [MemberCall(call, len(members))]


def tree(rank, processes):
    """A reduction up a binomial tree."""
    level = 0
    while 1 << level < processes:
        if rank & (1 << level):
            yield "t.py:4", [f"send {rank - (1 << level)} 0 8 6"]
            return
        if rank + (1 << level) < processes:
            yield "t.py:6", [f"recv {rank + (1 << level)} 0 8 6"]
        level += 1


@pytest.mark.parametrize(
    ("make", "sizes", "processes"),
    [
        (ring, (4, 8), 32),
        (halo, (16, 32, 64), 128),
        (periodic_halo, (16, 32, 64), 128),
        (cube, (8, 16, 64), 128),
        (butterfly, (8, 16), 64),
        (workers, (4, 8), 32),
        (shifted, (4, 8), 16),
        (rows_and_columns, (16, 32), 64),
        (tree, (8, 16, 32), 64),
    ],
)
def test_programs_on_more_ranks_are_what_they_would_be(make, sizes, processes):
    assert_same(make, sizes, processes)


@pytest.mark.parametrize("make", [ring, halo, periodic_halo, butterfly, workers, shifted, rows_and_columns, tree])
def test_a_program_on_as_many_ranks_is_itself(make):
    assert_same(make, (16,), 16)


def test_one_recording_needs_to_be_told_how_the_work_grows():
    with pytest.raises(InputError, match="say strong or weak"):
        ExtrapolatedActions(model(ring, 8), 16)
    weak = assert_same(ring, (8,), 16, scaling="weak")
    assert run(weak.program(), LOGGP).seconds > 0
    strong = ExtrapolatedActions(model(ring, 8), 16, scaling="strong")
    assert "compute 500" in texts(strong, 0)


def test_what_may_grow_in_two_manners_is_refused():
    def steps_as_ranks(rank, processes):
        for _ in range(8):
            yield from ring(rank, processes)

    def sixteen(rank, processes):
        for _ in range(16):
            yield "a.c:7", [f"isend {(rank + 1) % processes} 0 8 6", f"irecv {(rank - 1) % processes} 0 8 6"]
            yield "a.c:8", [f"wait {rank} {(rank + 1) % processes} 0", f"wait {(rank - 1) % processes} {rank} 0"]

    with pytest.raises(InputError, match=r"a.c:7: how often it is repeated may be 16 or P, which differ on 64 ranks"):
        ExtrapolatedActions(model(sixteen, 16), 64, scaling="weak")
    assert_same(sixteen, (8, 16), 32)
    assert_same(steps_as_ranks, (16,), 32, scaling="weak")


def test_what_depends_on_data_is_refused_with_its_site_and_rank():
    def irregular(rank, processes):
        to = (rank * rank + 3) % processes
        yield "x.py:5", [f"send {to} 0 8 6"]

    def odd_sizes(rank, processes):
        yield (
            "x.py:6",
            [f"isend {(rank + 1) % processes} 0 {8 + rank * rank} 6", f"recv {(rank - 1) % processes} 0 1000 6"],
        )

    def any_source(rank, processes):
        if rank == 3:
            yield "x.py:7", ["recv -1 0 8 6"]

    with pytest.raises(InputError, match=r"x.py:5: rank \d+ of 16: no function of the rank and P gives its partners"):
        model(irregular, 16)
    with pytest.raises(InputError, match=r"x.py:6: rank 0 of 16: no function of P gives its bytes"):
        model(odd_sizes, 16)
    with pytest.raises(InputError, match=r"x.py:7: rank 3 receives from any source"):
        model(any_source, 16)
    with pytest.raises(InputError, match="2 ranks show no structure"):
        model(ring, 2)
    with pytest.raises(InputError, match="one for each number"):
        model(ring, 8, 8)


def test_a_communicator_that_is_no_part_of_a_grid_is_refused():
    def odd(rank, processes):
        members = (0, 1, 5) if rank in (0, 1, 5) else tuple(sorted({*range(processes)} - {0, 1, 5}))
        yield "c.py:1", [Definition(7 + members[0], members)]
        yield "c.py:2", [MemberCall(CollectiveCall("barrier", communicator=7 + members[0]), len(members))]

    with pytest.raises(InputError, match=r"c.py:2: rank \d+ is in a communicator of \d+ of 16 ranks"):
        model(odd, 16)


def test_bytes_that_are_no_whole_number_are_refused():
    def thirds(rank, processes):
        yield "a.c:1", [f"isend {(rank + 1) % processes} 0 {96 // processes} 6"]
        yield (
            "a.c:2",
            [f"recv {(rank - 1) % processes} 0 {96 // processes} 6", f"wait {rank} {(rank + 1) % processes} 0"],
        )

    actions = ExtrapolatedActions(model(thirds, 4, 8), 64)
    with pytest.raises(InputError, match=r"a.c:1: 1.5 bytes on 64 ranks"):
        texts(actions, 0)


def test_a_grid_may_be_said():
    actions = ExtrapolatedActions(model(periodic_halo, 16), 64, scaling="weak", grid=(16, 4))
    assert actions.grids[0].sides == (16, 4)
    assert "16 x 4 as they were one of 4 x 4" in actions.notes[0]
    with pytest.raises(InputError, match="it must have 64 ranks"):
        ExtrapolatedActions(model(periodic_halo, 16), 64, scaling="weak", grid=(16, 3))


def test_computation_is_that_of_ranks_in_the_same_place():
    def uneven(rank, processes):
        for _ in range(5):
            yield "a.c:1", [f"compute {1e6 * (1 + (rank == 0)) / processes}", f"isend {(rank + 1) % processes} 0 8 6"]
            yield "a.c:2", [f"recv {(rank - 1) % processes} 0 8 6", f"wait {rank} {(rank + 1) % processes} 0"]

    result = run(ExtrapolatedActions(model(uneven, 8, 16), 32).program(), LOGGP)
    assert result.spent[:, 0].min() == pytest.approx(5 * 1e-3 / 32)
    assert time_factor([(8, 1.0), (16, 0.52)], 64) == 0.25


def test_loops_are_found_and_a_skeleton_parses_all():
    nodes = loops_of([9, *[1, 2, 2, 2] * 3, 8])
    assert [type(node).__name__ for node in nodes] == ["StepNode", "LoopNode", "StepNode"]
    skeleton = Skeleton([[1, 2, 2, 2, 3], [1, 2, 3], [1, 3], [2, 2]])
    for keys, count in (([1, 2, 2, 2, 3], 3), ([1, 2, 3], 1), ([1, 3], 0), ([2, 2], 2)):
        parse = skeleton.parse(keys)
        loop = next(position for position in skeleton.positions if position.body)
        assert parse.counts[loop.number] == [count]


def test_laws_of_bytes():
    assert [law.words for law in size_laws([((4,), 64), ((8,), 16)])] == ["1024 / P^2"]
    assert size_laws([((4,), 64), ((8,), 17)]) == []
    affine = size_laws([((4,), 10 + 4), ((8,), 10 + 8), ((16,), 10 + 16)])
    assert [law.value((64,)) for law in affine] == [74.0]


@st.composite
def regular_programs(draw):
    """Draw a program of phases, each repeated, that are regular by construction."""
    phases = draw(st.lists(
        st.tuples(
            st.sampled_from(["shift", "xor", "reduce", "root", "border"]), st.integers(1, 3), st.integers(0, 5000),
            st.integers(1, 3),
        ),
        min_size=1, max_size=4,
    ))  # fmt: skip

    def program(rank, processes):
        for number, (kind, by, size, times) in enumerate(phases):
            for _ in range(times):
                site = f"p.py:{number}"
                if kind == "shift":
                    to, source = (rank + by) % processes, (rank - by) % processes
                    yield site, [f"isend {to} {number} {size} 6", f"recv {source} {number} {size} 6",
                                 f"wait {rank} {to} {number}"]  # fmt: skip
                elif kind == "xor":
                    peer = rank ^ by
                    yield site, [f"isend {peer} {number} {size} 6", f"recv {peer} {number} {size} 6",
                                 f"wait {rank} {peer} {number}"]  # fmt: skip
                elif kind == "reduce":
                    yield site, [MemberCall(CollectiveCall("allreduce", size), processes)]
                elif kind == "root" and rank:
                    yield site, [f"send 0 {number} {size} 6"]
                elif kind == "root":
                    for peer in range(1, processes):
                        yield f"{site}, root", [f"recv {peer} {number} {size} 6"]
                elif rank + 1 < processes:
                    yield site, [f"send {rank + 1} {number} {size} 6"]
                if kind == "border" and rank:
                    yield f"{site}, other", [f"recv {rank - 1} {number} {size} 6"]

    return program


@settings(max_examples=30, deadline=None)
@given(regular_programs(), st.sampled_from([8, 12, 16]))
def test_any_regular_program_on_as_many_ranks_is_itself(program, processes):
    assert_same(program, (processes,), processes)


def test_messages_meet_their_receives():
    extrapolated = ExtrapolatedActions(model(halo, 16, 32, 64), 256)
    sent, received = Counter(), Counter()
    for rank in range(256):
        for line in texts(extrapolated, rank):
            verb, peer, tag, size, *_ = [*line.split(), "", "", ""]
            if verb == "isend":
                sent[rank, int(peer), tag, size] += 1
            elif verb == "irecv":
                received[int(peer), rank, tag, size] += 1
    assert sent == received
    assert sum(np.fromiter(sent.values(), int)) == 7 * 2 * 2 * 16 * 15


def test_call_sites_are_marked_for_the_critical_path():
    actions = ExtrapolatedActions(model(ring, 8, 16), 64)
    result = run(actions.program(located=True), LOGGP)
    assert result.seconds == run(actions.program(), LOGGP).seconds
    assert {*result.marks["number"].tolist()} == {*range(len(actions.sites()))}
    assert {*actions.sites()} == {"a.c:1", "a.c:2", "a.c:3", "the end"}
