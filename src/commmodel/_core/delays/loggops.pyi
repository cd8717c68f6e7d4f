from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

def run_program(
    operations: NDArray[np.void],
    offsets: ArrayLike,
    refill: Callable[[int], NDArray[np.void]] | None,
    between: NDArray[np.float64],
    within: NDArray[np.float64],
    hosts: NDArray[np.int64] | None,
    S: float,
    nic_keeps: bool,
    record: bool,
    progress: Callable[[float, int], None] | None = None,
    slopes: str | None = None,
    symmetry: Any = None,
) -> dict[str, Any]: ...
def run_graph(
    offsets: ArrayLike,
    operations: NDArray[np.void],
    dependencies: NDArray[np.void],
    parameters: tuple[float, ...],
    newer: bool,
    record: bool,
    slopes: str | None = None,
    symmetry: Any = None,
) -> dict[str, Any]: ...
def parse_goal(
    pieces: Iterable[bytes],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]: ...
