import numpy as np
from numpy.typing import ArrayLike, NDArray

class TraceError(Exception):
    line: int
    problem: str

def arranged(
    processes: int,
    round: ArrayLike,  # noqa: A002
    sender: ArrayLike,
    receiver: ArrayLike,
    size: ArrayLike,
    work_round: ArrayLike,
    worker: ArrayLike,
    seconds: ArrayLike,
    tag: int,
) -> tuple[NDArray[np.void], NDArray[np.int64]]: ...
def exchanged(
    processes: int, receivers: list[NDArray[np.int64]], sizes: list[NDArray[np.int64]], tag: int
) -> tuple[NDArray[np.void], NDArray[np.int64]] | None: ...
def spliced(operations: NDArray[np.void], pieces: list[NDArray[np.void]]) -> NDArray[np.void]: ...
def highest_rank(text: bytes, seen: NDArray[np.uint8]) -> int: ...

class Parser:
    actions: int
    skipped: int
    splits: bool
    unmatched: int
    def __init__(self, processes: int, speeds: ArrayLike) -> None: ...
    def parse(
        self, text: bytes, rank: int, line: int, records: int = 0
    ) -> tuple[NDArray[np.void], list[tuple[int, int, float, str]], int]: ...
    def parse_merged(
        self, text: bytes, line: int
    ) -> tuple[NDArray[np.void], NDArray[np.int64], list[tuple[int, int, float, str]], int]: ...
