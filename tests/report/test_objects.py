"""Calls of mpi4py's lower-case methods are told from those of arrays."""

import os

import pytest
from support.logs import end, new_logs, write

from commmodel import record
from commmodel.report.recording.findings import costly_sites
from commmodel.report.recording.objects import object_methods

SECOND = 10**9


def profile_of(folder, calls, file="/home/ada/solver.py"):
    logs = new_logs(2)
    for log in logs:
        for number, call in enumerate(calls):
            values = {} if call == "Alltoallv" else {"bytes": 10**6}  # its counts are a table
            log.call(call, number * SECOND, (number + 1) * SECOND, file=file, **values)
    end(logs)
    return record.profile(record.load(write(folder, logs)))


@pytest.mark.parametrize(
    ("calls", "method"),
    [
        (["Gather", "Gatherv"], "gather"),
        (["Allgather", "Allgatherv"], "allgather"),
        (["Alltoall", "Alltoallv"], "alltoall"),
        (["Gather"], ""),
        (["Bcast"], ""),
    ],
)
def test_the_calls_of_one_line_tell_the_method(tmp_path, calls, method):
    profile = profile_of(tmp_path / "r", calls)
    assert set(object_methods(profile).values()) == ({method} if method else set())
    first, *_ = costly_sites(profile)
    if method:
        assert first.title.endswith(f"of mpi4py's {method}")
        assert first.advice.startswith(f"use {method.capitalize()} with arrays: {method} pickles; ")
    else:
        assert "pickles" not in first.advice


@pytest.mark.parametrize(
    ("line", "calls", "method"),
    [
        ("x = comm.bcast(x)", ["Bcast"], "bcast"),
        ("comm.Bcast(x)", ["Bcast"], ""),
        ("comm.send(x, 1)", ["Send"], "send"),
        ("comm.Send(x, 1) if first else comm.Recv(x)", ["Send", "Recv"], ""),
        ("comm.Gather(a, b), comm.Gatherv(a, b)", ["Gather", "Gatherv"], ""),
    ],
)
def test_the_source_tells_where_calls_do_not(tmp_path, line, calls, method):
    source = tmp_path / "solver.py"
    source.write_text(f"{line}\n")
    methods = object_methods(profile_of(tmp_path / "r", calls, str(source)))
    assert set(methods.values()) == ({method} if method else set())


def test_a_recording_of_a_stranger_opens_no_pipe_and_no_large_file(tmp_path):
    pipe, large = tmp_path / "pipe.py", tmp_path / "large.py"
    os.mkfifo(pipe)
    with large.open("w") as file:
        file.write("comm.bcast(x)\n")
        file.truncate(1 << 30)
    for number, path in enumerate((pipe, large, tmp_path, "relative.py", tmp_path / ("a" * 300 + ".py"))):
        assert not object_methods(profile_of(tmp_path / f"r{number}", ["Bcast"], str(path)))
