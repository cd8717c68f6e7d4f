"""Models: published values, the limits that join one formula to another, and one definition run two ways."""

import math
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.models import REGISTRY, Formula, maxrate, postal

CHECKS = tomllib.loads(Path(__file__).with_name("oracles").joinpath("max_rate.toml").read_text("utf-8"))["check"]

ALPHA, RATE, SIZE, PAIRS = (
    st.floats(1e-9, 1.0),
    st.floats(1e3, 1e13),
    st.floats(0, 1e12),
    st.integers(1, 1024),
)
DRAWN = {
    "message_size": SIZE | st.integers(0, 2**40).map(float),
    "pairs": PAIRS.map(float),
    "alpha": ALPHA,
    "beta": st.floats(0, 1e-3),
    "R_N": RATE | st.just(math.inf),
    "R_C": RATE,
}
"""Name of an argument -> numbers that a machine could have."""


def argument_names(formula):
    return formula.python.__code__.co_varnames[: formula.python.__code__.co_argcount]


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.uint64)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check["source"])
def test_published_values_come_out_in_every_digit(check):
    formula = REGISTRY[check["formula"]]
    computed = formula(*(check["arguments"][name] for name in argument_names(formula)))
    assert f"{computed:.{check['digits'] - 1}e}" == f"{check['value']:.{check['digits'] - 1}e}"


def test_every_formula_has_a_published_value_and_its_arguments_are_known():
    assert {check["formula"] for check in CHECKS} >= {
        "postal",
        "max-rate",
        "max-rate aggregate",
        "max-rate processes",
    }
    for name, formula in REGISTRY.items():
        assert set(argument_names(formula)) <= DRAWN.keys(), name


@pytest.mark.parametrize("name", REGISTRY)
@given(st.data())
def test_arrays_give_what_numbers_give_bit_for_bit(name, data):
    formula = REGISTRY[name]
    columns = [data.draw(st.lists(DRAWN[argument], min_size=8, max_size=8)) for argument in argument_names(formula)]
    one_by_one = [formula(*numbers) for numbers in zip(*columns, strict=True)]
    at_once = formula(*map(np.array, columns))
    assert at_once.dtype == np.float64
    assert np.array_equal(bits(at_once), bits(one_by_one))


@given(SIZE, PAIRS, ALPHA, RATE)
def test_max_rate_at_an_infinite_node_rate_is_the_postal_model(size, pairs, alpha, rate):
    assert maxrate.time(size, pairs, alpha, math.inf, rate) == pytest.approx(postal.time(size, alpha, 1 / rate))


@given(SIZE, ALPHA, RATE, st.floats(1, 1e6))
def test_max_rate_of_one_pair_is_the_postal_model_while_the_node_is_faster(size, alpha, rate, times):
    assert maxrate.time(size, 1, alpha, times * rate, rate) == pytest.approx(postal.time(size, alpha, 1 / rate))


@given(SIZE, PAIRS, ALPHA, RATE, RATE)
def test_max_rate_lies_between_the_latency_aware_model_and_alpha_more(size, pairs, alpha, R_N, R_C):
    latency_aware = max(pairs * size / R_N, alpha + size / R_C)  # Gropp 2016, Eq 5
    difference = maxrate.time(size, pairs, alpha, R_N, R_C) - latency_aware
    rounding = 1e-14 * latency_aware
    assert -rounding <= difference <= alpha + rounding
    if pairs * R_C <= R_N:
        assert abs(difference) <= rounding


@given(st.integers(2, 1024), ALPHA, RATE, st.floats(1e-3, 1))
def test_postal_over_max_rate_of_large_messages_is_equation_6(pairs, alpha, R_C, share):
    R_N, size = share * R_C, 1e12 * R_C
    ratio = postal.time(size, alpha, 1 / R_C) / maxrate.time(size, pairs, alpha, R_N, R_C)
    assert ratio == pytest.approx(R_N / (pairs * R_C))


@given(SIZE, PAIRS, ALPHA, RATE, RATE)
def test_more_pairs_take_no_less_time_and_move_no_more_than_the_node_can(size, pairs, alpha, R_N, R_C):
    alone, together = (maxrate.time(size, k, alpha, R_N, R_C) for k in (pairs, pairs + 1))
    assert together >= alone * (1 - 1e-15)
    assert maxrate.aggregate_rate(size, pairs, alpha, R_N, R_C) <= min(R_N, pairs * R_C) * (1 + 1e-15)


@given(RATE, RATE)
def test_the_best_number_of_processes_is_the_least_that_fills_the_node(R_N, R_C):
    best = maxrate.best_process_count(R_N, R_C)
    assert best >= 1
    assert min(R_N, best * R_C) == pytest.approx(min(R_N, 1e6 * best * R_C))
    assert best == 1 or 0.99 * best * R_C < R_N


def test_an_unlimited_node_has_room_for_every_process():
    assert maxrate.best_process_count(math.inf, 1e9) == math.inf


def test_arrays_lists_and_numbers_broadcast():
    sizes, pairs = np.array([[0], [1000], [10**6]]), np.array([1, 2, 4, 8])
    times = maxrate.time(sizes, pairs, 1e-6, 4e9, 1e9)
    assert times.shape == (3, 4)
    for (row, column), seconds in np.ndenumerate(times):
        assert seconds == maxrate.time(int(sizes[row, 0]), int(pairs[column]), 1e-6, 4e9, 1e9)
    assert np.array_equal(postal.time([0, 1000], (1e-6, 2e-6), 1e-9), [1e-6, 3e-6])
    assert postal.time(np.array([]), 1e-6, 1e-9).shape == (0,)
    assert postal.time(np.float32(8) * np.ones(2, np.float32), 1e-6, 0.5).dtype == np.float64


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match="broadcast"):
        postal.time(np.zeros(3), np.zeros(4), 1e-9)


def test_numbers_give_plain_floats():
    assert type(postal.time(1000, 1e-6, 1e-9)) is float


@pytest.mark.parametrize("name", REGISTRY)
def test_without_numba_numbers_still_work(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it fails
    formula = Formula(REGISTRY[name].python)
    arguments = [2.0] * len(argument_names(formula))
    assert formula(*arguments) == formula.python(*arguments)
    with pytest.raises(ImportError):
        formula(*map(np.array, arguments))


SCRIPT = """
import sys
import numpy as np
import own
print(own.double(3.0), "numba" in sys.modules, own.double(np.array([1.0, 2.0])).tolist())
"""
OWN = """
from commmodel.models import formula
@formula.formula
def double(x):
    return 2 * x
"""


@pytest.fixture
def run_with_own_formula(tmp_path):
    """Run a formula of a new module in a new process, with the cache of compiled code in the folder named."""
    (tmp_path / "own.py").write_text(OWN, "utf-8")
    (tmp_path / "__pycache__").write_text("a file, so that no folder can be made here", "utf-8")

    def run(cache_folder):
        nowhere = str(tmp_path / "__pycache__" / "under a file")
        places = {"NUMBA_CACHE_DIR": str(cache_folder), "HOME": nowhere, "XDG_CACHE_HOME": nowhere}
        command = [sys.executable, "-B", "-W", "always::RuntimeWarning", "-c", SCRIPT]
        environment = os.environ | places
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)

    return run


def test_compiled_code_is_kept_for_the_next_start(run_with_own_formula, tmp_path):
    done = run_with_own_formula(tmp_path / "cache")
    assert done.stdout == "6.0 False [2.0, 4.0]\n"
    assert "NUMBA_CACHE_DIR" not in done.stderr
    assert list((tmp_path / "cache").rglob("own.double*.nbi"))


def test_without_a_writable_cache_arrays_work_and_a_warning_names_the_mend(run_with_own_formula, tmp_path):
    done = run_with_own_formula(tmp_path / "__pycache__" / "cache")
    assert done.stdout == "6.0 False [2.0, 4.0]\n"
    assert "compiling in memory" in done.stderr
    assert "set NUMBA_CACHE_DIR to a writable folder" in done.stderr
