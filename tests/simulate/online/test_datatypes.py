"""Datatypes of programs that run while they are simulated."""

import pytest
from support.simulated_runs import simulable_program, simulate, simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

BOUNDS = r"""
#include <mpi.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static int wrong;
#define CHECK(condition) (wrong += (condition) ? 0 : (printf("line %d\n", __LINE__), 1))
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Aint lower, extent;
    MPI_Datatype marked, resized, both, huge, lone, quad;
    // Markers hold whatever lies beyond them.
    int lengths[] = {1, 4, 1, 1};
    MPI_Aint places[] = {-3, 0, 6, 100};
    MPI_Datatype types[] = {MPI_LB, MPI_BYTE, MPI_UB, MPI_INT};
    MPI_Type_create_struct(4, lengths, places, types, &marked);
    MPI_Type_get_extent(marked, &lower, &extent);
    CHECK(lower == -3 && extent == 9);
    MPI_Type_create_resized(MPI_INT, -8, 16, &resized);
    types[0] = resized;
    MPI_Type_create_struct(2, lengths, (MPI_Aint[]){0, 50}, types, &both);
    MPI_Type_get_extent(both, &lower, &extent);
    CHECK(lower == -8 && extent == 16);
    MPI_Type_create_struct(1, lengths, (MPI_Aint[]){10}, (MPI_Datatype[]){MPI_LB}, &lone);
    MPI_Type_get_extent(lone, &lower, &extent);
    CHECK(lower == 10 && extent == -10);

    // A billion blocks take no memory.
    MPI_Count size, elements;
    MPI_Status status;
    MPI_Type_contiguous(4, MPI_INT, &quad);
    MPI_Type_vector(INT_MAX / 2, 1, 3, quad, &huge);
    MPI_Type_size_x(huge, &size);
    MPI_Type_get_extent(huge, &lower, &extent);
    CHECK(size == 16LL * (INT_MAX / 2) && extent == 48LL * (INT_MAX / 2 - 1) + 16);
    MPI_Status_set_elements_x(&status, huge, 4LL * (INT_MAX / 2));
    MPI_Get_elements_x(&status, huge, &elements);
    CHECK(elements == 4LL * (INT_MAX / 2));

    // Numbers in external32.
    struct { long first; wchar_t letter; long double last; float _Complex pair; } out = {-2, L'x', 1.5L, 2.0f}, in;
    MPI_Datatype mixed;
    MPI_Aint position = 0, room;
    unsigned char packed[64];
    MPI_Type_create_struct(4, (int[]){1, 1, 1, 1}, (MPI_Aint[]){0, (char *)&out.letter - (char *)&out,
        (char *)&out.last - (char *)&out, (char *)&out.pair - (char *)&out},
        (MPI_Datatype[]){MPI_LONG, MPI_WCHAR, MPI_LONG_DOUBLE, MPI_C_FLOAT_COMPLEX}, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Pack_external_size("external32", 1, mixed, &room);
    MPI_Pack_external("external32", &out, 1, mixed, packed, sizeof packed, &position);
    CHECK(room == 30 && position == 30);
    CHECK(memcmp(packed, "\xff\xff\xff\xfe\0x\x3f\xff\x80\0", 10) == 0);
    CHECK(memcmp(packed + 22, "\x40\0\0\0\0\0\0", 8) == 0);
    position = 0;
    memset(&in, 0, sizeof in);
    MPI_Unpack_external("external32", packed, 30, &position, &in, 1, mixed);
    CHECK(in.first == -2 && in.letter == L'x' && in.last == 1.5L && in.pair == 2.0f);
    printf("%d wrong\n", wrong);
    MPI_Finalize();
    return 0;
}
"""


def test_bounds_sizes_and_external_numbers(tmp_path):
    done = simulate("--compute", "0", "--", str(simulable_program(tmp_path, BOUNDS)), processes=1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong" in done.stdout.split("\n"), done.stdout


STRIDES = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
cube = np.arange(5 * 6 * 7, dtype="i").reshape(5, 6, 7)
row = MPI.INT.Create_vector(3, 1, 2)
types = {
    "face": (MPI.INT.Create_vector(5 * 6, 1, 7), cube[:, :, 0]),
    "even": (MPI.INT.Create_vector(5 * 6, 1, 7).Create_resized(0, 8).Create_contiguous(3), None),
    "rows": (row.Create_hvector(4, 1, 28), cube[0, :4, 0:5:2]),
    "back": (MPI.INT.Create_hvector(5, 2, -28), None),
    "box": (MPI.INT.Create_subarray([5, 6, 7], [2, 3, 4], [1, 2, 3]), cube[1:3, 2:5, 3:7]),
    "list": (MPI.INT.Create_indexed([1, 1, 1, 2, 2, 1], [0, 2, 4, 6, 9, 20]), None),
}
window = MPI.Win.Create(np.zeros_like(cube), 4, comm=world)
for name, (kind, expected) in types.items():
    kind.Commit()
    skip = 200 if name == "back" else 0
    flat = cube.reshape(-1)[skip // 2 :]
    packed = np.zeros(kind.size // 4, "i")
    MPI.COMM_SELF.Sendrecv([flat, 1, kind], 0, recvbuf=packed, source=0)
    if expected is not None:
        assert (packed == expected.reshape(-1)).all(), name
    if name == "list":
        assert packed.tolist() == [0, 2, 4, 6, 7, 9, 10, 20]
    if name == "back":
        assert packed.tolist() == [100, 101, 93, 94, 86, 87, 79, 80, 72, 73]
    # What is packed is what a message of that type carries, and what is stored in a window.
    got = np.full_like(cube, -1)
    other = 1 - world.rank
    world.Sendrecv([flat, 1, kind], other, recvbuf=[got.reshape(-1)[skip // 2 :], 1, kind], source=other)
    assert (got[got >= 0] == np.sort(packed)).all(), name
    if name != "back":
        window.Fence()
        window.Put([flat, 1, kind], other, (0, 1, kind))
        window.Fence()
        stored = np.frombuffer(window, "i")
        assert (stored[np.sort(packed)] == np.sort(packed)).all(), name
window.Free()
print("done")
"""


def test_strided_types_carry_what_they_pack(tmp_path):
    done = simulate_script(tmp_path, STRIDES, "--compute", "0", processes=2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 2
