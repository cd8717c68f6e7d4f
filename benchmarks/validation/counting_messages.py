"""Counts the messages inside of collectives: an MPI program, run by `benchmarks.validation.collective_messages`.

Open MPI counts itself: its component monitoring, read as performance variables. MPICH sends by UCX; a library that is
preloaded, ``ucp_messages.c``, counts what it hands over, bytes of derived datatypes aside. The algorithm is set by a
control variable. A file has the cases: a list of [operation, algorithm or 0, bytes of an element, operator, whether in
place, root, sizes]. Rank 0 prints a line for each call: the case with one size, then processes, messages and bytes.
"""

import ctypes
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
IS_OPEN_MPI = "Open MPI" in MPI.Get_library_version()
PVAR_CLASS_SIZE = 2  # Open MPI's
TYPES = {1: MPI.UNSIGNED_CHAR, 4: MPI.FLOAT, 8: MPI.DOUBLE, 16: MPI.C_DOUBLE_COMPLEX}
OPERATORS = {
    "predefined": MPI.SUM,
    "commutative": MPI.Op.Create(lambda *_: None, commute=True),
    "non-commutative": MPI.Op.Create(lambda *_: None, commute=False),
}
library = ctypes.CDLL("libmpi.so.40" if IS_OPEN_MPI else "libmpi.so.12")


def call(name, *arguments):
    """Call a function of MPI's tool interface."""
    code = getattr(library, f"MPI_T_{name}")(*arguments)
    if code:
        raise SystemExit(f"MPI_T_{name} returned {code}")


class MonitoredCounter:
    """Open MPI's counter of messages, or of their bytes, in MPI_COMM_WORLD."""

    session = ctypes.c_void_p()

    def __init__(self, name):
        if not self.session:
            call("pvar_session_create", ctypes.byref(self.session))
        index, count = ctypes.c_int(), ctypes.c_int()
        self.handle, communicator = ctypes.c_void_p(), ctypes.c_void_p(MPI._handleof(world))
        call("pvar_get_index", f"pml_monitoring_messages_{name}".encode(), PVAR_CLASS_SIZE, ctypes.byref(index))
        results = ctypes.byref(communicator), ctypes.byref(self.handle), ctypes.byref(count)
        call("pvar_handle_alloc", self.session, index, *results)
        call("pvar_start", self.session, self.handle)
        self.values = (ctypes.c_ulonglong * count.value)()

    def read(self):
        """Return how many there have been."""
        call("pvar_read", self.session, self.handle, ctypes.byref(self.values))
        return sum(self.values)


class PreloadedCounter:
    """A counter of ``ucp_messages.c``."""

    def __init__(self, name):
        self.value = ctypes.c_long.in_dll(ctypes.CDLL(os.environ["LD_PRELOAD"]), f"ucp_messages_{name}")

    def read(self):
        """Return how many there have been."""
        return self.value.value


def write(operation, algorithm):
    """Set the control variable of an operation's algorithm: a number, or a name of those that MPICH lists."""
    name = f"coll_tuned_{operation}_algorithm" if IS_OPEN_MPI else f"MPIR_CVAR_{operation.upper()}_INTRA_ALGORITHM"
    index, count, handle = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    call("cvar_get_index", name.encode(), ctypes.byref(index))
    if isinstance(algorithm, str):
        algorithm = value_of(index, algorithm)
    call("cvar_handle_alloc", index, None, ctypes.byref(handle), ctypes.byref(count))
    call("cvar_write", handle, ctypes.byref(ctypes.c_int(algorithm)))
    call("cvar_handle_free", ctypes.byref(handle))


def value_of(index, name):
    """Return the value of a name: its place in the description of MPICH's control variable."""
    unused, number, text = [None, None], ctypes.byref(ctypes.c_int()), ctypes.create_string_buffer(1 << 14)
    length, pointer = ctypes.byref(ctypes.c_int(1 << 14)), ctypes.byref(ctypes.c_void_p())
    call("cvar_get_info", index, *unused, number, pointer, pointer, text, length, number, number)
    return re.findall(r"^\s*(\w+)\s+- ", text.value.decode(), re.MULTILINE).index(name)


def collective(communicator, operation, size, kind, operator, in_place, root):
    """Call an operation on vectors, or blocks, of so many bytes."""
    element, processes = kind.Get_size(), communicator.size
    count = size // element

    def buffer(blocks):
        return [np.zeros(blocks * count * element, "u1"), kind]

    is_root = communicator.rank == root
    function = getattr(communicator, operation.capitalize())
    match operation:
        case "barrier":
            function()
        case "bcast":
            function(buffer(1), root)
        case "reduce":
            function(MPI.IN_PLACE if in_place and is_root else buffer(1), buffer(1), operator, root)
        case "allreduce" | "scan":
            function(MPI.IN_PLACE if in_place else buffer(1), buffer(1), operator)
        case "gather":
            function(MPI.IN_PLACE if in_place and is_root else buffer(1), buffer(processes), root)
        case "scatter":
            function(buffer(processes), MPI.IN_PLACE if in_place and is_root else buffer(1), root)
        case "allgather":
            function(MPI.IN_PLACE if in_place else buffer(1), buffer(processes))
        case "alltoall":
            function(MPI.IN_PLACE if in_place else buffer(processes), buffer(processes))
        case "reduce_scatter_block":
            sent, received = (MPI.IN_PLACE, buffer(processes)) if in_place else (buffer(processes), buffer(1))
            function(sent, received, operator)
        case "reduce_scatter":
            sent, received = (MPI.IN_PLACE, buffer(processes)) if in_place else (buffer(processes), buffer(1))
            function(sent, received, [count] * processes, operator)


level = ctypes.c_int()
call("init_thread", 0, ctypes.byref(level))
Counter = MonitoredCounter if IS_OPEN_MPI else PreloadedCounter
counters = [Counter(name) for name in (("count", "size") if IS_OPEN_MPI else ("count", "bytes"))]
cases = world.bcast(json.loads(Path(sys.argv[1]).read_text()) if world.rank == 0 else None)
for *case, sizes in cases:
    operation, algorithm, element, operator, in_place, root = case
    if algorithm:
        write(operation, algorithm)
    communicator = world.Dup() if IS_OPEN_MPI else world  # Open MPI looks when it makes a communicator
    kind = TYPES.get(element) or MPI.BYTE.Create_contiguous(element).Commit()
    for size in sizes:
        world.Barrier()
        before = np.array([counter.read() for counter in counters])
        collective(communicator, operation, size, kind, OPERATORS[operator], in_place, root)
        counted = np.array([counter.read() for counter in counters]) - before
        total = world.reduce(counted)
        if total is not None:
            print(json.dumps([*case, world.size, size, *total.tolist()]), flush=True)
    if IS_OPEN_MPI:
        communicator.Free()
    if algorithm:
        write(operation, 0)
