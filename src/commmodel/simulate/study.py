"""Studies: machines x programs x numbers of processes x scales x models in one file, run in parts that resume.

A study file is TOML; its results are JSON lines, one for each run, in the order in which runs have ended. A run that
stands there is not run again, so that a study goes on where it was killed. Main entries: `load`, `carry_out`,
`read_results`.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from commmodel.documents import check_format, convert, read_toml
from commmodel.errors import CommModelError, DamagedFileError, InputError
from commmodel.files import open_output
from commmodel.progress import ProgressLine
from commmodel.signatures import checked
from commmodel.simulate.scenario.scale import Scale, parse_scales
from commmodel.simulate.what_if import PredictedRun
from commmodel.simulate.workers import pool
from commmodel.structs import InputStruct

FORMAT: Literal["commmodel-study"] = "commmodel-study"
VERSION = 1
# History of the format: 1, first version.
_MOST_RUNS = 100_000
Words = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)]
Row = dict[str, Any]


class StudyRun(InputStruct, frozen=True):
    """One run of a study: words as of ``commmodel simulate``; without processes or a model those of the place hold."""

    where: str
    program: str
    processes: int | None = None
    model: str | None = None
    scale: str = ""

    @property
    def key(self) -> str:
        """What distinguishes it from all other runs of a study."""
        return json.dumps([self.where, self.program, self.processes, self.model, self.scale])


class Study(InputStruct, frozen=True, forbid_unknown_fields=True):
    """What a study file says: all combinations are run.

    >>> study = Study(FORMAT, VERSION, ("graphene", "switch"), ("halo -n 64KiB",), (4, 16))
    >>> len(study.runs())
    4
    """

    format: Literal["commmodel-study"]
    version: Annotated[int, Meta(ge=1, le=VERSION)]
    where: Words
    """Platforms and machines, as of ``commmodel simulate WHERE``."""
    programs: Words
    """What is simulated, with its options, like ``halo -n 64KiB`` or ``replay recording``."""
    processes: tuple[Annotated[int, Meta(ge=1)], ...] = ()
    """Numbers of ranks; without any, those of the programs or places."""
    models: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    """As of ``--scale``, like ``bandwidth=1,4``; each is run as it is, too."""

    def runs(self) -> tuple[StudyRun, ...]:
        """Return all runs, in the order of the file."""
        scales = [scale for text in self.scales for scale in parse_scales(text)]
        words = dict.fromkeys(["", *map(_scale_words, scales)])
        parts = product(self.where, self.programs, self.processes or (None,), self.models or (None,), words)
        return tuple(StudyRun(*part) for part in parts)


def _scale_words(scale: Scale) -> str:
    """Return a scale as ``--scale`` takes it; nothing as it is."""
    factors = {name: getattr(scale, name) for name in ("bandwidth", "latency", "compute")}
    return ",".join(f"{name}={factor:g}" for name, factor in factors.items() if factor != 1)


@checked
def load(path: str | os.PathLike[str]) -> Study:
    r"""Return the study of a file.

    Parameters
    ----------
    path : path

    Raises
    ------
    DamagedFileError
        Naming the field that is not as it should be.
    InputError
        If there are too many runs, or one stands there twice.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = 'format = "commmodel-study"\nversion = 1\nwhere = ["switch"]\nprograms = ["ring -n 8"]\n'
    ...     _ = Path(folder, "study.toml").write_text(text)
    ...     load(Path(folder, "study.toml")).programs
    ('ring -n 8',)
    """
    content = read_toml(path)
    check_format(path, content, FORMAT, VERSION)
    study: Study = convert(path, content, Study)
    runs = study.runs()
    if len(runs) > _MOST_RUNS:
        raise InputError(f"{path}: {len(runs)} runs: at most {_MOST_RUNS} are possible")
    if len({run.key for run in runs}) < len(runs):
        raise DamagedFileError(path, "", "a run stands there twice: name each place, program, size and model once")
    return study


def row_of(run: StudyRun, result: PredictedRun) -> Row:
    """Return the line of a run: what it was, and numbers; ranks are means over them, in seconds."""
    return {
        **_head(run),
        "title": result.title,
        "used_model": result.model,
        "ranks": result.processes,
        "seconds": None if result.blocked else result.seconds,
        "messages": result.messages,
        "events": result.events,
        "wall_seconds": result.wall_seconds,
        **{f"mean_{name.replace(' ', '_')}": times.mean for name, times in result.ranks.items()},
        "error": "; ".join(result.blocked),
    }


def _head(run: StudyRun) -> Row:
    return {"study": VERSION, **msgspec.to_builtins(run)}


def _answered(question: Callable[[StudyRun], PredictedRun], run: StudyRun) -> Row:
    """Return the line of a run; an error is one, too, so that the others go on."""
    try:
        return row_of(run, question(run))
    except CommModelError as error:
        return {**_head(run), "seconds": None, "error": str(error)}


def part_file(results: str | os.PathLike[str], part: int) -> Path:
    """Return the results file of a part.

    >>> part_file("study.jsonl", 3).name
    'study.part-0003.jsonl'
    """
    path = Path(results)
    return path.with_name(f"{path.stem}.part-{part:04}{path.suffix}")


def parse_part(word: str) -> tuple[int, int]:
    """Return a part and how many there are.

    >>> parse_part("3/16")
    (3, 16)
    """
    first, slash, count = word.partition("/")
    if not (slash and first.isdecimal() and count.isdecimal() and 1 <= int(first) <= int(count)):
        raise InputError(f"{word}: write a part like 3/16, from 1 up")
    return int(first), int(count)


@checked
def read_results(path: str | os.PathLike[str]) -> list[Row]:
    r"""Return the lines of a results file; the last, which a kill may have cut, is left out where it is not whole.

    Parameters
    ----------
    path : path

    Raises
    ------
    DamagedFileError
        Naming the line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "study.jsonl").write_text('{"study": 1, "seconds": 2.0}\n{"stu')
    ...     read_results(Path(folder, "study.jsonl"))
    [{'study': 1, 'seconds': 2.0}]
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    rows = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            row = json.loads(line)
        except ValueError:
            raise DamagedFileError(path, f"line {number}", "not JSON") from None
        if not isinstance(row, dict) or row.get("study") != VERSION:
            raise DamagedFileError(path, f"line {number}", "no run of a study")
        rows.append(row)
    return rows


def is_results(path: str | os.PathLike[str]) -> bool:
    """Return whether a file holds the results of a study."""
    try:
        with open(path, "rb") as file:
            return file.read(9) == b'{"study":'
    except OSError:
        return False


def _gather(results: Path) -> list[Row]:
    """Return the lines of a results file and of its parts, and put those of parts into it."""
    rows = read_results(results) if results.exists() else []
    keys = {_key(row) for row in rows}
    parts = sorted(results.parent.glob(f"{results.stem}.part-*{results.suffix}"))
    more = [row for part in parts for row in read_results(part) if _key(row) not in keys]
    rows += {_key(row): row for row in more}.values()
    if rows or results.exists():
        _write(results, rows)
    return rows


def _key(row: Row) -> str:
    return json.dumps([row.get(name) for name in ("where", "program", "processes", "model", "scale")])


def _write(path: Path, rows: Sequence[Row]) -> None:
    with open_output(path) as file:
        file.write("".join(_line(row) for row in rows).encode())


def _line(row: Row) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"


@checked
def carry_out(
    study: Study,
    results: str | os.PathLike[str],
    question: Callable[[StudyRun], PredictedRun],
    *,
    part: tuple[int, int] | None = None,
    workers: int = 1,
    executor: Executor | None = None,
) -> list[Row]:
    """Run what is left of a study, and return all of its lines so far.

    Parameters
    ----------
    study : Study
    results : path
        JSON lines, which are continued. Those of parts beside it are gathered into it.
    question : callable
        Run -> predicted run; other processes call it.
    part : (int, int), optional
        Only so much: the k-th of n parts, from 1 up, into a file of its own.
    workers : int
        Runs side by side, 1 or more.
    executor : concurrent.futures.Executor, optional
        Runs them in place of workers, as ``mpi4py.futures.MPIPoolExecutor`` does on the hosts of a cluster.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from commmodel import simulate
    >>> from commmodel.simulate.scenario import Scale
    >>> from commmodel.simulate.what_if import prediction
    >>> def ring(run):
    ...     def on(where, scale):
    ...         return simulate.exchange("ring", 8, run.processes, on=where)
    ...     return prediction(on, run.where, Scale())
    >>> study = Study(FORMAT, VERSION, ("switch",), ("ring",), (4, 8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = carry_out(study, Path(folder, "study.jsonl"), ring)
    >>> [row["ranks"] for row in rows]
    [4, 8]
    """
    path = Path(results)
    if part is None:
        rows = _gather(path)
    else:
        gathered = read_results(path) if path.exists() else []
        path = part_file(path, part[0])
        rows = [*gathered, *(read_results(path) if path.exists() else [])]
        if path.exists():
            _write(path, read_results(path))  # without a line that a kill has cut
    done = {_key(row) for row in rows if not row.get("error")}
    rows = [row for row in rows if not row.get("error")]
    left = [run for index, run in enumerate(study.runs()) if run.key not in done
            and (part is None or index % part[1] == part[0] - 1)]  # fmt: skip
    try:
        with open(path, "ab") as file, ProgressLine("study") as line:
            for count, row in enumerate(_rows(question, left, workers, executor), 1):
                file.write(_line(row).encode())
                file.flush()
                rows.append(row)
                line.count(count, len(left))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if part is None:
        order = {run.key: index for index, run in enumerate(study.runs())}
        rows = sorted((row for row in rows if _key(row) in order), key=lambda row: order[_key(row)])
    return rows


def _rows(
    question: Callable[[StudyRun], PredictedRun], runs: Sequence[StudyRun], workers: int, executor: Executor | None
) -> Iterator[Row]:
    """Yield the lines of runs as they end."""
    if executor is None and (workers == 1 or len(runs) < 2):
        for run in runs:
            yield _answered(question, run)
        return
    if executor is not None:
        futures = [executor.submit(_answered, question, run) for run in runs]
        for future in as_completed(futures):
            yield future.result()
        return
    with pool(min(workers, len(runs))) as side_by_side:
        futures = [side_by_side.submit(_answered, question, run) for run in runs]
        for future in as_completed(futures):
            yield future.result()
