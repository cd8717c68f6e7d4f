from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str
OPERATIONS: dict[str, int]

def collective(
    comm: Any,
    operation: str,
    send_buffer: NDArray[np.uint8],
    receive_buffer: NDArray[np.uint8],
    size: int,
    repetitions: int,
    clock: int,
) -> NDArray[np.uint64]: ...
def copies(
    source: NDArray[np.uint8], target: NDArray[np.uint8], size: int, repetitions: int, clock: int
) -> NDArray[np.uint64]: ...
def reductions(
    source: NDArray[np.uint8], target: NDArray[np.uint8], size: int, repetitions: int, clock: int
) -> NDArray[np.uint64]: ...
