"""The results, machines and recordings of a folder, and what each says.

Main entries: `folder_index` and `index_table`.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from commmodel import machine, record, results
from commmodel.documents import read_bytes
from commmodel.errors import CommModelError, InputError
from commmodel.report.kit.tables import Cell, Table, left, right
from commmodel.report.machine.headlines import headlines
from commmodel.report.recording.findings import verdict
from commmodel.results import Measurements, kernel_name
from commmodel.signatures import checked
from commmodel.units import counted, listed
from commmodel.values import OneLine

_DEPTH = 3
"""Folders within folders that are looked into."""
_MOST_FILES = 1000
_HEAD = 1 << 12
"""Bytes of a file that tell whether it is a machine."""
_MOST_NAMES = 4
_COMMON_PAGES = {"results": "report.html", "machine": "report.html", "recording": "recording.html"}


@dataclass(frozen=True)
class IndexRow(OneLine):
    """A file of results, a machine or a recording.

    Attributes
    ----------
    path : str
        Relative to the folder.
    kind : str
        ``results``, ``machine`` or ``recording``.
    machine : str
        Name of the machine, or of its first hosts.
    date : str
        When it was measured, in ISO format; empty where it does not say.
    processes : str
        Numbers of processes.
    answer : str
        What it says, in one line; the problem where it cannot be read.
    page : str
        Its page beside it, relative to the folder; empty without one.
    """

    path: str
    kind: str
    machine: str = ""
    date: str = ""
    processes: str = ""
    answer: str = ""
    page: str = ""


def _candidates(folder: Path, depth: int = 0) -> Iterator[tuple[str, Path]]:
    """Yield the kind and the path of what may be listed, by name."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            if record.is_recording(path):
                yield "recording", path
            elif depth < _DEPTH:
                yield from _candidates(path, depth + 1)
        elif path.suffix == ".jsonl":
            yield "results", path
        elif path.suffix == ".toml" and b"commmodel-machine" in read_bytes(path, _HEAD, complete=False):
            yield "machine", path


def _page_of(kind: str, path: Path, siblings: Counter[tuple[str, Path]]) -> Path | None:
    """Return the page of a file: of the same name, or the usual one where no other file can have made it."""
    names = [f"{path.stem}.html", f"{path.name}.html"]
    if siblings[kind, path.parent] == 1:
        names.append(_COMMON_PAGES[kind])
    return next((page for name in names if (page := path.with_name(name)).is_file()), None)


def _hosts(names: Sequence[str]) -> str:
    return listed(list(dict.fromkeys(names)), 2)


def _results_row(path: Path) -> dict[str, str]:
    measurements = results.load(path)
    headers = [launch.header for launch in measurements.launches]
    sizes = sorted({len(header.ranks) for header in headers} - {0})
    answers = [headline.answer for headline in headlines(measurements, None) if headline.answer]
    kernels = Counter(kernel_name(entry.configuration) for entry in measurements.records)
    operations = sorted({
        getattr(entry.configuration, "operation", "") for entry in measurements.records
        if kernel_name(entry.configuration) == "collective"
    })  # fmt: skip
    about = f"{counted(kernels.total(), 'record')} of {listed(list(kernels), _MOST_NAMES)}"
    about += f": {listed(operations, _MOST_NAMES)}" if operations else ""
    return {
        "machine": _hosts([host.name for header in headers for host in header.hosts]),
        "date": max((header.created for header in headers), default=""),
        "processes": ", ".join(map(str, sizes)),
        "answer": answers[0] if answers else about if kernels else "nothing measured",
    }


def _machine_row(path: Path) -> dict[str, str]:
    loaded = machine.load(path)
    origin = loaded.origin
    answers = [headline.answer for headline in headlines(Measurements(()), loaded) if headline.answer]
    operations = sorted({times.operation for times in loaded.collectives})
    return {
        "machine": loaded.name,
        "date": "" if origin is None else origin.measured,
        "processes": str(origin.processes) if origin is not None and origin.processes else "",
        "answer": answers[0] if answers else f"collectives: {listed(operations, _MOST_NAMES)}" if operations else "",
    }


def _recording_row(path: Path) -> dict[str, str]:
    recording = record.load(path)
    names = [recording.texts(rank).get("host", "") for rank in recording.ranks]
    return {
        "machine": _hosts([name for name in names if name]),
        "date": recording.created,
        "processes": str(recording.processes),
        "answer": verdict(record.profile(recording))[0],
    }


_READERS = {"results": _results_row, "machine": _machine_row, "recording": _recording_row}


@checked
def folder_index(folder: str | os.PathLike[str]) -> tuple[IndexRow, ...]:
    """Return what a folder and the folders in it hold: results.jsonl files, machines and recordings, by name.

    Parameters
    ----------
    folder : str or path
        Folders up to three levels below are looked into; what cannot be read has its problem as the answer.

    Raises
    ------
    InputError
        Where it is no folder, or holds nothing of this kind.

    Examples
    --------
    >>> folder_index("docs/examples/nowhere")
    Traceback (most recent call last):
    commmodel.errors.InputError: docs/examples/nowhere: no folder
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{folder}: no folder")
    chosen = [pair for pair, _ in zip(_candidates(place), range(_MOST_FILES), strict=False)]
    if not chosen:
        raise InputError(f"{folder}: no results.jsonl, no machine and no recording is in there")
    siblings = Counter((kind, path.parent) for kind, path in chosen)
    rows = []
    for kind, path in chosen:
        page = _page_of(kind, path, siblings)
        try:
            about = _READERS[kind](path)
        except CommModelError as error:
            about = {"answer": f"cannot be read: {error}"}
        name, link = path.relative_to(place).as_posix(), "" if page is None else page.relative_to(place).as_posix()
        rows.append(IndexRow(name, kind, page=link, **about))
    return tuple(rows)


def index_table(rows: Sequence[IndexRow], base: str = "") -> Table:
    """Return a row for each file, with links to their pages below `base`."""
    cells = tuple(
        (
            Cell(row.path, link=quote(base + row.page) if row.page else ""),
            Cell(row.kind),
            Cell(row.machine),
            Cell(row.date.partition("T")[0]),
            Cell(row.processes),
            Cell(row.answer, style="sentence"),
        )
        for row in rows
    )
    columns = (*left("file", "kind", "machine", "date"), *right("P"), *left("answer"))
    return Table("", columns, cells)
