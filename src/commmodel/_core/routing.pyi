from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

class Routing:
    def __init__(
        self,
        capacity: ArrayLike,
        latency: ArrayLike,
        fatpipe: ArrayLike,
        zones: Sequence[Mapping[str, Any]],
        passages: Mapping[str, Any] | None = None,
    ) -> None: ...
    @property
    def hosts(self) -> int: ...
    @property
    def capacity(self) -> NDArray[np.float64]: ...
    @property
    def latency(self) -> NDArray[np.float64]: ...
    @property
    def fatpipe(self) -> NDArray[np.uint8]: ...
    @property
    def capsule(self) -> object: ...
    def route(self, source: int, destination: int) -> list[int]: ...
    def count(self, sources: ArrayLike, destinations: ArrayLike) -> NDArray[np.int64]: ...
