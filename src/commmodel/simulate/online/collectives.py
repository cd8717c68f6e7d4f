"""Collectives of a running program as operations: as those of a trace. Main entry: `Collectives`."""

from collections.abc import Sequence

import numpy as np

from commmodel.collectives.call import parse
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.simulate.operations import ANY, OPERATION, Operations
from commmodel.simulate.work.block_streams import NOTHING
from commmodel.simulate.work.collective_calls import Caller
from commmodel.simulate.work.collective_expansion import Expander

__all__ = ["Collectives"]

_MARKER = -1


class Collectives:
    """Turns actions of ranks into operations.

    Parameters
    ----------
    processes : int
        P.
    speeds : sequence of float
        Flops per second of each rank's processor.
    settings : CollectiveSettings
    """

    def __init__(self, processes: int, speeds: Sequence[float], settings: CollectiveSettings) -> None:
        self._expander = Expander(processes, speeds, settings)
        self._caller = Caller(processes, self._expander, lambda _, rank, problem: InputError(f"rank {rank}: {problem}"))
        self._marker = np.array([(_MARKER, ANY, 0, 0, 0.0)], dtype=OPERATION)

    def begin(self, number: int, rank: int, tag: int, action: str) -> tuple[Operations, bool]:
        """Return a rank's first operations of a collective, and whether more may follow under that number."""
        communicators = self._expander.communicators
        if action.startswith("communicator"):
            communicators.define_by(action, rank)
            return NOTHING, False
        self._marker["tag"] = tag
        try:
            expansion = self._expander.expand(parse(action, 1.0, communicators.size), rank)
        except InputError as error:
            raise InputError(f"rank {rank}: {error}") from None
        return self._caller.insert(number, self._marker, [expansion]), self._caller.has_more(number)

    def next(self, number: int) -> tuple[Operations, bool]:
        """Return the next operations of the large collective under that number, and whether more may follow."""
        operations = self._caller.next(number)
        return operations, operations.size > 0 and self._caller.has_more(number)
