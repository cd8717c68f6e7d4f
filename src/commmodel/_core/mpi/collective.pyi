from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str
LATE: dict[str, int]
OPERATIONS: dict[str, int]
MODES: dict[str, int]

def collective(
    comm: Any,
    operation: str,
    send_buffer: NDArray[np.uint8],
    receive_buffer: NDArray[np.uint8],
    size: int,
    repetitions: int,
    clock: int,
    mode: str = ...,
    delay: int = ...,
    touched: bool = ...,
) -> NDArray[np.uint64]: ...

class CommonClock:
    def __init__(
        self, kind: int, origin: int, seconds_per_tick: float, intercept: float, patience: int, slack: int
    ) -> None: ...
    def seconds(self, ticks: int) -> float: ...
    def ticks(self, seconds: float) -> int: ...

def announced(
    comm: Any,
    operation: str,
    send_buffer: NDArray[np.uint8],
    receive_buffer: NDArray[np.uint8],
    size: int,
    repetitions: int,
    clock: CommonClock,
    lead: float,
    mode: str = ...,
    delay: int = ...,
    touched: bool = ...,
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]: ...
def windowed(
    comm: Any,
    operation: str,
    send_buffer: NDArray[np.uint8],
    receive_buffer: NDArray[np.uint8],
    size: int,
    repetitions: int,
    clock: CommonClock,
    lead: float,
    window: float,
    mode: str = ...,
    delay: int = ...,
    touched: bool = ...,
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]: ...
def copies(
    source: NDArray[np.uint8], target: NDArray[np.uint8], size: int, repetitions: int, clock: int
) -> NDArray[np.uint64]: ...
def reductions(
    source: NDArray[np.uint8], target: NDArray[np.uint8], size: int, repetitions: int, clock: int
) -> NDArray[np.uint64]: ...
