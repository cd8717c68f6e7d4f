from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Pump:
    raised: BaseException | None
    live: Any
    def __init__(
        self,
        ranks: int,
        descriptor: int,
        processes: Any,
        collectives: Any,
        compute_factor: float,
        hosts: Sequence[tuple[int, str]],
    ) -> None: ...
    def state(self, rank: int) -> tuple[str, int, str]: ...
    def memory(self, rank: int) -> int: ...
    def compare(self, names: Sequence[str]) -> None: ...
    def record(self, rank: int, numbers: NDArray[np.int64], seconds: NDArray[np.float64]) -> None: ...
    def unsimulated(self) -> tuple[list[str], bool, bool]: ...
    def place(self, rank: int, step: int) -> list[str]: ...
