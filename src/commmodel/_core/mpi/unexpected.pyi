from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str

def receives(
    comm: Any,
    peer: int,
    first: bool,
    buffer: NDArray[np.uint8],
    size: int,
    late: bool,
    delay: int,
    repetitions: int,
    clock: int,
) -> NDArray[np.uint64]: ...
