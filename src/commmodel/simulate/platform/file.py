"""Platform files: our own TOML, read strictly and written; SimGrid's XML; and the published platforms by name.

Main entries: `load`, `dump`, `published`.
"""

import os
from pathlib import Path
from typing import Any

import msgspec

from commmodel import documents
from commmodel.documents import check_format, convert, locate, parse_toml, quantity, read_bytes, read_text
from commmodel.errors import DamagedFileError, InputError, choice_of
from commmodel.files import write_text
from commmodel.signatures import checked
from commmodel.simulate.platform.description import Platform
from commmodel.simulate.platform.topologies import TOPOLOGIES
from commmodel.simulate.platform.topology import Topology

FORMAT, VERSION = "commmodel-platform", 1
_UNITS = {"bandwidth": "B/s", "limiter": "B/s", "latency": "s", "speed": "flop/s"} | dict.fromkeys(
    ("idle", "epsilon", "all", "off"), "W"
)


def _numbers(path: Path, table: dict[str, Any], place: str = "") -> None:
    """Convert texts with units to numbers, in place; other types are left to the typed decoder."""
    for name, value in table.items():
        where = f"{place}.{name}".lstrip(".")
        if isinstance(value, dict):
            _numbers(path, value, where)
        elif name in _UNITS:
            table[name] = quantity(path, f"field {where}", value, _UNITS[name])


@checked
def loads(text: str, path: str | os.PathLike[str] = "platform.toml") -> Platform:
    """Return the platform of a TOML text.

    Parameters
    ----------
    text : str
        TOML.
    path : path
        For messages.

    Raises
    ------
    DamagedFileError
        Naming the field.

    Examples
    --------
    >>> loads('''format = "commmodel-platform"
    ... version = 1
    ... kind = "flat"
    ... hosts = 4
    ... bandwidth = "125MB/s"
    ... latency = "15us"''').hosts
    4
    """
    path = Path(path)
    content = parse_toml(path, text)
    check_format(path, content, FORMAT, VERSION)
    del content["format"]
    if content.pop("version", None) != VERSION:
        raise DamagedFileError(path, "field version", f"expected {VERSION}")
    content.pop("source", None)
    try:
        _numbers(path, content)
    except (RecursionError, OverflowError):
        raise DamagedFileError(path, "", "a number out of range, or tables too deep") from None
    kind = str(content.get("kind"))
    if kind not in TOPOLOGIES:
        raise DamagedFileError(path, "field kind", f"unknown kind {kind!r}: {choice_of(kind, TOPOLOGIES)}")
    description: Topology = convert(path, content, TOPOLOGIES[kind])
    if not description.name:
        description = msgspec.structs.replace(description, name=path.stem)
    try:
        return description.build()
    except DamagedFileError:
        raise
    except InputError as error:
        raise DamagedFileError(path, "", str(error)) from None


def published() -> dict[str, Path]:
    """Return the platforms that come with commmodel: name -> file.

    >>> sorted(published())
    ['graphene', 'switch']
    """
    return documents.published(__file__)


@checked
def load(name_or_path: str | os.PathLike[str]) -> Platform:
    """Read a platform.

    Parameters
    ----------
    name_or_path : str or path
        A TOML file of ours, an XML file of SimGrid, or a name of `published`.

    Raises
    ------
    InputError
        Where there is no such platform.
    DamagedFileError
        Where the file does not hold one; it says where.

    Examples
    --------
    >>> load("graphene").hosts
    144
    """
    path = locate(name_or_path, published(), "a published platform")
    if path.suffix.lower() == ".xml" or read_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        from commmodel.simulate.platform.xml import read_xml

        return read_xml(path)[0]
    return loads(read_text(path), path)


@checked
def dumps(platform: Platform) -> str:
    """Return the TOML text of a platform from a builder or a TOML file.

    Raises
    ------
    InputError
        Where the platform was read from XML.
    """
    import tomlkit

    if platform.description is None:
        raise InputError(f"platform {platform.name!r} was read from XML and has no TOML form: keep its XML file")
    plain = msgspec.to_builtins(platform.description)
    plain = {key: value for key, value in plain.items() if value is not None}
    document = tomlkit.document()
    document.add(tomlkit.comment("A platform for commmodel. Rates in B/s, times in s, speeds in flop/s."))
    document["format"], document["version"] = FORMAT, VERSION
    for key in ("name", "kind"):
        if plain.get(key):
            document[key] = plain[key]
    for key, value in plain.items():
        if key in {"name", "kind"}:
            continue
        if isinstance(value, dict):
            table = tomlkit.inline_table()
            table.update({name: item for name, item in value.items() if item is not None})
            value = table
        document[key] = value
    return tomlkit.dumps(document)


@checked
def dump(platform: Platform, path: str | os.PathLike[str]) -> None:
    """Write a platform as TOML, replacing an existing file."""
    write_text(path, dumps(platform))
