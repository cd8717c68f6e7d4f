"""What is done where a launch fails, and for how long launches go on."""

import time
from collections.abc import Mapping

import pytest

from commmodel.bench.launches import start_launch
from commmodel.errors import MPIEnvironmentError
from commmodel.progress import ProgressLine
from commmodel.results import Writer
from commmodel.tuning.launches import RuleLaunches
from commmodel.tuning.search import DEFAULT_CHOICE, CollectiveCell

BCAST, REDUCE = (CollectiveCell(operation, 1024, 8) for operation in ("bcast", "reduce"))
OTHER = BCAST._replace(message_size=64)


class FailingLaunches(RuleLaunches):
    """Launches that fail with the broadcast by a chain, or always."""

    fails_always = False

    def _launched(self, picks: Mapping, rules):  # noqa: ARG002
        self.count += 1
        if self.fails_always or "chain" in picks.values():
            return None
        return {pick: [1e-6] for pick in picks.items()}


@pytest.fixture
def launches(tmp_path):
    with Writer(tmp_path / "rules.jsonl") as writer:
        line, cells = ProgressLine("measuring"), [BCAST, REDUCE, OTHER]
        yield FailingLaunches("mpich", ["mpiexec"], 60.0, writer, line, cells, lambda _: "binomial", tmp_path)


def test_of_a_launch_that_fails_each_operation_is_tried_alone(launches):
    samples = launches.measure({BCAST: "chain", REDUCE: "binomial"})
    assert set(samples) == {(REDUCE, "binomial")}
    assert launches.warnings == ["bcast failed with chain: these are left out"]
    assert launches.count == 3


def test_cells_without_a_pick_get_what_may_be_the_fastest(launches):
    picks = {BCAST: "binary", CollectiveCell("bcast", 64, 16): "binary"}
    assert launches.measure(picks)[OTHER, "binomial"] == [1e-6]
    assert set(launches.measure({BCAST: DEFAULT_CHOICE})) == {(BCAST, DEFAULT_CHOICE)}


def test_without_the_library_s_own_choice_nothing_can_be_said(launches):
    launches.fails_always = True
    with pytest.raises(MPIEnvironmentError, match="mpiexec could not measure collectives"):
        launches.measure({BCAST: DEFAULT_CHOICE})


def test_time_is_left_for_launches_without_and_with_rules(launches):
    assert 0 < launches.seconds_left < 60 - 3 * 2 * launches.duration + 1e-6
    launches.before = 55.0
    assert launches.seconds_left == 0


def test_a_launch_that_hangs_is_ended():
    begin = time.monotonic()
    assert start_launch(["sleep", "60"], set(), {}, timeout=0.2) != 0
    assert time.monotonic() - begin < 30
