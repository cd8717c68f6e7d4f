"""Tables of critical paths: what decides the time of a run, and what to shorten first. Main entry: `path_tables`."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from commmodel.report.kit.tables import Table, left, plain_rows, right
from commmodel.simulate.critical_path import CriticalPath, PathShare, SiteGain
from commmodel.units import format_ratio, format_time

_MOST_ROWS = 8
_MOST_SEGMENTS = 10_000


def path_tables(
    path: CriticalPath, links: Sequence[PathShare] = (), gains: Sequence[SiteGain] = (), *, of: str = ""
) -> list[Table]:
    """Return what a critical path is spent on, by kind, call site, step, rank and link.

    Parameters
    ----------
    path : CriticalPath
    links : sequence of PathShare
        What `CriticalPath.by_link` returns, where messages share links.
    gains : sequence of SiteGain
        What `commmodel.simulate.critical_path.gains` returns.
    of : str
        Whose path it is, a model.
    """
    behind = f", {of}" if of else ""
    tables = [_table(f"Critical path{behind}", "spent on", path.by_kind())]
    if gains:
        tables.append(_gains(path, gains))
    tables.append(_table("Critical path by call site", "call site", path.by_site()))
    if not path.by_site():
        tables.append(_table("Critical path by step", "step", path.by_step()))
    tables.append(_table("Critical path by rank", "rank", path.by_rank()))
    links_note = "A message is on all links of its route, so shares overlap."
    tables.append(_table("Critical path by link", "link", links, links_note))
    return [table for table in tables if table.rows]


def _table(title: str, name: str, shares: Sequence[PathShare], *notes: str) -> Table:
    rows = plain_rows(
        (share.name, format_time(share.seconds), format_ratio(share.share), str(share.segments))
        for share in shares[:_MOST_ROWS]
    )
    rest = shares[_MOST_ROWS:]
    more = (f"And {len(rest)} more, {format_time(sum(share.seconds for share in rest))}.",) if rest else ()
    return Table(title, (*left(name), *right("time", "of the path", "segments")), rows, (*notes, *more))


def _gains(path: CriticalPath, gains: Sequence[SiteGain]) -> Table:
    rows = plain_rows(
        (row.site, format_time(row.communication), format_time(row.computation), format_time(row.gain),
         format_ratio(row.gain / path.seconds) if path.seconds else "")
        for row in gains
    )  # fmt: skip
    columns = (*left("shorten first"), *right("in its calls", "computation before", "gains up to", "of the run"))
    note = (
        "Gains: a simulation without that computation and the bytes of those messages; less than the path's part where "
        "another path is nearly as long."
    )
    return Table("What to shorten first", columns, rows, (note,))


def path_as_json(
    path: CriticalPath, links: Sequence[PathShare] = (), gains: Sequence[SiteGain] = ()
) -> dict[str, object]:
    """Return a critical path for ``--json``: its sums, and its segments in the order of time, the longest if many."""
    sums: dict[str, Sequence[PathShare | SiteGain]] = {
        "kinds": path.by_kind(), "sites": path.by_site(), "steps": path.by_step(), "ranks": path.by_rank(),
        "links": links, "gains": gains,
    }  # fmt: skip
    lengths = path.segments["end"] - path.segments["start"]
    chosen = np.sort(np.argsort(-lengths, kind="stable")[:_MOST_SEGMENTS])
    columns = replace(path, segments=path.segments[chosen]).to_dict()
    return {
        "seconds": path.seconds,
        "segment_count": path.segments.size,
        **{name: [asdict(row) for row in rows] for name, rows in sums.items()},
        "segments": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }
