"""The pytest plugin: marked tests of other libraries in a pytest of their own, on a clock that moves when told."""

import itertools
import json
import subprocess
import sys
import types
from collections import Counter

import pytest
from support.effort import some
from support.paths import ROOT

from commmodel import launchers, pytest_plugin
from commmodel.results import load
from commmodel.results.configurations import Function
from commmodel.scaling import series_over

pytest_plugins = "pytester"

AT = "at=[8, 16, 32, 64, 128, 256]"


@pytest.fixture(autouse=True)
def without_mpi(pytester, monkeypatch):
    """Let the tests within start no MPI: a plugin that is beside ours would begin it."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:mpi-pytest")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Make time pass in the tests within only where they spend it: no machine is too loaded for that."""
    now = itertools.count()  # a reading costs a nanosecond
    spent = Counter()
    virtual = types.ModuleType("virtual")
    virtual.spend = lambda seconds: spent.update(used=round(seconds * 1e9))
    virtual.wait = lambda seconds: spent.update(waited=round(seconds * 1e9))
    virtual.lose = lambda seconds: spent.update(lost=round(seconds * 1e9))
    monkeypatch.setitem(sys.modules, "virtual", virtual)
    monkeypatch.setattr(pytest_plugin, "perf_counter_ns", lambda: next(now) + sum(spent.values()))
    for name in ("process_time_ns", "thread_time_ns"):
        monkeypatch.setattr(pytest_plugin, name, lambda: next(now) + spent["used"])
    monkeypatch.setattr(pytest_plugin, "_preemption", lambda: spent["lost"])
    for name in (*launchers._SIZES, *launchers._RANKS, launchers._STEP_SIZE):
        monkeypatch.delenv(name, raising=False)


def run(pytester, source, *options):
    pytester.makepyfile("import pytest\nfrom virtual import lose, spend, wait\n" + source)
    return pytester.runpytest_inprocess("--strict-markers", "-W", "error", *options)


def test_a_linear_test_passes_a_linear_expectation(pytester):
    done = run(
        pytester,
        f"""
@pytest.mark.scales("n", over="n", {AT})
def test_linear(n):
    spend(1e-3 * n)

@pytest.mark.scales("O(n log n)", over="n", at=(2**k for k in range(6, 12)))
def test_sorting(n):
    import math
    spend(1e-6 * n * math.log2(n))
""",
        "-v",
    )
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["*::test_linear?n? PASSED*", "*::test_sorting?n log n? PASSED*"])
    assert "scaling expectations" not in done.stdout.str()


def test_a_planted_quadratic_fails_and_says_how_it_grows(pytester):
    done = run(
        pytester,
        f"""
@pytest.mark.scales("n", over="n", {AT})
def test_matching(n):
    spend(1e-6 * n * n)
""",
        "--scaling-seed=7",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([
        "processor time of *::test_matching: mismatch: it grows as n^2, expected is n",
        "*n *processor time *smallest *largest *model *wall time",
        "*  8 *64.0 us *64.0 us *64.0 us *64.0 us *64.0 us",
        "*256 *65.5 ms*",
        "expected * n, within n^0.5 and n^1.5",
        "model * n^2 (adjusted R² 1.000)",
        "divergence * n",
        "10 repetitions, lower half; --scaling-seed 7",
    ])  # fmt: skip
    assert "pytest_plugin.py" not in done.stdout.str()


def test_other_programs_make_wall_time_uncertain_and_processor_time_not(pytester):
    done = run(
        pytester,
        f"""
def grow(n):
    spend(1e-3 * n)
    lose(1e-5 * n**3)  # as a scheduler does: longer calls lose more

@pytest.mark.scales("n", over="n", {AT})
def test_processor(n):
    grow(n)

@pytest.mark.scales("n", over="n", {AT}, metric="wall time", seconds=0)
def test_wall(n):
    grow(n)

@pytest.mark.scales("n", over="n", {AT}, metric="wall time", seconds=0)
def test_planted(n):
    spend(1e-5 * n**3)
    lose(1e-5 * n**3)
""",
    )
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines([
        "wall time of *::test_planted: mismatch: it grows as n^3, expected is n",
        "uncertain: *::test_wall?wall time n?: other programs took the processor for *; by processor time it is a *",
    ])  # fmt: skip


def test_a_test_that_waits_is_told_to_take_wall_time(pytester):
    done = run(
        pytester,
        f"""
@pytest.mark.scales("n", over="n", {AT}, metric="wall time")
def test_sleeps(n):
    wait(1e-3 * n)

@pytest.mark.scales("1", over="n", {AT}, seconds=0)
def test_seems_constant(n):
    spend(1e-5)
    wait(1e-3 * n)
""",
    )
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["uncertain: *::test_seems_constant?1?: * of its wall time it waits, *'wall time'"])
    assert "test_sleeps" not in done.stdout.str()


def test_only_what_is_timed_counts(pytester):
    done = run(
        pytester,
        f"""
@pytest.mark.scales("n", over="n", {AT})
def test_matching(n, scaling):
    spend(1e-6 * n**3)
    with scaling.timed():
        spend(1e-3 * n)
    spend(1e-6 * n**3)
    with scaling.timed():
        spend(1e-3 * n)
""",
    )
    done.assert_outcomes(passed=1)


def test_counts_are_exact_and_taken_once(pytester):
    done = run(
        pytester,
        """
calls = []

@pytest.mark.scales("n^2", over="n", at=[8, 16, 32, 64], metric="comparisons")
def test_comparisons(n, scaling):
    calls.append(n)
    scaling.count(n * (n - 1) / 2)
    scaling.count(n / 2)

def test_once():
    assert sorted(calls) == [8, 16, 32, 64]

@pytest.mark.scales("n log n", over="n", at=[8, 16, 32, 64, 128], metric="comparisons")
def test_too_many(n, scaling):
    scaling.count(n * n)
""",
        "--scaling-results=counts.jsonl",
    )
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["comparisons of *: mismatch: it grows as n^2, expected is n log n", "*128 *16384 *"])
    (first, second) = series_over(load(pytester.path / "counts.jsonl"), "n")
    assert (first.metric, first.unit, first.scales) == ("comparisons", "1", (8.0, 16.0, 32.0, 64.0))
    assert [sample.tolist() for sample in first.samples] == [[[n * n / 2]] for n in first.scales]
    assert second.name.endswith("::test_too_many")


def test_values_come_in_a_shuffled_order_that_the_seed_repeats(pytester):
    source = f"""
order = []

@pytest.mark.scales("n", over="n", {AT}, repetitions=4)
def test_linear(n):
    order.append(n)
    spend(1e-3 * n)

def test_order():
    assert order[:6] == [8, 16, 32, 64, 128, 256]
    rounds = [tuple(order[start:start + 6]) for start in range(6, len(order), 6)]
    assert len(rounds) == 4 == len(set(rounds))
    assert {{tuple(sorted(one)) for one in rounds}} == {{(8, 16, 32, 64, 128, 256)}}
    with open("order", "a") as file:
        print(order, file=file)
"""
    for seed in (1, 1, 2):
        run(pytester, source, f"--scaling-seed={seed}").assert_outcomes(passed=2)
    first, second, other = (pytester.path / "order").read_text().splitlines()
    assert first == second != other


def test_short_calls_are_made_several_times_in_a_row(pytester):
    done = run(
        pytester,
        f"""
calls = []

@pytest.mark.scales("n", over="n", {AT})
def test_short(n):
    calls.append(n)
    spend(1e-6 * n)

def test_calls():
    assert calls.count(8) > 5 * 20 > calls.count(256)
""",
        "--scaling-results=short.jsonl",
    )
    done.assert_outcomes(passed=2)
    for record in load(pytester.path / "short.jsonl").records:
        assert record.samples == pytest.approx([1e-6 * record.configuration.parameters[0][1]] * 5, rel=0.01)


UNCERTAIN = """
@pytest.mark.scales("1", over="n", at=[8, 16, 32, 64, 128], seconds=0{})
def test_noisy(n):
    spend({{8: 1e-3, 16: 3e-3, 32: 1.5e-3, 64: 4e-3, 128: 2.5e-3}}[n])
"""


def test_an_uncertain_verdict_passes_and_is_named_with_advice(pytester):
    done = run(pytester, UNCERTAIN.format(""), "--scaling-seed=3")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines([
        "*scaling expectations*",
        "uncertain: test_an_uncertain_verdict*::test_noisy?1?: ?*",
        "1 uncertain; seed 3",
    ])  # fmt: skip


def test_an_uncertain_verdict_fails_where_the_mark_says_so(pytester):
    done = run(pytester, UNCERTAIN.format(", uncertain='fail'"))
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*uncertain: no class fits, *", "advice *"])


def test_an_uncertain_verdict_is_repeated_while_there_is_time(pytester):
    done = run(pytester, UNCERTAIN.format("").replace("seconds=0", "seconds=1e6"), "--scaling-results=r.jsonl")
    assert done.ret in {0, 1}
    assert min(len(record.samples) for record in load(pytester.path / "r.jsonl").records) > 5


def test_fixtures_classes_and_other_parameters_work_as_ever(pytester):
    done = run(
        pytester,
        f"""
@pytest.fixture
def factor(tmp_path):
    (tmp_path / "made").touch()  # set up once
    return 1e-3

class TestKinds:
    @pytest.mark.parametrize("power", [1, 2])
    @pytest.mark.scales("n", over="n", {AT})
    def test_powers(self, power, n, factor):
        spend(factor * n ** power)

class TestOthers(TestKinds):
    pass
""",
        "--scaling-results=kinds.jsonl",
    )
    done.assert_outcomes(passed=2, failed=2)
    names = {entry.name.partition("::")[2] for entry in series_over(load(pytester.path / "kinds.jsonl"), "n")}
    assert names == {f"Test{kind}::test_powers[{power}]" for kind in ("Kinds", "Others") for power in (1, 2)}


def test_two_marks_are_two_items_in_the_order_in_which_they_are_read(pytester):
    done = run(
        pytester,
        f"""
@pytest.mark.scales("n", over="n", {AT}, metric="messages")
@pytest.mark.scales("n^3", over="n", {AT}, metric="memory")
def test_both(n, scaling):
    scaling.count(n)
""",
        "-v",
    )
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*test_both?messages n? PASSED*", "*test_both?memory n^3? FAILED*"])


def test_the_file_is_what_the_other_commands_read(pytester):
    source = f"""
@pytest.mark.scales("n", over="n", {AT})
def test_linear(n):
    spend(1e-3 * n)
"""
    done = run(pytester, source, "--scaling-results=linear.jsonl", "--scaling-seed=11")
    done.stdout.fnmatch_lines(["1 match; seed 11; linear.jsonl has what was measured"])
    (launch,) = load(pytester.path / "linear.jsonl").launches
    assert launch.header.command[-1] == "--scaling-seed=11"
    assert {record.unit for record in launch.records} == {"s"}
    name = "test_the_file_is_what_the_other_commands_read.py::test_linear"
    assert launch.records[0].configuration == Function(name, "processor time", (("n", 8.0),))
    again = run(pytester, source, "--scaling-results=linear.jsonl")
    assert again.ret == pytest.ExitCode.USAGE_ERROR
    again.stderr.fnmatch_lines(["ERROR: --scaling-results: linear.jsonl exists: remove it, or name another file"])
    nowhere = run(pytester, source, "--scaling-results=no/where.jsonl")
    nowhere.stderr.fnmatch_lines(["ERROR: --scaling-results: no/where.jsonl cannot be written"])
    assert run(pytester, source, "--scaling-results=other.jsonl", "--collect-only").ret == 0
    assert not (pytester.path / "other.jsonl").exists()


@pytest.mark.parametrize(
    ("mark", "argument", "problem"),
    some([
        ('"n", over="n"', "n", 'at is missing: write at=[1000, *'),
        (f'"n", {AT}', "n", 'over is missing: write over="n"'),
        (f'over="n", {AT}', "n", 'growth is missing: write "n log n"'),
        (f'"n", "n", {AT}', "n", "only the growth goes without its name*"),
        (f'"n", over="n", {AT}, tolerance=3', "n", "unknown word 'tolerance': choose one of at, deviation, *"),
        (f'"n + 1", over="n", {AT}', "n", "class of growth 'n + 1': *"),
        (f'"p", over="n", {AT}', "n", "class of growth 'p': it is over p, not over n: write it over n"),
        (f'"m", over="m", {AT}', "n", "over 'm': test_it has no such argument: add it"),
        (f'"n", over="n", {AT}, deviation="1 / n"', "n", "deviation 1 / x: it falls*"),
        (f'3, over="n", {AT}', "n", "growth 3 is no text: write it like growth='n^0.5'"),
        ('"n", over="n", at=[1, 2]', "n", "2 scales: no growth can be seen*"),
        ('"n", over="n", at=5', "n", "0 scales: no growth can be seen*"),
        ('"n", over="n", at=[1, 2, "4"]', "n", "at: '4' is no number"),
        ('"n", over="n", at=[1, 2, 2]', "n", "scales *: one is there twice*"),
        ('"n", over="n", at=[0, 2, 4]', "n", "scales *: each must be a number of at least 1"),
        (f'"n", over="n", {AT}, repetitions=0', "n", "repetitions is 0: *"),
        (f'"n", over="n", {AT}, seconds=-1', "n", "seconds is -1: *"),
        (f'"n", over="n", {AT}, statistic="mode"', "n", "statistic is 'mode': choose one of lower half, *"),
        (f'"n", over="n", {AT}, uncertain="skip"', "n", "uncertain is 'skip': choose one of pass, fail"),
        (f'"n", over="n", {AT}, metric=""', "n", "metric '': write 'processor time', 'wall time', *"),
    ], 7),
)  # fmt: skip
def test_a_wrong_mark_is_one_line_that_names_the_test(pytester, mark, argument, problem):
    pytester.makepyfile(test_wrong=f"import pytest\n@pytest.mark.scales({mark})\ndef test_it({argument}): pass\n")
    done = pytester.runpytest_inprocess()
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(["test_wrong.py::test_it: pytest.mark.scales: " + problem.replace("[", "[[]")])
    assert "Traceback" not in done.stdout.str()
    assert "pytest_plugin.py:" not in done.stdout.str()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (f'@pytest.mark.scales("n", over="n", {AT})\nasync def test_it(n): pass', "the test is a coroutine: *"),
        (
            f'@pytest.mark.scales("n", over="n", {AT})\n@pytest.mark.scales("n", over="n", {AT})\ndef test_it(n): pass',
            "'n' stands there twice: leave one out",
        ),
        (
            f'@pytest.mark.scales("n", over="n", {AT})\n@pytest.mark.scales("k", over="k", {AT})\n'
            "def test_it(n, k): pass",
            "marks over k and n: write a test for each",
        ),
    ],
)
def test_marks_that_cannot_work_are_refused(pytester, source, problem):
    done = run(pytester, source)
    done.stdout.fnmatch_lines([f"*::test_it: pytest.mark.scales: {problem}"])
    done.assert_outcomes(errors=1)


def test_unittest_classes_are_refused_in_one_line(pytester):
    done = run(
        pytester,
        f"""
import unittest

class TestOld(unittest.TestCase):
    @pytest.mark.scales("n", over="n", {AT})
    def test_it(self): pass
""",
    )
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: *::TestOld::test_it: pytest.mark.scales: it works on test functions*"])


def test_what_goes_wrong_within_names_the_value_and_the_mend(pytester):
    done = run(
        pytester,
        f"""
MARK = pytest.mark.scales("n", over="n", {AT})

@MARK
def test_raises(n):
    assert n != 32

@MARK
def test_counts(n, scaling):
    scaling.count(1)

@pytest.mark.scales("n", over="n", {AT}, metric="messages")
def test_counts_not(n): pass

@pytest.mark.scales("n", over="n", {AT}, metric="messages")
def test_counts_nonsense(n, scaling):
    scaling.count(float("nan"))

@MARK
def test_nests(n, scaling):
    with scaling.timed(), scaling.timed():
        pass

@pytest.fixture
def data(n):
    return [0] * n

def test_unmarked(scaling): pass

@MARK
def test_depends(n, data): pass

@MARK
def test_skips(n):
    pytest.skip("not here")
""",
    )
    done.assert_outcomes(failed=5, errors=2, skipped=1)
    done.stdout.fnmatch_lines([
        "*the fixture scaling goes with a mark: write @pytest.mark.scales(...)",
        "*fixture 'data' depends on n, over which the test scales: it is set up once*",
        "*with n = 32",
        "*it counts, but its mark is about time: add metric='...' to the mark",
        "*it counts no messages: call scaling.count(number)",
        "*scaling.count(nan): it is no finite number from 0 up",
        "*scaling.timed(): it is within another: time one or the other",
    ])  # fmt: skip


def test_ranks_of_one_launch_make_the_same_calls_in_the_same_order(pytester, monkeypatch):
    source = f"""
import os
noise = iter(range(10**6))
order = []

@pytest.mark.scales("1", over="n", {AT})
def test_noisy(n):
    order.append(n)
    spend(1e-6 * (1 + next(noise) * (1 + int(os.environ["PMI_RANK"]))) )

def test_order():
    with open("order", "a") as file:
        print(order, file=file)
"""
    monkeypatch.setenv("PMI_SIZE", "2")
    for rank in (0, 1):
        monkeypatch.setenv("PMI_RANK", str(rank))
        run(pytester, source, f"--scaling-results=ranks-{rank}.jsonl")
    result, other = (pytester.path / "order").read_text().splitlines()
    assert result == other
    assert len(json.loads(result)) == 6 * (1 + 5)
    assert (pytester.path / "ranks-0.jsonl").exists()
    assert not (pytester.path / "ranks-1.jsonl").exists()


def test_processes_that_run_tests_for_another_take_its_seed_and_keep_nothing(pytester):
    config = pytester.parseconfig("--scaling-seed=5")
    node = types.SimpleNamespace(config=config, workerinput={})
    pytest_plugin.pytest_configure_node(node)
    worker = pytester.parseconfig()
    worker.workerinput = node.workerinput
    worker.pluginmanager.unregister(name="commmodel-scaling-keeper")
    pytest_plugin.pytest_configure(worker)
    assert worker.option.scaling_seed == 5
    assert not worker.pluginmanager.has_plugin("commmodel-scaling-keeper")


def test_what_was_measured_travels_between_processes_with_the_report(pytester):
    source = f"""
@pytest.mark.scales("n", over="n", {AT})
def test_linear(n):
    spend(1e-3 * n)
"""
    pytester.makeconftest(
        """
import json
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report, config=None):
    if report.when == "call":
        from _pytest.reports import TestReport
        again = TestReport._from_json(json.loads(json.dumps(report._to_json())))
        assert again.commmodel_scaling["verdict"] == "match"
        print("TRAVELLED")
"""
    )
    run(pytester, source, "-s").stdout.fnmatch_lines(["*TRAVELLED*"])


def test_the_garbage_collector_rests_while_time_is_taken(pytester):
    done = run(
        pytester,
        f"""
import gc
states = []

@pytest.mark.scales("n", over="n", {AT})
def test_linear(n):
    states.append(gc.isenabled())
    spend(1e-3 * n)

def test_states():
    assert not any(states[6:]) and gc.isenabled()
""",
    )
    done.assert_outcomes(passed=2)


def test_loading_the_plugin_loads_nothing_that_costs():
    code = (
        "import pytest, sys; before = set(sys.modules); import commmodel.pytest_plugin;"
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before} & "
        "{'numpy', 'msgspec', 'scipy', 'numba', 'mpi4py', 'rich'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_real_time_tells_a_quadratic_from_a_linear(pytester):
    pytester.makepyfile(
        """
import pytest

@pytest.mark.scales("n", over="n", at=[500, 1000, 2000, 4000, 8000], seconds=20)
def test_linear(n):
    sum(range(n))

@pytest.mark.scales("n", over="n", at=[40, 80, 160, 320, 640], uncertain="fail", seconds=20)
def test_quadratic(n):
    for _ in range(n):
        sum(range(n))
"""
    )
    done = pytester.runpytest_subprocess("-o", "addopts=", timeout=900)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["processor time of *::test_quadratic: mismatch: *"])


def test_the_marks_of_the_documentation_are_right(pytester):
    guide = ROOT / "docs" / "howto" / "library-tests.md"
    code = guide.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    pytester.makepyfile(code)
    done = pytester.runpytest_inprocess("--collect-only", "-q", "--strict-markers")
    done.stdout.fnmatch_lines(
        ["*::test_sorting?n log n?", "*::test_lookup?n?", "*::test_waiting?wall time n?", "*::test_comparisons?*n^2?"]
    )
    assert pytester.runpytest_inprocess("-k", "comparisons").ret == 0
