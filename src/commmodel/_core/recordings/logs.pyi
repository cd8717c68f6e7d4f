from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

CALL: np.dtype[np.void]
COMPLETED: np.dtype[np.void]
TRANSFER: np.dtype[np.void]

Definition = tuple[int, list[int], list[str], list[float]]

class Clock:
    def __init__(self, ticks: Sequence[float], seconds: Sequence[float], rate: float) -> None: ...
    def seconds(self, ticks: float) -> float: ...

class Decoder:
    problem: str
    has_ended: bool
    count: int
    last: float
    def __init__(self, fields: Mapping[int, Sequence[str]], clock: Clock | None = None) -> None: ...
    def decode_calls(self, data: bytes | memoryview, most: int) -> int: ...
    def decode_times(self, data: bytes | memoryview, most: int) -> int: ...
    def decode_definitions(self, data: bytes | memoryview, most: int) -> int: ...
    def take_times(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]: ...
    def take(self) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.void], list[Definition]]: ...

class Analysis:
    totals: tuple[int, int, int, int, int]
    open: int
    rows: list[tuple[int, int, int, int, float, float, dict[int, float], list[float]]]
    communicators: list[tuple[int, int, float, float]]
    sizes: tuple[dict[int, tuple[int, int, float]], dict[int, tuple[int, int, float]]]
    of_ranks: list[tuple[float, float, list[float], list[float], int, int, int, float, float]]
    cells: NDArray[np.int64]
    transfers: NDArray[np.void]
    waits_of_calls: NDArray[np.void]
    def __init__(
        self,
        ranks: int,
        kinds: NDArray[np.int32],
        members: Sequence[ArrayLike],
        groups: Sequence[ArrayLike],
        keeps_transfers: bool = False,
    ) -> None: ...
    def define(self, rank: int, sites: ArrayLike, views: Sequence[tuple[int, int, int, bool, int]]) -> None: ...
    def read(self, rank: int, log: Decoder, data: bytes | memoryview, most: int) -> int: ...
    def close(self, rank: int) -> None: ...
