from typing import Any

import numpy as np
from numpy.typing import NDArray

def exchange(
    comm: Any,
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    send_buffer: NDArray[np.uint8],
    receive_buffer: NDArray[np.uint8],
    size: int,
    stride: int,
    repetitions: int,
    clock: int,
    touched: bool = ...,
) -> NDArray[np.uint64]: ...
