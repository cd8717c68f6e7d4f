"""Replaying a trace takes memory that does not grow with the trace."""

import subprocess
import sys

import pytest
from support.paths import ROOT

from commmodel.collectives.call import CollectiveCall
from commmodel.simulate.operations import Code
from commmodel.simulate.traces import replay
from commmodel.simulate.work.collective_expansion import Expander

RANKS = 4
COMMAND = "-m benchmarks.speed.trace_memory --sizes 64KiB --forms merged.xz"
REPLAYED = """
import resource, sys
from commmodel.simulate.traces import replay
from pathlib import Path
from benchmarks.speed.trace_memory import write
index = write(Path({place!r}), {form!r}, {size}, {ranks}, {pattern!r})
program = replay(index, {ranks})
left = set(range({ranks}))
while left:
    left -= {{rank for rank in left if not len(program.refill(rank))}}
print(program.refill.counts["actions"] if hasattr(program.refill, "counts") else 0)
print(int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024)
"""


def peak(folder, form, size, pattern):
    """Return the peak of resident memory of a process that reads a trace of about so many bytes as its ranks would."""
    place = folder / f"{form}-{size}"
    place.mkdir()
    text = REPLAYED.format(place=str(place), form=form, size=size, ranks=RANKS, pattern=pattern)
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[1])


@pytest.mark.parametrize(("form", "pattern"), [("merged", "ring"), ("files.gz", "ahead")])
def test_memory_does_not_grow_with_the_trace(tmp_path, form, pattern):
    short, long = (peak(tmp_path, form, size, pattern) for size in (8 << 20, 40 << 20))
    assert long - short < 6 << 20


def test_the_command_says_how_much_it_takes(tmp_path):
    command = [sys.executable, *COMMAND.split(), "--folder", tmp_path, "--limit"]
    done = subprocess.run([*command, "1GiB"], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "merged.xz" in done.stdout
    done = subprocess.run([*command, "16MiB"], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode != 0


def test_a_receive_posted_ahead_goes_with_the_message_that_it_was_posted_for(tmp_path):
    """The queue of requests of one name never empties, and is cut off in front from time to time."""
    rounds = 300
    receives = "0 irecv 1 7 8 6\n" + "0 irecv 1 7 8 6\n0 wait 1 0 7\n" * rounds + "0 wait 1 0 7\n"
    (tmp_path / "0").write_text(receives)
    (tmp_path / "1").write_text("1 send 0 7 8 6\n" * (rounds + 1))
    (tmp_path / "list").write_text("0\n1\n")
    program = replay(tmp_path / "list")
    operations = program.refill(0)
    posted = operations["request"][operations["code"] == Code.IRECV].tolist()
    waited = operations["request"][operations["code"] == Code.WAIT].tolist()
    assert waited == posted
    assert max(posted) <= 2


def test_collectives_of_many_sizes_are_forgotten(monkeypatch):
    monkeypatch.setattr("commmodel.simulate.work.collective_expansion._CACHED", 2000)
    expander = Expander(4, [1e9] * 4)
    first = [expander.expand(CollectiveCall("bcast", 1), rank)[0].tolist() for rank in range(4)]
    for size in range(2, 200):
        expander.expand(CollectiveCall("bcast", size), 0)
        assert sum(expander._weight_of(entry) for entry in expander._programs.values()) == expander._weight
        assert expander._weight <= 2000
    assert 1 < len(expander._programs) < 60
    assert [expander.expand(CollectiveCall("bcast", 1), rank)[0].tolist() for rank in range(4)] == first
