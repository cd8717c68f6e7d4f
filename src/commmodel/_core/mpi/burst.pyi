from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str

Bytes = NDArray[np.uint8]
Ticks = NDArray[np.uint64]

def two_sided_burst(
    comm: Any, peer: int, first: bool, buffer: Bytes, size: int, stride: int, burst: int, repetitions: int, clock: int
) -> Ticks: ...
def put_burst(
    comm: Any,
    window: Any,
    peer: int,
    first: bool,
    buffer: Bytes,
    size: int,
    stride: int,
    burst: int,
    repetitions: int,
    clock: int,
) -> Ticks: ...
def get_burst(
    comm: Any,
    window: Any,
    peer: int,
    first: bool,
    buffer: Bytes,
    size: int,
    stride: int,
    burst: int,
    repetitions: int,
    clock: int,
) -> Ticks: ...
def isend_queue(
    comm: Any, peer: int, first: bool, buffer: Bytes, size: int, stride: int, count: int, repetitions: int, clock: int
) -> Ticks: ...
def put_queue(
    comm: Any,
    window: Any,
    peer: int,
    first: bool,
    buffer: Bytes,
    size: int,
    stride: int,
    count: int,
    repetitions: int,
    clock: int,
) -> Ticks: ...
def get_queue(
    comm: Any,
    window: Any,
    peer: int,
    first: bool,
    buffer: Bytes,
    size: int,
    stride: int,
    count: int,
    repetitions: int,
    clock: int,
) -> Ticks: ...
def two_sided_exchange(
    comm: Any,
    peer: int,
    send_buffer: Bytes,
    receive_buffer: Bytes,
    size: int,
    stride: int,
    burst: int,
    delay: int,
    repetitions: int,
    clock: int,
) -> Ticks: ...
def put_exchange(
    comm: Any,
    window: Any,
    peer: int,
    buffer: Bytes,
    size: int,
    stride: int,
    burst: int,
    delay: int,
    repetitions: int,
    clock: int,
) -> Ticks: ...
def get_exchange(
    comm: Any,
    window: Any,
    peer: int,
    buffer: Bytes,
    size: int,
    stride: int,
    burst: int,
    delay: int,
    repetitions: int,
    clock: int,
) -> Ticks: ...
def both_ways(
    comm: Any,
    receiver: int,
    sender: int,
    send_buffer: Bytes,
    receive_buffer: Bytes,
    size: int,
    stride: int,
    window: int,
    repetitions: int,
    clock: int,
    touched: bool = ...,
) -> Ticks: ...
