"""SIGTERM, as batch systems send it before they kill: what was measured stays, no rank does, the exit code is 143."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.launching import ENVIRONMENT, find

from commmodel import results

RANKS = (b"PMI_RANK=", b"OMPI_COMM_WORLD_RANK=")


def rank_of(process, output):
    """Return the rank that a process of this run is; None for any other."""
    try:
        if str(output).encode() not in (process / "cmdline").read_bytes():
            return None
        words = (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it ended meanwhile
        return None
    return next((int(word.partition(b"=")[2]) for word in words if word.startswith(RANKS)), None)


@pytest.mark.mpi
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds the ranks through /proc")
@pytest.mark.parametrize("signalled", [(0, 1), (0,), (1,)])
def test_a_terminated_run_says_what_it_lacks_and_leaves_no_rank(signalled, tmp_path):
    output = tmp_path / "results.jsonl"
    command = [find("mpiexec"), "-n", "2", sys.executable, "-m", "commmodel.bench", "pingpong", "--ci", "0.01%"]
    command += ["--time", "60s", "-o", str(output)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        while not output.exists() or output.read_bytes().count(b"\n") < 3:
            assert process.poll() is None
            time.sleep(0.05)
        ranks = {rank: entry for entry in Path("/proc").glob("[0-9]*") if (rank := rank_of(entry, output)) is not None}
        for rank in signalled:
            os.kill(int(ranks[rank].name), signal.SIGTERM)
        _, result = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 143
    if 0 in signalled:
        assert "commmodel.bench: terminated: what was measured is kept: go on with --resume" in result
    end = time.monotonic() + 30
    while any(rank_of(entry, output) is not None for entry in ranks.values()):
        assert time.monotonic() < end
        time.sleep(0.05)
    (note,) = results.load(output).notes
    assert "launch 1 is partial: " in note
    assert re.search(
        rf"to complete it: mpiexec -n 2 .*python -m commmodel.bench --resume -o {re.escape(str(output))}", note
    )
    assert " of 25 planned configurations" in note
