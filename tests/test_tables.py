"""Results as tables for pandas, and what they look like in a terminal."""

import numpy as np
import pytest
from support.report_samples import FULL, cluster, cluster_measurements, machine
from support.timelines import random_timeline

from commmodel.collectives import ALGORITHMS
from commmodel.collectives.schedule import Problem, flatten
from commmodel.fit.points import collect
from commmodel.simulate import fluid, platform, run
from commmodel.simulate.states import SIMULATED, STATE_NAMES
from commmodel.simulate.work import collective


@pytest.fixture(scope="module")
def simulated():
    graphene = platform.load("graphene")
    program = collective("alltoall", Problem(8, 1024), algorithm="pairwise")
    return graphene, program, run(program, fluid(), graphene)


def columns(table):
    """Return the length of the columns, which is one, so that pandas takes them."""
    (length,) = {len(column) for column in table.values()}
    return length


def test_measurements_are_a_table():
    table = FULL.to_dict()
    assert columns(table) == len(list(FULL.records))
    assert list(table)[:2] == ["launch", "kernel"]
    first = next(iter(FULL.records))
    assert table["median"][0] == first.summary.median
    assert table["pairs"][table["kernel"].index("pingpong")] is None


def test_a_machine_is_a_table():
    table = machine().to_dict()
    values = [
        dict(zip(table, row, strict=True))
        for row in zip(*table.values(), strict=True)
        if row[list(table).index("parameter")] == "alpha"
    ]
    assert [(entry["protocol"], entry["model"], entry["value"]) for entry in values] == [
        ("eager", "postal", 0.75e-6), ("eager", "max_rate", 0.75e-6),
        ("rendezvous", "postal", 1.5e-6), ("rendezvous", "max_rate", 1.5e-6),
    ]  # fmt: skip
    assert {entry["unit"] for entry in values} == {"s"}
    assert columns(cluster().to_dict()) > 50


def test_an_outcome_is_a_table(simulated):
    outcome = simulated[-1]
    table = outcome.to_dict()
    assert columns(table) == 8
    states = [STATE_NAMES[state] for state in SIMULATED]
    assert np.sum([table[name] for name in states], axis=0) == pytest.approx(outcome.spent.sum(axis=1))


def test_what_a_terminal_shows_fits_a_line(simulated):
    schedule = flatten(8, ALGORITHMS["alltoall"]["pairwise"](Problem(8, 1024)))
    shown = [
        *(FULL, FULL.launches[0], *FULL.records, cluster(), *cluster().segments, cluster_measurements()),
        *(*simulated, random_timeline(4, 100), schedule, *collect(FULL).values()),
    ]
    for entry in shown:
        assert "\n" not in repr(entry)
        assert len(repr(entry)) <= 120, repr(entry)
        assert type(entry).__name__ in repr(entry)
