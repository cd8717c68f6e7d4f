"""Files of each version of each format, as they were written when it was new, are read as they were meant."""

import re
import shutil

import pytest
from support.paths import ROOT

from commmodel import guard, machine, record, results
from commmodel.collectives.library import rules, selection
from commmodel.machine import description
from commmodel.record import files as recordings
from commmodel.record.actions import RecordedActions
from commmodel.record.launching import VERSION as RECORDING
from commmodel.scaling import expectations
from commmodel.simulate import fluid, platform, run, study
from commmodel.simulate.platform import file as platforms
from commmodel.sweep import plan

FROZEN = ROOT / "tests" / "frozen"
VERSIONS = {
    "results": results.file.VERSION,
    "machine": description.VERSION,
    "platform": platforms.VERSION,
    "expectations": expectations.VERSION,
    "selector": rules.VERSION,
    "sweep": plan.VERSION,
    "recording": RECORDING,
    "study": study.VERSION,
    "guard": 1,
    "counts": 1,
}
"""Format -> the version that is written now."""


def test_there_is_a_frozen_file_of_each_version_of_each_format():
    versions = {(path.name.split("-")[0], int(path.name.split("-")[1][0])) for path in FROZEN.iterdir()}
    assert versions == {(name, number) for name, last in VERSIONS.items() for number in range(1, last + 1)}


def test_each_format_of_the_sources_is_here():
    text = "".join(path.read_text("utf-8") for path in (ROOT / "src/commmodel").rglob("*.py"))
    assert set(re.findall(r'Literal\["commmodel-(\w+)"\]|check_format\(\w+, \w+, "commmodel-(\w+)"', text)) <= {
        *((name, "") for name in VERSIONS),
        *(("", name) for name in VERSIONS),
    }


def test_results():
    (one_launch,) = results.load(FROZEN / "results-1.jsonl").launches
    assert one_launch.header.created == "2026-11-20T19:47:27+00:00"
    assert [record.configuration.message_size for record in one_launch.records] == [262144, 16, 4096, 256]
    assert one_launch.records[1].samples[:3] == (1.19192e-06, 7.9e-07, 9.1615e-07)


def test_a_fitted_machine():
    eager, rendezvous = machine.load(FROZEN / "machine-1.toml").segments
    assert (eager.protocol, eager.limit.value, eager.limit.found_by) == ("eager", 8112, "threshold")
    assert (eager.postal.alpha.value, eager.postal.beta.high) == (7.30241e-07, 3.94287e-10)
    assert (rendezvous.postal.alpha.low, rendezvous.max_rate.alpha.value) == (1.43876e-06, 1.62093e-06)
    assert rendezvous.measured[0].errors.keys() == {"postal", "max-rate"}


def test_a_machine_with_a_hybrid_model():
    graphene = machine.load(FROZEN / "machine-1-hybrid.toml")
    mode = graphene.hybrid[0].modes[0] if isinstance(graphene.hybrid, tuple) else graphene.hybrid.modes[0]
    assert (mode.kind, mode.L.value, mode.limit.value, mode.o_r.high) == (
        "asynchronous",
        2.15324e-05,
        1382,
        1.25944e-05,
    )
    assert graphene.selector == "openmpi"


def test_a_platform():
    graphene = platform.load(FROZEN / "platform-1.toml")
    assert (graphene.summary()["hosts"], graphene.summary()["links"]) == (144, 588)
    assert graphene.route(0, 143)[3:5] == ["cabinet 0 up", "cabinet 3 down"]
    assert graphene.cores[0] == 4


def test_a_study():
    runs = study.load(FROZEN / "study-1.toml").runs()
    assert len(runs) == 2 * 2 * 2 * 3
    last = study.StudyRun("switch", "bcast -n 1MiB", 16, "hybrid", "bandwidth=4")
    assert runs[-1] == last


def test_expectations():
    loaded = expectations.load(FROZEN / "expectations-1.toml")
    assert [(row.name, str(row.expect.log), dict(row.where)["n"]) for row in loaded.expectations] == [
        ("bcast", "1", 1024)
    ]
    assert [str(row.rule) for row in loaded.guidelines] == ["allgather <= gather + bcast"]


def test_a_selector():
    loaded = selection.load(FROZEN / "selector-1.toml")
    assert selection.select(loaded, "bcast", 1000, 16).segment_size == 8192
    assert selection.select(loaded, "allreduce", 4096, 2).algorithm == "recursive-doubling"
    assert loaded.fallback == "mpich"


def test_a_plan(tmp_path):
    shutil.copy(FROZEN / "sweep-1.toml", tmp_path / "sweep.toml")
    study = plan.load(tmp_path)
    assert (study.processes, study.launches, study.bench) == ((2, 4, 8), 2, ("collective", "--quick"))
    assert len(study.jobs()) == 6


@pytest.fixture
def recording():
    """Two ranks with MPICH 5.0: messages, collectives, a window."""
    return record.load(FROZEN / "recording-1")


def test_a_recording(recording):
    assert recordings.is_recording(FROZEN / "recording-1")
    assert (recording.processes, recording.command[-1]) == (2, "app.py")
    calls = record.profile(recording).to_dict()["calls"]
    counts = [calls[name]["count"] for name in ("MPI_Isend", "MPI_Recv", "MPI_Sendrecv", "MPI_Win_fence")]
    assert counts == [2, 4, 2, 4]
    assert calls["MPI_Sendrecv"]["bytes"] == 1600
    assert not recording.faults


def test_a_recording_with_layouts():
    contents = record.site_contents(record.load(FROZEN / "recording-1-layouts"))
    sent = [content for content in contents if content.is_sent]
    assert [(content.place, content.layout or content.kind, content.calls) for content in sent] == [
        ("app.py:17", "array", 5), ("app.py:16", "dict", 5), ("app.py:27", "dict", 5), ("app.py:14", "vector", 5),
        ("app.py:15", "subarray", 5), ("app.py:19", None, 5),
    ]  # fmt: skip


def test_a_recording_is_replayed(recording):
    actions = RecordedActions(recording)
    assert run(actions.program(), fluid(), platform.flat(2, 1e9, 1e-6)).ends.min() > 0
    assert not actions.notes()


def test_a_guard_and_its_counts():
    frozen = guard.load(FROZEN / "guard-1.toml")
    assert (frozen.program[0].name, frozen.program[0].processes) == ("solver", (2, 4, 6))
    assert str(frozen.program[0].expect["messages"]) == "p log p"
    counts = guard.load_counts(FROZEN / "counts-1.json")
    assert [run.processes for run in counts.runs] == [2, 4, 6]
    assert counts.runs[1].messages == 160
