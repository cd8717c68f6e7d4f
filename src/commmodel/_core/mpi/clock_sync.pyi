from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str

def ask(
    comm: Any, peer: int, count: int, clock: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]: ...
def answer(comm: Any, peer: int, count: int, clock: int) -> None: ...
