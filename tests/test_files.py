"""What commmodel writes: whole or not at all, with the permissions that it should have, and never what it reads."""

import bz2
import errno
import gzip
import lzma
import os
import stat

import pytest
from support.structs import FROZEN

from commmodel import formats, results
from commmodel.cli import main
from commmodel.errors import DamagedFileError, InputError
from commmodel.files import open_output, refuse_inputs, write_bytes, write_text

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(error):
    yield b"half"
    raise error


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.txt"


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(path):
    path.write_text("precious")
    with pytest.raises(InputError, match=r"out.txt: cannot be written: No space left on device: make room, or name"):
        write_bytes(path, interrupted(FULL))
    assert path.read_text() == "precious"
    assert os.listdir(path.parent) == ["out.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interruption_or_a_fault_leaves_no_half_file(path, error):
    with pytest.raises(error), open_output(path) as file:
        file.writelines(interrupted(error))
    assert os.listdir(path.parent) == []


def test_an_error_of_a_file_that_is_read_meanwhile_is_not_said_of_the_one_that_is_written(path):
    with pytest.raises(FileNotFoundError, match="missing"), open_output(path):
        (path.parent / "missing").read_bytes()


def test_a_new_file_has_what_the_umask_leaves(path, umask):
    write_text(path, "x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    script = path.with_name("script")
    write_text(script, "x", executable=True)
    assert stat.S_IMODE(script.stat().st_mode) == 0o750


def test_a_replaced_file_hands_on_its_permissions_and_a_link_stays_one(path):
    path.touch(0o600)
    link = path.with_name("link")
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_hard_link_of_the_old_file_keeps_its_content(path):
    path.write_text("old")
    other = path.with_name("other")
    os.link(path, other)
    write_text(path, "new")
    assert (path.read_text(), other.read_text()) == ("new", "old")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_one_may_not_write_is_refused(path):
    path.touch(0o400)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        write_text(path, "new")


def test_a_name_may_be_as_long_as_the_file_system_has_it_and_no_longer(tmp_path):
    longest = tmp_path / ("x" * 255)
    write_text(longest, "x")
    assert longest.read_text() == "x"
    with pytest.raises(InputError, match=r"cannot be written: File name too long: choose a shorter name"):
        write_text(tmp_path / ("x" * 256), "x")


def test_a_folder_and_a_pipe_are_refused_and_a_device_is_written(tmp_path):
    with pytest.raises(InputError, match="Is a directory"):
        write_text(tmp_path, "x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no regular file"):
        write_text(tmp_path / "pipe", "x")
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(InputError, match="/dev/full: cannot be written: No space left"):
        write_text("/dev/full", "x")


def test_an_input_is_no_output_by_whatever_name(path):
    path.write_text("x")
    os.link(path, path.with_name("hard"))
    path.with_name("soft").symlink_to(path)
    for name in ("out.txt", "hard", "soft", f"../{path.parent.name}/out.txt"):
        with pytest.raises(InputError, match="it cannot be written, too"):
            refuse_inputs(path.with_name("soft"), ["missing", path.parent / name])
    refuse_inputs(path.with_name("new"), [path])


MACHINE = """format = "commmodel-machine"
name = "x"
[[segments]]
protocol = "all"
postal = {alpha = "4us", beta = 1e-9}
loggp = {L = "1us", o = "1us", g = "2us", G = 1e-9}
"""
CSV = "message_size,seconds,pairs,path\n" + "".join(f"{2**n},{1e-6 + 2**n * 1e-9},1,any\n" for n in range(20))


@pytest.mark.parametrize(
    "command",
    [
        "fit r.csv -o r.csv",
        "report r.csv -o r.html",
        "report r.csv m.toml -o m.html",
        "predict m.toml measurements r.csv -o m.html",
        "predict m.toml measurements r.csv -o r.html",
        "check mpi r.csv -o r.html",
        "check r.csv --baseline b.csv -o b.html",
        "optimize m.toml --validate r.csv -o r.html",
        "tune m.toml -p 2 --library openmpi -o m.toml",
        "simulate m.toml bcast -p 2 -n 8 -o m.html",
        "simulate switch exchange r.csv -p 2 --trace r.csv",
        "simulate switch bcast -p 2 -n 8 --compare b.csv --trace b.csv",
        "simulate switch bcast -p 2 -n 8 --selector m.toml -o m.html",
        "simulate switch replay list --trace b.csv",
        "simulate switch replay list -o list",
        "convert r.csv -o r.csv --force",
        "convert b.csv r.csv -o link.csv --force",
    ],
)
def test_no_verb_writes_what_it_reads(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = {"r.csv": CSV, "b.csv": CSV, "m.toml": MACHINE}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    for link, name in (("link.csv", "r.csv"), ("r.html", "r.csv"), ("b.html", "b.csv"), ("m.html", "m.toml")):
        (tmp_path / link).symlink_to(name)
    (tmp_path / "list").write_text("r.csv\nb.csv\n")
    assert main(command.split()) == 2
    err = capsys.readouterr().err
    assert err.endswith("is read: it cannot be written, too: name another output\n")
    assert err.count("\n") == 1
    assert {name: (tmp_path / name).read_text() for name in contents} == contents


def test_two_outputs_of_a_command_are_two_files(tmp_path, capsys):
    text = str(tmp_path / "t.html")
    assert main(["simulate", "switch", "bcast", "-p", "2", "-n", "8", "-o", text, "--trace", text]) == 2
    assert "would be written twice" in capsys.readouterr().err
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_compressed_files_are_read_and_damaged_ones_named(module, tmp_path):
    packed = module.compress((FROZEN / "results-1.jsonl").read_bytes())
    path = tmp_path / "results"
    path.write_bytes(packed)
    assert (
        results.load(path).launches == results.load(FROZEN / "results-1.jsonl").launches == formats.load(path).launches
    )
    for damaged in (packed[:-40], packed[:100] + b"\0" * 40 + packed[140:]):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match=r"results: damaged \w+ data"):
            results.load(path)
