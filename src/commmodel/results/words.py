"""Configurations as text, with one set of symbols for all reports.

Main entries: `configuration_words`, `parameter_words` and `SYMBOLS`.
"""

from collections.abc import Callable, Iterable

from commmodel.results.configurations import Configuration, Function
from commmodel.results.parameters import PARAMETERS, Bytes, kernel_name, shortest
from commmodel.units import format_size, format_time

SYMBOLS = PARAMETERS | {"node_pairs": "h", "burst": "b"}
"""Field of a configuration -> its symbol in tables, plots and sentences; other fields keep their names."""
_SIZES = {"message_size", "volume"}


def configuration_words(configuration: Configuration) -> str:
    """Return a configuration as text; fields with default values are omitted.

    >>> from commmodel.results.configurations import Collective, PingPong
    >>> configuration_words(Collective("bcast", 1024, 4, "round-time"))
    'collective bcast, 1 KiB, p = 4, round-time'
    >>> configuration_words(PingPong(8, "same-node"))
    'pingpong, 8 B, same-node'
    >>> configuration_words(Function("sort", "time", (("p", 4.0), ("n", 1e6))))
    'sort, time, p = 4, n = 1000000'
    """
    return ", ".join(WORDS.get(type(configuration), _field_words)(configuration))


def _field_words(configuration: Configuration) -> Iterable[str]:
    """Yield the kernel with its operation, then the fields with other than default values."""
    kernel = type(configuration)
    defaults = dict(zip(reversed(kernel.__struct_fields__), reversed(kernel.__struct_defaults__), strict=False))
    values = {name: getattr(configuration, name) for name in kernel.__struct_fields__}
    operation = values.pop("operation", "")
    yield f"{kernel_name(configuration)} {operation}".rstrip()
    for name, value in values.items():
        if name not in defaults or value != defaults[name]:
            yield _value_words(name, value)


def _value_words(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if isinstance(value, tuple):
        return f"{len(value)} sizes from {format_size(min(value))} to {format_size(max(value))}"
    if name == "buffers":
        return "into one buffer" if value == "one" else "a buffer each"
    if name in _SIZES and isinstance(value, int):
        return format_size(value)
    if name == "wait" and isinstance(value, float):
        return f"after {format_time(value)}"
    if isinstance(value, int | float):
        return f"{SYMBOLS.get(name, name)} = {value:g}"
    return str(value)


def _function_words(configuration: Configuration) -> Iterable[str]:
    if isinstance(configuration, Function):
        yield from (configuration.name, configuration.metric)
        yield from (f"{name} = {shortest(value)}" for name, value in configuration.parameters)


WORDS: dict[type, Callable[[Configuration], Iterable[str]]] = {Function: _function_words}
"""Type of configuration -> its words, where the rule for fields does not do."""


def parameter_words(parameters: Iterable[tuple[str, float | str]]) -> str:
    """Return parameters, as `described` names them, with their values.

    >>> parameter_words((("n", Bytes(1024)), ("start", "round-time"), ("k", 3.0))), parameter_words([("n", 1024.0)])
    ('n = 1 KiB, start = round-time, k = 3', 'n = 1024')
    """

    def words(name: str, value: float | str) -> str:
        if isinstance(value, str):
            return f"{name} = {value}"
        return f"{name} = {format_size(value)}" if isinstance(value, Bytes) else f"{name} = {value:g}"

    return ", ".join(words(name, value) for name, value in parameters)
