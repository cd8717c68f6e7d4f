"""Models: published values, the limits that join one formula to another, and one definition run two ways."""

import inspect
import math
import os
import pickle
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ORACLES

import commmodel
from commmodel.errors import InputError
from commmodel.models import REGISTRY, Formula, halo, maxrate, nodeaware, postal, surface

CHECKS = [
    check
    for name in ("max_rate.toml", "loggp.toml", "overlap.toml", "calls.toml", "device.toml", "pieces.toml")
    for check in tomllib.loads(ORACLES.joinpath(name).read_text("utf-8"))["check"]
]

ALPHA, RATE, SIZE, PAIRS = (
    st.floats(1e-9, 1.0),
    st.floats(1e3, 1e13),
    st.floats(0, 1e12),
    st.integers(1, 1024),
)
SECONDS = st.floats(0, 10)
DRAWN = {
    "message_size": SIZE | st.integers(0, 2**40).map(float),
    "pairs": PAIRS.map(float),
    "alpha": ALPHA,
    "beta": st.floats(0, 1e-3),
    "R_N": RATE | st.just(math.inf),
    "R_C": RATE,
    "R_Cb": RATE,
    "R_Ci": RATE | st.just(0.0),
    "neighbours": st.integers(1, 64).map(float),
    "messages": st.integers(0, 10**6).map(float),
    "volume": SIZE,
    "link_volume": SIZE,
    "paths_time": st.floats(0, 1e3),
    "queue_search": st.floats(0, 1e-3),
    "link_contention": st.floats(0, 1e-3),
    "processes": st.integers(1, 2**20).map(float),
    "segment_size": st.floats(1, 1e12),
    "steps": st.integers(0, 2**20).map(float),
    **dict.fromkeys(("L", "o", "g", "G", "memory_copy", "reduction", "step", "crosstalk"), SECONDS),
    **dict.fromkeys(("message_time", "copy_out", "copy_in", "byte_time"), SECONDS),
    **dict.fromkeys(("plogp_L", "gap", "send_overhead", "receive_overhead"), SECONDS),
    **dict.fromkeys(("burst", "peers", "queue_depth"), PAIRS.map(float)),
    **dict.fromkeys(("computation", "seconds", "chosen", "best", "G_V"), SECONDS),
    "blocking": st.floats(11, 20),
    "outstanding_volume": SIZE,
    "progress": st.floats(0, 1),
    "under_way": st.sampled_from([1.0, 2.0]),
}
"""Name of an argument -> numbers that a machine could have."""


SOME_BYTES = st.floats(1, 1e12)
DRAWN_FOR = {"loggp byte time from plogp": {"message_size": SOME_BYTES}} | {
    name: {"volume": SOME_BYTES, "message_size": SOME_BYTES, "G_V": st.floats(1e-12, 1)}
    for name in REGISTRY
    if name.startswith("overlap ")
}
DRAWN_FOR["overlap all-to-all best burst"] |= {"peers": st.floats(2, 1024), "G": st.floats(1e-12, 1)}
"""Name of a formula -> what its arguments cannot be drawn from above: it divides by the size."""


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
    assert {check["formula"] for check in CHECKS} == REGISTRY.keys()
    for name, formula in REGISTRY.items():
        assert set(argument_names(formula)) <= DRAWN.keys(), name


@pytest.mark.parametrize("name", REGISTRY)
@given(st.data())
def test_arrays_give_what_numbers_give_bit_for_bit(name, data):
    formula = REGISTRY[name]
    drawn = DRAWN | DRAWN_FOR.get(name, {})
    columns = [data.draw(st.lists(drawn[argument], min_size=8, max_size=8)) for argument in argument_names(formula)]
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
    latency_aware = maxrate.latency_aware_time(size, pairs, alpha, R_N, R_C)
    difference = maxrate.time(size, pairs, alpha, R_N, R_C) - latency_aware
    rounding = 1e-14 * latency_aware
    assert -rounding <= difference <= alpha + rounding
    if pairs * R_C <= R_N:
        assert abs(difference) <= rounding


@given(st.floats(1, 1e12), PAIRS, ALPHA, RATE, RATE)
def test_the_latency_aware_model_is_the_printed_equation_5(size, pairs, alpha, R_N, R_C):
    printed = pairs * size / min(R_N, pairs * size / (alpha + size / R_C))
    assert maxrate.latency_aware_time(size, pairs, alpha, R_N, R_C) == pytest.approx(printed)


@given(SIZE, ALPHA, RATE, RATE, st.floats(1, 1e6))
def test_the_extended_model_of_one_pair_is_the_postal_model_while_the_node_is_faster(size, alpha, R_Cb, R_Ci, times):
    extended = maxrate.extended_time(size, 1, alpha, times * R_Cb, R_Cb, R_Ci)
    assert extended == pytest.approx(postal.time(size, alpha, 1 / R_Cb))


@given(SIZE, PAIRS, ALPHA, RATE | st.just(math.inf), RATE)
def test_the_extended_model_of_equal_processes_is_the_max_rate_model(size, pairs, alpha, R_N, R_C):
    extended = maxrate.extended_time(size, pairs, alpha, R_N, R_C, R_C)
    assert extended == pytest.approx(maxrate.time(size, pairs, alpha, R_N, R_C))


@given(SIZE, PAIRS, ALPHA, RATE)
def test_without_further_rate_and_node_limit_time_grows_with_all_bytes(size, pairs, alpha, R_Cb):
    reduced = alpha + pairs * size / R_Cb  # Gropp 2016, Section 4.1.1, short messages
    assert maxrate.extended_time(size, pairs, alpha, math.inf, R_Cb, 0.0) == pytest.approx(reduced)


@given(RATE, RATE, RATE)
def test_the_best_number_of_extended_processes_is_the_least_that_fills_the_node(R_N, R_Cb, R_Ci):
    best = maxrate.best_process_count_extended(R_N, R_Cb, R_Ci)
    assert best >= 1
    assert R_Cb + (best - 1) * R_Ci >= R_N * (1 - 1e-9)
    assert best == 1 or R_Cb + (0.999 * best - 1) * R_Ci < R_N


def test_processes_that_add_nothing_never_fill_a_node_that_one_does_not():
    assert maxrate.best_process_count_extended(5e9, 4e9, 0.0) == math.inf
    assert maxrate.best_process_count_extended(4e9, 4e9, 0.0) == 1
    assert maxrate.best_process_count_extended(math.inf, 4e9, 0.0) == math.inf
    assert maxrate.best_process_count_extended(math.inf, 4e9, 1e8) == math.inf


@given(PAIRS, RATE | st.just(math.inf), RATE)
def test_the_postal_model_is_never_slower_for_large_messages(pairs, R_N, R_C):
    ratio = maxrate.postal_over_max_rate(pairs, R_N, R_C)
    assert 0 < ratio <= 1
    if pairs * R_C <= R_N:
        assert ratio == 1


@given(st.integers(1, 64), SIZE, PAIRS, ALPHA, RATE, RATE)
def test_a_halo_exchange_is_a_message_for_each_neighbour(neighbours, size, pairs, alpha, R_N, R_C):
    seconds = halo.time(neighbours, size, pairs, alpha, R_N, R_C)
    assert seconds == pytest.approx(neighbours * maxrate.time(size, pairs, alpha, R_N, R_C))
    assert seconds == pytest.approx(nodeaware.path_time(neighbours, neighbours * size, pairs, alpha, R_N, R_C))
    promised = halo.postal_time(neighbours, size, alpha, R_C)
    assert promised == pytest.approx(neighbours * postal.time(size, alpha, 1 / R_C))
    assert promised <= seconds * (1 + 1e-14)


@given(st.floats(0, 1e3), st.integers(0, 10**6), SIZE, st.floats(0, 1e-3), st.floats(0, 1e-3))
def test_the_node_aware_time_is_the_sum_of_its_parts(paths, messages, link, gamma, delta):
    parts = nodeaware.queue_search_time(messages, gamma) + nodeaware.link_contention_time(link, delta)
    assert nodeaware.time(paths, messages, link, gamma, delta) == pytest.approx(paths + parts)


@given(st.integers(2, 1024), ALPHA, RATE, st.floats(1e-3, 1))
def test_postal_over_max_rate_of_large_messages_is_equation_6(pairs, alpha, R_C, share):
    R_N, size = share * R_C, 1e12 * R_C
    ratio = postal.time(size, alpha, 1 / R_C) / maxrate.time(size, pairs, alpha, R_N, R_C)
    assert ratio == pytest.approx(R_N / (pairs * R_C))
    assert maxrate.postal_over_max_rate(pairs, R_N, R_C) == pytest.approx(ratio)


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


GRIDS = [
    ((40_000, 1), (1, 64), ()),
    ((200, 1, 1), (50, 100), (1,)),
    ((20, 500, 100), (100,), (20, 1, 1)),
    ((1_000_000,), (), (1_000_000,)),
]


@pytest.mark.parametrize("shapes", GRIDS)
def test_large_grids_give_what_numbers_give_bit_for_bit(shapes):
    random = np.random.default_rng(1)
    size, pairs, alpha = (random.uniform(1, 1e6, shape) for shape in shapes)
    at_once = maxrate.extended_time(size, pairs, alpha, 5.5e9, 3.6e9, 6.1e8)
    assert at_once.shape == np.broadcast_shapes(*shapes)
    flat = [np.broadcast_to(column, at_once.shape).ravel() for column in (size, pairs, alpha)]
    assert np.array_equal(bits(at_once.ravel()), bits(maxrate.extended_time.compiled(*flat, 5.5e9, 3.6e9, 6.1e8)))
    for index in random.integers(0, at_once.size, 100):
        alone = maxrate.extended_time(*(float(column[index]) for column in flat), 5.5e9, 3.6e9, 6.1e8)
        assert alone == at_once.ravel()[index]


@pytest.mark.parametrize("name", REGISTRY)
def test_every_formula_runs_over_a_grid(name):
    function = REGISTRY[name]
    columns = [np.linspace(1, 2, 3), *[np.array(2.0)] * (len(argument_names(function)) - 1)]
    at_once = surface.over_grid(function, columns, (3,))
    assert np.array_equal(bits(at_once), bits([function(first, *columns[1:]) for first in columns[0]]))


SIDE = 1000  # a square of it is large enough for the loop that is written for the grid
SIZES, MANY = np.geomspace(1, 1e8, SIDE)[:, None], np.arange(1.0, SIDE + 1)


def square():
    return np.full((SIDE, SIDE), np.nan)


@pytest.mark.parametrize("within", [slice(None), slice(20)])
@pytest.mark.parametrize(
    "out",
    [
        square,
        lambda: square().T,
        lambda: np.full((SIDE, 2 * SIDE), np.nan)[:, ::2],
        lambda: square().astype(">f8"),
        lambda: np.frombuffer(bytearray(8 * SIDE**2 + 1), np.float64, SIDE**2, offset=1).reshape(SIDE, SIDE),
        lambda: square().view(np.matrix),
    ],
    ids=["plain", "transposed", "strided", "other byte order", "not aligned", "subclass"],
)
def test_an_array_given_for_the_result_takes_it_bit_for_bit_and_is_returned(out, within):
    out, rates = out()[within], (1e-6, 5e9, 3e9)
    assert maxrate.time(SIZES[within], MANY, *rates, out=out) is out
    assert np.array_equal(bits(np.asarray(out, np.float64)), bits(maxrate.time(SIZES[within], MANY, *rates)))


@pytest.mark.parametrize("shape", [(1000, 1000), (999, 3, 1001)])
def test_fresh_memory_of_a_large_result_begins_with_a_huge_page(shape):
    result = postal.time(np.ones(shape), 1e-6, 1e-9)
    assert result.shape == shape
    assert result.flags.carray
    assert result.ctypes.data % 2**21 == 0
    assert result.base.ctypes.data <= result.ctypes.data
    assert result.ctypes.data + result.nbytes <= result.base.ctypes.data + result.base.nbytes


def test_a_result_may_overwrite_its_own_arguments():
    expected = maxrate.time(SIZES, MANY, 1e-6, 5e9, 3e9)
    grid = square()
    grid[0] = MANY
    assert np.array_equal(maxrate.time(SIZES, grid[0], 1e-6, 5e9, 3e9, out=grid), expected)


def test_numbers_alone_fill_the_array_given():
    out = np.full(3, np.nan)
    assert postal.time(1000, 2e-6, 1e-9, out=out) is out
    assert np.array_equal(out, [postal.time(1000, 2e-6, 1e-9)] * 3)


@pytest.mark.parametrize("side", [20, SIDE])
def test_an_array_that_cannot_take_the_result_is_refused(side):
    sizes, many = SIZES[:side], MANY[:side]
    locked = np.zeros((side, side))
    locked.flags.writeable = False
    for out, error, message in (
        (np.zeros((side, side + 1)), ValueError, "broadcast"),
        (np.zeros(side), ValueError, "output"),
        (np.zeros((side, side), np.int64), TypeError, "cast"),
        (locked, ValueError, "read-only"),
        ([0.0] * side, InputError, "out is .*: give an array"),
    ):
        with pytest.raises(error, match=message):
            maxrate.time(sizes, many, 1e-6, 5e9, 3e9, out=out)


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
        formula(*map(np.atleast_1d, arguments))


SCRIPT = """
import sys
import numpy as np
import own
print(own.double(3.0), "numba" in sys.modules, own.double(np.array([1.0, 2.0])).tolist())
print(own.double(np.ones(1_000_000)).sum())
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


@pytest.mark.slow
def test_compiled_code_is_kept_for_the_next_start(run_with_own_formula, tmp_path):
    done = run_with_own_formula(tmp_path / "cache")
    assert done.stdout == "6.0 False [2.0, 4.0]\n2000000.0\n"
    assert "NUMBA_CACHE_DIR" not in done.stderr
    assert list((tmp_path / "cache").rglob("own.double*.nbi"))
    result = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert len(result) == 2  # of few numbers, and of many
    entry = [path.stat().st_mtime_ns for path in result]
    assert run_with_own_formula(tmp_path / "cache").stdout == done.stdout
    assert sorted((tmp_path / "cache").rglob("*.nbc")) == result
    assert [path.stat().st_mtime_ns for path in result] == entry


def test_without_a_writable_cache_arrays_work_and_a_warning_names_the_mend(run_with_own_formula, tmp_path):
    done = run_with_own_formula(tmp_path / "__pycache__" / "cache")
    assert done.stdout == "6.0 False [2.0, 4.0]\n2000000.0\n"
    assert done.stderr.count("compiling in memory") == 1
    assert "set NUMBA_CACHE_DIR to a writable folder" in done.stderr


def test_with_numba_switched_off_large_results_are_the_same():
    script = (
        "import numpy as np; from commmodel.models import postal; print(postal.time(np.ones(1_000_000), 1, 2).sum())"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "3000000.0\n"


LOOP = """
import numpy as np
from commmodel.models import formula, postal
from commmodel.models.compiled import compiled

@formula.formula
def twice(size):
    return 2.0 * postal.time(size, 1.0, 1.0)

@compiled(lambda count: 1_000_000)
def total(count):
    seconds = 0.0
    for size in range(count):
        seconds += twice(size)
    return seconds

print(total(3), twice(2), twice(np.full(2, 2.0)).tolist(), twice(np.full(1_000_000, 2.0)).mean())
"""


@pytest.mark.slow
def test_compiled_code_is_compiled_anew_where_a_formula_that_it_calls_has_changed(tmp_path):
    source, package = Path(commmodel.__file__).parent, tmp_path / "commmodel"
    shutil.copytree(source / "models", package / "models", ignore=shutil.ignore_patterns("__pycache__"))
    bases = ("__init__", "arguments", "arrays", "errors", "lazy", "progress", "signatures", "units")
    for name in bases:
        shutil.copy(source / f"{name}.py", package)
    (tmp_path / "loop.py").write_text(LOOP, "utf-8")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}

    def run():
        command = [sys.executable, "-B", "loop.py"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout, len(list((tmp_path / "cache").rglob("*.nbc")))

    first = run()
    assert first[0] == "12.0 6.0 [6.0, 6.0] 6.0\n"
    assert run() == first
    formulas = package / "models" / "postal.py"
    formulas.write_text(formulas.read_text("utf-8").replace("return alpha +", "return 1.0 + alpha +"), "utf-8")
    assert run() == ("18.0 8.0 [8.0, 8.0] 8.0\n", 2 * first[1])


@pytest.mark.parametrize("name", REGISTRY)
def test_formulas_are_pickled_by_name(name):
    formula = REGISTRY[name]
    assert pickle.loads(pickle.dumps(formula)) is formula  # noqa: S301, of our own making


class Column:
    """Numbers as pandas and xarray have them: an object that numpy makes an array of, and whose truth is no one's."""

    def __init__(self, numbers):
        self.numbers, self.ndim = numbers, 1

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers, dtype)

    def __iter__(self):
        return iter(self.numbers)

    def __bool__(self):
        raise ValueError("ambiguous")


@pytest.mark.parametrize("name", REGISTRY)
def test_a_formula_takes_columns_ranges_and_keywords_in_each_place(name):
    formula = REGISTRY[name]
    names = [*inspect.signature(formula.python).parameters]
    numbers = dict.fromkeys(names, 2.0)
    for key in names:
        expected = formula(*{**numbers, key: np.array([2.0, 3.0])}.values())
        for column in (Column([2.0, 3.0]), range(2, 4), [2, 3]):
            assert np.array_equal(formula(**{**numbers, key: column}), expected, equal_nan=True), key
        with pytest.raises(InputError, match=key):
            formula(**{**numbers, key: ["many"]})
