from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel._core.routing import Routing

def run(
    routing: Routing,
    hosts: ArrayLike,
    operations: NDArray[np.void],
    offsets: ArrayLike,
    refill: Callable[[int], NDArray[np.void]] | None,
    network: Any,
    record: bool = False,
) -> dict[str, Any]: ...
