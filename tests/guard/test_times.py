"""Times in turns: as many pairs as there is time for, and as many repetitions as say most about launches."""

import numpy as np
import pytest

from commmodel.guard import GuardTimes, times
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Function

HEADER = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
START, REPETITION = 1.0, 0.1


class Machine:
    """A machine on which launches take seconds of a clock of its own, and differ by a share."""

    def __init__(self, monkeypatch, scatter):
        self.random, self.scatter, self.now, self.repetitions, self.launches = (
            np.random.default_rng(3),
            scatter,
            0,
            [],
            {},
        )
        monkeypatch.setattr(times, "monotonic", lambda: self.now)
        monkeypatch.setattr(times, "measure_in_turns", self.measure)

    def launch(self, repetitions):
        off = np.exp(self.random.normal(0, self.scatter))
        samples = REPETITION * off * np.exp(np.abs(self.random.normal(0, 0.05, repetitions)))
        self.now += START + samples.sum()
        return Launch(HEADER, (Record(Function("f", "time", ()), "s", tuple(samples.tolist())),))

    def measure(self, plan, pairs, folder):
        repetitions = int(plan.command.split()[-1])
        sides = self.launches.setdefault(folder, ([], []))
        while len(sides[0]) < pairs:
            for side in sides:
                side.append(self.launch(repetitions))
        self.repetitions.append(repetitions)
        return Measurements(tuple(sides[0])), Measurements(tuple(sides[1]))


@pytest.mark.parametrize("command", ["run {side} {output} 20", "run {side} {output} {repetitions}"])
def test_there_are_as_many_pairs_as_there_is_time_for(monkeypatch, command):
    machine = Machine(monkeypatch, 0.2)
    before, after = times.measure_sides(GuardTimes(command, time="10min"), "base", 1)
    assert len(before.launches) == len(after.launches)
    assert 540 < machine.now < 615
    assert len(machine.repetitions) < 15  # times that files are read again
    if "{repetitions}" in command:
        assert {*machine.repetitions} == {20, times.FEWEST_REPETITIONS}
        assert len(before.launches) > 200
    else:
        assert len(before.launches) < 110


def test_there_are_as_many_launches_as_asked_for_without_time(monkeypatch):
    Machine(monkeypatch, 0.2)
    for command in ("run {side} {output} 20", "run {side} {output} {repetitions}"):
        before, after = times.measure_sides(GuardTimes(command, launches=7, time="1s"), "base", 1)
        assert len(before.launches) == len(after.launches) == 7


def test_launches_that_hardly_differ_have_more_repetitions(monkeypatch):
    numbers = []
    for scatter in (0.3, 0.01, 0.0):
        machine = Machine(monkeypatch, scatter)
        times.measure_sides(GuardTimes("run {side} {output} {repetitions}"), "base", 1)
        numbers.append(machine.repetitions[-1])
    assert numbers == sorted(numbers)
    assert numbers[0] == times.FEWEST_REPETITIONS < numbers[-1]


def test_launches_without_repeated_times_keep_their_number():
    once = Measurements((Launch(HEADER, (Record(Function("f", "time", ()), "s", (1.0,)),)),) * 3)
    assert times.best_repetitions((once, once), 2.0) == times.FIRST_REPETITIONS
