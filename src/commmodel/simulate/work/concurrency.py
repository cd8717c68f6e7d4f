"""Several programs at once, each on ranks of its own. Main entry: `concurrent`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate.operations import OPERATION, Code, Operations, Program
from commmodel.simulate.work.block_streams import fresh

_WITH_PEER = np.zeros(max(Code) + 1, dtype=np.bool_)
_WITH_PEER[[Code.SEND, Code.ISEND, Code.RECV, Code.IRECV, Code.SSEND, Code.ISSEND, Code.WITHDRAW]] = True
"""Operations whose peer is a rank."""


def _moved(operations: Operations, first: int) -> Operations:
    """Return operations whose peers are `first` ranks further on; any rank stays any rank."""
    moved = operations.copy()
    has_peer = _WITH_PEER[moved["code"]] & (moved["peer"] >= 0)
    moved["peer"][has_peer] += first
    return moved


class _Streams:
    """Supplies the operations of several programs, from the stream of each."""

    def __init__(self, programs: Sequence[Program], firsts: Sequence[int]) -> None:
        self._programs, self._firsts = programs, firsts
        self._job_of = np.repeat(np.arange(len(programs)), [program.processes for program in programs]).tolist()

    def restart(self) -> None:
        """Begin all streams anew."""
        for program in self._programs:
            program.restarted()

    def fresh(self) -> "_Streams":
        """Return a copy at the beginning."""
        return _Streams([fresh(program) for program in self._programs], self._firsts)

    def __call__(self, rank: int) -> Operations:
        """Return the next operations of a rank, none at its end."""
        job = self._job_of[rank]
        program, first = self._programs[job], self._firsts[job]
        if program.refill is None:
            return np.empty(0, OPERATION)
        return _moved(program.refill(rank - first), first)


@checked
def concurrent(programs: Sequence[Program], name: str = "") -> Program:
    """Return the program of several ones that run at the same time: the ranks of the second follow those of the first.

    Parameters
    ----------
    programs : sequence of Program
        Each for any number of processes, whose ranks know of its own messages alone.
    name : str
        Title.

    Raises
    ------
    InputError
        Where there is none, or one runs while it is simulated.

    Examples
    --------
    >>> from commmodel.simulate.work import ring
    >>> both = concurrent([ring(1024, 4), ring(8, 2)])
    >>> both.processes, both.operations["peer"][both.offsets[4]].item()
    (6, 5)
    """
    if not programs:
        raise InputError("no programs to run at once: give at least one")
    if any(program.is_live for program in programs):
        raise InputError("a program that runs while it is simulated is no job among others: record it first")
    # a stream that can be read once is read here
    copies = [fresh(program) if hasattr(program.refill, "fresh") else program for program in programs]
    sizes = [program.processes for program in copies]
    firsts: list[int] = np.cumsum([0, *sizes[:-1]]).tolist()
    operations = [_moved(program.operations, first) for program, first in zip(copies, firsts, strict=True)]
    before = np.cumsum([0, *(block.size for block in operations)])
    ends: list[NDArray[np.int64]] = [
        program.offsets[1:] + start for program, start in zip(copies, before.tolist(), strict=False)
    ]
    offsets = np.concatenate([np.zeros(1, np.int64), *ends]).astype(np.int64)
    refill = _Streams(copies, firsts) if any(program.refill for program in copies) else None
    title = name or " beside ".join(program.name for program in copies if program.name)
    return Program(np.concatenate(operations), offsets, refill, title)
