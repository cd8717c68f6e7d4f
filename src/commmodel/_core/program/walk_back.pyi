import numpy as np
from numpy.typing import ArrayLike, NDArray

COSTS: np.dtype[np.void]
SEGMENT: np.dtype[np.void]

def walk_back(
    intervals: NDArray[np.void],
    first: ArrayLike,
    transfers: NDArray[np.void],
    costs: NDArray[np.void],
    rules: tuple[bool, bool, bool, bool],
    rank: int,
    time: float,
) -> NDArray[np.void]: ...
