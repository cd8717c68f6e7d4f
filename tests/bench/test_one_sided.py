"""The kernel one-sided: what it plans, and a run with each operation."""

import sys

import pytest
from support.launching import launch

from commmodel.bench.kernels import REGISTRY, buffer_bytes, left_out
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.errors import InputError
from commmodel.results import configuration_words, load
from commmodel.results.configurations import OneSided

PAIR = place([0, 0], [0, 0])


def planned(*words):
    return make_plan(parse(["one-sided", "--seed", "1", *words]).options, PAIR)


def test_all_operations_are_flushed_on_allocated_windows_unless_asked_otherwise():
    plan = planned("--sizes", "1,64")
    sized = {(name, size) for name in ("put", "get", "accumulate", "get-accumulate") for size in (1, 64)}
    assert {(row.operation, row.message_size) for row in plan} == sized | {("fetch-and-op", 8), ("compare-and-swap", 8)}
    assert {(row.synchronisation, row.window) for row in plan} == {("flush", "allocate")}
    assert buffer_bytes(plan) == (64, 128)
    words = ("--window-operations", "put", "--synchronisations", "lock,fence", "--windows", "all")
    assert {(row.operation, row.synchronisation, row.window) for row in planned(*words)} == {
        ("put", how, memory) for how in ("lock", "fence") for memory in ("allocate", "create")
    }


def test_accumulates_of_more_elements_than_an_int_counts_are_left_out_and_said():
    options = parse(["one-sided", "--sizes", "1,4GiB"]).options
    sizes = {(row.operation, row.message_size) for row in make_plan(options, PAIR)}
    assert ("put", 4 << 30) in sizes
    assert ("accumulate", 4 << 30) not in sizes
    assert left_out(options) == [
        "one-sided: left out, as an int does not count their elements: accumulates above 2 GiB"
    ]
    assert left_out(parse(["one-sided", "--sizes", "1,4GiB", "--window-operations", "put"]).options) == []


@pytest.mark.parametrize("option", ["--window-operations", "--synchronisations", "--windows"])
def test_an_unknown_word_is_refused_with_the_option(option):
    with pytest.raises(InputError, match=rf"{option}: unknown .* 'flsh'"):
        parse(["one-sided", option, "flsh"])


def test_a_configuration_is_told_in_words():
    configuration = OneSided("put", 1024, "same-node", "fence", "create")
    assert configuration_words(configuration) == "one-sided put, 1 KiB, same-node, fence, create"
    assert REGISTRY["one-sided"].effort(configuration).messages == 2


@pytest.mark.mpi
def test_a_run_measures_every_operation_and_completion(tmp_path):
    output = tmp_path / "results.jsonl"
    words = ("--sizes", "8", "--synchronisations", "all", "--windows", "all", "--repetitions", "3", "--time", "60s")
    done = launch(2, sys.executable, "-m", "commmodel.bench", "one-sided", *words, "-o", output)
    assert done.returncode == 0, done.stderr
    records = load(output).records
    assert len([*records]) == 6 * 6 * 2
    assert all(min(record.samples) > 0 for record in load(output).records)
