"""Logs as they are on disk: whole, damaged, cut, of other versions."""

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.logs import LISTS, Log, describe, end, field, header, new_logs, signed, text, unsigned, write
from support.recordings import BY_CODE
from support.recordings import calls as plain_calls

from commmodel import record
from commmodel._core.recordings.logs import Decoder
from commmodel.errors import DamagedFileError, InputError
from commmodel.record import files
from commmodel.record.calls import CALLS, FINGERPRINTS, fingerprint


def decoded(content, most=1 << 20):
    decoder = Decoder({call.code: call.fields for call in CALLS})
    used = decoder.decode_calls(content, most)
    return decoder, used, decoder.take()


def test_calls_come_with_their_fields_and_times(tmp_path):
    log = Log(0, 1, rate=1e6)
    log.call("Alltoallv", 5, 9, line=3, sent_counts=[7, 8], received_counts=[9])
    log.call("Waitall", 8, 20, line=4, given=3, completed=[(1, 0, 5, 100), (2, -2, 0, 0)])
    log.call("Barrier", 30, 31, line=3, thread=2)
    end([log])
    recording = record.load(write(tmp_path / "r", [log]))
    (block,) = recording.events(0)
    assert block.calls["begin"].tolist() == [5e-6, 8e-6, 30e-6]
    assert block.calls["end"].tolist() == [9e-6, 20e-6, 31e-6]
    assert block.calls["thread"].tolist() == [0, 0, 2]
    assert block.calls["peer"].tolist() == [-2] * 3
    first, second, third = block.calls
    assert block.numbers[first["sent_counts_at"] :][: first["sent_counts"]].tolist() == [7, 8]
    assert block.numbers[first["received_counts_at"] :][: first["received_counts"]].tolist() == [9]
    assert block.completed[second["completed_at"] :][: second["completed"]].tolist() == [(1, 100, 0, 5), (2, 0, -2, 0)]
    assert second["given"] == 3
    sites = [str(recording.sites[recording.site_numbers(0)[call["site"]]]) for call in (first, second, third)]
    assert sites == ["solver.py:3", "solver.py:4", "solver.py:3"]
    assert recording.command == ("python", "app.py")
    assert (recording.calls(0), recording.interval(0), recording.faults) == (3, (0.0, 31e-6), ())


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_each_field_of_each_call_is_read_back(call):
    values = {}
    for number, name in enumerate(call.fields, start=5):
        lists = {"completed": [(number, 1, 2, 3)]}
        values[name] = lists.get(name, [number] if name in ("requests", "sent_counts", "received_counts") else number)
    content = b"\x10" + unsigned(call.code) + signed(2) + unsigned(1) + unsigned(0)
    content += b"".join(field(name, value) for name, value in values.items())
    decoder, used, (calls, numbers, completed, _) = decoded(content)
    assert (used, decoder.problem, calls["code"].tolist()) == (len(content), "", [call.code])
    for name, value in values.items():
        if name == "completed":
            assert completed.tolist() == [(value[0][0], 3, 1, 2)]
        elif isinstance(value, list):
            assert numbers[calls[f"{name}_at"][0] :][: calls[name][0]].tolist() == value
        else:
            assert calls[name][0] == value


def test_blocks_are_of_the_size_asked_for_and_no_call_is_lost(tmp_path):
    log = Log(0, 1)
    for number in range(5000):
        log.call("Send", 10 * number, 10 * number + 5, peer=-2, bytes=number)
    end([log])
    recording = record.load(write(tmp_path / "r", [log]))
    for most in (1, 7, 1000, 5000, 65536):
        if most > 1:
            blocks = list(recording.events(0, most))
            assert max(block.calls.size for block in blocks) <= most
            assert np.concatenate([block.calls["bytes"] for block in blocks]).tolist() == list(range(5000))


def program():
    logs = new_logs(2)
    logs[0].call("Send", 5, 9, peer=1, bytes=1000)
    logs[1].call("Recv", 2, 9, peer=0, bytes=1000, source=0, received_bytes=1000)
    for log in logs:
        log.note("host", "node1")
        log.call("Alltoallv", 20, 30, sent_counts=[300, 300], received_counts=[300, 300])
    end(logs)
    return logs


@given(st.data())
def test_a_cut_log_gives_what_stands_before_the_cut(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("r")
    logs = program()
    write(folder, logs)
    logs[1].write(folder, cut=data.draw(st.integers(64, len(logs[1].content()) - 1)))
    profile = record.profile(record.load(folder))
    assert profile.messages == 1
    assert any(fault.startswith("rank 1: ") for fault in profile.faults)


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_changed_byte_ends_in_a_profile_or_in_an_error_of_its_own(tmp_path_factory, place, value):
    folder = tmp_path_factory.mktemp("r")
    logs = program()
    write(folder, logs)
    content = bytearray(logs[0].content())
    content[place % len(content)] = value
    (folder / "rank-000000.log").write_bytes(content)
    with suppress(InputError):
        record.profile(record.load(folder)).to_dict()


@given(st.binary(max_size=400))
def test_random_bytes_are_decoded_or_refused(content):
    _, used, _ = decoded(content)
    assert 0 <= used <= len(content)


@given(st.lists(st.tuples(st.sampled_from(CALLS), st.binary(min_size=12, max_size=40)), max_size=20))
def test_calls_of_random_fields_do_no_harm(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("r")
    log = Log(0, 3)
    for call, noise in parts:
        log.parts.append(b"\x10" + unsigned(call.code) + signed(3) + unsigned(2) + noise)
    write(folder, [log])
    profile = record.profile(record.load(folder))
    assert sum(call.count for call in profile.calls.values()) == profile.ranks[0].calls


@given(st.lists(st.tuples(st.sampled_from(CALLS), st.binary(max_size=60)), max_size=8))
def test_calls_are_the_same_wherever_the_bytes_end(parts):
    content = b"".join(b"\x10" + unsigned(call.code) + signed(3) + unsigned(2) + noise for call, noise in parts)
    content += b"\x07" + unsigned(1) + signed(0) + unsigned(0)
    decoder, used, result = decoded(content)
    ample, used_of_ample, taken_of_ample = decoded(content + bytes(1000))
    assert used == used_of_ample or used_of_ample > len(content)
    if used == used_of_ample:
        assert (decoder.problem, decoder.last) == (ample.problem, ample.last)
        assert all(map(np.array_equal, result[:3], taken_of_ample[:3]))
        assert result[3] == taken_of_ample[3]


def test_zeros_end_a_log_that_was_not_finished(tmp_path):
    log = Log(0, 1)
    log.call("Barrier", 1, 2)
    log.parts.append(bytes(5000))
    recording = record.load(write(tmp_path / "r", [log]))
    assert recording.faults == (
        "rank 0: its log ends before the program does: the process was killed, crashed, or still runs",
    )
    assert recording.calls(0) == 1


@pytest.mark.parametrize(
    ("reason", "words"),
    [(2, "rank 0: MPI_Abort, code 7"), (3, "without MPI_Finalize, code 7"), (5, "the disk was full")],
)
def test_why_a_log_ends_is_told(tmp_path, reason, words):
    log = Log(0, 1)
    log.leave(5, reason, 7)
    (fault,) = record.load(write(tmp_path / "r", [log])).faults
    assert words in fault


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (b"\x4d", "a record of unknown kind"),
        (b"\x10\xff\x7f\x00\x00\x00", "an unknown call"),
        (b"\x10" + b"\xff" * 12, "a number of more than 64 bits"),
        (b"\x10\x40\x00\x00\x00" + unsigned(2**40), "a number out of range"),
        (b"\x01\x05" + unsigned(2**30), "a number out of range"),
    ],
)
def test_damage_is_told_with_its_place(tmp_path, damage, words):
    log = Log(0, 1)
    log.call("Barrier", 1, 2)
    place = len(log.content())
    log.parts += [damage, bytes(20)]
    recording = record.load(write(tmp_path / "r", [log]))
    assert f"rank 0: damaged at byte {place} ({words})" in recording.faults[0]
    assert recording.calls(0) == 1


def test_what_is_no_recording_is_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        record.load(tmp_path / "nosuch")
    with pytest.raises(InputError, match="no log of a rank that can be read: MPI_Init was not called"):
        record.load(tmp_path)
    describe(tmp_path)
    assert record.is_recording(tmp_path)
    (tmp_path / "rank-000000.log").write_bytes(b"CMRECORD" + bytes(80))
    with pytest.raises(DamagedFileError, match="another table of calls"):
        record.load(tmp_path)
    (tmp_path / "rank-000000.log").write_bytes(header(0, 1, version=4))
    with pytest.raises(DamagedFileError, match="version 4 is newer"):
        record.load(tmp_path)
    (tmp_path / "rank-000000.log").write_bytes(b"CMREC")
    with pytest.raises(InputError, match="its header is damaged"):
        record.load(tmp_path)
    (tmp_path / "recording.json").write_text('{"format": "commmodel-machine", "version": 1}')
    with pytest.raises(DamagedFileError, match="field format"):
        record.load(tmp_path)


def test_a_folder_of_traces_is_to_be_replayed(tmp_path):
    (tmp_path / "traces.otf2").touch()
    with pytest.raises(InputError, match="traces are not reported but replayed: commmodel simulate WHERE replay"):
        record.load(tmp_path)


def test_foreign_logs_are_told_and_left_out(tmp_path):
    logs = program()
    folder = write(tmp_path / "r", logs)
    (folder / "rank-000007.log").write_bytes(logs[1].content())
    (folder / "recording.json").unlink()
    recording = record.load(folder)
    assert recording.faults == (
        "recording.json is missing: the command is not known",
        "rank-000007.log is the log of rank 1: not read",
    )


def test_a_long_record_is_read_though_it_is_longer_than_a_piece_of_the_file(tmp_path):
    log = Log(0, 1)
    log.call("Alltoallv", 1, 2, sent_counts=[2**40] * 200_000, received_counts=[1])
    log.call("Barrier", 3, 4)
    end([log])
    recording = record.load(write(tmp_path / "r", [log]))
    assert sum(block.calls.size for block in recording.events(0, 300)) == 2


def test_memory_does_not_grow_with_the_recording(tmp_path, monkeypatch):
    monkeypatch.setattr("commmodel.record.matching._MOST_CALLS", 4096)
    peaks = []
    for calls in (20_000, 200_000):
        logs = new_logs(2)
        for log in logs:
            log.call("Barrier", 1, 2)
            log.call("Sendrecv", 3, 4, bytes=1, peer=1 - log.rank, receive_peer=1 - log.rank,
                     source=1 - log.rank, received_bytes=1)  # fmt: skip
            repeated = log.parts[-1]
            log.parts += [repeated] * calls
            log.parts.append(b"\x07" + unsigned(1) + signed(0) + unsigned(10 * calls))
        folder = write(tmp_path / f"r{calls}", logs)
        recording = record.load(folder)
        assert recording.sites
        tracemalloc.start()
        assert record.profile(recording).messages == 2 * calls + 2
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_names_of_functions_are_any_text(tmp_path):
    log = Log(0, 1)
    log.parts.append(b"\x01\x01" + unsigned(2) + b"\xff\xfe" + unsigned(3) + text("f") + unsigned(1))
    log.call("Barrier", 1, 2, line=0)
    end([log])
    assert record.load(write(tmp_path / "r", [log])).sites[1].file == "��"


def test_the_compiled_decoder_reads_what_the_plain_one_reads(tmp_path):
    log = Log(0, 3)
    for number, call in enumerate(CALLS, start=1):
        values = {name: [number] if name in LISTS else number for name in call.fields if name != "completed"}
        if "completed" in call.fields:
            values["completed"] = [(number, -2, 0, 7)] * 2
        log.call(call.name.removeprefix("MPI_"), 10 * number, 10 * number + 3, thread=number % 2, **values)
    end([log])
    folder = write(tmp_path / "r", [log])
    (block,) = record.load(folder).events(0)
    plain = plain_calls(folder / "rank-000000.log")
    assert len(plain) == block.calls.size == len(CALLS)
    for row, expected in zip(block.calls, plain, strict=True):
        assert round(row["begin"] * 1e9) == expected["begin"]
        assert row["site"] == expected["site"]
        for name in BY_CODE[row["code"]].fields:
            if name in LISTS:
                assert block.numbers[row[f"{name}_at"] :][: row[name]].tolist() == expected[name]
            elif name == "completed":
                rows = block.completed[row["completed_at"] :][: row["completed"]]
                assert [(r["request"], r["source"], r["tag"], r["bytes"]) for r in rows] == expected[name]
            else:
                assert row[name] == expected[name]


def changed(names, tmp_path):
    """Return the folder of a recording with one call that has been damaged."""
    logs = new_logs(2)
    for log in logs:
        log.call("Init", 0, 10)
    logs[0].call("Irecv", 20, 21, **({"peer": 1, "bytes": 8, "request": 1} | names))
    for log in logs:
        log.leave()
    return write(tmp_path / "damaged", logs)


def test_a_peer_outside_of_its_communicator_is_damage_in_one_line(tmp_path):
    recording = record.load(changed({"peer": 16}, tmp_path))
    assert record.efficiency(recording).problem == "rank 0: a message to rank 16 of 2: its log is damaged"
    assert record.timeline(recording).transfers.size == record.profile(recording).messages == 0


def test_a_message_without_a_communicator_is_no_message(tmp_path):
    recording = record.load(changed({"communicator": 0}, tmp_path))
    actions = record.RecordedActions(recording)
    assert "irecv" not in "".join(actions.text(0))
    assert actions.not_carried == {"MPI_Irecv": 1}


def test_a_header_of_far_more_processes_than_logs_is_refused(tmp_path):
    (tmp_path / "rank-000000.log").write_bytes(header(0, 1 << 23))
    with pytest.raises(InputError, match="logs of 1 ranks of a program of 8388608"):
        record.load(tmp_path)


def test_the_table_of_calls_only_grows():
    assert FINGERPRINTS[0] == 0x4FF71FA4E972A913
    assert FINGERPRINTS[-1] == fingerprint(CALLS)
    assert len(set(FINGERPRINTS)) == max(call.since for call in CALLS)
    assert len({call.code for call in CALLS}) == len(CALLS)


def test_a_log_of_an_earlier_table_of_calls_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FINGERPRINTS", (7, *FINGERPRINTS))
    describe(tmp_path)
    (tmp_path / "rank-000000.log").write_bytes(header(0, 1, table=7))
    assert record.load(tmp_path).processes == 1
