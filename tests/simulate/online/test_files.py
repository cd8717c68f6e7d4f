"""Files of programs that run while they are simulated."""

import os
import shutil
import subprocess
import sys

import pytest
from support.simulated_runs import compiled_program, is_of_mpich, simulate, simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

CHECKPOINT = r"""
#include <mpi.h>
#include <stdio.h>
#define N 12
int main(int argc, char **argv) {
    int rank, size, dims[2] = {0, 0}, wrong = 0, values[10], got[9], read;
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Datatype view, memory, strided;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    int at[2] = {rank / dims[1], rank % dims[1]};
    int whole[2] = {N * dims[0], N * dims[1]}, part[2] = {N, N}, start[2] = {N * at[0], N * at[1]};
    int padded[2] = {N + 2, N + 2}, inner[2] = {1, 1};
    double block[N + 2][N + 2], back[N + 2][N + 2];
    for (int i = 0; i < N + 2; i++)
        for (int j = 0; j < N + 2; j++) block[i][j] = rank * 1e6 + i * 1e3 + j;
    for (int i = 0; i < 10; i++) values[i] = rank * 100 + i;
    MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &view);
    MPI_Type_create_subarray(2, padded, part, inner, MPI_ORDER_C, MPI_DOUBLE, &memory);
    MPI_Type_vector(5, 2, 2 * size, MPI_INT, &strided);
    MPI_Type_create_resized(strided, 0, 5 * 2 * size * sizeof(int), &strided);
    MPI_Type_commit(&view);
    MPI_Type_commit(&memory);
    MPI_Type_commit(&strided);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, 8192);  // else MPICH leaves what it likes between strided parts
    MPI_File_write_ordered(file, values, rank % 3 + 1, MPI_INT, &status);
    MPI_File_iwrite_at(file, 1000 + 40 * rank, values, 10, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_File_write_at_all_begin(file, 2000 + 40 * (size - rank), values, 10, MPI_INT);
    MPI_File_write_at_all_end(file, values, &status);
    MPI_File_set_view(file, 3000 + 8 * rank, MPI_INT, strided, "native", MPI_INFO_NULL);
    MPI_File_write(file, values, 7, MPI_INT, &status);
    MPI_File_write(file, values, 10, MPI_INT, &status);
    MPI_File_write_at(file, 19, values, 1, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, 3, got, 9, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &read);
    wrong += read != 9;
    for (int i = 0; i < 9; i++) wrong += got[i] != values[i + 3 < 7 ? i + 3 : i - 4];
    MPI_File_set_view(file, 8192, MPI_DOUBLE, view, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, block, 1, memory, &status);
    MPI_Offset position, byte, bytes, end;
    MPI_File_get_position(file, &position);
    MPI_File_get_byte_offset(file, N + 3, &byte);
    MPI_File_get_size(file, &bytes);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &end);
    MPI_File_read_at_all(file, 0, back, 1, memory, &status);
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) wrong += back[i][j] != block[i][j];
    MPI_File_close(&file);
    long long told[5] = {position, byte, bytes, end, wrong}, all[5];
    MPI_Reduce(told, all, 5, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 5; i++) printf("%lld ", all[i]);
    if (rank == 0) printf("told\n");
    MPI_Finalize();
    return 0;
}
"""

TIMES = """
from mpi4py import MPI
import numpy as np, sys
world = MPI.COMM_WORLD
file = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
data = np.zeros(10**6, "B")
def timed(name, call):
    world.barrier()
    begin = MPI.Wtime()
    call()
    if world.rank == 0:
        print(name, round(1e3 * (MPI.Wtime() - begin), 1))
def write_later():
    request = file.Iwrite_at(world.rank * 10**6, data)
    assert MPI.Wtime() == MPI.Wtime()
    request.Wait()
timed("together", lambda: file.Write_at_all(world.rank * 10**6, data))
timed("alone", lambda: world.rank == 0 and file.Read_at(0, data))
timed("later", write_later)
parts = MPI.BYTE.Create_vector(100, 10, 1000).Create_resized(0, 10**5).Commit()
file.Set_view(10 * world.rank, MPI.BYTE, parts)
timed("parts", lambda: file.Write_at(0, data[:1000]))
timed("parts together", lambda: file.Write_at_all(0, data[:1000]))
file.Close()
"""

ERRORS = """
from mpi4py import MPI
import sys
world = MPI.COMM_WORLD
def class_of(call, *arguments):
    try:
        call(*arguments)
    except MPI.Exception as error:
        return error.Get_error_class()
open_file = lambda mode, name=sys.argv[1]: MPI.File.Open(world, name, mode)
file = open_file(MPI.MODE_CREATE | MPI.MODE_WRONLY | MPI.MODE_DELETE_ON_CLOSE)
data = bytearray(8)
found = [
    class_of(open_file, MPI.MODE_RDONLY, sys.argv[1] + "-none"), class_of(open_file, MPI.MODE_RDONLY | MPI.MODE_WRONLY),
    class_of(open_file, MPI.MODE_CREATE | MPI.MODE_EXCL | MPI.MODE_RDWR), class_of(file.Read_at, 0, data),
    class_of(file.Write_at, -1, data), class_of(file.Set_view, 0, MPI.INT, MPI.INT, "none"),
    class_of(MPI.File.Delete, sys.argv[1] + "-none"),
]
file.Close()
wanted = [MPI.ERR_NO_SUCH_FILE, MPI.ERR_AMODE, MPI.ERR_FILE_EXISTS, MPI.ERR_ACCESS, MPI.ERR_ARG,
          MPI.ERR_UNSUPPORTED_DATAREP, MPI.ERR_NO_SUCH_FILE]
if world.rank == 0:
    print(found == wanted, found)
"""


@pytest.mark.parametrize("processes", [1, 4])
def test_a_file_has_the_bytes_that_the_real_library_writes(tmp_path, processes):
    program = compiled_program(tmp_path, CHECKPOINT)
    if not is_of_mpich(program):
        pytest.skip("the program is linked with another MPI library")
    mpiexec = shutil.which("mpiexec", path=f"{sys.prefix}/bin")
    real = subprocess.run([mpiexec, "-n", str(processes), program, tmp_path / "real"], capture_output=True, text=True,
                          check=True)  # fmt: skip
    done = simulate("--compute", "0", "--", str(program), str(tmp_path / "simulated"), processes=processes)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "simulated").read_bytes() == (tmp_path / "real").read_bytes()
    lines = [next(line for line in run.stdout.splitlines() if "told" in line) for run in (real, done)]
    assert lines[0] == lines[1]
    assert lines[1].endswith(" 0 told")
    assert "files take no simulated time: --storage" in done.stderr


def run_with_storage(folder, storage, processes):
    script = folder / "script.py"
    script.write_text(TIMES)
    words = [*storage, "--", sys.executable, str(script), str(folder / "file")]
    done = simulate("--compute", "0", *words, processes=processes)
    assert done.returncode == 0, done.stderr
    assert "files take no simulated time" not in done.stderr
    names = ("together", "alone", "later", "parts", "parts together")
    return {name: float(line.rpartition(" ")[2]) for line in done.stdout.splitlines() for name in names
            if line.rpartition(" ")[0] == name}  # fmt: skip


def test_files_share_the_bandwidth_of_the_storage(tmp_path):
    times = run_with_storage(tmp_path, ["--storage", "bandwidth=1GB/s,latency=1ms"], 4)
    assert times["together"] == pytest.approx(5.0, abs=0.2)  # 1 ms + 4 MB
    assert times["alone"] == pytest.approx(2.0, abs=0.1)
    assert times["later"] == pytest.approx(5.0, abs=0.2)
    assert times["parts"] == pytest.approx(100.0, abs=0.2)  # of them
    assert times["parts together"] == pytest.approx(1.0, abs=0.2)


def test_a_host_has_no_more_than_a_client_of_the_storage(tmp_path):
    times = run_with_storage(tmp_path, ["--storage", "bandwidth=1GB/s,client=250MB/s", "-k", "2"], 4)
    assert times["alone"] == pytest.approx(4.0, abs=0.1)
    assert times["together"] == pytest.approx(8.0, abs=0.2)  # two hosts


def test_time_in_files_is_a_state_of_its_own(tmp_path):
    code = "from mpi4py import MPI; import sys; MPI.File.Open(MPI.COMM_WORLD, sys.argv[1], 9).Close()"
    words = ["--storage", "bandwidth=1GB/s,latency=1s", "--", sys.executable, "-c", code, str(tmp_path / "file")]
    done = simulate("--compute", "0", *words, processes=2)
    assert done.returncode == 0, done.stderr
    assert any(line.split()[:3] == ["files", "2.00", "s"] for line in done.stdout.splitlines()), done.stdout


def test_errors_of_files_have_the_classes_of_mpi(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(ERRORS)
    done = simulate("--compute", "0", "--", sys.executable, str(script), str(tmp_path / "file"), processes=2)
    assert done.returncode == 0, done.stderr
    assert "True [" in done.stdout, done.stdout
    assert not (tmp_path / "file").exists()


def test_a_read_ends_with_the_file(tmp_path):
    code = """
from mpi4py import MPI
file = MPI.File.Open(MPI.COMM_WORLD, "%s", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_view(0, MPI.SHORT, MPI.SHORT.Create_vector(2, 1, 2).Create_resized(0, 8).Commit())
file.Write_at_all(0, [bytearray(range(6)), MPI.SHORT])
status = MPI.Status()
file.Read_at_all(1, [data := bytearray(20), MPI.SHORT], status)
print(status.Get_count(MPI.SHORT), data[:5] == bytes([2, 3, 4, 5, 0]), file.size)
file.Close()
"""
    done = simulate_script(tmp_path, code % os.fspath(tmp_path / "file"), "--compute", "0", processes=2)
    assert done.stdout.count("2 True 10\n") == 2, done.stdout + done.stderr


def test_a_storage_without_bandwidth_is_one_line():
    done = simulate("--storage", "latency=1us", "--", sys.executable, "-c", "pass")
    assert done.returncode == 2
    assert "--storage: bandwidth is missing: say it like bandwidth=10GB/s,latency=100us" in done.stderr


def test_a_plain_file_written_before_a_barrier_is_there_after_it(tmp_path):
    code = """
from mpi4py import MPI
from pathlib import Path
world, file = MPI.COMM_WORLD, Path("%s")
if world.rank == world.size - 1:
    file.write_text("written")
world.Barrier()
assert file.read_text() == "written"
"""
    done = simulate_script(tmp_path, code % os.fspath(tmp_path / "file"), "--compute", "0")
    assert done.returncode == 0, done.stderr
