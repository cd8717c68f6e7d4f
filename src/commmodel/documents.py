"""TOML and JSON files: read, checked against their types, and published ones found by name.

Every error is one line: the file, the line or the field, what is wrong with it and, where it is not plain, the mend.
A reader of a format takes `read_toml`, `check_format`, `convert` and its own checks. Writing is the task of
`commmodel.files`. Main entries: `read_toml`, `convert`, `decode_json`, `locate`, `published`.
"""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from commmodel.errors import DamagedFileError, InputError, nearest
from commmodel.files import open_input
from commmodel.units import parse_quantity

__all__ = [
    "check_format", "convert", "decode_json", "locate", "parse_toml", "published", "quantity", "read_bytes",
    "read_text", "read_toml", "type_or_text",
]  # fmt: skip

LARGEST = 16 * 2**20
"""Bytes of a file that people write or a model needs; a larger one is something else."""
Content = dict[str, Any]
Struct = TypeVar("Struct")


def read_bytes(
    path: str | os.PathLike[str], largest: int = LARGEST, *, complete: bool = True, mend: str = "name another file"
) -> bytes:
    """Read a file that is not too large, or where not `complete`, its beginning."""
    try:
        with open_input(path) as file:
            content = file.read(largest + complete)
    except InputError:  # it names the file
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        mend = _beside(path) if isinstance(error, FileNotFoundError) else ""
        raise InputError(f"{os.fspath(path)}: {getattr(error, 'strerror', None) or error}{mend}") from None
    if len(content) > largest:
        raise DamagedFileError(path, "", f"larger than {largest >> 20} MiB: {mend}")
    return content


def _beside(path: str | os.PathLike[str]) -> str:
    """Return which file beside a missing one is meant, as the end of a message; empty where none is like it."""
    folder, name = os.path.split(os.fspath(path))
    try:
        near = nearest(name, os.listdir(folder or "."))
    except OSError:
        near = ""
    return f": did you mean {os.path.join(folder, near)}?" if near else ""


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a file of UTF-8."""
    return _text(path, read_bytes(path))


def _text(path: object, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DamagedFileError(path, f"line {line}", "not UTF-8: name a file of text, or convert it") from None


def read_toml(path: str | os.PathLike[str]) -> Content:
    """Read the tables of a TOML file."""
    return parse_toml(path, read_text(path))


def parse_toml(path: object, text: str) -> Content:
    """Return the tables of a TOML text; `path` is for messages.

    >>> parse_toml("m.toml", "name = ")
    Traceback (most recent call last):
    commmodel.errors.DamagedFileError: m.toml: not TOML: Invalid value (at end of document); restore or mend the file
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: of an integer of too many digits, too
        if text.lstrip().startswith("<"):
            raise DamagedFileError(path, "", "a TOML file is needed here, this is HTML or XML") from None
        raise DamagedFileError(path, "not TOML", f"{error}; restore or mend the file") from None


def check_format(path: object, content: Content, name: str, version: int) -> None:
    """Raise where a file's fields ``format`` and ``version`` are not those that this commmodel reads.

    A version that is no number is left for `convert` to name.

    >>> check_format("m.toml", {"format": "commmodel-machine", "version": 2}, "commmodel-machine", 1)
    Traceback (most recent call last):
    commmodel.errors.DamagedFileError: m.toml: field version: 2 is newer than this commmodel reads (1): upgrade it
    """
    if "format" not in content:
        raise DamagedFileError(path, "", f"there is no field format, which says what it is: format = {name!r}")
    if content["format"] != name:
        raise DamagedFileError(path, "field format", f"expected {name!r}, got {type_or_text(content['format'])}")
    if isinstance(content.get("version"), int) and content["version"] > version:
        problem = f"{content['version']} is newer than this commmodel reads ({version}): upgrade it"
        raise DamagedFileError(path, "field version", problem)


def type_or_text(value: object) -> str:
    """Return a text as it stands, and of all else, which may be large and deep, the type.

    >>> type_or_text("cargo"), type_or_text([1, 2])
    ("'cargo'", 'list')
    """
    return repr(value[:80]) if isinstance(value, str) else type(value).__name__


def convert(path: object, content: object, kind: Any, place: str = "") -> Any:
    """Return the content of a file as a struct.

    Parameters
    ----------
    path : path
        The file, for messages.
    content : object
        What a decoder of TOML or JSON returns.
    kind : type
        The struct, or a union of structs.
    place : str
        Of the content in the file, such as ``line 3``.

    Raises
    ------
    DamagedFileError
        Naming the field that is wrong.

    Examples
    --------
    >>> convert("sizes.json", [1, "two"], list[int])
    Traceback (most recent call last):
    commmodel.errors.DamagedFileError: sizes.json: field [1]: expected int, got str
    """
    try:
        return msgspec.convert(content, kind, strict=True)
    except msgspec.ValidationError as error:
        raise _invalid(path, error, place) from None
    except (RecursionError, OverflowError):
        raise DamagedFileError(path, place, "a number out of range, or tables too deep") from None


def _invalid(path: object, error: msgspec.ValidationError, place: str = "") -> DamagedFileError:
    """Return the error to raise where content does not have the types of its struct."""
    problem, _, field = str(error).replace("`", "").partition(" - at $")
    problem = problem[:1].lower() + problem[1:]
    field = field.lstrip(".")
    if not field:
        return DamagedFileError(path, place, problem)
    return DamagedFileError(path, place or f"field {field}", f"field {field}: {problem}" if place else problem)


def decode_json(path: object, content: bytes, decoder: "msgspec.json.Decoder[Struct]", place: str = "") -> Struct:
    """Return JSON as the type of a decoder; `place` is that of a line in a file of many.

    >>> decode_json("r.jsonl", b"{", msgspec.json.Decoder(), "line 7")
    Traceback (most recent call last):
    commmodel.errors.DamagedFileError: r.jsonl: line 7: Input data was truncated; restore the file, or delete this line
    """
    try:
        return decoder.decode(content)
    except msgspec.ValidationError as error:
        raise _invalid(path, error, place) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"nested too deeply ({error})" if isinstance(error, RecursionError) else str(error)
        mend = "restore the file, or delete this line" if place else "restore the file"
        raise DamagedFileError(path, place or "not JSON", f"{problem}; {mend}") from None


def quantity(path: object, place: str, text: Any, unit: str) -> Any:
    """Return the number of a text with a unit, such as ``"4us"``; what is no text is left for `convert`.

    >>> quantity("m.toml", "field alpha", "4us", "s")
    4e-06
    """
    try:
        return parse_quantity(text, unit) if isinstance(text, str) else text
    except InputError as error:
        raise DamagedFileError(path, place, str(error)) from None


def published(module_file: str) -> dict[str, Path]:
    """Return the files in the folder ``published`` beside a module: name -> file."""
    return {path.stem: path for path in _toml_files(Path(module_file).with_name("published"))}


@cache
def _toml_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.toml"), key=lambda path: path.stem)


def locate(name_or_path: str | os.PathLike[str], files: Mapping[str, Path], alternatives: str) -> Path:
    """Return the published file of a name, or the path that a name is.

    >>> locate("nosuch", {"graphene": Path("graphene.toml")}, "a published platform")
    Traceback (most recent call last):
    commmodel.errors.InputError: 'nosuch' is neither a file nor a published platform (graphene)
    """
    name = os.fspath(name_or_path)
    if name in files:
        return files[name]
    if not name.endswith((".toml", ".xml", ".json")) and not os.path.exists(name):
        near = nearest(name, files)
        mend = f": did you mean {near}?" if near else f" ({', '.join(files)})"
        raise InputError(f"{name!r} is neither a file nor {alternatives}{mend}")
    return Path(name)
