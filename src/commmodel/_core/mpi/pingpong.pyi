from typing import Any

import numpy as np
from numpy.typing import NDArray

MPI_ABI: str

Bytes = NDArray[np.uint8]
Ticks = NDArray[np.uint64]

def pingpong(
    comm: Any,
    peer: int,
    first: bool,
    send_buffer: Bytes,
    receive_buffer: Bytes,
    size: int,
    repetitions: int,
    batch: int,
    clock: int,
    touched: bool = ...,
) -> Ticks: ...
def pairs(
    comm: Any,
    peer: int,
    first: bool,
    send_buffer: Bytes,
    receive_buffer: Bytes,
    size: int,
    repetitions: int,
    batch: int,
    clock: int,
    touched: bool = ...,
) -> Ticks: ...
def stream(
    comm: Any,
    peer: int,
    first: bool,
    buffer: Bytes,
    size: int,
    stride: int,
    window: int,
    repetitions: int,
    clock: int,
    touched: bool = ...,
) -> Ticks: ...
def ping_send(
    comm: Any, peer: int, first: bool, buffer: Bytes, size: int, repetitions: int, clock: int, touched: bool = ...
) -> Ticks: ...
def ping_isend(
    comm: Any, peer: int, first: bool, buffer: Bytes, size: int, repetitions: int, clock: int, touched: bool = ...
) -> Ticks: ...
def ping_receive(
    comm: Any,
    peer: int,
    first: bool,
    buffer: Bytes,
    size: int,
    repetitions: int,
    pause: int,
    clock: int,
    touched: bool = ...,
) -> Ticks: ...
def ping_ireceive(
    comm: Any,
    peer: int,
    first: bool,
    buffer: Bytes,
    size: int,
    repetitions: int,
    pause: int,
    clock: int,
    touched: bool = ...,
) -> Ticks: ...
def delayed_send(comm: Any, peer: int, first: bool, buffer: Bytes, size: int, delay: int, clock: int) -> int: ...
