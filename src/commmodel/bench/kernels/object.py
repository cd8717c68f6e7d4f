"""Python objects by each way to send them with mpi4py. Main entry: `KERNELS`.

Samples are half round trips as a program in Python has them: an object is pickled and sent, received and made again.
What a rank has received it sends back. The calls of mpi4py are timed from Python.
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from commmodel.bench.kernels.datatype import TOTALS, WAYS, no_way
from commmodel.bench.kernels.kernel import Floats, Kernel, sampled
from commmodel.bench.option import Option, list_of
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import ObjectKind, ObjectWay, PythonObject

if TYPE_CHECKING:
    from mpi4py import MPI

_TAG = 1


def example(kind: ObjectKind, items: int) -> Any:
    """Return an object of a kind with so many items.

    >>> example("dict", 2), example("list", 2), example("bytes", 2)
    ({'item000000': 0.0, 'item000001': 1.0}, [0.0, 1.0], b'xx')
    """
    numbers = np.arange(items, dtype=np.float64)
    match kind:
        case "array":
            return numbers
        case "bytes":
            return b"x" * items
        case "str":
            return "x" * items
        case "list":
            return numbers.tolist()
        case "dict":
            return {f"item{number:06}": value for number, value in enumerate(numbers.tolist())}


def _as_buffer(content: Any) -> tuple[Callable[[Any], Any], Any, Callable[[Any], Any]]:
    """Return what makes one buffer of objects like this one, room to receive it, and what makes objects of that."""
    numbers = np.empty(len(content))
    match content:
        case np.ndarray():
            return (lambda array: array), numbers, (lambda room: room)
        case bytes():
            return (lambda text: text), bytearray(len(content)), bytes
        case str():
            return str.encode, bytearray(len(content)), bytearray.decode
        case list():
            return np.array, numbers, np.ndarray.tolist
    keys = list(content)
    return (
        lambda items: np.fromiter(items.values(), np.float64, len(items)),
        numbers,
        lambda room: dict(zip(keys, room.tolist(), strict=True)),
    )


def calls(
    comm: "MPI.Intracomm", peer: int, way: ObjectWay, content: Any
) -> tuple[Callable[[Any], None], Callable[[], Any]]:
    """Return the function that sends objects like `content` to a peer, and that which receives such an object."""
    if way == "buffer":
        encode, room, decode = _as_buffer(content)

        def take() -> Any:
            comm.Recv(room, peer, _TAG)
            return decode(room)

        return (lambda value: comm.Send(encode(value), peer, _TAG)), take
    if way == "pickle5":
        from mpi4py.util import pkl5

        comm = pkl5.Intracomm(comm)
    return partial(comm.send, dest=peer, tag=_TAG), partial(comm.recv, source=peer, tag=_TAG)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        PythonObject(total, kind, way, path)
        for path, kind, total, way in product(placement, options.kinds, options.totals, get_args(ObjectWay))
        if way in options.ways
    ]


def _measure(session: Session, configuration: PythonObject) -> Record | None:
    content = example(configuration.kind, configuration.items)
    give, take = calls(session.comm, session.peer, configuration.way, content)
    clock, is_first = time.perf_counter, session.first

    def measure(repetitions: int) -> Floats:
        seconds, value = np.zeros(repetitions), content
        for repetition in range(repetitions):
            if is_first:
                begin = clock()
                give(value)
                value = take()
                seconds[repetition] = clock() - begin
            else:
                value = take()
                give(value)
        return seconds / 2

    return sampled(session, configuration, measure)


KERNELS = (
    Kernel(
        "Python objects, such as a dictionary, by each way to send them with mpi4py",
        (PythonObject,),
        _plan,
        _measure,
        options=(Option("kinds", "kinds of objects", list_of(get_args(ObjectKind), "kind")), WAYS, TOTALS),
        left_out=lambda options: no_way(options, get_args(ObjectWay)),
        visited=(PythonObject,),
    ),
)
