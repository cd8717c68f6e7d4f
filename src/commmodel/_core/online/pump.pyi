from collections.abc import Sequence
from typing import Any

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
    def place(self, rank: int, step: int) -> list[str]: ...
