"""Tuning by launches of a library whose times are library_of_rules: whole runs, and such that are interrupted."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from commmodel import results, tuning
from commmodel.collectives.library import selection
from commmodel.errors import InputError
from commmodel.results import Header, Launch, Measurements, Record
from commmodel.results.configurations import Collective
from commmodel.results.records import Host, Library, Rank
from commmodel.simulate.scenario import machine_of_parameters
from commmodel.tuning import duel, launches

MACHINE = machine_of_parameters("L=1us,o=200ns,g=100ns,G=0.1ns")
PAIRS = 4
SIZES = [64, 1024, 16384]
SECONDS = {"": 3e-5, "default": 3e-5, "binary": 2e-5}
"""Of a broadcast by each algorithm; by others 0.1 ms."""


class KnownLibrary:
    """Stands in for launches: answers by the file of rules that they would use."""

    def __init__(self, most=10**9, hosts=1):
        self.count, self.most, self.hosts = 0, most, hosts
        self.random = np.random.default_rng(1)

    def start_launch(self, command, printed, environment, timeout):  # noqa: ARG002
        if self.count == self.most:
            raise KeyboardInterrupt
        self.count += 1
        options = dict(pairwise(command))
        path = environment.get("OMPI_MCA_coll_tuned_dynamic_rules_filename")
        rules = selection.load(path) if path else None
        records = []
        for size in map(int, options["--sizes"].split(",")):
            for count in map(int, options["--process-counts"].split(",")):
                name = selection.select(rules, "bcast", size, count).algorithm if rules else ""
                seconds = SECONDS.get(name, 1e-4) * np.exp(self.random.normal(0, 0.01, 9))
                records.append(Record(Collective("bcast", size, count), "s", tuple(seconds.tolist()), duration=0.01))
        ranks = tuple(Rank(rank, rank % self.hosts) for rank in range(4))
        hosts = tuple(Host(f"node{host}") for host in range(self.hosts))
        header = Header("commmodel-results", 1, "2026-01-01", (), Library("MPI"), hosts, ranks)
        results.dump(Measurements((Launch(header, tuple(records)),)), options["-o"])
        return 0


@pytest.fixture
def library(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launches.RuleLaunches, "ranks", lambda _: 4)
    monkeypatch.setattr(duel, "MOST_PAIRS", PAIRS)

    def use(**how):
        library_of_rules = KnownLibrary(**how)
        monkeypatch.setattr(launches, "start_launch", library_of_rules.start_launch)
        return library_of_rules

    return use


def tune(counts=(4,), *, resume=False, **how):
    where = tuning.TuningLaunches("rules.jsonl", 1e4, "mpiexec -n 4", resume=resume)
    return tuning.tune(MACHINE, counts, SIZES, "openmpi", where, collectives=["bcast"], **how)


def test_the_fastest_wins(library):
    library_of_rules = library()
    answer = tune()
    assert library_of_rules.count == answer.launches
    assert {row[3] for row in answer.choices if row[1] in SIZES} == {"binary"}
    assert answer.pairs == PAIRS


@pytest.mark.parametrize("most", [2, "pair", "half a pair"])
def test_an_interrupted_run_goes_on(library, most):
    exploring = library().count if isinstance(most, int) else tune_and_count(library)
    library(most=most if isinstance(most, int) else exploring + (5 if most == "half a pair" else 4))
    with pytest.raises(KeyboardInterrupt):
        tune()
    before = results.load("rules.jsonl").launches
    library_of_rules = library()
    answer = tune(resume=True)
    assert results.load("rules.jsonl").launches[: len(before)] == before
    assert {row[3] for row in answer.choices if row[1] in SIZES} == {"binary"}
    assert answer.pairs == PAIRS
    if not isinstance(most, int):
        assert library_of_rules.count == 2 * (PAIRS - 2)  # two pairs were there


def test_a_run_with_more_processes_explores_them_and_its_own_pairs_go_on(library, monkeypatch):
    library()
    tune()
    monkeypatch.setattr(launches.RuleLaunches, "ranks", lambda _: 8)
    library(most=9)
    with pytest.raises(KeyboardInterrupt):
        tune([4, 8], resume=True)
    library()
    answer = tune([4, 8], resume=True)
    assert {row[2] for row in answer.choices if row[1] in SIZES and row[3] == "binary"} == {4, 8}
    assert answer.pairs == PAIRS


def tune_and_count(library):
    """Return the launches before the pairs of a whole run."""
    count = library().count
    answer = tune()
    Path("rules.jsonl").unlink()
    return count + answer.launches - 2 * answer.pairs


def test_other_processes_on_a_node_than_the_launcher_starts_are_refused(library):
    library(hosts=2)
    with pytest.raises(InputError, match=re.escape("the launcher starts 2 processes on a node, not 4: give 2")):
        tune(per_node=4)
