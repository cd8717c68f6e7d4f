"""File formats of other programs: readers and writers of measurements, recognised by content.

One module for each format, with two functions: ``recognise`` says where a text shows that it is of this format, and
``parse`` turns the text into `commmodel.results.Measurements`, or into records. A file is known by what stands in it,
never by its name. A new format is one module and one row in `REGISTRY`, or elsewhere a call of `register`.
Main entries: `load`, `load_all` and `dump`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from commmodel import results
from commmodel.docstrings import with_attributes
from commmodel.documents import read_bytes
from commmodel.errors import CommModelError, InputError, MissingPackageError, blame, blamed
from commmodel.formats import (
    csv,
    durations,
    extrap_json,
    extrap_text,
    imb,
    julia,
    mpi4py_bench,
    nccl,
    netpipe,
    nodecomm,
    osu,
    pico,
    reprompi,
)
from commmodel.formats.job_scripts import SUFFIXES, Placement, placement_words, script_of
from commmodel.formats.lines import Text, TextLine, UnreadFileError, launch, read_lines
from commmodel.formats.writing import WRITTEN, dump
from commmodel.lazy import attributes
from commmodel.plugins import Parts
from commmodel.results import Launch, Measurements, Record
from commmodel.results.records import BY_SCRIPT, UNKNOWN_LIBRARY
from commmodel.signatures import check_fields, checked, returned

__all__ = [
    "REGISTRY",
    "WRITTEN",
    "Format",
    "Placement",
    "Text",
    "TextLine",
    "dump",
    "launch",
    "load",
    "load_all",
    "register",
]
__dir__ = attributes(__name__)[1]


@with_attributes
class Format(NamedTuple):
    """The recogniser and the reader of a format."""

    recognise: Callable[[Sequence[str]], int]
    """From lines to the number of the first that shows the format; 0: none."""
    parse: Callable[[Text], Measurements | Iterable[Record]]
    """From the text to what it holds; records alone become one launch."""
    holds: str
    """What of it is read, for messages."""


_BUILT_IN = {
    "osu": Format(
        osu.recognise, osu.parse, "a table of osu_latency, osu_bw, osu_put_latency, a collective or the like"
    ),
    "imb": Format(imb.recognise, imb.parse, "a table of PingPong, Uniband, Exchange, a collective or the like"),
    "nodecomm": Format(nodecomm.recognise, nodecomm.parse, "a table 'Pingpong for'"),
    "julia": Format(julia.recognise, julia.parse, "a header with size (bytes) and time (seconds), and rows"),
    "pico": Format(pico.recognise, pico.parse, "a csv with collective_type, algo_name and median"),
    "nccl": Format(nccl.recognise, nccl.parse, "a table of all_reduce_perf or another collective"),
    "reprompi": Format(reprompi.recognise, reprompi.parse, "a table of mpibenchmark"),
    "mpi4py": Format(mpi4py_bench.recognise, mpi4py_bench.parse, "a table of pingpong or a time of ringtest"),
    "netpipe": Format(netpipe.recognise, netpipe.parse, "a row of np.out: bytes, rate, time"),
    "csv": Format(csv.recognise, csv.parse, "a header with message_size, and rows"),
    "durations": Format(durations.recognise, durations.parse, "a row MPI_Send, bytes, start, duration"),
    "extrap-json": Format(extrap_json.recognise, extrap_json.parse, 'a line like {"params": {"p": 4}, "value": 1.5}'),
    "extrap-text": Format(extrap_text.recognise, extrap_text.parse, "a line DATA below PARAMETER, POINTS and REGION"),
}
INTERCHANGE = ("extrap-json", "extrap-text")
"""Formats that programs write for programs: files and lines of them may be long."""
LARGEST_INTERCHANGE = 1 << 28
"""Bytes of a file and characters of a line."""
_BESIDE = " beside it says "
_PLACE = re.compile(r"^(passed over: )?\S*?: (line )?|\d+")
"""What differs between notes of the same kind on several files."""
_PLACED = ("osu", "imb", "julia", "nccl", "reprompi", "mpi4py", "netpipe")
"""Formats that need to know where ranks were."""
OURS = "commmodel"
REGISTRY: Parts[Format] = Parts("unknown format", "commmodel.formats", _BUILT_IN)


@checked
def register(name: str, form: Format) -> None:
    """Add a format of one's own.

    Parameters
    ----------
    name : str
        What `load` takes as format.
    form : Format

    Raises
    ------
    InputError
        Where a format of another module has this name.

    Examples
    --------
    >>> register("silent", Format(lambda lines: 0, lambda text: Measurements(()), "nothing"))
    >>> REGISTRY.pop("silent").holds
    'nothing'
    """
    check_fields(form)
    REGISTRY.add(name, form, form.parse)


@checked
def load(
    path: str | os.PathLike[str],
    format: str = "auto",  # noqa: A002  (the option's name)
    placement: Placement | None = None,
) -> Measurements:
    """Read a file of measurements, ours or another suite's.

    Parameters
    ----------
    path : path
        The file.
    format : str
        A name of `REGISTRY`, or ``commmodel``; ``auto`` recognises the file by what stands in it.
    placement : Placement, optional
        Ranks, and ranks of a node, of an output that does not say; by default what a job script beside it says.

    Raises
    ------
    InputError
        Where the file cannot be read, is of no known format, or of two.
    DamagedFileError
        Naming file and line, where the file is not what its format says.
    """
    if format not in {"auto", OURS}:
        REGISTRY[format]
    opening = _opening(Path(path))
    if format == "auto" and opening == OURS and not _OURS_BEGINS.search(_head(Path(path)).partition(b"\n")[0]):
        raise UnreadFileError(path, "line 1", "JSON, but neither results.jsonl of commmodel nor Extra-P's lines")
    if format == OURS or (format == "auto" and opening == OURS):
        return results.without_duplicates([(str(path), results.load(path))])
    if format == "auto" and opening in _REFUSED:
        raise UnreadFileError(path, "line 1", _REFUSED[opening])
    if format in INTERCHANGE or (format == "auto" and opening in INTERCHANGE):
        text, name = read_lines(path, LARGEST_INTERCHANGE, LARGEST_INTERCHANGE), opening if format == "auto" else format
    else:
        text = read_lines(path)
        name = _recognised(text, format)
        if name in _PLACED:
            text = _placed(text, placement)
    answer = _answer_of(name, REGISTRY[name].parse, text, Measurements | tuple[Record, ...])
    measurements = Measurements((launch(name, [name], answer),)) if isinstance(answer, tuple) else answer
    if not any(launch.records for launch in measurements.launches):
        left_out = f" ({measurements.notes[0].removeprefix(f'{path}: ')})" if measurements.notes else ""
        raise UnreadFileError(path, "", f"no measurements: {REGISTRY[name].holds} is not in it{left_out}")
    launches = tuple(_of_library(launch, text.library) for launch in measurements.launches)
    return Measurements(launches, _first_of_each(Path(path), (*text.notes, *measurements.notes)))


def _placed(text: Text, placement: Placement | None) -> Text:
    """Return a text with the placement of its ranks and its library, and a note where a script says them."""
    script = script_of(text.path)
    words = [script.library] if script.library else []
    if placement is None and script.placement is not None:
        words.insert(0, placement_words(script.placement))
    notes = [f"{text.path}: {script.name}{_BESIDE}{', '.join(words)}"] if words else []
    return replace(text, placement=placement or script.placement, library=script.library, notes=(*text.notes, *notes))


def _of_library(launch: Launch, library: str) -> Launch:
    """Return a launch with the library that its job script loads, where its own output names none."""
    mpi = launch.header.mpi
    if not library or not mpi.version.startswith(UNKNOWN_LIBRARY):
        return launch
    header = msgspec.structs.replace(launch.header, mpi=msgspec.structs.replace(mpi, version=f"{library}{BY_SCRIPT}"))
    return msgspec.structs.replace(launch, header=header)


def _answer_of(name: str, function: Callable[[Any], Any], argument: Any, kind: Any) -> Any:
    """Return what a reader returns; raise where it fails, naming it."""
    call = f"{function.__name__} of the format {name}"
    try:
        answer = function(argument)
        answer = tuple(answer) if isinstance(answer, Iterable) else answer
    except (CommModelError, MemoryError):
        raise
    except Exception as error:
        blame(error, call, function)
        line = blamed(error) or f"{call} raises {type(error).__name__}: {error}"
        raise InputError(f"{line}: mend that reader") from error
    return returned(call, answer, kind)


def _first_of_each(path: Path, notes: Sequence[str]) -> tuple[str, ...]:
    """Return the first of equal notes on different lines, with their number."""
    alike: dict[str, list[str]] = {}
    for note in notes:
        _, _, remark = note.removeprefix(f"{path}: ").partition(": ")
        alike.setdefault(remark, []).append(note)
    return tuple(group[0] + (f" (and {len(group) - 1} more like it)" * (len(group) > 1)) for group in alike.values())


_HEAD = 1 << 16
"""Bytes of a file that tell what it is."""
_KEYWORDS = "|".join(extrap_text.KEYWORDS)
_OPENINGS: dict[str, re.Pattern[bytes]] = {
    "extrap-json": re.compile(rb'\s*\{(?=[^\n]*"params"\s*:)(?![^\n]*"type"\s*:)'),
    "extrap-text": re.compile(rf"\s*(?:#[^\n]*\n\s*)*+(?:{_KEYWORDS})\s".encode()),
    "other JSON of Extra-P": re.compile(rb'\s*\{\s*"(?:parameters|measurements|callpaths)"\s*:'),
    "JSON of Chakra": re.compile(rb'\s*\{\s*"(?:schema|nodes)"\s*:'),
    "XML": re.compile(rb"\s*<(?:\?xml|cube|!)", re.IGNORECASE),
    # An object is ours, complete or not: our own reader knows what is wrong with it.
    OURS: re.compile(rb"\s*\{"),
}
_OF_COMMMODEL = re.compile(r'^format = "commmodel-(\w+)"$', re.MULTILINE)
_REFUSED = {
    "other JSON of Extra-P": "Extra-P's JSON or TaLPas format is not read: write its text format or JSON lines",
    "JSON of Chakra": "JSON of Chakra, a trace, is not read: its binary form (.et) is replayed by commmodel simulate",
    "XML": "XML is not read: of a Cube profile, let Extra-P write its text format or JSON lines",
}


_OURS_BEGINS = re.compile(rb'"type"')


def _head(path: Path) -> bytes:
    return read_bytes(path, _HEAD, complete=False).removeprefix(b"\xef\xbb\xbf")


def _opening(path: Path) -> str:
    """Return the entry of `_OPENINGS` with which a file begins; empty: none."""
    head = _head(path)
    return next((name for name, begin in _OPENINGS.items() if begin.match(head)), "")


def _first_lines(text: Text) -> dict[str, int]:
    """Return the number of the first line that shows each format."""
    return {
        name: line for name, reader in REGISTRY.items() if (line := _answer_of(name, reader.recognise, text.lines, int))
    }


def _recognised(text: Text, format_name: str) -> str:
    """Return the name of the one format of a text."""
    first_lines = _first_lines(text) if format_name == "auto" else {format_name: 1} | _first_lines(text)
    if not first_lines:
        REGISTRY.loaded()
        first_lines = _first_lines(text)
    if not first_lines:
        if own_file := _OF_COMMMODEL.search("\n".join(text.lines[:100])):
            raise UnreadFileError(
                text.path, "", f"measurements are needed here, this is a {own_file[1]} file of commmodel"
            )
        problem = f"of no known format ({', '.join((OURS, *REGISTRY))}): name a file of one of them"
        if "," in next(iter(text.lines), ""):
            problem += "; if it is a table, `format` csv says what its header lacks"
        raise UnreadFileError(text.path, "line 1", problem)
    (first, _), *candidates = sorted(first_lines.items(), key=lambda item: item[1])
    if candidates:
        second, line = candidates[0]
        raise text.damaged(line, f"{second} output begins in a file of {first} output: split the file here")
    return first


@checked
def load_all(
    paths: Iterable[str | os.PathLike[str]],
    format: str = "auto",  # noqa: A002
    placement: Placement | None = None,
) -> Measurements:
    """Read several files as one. A launch that stands in several counts once.

    A file without measurements among others, as a pattern of the shell matches, is passed over with a note.

    Parameters
    ----------
    paths : iterable of path
        Files, or folders, of which all files are read.
    format, placement
        Of all the files, as of `load`.
    """
    parts: list[tuple[str, Measurements]] = []
    unread: list[UnreadFileError | MissingPackageError] = []
    for path in _files(paths):
        try:
            parts.append((str(path), load(path, format, placement)))
        except (UnreadFileError, MissingPackageError) as error:
            unread.append(error)
    if unread and not parts:
        raise unread[0]
    together = results.without_duplicates(parts)
    placements = [note for note in together.notes if _BESIDE in note]
    notes = [note for note in together.notes if note not in placements[1:]]
    if len(placements) > 1:
        notes[notes.index(placements[0])] += f" (and {len(placements) - 1} more outputs, by the scripts beside them)"
    return Measurements(together.launches, _alike_once([*notes, *(f"passed over: {error}" for error in unread)]))


def _alike_once(notes: Iterable[str]) -> tuple[str, ...]:
    """Return the first of notes that differ by file and numbers alone, with how many files more have one."""
    alike: dict[str, list[str]] = {}
    for note in notes:
        alike.setdefault(_PLACE.sub("", note), []).append(note)
    return tuple(group[0] + (f" (and {len(group) - 1} more files)" * (len(group) > 1)) for group in alike.values())


def _files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[str | os.PathLike[str]]:
    """Yield files, and those of folders but job scripts."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        files = [file for file in sorted(Path(path).rglob("*")) if file.is_file() and file.suffix not in SUFFIXES]
        if not files:
            raise InputError(f"{os.fspath(path)}: a folder without files: name one with the output of a benchmark")
        yield from files
