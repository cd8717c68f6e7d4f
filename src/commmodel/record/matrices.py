"""Who sends to whom: the communication matrix of a recording. Main entries: `matrix`, `Matrix`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.recordings.logs import Analysis
from commmodel.errors import InputError
from commmodel.frames import Tabular
from commmodel.record.files import Recording
from commmodel.record.matching import analyse
from commmodel.signatures import checked
from commmodel.values import Value

__all__ = ["Matrix", "matrix"]

_MOST_DENSE = 8192


@dataclass(frozen=True)
class Matrix(Tabular, Value):
    """Messages from rank to rank, point-to-point ones alone; a row for each pair that has exchanged any."""

    processes: int
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    """Ranks of MPI_COMM_WORLD; pairs ascend."""
    messages: NDArray[np.int64]
    bytes: NDArray[np.int64]

    def dense(self, quantity: str = "bytes") -> NDArray[np.int64]:
        """Return ``bytes`` or ``messages`` as a square array, a row for each source.

        Raises
        ------
        InputError
            Where the program has more than 8192 processes.
        """
        if self.processes > _MOST_DENSE:
            raise InputError(f"{self.processes} processes: a matrix of more than {_MOST_DENSE} has no dense form")
        square = np.zeros((self.processes, self.processes), dtype=np.int64)
        square[self.source, self.destination] = getattr(self, quantity)
        return square

    def to_dict(self) -> dict[str, Any]:
        """Return columns, for JSON and tables."""
        columns = ("source", "destination", "messages", "bytes")
        return {name: getattr(self, name).tolist() for name in columns}


def matrix_of(processes: int, analysis: Analysis) -> Matrix:
    """Return the matrix of what has been analysed."""
    source, destination, messages, sizes = np.ascontiguousarray(analysis.cells.T)
    return Matrix(processes, source, destination, messages, sizes)


@checked
def matrix(recording: Recording) -> Matrix:
    """Return the messages and bytes that ranks have sent to each other.

    Every send counts, whether its receive is in the recording or not; what collectives move between ranks is the MPI
    library's choice and is not in it.
    """
    return matrix_of(recording.processes, analyse(recording))
