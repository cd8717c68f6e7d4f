"""The kernel halo, and what holds for a kernel that the rest of the package does not know."""

import sys

import msgspec
import pytest
from support.launching import launch
from support.report_samples import header, shown

from commmodel.bench.kernels import REGISTRY, buffer_bytes, kernel_of, left_out, participants
from commmodel.bench.kernels.halo import steps
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.report import measurements_table
from commmodel.results import Launch, Measurements, Record, columns, configuration_words, describe, load
from commmodel.results.configurations import Halo


def options(*words, procs):
    return msgspec.structs.replace(parse(["halo", "--seed", "1", *words]).options, procs=procs)


def test_every_number_of_neighbours_is_planned_that_a_ring_has_room_for():
    result = options("--sizes", "8,1KiB", "--neighbours", "1,2,4", procs=(2, 4))
    plan = make_plan(result, place([0] * 4, [0] * 4))
    rings = {(2, 1), (2, 2), (4, 1), (4, 2), (4, 4)}
    assert {(configuration.processes, configuration.neighbours) for configuration in plan} == rings
    assert len(plan) == 2 * len(rings)
    assert left_out(result) == ["halo: left out, as a rank would be its own neighbour: 4 on 2 processes"]
    assert buffer_bytes(plan) == (4096, 4096)
    assert participants(Halo(8, 2, 3), {}) == [0, 1, 2]


def test_neighbours_lie_on_both_sides_and_what_one_sends_another_receives():
    for neighbours in range(1, 7):
        away = steps(neighbours)
        sent = sorted((rank, (rank + step) % 4) for rank in range(4) for step in away)
        received = sorted(((rank - step) % 4, rank) for rank in range(4) for step in away)
        assert sent == received


def test_programs_that_do_not_know_a_kernel_show_its_records_by_its_columns():
    halo = Halo(1024, 4, 8)
    assert kernel_of(halo) is REGISTRY["halo"]
    assert configuration_words(halo) == "halo, 1 KiB, neighbours = 4, p = 8"
    assert columns(halo) == {"message size": "1 KiB", "neighbours": "4", "processes": "8"}
    assert describe(halo) == ("halo", "", {"n": 1024.0, "neighbours": 4.0, "p": 8.0})
    records = tuple(Record(Halo(1024, 4, count), "s", (3e-6,) * 9) for count in (8, 4))
    text = shown(measurements_table(Measurements((Launch(header(), records),))))
    assert [line.split()[:6] for line in text.splitlines() if "3.00 us" in line] == [
        ["1", "KiB", "4", count, "3.00", "us"] for count in ("4", "8")
    ]
    assert "halo: 2 × complete" in text


@pytest.mark.mpi
def test_a_run_measures_rings_of_all_ranks(tmp_path):
    output = tmp_path / "results.jsonl"
    words = ("halo", "--sizes", "8", "--repetitions", "20", "--time", "60s", "-o", output)
    done = launch(4, sys.executable, "-m", "commmodel.bench", *words)
    assert done.returncode == 0, done.stderr
    configurations = {record.configuration for record in load(output).records}
    assert configurations == {Halo(8, 2, 2), Halo(8, 2, 4), Halo(8, 4, 4)}
    assert all(min(record.samples) > 0 for record in load(output).records)
