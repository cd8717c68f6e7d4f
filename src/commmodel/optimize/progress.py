"""MPI progress outside MPI calls, as a sentence. Main entry: `progress_sentence`."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from commmodel.machine import OverlapProfile
from commmodel.optimize.smoothing import steady_shares
from commmodel.units import format_ratio, format_size

NOTHING_MOVES, LITTLE_MOVES, ALL_MOVES = 0.1, 0.5, 0.9
"""Shares of a transfer: below the first nothing moves by itself, below the second little, from the third on all."""
_MOST_CLAUSES = 3
_PLACES = {
    "same-socket": "between ranks of one socket",
    "same-node": "between ranks of one node",
    "between-nodes": "between ranks of different nodes",
}
_MESSAGES = {"two-sided": "messages", "put": "puts", "get": "gets"}


class _Run(NamedTuple):
    """Neighbouring sizes of similar progress; `least` and `most` are shares of a transfer."""

    sizes: tuple[float, ...]
    least: float
    most: float


def _behaviour(shares: Sequence[float]) -> str:
    if max(shares) < NOTHING_MOVES:
        return "none"
    return "all" if min(shares) >= ALL_MOVES else "part"


def _clause(subject: str, behaviour: str, run: _Run) -> str:
    least, most = format_ratio(run.least), format_ratio(run.most)
    match behaviour:
        case "none":
            clause = f"{subject} do not move while both sides compute, at most {most} of a transfer"
            return f"{clause}: computation cannot hide them"
        case "all":
            return f"{subject} move while both sides compute, at least {least} of a transfer: computation can hide them"
    return f"{subject} move in part while both sides compute, {least} to {most} of a transfer"


def progress_sentence(profile: OverlapProfile) -> str:
    """Return a sentence on whether transfers progress while both sides compute and do not call MPI.

    Empty where the profile does not tell. Below 10 % of a transfer counts as nothing, 90 % as all of it.

    >>> from commmodel.machine import ParameterTable
    >>> shares = ParameterTable((1024, 65536, 1048576), (1, 8), ((0.95, 1.0), (0.04, 0.02), (0.0, 0.0)))
    >>> print(progress_sentence(OverlapProfile("same-node", progress=shares)))
    Between ranks of one node messages of 1 KiB move while both sides compute, at least 95 % of a transfer: \
computation can hide them; messages of 64 KiB and more do not move while both sides compute, at most 4.0 % of a \
transfer: computation cannot hide them.
    """
    table = profile.progress
    if table is None:
        return ""
    steady = [tuple(map(float, row)) for row in steady_shares(table).value]
    rows = list(zip(table.sizes, steady, strict=True))
    runs = []
    for behaviour, group in groupby(rows, key=lambda row: _behaviour(row[1])):
        members = list(group)
        shares = [share for _, values in members for share in values]
        runs.append((behaviour, _Run(tuple(size for size, _ in members), min(shares), max(shares))))
    place = _PLACES.get(profile.path, "between ranks")
    kind = _MESSAGES[profile.operation]
    if len(runs) > _MOST_CLAUSES:
        least, most = (format_ratio(end(share for row in steady for share in row)) for end in (min, max))
        sentence = f"{place} it differs from size to size which part of {kind} moves while both sides compute: "
        sentence += f"{least} to {most}"
        if max(share for row in steady for share in row) < LITTLE_MOVES:
            sentence = f"{place} little of {kind} moves while both sides compute, at most {most} of a transfer"
    else:
        clauses = []
        for place_in_row, (behaviour, run) in enumerate(runs):
            first, last = format_size(run.sizes[0]), format_size(run.sizes[-1])
            span = f"{first} to {last}" if first != last else first
            is_open = len(runs) > 1 and place_in_row == len(runs) - 1
            subject = f"{kind} of {f'{first} and more' if is_open else span}"
            clauses.append(_clause(subject, behaviour, run))
        sentence = f"{place} {'; '.join(clauses)}"
    return f"{sentence[:1].upper()}{sentence[1:]}."
