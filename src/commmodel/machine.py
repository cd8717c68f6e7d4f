"""Machine: what measurements mean. The file ``machine.toml``, written by ``commmodel fit`` or by hand.

A machine is a list of protocol segments. A segment holds for one path that messages take and for messages up to
its limit, and carries the parameters of each model with unit, interval and how well the model fits. By hand a
parameter may be a bare number in SI base units or a text with a unit: ``alpha = "4us"``. Main entries: `read`,
`load`, which also knows published machines by name, `write` and `Machine.segment`.
"""

import math
import os
import tomllib
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from commmodel.collectives import selection as selectors
from commmodel.errors import DamagedFileError, InputError, MissingParameterError
from commmodel.units import parse_quantity

__all__ = [
    "MODELS",
    "Extended",
    "LatencyAware",
    "Limit",
    "LogGP",
    "Machine",
    "MaxRate",
    "Origin",
    "PLogP",
    "Parameter",
    "Postal",
    "Quality",
    "Segment",
    "dumps",
    "load",
    "published",
    "read",
    "write",
]

FORMAT: Literal["commmodel-machine"] = "commmodel-machine"
VERSION = 1
# History of the format: 1, first version.


class Parameter(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A number of a model in an SI base unit, with the interval in which it lies.

    An infinite rate means "not limiting": the data show no limit up to `low`.
    """

    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def is_limiting(self) -> bool:
        """False for an infinite rate."""
        return math.isfinite(self.value)


class Quality(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How well a model fits the points of its segment, and whether to trust it."""

    points: int
    relative_error_sum: float
    """Σ |T_model − T| / T, as in Gropp 2016, Table 2."""
    relative_error_mean: float
    relative_error_max: float
    trusted: bool
    remarks: tuple[str, ...] = ()
    """Why not, or what to know: at a bound, too few sizes, R_N not limiting, ..."""
    information_criterion: float | None = None
    """Akaike's, corrected for few points (AICc); lower is better, on the same points only."""


class Postal(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = α + n β (Gropp 2016, Eq 2)."""

    alpha: Parameter
    beta: Parameter
    quality: Quality | None = None


class MaxRate(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = α + k n / min(R_N, k R_C) (Gropp 2016, Eq 3). R_N is absent where one number of pairs was measured."""

    alpha: Parameter
    R_C: Parameter
    R_N: Parameter | None = None
    quality: Quality | None = None


class Extended(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = α + k n / min(R_N, R_Cb + (k − 1) R_Ci) (Gropp 2016, Eq 4)."""

    alpha: Parameter
    R_Cb: Parameter
    R_Ci: Parameter
    R_N: Parameter
    quality: Quality | None = None


class LatencyAware(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = max(k n / R_N, α + n / R_C) (Gropp 2016, Eq 5)."""

    alpha: Parameter
    R_C: Parameter
    R_N: Parameter
    quality: Quality | None = None


class LogGP(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """T = L + 2 o + (m − 1) G (March 2009); messages of one process begin at least max(o, g + (m − 1) G) apart."""

    L: Parameter
    o: Parameter
    g: Parameter
    G: Parameter | None = None
    """Absent where a publication gives it in a figure only."""
    quality: Quality | None = None


class PLogP(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Parameterised LogP on one path: times at some sizes, linear between them, the last slope beyond.

    T = L + g(m) (Kielmann, Bal and Verstoep 2000). All columns have shape (sizes,), times in seconds.
    """

    L: Parameter
    sizes: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=2)]
    o_s: tuple[Annotated[float, Meta(ge=0)], ...]
    """Time of a send."""
    o_r: tuple[Annotated[float, Meta(ge=0)], ...]
    """Time of a receive of a message that is there."""
    g: tuple[Annotated[float, Meta(ge=0)], ...]
    """Least time between the begins of two messages."""
    path: str = "any"
    mode: Literal["blocking", "non-blocking"] = "blocking"
    low: dict[str, tuple[float, ...]] = {}
    """Column -> low ends of its intervals."""
    high: dict[str, tuple[float, ...]] = {}

    def at(self, column: str, message_size: Any) -> Any:
        """Return a column's times at any sizes, array of the same shape: its last slope goes on beyond the last size.

        >>> table = PLogP(Parameter(1e-6), (0, 100), o_s=(1e-6, 2e-6), o_r=(1e-6, 2e-6), g=(1e-6, 3e-6))
        >>> table.at("g", [50, 200])
        array([2.e-06, 5.e-06])
        """
        import numpy as np

        asked, sizes, values = np.asarray(message_size, dtype=float), self.sizes, getattr(self, column)
        slope = max(0.0, (values[-1] - values[-2]) / (sizes[-1] - sizes[-2]))
        return np.interp(asked, sizes, values) + np.maximum(asked - sizes[-1], 0.0) * slope


class Limit(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a segment ends: it holds for messages of at most `value` bytes."""

    value: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    found_by: Literal["threshold", "change-point", "user", "hand"] = "hand"
    """``threshold``: the probe; ``change-point``: the times; ``user``: told to the fit; ``hand``: in the file."""
    above: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    """Smallest size known to belong to the next segment."""


class Segment(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One protocol on one path."""

    protocol: str
    """``short``, ``eager``, ``rendezvous``, or ``all`` where no limit was found."""
    path: str = "any"
    limit: Limit | None = None
    """None: it holds for all larger messages."""
    postal: Postal | None = None
    max_rate: MaxRate | None = None
    extended: Extended | None = None
    latency_aware: LatencyAware | None = None
    one_way: MaxRate | None = None
    """The max-rate model of streams in one direction; `max_rate` is that of ping-pongs, which go both ways at once."""
    loggp: LogGP | None = None
    recommended: str = ""
    """Name of the model to use: the simplest that is good enough."""
    reason: str = ""


class Origin(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the parameters came from."""

    mpi: str = ""
    hosts: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    """Names of the results files."""
    measured: str = ""
    commmodel: str = ""
    seed: int | None = None
    """Of the bootstrap."""
    source: str = ""
    """A publication, for a machine taken from one."""


class Machine(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A machine's communication in a few numbers."""

    name: str
    segments: Annotated[tuple[Segment, ...], Meta(min_length=1)]
    format: Literal["commmodel-machine"] = FORMAT
    version: Annotated[int, Meta(ge=1)] = VERSION
    confidence: Annotated[float, Meta(gt=0, lt=1)] | None = None
    """Of all intervals in the file."""
    origin: Origin | None = None
    queue_search: Parameter | None = None
    """γ: time of finding a message among m received ones, γ m² in all."""
    link_contention: Parameter | None = None
    """δ: seconds per byte on the busiest link."""
    memory_copy: Parameter | None = None
    """δ of March 2009: seconds per byte of a copy within a process's memory."""
    reduction: Parameter | None = None
    """γ: seconds per byte that is combined with another by a reduction."""
    plogp: tuple[PLogP, ...] = ()
    """One a path."""
    selector: str = ""
    """Which algorithms of collectives its library picks: a name of `commmodel.collectives.selection.published`."""
    selection: tuple[selectors.Rule, ...] = ()
    """Rules that come before the selector's."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the machine has segments for, in the order of the file."""
        return tuple(dict.fromkeys(segment.path for segment in self.segments))

    def segment(self, message_size: float, path: str | None = None) -> Segment:
        """Return the segment that holds for a message of so many bytes.

        `path` may be left out where the machine has only one, or has one between nodes.

        >>> hand_made = Machine("m", (Segment("eager", limit=Limit(8192)), Segment("rendezvous")))
        >>> hand_made.segment(8192).protocol, hand_made.segment(8193).protocol
        ('eager', 'rendezvous')
        """
        if message_size < 0:
            raise InputError(f"a message of {message_size} bytes: a size must not be negative")
        path = path or ("between-nodes" if "between-nodes" in self.paths else self.paths[0])
        by_path = {name: [one for one in self.segments if one.path == name] for name in self.paths}
        on_path = by_path.get(path) or by_path.get("any")
        if not on_path:
            raise MissingParameterError(
                f"machine {self.name!r} knows no path {path!r} (it has {', '.join(self.paths)}): "
                "measure it with python -m commmodel.bench pingpong pairs, with ranks placed that way"
            )
        for segment in on_path:
            if segment.limit is None or message_size <= segment.limit.value:
                return segment
        last = on_path[-1].limit
        raise MissingParameterError(
            f"machine {self.name!r} ends at {last.value if last else 0} bytes on path {path!r}: measure larger "
            "messages with python -m commmodel.bench pingpong --sizes 1:16MiB"
        )

    def collectives(self, name: str = "") -> selectors.Selector:
        """Return which algorithms collectives use: the machine's own rules, then those of a selector.

        Parameters
        ----------
        name : str
            A published selector or a file of rules; empty: the machine's `selector`.

        Raises
        ------
        InputError
            Where neither the machine nor the caller says anything, or there is no such selector.

        Examples
        --------
        >>> from commmodel.collectives.selection import select
        >>> cluster = Machine("m", (Segment("all"),), selector="mpich", selection=(selectors.Rule("bcast", "chain"),))
        >>> [select(cluster.collectives(), operation, 8, 64).algorithm for operation in ("bcast", "scan")]
        ['chain', 'recursive-doubling']
        """
        name = name or self.selector
        if not name and not self.selection:
            known = ", ".join(selectors.published())
            raise InputError(f"machine {self.name!r} has neither selector nor selection: give it one of {known}")
        chosen = selectors.load(name) if name else selectors.Selector(self.name)
        return selectors.preceded(chosen, self.selection)

    def max_rate(self, message_size: float, path: str | None = None) -> MaxRate:
        """Return the max-rate parameters that hold for a message of so many bytes; R_N is there."""
        segment = self.segment(message_size, path)
        if segment.max_rate is None or segment.max_rate.R_N is None:
            missing = "max_rate" if segment.max_rate is None else "max_rate.R_N"
            raise MissingParameterError(
                f"machine {self.name!r}, segment {segment.protocol} ({segment.path}): {missing} is missing: "
                "measure it with python -m commmodel.bench pairs on at least 4 ranks, then fit"
            )
        return segment.max_rate


UNITS = {
    "alpha": "s", "beta": "s/B", "R_C": "B/s", "R_N": "B/s", "R_Cb": "B/s", "R_Ci": "B/s",
    "queue_search": "s", "link_contention": "s/B", "memory_copy": "s/B", "reduction": "s/B",
    "L": "s", "o": "s", "g": "s", "G": "s/B",
}  # fmt: skip
"""Base unit of each parameter, wherever it stands."""
_OF_THE_MACHINE = {"queue_search", "link_contention", "memory_copy", "reduction"}
MODELS = ("postal", "max_rate", "extended", "latency_aware", "one_way", "loggp")
"""Models of a segment, in the file and in Python."""
PLOGP_COLUMNS = ("o_s", "o_r", "g")
"""Columns of a pLogP table that hold times."""


def _shown(value: Any) -> str:
    """Return a text as it stands, and of all else, which may be large and deep, the type."""
    return repr(value) if isinstance(value, str) else type(value).__name__


def _number(path: Path, where: str, written: Any, unit: str) -> Any:
    """Return the number that a text with a unit means; anything else is left for the typed decoder."""
    if not isinstance(written, str):
        return written
    try:
        return parse_quantity(written, unit)
    except InputError as error:
        raise DamagedFileError(path, where, str(error)) from None


def _parameter(path: Path, where: str, name: str, written: Any) -> dict[str, Any]:
    """Return the table of a parameter that may stand as number, text or table."""
    unit = UNITS[name]
    match written:
        case bool():
            pass
        case int() | float():
            return {"value": float(written), "unit": unit}
        case str():
            return {"value": _number(path, where, written, unit), "unit": unit}
        case dict():
            if written.get("unit", unit) != unit:
                problem = f"field unit: expected {unit!r}, got {_shown(written['unit'])}"
                raise DamagedFileError(path, where, problem)
            return {"unit": unit} | {
                key: float(value) if type(value) is int else _number(path, f"{where}.{key}", value, unit)
                for key, value in written.items()
                if key != "unit"
            }
    problem = f"expected a number of {unit}, a text with a unit or a table, got {type(written).__name__}"
    raise DamagedFileError(path, where, problem)


def _normalise(path: Path, content: Any) -> None:
    """Bring every parameter into table form, in place; wrong shapes are left for the typed decoder to name."""
    for name in _OF_THE_MACHINE & content.keys():
        content[name] = _parameter(path, f"field {name}", name, content[name])
    selectors.normalise(path, content.get("selection"), "selection")
    tables = content.get("plogp")
    for index, row in enumerate(tables if isinstance(tables, list) else ()):
        if isinstance(row, dict) and "L" in row:
            where = f"field plogp[{index}].L"
            try:
                row["L"] = _parameter(path, where, "L", row["L"])
            except OverflowError:
                raise DamagedFileError(path, where, "number out of range") from None
    segments = content.get("segments")
    for index, segment in enumerate(segments if isinstance(segments, list) else ()):
        for model in MODELS:
            table: Any = segment.get(model) if isinstance(segment, dict) else None
            for name in sorted(table.keys() & UNITS.keys()) if isinstance(table, dict) else ():
                where = f"field segments[{index}].{model}.{name}"
                try:
                    table[name] = _parameter(path, where, name, table[name])
                except OverflowError:
                    raise DamagedFileError(path, where, "number out of range") from None
        if isinstance(segment, dict) and isinstance(segment.get("limit"), int | str):
            value = segment["limit"]
            place = f"field segments[{index}].limit"
            segment["limit"] = {"value": _number(path, place, value, "B") if isinstance(value, str) else value}


def _parameters(machine: Machine) -> Iterator[tuple[str, str, Parameter]]:
    """Yield (place in the file, name, parameter) of all parameters."""
    for name in sorted(_OF_THE_MACHINE):
        if (parameter := getattr(machine, name)) is not None:
            yield name, name, parameter
    for index, segment in enumerate(machine.segments):
        for model, name in product(MODELS, UNITS):
            if (parameter := getattr(getattr(segment, model), name, None)) is not None:
                yield f"segments[{index}].{model}.{name}", name, parameter
    for index, table in enumerate(machine.plogp):
        yield f"plogp[{index}].L", "L", table.L


def _check_table(path: Path, where: str, table: PLogP) -> None:
    """Raise where the columns of a pLogP table do not fit each other."""
    if any(above <= below for below, above in pairwise(table.sizes)):
        raise DamagedFileError(path, f"{where}.sizes", "sizes must ascend, each once")
    columns: dict[str, tuple[float, ...]] = {name: getattr(table, name) for name in PLOGP_COLUMNS}
    for end in ("low", "high"):
        for name, column in getattr(table, end).items():
            if name not in PLOGP_COLUMNS:
                problem = f"{name!r} is no column: choose of {', '.join(PLOGP_COLUMNS)}"
                raise DamagedFileError(path, f"{where}.{end}", problem)
            columns[f"{end}.{name}"] = column
    for name, column in columns.items():
        if len(column) != len(table.sizes):
            problem = f"{len(column)} numbers for {len(table.sizes)} sizes"
            raise DamagedFileError(path, f"{where}.{name}", problem)
        if wrong := [number for number in column if not 0 <= number < math.inf]:
            raise DamagedFileError(path, f"{where}.{name}", f"{wrong[0]} is not a finite number from 0 up")
    for name in table.low.keys() & table.high.keys():
        if any(low > high for low, high in zip(table.low[name], table.high[name], strict=True)):
            raise DamagedFileError(path, f"{where}.high.{name}", "an interval does not ascend")


def _check(path: Path, machine: Machine) -> None:
    """Raise where numbers contradict each other or physics."""
    selectors.check(path, machine.selection, "selection")
    for place, name, parameter in _parameters(machine):
        where = f"field {place}"
        is_rate = parameter.unit == "B/s"
        if not (0 <= parameter.value < math.inf or (is_rate and parameter.value == math.inf)):
            raise DamagedFileError(path, where, f"{parameter.value} is not a finite number from 0 up")
        low = -math.inf if parameter.low is None else parameter.low
        high = math.inf if parameter.high is None else parameter.high
        if not low <= high:  # nor where one of them is NaN
            raise DamagedFileError(path, where, f"its interval [{low}, {high}] does not ascend")
        if is_rate and parameter.value == 0 and name != "R_Ci":  # further processes may add nothing
            raise DamagedFileError(path, where, "a rate must not be 0")
    for index, table in enumerate(machine.plogp):
        _check_table(path, f"field plogp[{index}]", table)
        if table.path in {one.path for one in machine.plogp[:index]}:
            raise DamagedFileError(path, f"field plogp[{index}].path", f"a second table of path {table.path!r}")
    for name in machine.paths:
        limits = [segment.limit for segment in machine.segments if segment.path == name]
        values = [math.inf if limit is None else limit.value for limit in limits]
        if values != sorted(set(values)):
            problem = f"limits on path {name!r} must ascend, and only the last segment may have none: {values}"
            raise DamagedFileError(path, "field segments", problem)


def read(path: str | os.PathLike[str]) -> Machine:
    """Read a machine file; `DamagedFileError` names file and field of what is wrong."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # of the syntax, the encoding, an integer of too many digits
        raise DamagedFileError(path, "not TOML", str(error)) from None
    if content.get("format") != FORMAT:
        raise DamagedFileError(path, "field format", f"expected {FORMAT!r}, got {_shown(content.get('format'))}")
    if isinstance(content.get("version"), int) and content["version"] > VERSION:
        problem = f"{content['version']} is newer than this commmodel reads ({VERSION}): upgrade it"
        raise DamagedFileError(path, "field version", problem)
    _normalise(path, content)
    try:
        machine = msgspec.convert(content, Machine, strict=True)
    except msgspec.ValidationError as error:
        problem, _, field = str(error).partition(" - at `$")
        where = f"field {field.rstrip('`').lstrip('.')}" if field else ""
        problem = problem.replace("`", "")
        raise DamagedFileError(path, where, problem[:1].lower() + problem[1:]) from None
    _check(path, machine)
    return machine


def published() -> dict[str, Path]:
    """Return the machines that come with commmodel, each with the publication it is from: name -> file.

    >>> "blue-waters" in published()
    True
    """
    files = Path(__file__).with_name("machines").glob("*.toml")
    return {path.stem: path for path in sorted(files, key=lambda path: path.stem)}


def load(name_or_path: str | os.PathLike[str]) -> Machine:
    """Read a machine file, or the published machine of that name.

    Parameters
    ----------
    name_or_path : str or path
        A name of `published`; all else, and what ends in ``.toml``, is a file.

    Raises
    ------
    InputError
        Where there is neither such a name nor such a file.

    Examples
    --------
    >>> load("blue-waters").name
    'Blue Waters'
    """
    name = os.fspath(name_or_path)
    known = published()
    if name in known:
        return read(known[name])
    if not name.endswith(".toml") and not Path(name).exists():
        raise InputError(f"{name!r} is neither a machine file nor a published machine ({', '.join(known)})")
    return read(name)


def dumps(machine: Machine) -> str:
    """Return the text of a machine file."""
    import tomlkit

    def fill(container: Any, values: dict[str, Any]) -> Any:
        for key, value in values.items():
            match value:
                case dict() if key in UNITS or key == "limit":
                    container[key] = fill(tomlkit.inline_table(), value)
                case dict():
                    container[key] = fill(tomlkit.table(), value)
                case [dict(), *_]:
                    container.add(tomlkit.nl())
                    container[key] = tomlkit.aot()
                    for item in value:
                        container[key].append(fill(tomlkit.table(), item))
                case _:
                    container[key] = value
        return container

    plain = msgspec.to_builtins(machine)
    head = {"format": machine.format, "version": machine.version, "name": machine.name}
    fields = ("confidence", "selector", "origin", *sorted(_OF_THE_MACHINE), "segments", "plogp", "selection")
    body = {key: plain[key] for key in fields if key in plain}
    document = tomlkit.document()
    document.add(tomlkit.comment("A machine for commmodel. Times in s, sizes in B, rates in B/s; low and high bound"))
    document.add(tomlkit.comment("each value's interval. An infinite rate is one that the data show no sign of."))
    return tomlkit.dumps(fill(document, head | body))


def write(machine: Machine, path: str | os.PathLike[str]) -> None:
    """Write a machine file, replacing one that is there."""
    try:
        Path(path).write_text(dumps(machine), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
