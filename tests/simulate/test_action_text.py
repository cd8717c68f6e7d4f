"""Actions of ranks as text and as records: a replay makes the same operations of both."""

import numpy as np
import pytest

from commmodel.collectives import CollectiveSettings
from commmodel.collectives.call import MOVED, CollectiveCall
from commmodel.errors import DamagedFileError
from commmodel.simulate.traces import replay, replay_texts
from commmodel.simulate.traces.action_text import MemberCall, as_piece, as_text
from commmodel.simulate.work.communicators import Definition

MEMBERS = (3, 0, 2)


def actions_of(rank):
    """Return every collective of all ranks and of a communicator, between messages that are waited for by name."""
    counts = (8, 0, 3000, 17)
    fields = {"sent": 800, "received": 700, "root": 1, "element": 4, "operator": "commutative", "in_place": True}
    actions = ["init", f"irecv {(rank - 1) % 4} 5 80 6", f"isend {(rank + 1) % 4} 5 80 6"]
    for operation in MOVED:
        call = CollectiveCall.of(operation, **fields, sent_counts=counts, received_counts=counts)
        actions.append(MemberCall(call, 4))
    actions.append(f"wait {(rank - 1) % 4} {rank} 5")
    if rank in MEMBERS:
        actions.append(Definition(7, MEMBERS))
        for operation in MOVED:
            call = CollectiveCall.of(operation, **fields, communicator=7)
            actions += [MemberCall(call, 3)] * 2
    return [*actions, f"wait {rank} {(rank + 1) % 4} 5", "finalize"]


@pytest.mark.parametrize("selector", ["mpich", "smpi", "smpi-mvapich2"])
def test_records_become_the_operations_of_their_text(selector):
    settings = CollectiveSettings(selector)
    names = ["text"] * 4
    texts = replay_texts(lambda rank: iter([as_text(rank, actions_of(rank)).encode()]), names, settings=settings)
    records = replay_texts(lambda rank: iter([as_piece(rank, actions_of(rank))]), names, settings=settings)
    for rank in range(4):
        expected, operations = texts.refill(rank), records.refill(rank)
        assert operations.size == expected.size > 50
        assert np.array_equal(operations, expected)


def test_a_file_has_no_records(tmp_path):
    (tmp_path / "0").write_text("0 collective 0 0\n")
    (tmp_path / "list").write_text("0\n")
    with pytest.raises(DamagedFileError, match="unknown action 'collective'"):
        replay(tmp_path / "list").refill(0)


@pytest.mark.parametrize("line", ["collective 1 0", "collective -1 0", "collective 0 -2", "collective 0"])
def test_a_record_that_is_not_there_is_refused(line):
    piece = (f"0 {line}\n".encode(), [CollectiveCall("barrier")])
    with pytest.raises(DamagedFileError, match="line 1"):
        replay_texts(lambda _: iter([piece]), ["piece"]).refill(0)
