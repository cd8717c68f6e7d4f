import numpy as np
from numpy.typing import ArrayLike, NDArray

def finish_times(
    processes: int,
    round: ArrayLike,  # noqa: A002
    sender: ArrayLike,
    receiver: ArrayLike,
    send_overhead: ArrayLike,
    receive_overhead: ArrayLike,
    gap: ArrayLike,
    transit: ArrayLike,
    work_round: ArrayLike = ...,
    worker: ArrayLike = ...,
    work: ArrayLike = ...,
    node: ArrayLike = ...,
    node_gap: ArrayLike = ...,
    byte_seconds: ArrayLike = ...,
) -> NDArray[np.float64]: ...
