from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel._core.routing.routes import Routing

def run(
    routing: Routing,
    hosts: ArrayLike,
    operations: NDArray[np.void],
    offsets: ArrayLike,
    refill: Callable[[int], NDArray[np.void]] | None,
    network: Any,
    record: bool,
    progress: Callable[[float, int], None] | None = None,
    most_steps: int = 0,
    symmetry: Any = None,
) -> dict[str, Any]: ...
