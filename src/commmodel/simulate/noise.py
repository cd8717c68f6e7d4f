"""Noise of computation and of messages as it was measured, and what programs make of it.

Noise is what an operation takes longer than the median of its measurements, so that half of the operations have none:
parameters of machines are those of medians. Each rank draws its own numbers (Philox, by seed and rank), which depend on
its operations alone. Main entries: `load`, `noise_spread`.
"""

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from commmodel import results
from commmodel.arguments import Bounds, Count, NotNegative, Whole, refuse
from commmodel.choices import ProgramModel
from commmodel.errors import DamagedFileError, InputError
from commmodel.frames import Tabular, axes_of, of_axes
from commmodel.results.configurations import Local, MessagePath, PingPong
from commmodel.signatures import checked
from commmodel.simulate import scenario
from commmodel.simulate.operations import OPERATION, Code, Operations, Program
from commmodel.simulate.scenario import Place, Where, Workload
from commmodel.simulate.scenario.comparison import Preparation
from commmodel.simulate.work.block_streams import fresh
from commmodel.simulate.workers import spread
from commmodel.units import parse_number
from commmodel.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Noise", "NoiseSpread", "NoiseTable", "load", "noise_spread", "noisy"]

_BETWEEN_NODES = "between-nodes"
_FEWEST = 10
"""Samples of a record that say something of noise."""
_MANY = 256
"""Measurements that an operation is as long as, from which on they are drawn by their numbers."""
_SENDS = (Code.SEND, Code.ISEND, Code.SSEND, Code.ISSEND)
_SMALLEST = 1e-12
"""In place of an empty message's bytes, where ratios count."""
_LITTLE = 0.1
"""Share by which the delay of a program may differ from the noise of a rank and be passed on as it is."""
Floats = NDArray[np.float64]
_Row = tuple[float | None, Sequence[float] | Floats, int]
"""Key, or None for the median; samples; of how many repetitions each is the mean."""


@dataclass(frozen=True)
class NoiseTable(Value):
    """Distributions of noise, by what was measured."""

    keys: Floats
    """Seconds of a computation, or bytes of a message, that the distributions are of, ascending, shape (tables,)."""
    excess: tuple[Floats, ...]
    """Seconds more than the median of each sample, 0 or more, shape (samples,) each."""

    @checked
    def mean(self, key: NotNegative) -> float:
        """Return the mean noise of what is nearest to a computation or a message.

        >>> table = NoiseTable(np.array([8.0, 1024.0]), (np.array([0.0, 2e-6]), np.array([0.0, 6e-6])))
        >>> table.mean(16)
        1e-06
        """
        return float(self.excess[int(_nearest(self, np.array([key]))[0])].mean())


@dataclass(frozen=True)
class Noise(Value):
    """Measured noise."""

    name: str
    """The file that it is of."""
    computation: NoiseTable | None
    """By seconds; of an operation that is longer than these, noise is drawn as often as they fit into it."""
    messages: NoiseTable | None
    """By bytes; None where only computation was measured."""


class RankNoise(NamedTuple):
    """Noise of a program."""

    mean: float
    """Seconds of a rank."""
    most: float


@checked
def load(path: str | os.PathLike[str], message_path: str | None = None) -> Noise:
    """Return the noise of a file of measurements.

    Parameters
    ----------
    path : str or path
        ``results.jsonl``, whose records hold raw samples: of the kernel ``local`` for computation, and of ``pingpong``
        for messages, and for computation where there is no ``local``. Or a CSV file with a column ``seconds``:
        durations of equal work, as benchmarks of operating system noise with a fixed amount of work give; it is of
        computation alone.
    message_path : str, optional
        Path of the messages: by default ``between-nodes``, if it was measured, else the first.

    Raises
    ------
    InputError
        If there is no such file, or it has no samples of these kernels.
    DamagedFileError
        If the file is not what it is to be.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "work.csv"), "w") as file:
    ...         print("seconds", *["1e-3"] * 11, "3e-3", sep=os.linesep, file=file)
    ...     noise = load(file.name)
    >>> noise.messages is None, noise.computation.keys.tolist(), round(noise.computation.mean(1e-3), 6)
    (True, [0.001], 0.000167)
    """
    if os.fspath(path).lower().endswith(".csv"):
        return Noise(os.fspath(path), _table([(None, _read_durations(path), 1)]), None)
    records = [record for record in results.load(path).records if record.unit == "s"]
    local: list[_Row] = [
        (None, record.samples, record.batch) for record in records if isinstance(record.configuration, Local)
    ]
    trips = [
        (record.configuration, record.samples, record.batch)
        for record in records
        if isinstance(record.configuration, PingPong)
    ]
    paths: list[MessagePath] = [*dict.fromkeys(configuration.path for configuration, *_ in trips)]
    chosen = message_path or (_BETWEEN_NODES if _BETWEEN_NODES in paths else next(iter(paths), ""))
    if message_path is not None and message_path not in paths:
        raise refuse("message_path", message_path, f"{path} has messages on {', '.join(paths) or 'no path'}")
    alike: list[_Row] = [
        (float(configuration.message_size), samples, batch)
        for configuration, samples, batch in trips
        if configuration.path == chosen
    ]
    messages = _table(alike)
    computation = _table(local) or _table((None, samples, batch) for _, samples, batch in alike)
    if computation is None:
        problem = f"no record of kernel local or pingpong with {_FEWEST} samples or more"
        raise InputError(f"{path} has {problem}: measure them (python -m commmodel.bench pingpong local)")
    return Noise(os.fspath(path), computation, messages)


def _read_durations(path: str | os.PathLike[str]) -> Floats:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if "seconds" not in (rows.fieldnames or ()):
                raise DamagedFileError(path, "line 1", "no column seconds: durations of equal work, one on each line")
            values = [(rows.line_num, row["seconds"]) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'not a CSV file in UTF-8'}") from None
    durations = np.empty(len(values))
    for number, (line, text) in enumerate(values):
        try:
            durations[number] = parse_number(text or "")
        except InputError as error:
            raise DamagedFileError(path, f"line {line}", str(error)) from None
        if not 0 < durations[number] < np.inf:
            raise DamagedFileError(path, f"line {line}", f"{text} is no duration in seconds")
    if durations.size < _FEWEST:
        raise InputError(f"{path} has {durations.size} durations: give {_FEWEST} or more")
    return durations


def _table(rows: Iterable[_Row]) -> NoiseTable | None:
    """Return the distributions of rows, None where none has enough samples."""
    tables: dict[float, list[Floats]] = {}
    for key, samples, batch in rows:
        values = np.asarray(samples, np.float64) * batch
        if values.size >= _FEWEST:
            median = float(np.median(values))
            tables.setdefault(median if key is None else key, []).append(np.maximum(values - median, 0.0))
    if not tables:
        return None
    keys = sorted(tables)
    return NoiseTable(np.array(keys), tuple(np.concatenate(tables[key]) for key in keys))


def _nearest(table: NoiseTable, keys: Floats) -> NDArray[np.intp]:
    """Return the numbers of the distributions whose keys are nearest by ratio, shape of `keys`."""
    logs, places = (np.log(np.maximum(values, _SMALLEST)) for values in (table.keys, keys))
    return np.searchsorted((logs[1:] + logs[:-1]) / 2, places)


def _not_longer(table: NoiseTable, keys: Floats) -> NDArray[np.intp]:
    """Return the numbers of the distributions of the longest that is not longer, or of the shortest."""
    return np.maximum(np.searchsorted(table.keys, keys, side="right") - 1, 0)


class _Draws:
    """Draws the noise of each rank, by seed and rank."""

    def __init__(self, noise: Noise, seed: int, processes: int) -> None:
        self._noise = noise
        self._draws = [np.random.Generator(np.random.Philox(key=[seed, rank])) for rank in range(processes)]
        self.seconds = np.zeros(processes)
        """Noise of each rank so far."""

    def __call__(self, rank: int, operations: NDArray[Any]) -> tuple[Operations, NDArray[np.intp]]:
        """Return operations of a rank, or their bytes, with noise, and for each the place of the one that it is of."""
        loud, places, seconds = _with_noise(operations.view(OPERATION), self._noise, self._draws[rank])
        self.seconds[rank] += seconds
        return loud, places


class _NoisyStream:
    """Supplies the operations of a program with noise in them."""

    def __init__(self, program: Program, noise: Noise, seed: int) -> None:
        self._source, self._noise, self._seed = program, noise, seed
        self.restart()

    def restart(self) -> None:
        """Begin anew, with the same noise."""
        program = fresh(self._source) if hasattr(self._source.refill, "fresh") else self._source
        self._pieces = [program.pieces(rank) for rank in range(program.processes)]
        self._draws = _Draws(self._noise, self._seed, program.processes)

    @property
    def seconds(self) -> Floats:
        """Noise of each rank so far."""
        return self._draws.seconds

    def fresh(self) -> "_NoisyStream":
        """Return a copy at the beginning."""
        return _NoisyStream(self._source, self._noise, self._seed)

    def __call__(self, rank: int) -> Operations:
        """Return the next operations of a rank, none at its end."""
        operations = next(self._pieces[rank], None)
        if operations is None:
            return np.empty(0, OPERATION)
        return self._draws(rank, operations)[0]


class _NoisyRanks:
    """Makes what puts noise into the operations of a program that runs, each time alike."""

    def __init__(self, noise: Noise, seed: int, processes: int) -> None:
        self._make = partial(_Draws, noise, seed, processes)
        self._draws = self._make()

    @property
    def seconds(self) -> Floats:
        """Noise of each rank so far, of the last run."""
        return self._draws.seconds

    def __call__(self) -> _Draws:
        """Begin anew, with the same noise."""
        self._draws = self._make()
        return self._draws


@checked
def noisy(program: Program, noise: Noise, seed: Whole) -> Program:
    """Return a program with noise: computations take longer, and a rank computes before a message that is late.

    Parameters
    ----------
    program : Program
        One that is known before it runs: what runs meets noise by `noise_spread`.
    noise : Noise
    seed : int
        0 or more.

    Raises
    ------
    InputError
        Where the program runs while it is simulated.

    Examples
    --------
    >>> from commmodel.simulate.work import ring
    >>> table = NoiseTable(np.array([1024.0]), (np.full(20, 1e-6),))
    >>> loud = noisy(ring(1024, 2), Noise("late", None, table), seed=1)
    >>> [(Code(code).name, value) for code, value in loud.refill(0)[["code", "value"]].tolist()][1:3]
    [('COMPUTE', 1e-06), ('ISEND', 1024.0)]
    """
    if program.is_live:
        raise InputError("a program that runs while it is simulated meets noise as it runs: ask noise_spread")
    stream = _NoisyStream(program, noise, seed)
    offsets = np.zeros(program.processes + 1, np.int64)
    return Program(np.empty(0, OPERATION), offsets, stream, program.name)


def _with_noise(
    operations: Operations, noise: Noise, draws: np.random.Generator
) -> tuple[Operations, NDArray[np.intp], float]:
    """Return operations with noise, for each the place of the one that it is of, and the noise's seconds."""
    total, places = 0.0, np.arange(operations.size)
    computes = np.flatnonzero(operations["code"] == Code.COMPUTE)
    if noise.computation is not None and computes.size:
        operations = operations.copy()
        excess = _of_computations(operations["value"][computes], noise.computation, draws)
        operations["value"][computes] += excess
        total += float(excess.sum())
    sends = np.flatnonzero(np.isin(operations["code"], _SENDS))
    if noise.messages is not None and sends.size:
        excess = np.zeros(sends.size)
        table = _nearest(noise.messages, operations["value"][sends])
        for number in np.unique(table):
            chosen = table == number
            excess[chosen] = draws.choice(noise.messages.excess[number], int(chosen.sum()))
        late = excess > 0
        waits = np.zeros(int(late.sum()), OPERATION)
        waits["code"], waits["request"], waits["value"] = Code.COMPUTE, -1, excess[late]
        operations = np.insert(operations, sends[late], waits)
        places = np.insert(places, sends[late], sends[late])
        total += float(excess.sum())
    return operations, places, total


def _of_computations(seconds: Floats, table: NoiseTable, draws: np.random.Generator) -> Floats:
    """Return the noise of computations: as often drawn as a measurement fits into it, at the end by chance."""
    excess = np.zeros(seconds.size)
    numbers_of = _not_longer(table, seconds)
    for number in np.unique(numbers_of):
        chosen = np.flatnonzero(numbers_of == number)
        samples = table.excess[number]
        times = seconds[chosen] / table.keys[number]
        counts = np.floor(times + draws.random(chosen.size)).astype(np.int64)
        few = counts <= _MANY
        numbers = np.repeat(chosen[few], counts[few])
        excess += np.bincount(numbers, draws.choice(samples, numbers.size), seconds.size)
        for operation, count in zip(chosen[~few].tolist(), counts[~few].tolist(), strict=True):
            excess[operation] = draws.multinomial(count, np.full(samples.size, 1 / samples.size)) @ samples
    return excess


def _noisy_workload(workload: Workload, noise: Noise, seed: int, streams: list[Any]) -> Workload:
    """Return a workload with noise; the stream of each program made of it is added to a list."""

    def program(speeds: Any, faster: float) -> Program:
        quiet = workload.program(speeds, faster)
        if quiet.is_live:
            running: Any = quiet.refill
            running.noise = _NoisyRanks(noise, seed, quiet.processes)
            streams.append(running.noise)
            return quiet
        loud = noisy(quiet, noise, seed)
        streams.append(loud.refill)
        return loud

    def on_hosts(hosts: tuple[int, ...]) -> Workload:
        assert workload.on_hosts is not None  # noqa: S101
        return _noisy_workload(workload.on_hosts(hosts), noise, seed, streams)

    return replace(workload, program=program, on_hosts=None if workload.on_hosts is None else on_hosts)


@dataclass(frozen=True)
class NoiseSpread(Tabular, Value):
    """Times of a program with noise, by seed, and how much of the noise arrives at its end."""

    title: str
    """What was simulated."""
    where: str
    model: str
    noise: str
    """The file of the noise."""
    quiet: float
    """Seconds without noise."""
    seeds: NDArray[np.int64]
    seconds: Floats
    """With noise, shape (seeds,)."""
    rank_noise: Floats
    """Seconds of noise of a rank, mean over the ranks, shape (seeds,)."""
    most_noise: Floats
    """Of the rank with the most, shape (seeds,)."""
    notes: tuple[str, ...] = ()
    """What is to be said of the simulations."""

    @checked
    def quantile(self, share: Annotated[float, Bounds(ge=0, le=1)]) -> float:
        """Return the time that a share of the seeds does not exceed.

        >>> three = np.array([1.0, 2.0, 3.0])
        >>> NoiseSpread("ring", "switch", "fluid", "r", 1.0, np.arange(1, 4), three, three, three).quantile(0.5)
        2.0
        """
        return float(np.quantile(self.seconds, share))

    @property
    def amplification(self) -> float:
        """Median over the seeds of the program's delay by the noise of a rank; NaN without noise."""
        loud = self.rank_noise > 0
        return float(np.median((self.seconds[loud] - self.quiet) / self.rank_noise[loud])) if loud.any() else np.nan

    @property
    def verdict(self) -> str:
        """``amplifies``: the program is delayed by more than the noise of a rank; ``absorbs``: by less.

        ``passes on`` where the two differ by no more than 10 %; empty without noise.
        """
        factor = self.amplification
        if np.isnan(factor):
            return ""
        return "amplifies" if factor > 1 + _LITTLE else "absorbs" if factor < 1 - _LITTLE else "passes on"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each seed: its number, seconds, and the seconds of noise, mean and most of the ranks."""
        return {
            "seed": self.seeds.tolist(),
            "seconds": self.seconds.tolist(),
            "rank_noise": self.rank_noise.tolist(),
            "most_noise": self.most_noise.tolist(),
        }

    def as_json(self) -> dict[str, Any]:
        """Return what ``commmodel simulate --noise --json`` prints."""
        factor = self.amplification
        columns = self.to_dict()
        return {
            "work": {"title": self.title},
            "platform": self.where,
            "model": self.model,
            "noise": self.noise,
            "quiet_seconds": self.quiet,
            "median": self.quantile(0.5),
            "low": self.quantile(0.05),
            "high": self.quantile(0.95),
            "rank_noise": float(np.median(self.rank_noise)),
            "amplification": None if np.isnan(factor) else factor,
            "verdict": self.verdict,
            "runs": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "notes": [*self.notes],
        }

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw how many seeds take how long, and the time without noise."""
        axes = axes_of(axes)
        axes.hist(self.seconds, bins="auto")
        axes.axvline(self.quiet, color="black", linestyle="--")
        axes.set(title=f"{self.title}, {self.where}", xlabel="time in s", ylabel="seeds")
        return axes


class _NoisyRun(NamedTuple):
    """What is told of a run: small enough to be sent to another process."""

    seconds: float
    noise: RankNoise
    model: str
    notes: tuple[str, ...]


@checked
def noise_spread(
    work: Workload | Callable[[Place], Workload],
    noise: Noise | str | os.PathLike[str],
    seeds: Count = 100,
    *,
    on: Where | Place,
    model: ProgramModel | None = None,
    workers: Count = 1,
    executor: Executor | None = None,
    **how: Unpack[Preparation],
) -> NoiseSpread:
    """Simulate a program without noise and with that of several seeds.

    Parameters
    ----------
    work : Workload or callable
        What `commmodel.simulate.scenario.workloads` or `commmodel.simulate.questions.replayed` makes; or a function
        that makes it for a place. A program that runs does so once for each seed, so that what it does goes by the
        time that noise takes; its computation is 0, or that of a recording.
    noise : Noise, str or path
        Measured noise, or the file that `load` takes.
    seeds : int
        1 or more: seeds are 1, 2, ... up to it.
    on : str, path, Platform, Machine, DelayParameters or Place
        What `commmodel.simulate.scenario.place` takes.
    model : str, optional
        By default the place's.
    workers : int
        Runs side by side, 1 or more.
    executor : concurrent.futures.Executor, optional
        In place of workers.
    **how
        mapping, hosts, speed and scale of `commmodel.simulate.scenario.prepare`.

    Raises
    ------
    InputError
        If there is no such file, place or model, or the program's computation is measured.
    DeadlockError
        If the program waits for ever.

    Examples
    --------
    A barrier waits for the slowest of its ranks, so it amplifies noise; ranks that wait for nobody pass it on.

    >>> from commmodel.collectives import Problem
    >>> from commmodel.simulate.scenario import place, workloads
    >>> switch = place("switch")
    >>> late = NoiseTable(np.array([0.0]), (np.random.default_rng(1).exponential(1e-3, 1000),))
    >>> barriers = workloads.collective(switch, "barrier", Problem(16), rounds=20)
    >>> study = noise_spread(barriers, Noise("late", None, late), 5, on=switch)
    >>> study.verdict, study.seconds.size, study.as_json()["quiet_seconds"] == study.quiet
    ('amplifies', 5, True)
    """
    where = scenario.place(on)
    workload = work if isinstance(work, Workload) else work(where)
    if workload.schedule is not None:
        raise InputError("noise is of programs, and this is a schedule: give a recording, a trace or a program")
    if workload.runs and workload.facts.get("compute") and "computation" not in workload.facts:
        raise InputError(
            "computation that is measured differs from run to run: give 0, or that of a recording "
            "(commmodel.record.computation)", "computation",
        )  # fmt: skip
    source = noise if isinstance(noise, Noise) else load(noise)
    seed_numbers = range(seeds + 1)  # 0: without noise
    run = partial(_run, partial(scenario.prepare, where, model=model, **how), workload, source)
    calls = [(seed,) for seed in seed_numbers]
    quiet, *loud = spread(run, calls, workers=workers, executor=executor, label="noise")
    notes = dict.fromkeys(note for result in (quiet, *loud) for note in result.notes)
    seconds, means, largest = (
        np.array(column)
        for column in zip(*((result.seconds, result.noise.mean, result.noise.most) for result in loud), strict=True)
    )
    names = workload.title, where.name, quiet.model, source.name
    return NoiseSpread(*names, quiet.seconds, np.array(seed_numbers[1:]), seconds, means, largest, tuple(notes))


def _run(prepare: Callable[[Workload], scenario.Scenario], workload: Workload, noise: Noise, seed: int) -> _NoisyRun:
    streams: list[_NoisyStream | _NoisyRanks] = []
    loud = workload if not seed else _noisy_workload(workload, noise, seed, streams)
    result = prepare(loud).run()
    seconds = streams[-1].seconds if streams else np.zeros(1)
    return _NoisyRun(result.seconds, RankNoise(float(seconds.mean()), float(seconds.max())), result.model, result.notes)
