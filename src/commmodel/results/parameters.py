"""Descriptions of a configuration: as text, as columns, or as a function, a metric and parameters.

Main entries: `describe`, and `columns`, which knows of a configuration what the types of its fields say.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, get_type_hints

from commmodel.results.configurations import (
    Collective,
    Configuration,
    Function,
    Memory,
    RandomPing,
    RandomPingPong,
)
from commmodel.signatures import checked
from commmodel.units import format_size, format_time


class Bytes(float):
    """A parameter in bytes; those of other programs have no unit, whatever their name."""


PARAMETERS = {"processes": "p", "message_size": "n", "pairs": "k"}
"""Field of a configuration -> what the parameter is called; all others keep their names."""
METRICS = {
    "s": "time", "B": "memory", "1": "count", "B/s": "bandwidth", "flop/s": "speed", "1/s": "rate", "J": "energy",
    "W": "power",
}  # fmt: skip
"""Unit -> what the metric is called where the configuration does not say it."""

_LABELLED = re.compile(r"(?P<name>.*\S) \[(?P<labels>[^\[\]]+)\]", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?", re.ASCII)


@cache
def _units(kind: type[Configuration]) -> dict[str, str]:
    """Return the unit of each field, empty without one."""
    types = get_type_hints(kind, include_extras=True)
    units = {}
    for name in kind.__struct_fields__:
        extra: dict[str, str] = {}
        for meta in getattr(types[name], "__metadata__", ()):
            extra |= meta.extra or {}
        units[name] = extra.get("unit", "")
    return units


def _value_words(name: str, unit: str, value: Any) -> str:
    if name == "message_sizes":
        return f"{len(value)} sizes from {format_size(min(value))} to {format_size(max(value))}"
    return format_size(value) if unit == "B" else format_time(value) if unit == "s" else str(value)


def kernel_name(configuration: Configuration) -> str:
    """Return the name of the benchmark kernel.

    >>> from commmodel.results.configurations import PingPong
    >>> kernel_name(PingPong(8, "same-node"))
    'pingpong'
    """
    return str(type(configuration).__struct_config__.tag)


def columns(configuration: Configuration) -> dict[str, str]:
    """Return the fields of a configuration as columns of a table: heading and text.

    >>> from commmodel.results.configurations import Burst
    >>> columns(Burst(1024, 4, "put", "same-node"))
    {'message size': '1 KiB', 'burst': '4', 'operation': 'put', 'path': 'same-node'}
    """
    if isinstance(configuration, Function):
        return {name: shortest(value) for name, value in configuration.parameters}
    return {
        name.replace("_", " "): _value_words(name, unit, getattr(configuration, name))
        for name, unit in _units(type(configuration)).items()
    }


@checked
def describe(configuration: Configuration) -> tuple[str, str, dict[str, float | str]]:
    """Return the name, the metric (empty: `METRICS` has what the unit says) and the parameters of a configuration.

    Numbers come before words, both in alphabetical order. Labels of a `Function`, as `with_labels` writes them, are
    parameters like all others.

    Examples
    --------
    >>> describe(Collective("bcast", 8, 4))
    ('bcast', '', {'n': 8.0, 'p': 4.0, 'start': 'barrier'})
    >>> describe(Function("bcast [n=8, start=barrier]", "time", (("p", 4.0),)))
    ('bcast', 'time', {'n': 8.0, 'p': 4.0, 'start': 'barrier'})
    """
    match configuration:
        case Function(name=name, metric=metric, parameters=parameters):
            name, labels = _without_labels(name, dict(parameters))
            return name, metric, _ordered({**dict(parameters), **labels})
        case Memory(operation=operation, processes=processes, measure=measure):
            return operation, "memory" if measure == "allocated" else f"{measure} memory", {"p": float(processes)}
    fields = {name: getattr(configuration, name) for name in configuration.__struct_fields__}
    if isinstance(configuration, RandomPing | RandomPingPong):
        fields["sizes"] = len(fields.pop("message_sizes"))
    name, metric = kernel_name(configuration), ""
    if isinstance(configuration, Collective):
        name, mode = fields.pop("operation"), fields.pop("mode")
        del fields["per_node"]  # where the processes are, not what is done
        if not fields["algorithm"]:
            del fields["algorithm"]
        if mode != "blocking":
            name = f"i{name}"
        if mode == "overlapped":
            metric = "overlapped time"
    units = _units(type(configuration))
    content: dict[str, float | str] = {}
    for field, value in fields.items():
        number = Bytes if units.get(field) == "B" else float
        content[PARAMETERS.get(field, field)] = number(value) if isinstance(value, int | float) else str(value)
    return name, metric, _ordered(content)


def _ordered(parameters: dict[str, float | str]) -> dict[str, float | str]:
    return dict(sorted(parameters.items(), key=lambda item: (isinstance(item[1], str), item[0])))


def _without_labels(name: str, parameters: dict[str, float]) -> tuple[str, dict[str, float | str]]:
    """Return a function's name and its labels; the full name where the rest is no list of labels."""
    match = _LABELLED.fullmatch(name)
    if match is None:
        return name, {}
    labels: dict[str, float | str] = {}
    for part in match["labels"].split(", "):
        label, equals, value = part.partition("=")
        if not (label and equals and value) or "=" in value or "," in part or label in labels or label in parameters:
            return name, {}
        labels[label] = float(value) if _NUMBER.fullmatch(value) else value
    return match["name"], labels


def with_labels(name: str, labels: Iterable[tuple[str, float | str]]) -> str:
    """Return a function's name with its parameters appended, for formats that have only names.

    Examples
    --------
    >>> with_labels("bcast", [("n", 8.0), ("start", "barrier")])
    'bcast [n=8, start=barrier]'
    >>> with_labels("barrier", [])
    'barrier'
    """
    words = [f"{label}={value if isinstance(value, str) else shortest(value)}" for label, value in labels]
    return f"{name} [{', '.join(words)}]" if words else name


def shortest(value: float) -> str:
    """Return the shortest text of exactly this number.

    >>> shortest(64.0), shortest(1e22), shortest(0.1)
    ('64', '1e+22', '0.1')
    """
    return repr(value).removesuffix(".0")
