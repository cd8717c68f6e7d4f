from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str

def waits(delay: int, count: int, clock: int) -> int: ...
def blocking_train(
    comm: Any,
    peer: int,
    first: bool,
    buffer: NDArray[np.uint8],
    size: int,
    stride: int,
    messages: int,
    delay: int,
    answer: int,
    repetitions: int,
    clock: int,
    touched: bool = ...,
) -> NDArray[np.uint64]: ...
def immediate_train(
    comm: Any,
    peer: int,
    first: bool,
    buffer: NDArray[np.uint8],
    size: int,
    stride: int,
    messages: int,
    delay: int,
    answer: int,
    repetitions: int,
    clock: int,
    touched: bool = ...,
) -> NDArray[np.uint64]: ...
