"""Where time goes in recordings of small programs whose answer is known."""

import pytest
from support.logs import end, new_logs, write
from support.paths import ROOT

from commmodel import record

SECOND = 10**9


def profiled(folder, logs, ticks=None):
    end(logs, ticks)
    return record.profile(record.load(write(folder / "recording", logs)))


def site(profile, call):
    (entry,) = (item for item in profile.sites if item.call == f"MPI_{call}")
    return entry


def test_a_receive_waits_for_a_late_sender(tmp_path):
    logs = new_logs(2)
    logs[0].call("Send", 3 * SECOND, 4 * SECOND, line=7, bytes=100, peer=1, tag=5)
    logs[1].call("Recv", SECOND, 5 * SECOND, line=9, bytes=200, peer=0, tag=5, source=0, received_tag=5,
                 received_bytes=100)  # fmt: skip
    profile = profiled(tmp_path, logs, 10 * SECOND)
    assert (profile.seconds, profile.processes, profile.messages, profile.bytes) == (10.0, 2, 1, 100)
    assert profile.calls["MPI_Recv"].waiting == 2.0
    assert profile.calls["MPI_Recv"].bytes == 100
    assert profile.calls["MPI_Send"].waiting == 0.0
    assert site(profile, "Recv").waits_for == 0
    assert site(profile, "Recv").waits_for_share == 1
    assert site(profile, "Recv").reasons == {"late sender": 2.0}
    assert (site(profile, "Recv").line, site(profile, "Recv").place) == (9, "solver.py:9")
    assert [rank.computing for rank in profile.ranks] == [9.0, 6.0]
    assert [rank.waiting for rank in profile.ranks] == [0.0, 2.0]
    assert [rank.transferring for rank in profile.ranks] == [1.0, 2.0]
    assert profile.ranks[0].caused == 2.0
    assert profile.communication == 0.25
    assert profile.load_balance == 7.5 / 9
    assert profile.faults == ()


def test_a_send_waits_for_a_late_receiver_unless_it_was_buffered(tmp_path):
    logs = new_logs(2)
    logs[0].call("Send", SECOND, 6 * SECOND, peer=1, bytes=1)  # until after the receive began
    logs[0].call("Send", 7 * SECOND, 8 * SECOND, peer=1, bytes=1)  # over before the receive began
    for begin, stop in ((4, 6), (9, 10)):
        logs[1].call("Recv", begin * SECOND, stop * SECOND, peer=0, source=0, received_bytes=1)
    profile = profiled(tmp_path, logs)
    assert profile.calls["MPI_Send"].waiting == 3.0
    assert profile.calls["MPI_Recv"].waiting == 0.0
    assert site(profile, "Send").waits_for == 1
    assert site(profile, "Send").reasons == {"late receiver": 3.0}


def test_a_wait_for_many_receives_waits_for_the_last_sender(tmp_path):
    logs = new_logs(3)
    for request, source in ((1, 1), (2, 2)):
        logs[0].call("Irecv", request * SECOND // 10, request * SECOND // 10, peer=source, request=request, bytes=50)
    logs[0].call("Waitall", SECOND, 6 * SECOND, given=2, completed=[(1, 1, 0, 10), (2, 2, 0, 20)])
    logs[1].call("Isend", 2 * SECOND, 2 * SECOND, peer=0, bytes=10, request=1)
    logs[1].call("Wait", 3 * SECOND, 4 * SECOND, given=1, completed=[(1, -2, 0, 0)])
    logs[2].call("Send", 5 * SECOND, 6 * SECOND, peer=0, bytes=20)
    profile = profiled(tmp_path, logs)
    assert profile.calls["MPI_Waitall"].waiting == 4.0
    assert site(profile, "Waitall").waits_for == 2
    assert profile.calls["MPI_Irecv"].bytes == 30
    assert profile.calls["MPI_Wait"].waiting == 0.0
    assert profile.matrix.dense().tolist() == [[0, 0, 0], [10, 0, 0], [20, 0, 0]]


def test_a_wait_for_a_send_waits_for_the_receiver(tmp_path):
    logs = new_logs(2)
    logs[0].call("Isend", 0, 0, peer=1, bytes=10, request=4)
    logs[0].call("Wait", SECOND, 5 * SECOND, given=1, completed=[(4, -2, 0, 0)])
    logs[1].call("Recv", 3 * SECOND, 5 * SECOND, peer=0, source=0, received_bytes=10)
    profile = profiled(tmp_path, logs)
    assert profile.calls["MPI_Wait"].waiting == 2.0


def test_receives_match_in_the_order_in_which_they_were_posted(tmp_path):
    logs = new_logs(2)
    for number, begin in enumerate((2, 4)):
        logs[0].call("Send", begin * SECOND, begin * SECOND + 1, peer=1, tag=3, bytes=number + 1)
    for request in (1, 2):
        logs[1].call("Irecv", request, request, peer=0, tag=3, request=request)
    logs[1].call("Wait", SECOND, 5 * SECOND, line=20, given=1, completed=[(2, 0, 3, 2)])  # the second, first
    logs[1].call("Wait", 5 * SECOND, 6 * SECOND, line=21, given=1, completed=[(1, 0, 3, 1)])
    profile = profiled(tmp_path, logs)
    waits = {entry.line: entry.waiting for entry in profile.sites if entry.call == "MPI_Wait"}
    assert waits == {20: 3.0, 21: 0.0}


def test_wildcards_and_probes_know_whom_they_have_waited_for(tmp_path):
    logs = new_logs(3)
    logs[0].call("Probe", 0, 2 * SECOND, line=1, peer=-1, tag=-1, source=2, received_tag=8, received_bytes=4)
    logs[0].call("Recv", 2 * SECOND, 3 * SECOND, line=2, peer=2, tag=8, source=2, received_tag=8, received_bytes=4)
    logs[0].call("Recv", 3 * SECOND, 6 * SECOND, line=3, peer=-1, tag=-1, source=1, received_tag=9, received_bytes=2)
    logs[0].call("Mprobe", 6 * SECOND, 9 * SECOND, line=4, peer=-1, tag=-1, source=1, received_tag=9, received_bytes=6,
                 message=1)  # fmt: skip
    logs[0].call("Mrecv", 9 * SECOND, 10 * SECOND, line=5, source=1, received_tag=9, received_bytes=6, message=1)
    logs[2].call("Send", SECOND, SECOND + 1, peer=0, tag=8, bytes=4)
    logs[1].call("Send", 5 * SECOND, 5 * SECOND + 1, peer=0, tag=9, bytes=2)
    logs[1].call("Send", 8 * SECOND, 8 * SECOND + 1, peer=0, tag=9, bytes=6)
    profile = profiled(tmp_path, logs)
    waits = {entry.line: (entry.waiting, entry.waits_for) for entry in profile.sites if "Send" not in entry.call}
    assert waits == {1: (1.0, 2), 2: (0.0, None), 3: (2.0, 1), 4: (2.0, 1), 5: (0.0, None)}
    assert profile.calls["MPI_Mrecv"].bytes == 6
    assert profile.faults == ()


def test_persistent_requests_send_at_each_start(tmp_path):
    logs = new_logs(2)
    logs[0].call("Send_init", 0, 0, peer=1, bytes=30, request=1)
    logs[1].call("Recv_init", 0, 0, peer=0, bytes=30, request=1)
    for turn in range(3):
        logs[0].call("Startall", (10 * turn + 5) * SECOND, (10 * turn + 5) * SECOND, requests=[1])
        logs[0].call("Wait", (10 * turn + 6) * SECOND, (10 * turn + 6) * SECOND, given=1, completed=[(1, -2, 0, 0)])
        logs[1].call("Start", 10 * turn * SECOND, 10 * turn * SECOND, requests=[1])
        logs[1].call("Wait", (10 * turn + 1) * SECOND, (10 * turn + 6) * SECOND, given=1, completed=[(1, 0, 0, 30)])
    profile = profiled(tmp_path, logs)
    assert (profile.messages, profile.bytes) == (3, 90)
    assert profile.calls["MPI_Send_init"].bytes == profile.calls["MPI_Recv_init"].bytes == 90
    assert profile.calls["MPI_Wait"].waiting == 12.0


def test_a_cancelled_receive_takes_no_message(tmp_path):
    logs = new_logs(2)
    for request in (1, 2):
        logs[1].call("Irecv", request, request, peer=0, request=request)
    logs[1].call("Cancel", 3, 3, requests=[1])
    logs[1].call("Wait", 4, 4, given=1, completed=[(1, -2, 0, 0)])
    logs[1].call("Wait", SECOND, 3 * SECOND, line=9, given=1, completed=[(2, 0, 0, 5)])
    logs[0].call("Send", 2 * SECOND, 2 * SECOND + 1, peer=1, bytes=5)
    profile = profiled(tmp_path, logs)
    assert next(entry.waiting for entry in profile.sites if entry.line == 9) == 1.0
    assert profile.faults == ()


@pytest.mark.parametrize(
    ("call", "fields", "waits"),
    [
        ("Barrier", {}, [3, 2, 0]),
        ("Allreduce", {"bytes": 8}, [3, 2, 0]),
        ("Bcast", {"bytes": 8, "root": 1}, [1, 0, 0]),
        ("Reduce", {"bytes": 8, "root": 1}, [0, 2, 0]),
        ("Scan", {"bytes": 8}, [0, 0, 0]),
    ],
)
def test_collectives_wait_as_their_data_flow(tmp_path, call, fields, waits):
    logs = new_logs(3)
    for log, begin in zip(logs, (1, 2, 4), strict=True):
        log.call(call, begin * SECOND, 5 * SECOND, **fields)
    profile = profiled(tmp_path, logs)
    assert [rank.waiting for rank in profile.ranks] == waits
    assert profile.calls[f"MPI_{call}"].bytes == 3 * fields.get("bytes", 0)


def test_a_scan_waits_for_lower_ranks(tmp_path):
    logs = new_logs(3)
    for log, begin in zip(logs, (3, 1, 2), strict=True):
        log.call("Scan", begin * SECOND, 5 * SECOND, bytes=8)
    assert [rank.waiting for rank in profiled(tmp_path, logs).ranks] == [0, 2, 1]


def test_a_collective_that_does_not_block_waits_where_it_is_completed(tmp_path):
    logs = new_logs(2)
    for log, begin in zip(logs, (0, 4), strict=True):
        log.call("Iallreduce", begin * SECOND, begin * SECOND, bytes=8, request=1)
        log.call("Wait", (begin + 1) * SECOND, 6 * SECOND, given=1, completed=[(1, -2, 0, 0)])
    profile = profiled(tmp_path, logs)
    assert [rank.waiting for rank in profile.ranks] == [3, 0]


def test_sub_communicators_are_made_one_over_ranks_whatever_their_numbers(tmp_path):
    logs = new_logs(4)
    for log in logs:
        half = log.rank // 2
        if log.rank == 3:
            log.communicator(3, [(3, 0, 1)], name="other")
        number = 4 if log.rank == 3 else 3
        log.communicator(number, [(2 * half, 1, 2)], name=f"half {half}")
        begin = (1 + 2 * (log.rank % 2)) * SECOND
        log.call("Barrier", begin, 4 * SECOND, communicator=number)
        log.call("Sendrecv", 5 * SECOND, 6 * SECOND, bytes=1, peer=1 - log.rank % 2, communicator=number,
                 receive_peer=1 - log.rank % 2, source=1 - log.rank % 2, received_bytes=1)  # fmt: skip
    profile = profiled(tmp_path, logs)
    assert [rank.waiting for rank in profile.ranks] == [2, 0, 2, 0]
    assert profile.matrix.dense("messages").tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert {row.name: (row.processes, row.count) for row in profile.communicators} == {
        "half 0": (2, 4), "half 1": (2, 4)
    }  # fmt: skip


def test_an_intercommunicator_sends_to_its_remote_group(tmp_path):
    logs = new_logs(3)
    for log in logs:
        groups = ([(0, 1, 2)], [(2, 0, 1)])
        log.communicator(3, groups[log.rank == 2], groups[log.rank != 2], kind=4)
    logs[0].call("Send", 2 * SECOND, 3 * SECOND, peer=0, communicator=3, bytes=7)
    logs[2].call("Recv", 0, 3 * SECOND, peer=0, source=0, received_bytes=7, communicator=3)
    for log, root in zip(logs, (-2, -3, 1), strict=True):
        log.call("Bcast", (10 if log.rank == 1 else 5) * SECOND, 12 * SECOND, root=root, communicator=3, bytes=4)
    profile = profiled(tmp_path, logs)
    assert profile.matrix.to_dict() == {"source": [0], "destination": [2], "messages": [1], "bytes": [7]}
    assert [rank.waiting for rank in profile.ranks] == [0, 0, 2 + 5]


def test_bytes_of_collectives_are_what_a_rank_gives(tmp_path):
    logs = new_logs(2)
    for log in logs:
        log.call("Alltoall", 0, 1, bytes=10)
        log.call("Alltoallv", 2, 3, sent_counts=[1, 2], received_counts=[1, 2])
        log.call("Reduce_scatter", 4, 5, received_counts=[5, 6])
        log.call("Scatter", 6, 7, bytes=10 * (log.rank == 0), root=0)
    calls = profiled(tmp_path, logs).calls
    sizes = {name.removeprefix("MPI_"): call.bytes for name, call in calls.items()}
    assert sizes == {"Alltoall": 40, "Alltoallv": 6, "Reduce_scatter": 22, "Scatter": 20}


def test_time_in_files_and_in_starting_is_no_communication(tmp_path):
    logs = new_logs(1)
    logs[0].call("Init_thread", 0, SECOND)
    logs[0].call("File_write", 2 * SECOND, 5 * SECOND, bytes=80)
    logs[0].call("Barrier", 5 * SECOND, 6 * SECOND)
    (rank,) = profiled(tmp_path, logs, 10 * SECOND).ranks
    assert (rank.other, rank.files, rank.transferring, rank.waiting, rank.computing) == (1, 3, 1, 0, 5)


def test_computing_is_that_of_the_thread_that_began(tmp_path):
    logs = new_logs(1)
    logs[0].call("Barrier", SECOND, 2 * SECOND)
    logs[0].call("Iprobe", SECOND, 9 * SECOND, thread=1, peer=-1, tag=-1)
    (rank,) = profiled(tmp_path, logs, 10 * SECOND).ranks
    assert (rank.computing, rank.transferring) == (9.0, 9.0)


def test_a_missing_rank_is_told_and_nobody_waits_for_it(tmp_path):
    logs = new_logs(3)
    for log in logs:
        log.call("Barrier", log.rank * SECOND, 3 * SECOND)
    logs[0].call("Send", 4 * SECOND, 5 * SECOND, peer=2, bytes=9)
    profile = profiled(tmp_path, logs[:2])
    assert [rank.waiting for rank in profile.ranks] == [1, 0]
    assert profile.faults == (
        "no log of rank 2",
        "messages without a receive in the recording: 1",
        "collectives that not all ranks have entered in the recording: 1",
    )
    assert profile.messages == 1


def test_clocks_that_drift_are_made_one(tmp_path):
    logs = new_logs(2, clock=False)
    for log, rate, first in zip(logs, (1e9, 2e9), (0.0, -5.0), strict=True):
        log.clock(0, first)
        begin = int((2 if log.rank else 1) * SECOND)
        ticks = int((begin / 1e9 - first) * rate)
        log.call("Barrier", ticks, ticks + int(3 * rate))
        log.clock(int(100 * rate), 100.0 + first)
    profile = profiled(tmp_path, logs)
    assert [rank.waiting for rank in profile.ranks] == pytest.approx([1, 0])


def test_methods_of_a_recording_are_the_functions():
    recording = record.load(ROOT / "tests/frozen/recording-1")
    assert recording.profile() == record.profile(recording)
    assert recording.matrix() == record.matrix(recording)
    rows = recording.profile().to_frame()
    assert list(rows["place"]) == [site.place for site in recording.profile().sites]
    assert rows["seconds"].is_monotonic_decreasing
