"""Writing of measurements in one of the formats, whole or not at all. Main entry: `dump`."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from commmodel.choices import WrittenFormat
from commmodel.errors import InputError
from commmodel.files import write_bytes
from commmodel.formats import csv, extrap_json, extrap_text
from commmodel.formats.interchange import LeftOut, Row, SampleTable, tabulate
from commmodel.results import Measurements
from commmodel.results.file import encoded
from commmodel.signatures import checked


class _Content(NamedTuple):
    """The content of the file."""

    parts: Iterable[bytes]
    notes: tuple[str, ...]


def _commmodel(measurements: Measurements, _: Sequence[str] | None) -> _Content:
    return _Content(encoded(measurements), ())


def _csv(measurements: Measurements, _: Sequence[str] | None) -> _Content:
    lines = list(csv.render(measurements))
    written_records, all_records = len(lines) - 1, sum(1 for _ in measurements.records)
    if not written_records:
        raise InputError("nothing to write: our CSV holds pingpong, pairs and stream only")
    missing = all_records - sum(1 for record in measurements.records if csv.can_hold(record))
    notes = (f"not written: {missing} of {all_records} records: our CSV holds pingpong, pairs and stream only",)
    return _Content(lines, notes if missing else ())


def _interchange(
    measurements: Measurements,
    over: Sequence[str] | None,
    render: Callable[[SampleTable], Iterator[bytes]],
    can_hold: Callable[[Row], bool] = lambda _: True,
) -> _Content:
    left_out = LeftOut()
    table, together = tabulate(measurements, over, left_out)
    for row in table.rows:
        if not can_hold(row):
            left_out.add("the text format has no such names: write JSON lines", row.callpath)
    table = table._replace(rows=tuple(row for row in table.rows if can_hold(row)))
    notes = left_out.notes()
    if not table.rows:
        raise InputError(f"nothing to write: {'; '.join(notes)}")
    if together:
        notes += ("several launches are written as repetitions of one: Extra-P's formats know no launches",)
    return _Content(render(table), notes)


def _checked_text(table: SampleTable) -> Iterator[bytes]:
    if len(table.parameters) > extrap_text.MOST_PARAMETERS:
        raise InputError(f"`over`: {len(table.parameters)} parameters, but the text format has at most 4: name fewer")
    for name in table.parameters:
        if not _is_plain(name) or " " in name or not name.isprintable():
            raise InputError(f"`over`: the text format has no parameter called {name!r}: write JSON lines")
    return extrap_text.render(table)


def _fits_text(row: Row) -> bool:
    return _is_plain(row.callpath) and _is_plain(row.metric)


def _is_plain(name: str) -> bool:
    """Whether a name is one line of text without white space around it."""
    return " ".join(name.split()) == name and name.isprintable()


WRITTEN: dict[WrittenFormat, Callable[[Measurements, Sequence[str] | None], _Content]] = {
    "commmodel": _commmodel,
    "extrap-json": partial(_interchange, render=extrap_json.render),
    "extrap-text": partial(_interchange, render=_checked_text, can_hold=_fits_text),
    "csv": _csv,
}
"""Formats that `dump` knows."""


@checked
def dump(
    measurements: Measurements,
    path: str | os.PathLike[str],
    format: WrittenFormat = "commmodel",  # noqa: A002  (the option's name)
    over: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Write measurements to a file, replacing an existing one at once.

    Parameters
    ----------
    measurements : Measurements
    path : path
        The file.
    format : str
        ``commmodel`` holds everything. ``extrap-json`` and ``extrap-text`` hold samples over parameters that are
        numbers; parameters that are words, or that not all have, go into the function's name. ``csv`` holds ping-pongs
        and streams.
    over : sequence of str, optional
        Parameters of the table in Extra-P's formats; the others go into the function's name. Left out: of those that
        everything depends on, the choice that leaves out least.

    Returns
    -------
    tuple of str
        What could not be written, and why, a line each.

    Raises
    ------
    InputError
        For an unknown format, where nothing of the measurements can be written, and where the file cannot be.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from commmodel import formats
    >>> from commmodel.results import Header, Launch, Library, Measurements, Record
    >>> from commmodel.results.configurations import Collective
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> records = tuple(Record(Collective("bcast", 8, p), "s", (1e-6 * p, 2e-6 * p)) for p in (2, 4))
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "bcast.txt"
    >>> formats.dump(Measurements((Launch(header, records),)), path, "extrap-text")
    ()
    >>> print(path.read_text())
    PARAMETER p
    POINTS (2) (4)
    <BLANKLINE>
    REGION bcast [n=8, start=barrier]
    METRIC time
    DATA 2e-06 4e-06
    DATA 4e-06 8e-06
    <BLANKLINE>
    >>> [one.configuration.parameters for one in formats.load(path).records]
    [(('p', 2.0),), (('p', 4.0),)]
    >>> folder.cleanup()
    """
    if over is not None and not format.startswith("extrap"):
        raise InputError("`over`: only Extra-P's formats have parameters to choose: leave it out")
    content = WRITTEN[format](measurements, over)
    write_bytes(path, content.parts)
    return content.notes
