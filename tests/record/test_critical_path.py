"""The critical path of a recording, and its costliest exchange as commmodel optimize takes it."""

import json
import re
import shlex

import pytest
from support.logs import end, new_logs, write

from commmodel import record
from commmodel.cli import main
from commmodel.report.recording.findings import optimize_command
from commmodel.simulate.critical_path import PathKind

MS = 10**6


def recording_of(folder, logs):
    end(logs)
    return record.load(write(folder / "run", logs))


def late_sender(folder):
    logs = new_logs(2)
    for log in logs:
        log.call("Init", 0, 1 * MS)
    logs[0].call("Send", 9 * MS, 10 * MS, peer=1, bytes=80)
    logs[1].call("Recv", 3 * MS, 11 * MS, peer=0, bytes=80, source=0, received_bytes=80)
    logs[1].call("Barrier", 14 * MS, 14 * MS + 1)
    logs[0].call("Barrier", 13 * MS, 14 * MS + 1)
    for log in logs:
        log.call("Finalize", 15 * MS, 16 * MS)
    return recording_of(folder, logs)


def test_it_goes_on_at_the_rank_that_was_waited_for(tmp_path):
    path = record.critical_path(late_sender(tmp_path))
    segments = path.segments
    assert segments["start"][0] == 0
    assert (segments["start"][1:] == segments["end"][:-1]).all()
    parts = [
        (int(row["rank"]), PathKind(row["kind"]).name, round(1e3 * (row["end"] - row["start"]))) for row in segments
    ]
    at = parts.index((1, "RECEIVE", 2))
    assert parts[at - 1] == (0, "COMPUTATION", 8)  # until it sent, for which rank 1 has waited
    assert parts[at + 1] == (1, "COMPUTATION", 3)
    assert {share.name.rpartition(", ")[2] for share in path.by_site()[:2]} <= {"MPI_Send", "MPI_Barrier", "MPI_Init"}


def test_the_report_says_what_to_shorten(tmp_path, capsys):
    folder = late_sender(tmp_path).folder
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    assert "shorten this first" in capsys.readouterr().out
    assert "What decides its time" in (tmp_path / "page.html").read_text()
    assert main(["report", str(folder), "-o", str(tmp_path / "other.html"), "--json"]) == 0
    path = json.loads(capsys.readouterr().out)["critical_path"]
    assert path["sites"][0]["seconds"] > 0


def halo(folder, rounds=6):
    """Return a recording in which ranks compute 5 ms, then exchange 1 MB with both neighbours, of a start of 2 s."""
    logs = new_logs(3)
    for rank, log in enumerate(logs):
        log.call("Init", 0, 1 * MS)
        now = 2000 * MS
        for _ in range(rounds):
            for request, peer in enumerate(((rank - 1) % 3, (rank + 1) % 3), 1):
                log.call("Irecv", now, now + 2000, peer=peer, bytes=500_000, request=request)
                log.call("Isend", now + 2000, now + 4000, peer=peer, bytes=500_000, request=request + 2)
                now += 4000
            done = [(request, (rank - 1) % 3 if request == 1 else (rank + 1) % 3, 0, 500_000) for request in (1, 2)]
            log.call("Waitall", now, now + MS, given=4, completed=[*done, (3, -2, 0, 0), (4, -2, 0, 0)])
            now += 6 * MS
        log.call("Finalize", now, now + MS)
    return recording_of(folder, logs)


def test_the_costliest_exchange_has_its_volume_computation_and_peers(tmp_path):
    recording = halo(tmp_path)
    exchange = record.costliest_exchange(recording, record.profile(recording))
    assert exchange.site.call == "MPI_Waitall"
    assert (exchange.volume, exchange.peers, exchange.count) == (500_000, 2, 6)
    assert exchange.computation == pytest.approx(5e-3)
    assert exchange.overhead == pytest.approx(4e-6)
    assert not exchange.is_all_to_all


def test_the_command_for_it_runs_as_it_is_printed(tmp_path, capsys):
    folder = halo(tmp_path).folder
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    printed = capsys.readouterr().out
    command = re.search(r"commmodel optimize (?:.*\\\n)*.*", printed)[0].split("#")[0]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:6] == ["commmodel", "optimize", "--volume", "500000", "--computation", "2.50ms"]  # with each of two
    assert main(words[1:]) == 0
    assert "message" in capsys.readouterr().out


def test_peers_of_different_volumes_are_listed_each_with_its_share_of_the_computation(tmp_path, capsys):
    logs = new_logs(3)
    for rank, log in enumerate(logs):
        log.call("Init", 0, 1 * MS)
        now = 10 * MS
        for _ in range(6):
            for peer in sorted({0, 1, 2} - {rank}):
                log.call("Sendrecv", now, now + MS, peer=peer, bytes=90_000 if peer == 1 else 10_000,
                         receive_peer=peer, source=peer, received_bytes=90_000 if rank == 1 else 10_000)  # fmt: skip
                now += MS
            now += 5 * MS
        log.call("Finalize", now, now + MS)
    recording = recording_of(tmp_path, logs)
    exchange = record.costliest_exchange(recording, record.profile(recording))
    assert exchange.volumes == (90_000, 10_000)
    words = shlex.split(optimize_command(exchange))
    assert words[2:6] == ["--volume", "90000,10000", "--computation", "4.50ms,500us"]
    assert main(words[1:]) == 0
    assert "2 unequal peers, with all of them 100000 B, 5.00 ms of computation" in capsys.readouterr().out


def test_an_all_to_all_is_an_exchange_with_all(tmp_path):
    logs = new_logs(4)
    for log in logs:
        log.call("Init", 0, 1 * MS)
        for step in range(1, 4):
            log.call("Alltoall", 10 * step * MS, (10 * step + 4) * MS, communicator=1, bytes=1000, room=1000)
        log.call("Finalize", 50 * MS, 51 * MS)
    recording = recording_of(tmp_path, logs)
    exchange = record.costliest_exchange(recording, record.profile(recording))
    assert exchange.is_all_to_all
    assert (exchange.volume, exchange.peers) == (4000, 4)
    assert exchange.computation == pytest.approx(6e-3)


def test_without_messages_there_is_no_exchange(tmp_path):
    logs = new_logs(2)
    for log in logs:
        log.call("Init", 0, 1 * MS)
        log.call("Finalize", 2 * MS, 3 * MS)
    recording = recording_of(tmp_path, logs)
    assert record.costliest_exchange(recording, record.profile(recording)) is None
