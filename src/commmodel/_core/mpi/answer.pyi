from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str

def sends(
    comm: Any,
    peer: int,
    first: bool,
    send_buffer: NDArray[np.uint8],
    receive_buffer: NDArray[np.uint8],
    size: int,
    large: int,
    beside: bool,
    delay: int,
    repetitions: int,
    clock: int,
) -> NDArray[np.uint64]: ...
