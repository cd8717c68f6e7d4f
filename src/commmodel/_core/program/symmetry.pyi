from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

def holds(operations: NDArray[np.void], offsets: ArrayLike, representatives: int, bases: Sequence[int]) -> bool: ...
