"""A recording as a program of the simulator. Main entry: `program`."""

import os
from collections.abc import Iterator, Sequence

from commmodel.collectives.library.selection import Selector
from commmodel.record.actions import RecordedActions
from commmodel.record.files import Recording
from commmodel.simulate.operations import Program
from commmodel.simulate.traces import replay_texts

__all__ = ["program"]

_SPEED = 1e9


def program(
    recording: Recording,
    *,
    faster: float | Sequence[float] = 1.0,
    selector: str | os.PathLike[str] | Selector = "mpich",
    memory_copy: float = 0.0,
    reduction: float = 0.0,
) -> Program:
    """Return the program that does what the recorded ranks did, computing between calls as long as they did.

    Parameters
    ----------
    recording : Recording
    faster : float or sequence of float
        How many times faster all ranks' processors are than those of the recording, or each rank's.
    selector : str, path or Selector
        Which algorithms collectives take.
    memory_copy, reduction : float
        Seconds per byte in collectives.

    Returns
    -------
    Program
        A stream: it reads the recording as it runs.
    """
    actions = RecordedActions(recording, _SPEED)
    names = [str(recording.log(rank)) for rank in range(recording.processes)]

    def opened(rank: int) -> Iterator[bytes]:
        return (text.encode("ascii") for text in actions.text(rank))

    speeds = faster * _SPEED if isinstance(faster, int | float) else [each * _SPEED for each in faster]
    return replay_texts(
        opened, names, speeds=speeds, selector=selector, memory_copy=memory_copy, reduction=reduction,
        title=f"replay of {recording.name}",
    )  # fmt: skip
