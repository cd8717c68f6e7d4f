from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str
TEMPLATES: dict[str, int]

def two_sided(
    comm: Any,
    template: str,
    receives: NDArray[np.int64],
    receive_bounds: NDArray[np.int64],
    sends: NDArray[np.int64],
    send_bounds: NDArray[np.int64],
    send_buffer: NDArray[np.uint8],
    receive_buffer: NDArray[np.uint8],
    result: NDArray[np.uint8],
    passes: int,
    iterations: int,
    repetitions: int,
    clock: int,
    touched: bool = ...,
) -> NDArray[np.uint64]: ...
def get(
    comm: Any,
    window: Any,
    template: str,
    steps: NDArray[np.int64],
    bounds: NDArray[np.int64],
    receive_buffer: NDArray[np.uint8],
    result: NDArray[np.uint8],
    passes: int,
    iterations: int,
    repetitions: int,
    clock: int,
) -> NDArray[np.uint64]: ...
def put(
    comm: Any,
    window: Any,
    template: str,
    steps: NDArray[np.int64],
    bounds: NDArray[np.int64],
    send_buffer: NDArray[np.uint8],
    result: NDArray[np.uint8],
    passes: int,
    iterations: int,
    repetitions: int,
    clock: int,
) -> NDArray[np.uint64]: ...
def computations(
    comm: Any,
    steps: NDArray[np.int64],
    buffer: NDArray[np.uint8],
    result: NDArray[np.uint8],
    passes: int,
    repetitions: int,
    clock: int,
) -> NDArray[np.uint64]: ...
