"""results.jsonl while it is written: on disk at once, resumed without loss, whole when its writer dies."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from commmodel.errors import InputError
from commmodel.results import Header, Library, Record, Writer, load
from commmodel.results.configurations import PingPong

HEADER = Header("commmodel-results", 1, "2026-01-31", ("bench",), Library("MPICH"), (), ())


def record(number):
    return Record(PingPong(number, "same-node"), "s", (number + 0.5,))


def numbers(path):
    return [entry.configuration.message_size for entry in load(path).records]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results.jsonl"


@pytest.fixture
def whole(file):
    """Write a header and records 0 and 1, and return the file's bytes."""
    with Writer(file) as writer:
        for part in (HEADER, record(0), record(1)):
            writer.write(part)
    return file.read_bytes()


def test_a_line_can_be_read_as_soon_as_it_is_written(file):
    with Writer(file) as writer:
        writer.write(HEADER)
        for count in range(5):
            assert numbers(file) == list(range(count))
            assert not load(file).notes
            writer.write(record(count))


def test_an_existing_file_is_not_overwritten_and_the_message_names_the_options(file, whole):
    with pytest.raises(InputError, match="complete it with --resume, replace it with --force, or name another"):
        Writer(file)
    assert file.read_bytes() == whole


def test_resuming_goes_on_after_the_last_complete_line_wherever_it_was_cut(file, whole):
    ends = [end for end in range(len(whole) + 1) if whole[:end].endswith(b"\n")]
    for cut in range(ends[0], len(whole) + 1):
        file.write_bytes(whole[:cut])
        with Writer(file, resume=True) as writer:
            writer.write(record(7))
        complete = max(end for end in ends if end <= cut)
        assert file.read_bytes()[:complete] == whole[:complete]
        assert numbers(file) == [*range(ends.index(complete)), 7]
        assert not load(file).notes


def test_resuming_without_writing_leaves_complete_lines_as_they_are(file, whole):
    Writer(file, resume=True).close()
    assert file.read_bytes() == whole


def test_an_empty_file_as_a_full_disk_leaves_it_is_begun(file):
    file.touch()
    with Writer(file) as writer:
        writer.write(HEADER)
        writer.write(record(0))
    assert numbers(file) == [0]


def test_only_what_may_be_the_beginning_of_a_header_is_begun_anew(file):
    file.write_bytes(b"my only copy")
    with pytest.raises(InputError, match="no beginning of a results file: name another one"):
        Writer(file, resume=True)
    assert file.read_bytes() == b"my only copy"


def test_what_a_killed_writer_left_stays_until_something_is_written(file, whole):
    file.write_bytes(whole[:-3])
    Writer(file, resume=True).close()
    assert file.read_bytes() == whole[:-3]


@pytest.mark.parametrize("resume", [True, False])
def test_a_second_writer_is_refused_as_long_as_the_first_one_lives(file, resume):
    with Writer(file) as writer:
        with pytest.raises(InputError, match=r"results.jsonl: .* is still writing into it: wait for it or end it"):
            Writer(file, resume=resume)
        writer.write(HEADER)
        writer.write(record(0))
        with pytest.raises(InputError, match=r"still writing into it"):
            Writer(file, resume=True)
    with Writer(file, resume=True) as writer:
        writer.write(record(1))
    assert numbers(file) == [0, 1]


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="no list of locks")
def test_the_process_that_is_still_writing_is_named(file):
    with start(file, 0) as child:
        child.stdout.readline()
        with pytest.raises(InputError, match=rf"process {child.pid} is still writing"):
            Writer(file, resume=True)
        child.kill()


def test_no_space_for_a_line_leaves_the_lines_before_it_and_the_next_writer_goes_on(file):
    with start(file, 0, limit=200_000) as child:
        confirmed, _ = child.communicate()
    content = file.read_bytes()
    with Writer(file, resume=True) as writer:
        writer.write(record(99))
    assert file.read_bytes().startswith(content)
    assert numbers(file) == [*map(int, confirmed.split()), 99]


@pytest.mark.parametrize("left", [b"", b'{"type":"head'], ids=["nothing", "half a header"])
def test_a_file_without_a_complete_line_is_begun_anew(file, left):
    file.write_bytes(left)
    with Writer(file, resume=True) as writer:
        writer.write(HEADER)
        writer.write(record(0))
    assert numbers(file) == [0]


def test_a_resumed_launch_may_bring_its_own_header(file, whole):
    file.write_bytes(whole[:-3])
    with Writer(file, resume=True) as writer:
        writer.write(HEADER)
        writer.write(record(1))
    assert [len(launch.records) for launch in load(file).launches] == [1, 1]


@pytest.mark.parametrize("resume", [False, True])
def test_a_place_where_no_file_can_be_is_refused_in_one_line(tmp_path, resume):
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing" / "results.jsonl", tmp_path / "file" / "results.jsonl"):
        with pytest.raises(InputError) as caught:
            Writer(path, resume=resume)
        assert str(caught.value).startswith(f"{path}: cannot be written: ")
        assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_or_a_folder_cannot_be_resumed(file):
    with pytest.raises(InputError, match="there is no such file to resume"):
        Writer(file, resume=True)
    assert not file.exists()
    file.mkdir()
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        Writer(file, resume=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        Writer(tmp_path / "results.jsonl")


CHILD = """
import resource, sys
from commmodel.errors import InputError
from commmodel.results import *
from commmodel.results.configurations import PingPong

path, first, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with Writer(path, resume=first > 0) as writer:
        if not first:
            writer.write(Header("commmodel-results", 1, "2026-01-31", (), Library("MPICH"), (), ()))
        for number in range(first, 1_000_000):
            writer.write(Record(PingPong(number, "same-node"), "s", (number + 0.5,) * 5000))
            print(number, flush=True)
except InputError as error:
    sys.exit(str(error))
"""


def start(path, first, limit=0):
    """Start a process that writes records of many samples, and prints the number of each after it."""
    command = [sys.executable, "-c", CHILD, str(path), str(first), str(limit)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_writer_killed_at_any_moment_leaves_every_record_that_it_had_written(file):
    value = 0
    for delay in np.random.default_rng(20260131).uniform(0, 0.03, 5):
        with start(file, value) as child:
            assert int(child.stdout.readline()) == value
            time.sleep(delay)
            child.kill()
            confirmed = max([value, *map(int, child.stdout.read().split())])
        measurements = load(file)
        result = numbers(file)
        assert result == list(range(len(result)))
        assert len(result) - 1 in {confirmed, confirmed + 1}  # one more, if it died before it could say so
        assert all(part.samples == (part.configuration.message_size + 0.5,) * 5000 for part in measurements.records)
        assert len(measurements.notes) <= 1
        value = len(result)


def test_a_full_disk_is_said_in_one_line_and_what_was_written_can_be_read(file):
    with start(file, 0, limit=200_000) as child:  # a limit on the file's size stands for a full disk
        confirmed, message = child.communicate()
    assert child.returncode == 1
    assert message.startswith(f"{file}: cannot be written: ")
    assert len(message.splitlines()) == 1
    assert numbers(file) == list(map(int, confirmed.split()))
    assert not load(file).notes
    assert file.stat().st_size <= 200_000
