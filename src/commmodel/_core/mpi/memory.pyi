from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str
OPERATIONS: dict[str, int]
COUNTERS: tuple[str, ...]

def is_counting() -> bool: ...
def counters() -> dict[str, int]: ...
def kept(
    comm: Any, operation: str, memory: NDArray[np.uint8], window_size: int, repetitions: int
) -> NDArray[np.int64]: ...
