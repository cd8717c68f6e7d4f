"""The file ``machine.toml``: reading, checking and writing. Main entries: `load`, `dump`."""

import math
import os
from collections.abc import Iterator, Sequence, Set
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import msgspec

from commmodel import documents
from commmodel.collectives.library import selection as selectors
from commmodel.documents import check_format, convert, locate, quantity, read_toml, type_or_text
from commmodel.errors import DamagedFileError, InputError, choice_of
from commmodel.files import write_text
from commmodel.machine import hybrid
from commmodel.machine.call_costs import CallCost
from commmodel.machine.collective_times import CollectiveTimes
from commmodel.machine.description import FORMAT, VERSION, Machine, MeasuredPairs
from commmodel.machine.measured_times import MeasuredTimes
from commmodel.machine.parameters import MODELS, PLOGP_COLUMNS, RATES, UNITS, Parameter, PLogP
from commmodel.machine.sending import PieceCosts, Sending
from commmodel.machine.tables import ParameterTable
from commmodel.signatures import checked

_UNITS = UNITS | hybrid.HYBRID_UNITS
_OF_THE_MACHINE = {"queue_search", "link_contention", "memory_copy", "reduction"}
_OF_CALLS = ("alpha", "beta", "step", "crosstalk")
_TABLES = {"overlap": {"overhead", "progress"}, "bandwidth": {"byte_time", "fastest"}}
"""List of a machine -> the tables of each of its members."""


def _parameter(path: Path, where: str, name: str, entry: Any) -> dict[str, Any]:
    """Return the table of a parameter that may stand as number, text or table."""
    unit = _UNITS[name]
    try:
        match entry:
            case bool():
                pass
            case int() | float():
                return {"value": float(entry), "unit": unit}
            case str():
                return {"value": quantity(path, where, entry, unit), "unit": unit}
            case dict():
                if entry.get("unit", unit) != unit:
                    problem = f"field unit: expected {unit!r}, got {type_or_text(entry['unit'])}"
                    raise DamagedFileError(path, where, problem)
                return {"unit": unit} | {
                    key: float(value) if type(value) is int else quantity(path, f"{where}.{key}", value, unit)
                    for key, value in entry.items()
                    if key != "unit"
                }
    except OverflowError:
        raise DamagedFileError(path, where, "number out of range") from None
    problem = f"expected a number of {unit}, a text with a unit or a table, got {type(entry).__name__}"
    raise DamagedFileError(path, where, problem)


def _rows(content: dict[str, Any], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the tables of a list of tables, with their places."""
    rows = content.get(name)
    for index, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, dict):
            yield index, row


def _check_shape(path: Path, where: str, entry: Any) -> None:
    """Raise where the numbers of a table have the wrong shape; wrong types are left to the typed decoder."""
    try:
        msgspec.convert(entry, ParameterTable, strict=True)
    except msgspec.ValidationError:
        pass
    except InputError as error:
        raise DamagedFileError(path, where, str(error)) from None


def _normalise_parameters(path: Path, where: str, table: dict[str, Any], names: Set[str]) -> None:
    for name in sorted(table.keys() & names):
        table[name] = _parameter(path, f"{where}.{name}", name, table[name])


def _normalise_limit(path: Path, where: str, table: dict[str, Any]) -> None:
    value = table.get("limit")
    if isinstance(value, int | str):
        table["limit"] = {"value": quantity(path, where, value, "B")}


def _normalise(path: Path, content: Any) -> None:
    """Turn every parameter into table form, in place; wrong shapes are left to the typed decoder."""
    for name in _OF_THE_MACHINE & content.keys():
        content[name] = _parameter(path, f"field {name}", name, content[name])
    selectors.normalise(path, content.get("selection"), "selection")
    for list_name in ("plogp", "overlap"):
        for index, row in _rows(content, list_name):
            _normalise_parameters(path, f"field {list_name}[{index}]", row, {"L"})
    for index, row in _rows(content, "calls"):
        _normalise_parameters(path, f"field calls[{index}]", row, {*_OF_CALLS})
    for index, row in _rows(content, "hybrid"):
        for place, part in [("", row), *((f".modes[{number}]", mode) for number, mode in _rows(row, "modes"))]:
            _normalise_parameters(path, f"field hybrid[{index}]{place}", part, hybrid.HYBRID_UNITS.keys())
            _normalise_limit(path, f"field hybrid[{index}]{place}.limit", part)
    for list_name, names in _TABLES.items():
        for index, row in _rows(content, list_name):
            for name in names & row.keys():
                _check_shape(path, f"field {list_name}[{index}].{name}", row[name])
    for index, segment in _rows(content, "segments"):
        for model in MODELS:
            if isinstance(segment.get(model), dict):
                _normalise_parameters(path, f"field segments[{index}].{model}", segment[model], UNITS.keys())
        for number, rate in _rows(segment, "message_rate"):
            _normalise_parameters(path, f"field segments[{index}].message_rate[{number}]", rate, {"M", "fall"})
        _normalise_limit(path, f"field segments[{index}].limit", segment)


def _parameters(machine: Machine) -> Iterator[tuple[str, str, Parameter]]:
    """Yield (place in the file, name, parameter) of all parameters."""
    for name in sorted(_OF_THE_MACHINE):
        if (parameter := getattr(machine, name)) is not None:
            yield name, name, parameter
    for index, segment in enumerate(machine.segments):
        for model, name in product(MODELS, UNITS):
            if (parameter := getattr(getattr(segment, model), name, None)) is not None:
                yield f"segments[{index}].{model}.{name}", name, parameter
        for place, rate in enumerate(segment.message_rate):
            yield f"segments[{index}].message_rate[{place}].M", "M", rate.M
            yield f"segments[{index}].message_rate[{place}].fall", "fall", rate.fall
    for index, table in enumerate(machine.plogp):
        yield f"plogp[{index}].L", "L", table.L
    for (index, call), name in product(enumerate(machine.calls), _OF_CALLS):
        if (parameter := getattr(call, name)) is not None:
            yield f"calls[{index}].{name}", name, parameter
    for index, profile in enumerate(machine.overlap):
        if profile.L is not None:
            yield f"overlap[{index}].L", "L", profile.L


def _check_table(path: Path, where: str, table: PLogP) -> None:
    """Raise where the columns of a pLogP table do not fit each other."""
    if any(above <= below for below, above in pairwise(table.sizes)):
        raise DamagedFileError(path, f"{where}.sizes", "sizes must ascend, each once")
    columns: dict[str, tuple[float, ...]] = {name: getattr(table, name) for name in PLOGP_COLUMNS}
    for end in ("low", "high"):
        for name, column in getattr(table, end).items():
            if name not in PLOGP_COLUMNS:
                problem = f"{name!r} is no column: {choice_of(name, PLOGP_COLUMNS)}"
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


def _check_measured(path: Path, where: str, measured: Sequence[MeasuredPairs]) -> None:
    """Raise where measured times contradict each other."""
    counts = [table.pairs for table in measured]
    if counts != sorted(set(counts)):
        raise DamagedFileError(path, where, f"pairs must ascend, each once: {counts}")
    for index, entry in enumerate(measured):
        if entry.sizes[0] > entry.sizes[1]:
            raise DamagedFileError(path, f"{where}[{index}].sizes", f"the smallest comes first: {list(entry.sizes)}")
        for table in ("times", "disturbed", "contradicting"):
            if (times := getattr(entry, table)) is not None:
                _check_times(path, f"{where}[{index}].{table}", times)


def _check_times(path: Path, where: str, times: MeasuredTimes) -> None:
    if any(above <= below for below, above in pairwise(times.sizes)):
        raise DamagedFileError(path, f"{where}.sizes", "sizes must ascend, each once")
    for name in ("seconds", "low", "high"):
        column = getattr(times, name)
        if column is not None and (len(column) != len(times.sizes) or not all(map(math.isfinite, column))):
            problem = f"expected a finite number for each of {len(times.sizes)} sizes"
            raise DamagedFileError(path, f"{where}.{name}", problem)


def _check_collectives(path: Path, collectives: Sequence[CollectiveTimes]) -> None:
    """Raise where the columns of measured collectives do not fit each other."""
    for index, times in enumerate(collectives):
        where = f"field collectives[{index}]"
        for name in ("processes", "message_sizes"):
            column = getattr(times, name)
            if any(above <= below for below, above in pairwise(column)):
                raise DamagedFileError(path, f"{where}.{name}", f"{name} must ascend, each once")
        for name in ("seconds", "within"):
            column = getattr(times, name)
            if (name == "seconds" or column) and len(column) != len(times.message_sizes):
                problem = f"{len(column)} numbers for {len(times.message_sizes)} sizes"
                raise DamagedFileError(path, f"{where}.{name}", problem)


def _check_calls(path: Path, calls: Sequence[CallCost]) -> None:
    """Raise where ranges or measured times of a call do not ascend, or two are of the same."""
    for index, call in enumerate(calls):
        where = f"field calls[{index}]"
        for name in ("sizes", "numbers"):
            if (ends := getattr(call, name))[0] > ends[1]:
                raise DamagedFileError(path, f"{where}.{name}", f"the smallest comes first: {list(ends)}")
        if call.times is not None:
            _check_times(path, f"{where}.times", call.times)
        if call.key in [other.key for other in calls[:index]]:
            raise DamagedFileError(path, where, f"a second cost of {call.kernel} {call.call}")


def _check_sending(path: Path, sending: Sequence[Sending]) -> None:
    """Raise where two tables describe the same, or columns do not fit each other."""
    for index, of_path in enumerate(sending):
        where = f"field sending[{index}]"
        if of_path.path in {other.path for other in sending[:index]}:
            raise DamagedFileError(path, f"{where}.path", f"a second table of path {of_path.path!r}")
        if of_path.contiguous is not None:
            _check_times(path, f"{where}.contiguous", of_path.contiguous)
        elif of_path.pieces:
            raise DamagedFileError(path, where, "pieces are told beside messages in one piece: contiguous is missing")
        for number, costs in enumerate(of_path.pieces):
            _check_costs(path, f"{where}.pieces[{number}]", costs)
        for number, row in enumerate(of_path.objects):
            _check_times(path, f"{where}.objects[{number}].times", row.times)
        for name, rows in (
            ("pieces", [(costs.layout, costs.way, costs.stride) for costs in of_path.pieces]),
            ("objects", [(row.kind, row.way, None) for row in of_path.objects]),
        ):
            if twice := [row for number, row in enumerate(rows) if row in rows[:number]]:
                content, way, stride = twice[0]
                apart = "" if stride is None else f", {stride} B apart,"
                raise DamagedFileError(path, f"{where}.{name}", f"{content} by {way}{apart} is there twice")


def _check_costs(path: Path, where: str, costs: PieceCosts) -> None:
    for name in ("sizes", "blocks"):
        column = getattr(costs, name)
        if any(above <= below for below, above in pairwise(column)):
            raise DamagedFileError(path, f"{where}.{name}", f"{name} must ascend, each once")
    if len(costs.byte_time) != len(costs.sizes) or {*map(len, costs.byte_time)} != {len(costs.blocks)}:
        problem = f"expected {len(costs.sizes)} rows of {len(costs.blocks)} numbers"
        raise DamagedFileError(path, f"{where}.byte_time", problem)
    if not all(map(math.isfinite, chain.from_iterable(costs.byte_time))):
        raise DamagedFileError(path, f"{where}.byte_time", "its numbers must be finite")


def _check_profiles(path: Path, machine: Machine) -> None:
    """Raise where two profiles describe the same, or a share exceeds 1."""
    for index, profile in enumerate(machine.overlap):
        shares = () if profile.progress is None else chain.from_iterable(profile.progress.values)
        if wrong := [share for share in shares if share > 1]:
            raise DamagedFileError(
                path, f"field overlap[{index}].progress", f"{wrong[0]} is no share: it lies between 0 and 1"
            )
    for list_name, first, second in (("overlap", "path", "operation"), ("bandwidth", "pattern", "direction")):
        profiles = getattr(machine, list_name)
        kinds = [f"{first} {getattr(row, first)!r} and {second} {getattr(row, second)!r}" for row in profiles]
        for index, kind in enumerate(kinds):
            if kind in kinds[:index]:
                raise DamagedFileError(path, f"field {list_name}[{index}]", f"a second profile of {kind}")


def _check(path: Path, machine: Machine) -> None:
    """Raise where numbers contradict each other or physics."""
    selectors.check(path, machine.selection, "selection")
    for place, name, parameter in _parameters(machine):
        where = f"field {place}"
        is_rate = UNITS.get(name) in RATES
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
        if table.path in {other.path for other in machine.plogp[:index]}:
            raise DamagedFileError(path, f"field plogp[{index}].path", f"a second table of path {table.path!r}")
    for index, segment in enumerate(machine.segments):
        _check_measured(path, f"field segments[{index}].measured", segment.measured)
        upto = [math.inf if rate.upto is None else rate.upto for rate in segment.message_rate]
        if upto != sorted(set(upto)):
            where = f"field segments[{index}].message_rate"
            raise DamagedFileError(path, where, f"upto must ascend, and only the last may have none: {upto}")
    _check_profiles(path, machine)
    _check_collectives(path, machine.collectives)
    _check_calls(path, machine.calls)
    _check_sending(path, machine.sending)
    hybrid.check(path, machine.hybrid)
    for name in machine.paths:
        limits = [segment.limit for segment in machine.segments if segment.path == name]
        values = [math.inf if limit is None else limit.value for limit in limits]
        if values != sorted(set(values)):
            problem = f"limits on path {name!r} must ascend, and only the last segment may have none: {values}"
            raise DamagedFileError(path, "field segments", problem)


def published() -> dict[str, Path]:
    """Return the machines that come with commmodel, each with the publication it is from: name -> file.

    >>> "blue-waters" in published()
    True
    """
    return documents.published(__file__)


@checked
def load(name_or_path: str | os.PathLike[str]) -> Machine:
    """Read a machine file, or the published machine of that name.

    Parameters
    ----------
    name_or_path : str or path
        A name of `published`, or a file.

    Raises
    ------
    InputError
        Where there is neither such a name nor such a file.
    DamagedFileError
        Naming file and field of what is wrong.

    Examples
    --------
    >>> load("blue-waters").name
    'Blue Waters'
    """
    path = locate(name_or_path, published(), "a published machine")
    content = read_toml(path)
    check_format(path, content, FORMAT, VERSION)
    _normalise(path, content)
    machine: Machine = convert(path, content, Machine)
    _check(path, machine)
    return machine


@checked
def dumps(machine: Machine) -> str:
    """Return the text of a machine file."""
    import tomlkit

    def fill(container: Any, values: dict[str, Any]) -> Any:
        for key, value in values.items():
            match value:
                case dict() if key in _UNITS or key == "limit":
                    container[key] = fill(tomlkit.inline_table(), value)
                case dict():
                    container[key] = fill(tomlkit.table(), value)
                case [dict(), *_]:
                    container.add(tomlkit.nl())
                    container[key] = tomlkit.aot()
                    for item in value:
                        container[key].append(fill(tomlkit.table(), item))
                case [[*_], *_]:
                    rows = container[key] = tomlkit.array().multiline(multiline=True)
                    rows.extend(value)
                case _:
                    container[key] = value
        return container

    plain = msgspec.to_builtins(machine)
    if machine.overlap:
        # msgspec leaves out the object that is the default, but writes another that is equal to it.
        plain["overlap"] = [
            {"path": profile.path, "operation": profile.operation} | row
            for profile, row in zip(machine.overlap, plain["overlap"], strict=True)
        ]
    head = {"format": machine.format, "version": machine.version, "name": machine.name}
    fields = (
        "confidence", "selector", "origin", *sorted(_OF_THE_MACHINE), "segments", "plogp", "overlap", "bandwidth",
        "hybrid", "collectives", "calls", "sending", "selection",
    )  # fmt: skip
    body = {key: plain[key] for key in fields if key in plain}
    document = tomlkit.document()
    document.add(tomlkit.comment("A machine for commmodel. Times in s, sizes in B, rates in B/s; low and high bound"))
    document.add(tomlkit.comment("each value's interval. An infinite rate is one that the data show no sign of."))
    return tomlkit.dumps(fill(document, head | body))


@checked
def dump(machine: Machine, path: str | os.PathLike[str]) -> None:
    """Write a machine file, replacing one that is there."""
    write_text(path, dumps(machine))
