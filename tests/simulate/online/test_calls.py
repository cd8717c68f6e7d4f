"""Calls of MPI that few programs make, in programs that run while they are simulated."""

import pytest
from support.simulated_runs import simulable_program, simulate, simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

RARE = r"""
#include <mpi.h>
#include <stdio.h>
static int freed;
static int forget(MPI_Comm comm, int keyval, void *value, void *state) {
    freed++;
    return MPI_Keyval_free(&keyval);
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Status status = {.MPI_ERROR = 77};
    MPI_Request request;
    MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 10, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    printf("source %d error %d\n", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_ERROR);
    MPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 10, MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, &status);
    printf("error of several %d\n", status.MPI_ERROR);

    int numbers[2] = {5, 6};
    MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, numbers, 1, MPI_INT, 0, MPI_COMM_WORLD);
    printf("gathered %d\\n", numbers[0]);

    MPI_Comm copy;
    int keyval, same;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Keyval_create(MPI_NULL_COPY_FN, forget, &keyval, NULL);
    same = keyval;
    MPI_Attr_put(MPI_COMM_SELF, keyval, NULL);
    MPI_Attr_put(copy, keyval, NULL);
    MPI_Comm_free(&copy);
    MPI_Keyval_free(&keyval);
    MPI_Keyval_free(&same);
    printf("freed %d\n", freed);

    MPI_Datatype column;
    MPI_Aint extent, upper;
    MPI_Type_hvector(3, 1, 32, MPI_DOUBLE, &column);
    MPI_Type_extent(column, &extent);
    MPI_Type_ub(column, &upper);
    printf("extent %d upper bound %d\n", (int)extent, (int)upper);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
"""


def test_rare_calls(tmp_path):
    """A receive of no type from no rank; MPI_ERROR that one request leaves alone; keyvals freed by what they call."""
    done = simulate("--compute", "0", "--", str(simulable_program(tmp_path, RARE)), processes=1)
    assert done.returncode == 0, done.stderr
    lines = ["source 1 error 77", "error of several 0", "gathered 5", "freed 1", "extent 72 upper bound 72"]
    assert [line for line in lines if line not in done.stdout] == []


ORDERS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
buffers = [memoryview(bytearray(4)).cast("i") for _ in range(2)]
buffers[0][0] = world.rank + 1
world.Barrier()
if world.rank == 0:
    request = world.Iallreduce(*buffers)
    print("done", request.Test())
    world.Barrier()
else:
    world.Barrier()
    request = world.Iallreduce(*buffers)
request.Wait()
print("sum", buffers[1][0])
"""


def test_collectives_with_requests_have_an_order_of_their_own(tmp_path):
    """And others see what a rank gives when simulated time has come there, not before."""
    done = simulate_script(tmp_path, ORDERS, "--compute", "0")
    assert done.returncode == 0, done.stderr
    assert "done False" in done.stdout
    assert done.stdout.count("sum 6") == 3


GROUPS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
everyone = world.group
if world.rank == 1:
    world.send(None, 0)
elif world.rank == 0:
    world.recv(source=1)
    world.send(None, 2)
else:
    world.recv(source=0)
for members in ([1, 2], [0, 1, 2], [2, 1]):
    if world.rank in members:
        group = everyone.Incl(members)
        part = world.Create_group(group)
        assert part.allgather(world.rank) == members
        part.Free()
print("done")
"""


def test_communicators_of_groups_are_told_apart(tmp_path):
    """Ranks are at different calls, whose groups share members."""
    done = simulate_script(tmp_path, GROUPS, "--compute", "0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 3


NUMBERS = """
from mpi4py import MPI
import numpy as np
assert [MPI.Compute_dims(*of) for of in ((72, 2), (71400, 3), (289296, 5))] == [[9, 8], [51, 40, 35], [41, 14, 9, 8, 7]]
column = MPI.INT.Create_vector(2, 1, 3).Commit()
values = np.arange(6, dtype="i")
window = MPI.Win.Create(np.ones(6, "i"), 4, comm=MPI.COMM_SELF)
window.Lock(0)
window.Accumulate([values, 1, column], 0, [0, 1, column], MPI.SUM)
window.Unlock(0)
print(np.frombuffer(window, "i").tolist())
"""


def test_grids_are_even_and_accumulates_take_derived_datatypes(tmp_path):
    done = simulate_script(tmp_path, NUMBERS, "--compute", "0", processes=1)
    assert done.returncode == 0, done.stderr
    assert "[1, 1, 1, 4, 1, 1]" in done.stdout


CANCELLED = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    for source, tag in ((MPI.ANY_SOURCE, 5), (1, 5), (1, MPI.ANY_TAG)):
        status = MPI.Status()
        kept = [bytearray(1), bytearray(1)]
        requests = [world.Irecv(buffer, source, tag) for buffer in kept]
        requests[0].Cancel()
        requests[0].Wait(status)
        assert status.Is_cancelled()
        world.Barrier()
        requests[1].Wait()
        assert kept == [b"\\0", b"x"]
        world.Barrier()
    request = world.Irecv(kept[0], 1, 5)
    world.Barrier()
    world.Barrier()
    request.Cancel()
    request.Wait(status)
    assert not status.Is_cancelled() and kept[0] == b"x"
    print("done")
else:
    for _ in range(4):
        world.Barrier()
        world.Send(b"x", 0, 5)
        world.Barrier()
"""


def test_a_cancelled_receive_takes_no_message(tmp_path):
    """The next receive does; a receive that has its message already is not cancelled."""
    done = simulate_script(tmp_path, CANCELLED, "--compute", "0", processes=2)
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout


HOSTS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
def split(kind, name=None):
    info = MPI.Info.Create()
    if name:
        info.Set("mpi_hw_resource_type", name)
    part = world.Split_type(kind, info=info)
    return part.size if part else None, info.Get("mpi_hw_resource_type")
guided, unguided = MPI.COMM_TYPE_HW_GUIDED, MPI.COMM_TYPE_HW_UNGUIDED
sizes = [split(MPI.COMM_TYPE_SHARED)[0], split(guided, "machine")[0], split(guided, "core")[0], split(unguided)]
hints = MPI.Info.Create()
hints.Set("arbitrary", "value")
hints.Set("mpi_assert_no_any_tag", "true")
world.Set_info(hints)
print("rank", world.rank, *sizes, dict(world.Get_info()))
"""


def test_communicators_are_split_by_host_and_keep_hints_of_mpi_alone(tmp_path):
    done = simulate_script(tmp_path, HOSTS, "--mapping", "block", "--compute", "0", processes=6)
    assert done.returncode == 0, done.stderr
    for rank in range(6):
        size = 4 if rank < 4 else 2
        line = f"rank {rank} {size} {size} None ({size}, 'machine') {{'mpi_assert_no_any_tag': 'true'}}"
        assert line in done.stdout
