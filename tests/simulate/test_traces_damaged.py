"""Damaged traces: a line that names file, line and mend, and no hang."""

import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel._core.program.traces import Parser, TraceError
from commmodel.errors import DamagedFileError, InputError
from commmodel.record import load as load_recording
from commmodel.simulate.operations import Program
from commmodel.simulate.traces import dump, replay
from commmodel.simulate.work import ring


def drain(program: Program) -> None:
    for rank in range(program.processes):
        while len(program.refill(rank)):
            pass


LINES = [
    ("0 fly 3", "unknown action 'fly'"),
    ("0", "expected a rank and an action"),
    ("x compute 3", "rank 'x': expected a whole number"),
    ("9 compute 3", "rank '9': expected 0 to 1"),
    ("1 compute 3", "an action of rank 1 in the trace of rank 0"),
    ("0 compute", "expected flops"),
    ("0 compute 1e", "flops '1e': expected a number"),
    ("0 compute nan", "flops 'nan': expected a number"),
    ("0 compute 1e999", "flops '1e999': expected a number"),
    ("0 compute -3", "flops '-3' is negative"),
    ("0 sleep -1", "seconds '-1' is negative"),
    ("0 send 1 0", "expected partner tag count"),
    ("0 bcast 1_0 0 6", "'1_0': expected a finite number"),
    ("0 bcast \u0663 0 6", "expected a finite number"),
    ("0 bcast nan 0 6", "'nan': expected a finite number"),
    ("0 send 2 0 8", "partner '2': expected 0 to 1"),
    ("0 send -1 0 8", "partner '-1'"),
    ("0 recv 2 0 8", "partner '2': expected at most 1"),
    ("0 send 1 -3 8", "tag '-3'"),
    ("0 send 1 0 -8", "count '-8'"),
    ("0 send 1 0 1.5", "count '1.5': expected a whole number"),
    ("0 send 1 0 8 77", "type '77': expected 0 to 29"),
    ("0 isend 1 99999999999 8", "tag '99999999999'"),
    ("0 recv 1", "expected partner tag"),
    ("0 wait 1 1 0", "neither from nor to rank 0"),
    ("0 wait 1 0", "expected source target tag"),
    ("0 sendRecv 1 1 1", "expected send_count target"),
    ("0 bcast", "count, is missing"),
    ("0 bcast -1", "count '-1'"),
    ("0 bcast 1 7", "root '7': expected a whole number from 0 to 1"),
    ("0 bcast 1 0 99", "type '99'"),
    ("0 allreduce 1", "flops, is missing"),
    ("0 reduce 1 x", "flops 'x'"),
    ("0 alltoall 1", "receive_count, is missing"),
    ("0 alltoallv 1 1 1 1 1", "has 1 receive_counts: expected one for each of 2 ranks"),
    ("0 reducescatter 1 1", "flops, is missing"),
    ("0 gatherv 1 2 1e3000 0", "receive_counts '1e3000'"),
    ("0 \x1b[31m", "unknown action"),
]


@pytest.mark.parametrize(("line", "problem"), LINES)
@pytest.mark.parametrize("merged", [False, True])
def test_a_damaged_line_is_named(tmp_path, line, problem, merged):
    if merged and "in the trace of" in problem:
        pytest.skip("a merged trace is of all ranks")
    (tmp_path / "a.txt").write_text(f"0 init\n\n# {line}\n{line}\n")
    (tmp_path / "b.txt").write_text("1 init\n")
    (tmp_path / "list.txt").write_text("a.txt\n" if merged else "a.txt\nb.txt\n")
    with pytest.raises(DamagedFileError) as caught:
        drain(replay(tmp_path / "list.txt", 2))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'a.txt'}: line 4: ")
    assert problem in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no traces"),
        ('{"schema": "1.1", "nodes": []}\n', "line 1: JSON"),
        ("a.txt\nmissing.txt\n", "line 2: 'missing.txt': there is no such trace"),
        ("a.txt\n../../etc\n", "line 2"),
        ("a\0b\n", "line 1"),
    ],
)
def test_damaged_lists_are_refused(tmp_path, text, problem):
    (tmp_path / "a.txt").write_text("0 init\n")
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(DamagedFileError, match=problem):
        replay(tmp_path / "list.txt")


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        replay(tmp_path / "none.txt")
    with pytest.raises(InputError, match="no files of ranks 0 to P - 1"):
        replay(tmp_path)
    (tmp_path / "list.txt").write_bytes(b"\xff\xfe\n")
    with pytest.raises(DamagedFileError, match="not text"):
        replay(tmp_path / "list.txt")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_traces_cut_off_or_damaged_are_refused(tmp_path, pack):
    packed = pack(b"".join(b"0 compute %d\n" % (number**2) for number in range(5000)))
    trace = tmp_path / "trace"
    trace.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DamagedFileError, match="cut off"):
        drain(replay(trace, 1))
    middle = len(packed) // 2
    trace.write_bytes(packed[:middle] + bytes(64) + packed[middle + 64 :])
    with pytest.raises(DamagedFileError, match=r"as it should be|cut off|line"):
        drain(replay(trace, 1))


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("commmodel.simulate.traces.files.LONGEST_LINE", 10_000)
    trace = tmp_path / "trace"
    trace.write_bytes(gzip.compress(b"0 init\n" + b"0" * 3_000_000))
    with pytest.raises(DamagedFileError, match="a line of more than"):
        drain(replay(trace, 1))


def test_numbers_of_processes_must_fit(tmp_path):
    for rank in (0, 1):
        (tmp_path / f"{rank}.txt").write_text(f"{rank} init\n")
    (tmp_path / "list.txt").write_text("0.txt\n1.txt\n")
    with pytest.raises(InputError, match="2 traces for 3 processes"):
        replay(tmp_path / "list.txt", 3)
    with pytest.raises(InputError, match="1 speeds for 2 processes"):
        replay(tmp_path / "list.txt", speeds=[1e9])
    with pytest.raises(InputError, match="must be positive"):
        replay(tmp_path / "list.txt", speeds=0)
    (tmp_path / "many.txt").write_text("99999999999999999999 init\n")
    with pytest.raises(DamagedFileError, match="ranks are possible"):
        replay(tmp_path / "many.txt")


def test_what_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        dump(ring(1, 2), tmp_path / "file" / "folder")
    with pytest.raises(InputError, match="compression"):
        dump(ring(1, 2), tmp_path, compression=".zip")
    with pytest.raises(InputError, match="speed"):
        dump(ring(1, 2), tmp_path, speed=-1)


def parsed(text: bytes) -> tuple | TraceError:
    try:
        return Parser(3, [1.0, 1.0, 1.0]).parse_merged(text, 0)
    except TraceError as error:
        return error


@given(st.binary(max_size=300))
def test_no_bytes_bring_the_parser_down(data):
    result = parsed(data)
    assert not isinstance(result, TraceError) or (result.line >= 1 and result.problem.isprintable())


ACTIONS = ["init", "compute", "sleep", "send", "isend", "recv", "irecv", "wait", "test", "waitall", "sendRecv", "bcast"]
WORDS = ["0", "1", "2", "-1", "7", "1e3", "1.5", "nan", "x", "#", "9" * 20, "0.1e-5", "\n", "\n", "\n", *ACTIONS]


@given(st.lists(st.sampled_from(WORDS), max_size=80))
def test_no_words_bring_the_parser_down(words):
    result = parsed(" ".join(words).encode())
    if isinstance(result, TraceError):
        assert result.problem
        return
    operations, offsets, calls, line = result
    assert offsets[-1] == operations.size
    assert (operations["peer"] < 3).all()
    assert line <= words.count("\n") + 1
    assert operations["request"].max(initial=-2) < max(len(words), 1)
    assert len(calls) <= len(words)


def test_a_folder_of_traces_in_json_is_refused_in_one_line(tmp_path):
    for rank in range(2):
        (tmp_path / f"trace.{rank}.json").write_text('{"schema": "1.1.1-chakra.0.0.4", "nodes": []}\n')
    with pytest.raises(DamagedFileError, match=r"trace\.0\.json: line 1: JSON: of traces in JSON none is read"):
        replay(tmp_path)
    with pytest.raises(InputError, match=r"traces in JSON are not read; of Chakra's, the binary form \(\.et\) is"):
        load_recording(tmp_path)
