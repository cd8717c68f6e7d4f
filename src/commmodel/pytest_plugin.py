"""Scaling expectations as marks of tests: ``@pytest.mark.scales("n log n", over="n", at=[1000, 2000])``.

pytest loads this in every test suite of an environment that has commmodel. So it imports nothing but pytest before a
test is marked, and needs no MPI. A marked test is one item: it is called at all values, in a shuffled order, again and
again, and its times or counts are held against the expectation by `commmodel.scaling.judge`. Times are of the process,
all its threads together, which other programs hardly change; or wall times, which they do. Main entries: the mark
``scales``, the fixture ``scaling`` (`Scaling`), and the option ``--scaling-results``.
"""

import gc
import inspect
import math
import os
import random
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from time import monotonic, perf_counter_ns, process_time_ns, thread_time_ns
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

from commmodel.choices import Statistic, Unit
from commmodel.errors import InputError, choice_of
from commmodel.launchers import rank, ranks, unconnected

if TYPE_CHECKING:
    from commmodel.results import Writer
    from commmodel.scaling import Growth, Judgement

__all__ = ["Scaling"]

_MARK = (
    'scales(growth, *, over, at, deviation=None, metric="processor time", repetitions=None, seconds=5, '
    'statistic="lower half", uncertain="pass"): call the test with its argument `over` at all values of `at`, and '
    "fail it where its time, or what it counts, does not grow as promised (commmodel)."
)
_LEAST_SAMPLE = 200_000  # nanoseconds that a sample lasts: shorter calls are made several times in a row
_MOST_CALLS = 10_000
_TIMED_REPETITIONS = 5
_MOST_REPETITIONS = 64  # times as many as were asked for, while a verdict is uncertain
_ATTRIBUTE = "commmodel_scaling"  # of a report: what came out, in plain types, so that it travels between processes
_PROCESSOR, _WALL = "processor time", "wall time"
_Uncertain = Literal["pass", "fail"]
_UNITS: dict[str, Unit] = {_PROCESSOR: "s", _WALL: "s", "memory": "B"}
_PREEMPTION = 0.1  # share of the wall time from which on other programs may have made the growth
_WAITS = 0.5  # share of the wall time from which on processor time says little of a function


@dataclass(frozen=True)
class _Expectation:
    """The expectation of a mark."""

    growth: "Growth"
    deviation: "Growth | None"
    over: str
    at: tuple[Any, ...]
    metric: str
    repetitions: int
    seconds: float
    statistic: Statistic
    uncertain: _Uncertain

    @property
    def label(self) -> str:
        """The text in the brackets of the test's name."""
        text = self.growth.text(self.over)
        return text if self.metric == _PROCESSOR else f"{self.metric} {text}"

    @property
    def is_timed(self) -> bool:
        """Whether the plugin takes the time; otherwise the test counts."""
        return self.metric in {_PROCESSOR, _WALL}


class _Time(NamedTuple):
    """Nanoseconds of processor time and wall time."""

    processor: int = 0
    wall: int = 0

    def since(self, begun: "_Time") -> "_Time":
        return _Time(self.processor - begun.processor, self.wall - begun.wall)

    def plus(self, more: "_Time") -> "_Time":
        return _Time(self.processor + more.processor, self.wall + more.wall)


def _now() -> _Time:
    return _Time(process_time_ns(), perf_counter_ns())


def _preemption() -> float:
    """Return the nanoseconds that other programs and virtual machines took from this thread; nan where unknown."""
    try:
        with open("/proc/self/schedstat") as process, open("/proc/stat") as machine:
            delay, ticks = int(process.read().split()[1]), int(machine.readline().split()[8])
    except (OSError, ValueError, IndexError):
        return math.nan
    return delay + ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK") // (os.cpu_count() or 1)


class Scaling:
    """The fixture ``scaling``: how a test with the mark ``scales`` times or counts parts of its call.

    >>> scaling = Scaling()
    >>> with scaling.timed():
    ...     _ = sorted(range(1000))
    >>> scaling.count(12)
    """

    def __init__(self) -> None:
        self._begun: _Time | None = None
        self._spent: _Time | None = None
        self._count: float | None = None

    def timed(self) -> "Scaling":
        """Return a context whose time counts instead of the whole call's; several in one call are summed."""
        return self

    def __enter__(self) -> None:
        if self._begun is not None:
            raise InputError("scaling.timed(): it is within another: time one or the other")
        self._begun = _now()

    def __exit__(self, *exception: object) -> None:
        wall, processor = perf_counter_ns(), process_time_ns()
        if self._begun is not None:
            self._spent = (self._spent or _Time()).plus(_Time(processor, wall).since(self._begun))
        self._begun = None

    def count(self, value: float) -> None:
        """Add to the call's count: comparisons, messages, bytes, or whatever ``metric`` names.

        Raises
        ------
        InputError
            For what is no finite number from 0 up.
        """
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0 <= number < math.inf:
            raise InputError(f"scaling.count({value!r}): it is no finite number from 0 up")
        self._count = (self._count or 0.0) + number

    def _begin(self) -> None:
        self._begun = self._spent = self._count = None


_SCALING = pytest.StashKey[Scaling]()
_RESULT = pytest.StashKey[dict[str, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("scaling", "scaling expectations (commmodel)")
    group.addoption(
        "--scaling-results", metavar="FILE", help="write what tests with the mark scales measured, as results.jsonl"
    )
    group.addoption("--scaling-seed", metavar="N", type=int, help="of the order of their calls (random)")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark; draw a seed."""
    config.addinivalue_line("markers", _MARK)
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)  # where a process runs tests for another
    if config.option.scaling_seed is None:
        # Ranks of a parallel test must make the same calls in the same order.
        drawn = 0 if ranks() > 1 else int.from_bytes(os.urandom(4))
        config.option.scaling_seed = drawn if worker_input is None else worker_input.get("scaling_seed", drawn)
    if worker_input is None:
        config.pluginmanager.register(_Keeper(config), "commmodel-scaling-keeper")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the seed to the workers of pytest-xdist."""
    node.workerinput["scaling_seed"] = node.config.option.scaling_seed


def _expectation_of(item: object) -> _Expectation | None:
    values = getattr(getattr(item, "callspec", None), "params", {}).values()
    return next((value for value in values if isinstance(value, _Expectation)), None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run tests with the mark on ranks that do not know of each other."""
    if (problem := unconnected()) and any(map(_expectation_of, session.items)):
        if rank() == 0:
            raise pytest.UsageError(problem)
        pytest.exit("as rank 0 says", returncode=pytest.ExitCode.USAGE_ERROR)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per mark of a test."""
    markers = list(metafunc.definition.iter_markers_with_node("scales"))
    if not markers:
        return
    closest = markers[0][0]  # marks of a function replace those of its class or module
    marks = [mark for node, mark in markers if node is closest]
    expectations: dict[str, _Expectation] = {}
    for mark in reversed(marks):  # decorators apply from below: the order in which people read them
        try:
            expectation = _read_mark(metafunc, mark)
            if expectation.label in expectations:
                raise InputError(f"{expectation.label!r} stands there twice: leave one out")
        except InputError as error:
            pytest.fail(f"{metafunc.definition.nodeid}: pytest.mark.scales: {error}", pytrace=False)
        expectations[expectation.label] = expectation
    overs = {expectation.over for expectation in expectations.values()}
    if len(overs) > 1:
        names = " and ".join(sorted(overs))
        pytest.fail(f"{metafunc.definition.nodeid}: pytest.mark.scales: marks over {names}: write a test for each",
                    pytrace=False)  # fmt: skip
    metafunc.parametrize(overs.pop(), list(expectations.values()), ids=list(expectations))


def _read_mark(metafunc: pytest.Metafunc, mark: pytest.Mark) -> _Expectation:
    """Return the expectation of a mark; raise `InputError` where it is invalid."""
    from commmodel.arguments import choice, finite, whole
    from commmodel.scaling import parse_growth
    from commmodel.scaling.fitting import check_scales
    from commmodel.scaling.samples import STATISTIC
    from commmodel.scaling.search_space import deviation_limits

    keywords: dict[str, Any] = {**mark.kwargs}
    for name, value in zip(("growth", "over", "at"), mark.args, strict=False):
        keywords.setdefault(name, value)
    options = {"growth", *_Expectation.__dataclass_fields__}
    for name in keywords:
        if name not in options:
            raise InputError(f"unknown word {name!r}: {choice_of(name, sorted(options))}")
    for name, example in (("growth", '"n log n"'), ("over", 'over="n"'), ("at", "at=[1000, 2000, 4000, 8000, 16000]")):
        if name not in keywords:
            raise InputError(f"{name} is missing: write {example}")
    if len(mark.args) > 1:
        raise InputError("only the growth goes without its name: write over=, at=")
    over, text, deviation = keywords["over"], keywords["growth"], keywords.get("deviation")
    for name, word in (("growth", text), ("over", over), ("deviation", deviation)):
        if not isinstance(word, str) and not (name == "deviation" and word is None):
            raise InputError(f"{name} {word!r} is no text: write it like {name}={'n' if name == 'over' else 'n^0.5'!r}")
    parameters = inspect.signature(metafunc.function).parameters
    if over not in parameters or over not in metafunc.fixturenames:
        raise InputError(f"over {over!r}: {metafunc.function.__name__} has no such argument: add it")
    if inspect.iscoroutinefunction(metafunc.function):
        raise InputError("the test is a coroutine: run one in it, with asyncio.run")
    growth, allowed = parse_growth(text, over), None if deviation is None else parse_growth(deviation, over)
    deviation_limits(growth, allowed)
    # A mark is read again for each class that inherits the test, and may hold a generator: keep what it yielded.
    at = tuple(keywords["at"]) if hasattr(keywords["at"], "__iter__") and not isinstance(keywords["at"], str) else ()
    if isinstance(mark.kwargs, dict):
        mark.kwargs["at"] = at
    if wrong := [value for value in at if not isinstance(value, Real)]:
        raise InputError(f"at: {wrong[0]!r} is no number")
    check_scales([float(value) for value in at])
    metric = keywords.get("metric", _PROCESSOR)
    if not isinstance(metric, str) or not metric.strip():
        raise InputError(f"metric {metric!r}: write 'processor time', 'wall time', or what is counted")
    metric = _WALL if metric == "time" else metric
    few = _TIMED_REPETITIONS if metric in {_PROCESSOR, _WALL} else 1
    repetitions = few if keywords.get("repetitions") is None else whole("repetitions", keywords["repetitions"], 1)
    seconds = finite("seconds", keywords.get("seconds", 5.0), 0)
    statistic = choice("statistic", keywords.get("statistic", STATISTIC), Statistic)
    uncertain = choice("uncertain", keywords.get("uncertain", "pass"), _Uncertain)
    return _Expectation(growth, allowed, over, at, metric, repetitions, seconds, statistic, uncertain)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Reject marks without effect."""
    for item in items:
        if item.get_closest_marker("scales") is not None and _expectation_of(item) is None:
            raise pytest.UsageError(
                f"{item.nodeid}: pytest.mark.scales: it works on test functions and on methods of plain classes: put "
                "it there (unittest.TestCase and marks of single parameters cannot have it)"
            )


def pytest_fixture_setup(fixturedef: "pytest.FixtureDef[Any]", request: pytest.FixtureRequest) -> None:
    """Reject fixtures that depend on the parameter: they are set up once for all its values."""
    expectation = _expectation_of(request.node)
    if expectation is not None and expectation.over in fixturedef.argnames:
        pytest.fail(
            f"fixture {fixturedef.argname!r} depends on {expectation.over}, over which the test scales: it is set up "
            "once for all values: make what depends on it within the test, outside scaling.timed()",
            pytrace=False,
        )


@pytest.fixture
def scaling(request: pytest.FixtureRequest) -> Scaling:
    """In a test with the mark scales: `with scaling.timed():` times only a part, `scaling.count(x)` counts."""
    if _expectation_of(request.node) is None:
        pytest.fail("the fixture scaling goes with a mark: write @pytest.mark.scales(...)", pytrace=False)
    return _scaling_of(request.node)


def _scaling_of(item: pytest.Item) -> Scaling:
    return item.stash.setdefault(_SCALING, Scaling())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Call a marked test at all values, and judge its growth."""
    expectation = _expectation_of(pyfuncitem)
    if expectation is None:
        return None
    seed = (zlib.crc32(pyfuncitem.nodeid.encode()) + pyfuncitem.config.option.scaling_seed) % 2**32
    measuring = _Measuring(pyfuncitem, expectation, random.Random(seed))  # noqa: S311  (an order, no secret)
    judgement = measuring.measure()
    result = {
        "name": _name(pyfuncitem, expectation),
        "metric": expectation.metric,
        "over": expectation.over,
        "samples": [(float(value), samples) for value, samples in measuring.samples.items()],
        "other": [(float(value), samples) for value, samples in measuring.other.items()],
        "verdict": judgement.verdict,
        "advice": judgement.advice,
    }
    pyfuncitem.stash[_RESULT] = result
    if judgement.verdict == "mismatch" or (judgement.verdict == "uncertain" and expectation.uncertain == "fail"):
        explanation = _explanation(result, expectation, judgement, pyfuncitem.config.option.scaling_seed)
        pytest.fail(explanation, pytrace=False)
    return True


def _name(item: pytest.Function, expectation: _Expectation) -> str:
    """Return the test's name with its other parameters, without the expectation, which may change."""
    parts = f"-{item.callspec.id}-".replace(f"-{expectation.label}-", "-", 1).strip("-")
    name = item.nodeid.removesuffix(item.name) + item.originalname
    return f"{name}[{parts}]" if parts else name


class _Measuring:
    """The measurement of one test."""

    def __init__(self, item: pytest.Function, expectation: _Expectation, order: random.Random) -> None:
        parameters = inspect.signature(item.obj).parameters
        self._test: Callable[..., object] = item.obj
        self._arguments = {name: item.funcargs[name] for name in parameters if name in item.funcargs}
        self._scaling = _scaling_of(item)
        self._expectation = expectation
        self._order = order
        self._calls = dict.fromkeys(expectation.at, 1)
        self.samples: dict[Any, list[float]] = {value: [] for value in sorted(expectation.at)}
        self.other: dict[Any, list[float]] = {value: [] for value in self.samples}
        self._total = _Time()
        self._main_thread = 0  # nanoseconds of processor time of this thread
        self._preemption = 0.0  # nanoseconds that other programs took

    def measure(self) -> "Judgement":
        """Repeat until the verdict is clear or the time is spent; a mismatch must be confirmed."""
        from commmodel.scaling.verdict import ENOUGH_SCALES

        repetitions = least = self._expectation.repetitions
        alone, end = not ranks() > 1, monotonic() + self._expectation.seconds
        if self._expectation.is_timed:
            self._warm_up(is_alone=alone)
        gc.collect()  # once: with many objects alive it takes longer than most tests
        for _ in range(least):
            self._round()
        judgement = self._judge(self.samples)
        can_repeat = alone and least > 1
        while can_repeat and repetitions < _MOST_REPETITIONS * least and monotonic() < end:
            is_first_mismatch = judgement.verdict == "mismatch" and repetitions == least
            is_open = judgement.verdict == "uncertain" and len(self.samples) >= ENOUGH_SCALES
            if not is_first_mismatch and not is_open:
                break
            repetitions *= 2
            while len(next(iter(self.samples.values()))) < repetitions and monotonic() < end:
                self._round()
            judgement = self._judge(self.samples)
        doubt = self._doubt(judgement) if self._expectation.is_timed else ""
        return replace(judgement, verdict="uncertain", advice=doubt) if doubt else judgement

    def _judge(self, samples: Mapping[Any, list[float]]) -> "Judgement":
        from commmodel.scaling import judge

        expectation = self._expectation
        return judge([float(value) for value in samples], list(samples.values()), expectation.growth,
                     expectation.deviation, over=expectation.over, statistic=expectation.statistic)  # fmt: skip

    def _doubt(self, judgement: "Judgement") -> str:
        """Return why the time that was taken says nothing of the function's growth; nothing where it does."""
        is_wall = self._expectation.metric == _WALL
        wall, processor = (self.samples, self.other) if is_wall else (self.other, self.samples)
        total = max(sum(map(sum, wall.values())), 1e-9)
        preemption = self._preemption / max(self._total.wall, 1)  # nan where unknown: then there is no doubt
        waited = 1 - sum(map(sum, processor.values())) / total - preemption
        if not is_wall:
            # What takes a processor from other threads makes this one wait for them.
            waits = waited >= _WAITS and self._main_thread > self._total.processor / 2
            words = f"{waited:.0%} of its wall time it waits, or for child processes, which no processor time counts"
            return f"{words}: write metric='wall time'" if waits else ""
        if not preemption >= _PREEMPTION or judgement.verdict == "uncertain":
            return ""
        words = f"other programs took the processor for {preemption:.0%} of the wall time"
        if waited >= _WAITS:
            return f"{words}: measure when they do not" if judgement.verdict == "mismatch" else ""
        verdict = self._judge(processor).verdict
        if (verdict == "mismatch") == (judgement.verdict == "mismatch") and verdict != "uncertain":
            return ""
        by_processor = f"; by processor time it is {'a ' * verdict.endswith('match')}{verdict}"
        return f"{words}{by_processor}: measure when they do not, or leave out metric='wall time'"

    def _warm_up(self, *, is_alone: bool) -> None:
        """Call the test at each value, to see how many calls a sample needs; again where something else took time."""
        for value in self.samples:
            took = self._call_time(value)
            if took.wall > 2 * took.processor:
                took = min(took, self._call_time(value), key=lambda time: time.wall)
            if is_alone:
                self._calls[value] = min(max(1, _LEAST_SAMPLE // max(took.wall, 1)), _MOST_CALLS)

    def _call_time(self, value: Any) -> _Time:
        begun = _now()
        self._spent(value)
        return _now().since(begun)

    def _round(self) -> None:
        """Take a sample at each value, in a new order, without garbage collection."""
        values = list(self.samples)
        self._order.shuffle(values)
        was_enabled = gc.isenabled()
        gc.disable()
        begun, main_thread, preemption = _now(), thread_time_ns(), _preemption()
        try:
            for value in values:
                self._sample(value)
        finally:
            if was_enabled:
                gc.enable()
        self._total = self._total.plus(_now().since(begun))
        self._main_thread += thread_time_ns() - main_thread
        self._preemption += _preemption() - preemption

    def _sample(self, value: Any) -> None:
        """Keep the times of a call at this value, in seconds, or its count."""
        spent, calls = self._spent(value), self._calls[value]
        if not self._expectation.is_timed:
            self.samples[value].append((self._scaling._count or 0.0) / calls)
            return
        times = [nanoseconds / calls * 1e-9 for nanoseconds in spent]
        metric_time, second_time = times if self._expectation.metric == _PROCESSOR else times[::-1]
        self.samples[value].append(metric_time)
        self.other[value].append(second_time)

    def _spent(self, value: Any) -> _Time:
        """Return the time that the calls of a sample at this value took."""
        arguments = self._arguments | {self._expectation.over: value}
        calls, test, scaling = self._calls[value], self._test, self._scaling
        scaling._begin()
        try:
            begun = _now()
            for _ in range(calls):
                test(**arguments)
            wall, processor = perf_counter_ns(), process_time_ns()
        except Exception as error:
            error.add_note(f"with {self._expectation.over} = {value}")
            raise
        if not self._expectation.is_timed and scaling._count is None:
            pytest.fail(f"it counts no {self._expectation.metric}: call scaling.count(number)", pytrace=False)
        if self._expectation.is_timed and scaling._count is not None:
            pytest.fail("it counts, but its mark is about time: add metric='...' to the mark", pytrace=False)
        return _Time(processor, wall).since(begun) if scaling._spent is None else scaling._spent


def _explanation(result: Mapping[str, Any], expected: _Expectation, judgement: "Judgement", seed: int) -> str:
    """Return the message of a failed test: values, model, and distance from the expectation."""
    from commmodel.scaling.samples import reduce
    from commmodel.scaling.search_space import deviation_limits
    from commmodel.units import format_time

    def shown(value: float) -> str:
        return format_time(value) if expected.is_timed else f"{value:.6g}"

    over, ensemble = expected.over, judgement.ensemble
    beside = [_WALL if expected.metric == _PROCESSOR else _PROCESSOR] * expected.is_timed
    rows: list[tuple[str, ...]] = [(over, expected.metric, "smallest", "largest", "model", *beside)]
    for (scale, samples), (_, other), value in zip(result["samples"], result["other"], ensemble.values, strict=True):
        numbers = [float(value), min(samples), max(samples), float(ensemble.best(scale))]
        numbers += reduce([other], expected.statistic).tolist() if beside else []
        rows.append((f"{scale:.10g}", *map(shown, numbers)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    low, high = deviation_limits(judgement.expectation, judgement.deviation)
    best = ensemble.best
    fit = "" if math.isnan(best.adjusted_r2) else f" (adjusted R² {best.adjusted_r2:.3f})"
    alternatives = [growth.text(over) for growth in ensemble.shares if growth != best.growth]
    limits = "" if low == high else f", within {low.text(over)} and {high.text(over)}"
    grows = f"it grows as {best.growth.text(over)}" if ensemble.fits else "no class fits"
    return "\n".join([
        f"{expected.metric} of {result['name']}: {judgement.verdict}: {grows}, "
        f"expected is {judgement.expectation.text(over)}",
        "",
        *table,
        "",
        f"expected    {judgement.expectation.text(over)}{limits}",
        f"model       {best.text(over)}{fit}",
        *([f"divergence  {judgement.divergence.text(over)}"] if ensemble.fits else []),
        *([f"or as       {', '.join(alternatives)}"] if alternatives and ensemble.fits else []),
        *([f"advice      {judgement.advice}"] if judgement.advice else []),
        f"{len(result['samples'][0][1])} repetitions, {expected.statistic}; --scaling-seed {seed}",
    ])  # fmt: skip


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Generator[None, Any, None]:
    """Attach the measurements to the report."""
    finished = yield
    if call.when == "call" and _RESULT in item.stash:
        setattr(finished.get_result(), _ATTRIBUTE, item.stash[_RESULT])


class _Keeper:
    """Collects the measurements of reports, writes the file, and prints a summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._path: str | None = config.option.scaling_results if rank() == 0 else None
        self._writer: Writer | None = None
        self._records: list[tuple[str, dict[str, Any]]] = []

    def pytest_sessionstart(self) -> None:
        if self._path is None or self._config.option.collectonly:
            return
        from commmodel.results import Writer

        try:
            self._writer = Writer(self._path)
            self._writer.write(_header(self._config))
        except InputError:
            problem = "exists: remove it, or name another file" if os.path.exists(self._path) else "cannot be written"
            raise pytest.UsageError(f"--scaling-results: {self._path} {problem}") from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result: dict[str, Any] | None = getattr(report, _ATTRIBUTE, None)
        if result is None:
            return
        self._records.append((report.nodeid, result))
        if self._writer is None:
            return
        from commmodel.results import Record
        from commmodel.results.configurations import Function

        try:
            for scale, samples in result["samples"]:
                function = Function(result["name"], result["metric"], ((result["over"], scale),))
                record = Record(function, _UNITS.get(result["metric"], "1"), tuple(samples), stop="repetitions")
                self._writer.write(record)
        except InputError as error:
            raise pytest.UsageError(f"--scaling-results: {error}") from None

    def pytest_sessionfinish(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        uncertain = [(node, record["advice"]) for node, record in self._records if record["verdict"] == "uncertain"]
        if not uncertain and not (self._records and self._writer):
            return
        terminalreporter.section("scaling expectations")
        for node, advice in uncertain:
            terminalreporter.line(f"uncertain: {node}: {advice}")
        counts = Counter(record["verdict"] for _, record in self._records)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        remark = f"; {self._path} has what was measured" if self._writer else ""
        terminalreporter.line(f"{verdicts}; seed {self._config.option.scaling_seed}{remark}")


def _header(config: pytest.Config) -> Any:
    """Return the header of this session's results."""
    import platform
    from datetime import UTC, datetime

    from commmodel import __version__
    from commmodel.results import Header, Host, Library
    from commmodel.results.file import FORMAT, VERSION

    words = (word for word in config.invocation_params.args if not str(word).startswith("--scaling-seed="))
    command = ("pytest", *map(str, words), f"--scaling-seed={config.option.scaling_seed}")
    load = os.getloadavg() if hasattr(os, "getloadavg") else None
    return Header(
        FORMAT,
        VERSION,
        datetime.now(UTC).isoformat(timespec="seconds"),
        command,
        Library("no MPI"),
        (Host(platform.node(), os.cpu_count() or 0, kernel=platform.release(), load=load),),
        (),
        {"commmodel": __version__, "python": platform.python_version(), "pytest": pytest.__version__},
    )
