"""Files of guards: the programs that are simulated, and how what they send may grow. Main entry: `load`.

TOML that people write (``docs/reference/guard.md``), read strictly.
"""

import os
import shlex
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, field

from commmodel.documents import check_format, convert, read_toml
from commmodel.errors import DamagedFileError, InputError, choice_of
from commmodel.scaling import Growth, parse_growth
from commmodel.scaling.fitting import FEWEST_SCALES
from commmodel.signatures import checked
from commmodel.structs import InputStruct
from commmodel.units import parse_fraction, parse_time
from commmodel.values import Value

FORMAT: Literal["commmodel-guard"] = "commmodel-guard"
VERSION = 1
# History of the format: 1, first version.

Metric = Literal["messages", "bytes", "calls", "collectives", "seconds"]
METRICS: tuple[Metric, ...] = get_args(Metric)
"""Of a simulated run: messages between ranks and their bytes, those of collectives' algorithms included; calls of MPI
that communicate, by all ranks together, and those of collectives among them; simulated run time."""
PROCESSES, REPETITIONS = "{processes}", "{repetitions}"
_MOST_PROCESSES = 1 << 16
_Text = Annotated[str, Meta(min_length=1, max_length=2000)]


class GuardedProgram(Value, InputStruct, frozen=True, forbid_unknown_fields=True):
    """A program, and the numbers of ranks on which it is simulated.

    >>> GuardedProgram("python solver.py", (4, 16)).title
    'python solver.py'
    """

    command: _Text
    """Its words; ``{processes}`` in them is the number of ranks. It is started in the folder of its side."""
    processes: Annotated[tuple[Annotated[int, Meta(ge=1, le=_MOST_PROCESSES)], ...], Meta(min_length=1)]
    """Different numbers of ranks, each from 1 to 65536."""
    name: Annotated[str, Meta(max_length=200)] = ""
    """Of the program in tables; by default its command."""
    on: _Text = "graphene"
    """Platform or machine, as of ``commmodel simulate WHERE``."""
    compute: str = "0"
    """``0`` where computation takes no time; else the folder of a recording, with ``{processes}`` for the ranks."""
    least: str | float = 0.0
    """Share by which a number may grow beyond the baseline's, such as ``"5%"``."""
    expect: dict[Metric, str | int] = field(default_factory=dict)
    """Metric -> class of growth over p, such as ``"p log p"``."""
    environment: dict[str, str] = field(default_factory=dict)
    """Further variables of the environment."""

    @property
    def title(self) -> str:
        """Its name, or its command."""
        return self.name or self.command

    @property
    def tolerance(self) -> float:
        """`least` as a number."""
        return parse_fraction(self.least) if isinstance(self.least, str) else float(self.least)

    def words(self, processes: int) -> list[str]:
        """Return the words of the command on a number of ranks."""
        return [word.replace(PROCESSES, str(processes)) for word in shlex.split(self.command)]

    def growth(self, metric: Metric) -> Growth:
        """Return how a metric should grow over p."""
        return parse_growth(str(self.expect[metric]), "p")


class GuardTimes(InputStruct, frozen=True, forbid_unknown_fields=True):
    """A command that measures a side, with the other one in turns, as of ``commmodel compare --run``."""

    command: _Text
    """One launch of ``{side}`` into ``{output}``, with ``{repetitions}`` where it takes a number of them."""
    launches: Annotated[int, Meta(ge=1, le=1000)] = 10
    """Of each side at least."""
    time: str = "10min"
    """For which further launches go on, in pairs."""
    least: str | float = "5%"
    """Smallest change that counts, a share."""

    @property
    def tolerance(self) -> float:
        """`least` as a number."""
        return parse_fraction(self.least) if isinstance(self.least, str) else float(self.least)

    @property
    def seconds(self) -> float:
        """`time` as a number."""
        return parse_time(self.time)


class Guard(Value, InputStruct, frozen=True, forbid_unknown_fields=True):
    """What a guard file says.

    >>> guard = Guard((GuardedProgram("python solver.py", (4, 16)),))
    >>> [program.title for program in guard.program]
    ['python solver.py']
    """

    program: Annotated[tuple[GuardedProgram, ...], Meta(min_length=1)]
    format: Literal["commmodel-guard"] = FORMAT
    version: Annotated[int, Meta(ge=1, le=VERSION)] = VERSION
    baseline: str = ""
    """File of counts, relative to the guard file; none where it is empty."""
    machine: str = ""
    """Machine file with ``[[sending]]``, relative to the guard file: how to send there is said; none where empty."""
    times: GuardTimes | None = None


@checked
def load(path: str | os.PathLike[str]) -> Guard:
    r"""Return the guard of a file; its baseline and machine are then relative to the current folder.

    Parameters
    ----------
    path : path

    Raises
    ------
    DamagedFileError
        Naming the field that is not as it should be.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = '[[program]]\ncommand = "python solver.py"\nprocesses = [4, 16]\n'
    ...     _ = Path(folder, "guard.toml").write_text(text)
    ...     load(Path(folder, "guard.toml")).program[0].processes
    (4, 16)
    """
    content = {"format": FORMAT} | read_toml(path)  # people write short files by hand
    check_format(path, content, FORMAT, VERSION)
    for number, table in enumerate(content["program"] if isinstance(content.get("program"), list) else ()):
        _refuse_other_metrics(path, number, table)
    guard: Guard = convert(path, content, Guard)
    titles: set[str] = set()
    for number, program in enumerate(guard.program):
        _check(path, f"program[{number}]", program)
        if program.title in titles:
            raise DamagedFileError(path, f"field program[{number}]", f"a second {program.title!r}: name each otherwise")
        titles.add(program.title)
    if guard.times is not None:
        _check_share(path, "times.least", guard.times)
        _check_time(path, guard.times)
    folder = os.path.dirname(path)
    files = {name: os.path.join(folder, file) for name in ("baseline", "machine") if (file := getattr(guard, name))}
    return msgspec.structs.replace(guard, **files)


def _refuse_other_metrics(path: object, number: int, table: object) -> None:
    """Raise for a metric that is none, by its name: the decoder would not say it."""
    expect = table.get("expect") if isinstance(table, dict) else None
    for name in expect if isinstance(expect, dict) else ():
        if name not in METRICS:
            raise DamagedFileError(path, f"field program[{number}].expect.{name}", choice_of(name, METRICS))


def _check(path: object, place: str, program: GuardedProgram) -> None:
    for metric in program.expect:
        try:
            program.growth(metric)
        except InputError as error:
            raise DamagedFileError(path, f"field {place}.expect.{metric}", str(error)) from None
    try:
        words = program.words(1)
    except ValueError as error:
        raise DamagedFileError(path, f"field {place}.command", f"{error}: quote it as in a shell") from None
    if not words:
        raise DamagedFileError(path, f"field {place}.command", "no program to run")
    if len({*program.processes}) < len(program.processes):
        raise DamagedFileError(path, f"field {place}.processes", "a number comes twice: name each once")
    if program.expect and len(program.processes) < FEWEST_SCALES:
        problem = f"growth shows on {FEWEST_SCALES} numbers or more, better five: add some, or leave out expect"
        raise DamagedFileError(path, f"field {place}.processes", problem)
    _check_share(path, f"{place}.least", program)


def _check_share(path: object, field: str, table: GuardedProgram | GuardTimes) -> None:
    try:
        tolerance = table.tolerance
    except InputError as error:
        raise DamagedFileError(path, f"field {field}", str(error)) from None
    if not 0 <= tolerance < 1e3:
        raise DamagedFileError(path, f"field {field}", f"{table.least} is no share from 0 up, such as 5%")


def _check_time(path: object, times: GuardTimes) -> None:
    try:
        _ = times.seconds
    except InputError as error:
        raise DamagedFileError(path, "field times.time", str(error)) from None
