"""What of `commmodel.overlap` needs one process at most: what partners agree on, how buffers are cut, cleaning up."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.launching import ENVIRONMENT, launch
from support.paths import ROOT

from commmodel.errors import InputError
from commmodel.overlap.transfers import Description, End, HalfTransfer, check_apart, difference, side

BENCHMARK = ROOT / "benchmarks" / "speed" / "exchange_overhead.py"
ends = st.builds(
    End,
    number=st.integers(0, 2),
    volume=st.integers(0, 2),
    message_size=st.integers(1, 2),
    dtype=st.sampled_from(["uint8", "float64"]),
)
orders = st.sampled_from(["contiguous", "interleaved"])


@given(order=orders, sent=st.lists(ends, max_size=3), received=st.lists(ends, max_size=3))
def test_partners_that_say_the_same_agree(order, sent, received):
    assert difference(1, Description(None, order, sent, received), Description(None, order, received, sent)) is None


@given(*[st.builds(Description, st.none(), orders, st.lists(ends, max_size=2), st.lists(ends, max_size=2))] * 2)
def test_what_one_partner_refuses_the_other_refuses_too(own_options, partner_options):
    """So neither is left waiting for the other."""
    result, entry = difference(1, own_options, partner_options), difference(0, partner_options, own_options)
    assert (result is None) == (entry is None)
    fits = (
        own_options.order == partner_options.order
        and own_options.sent == partner_options.received
        and own_options.received == partner_options.sent
    )
    assert (result is None) == fits


@pytest.mark.mpi
@given(
    count=st.integers(0, 300),
    dtype=st.sampled_from(["u1", "f4", "c16"]),
    message_size=st.integers(16, 3000),
)
def test_pieces_are_whole_elements_and_cover_the_buffer(count, dtype, message_size):
    buffer = np.arange(count).astype(dtype)
    half = side("send", buffer, 0, message_size)
    pieces = list(half.pieces())
    assert [start for start, _ in pieces] == list(range(0, count, max(1, message_size // buffer.itemsize)))
    assert all(piece.nbytes <= message_size for _, piece in pieces)
    assert np.concatenate([buffer[:0], *(piece for _, piece in pieces)]).tobytes() == buffer.tobytes()
    assert half.end(3).message_size == message_size // buffer.itemsize * buffer.itemsize


@pytest.mark.mpi
@pytest.mark.parametrize(("dtype", "counts"), [("u1", [2**31 - 1, 9]), ("f8", [2**28 - 1, 2])])
def test_a_message_is_never_longer_than_mpi_can_count(dtype, counts):
    buffer = np.empty(sum(counts), dtype)  # not touched, so it takes no memory
    assert [piece.size for _, piece in side("send", buffer, 0, 2**40).pieces()] == counts


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 8)), max_size=6))
def test_shared_memory_is_found_wherever_it_is(places):
    memory = np.zeros(30, "u1")
    sides = {True: [], False: []}
    for receives, start, length in places:
        sides[receives].append(HalfTransfer(0, memory[start : start + length], 1))
    bad = any(
        entry is not other and (a or b) and np.may_share_memory(memory[i : i + m], memory[j : j + n])
        for entry in places
        for other in places
        for (a, i, m), (b, j, n) in [(entry, other)]
    ) or any(places.count(place) > 1 and place[0] and place[2] for place in places)
    if bad:
        with pytest.raises(InputError, match="share memory: receive into memory of its own"):
            check_apart(sides[False], sides[True])
    else:
        check_apart(sides[False], sides[True])


FORGETFUL = """
import numpy as np
from mpi4py import MPI
from commmodel.overlap import Exchange, Transfer

def make(keep):
    transfer = Transfer(send=np.ones(100), dest=0, receive=np.zeros(100), source=0, compute=lambda *_: keep)
    keep.append(Exchange(MPI.COMM_SELF, [transfer], message_size=8, burst=4))
    keep[0].run()

make([])    # in a circle of references
kept = []   # until the end
make(kept)
"""


@pytest.mark.mpi
def test_an_exchange_that_nobody_freed_leaves_nothing_behind():
    """MPICH complains at the end of persistent requests that are left."""
    done = subprocess.run(
        [sys.executable, "-c", FORGETFUL], env=ENVIRONMENT, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0
    assert done.stdout + done.stderr == ""


@pytest.mark.mpi
def test_the_benchmark_of_the_overhead_runs():
    options = ["--volume", "4KiB", "--sizes", "1KiB,4KiB", "--turns", "3"]
    done = launch(2, sys.executable, BENCHMARK, *options)
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()[2:]] == [["1", "KiB"], ["4", "KiB"]]
    alone = launch(1, sys.executable, BENCHMARK, *options)
    assert alone.returncode == 1
    assert "this needs two ranks" in alone.stderr


def test_an_exchange_without_a_library_says_what_it_needs():
    code = (
        "from commmodel.overlap import exchange, Transfer\n"
        "from commmodel.errors import MPIEnvironmentError\n"
        "try: exchange(None, Transfer(), message_size=1, burst=1)\n"
        "except MPIEnvironmentError as error: print(error)"
    )
    environment = os.environ | {"MPI4PY_LIBMPI": "/nosuch/libmpi.so", "MPI4PY_MPIABI": "mpich"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("an exchange needs MPI, which cannot be loaded: ")
