"""Recordings as traces: what becomes of each kind of call, and replays that take as long as they should."""

import json

import pytest
from support.logs import CODES, SELF, Log, write

from commmodel import record
from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.simulate import SMPI, platform, run
from commmodel.simulate.traces import replay

SECOND = 10**9
FLAT = platform.flat(4, bandwidth=125e6, latency=15e-6)


def actions_of(tmp_path, *logs):
    """Return the lines of each rank, without its number and without init and finalize."""
    write(tmp_path / "run", logs)
    actions = record.RecordedActions(record.load(tmp_path / "run"))
    lines = ["".join(actions.text(rank)).splitlines()[1:-1] for rank in range(actions.processes)]
    return actions, [[line.split(" ", 1)[1] for line in of_rank] for of_rank in lines]


def pair():
    return Log(0, 2), Log(1, 2)


def test_messages_and_computation(tmp_path):
    first, second = pair()
    first.call("Init", 0, 10)
    first.call("Send", 1010, 1020, peer=1, tag=5, bytes=80)
    second.call("Init", 0, 10)
    second.call("Recv", 20, 1030, peer=-1, tag=-1, bytes=100, source=0, received_tag=5, received_bytes=80)
    _, lines = actions_of(tmp_path, first, second)
    assert lines == [["compute 1000", "send 1 5 80 6"], ["compute 10", "recv -1 -1 100 6"]]


def test_requests_are_waited_for_as_they_completed(tmp_path):
    first, second = pair()
    first.call("Irecv", 0, 1, peer=-1, tag=3, bytes=64, request=7)
    first.call("Isend", 1, 2, peer=1, tag=4, bytes=8, request=8)
    first.call("Waitany", 2, 3, given=2, completed=[(8, -2, 0, 0)])
    first.call("Test", 3, 4, given=1)
    first.call("Wait", 4, 5, given=1, completed=[(7, 1, 3, 32)])
    _, (lines, _) = actions_of(tmp_path, first, second)
    assert lines == ["irecv -1 3 64 6", "isend 1 4 8 6", "wait 0 1 4", "wait 1 0 3"]


def test_time_between_polls_is_no_computation(tmp_path):
    first, second = pair()
    for number in range(5):
        first.call("Iprobe", 100 * number, 100 * number + 1, peer=1, tag=0)
    first.call("Recv", 500, 501, peer=1, tag=0, bytes=8, source=1, received_bytes=8)
    _, (lines, _) = actions_of(tmp_path, first, second)
    assert lines == ["compute 99", "recv 1 0 8 6"]


def test_matched_probe_is_the_receive(tmp_path):
    first, second = pair()
    table = {"source": 1, "received_tag": 9, "received_bytes": 70}
    first.call("Mprobe", 0, 1, peer=-1, tag=-1, message=1, **table)
    first.call("Mrecv", 1, 2, bytes=70, message=1, **table)
    _, (lines, _) = actions_of(tmp_path, first, second)
    assert lines == ["recv -1 -1 1073741824 6"]


def test_persistent_messages_are_sent_at_each_start(tmp_path):
    first, second = pair()
    first.call("Send_init", 0, 1, peer=1, tag=1, bytes=16, request=3)
    for _ in range(2):
        first.call("Start", 1, 1, requests=[3])
        first.call("Wait", 1, 1, given=1, completed=[(3, -2, 0, 0)])
    _, (lines, _) = actions_of(tmp_path, first, second)
    assert lines == ["isend 1 1 16 6", "wait 0 1 1"] * 2


def test_exchange_and_missing_processes(tmp_path):
    first, second = pair()
    first.call(
        "Sendrecv", 0, 1, peer=1, tag=1, bytes=8, room=8, receive_peer=1, receive_tag=2, source=1, received_tag=2
    )
    first.call("Sendrecv", 1, 2, peer=-2, tag=1, bytes=8, room=8, receive_peer=-2, receive_tag=2, source=-2)
    first.call("Send", 2, 3, peer=-2, tag=1, bytes=8)
    _, (lines, _) = actions_of(tmp_path, first, second)
    assert lines == ["irecv 1 2 8 6", "isend 1 1 8 6", "wait 1 0 2", "wait 0 1 1"]


def test_collectives_of_world_and_of_others(tmp_path):
    logs = [Log(rank, 4) for rank in range(4)]
    for rank, log in enumerate(logs):
        log.call("Comm_split", 0, 1, new_communicator=3)
        log.communicator(3, [(rank % 2, 2, 2)])
        log.call("Allreduce", 1, 2, communicator=3, bytes=24, operation=3)
        log.call("Ibcast", 2, 3, bytes=10, root=1, request=1)
        log.call("Wait", 3, 4, given=1, completed=[(1, -2, 0, 0)])
        log.call("Alltoallv", 4, 5, sent_counts=[1, 2, 3, 4], received_counts=[rank + 1] * 4)
        log.call("Send", 5, 6, communicator=SELF, peer=0, tag=5, bytes=1)
    actions, lines = actions_of(tmp_path, *logs)
    numbers = {lines[rank][1].split()[1] for rank in range(4)}
    assert len(numbers) == 2  # of the even and of the odd ranks
    number = lines[1][1].split()[1]
    assert lines[1] == [
        "allreduce 8 0 6", f"communicator {number} 1 3", f"within {number} allreduce 24 0 6", "bcast 10 1 6",
        "alltoallv 0 1 2 3 4 0 2 2 2 2 6 6", lines[1][-1],
    ]  # fmt: skip
    assert lines[1][-1].startswith("send 1 5000")  # a tag of its own, to itself
    assert not actions.not_carried


def test_calls_without_form_last_as_long_as_they_did(tmp_path):
    first, second = pair()
    first.call("Put", 0, SECOND // 2, target=1, bytes=8, window=1)
    actions, (lines, _) = actions_of(tmp_path, first, second)
    assert lines == ["sleep 0.5"]
    assert actions.not_carried == {"MPI_Put": 1}
    assert actions.notes() == ["carried over as the time that they took, not as messages: 1 MPI_Put"]


def test_counts_are_those_of_the_last_reading(tmp_path):
    first, second = pair()
    first.call("Put", 0, SECOND, target=1, bytes=8, window=1)
    actions, _ = actions_of(tmp_path, first, second)
    "".join(actions.text(0))
    assert actions.not_carried == {"MPI_Put": 1}


def test_cancelled_receive_is_not_waited_for(tmp_path):
    first, second = pair()
    first.call("Irecv", 0, 1, peer=1, tag=3, bytes=64, request=7)
    first.call("Wait", 1, 2, given=1, completed=[(7, -2, 0, 0)])
    _, (lines, _) = actions_of(tmp_path, first, second)
    assert lines == ["irecv 1 3 64 6"]


def test_group_alone_makes_its_communicator(tmp_path):
    logs = [Log(rank, 3) for rank in range(3)]
    for log in logs[:2]:
        log.communicator(3, [(0, 1, 2)])
        log.call("Comm_create_group", 0, 1, new_communicator=3)
    write(tmp_path / "run", logs)
    actions = record.RecordedActions(record.load(tmp_path / "run"))
    assert "within" in "".join(actions.text(0))
    assert not run(actions.program(), SMPI, FLAT).blocked


def replayed(tmp_path, logs):
    """Write a recording and return what is not carried over, and the lines of each rank, after a replay that ends."""
    actions, lines = actions_of(tmp_path, *logs)
    assert not run(actions.program(), SMPI, FLAT).blocked
    return actions.not_carried, lines


def test_neighbours_of_a_ring_of_two_exchange_two_messages(tmp_path):
    logs = pair()
    for rank, log in enumerate(logs):
        log.communicator(3, [(0, 1, 2)], kind=1)
        log.neighbours(3, [1 - rank] * 2, [1 - rank] * 2)
        log.call("Neighbor_alltoallv", 0, 1, communicator=3, sent_counts=[10, 20], received_counts=[20, 10])
    not_carried, (lines, _) = replayed(tmp_path, logs)
    assert lines == ["irecv 1 500000 20 6", "irecv 1 500000 10 6", "isend 1 500000 20 6", "isend 1 500000 10 6",
                     *["wait 1 0 500000"] * 2, *["wait 0 1 500000"] * 2]  # fmt: skip
    assert not not_carried


def test_neighbours_that_do_not_exist_and_requests(tmp_path):
    logs = [Log(rank, 3) for rank in range(3)]
    for rank, log in enumerate(logs):
        around = [rank - 1 if rank else -2, rank + 1 if rank < 2 else -2]
        log.communicator(3, [(0, 1, 3)], kind=1)
        log.neighbours(3, around, around)
        log.call("Ineighbor_allgather", 0, 1, communicator=3, bytes=8, room=8, request=1)
        log.call("Neighbor_alltoall_init", 1, 2, communicator=3, bytes=4, room=4, request=2)
        log.call("Start", 2, 3, requests=[2])
        log.call("Waitall", 3, 4, given=2, completed=[(1, -2, 0, 0), (2, -2, 0, 0)])
    not_carried, (lines, *_) = replayed(tmp_path, logs)
    assert lines == [
        "irecv 1 500000 8 6", "isend 1 500000 8 6", "irecv 1 500000 4 6", "isend 1 500000 4 6",
        *["wait 1 0 500000", "wait 0 1 500000"] * 2,
    ]  # fmt: skip
    assert not not_carried


def test_neighbours_of_a_damaged_log_are_left_out(tmp_path):
    logs = pair()
    for rank, log in enumerate(logs):
        log.communicator(3, [(0, 1, 2)], kind=1)
        log.neighbours(3, [1 - rank] * 3, [1 - rank] * 3)
        log.call("Neighbor_allgather", 0, 1, communicator=3, bytes=8, room=8)
        log.window(1)
        log.call("Win_fence", 1, 2, window=1)
        log.call("Put", 2, 3, window=1, target=7, bytes=8)
        log.call("Win_fence", 3, 4, window=1)
    write(tmp_path / "run", logs)
    actions = record.RecordedActions(record.load(tmp_path / "run"))
    assert not actions.windows.incoming
    with pytest.raises(InputError, match="rank 7 of 2: its log is damaged"):
        [*actions.text(0)]


ROOTED = {"Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce"}


@pytest.mark.parametrize("name", [
    "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv",
    "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block",
])  # fmt: skip
@pytest.mark.parametrize("form", ["", "I"])
def test_collectives_between_two_groups_are_messages(tmp_path, name, form):
    logs, groups = [Log(rank, 4) for rank in range(4)], [[(0, 1, 1)], [(1, 1, 3)]]
    for rank, log in enumerate(logs):
        side = int(rank > 0)
        log.communicator(3, groups[side], groups[1 - side], kind=4)
        table = {"bytes": 100, "room": 100, "operation": 3, "sent_counts": [100] * (3 if side == 0 else 1),
                 "received_counts": [100] * (3 if side == 0 else 1)}  # fmt: skip
        if name == "Reduce_scatter":  # counts of the own group
            table["received_counts"] = [300] if side == 0 else [100] * 3
        if name == "Reduce_scatter_block":
            table["bytes"] = 300 if side == 0 else 100
        if name in ROOTED:
            table["root"] = 1 if side == 0 else -3 if rank == 2 else -2
        if form:
            table["request"] = 5
        fields = CODES[f"MPI_{form}{name.lower() if form else name}"].fields
        values = {field: value for field, value in table.items() if field in fields}
        log.call(f"{form}{name.lower() if form else name}", 0, 1, communicator=3, **values)
        if form:
            log.call("Wait", 1, 2, given=1, completed=[(5, -2, 0, 0)])
    not_carried, lines = replayed(tmp_path, logs)
    assert not not_carried
    assert any("send" in line for line in lines[0] + lines[2])


def test_collectives_say_what_their_data_are(tmp_path):
    logs = pair()
    for log in logs:
        log.call("Allreduce", 0, 1, bytes=24, operation=3)  # as in logs that do not say it
        for element, flags in ((12, 2), (12, 6), (4, 0), (8, 1)):
            log.data(element, flags)
            log.call("Allreduce", 1, 2, bytes=24, operation=3)
        log.call("Alltoall", 2, 3, bytes=24, room=24)
        log.call("Reduce_scatter_block", 3, 4, bytes=24, operation=3)
        log.call("Reduce_scatter", 3, 4, received_counts=[8, 8], operation=3)
        log.call("Gather", 4, 5, bytes=24, room=24, root=0)
    _, (lines, _) = replayed(tmp_path, logs)
    assert lines[:9] == [
        "allreduce 24 0 6", "allreduce 24 0 6 element=12 commutative", "allreduce 24 0 6 element=12 non-commutative",
        "allreduce 24 0 6 element=4", "allreduce 24 0 6 element=8", "alltoall 24 24 6 6 in-place",
        "reducescatter 24 24 0 6 element=8 block", "reducescatter 8 8 0 6 element=8", "gather 24 24 0 6 6",
    ]  # fmt: skip


def test_operations_between_fences_are_messages(tmp_path):
    logs = pair()
    for log in logs:
        log.window(1)
        log.call("Win_create", 0, 1, window=1)
        log.call("Win_fence", 1, 2, window=1)
        if log.rank == 0:
            log.call("Put", 2, 3, target=1, bytes=800, window=1)
            log.call("Get", 3, 4, target=1, bytes=40, window=1)
        log.call("Win_fence", 4, 5, window=1)
        log.call("Win_free", 5, 6, window=1)
    not_carried, (origin, target) = replayed(tmp_path, logs)
    assert origin == [
        "allreduce 8 0 6", "barrier", "isend 1 500000 800 6", "isend 1 500000 0 6", "irecv 1 500001 40 6",
        "wait 0 1 500000", "wait 0 1 500000", "wait 1 0 500001", "barrier", "barrier",
    ]  # fmt: skip
    assert target == [
        "allreduce 8 0 6", "barrier", "compute 2", "irecv 0 500000 800 6", "irecv 0 500000 0 6", "wait 0 1 500000",
        "wait 0 1 500000", "isend 0 500001 40 6", "wait 1 0 500001", "barrier", "barrier",
    ]  # fmt: skip
    assert not not_carried


def test_operations_under_locks_last_as_long_as_they_did(tmp_path):
    logs = pair()
    for log in logs:
        log.window(1)
        log.call("Win_fence", 0, 0, window=1)
    logs[0].call("Win_lock", 0, 0, target=1, window=1)
    logs[0].call("Put", 0, SECOND, target=1, bytes=8, window=1)
    logs[0].call("Win_unlock", SECOND, SECOND, target=1, window=1)
    not_carried, (lines, _) = replayed(tmp_path, logs)
    assert lines == ["barrier", "sleep 0", "sleep 1", "sleep 0"]
    assert not_carried == {"MPI_Put": 1, "MPI_Win_lock": 1, "MPI_Win_unlock": 1}


def test_partitioned_messages_start_with_their_first_partition(tmp_path):
    first, second = pair()
    first.call("Psend_init", 0, 0, peer=1, tag=3, bytes=800, request=1)
    first.call("Send_init", 0, 0, peer=1, tag=3, bytes=16, request=2)
    second.call("Precv_init", 0, 0, peer=0, tag=3, bytes=800, request=1)
    for _ in range(2):
        first.call("Startall", 0, 0, requests=[1, 2])
        first.call("Pready", 0, 0, requests=[1])
        first.call("Pready_range", 0, 0, requests=[1])
        first.call("Waitall", 0, 0, given=2, completed=[(1, -2, 0, 0), (2, -2, 0, 0)])
        second.call("Start", 0, 0, requests=[1])
        second.call("Recv", 0, 0, peer=-1, tag=3, bytes=16, source=0, received_tag=3, received_bytes=16)
        second.call("Wait", 0, 0, given=1, completed=[(1, 0, 3, 800)])
    not_carried, (send, receive) = replayed(tmp_path, (first, second))
    assert send == ["isend 1 3 16 6", "isend 1 500000 800 6", "wait 0 1 500000", "wait 0 1 3"] * 2
    assert receive == ["irecv 0 500000 800 6", "recv -1 3 16 6", "wait 0 1 500000"] * 2
    assert not not_carried


def test_a_request_that_is_not_known_leaves_those_that_are(tmp_path):
    first, second = pair()
    first.call("Send_init", 0, 0, peer=1, tag=1, bytes=16, request=3)
    first.call("Startall", 0, 0, requests=[7, 3])
    first.call("Wait", 0, 0, given=1, completed=[(3, -2, 0, 0)])
    second.call("Recv", 0, 0, peer=0, tag=1, bytes=16, source=0, received_tag=1, received_bytes=16)
    _, (lines, _) = replayed(tmp_path, (first, second))
    assert lines == ["isend 1 1 16 6", "wait 0 1 1"]


def test_a_cancelled_receive_takes_no_message_from_the_next(tmp_path):
    first, second = pair()
    second.call("Irecv", 0, 0, peer=0, tag=1, bytes=8, request=1)
    second.call("Cancel", 0, 0, requests=[1])
    second.call("Wait", 0, 0, given=1, completed=[(1, -2, -1, 0)])
    for number in range(2):
        first.call("Send", 0, 0, peer=1, tag=1, bytes=8)
        if number:
            second.call("Irecv", 0, 0, peer=0, tag=1, bytes=8, request=2)
            second.call("Wait", 0, 0, given=1, completed=[(2, 0, 1, 8)])
        else:
            second.call("Recv", 0, 0, peer=0, tag=1, bytes=8, source=0, received_tag=1, received_bytes=8)
    _, (_, lines) = replayed(tmp_path, (first, second))
    assert lines == ["irecv 0 1 8 6", "wait 0 1 1", "irecv 0 1 8 6", "wait 0 1 1"]


def test_calls_with_processes_of_another_program_last_as_long_as_they_did(tmp_path):
    logs = pair()
    logs[0].communicator(3, [(0, 1, 1)], [(2, 0, 1)], kind=4)
    logs[0].call("Send", 0, SECOND, communicator=3, peer=0, tag=1, bytes=8)
    logs[0].call("Barrier", SECOND, SECOND, communicator=3)
    not_carried, (lines, _) = replayed(tmp_path, logs)
    assert lines == ["sleep 1", "sleep 0"]
    assert not_carried == {"MPI_Send": 1, "MPI_Barrier": 1}


def test_recordings_without_all_logs_are_not_replayed(tmp_path):
    write(tmp_path / "run", [Log(0, 3)])
    recording = record.load(tmp_path / "run")
    with pytest.raises(InputError, match="no log of ranks 1, 2"):
        record.RecordedActions(recording)
    assert record.timeline(recording).processes == 3


def test_command_replays_and_converts(tmp_path, capsys):
    write(tmp_path / "run", ring_of(4))
    folder, traces = str(tmp_path / "run"), str(tmp_path / "traces")
    assert main(["simulate", "graphene", "replay", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["processes"] == 4
    assert main(["convert", folder, "-o", traces]) == 0
    assert main(["convert", folder, "-o", traces]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["convert", folder, "-o", traces, "--force"]) == 0
    capsys.readouterr()
    wrong = [
        ["convert", folder, "-o", str(tmp_path / "x.what")],
        ["simulate", "graphene", "replay", folder, "-p", "5"],
        ["simulate", "graphene", "replay", folder, "--speed", "1Gf"],
        ["simulate", "graphene", "replay", folder, "--faster", "0"],
        ["simulate", "graphene", "replay", f"{traces}/list.txt", "--faster", "2"],
        ["simulate", "graphene", "replay", str(tmp_path)],
    ]
    for words in wrong:
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
    (tmp_path / "run" / "rank-000002.log").unlink()
    assert main(["simulate", "graphene", "replay", folder]) == 2
    assert "no log of ranks 2" in capsys.readouterr().err


def ring_of(processes, steps=3):
    """Return logs of ranks that pass a message around, and reduce."""
    logs = [Log(rank, processes) for rank in range(processes)]
    for rank, log in enumerate(logs):
        log.call("Init", 0, 1)
        before, after = (rank - 1) % processes, (rank + 1) % processes
        for step in range(steps):
            at = 1000 * (step + 1)
            log.call("Isend", at, at + 1, peer=after, tag=step, bytes=5000, request=step + 1)
            log.call("Recv", at + 1, at + 9, peer=before, tag=step, bytes=5000, source=before, received_tag=step,
                     received_bytes=5000)  # fmt: skip
            log.call("Wait", at + 9, at + 10, given=1, completed=[(step + 1, -2, 0, 0)])
        log.call("Allreduce", 9000, 9100, bytes=8, operation=3)
        log.call("Finalize", 9200, 9300)
        log.leave()
    return logs


def test_replay_is_that_of_the_written_traces(tmp_path):
    write(tmp_path / "run", ring_of(4))
    recording = record.load(tmp_path / "run")
    direct = run(record.RecordedActions(recording).program(), SMPI, FLAT)
    record.convert(recording, tmp_path / "traces")
    result = run(replay(tmp_path / "traces" / "list.txt"), SMPI, FLAT)
    assert direct.seconds == result.seconds > 0
    assert not direct.blocked


def test_faster_processors_compute_less(tmp_path):
    logs = [Log(0, 1)]
    logs[0].call("Init", 0, 1)
    logs[0].call("Barrier", SECOND, SECOND)
    write(tmp_path / "run", logs)
    actions = record.RecordedActions(record.load(tmp_path / "run"))
    whole, half = (run(actions.program(faster=factor), SMPI, FLAT).seconds for factor in (1.0, 2.0))
    assert half == pytest.approx(whole / 2)


@pytest.mark.parametrize("name", ["x.goal", "x.json", "x.json.gz", "x.paje", "x.csv", "traces"])
def test_conversions(tmp_path, name):
    write(tmp_path / "run", ring_of(3))
    assert not record.convert(record.load(tmp_path / "run"), tmp_path / name)
    assert (tmp_path / name).exists()


def test_timeline(tmp_path):
    write(tmp_path / "run", ring_of(3))
    timeline = record.timeline(record.load(tmp_path / "run"))
    assert timeline.processes == 3
    assert timeline.seconds == pytest.approx(9300e-9)
    rows = timeline.intervals[timeline.intervals["rank"] == 1]
    assert (rows["start"][1:] >= rows["end"][:-1] - 1e-15).all()


def test_efficiency(tmp_path):
    write(tmp_path / "run", ring_of(3))
    efficiency = record.efficiency(record.load(tmp_path / "run"))
    assert efficiency.parallel == pytest.approx(efficiency.load_balance * efficiency.communication)
    assert efficiency.communication == pytest.approx(efficiency.serialisation * efficiency.transfer)
    assert efficiency.load_balance == 1
