"""commmodel simulate replay of recordings on other numbers of ranks, and recordings of simulated ranks."""

import json
import sys

import pytest

from commmodel import record, simulate
from commmodel.cli import main
from commmodel.record.actions import RecordedActions
from commmodel.simulate.extrapolation import StructureModel

PROGRAM = """
import time
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
buffer = np.empty(4096 // world.size)
for _ in range(3):
    world.Sendrecv(np.ones(4096 // world.size), after, 0, buffer, before, 0)
    time.sleep(1e-3 / world.size)
    world.Allreduce(np.ones(1), np.empty(1))
"""
pytestmark = pytest.mark.mpi


def outcome(capfd, *words):
    code = main(["simulate", "graphene", *words])
    return code, *capfd.readouterr()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    words = ["run", "--compute", "0", "--json"]
    for ranks in (4, 8):
        target = ["--record", str(folder / f"on-{ranks}"), "-p", str(ranks)]
        assert main(["simulate", "graphene", *words, *target, "--", sys.executable, str(program)]) == 0
    return folder


def test_a_recording_of_simulated_ranks_takes_as_long_in_its_replay(recordings, capfd):
    recording = record.load(recordings / "on-8")
    assert (recording.simulated, recording.processes, recording.oversubscription) == ("graphene", 8, ())
    words = ["run", "-p", "8", "--compute", "0", "--clocks", "simulated", "--json", "--"]
    code, output, errors = outcome(capfd, *words, sys.executable, str(recordings / "program.py"))
    assert code == 0, errors
    assert simulate.replay(recording, on="graphene").seconds == pytest.approx(json.loads(output)["seconds"], rel=1e-3)
    loop = StructureModel([RecordedActions(recording)]).sites[0]
    assert loop.body[0].first == "MPI_Sendrecv at program.py:9"


def test_recordings_say_what_a_program_does_on_more_ranks(recordings, capfd):
    folders = [str(recordings / name) for name in ("on-4", "on-8")]
    words = ["run", "-p", "32", "--compute", "0", "--clocks", "simulated", "--json", "--"]
    _, output, _ = outcome(capfd, *words, sys.executable, str(recordings / "program.py"))
    run = json.loads(output)
    code, output, errors = outcome(capfd, "replay", *folders, "-p", "32", "--json")
    extrapolated = json.loads(output)
    assert code == 0, errors
    assert extrapolated["messages"] == run["messages"]
    assert extrapolated["seconds"] == pytest.approx(run["seconds"], rel=0.01)
    assert extrapolated["work"]["recorded_processes"] == [4, 8]
    code, output, _ = outcome(capfd, "replay", *folders, "-p", "4:32", "--json", "--workers", "1")
    runs = json.loads(output)["runs"]
    assert code == 0
    assert [entry["processes"] for entry in runs] == [4, 8, 16, 32]
    assert runs[3]["seconds"] == extrapolated["seconds"]


@pytest.mark.parametrize(
    ("folders", "words", "problem"),
    [
        (["on-4", "on-8"], [], "several recordings: give the number of processes"),
        (["on-4"], ["-p", "16"], "say strong or weak"),
        (["on-4"], ["--scaling", "weak"], "leave it out"),
        (["on-4"], ["-p", "16", "--process-grid", "4xx"], "'' is no whole number"),
        (["program.py", "on-4"], ["-p", "16"], "program.py is no recording"),
    ],
)
def test_what_cannot_be_told_is_one_line(recordings, capfd, folders, words, problem):
    code, output, errors = outcome(capfd, "replay", *[str(recordings / name) for name in folders], *words)
    assert (code, output) == (2, "")
    assert problem in errors.replace("-p", "processes") or problem in errors
    assert len(errors.splitlines()) == 1


def test_a_recording_is_of_one_run(recordings, capfd):
    code, _, errors = outcome(capfd, "run", "-p", "2,4", "--record", "r", "--", sys.executable, "program.py")
    assert code == 2
    assert "--record is of one run" in errors
    code, _, errors = outcome(
        capfd, "run", "-p", "2", "--record", str(recordings / "on-4"), "--", sys.executable, "x.py"
    )
    assert code == 2
