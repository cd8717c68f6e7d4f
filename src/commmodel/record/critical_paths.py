"""The critical path of a recorded program, walked back over its measured calls. Main entry: `critical_path`."""

import numpy as np

from commmodel.record.calls import CALLS
from commmodel.record.files import Recording
from commmodel.record.timelines import analysed, parts
from commmodel.signatures import checked
from commmodel.simulate.critical_path import CriticalPath, measured_path
from commmodel.simulate.result import INTERVAL
from commmodel.sites import without_suffix

_NAMES = {call.code: call.name for call in CALLS}


@checked
def critical_path(recording: Recording) -> CriticalPath:
    """Return what has decided the time of a recorded program.

    The path goes back from the end of the last rank: what it computed and did in calls, to their begins; where a call
    waited for another rank (`commmodel.record.profile`), on to what that rank did until it came. So it is that of a
    simulation, but that what a message takes is not told from the call in which it is received.

    Parameters
    ----------
    recording : Recording

    Raises
    ------
    InputError
        Where it does not fit into memory.

    Examples
    --------
    ``record.critical_path(record.load("recording")).by_site()`` names the lines.
    """
    messages, waits = analysed(recording)
    listed = list(parts(recording, waits, messages.nbytes))
    rows = np.concatenate([np.empty(0, INTERVAL), *(part.rows for part in listed)])
    sites, calls = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    for part in listed:
        size = part.rows.size
        if part.calls.size == size and size:
            numbers = recording.site_numbers(int(part.rows["rank"][0]))
            sites.append(numbers[np.minimum(part.calls["site"], numbers.size - 1)])
            calls.append(part.calls["code"].astype(np.int64))
        else:
            sites.append(np.full(size, -1, np.int32))
            calls.append(np.full(size, -1, np.int64))
    site, code = np.concatenate(sites), np.concatenate(calls)
    keys, number = np.unique(np.stack([site, code], axis=1), axis=0, return_inverse=True)
    origin = rows["start"].min(initial=np.inf) if rows.size else 0.0
    for column in ("start", "end"):
        rows[column] -= origin
    lasts = rows["end"] > rows["start"]
    rows, number = rows[lasts], number.ravel()[lasts]
    names = [without_suffix(str(where)) for where in recording.sites]
    words = tuple(
        f"{names[where]}, {_NAMES[call]}" if where >= 0 else "the end of the recording" for where, call in keys.tolist()
    )
    return measured_path(rows, recording.processes, number, words)
