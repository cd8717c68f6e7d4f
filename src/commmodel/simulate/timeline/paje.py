"""Timelines in the Paje format, which ViTE, pj_dump and pj_validate read.

Source: L. M. Schnorr, "Paje trace file format" (2013). A container for each rank, its states, and a link for each
message; events in the order of time, as the format wants. Main entry: `write_paje`.
"""

import os
from collections.abc import Iterator

import numpy as np

from commmodel._core.common.codes import State
from commmodel.simulate.states import IDLE, STATE_NAMES
from commmodel.simulate.timeline.record import CHUNK, Timeline, opened

_CREATE, _SET, _START, _END, _DESTROY = 4, 5, 6, 7, 8
_EVENTS = (
    ("PajeDefineContainerType", 0, ("Alias string", "Type string", "Name string")),
    ("PajeDefineStateType", 1, ("Alias string", "Type string", "Name string")),
    ("PajeDefineEntityValue", 2, ("Alias string", "Type string", "Name string", "Color color")),
    ("PajeDefineLinkType", 3, ("Alias string", "Type string", "StartContainerType string",
                               "EndContainerType string", "Name string")),
    ("PajeCreateContainer", _CREATE, ("Time date", "Alias string", "Type string", "Container string", "Name string")),
    ("PajeSetState", _SET, ("Time date", "Type string", "Container string", "Value string", "Peer int", "Size double")),
    ("PajeStartLink", _START, ("Time date", "Type string", "Container string", "StartContainer string",
                               "Value string", "Key string")),
    ("PajeEndLink", _END, ("Time date", "Type string", "Container string", "EndContainer string",
                           "Value string", "Key string")),
    ("PajeDestroyContainer", _DESTROY, ("Time date", "Type string", "Name string")),
)  # fmt: skip
_COLOURS = {
    State.COMPUTE: "0.00 0.45 0.70",
    State.SEND: "0.84 0.37 0.00",
    State.RECEIVE: "0.00 0.62 0.45",
    State.WAIT: "0.94 0.76 0.20",
    State.SLEEP: "0.70 0.74 0.78",
    State.TRANSFER: "0.80 0.47 0.65",
    State.FILES: "0.40 0.30 0.20",
    State.START_AND_END: "0.45 0.45 0.45",
}
_SETS, _ENDS, _LEAVES, _ARRIVES = range(4)


def write_paje(path: str | os.PathLike[str], timeline: Timeline) -> None:
    """Write a timeline for ViTE; an existing file is replaced; `InputError` where it cannot be written."""
    with opened(path) as file:
        for name, number, fields in _EVENTS:
            file.write(f"%EventDef {name} {number}\n")
            file.writelines(f"%       {field}\n" for field in fields)
            file.write("%EndEventDef\n")
        file.write('0 "T" "0" "Program"\n0 "R" "T" "Rank"\n1 "S" "R" "State"\n3 "M" "T" "R" "R" "Message"\n')
        file.writelines(f'2 "{STATE_NAMES[state]}" "S" "{STATE_NAMES[state]}" "{_COLOURS[state]}"\n' for state in State)
        file.write(f'2 "{IDLE}" "S" "{IDLE}" "1.00 1.00 1.00"\n')
        title = "".join(letter if letter.isprintable() and letter != '"' else "_" for letter in timeline.name)
        file.write(f'{_CREATE} 0 "p" "T" "0" "{title}"\n')
        for first in range(0, timeline.processes, CHUNK):
            ranks = range(first, min(first + CHUNK, timeline.processes))
            file.write("".join(f'{_CREATE} 0 "r{rank}" "R" "p" "rank {rank}"\n' for rank in ranks))
        for lines in _events(timeline):
            file.write(lines)
        last = max(timeline.seconds, float(timeline.transfers["arrived"].max(initial=0.0)))
        for first in range(0, timeline.processes, CHUNK):
            ranks = range(first, min(first + CHUNK, timeline.processes))
            file.write("".join(f'{_DESTROY} {last:.12g} "R" "r{rank}"\n' for rank in ranks))
        file.write(f'{_DESTROY} {last:.12g} "T" "p"\n')


def _events(timeline: Timeline) -> Iterator[str]:
    """Yield events in order of time, in chunks of lines."""
    rows, sent = timeline.intervals, timeline.transfers
    # a state ends by the next one; where there is none at once, by `idle`
    follows = np.zeros(rows.size, dtype=bool)
    follows[:-1] = (rows["rank"][:-1] == rows["rank"][1:]) & (rows["end"][:-1] == rows["start"][1:])
    ending = np.flatnonzero(~follows)
    # a link's start is when the message left: Paje knows one time for each end
    index = np.concatenate([np.arange(rows.size), ending, np.arange(sent.size), np.arange(sent.size)])
    kind = np.repeat([_SETS, _ENDS, _LEAVES, _ARRIVES], [rows.size, ending.size, sent.size, sent.size])
    time = np.concatenate([rows["start"], rows["end"][ending], sent["left"], sent["arrived"]])
    # at one time: idle, then states, then messages that leave, then those that arrive, so that a link of no length
    # begins before it ends
    rank_of_kind = np.array([1, 0, 2, 3])
    order = np.lexsort((index, rank_of_kind[kind], time))
    for first in range(0, order.size, CHUNK):
        chosen = order[first : first + CHUNK]
        lines = [
            _line(timeline, command, number, at)
            for command, number, at in zip(
                kind[chosen].tolist(), index[chosen].tolist(), time[chosen].tolist(), strict=True
            )
        ]
        yield "".join(lines)


def _line(timeline: Timeline, kind: int, number: int, time: float) -> str:
    at = f"{time:.12g}"
    if kind in {_SETS, _ENDS}:
        rank, state, peer, _, size, _, _ = timeline.intervals[number].item()
        if kind == _ENDS:
            return f'{_SET} {at} "S" "r{rank}" "{IDLE}" -1 0\n'
        return f'{_SET} {at} "S" "r{rank}" "{STATE_NAMES[state]}" {peer} {size:.0f}\n'
    sender, receiver, _, size, _, _, _ = timeline.transfers[number].item()
    if kind == _LEAVES:
        return f'{_START} {at} "M" "p" "r{sender}" "{size:.0f} bytes" "m{number}"\n'
    return f'{_END} {at} "M" "p" "r{receiver}" "{size:.0f} bytes" "m{number}"\n'
