"""Platform files: our own TOML, read strictly and written; SimGrid's XML; and the published platforms by name.

Main entries: `read`, `write`, `published`.
"""

import os
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from commmodel.errors import DamagedFileError, InputError
from commmodel.files import write_text
from commmodel.simulate.platform.description import Platform
from commmodel.simulate.platform.topologies import Description
from commmodel.simulate.platform.topology import Topology
from commmodel.simulate.platform.xml import read_xml
from commmodel.units import parse_quantity

__all__ = ["FORMAT", "VERSION", "loads", "published", "read", "write"]

FORMAT, VERSION = "commmodel-platform", 1
_MOST_BYTES = 2**20
_UNITS = {"bandwidth": "B/s", "limiter": "B/s", "latency": "s", "speed": "flop/s"}


def _numbers(path: Path, table: dict[str, Any], place: str = "") -> None:
    """Make numbers of texts with units, in place; other types are left for the typed decoder to name."""
    for name, value in table.items():
        where = f"{place}.{name}".lstrip(".")
        if isinstance(value, dict):
            _numbers(path, value, where)
        elif name in _UNITS and isinstance(value, str):
            try:
                table[name] = parse_quantity(value, _UNITS[name])
            except InputError as error:
                raise DamagedFileError(path, f"field {where}", str(error)) from None


def loads(text: str, path: str | os.PathLike[str] = "platform.toml") -> Platform:
    """Return the platform of a TOML text; `path` is for messages.

    >>> loads('''format = "commmodel-platform"
    ... version = 1
    ... kind = "flat"
    ... hosts = 4
    ... bandwidth = "125MB/s"
    ... latency = "15us"''').hosts
    4
    """
    path = Path(path)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(path, "not TOML", str(error)) from None
    if (given := content.pop("format", None)) != FORMAT:
        raise DamagedFileError(path, "field format", f"expected {FORMAT!r}, got {str(given)[:40]!r}")
    version = content.pop("version", None)
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        problem = (
            f"{str(version)[:40]}: {'newer than this commmodel reads: upgrade it' if newer else f'expected {VERSION}'}"
        )
        raise DamagedFileError(path, "field version", problem)
    content.pop("source", None)
    try:
        _numbers(path, content)
        description: Topology = msgspec.convert(content, Description, strict=True)
    except msgspec.ValidationError as error:
        problem, _, field = str(error).partition(" - at `$")
        where = f"field {field.rstrip('`').lstrip('.')}" if field.rstrip("`") else ""
        problem = problem.replace("`", "")
        raise DamagedFileError(path, where, problem[:1].lower() + problem[1:]) from None
    except (RecursionError, OverflowError):
        raise DamagedFileError(path, "", "a number out of range, or tables too deep") from None
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
    files = Path(__file__).with_name("published").glob("*.toml")
    return {path.stem: path for path in sorted(files, key=lambda path: path.stem)}


def read(name_or_path: str | os.PathLike[str]) -> Platform:
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
    >>> read("graphene").hosts
    144
    """
    name = os.fspath(name_or_path)
    known = published()
    path = known.get(name, Path(name))
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        if not path.suffix and name not in known and not os.path.exists(path):
            raise InputError(f"{name!r} is neither a platform file nor one of {', '.join(known)}") from None
        raise InputError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    if path.suffix.lower() == ".xml" or content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<":
        return read_xml(path)[0]
    if len(content) > _MOST_BYTES:
        raise DamagedFileError(path, "", f"larger than {_MOST_BYTES >> 20} MiB")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise DamagedFileError(path, "", f"not UTF-8: {error}") from None
    return loads(text, path)


def dumps(platform: Platform) -> str:
    """Return the TOML text of a platform that a builder or a TOML file made."""
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
            table.update({name: one for name, one in value.items() if one is not None})
            value = table
        document[key] = value
    return tomlkit.dumps(document)


def write(platform: Platform, path: str | os.PathLike[str]) -> None:
    """Write a platform as TOML, replacing a file that is there."""
    text = dumps(platform)
    write_text(path, text)
