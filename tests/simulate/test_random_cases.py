"""Random cases of `tools.peers`: the same again, free of deadlocks, and small when they are shrunk."""

import pytest
from tools.peers import differences
from tools.peers.differences import Comparison, random_experiment, shrunk
from tools.peers.replays import our_seconds, read_cases


@pytest.mark.parametrize("number", range(30))
def test_random_programs_end(number):
    experiment = random_experiment(0, number)
    assert experiment == random_experiment(0, number)
    assert our_seconds(experiment.case()) > 0


@pytest.mark.parametrize("number", range(5))
def test_smaller_programs_end(number):
    experiment = random_experiment(0, number)
    for smaller in experiment.smaller():
        if smaller.platform == experiment.platform:
            our_seconds(smaller.case())


def test_a_case_is_shrunk_to_what_makes_it_differ(monkeypatch):
    def compare(case, _peer):
        our_seconds(case)
        return Comparison(1.0, 2.0 if any("bcast" in action for action in case.ranks[0]) else 1.0)

    def tolerant(case, peer):
        try:
            return compare(case, peer)
        except ValueError as error:
            return Comparison(problem=str(error))

    experiment = next(
        experiment
        for experiment in (random_experiment(0, number) for number in range(100))
        if len(experiment.phases) > 2 and compare(experiment.case(), None).error
    )
    monkeypatch.setattr(differences, "compare", tolerant)
    small = shrunk(experiment, None, 1e-4)
    assert [phase.action for phase in small.phases] == ["bcast"]
    assert len(small.hosts) == 2
    assert len(small.platform) < len(experiment.platform)


def test_a_case_is_read_as_it_was_written(tmp_path):
    case = random_experiment(0, 1).case()
    path = tmp_path / "case.toml"
    path.write_text(f'[[case]]\nreason = "none"\n{case.text()}')
    ((again, result),) = read_cases(path)
    assert again.ranks == case.ranks
    assert again.hosts == case.hosts
    assert again.platform.split() == case.platform.split()
    assert result == {"reason": "none"}
