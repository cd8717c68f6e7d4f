"""Collectives of communicators in traces: carried out by their ranks alone, and never mixed up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.collectives import Problem
from commmodel.errors import DamagedFileError
from commmodel.simulate import SMPI, platform, run
from commmodel.simulate.traces import replay
from commmodel.simulate.work import collective
from commmodel.simulate.work.communicators import Communicators, parse_ranks, ranks_text

COLLECTIVES = {
    "barrier": "barrier",
    "bcast": "bcast 4096 1 6",
    "reduce": "reduce 4096 0 1 6",
    "allreduce": "allreduce 4096 0 6",
    "alltoall": "alltoall 4096 4096 6 6",
    "allgather": "allgather 4096 4096 6 6",
}


def trace(folder, texts, merged=False):
    """Write what ranks do, lines given without their rank, as a list of traces or as one."""
    lines = [
        "".join(f"{rank} {line.strip()}\n" for line in ["init", *text.split(";")] if line)
        for rank, text in enumerate(texts)
    ]
    if merged:
        (folder / "merged").write_text("".join(lines))
        return folder / "merged"
    for rank, line in enumerate(lines):
        (folder / f"rank{rank}").write_text(line)
    (folder / "list").write_text("".join(f"rank{rank}\n" for rank in range(len(texts))))
    return folder / "list"


def flat(processes):
    return platform.flat(processes, bandwidth=125e6, latency=15e-6)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective_of_a_communicator_is_that_of_its_ranks_alone(tmp_path, name, merged):
    ranks = [5, 1, 2, 7]
    texts = [f"communicator 3 5 1 2 7; within 3 {COLLECTIVES[name]}" if rank in ranks else "" for rank in range(8)]
    size = 0 if name == "barrier" else 4096
    root = 1 if name in ("bcast", "reduce") else 0
    alone = run(collective(name, Problem(4, size, root)), SMPI, flat(4)).seconds
    assert run(replay(trace(tmp_path, texts, merged)), SMPI, flat(8)).seconds == alone > 0


@pytest.mark.parametrize("merged", [False, True])
def test_rows_and_columns_do_not_mix(tmp_path, merged):
    texts = []
    for rank in range(16):
        row, column = divmod(rank, 4)
        texts.append(
            f"communicator {1 + row} {4 * row}-{4 * row + 3}; communicator {5 + column} {column}-{12 + column}:4;"
            f"compute {1e6 * rank}; within {1 + row} allreduce 100 0 6; within {5 + column} bcast 100 2 6;"
            "allreduce 8 0"
        )
    outcome = run(replay(trace(tmp_path, texts, merged)), SMPI, flat(16))
    assert outcome.seconds > 15e-3
    again = run(replay(trace(tmp_path, texts, merged)), SMPI, flat(16))
    assert outcome.seconds == again.seconds


def test_large_collective_of_a_communicator_is_made_in_blocks(tmp_path):
    members = " ".join(str(rank) for rank in range(0, 256, 2))
    text = f"communicator 1 {members}; within 1 alltoall 100 100 6 6"
    texts = [text if rank % 2 == 0 else "" for rank in range(256)]
    alone = run(collective("alltoall", Problem(128, 100)), SMPI, flat(128)).seconds
    assert run(replay(trace(tmp_path, texts)), SMPI, flat(256)).seconds == alone


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("within 4 barrier", "communicator 4 has not been defined"),
        ("within x barrier", "communicator 'x'"),
        ("within 1", "has 1 arguments"),
        ("communicator 1 1; within 1 barrier", "rank 0 is not in communicator 1"),
        ("communicator 1", "a communicator without ranks"),
        ("communicator 1 0 0", "a rank stands twice"),
        ("communicator 1 0-9", "expected rising ranks from 0 to 1"),
        ("communicator 1 0..1", "expected FIRST, FIRST-LAST or FIRST-LAST:STEP"),
        ("communicator 1 0-1; communicator 1 0", "has other ranks than before"),
        ("communicator 1 0-1; within 1 send 1 0 8", "'send' is no collective"),
        ("communicator 1 0-1; within 1 within 1 barrier", "'within' is no collective"),
    ],
)
def test_damage_is_named(tmp_path, line, problem):
    with pytest.raises(DamagedFileError, match="line ") as error:
        run(replay(trace(tmp_path, [line, ""])), SMPI, flat(2))
    assert problem in str(error.value)


def test_communicator_that_a_member_does_not_enter_is_a_deadlock(tmp_path):
    texts = ["communicator 1 0-1; within 1 barrier", ""]
    outcome = run(replay(trace(tmp_path, texts)), SMPI, flat(2), deadlock="return")
    assert [waiting.rank for waiting in outcome.blocked] == [0]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40, unique=True))
def test_ranks_are_read_as_written(ranks):
    assert parse_ranks(ranks_text(ranks), 61).tolist() == ranks


def test_rank_in_a_communicator():
    communicators = Communicators(8)
    communicators.define(9, parse_ranks("7 0-4:2", 8), rank=0)
    assert communicators[9].rank(4) == 3
    assert np.array_equal(communicators[9].members, [7, 0, 2, 4])
