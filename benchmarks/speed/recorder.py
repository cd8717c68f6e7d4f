"""What recording costs: programs with and without it, launched in turn, and a control of the same against the same.

A loop of one call in C gives nanoseconds for each call; a conjugate gradient by mpi4py and a halo exchange in C, on two
ranks, give the share of the run time: of the whole loop, and of its median step, which other programs on the machine
disturb less. numpy has one thread. Run it as

    python -m benchmarks.speed.recorder --mpiexec "mpiexec -bind-to core"
"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.speed.interleaved import Ratio

from commmodel.statistics import median_interval

CALLS = 2_000_000
LOOP = f"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {{
    int flag;
    MPI_Init(&argc, &argv);
    double start = MPI_Wtime();
    for (int i = 0; i < {CALLS}; i++) {{
        MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }}
    printf("%.9g\\n", MPI_Wtime() - start);
    return MPI_Finalize();
}}
"""
HALO = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { SIDE = 256, STEPS = 10000, HUGE = 1 << 21, BYTES = ((SIDE + 2) * SIDE * 8 + HUGE - 1) / HUGE * HUGE };
static double steps[STEPS];
static int compare(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}
static double *field(void) { /* at a huge page: where it lies must not depend on which libraries are loaded */
    return memset(aligned_alloc(HUGE, BYTES), 0, BYTES);
}
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *a = field(), *b = field();
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), begin = start;
    for (int step = 0; step < STEPS; step++) {
        MPI_Request requests[4];
        for (int side = 0; side < 2; side++) {
            double *edge = a + (side ? SIDE : 1) * SIDE, *ghost = a + (side ? SIDE + 1 : 0) * SIDE;
            MPI_Irecv(ghost, SIDE, MPI_DOUBLE, 1 - rank, !side, MPI_COMM_WORLD, &requests[2 * side]);
            MPI_Isend(edge, SIDE, MPI_DOUBLE, 1 - rank, side, MPI_COMM_WORLD, &requests[2 * side + 1]);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int i = SIDE; i < SIDE * (SIDE + 1); i++) {
            b[i] = 0.25 * (a[i - 1] + a[i + 1] + a[i - SIDE] + a[i + SIDE]);
        }
        double *swapped = a;
        a = b, b = swapped;
        double end = MPI_Wtime();
        steps[step] = end - begin;
        begin = end;
    }
    qsort(steps, STEPS, sizeof *steps, compare);
    if (rank == 0) {
        printf("%.9g %.9g\\n", begin - start, steps[STEPS / 2]);
    }
    return MPI_Finalize();
}
"""
GRADIENT = """
from mpi4py import MPI
import numpy as np
world, size = MPI.COMM_WORLD, 50_000
room = np.zeros(1 << 20)  # numpy asks for huge pages: where vectors lie must not depend on which libraries are loaded
begin = -room.ctypes.data % (1 << 21) // 8
x, r, p, q = (room[begin + i * size : begin + (i + 1) * size] for i in range(4))
ghosts, total = np.zeros(2), np.zeros(1)
r[:] = p[:] = 1
def dot(a, b):
    world.Allreduce(np.array([a @ b]), total)
    return total[0]
before, after = (world.rank - 1 if world.rank else MPI.PROC_NULL), (
    world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL)
world.Barrier()
old, times = dot(r, r), [MPI.Wtime()]
for _ in range(3000):
    world.Sendrecv(p[:1], before, recvbuf=ghosts[1:], source=after)
    world.Sendrecv(p[-1:], after, recvbuf=ghosts[:1], source=before)
    np.multiply(p, 2.0, out=q)
    q[1:] -= p[:-1]
    q[:-1] -= p[1:]
    q[0] -= ghosts[0]
    q[-1] -= ghosts[1]
    step = old / dot(p, q)
    x += step * p
    r -= step * q
    new = dot(r, r)
    p *= new / old
    p += r
    old = new
    times.append(MPI.Wtime())
if world.rank == 0:
    print(times[-1] - times[0], np.median(np.diff(times)))
"""


def seconds(mpiexec: str, ranks: int, command: Sequence[str]) -> list[float]:
    """Return what a program prints: the seconds that it took, and those of its median step."""
    whole = [*shlex.split(mpiexec), "-n", str(ranks), *command]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # numpy's threads would share the processors of the ranks
    completed = subprocess.run(whole, capture_output=True, text=True, check=False, env=environment)
    if completed.returncode:
        raise SystemExit(f"{shlex.join(whole)} ended with exit code {completed.returncode}:\n{completed.stderr}")
    return [float(word) for word in completed.stdout.split()]


def measure(arguments: argparse.Namespace, ranks: int, program: Sequence[str], folder: Path) -> dict[str, np.ndarray]:
    """Launch a program recorded, plain and plain again, in shuffled order in each round; a column for each number."""
    order = random.Random(arguments.seed)  # noqa: S311  (an order, no secret)
    recorder = [sys.executable, "-m", "commmodel", "record", "--force", "-o", str(folder / "recording"), "--"]
    commands = {"recorded": [*recorder, *program], "plain": program, "control": program}
    measured: dict[str, list[list[float]]] = {name: [] for name in commands}
    for _ in range(arguments.launches):
        for name in order.sample(list(commands), k=len(commands)):
            measured[name].append(seconds(arguments.mpiexec, ranks, commands[name]))
    return {name: np.array(rows) for name, rows in measured.items()}


def main() -> None:
    """Measure and print."""
    beside = Path(sys.executable)
    parser = argparse.ArgumentParser(description="What recording costs.")
    parser.add_argument("--mpiexec", default=str(beside.with_name("mpiexec")), help="launcher, options too")
    parser.add_argument("--mpicc", default=str(beside.with_name("mpicc")), help="compiler of the C programs")
    parser.add_argument("--launches", type=int, default=9, help="of each program (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a round (%(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for stem, text in (("loop", LOOP), ("halo", HALO)):
            (folder / f"{stem}.c").write_text(text)
            subprocess.run([arguments.mpicc, "-O2", str(folder / f"{stem}.c"), "-o", str(folder / stem)], check=True)
        (folder / "gradient.py").write_text(GRADIENT)
        loop = measure(arguments, 1, [str(folder / "loop")], folder)
        bytes_each = (folder / "recording/rank-000000.log").stat().st_size / CALLS
        for title, name in (("recorded", "recorded"), ("control", "control")):
            cost = (loop[name] - loop["plain"])[:, 0] / CALLS * 1e9
            low, high = median_interval(cost)
            print(f"{title}: {np.median(cost):.1f} ns more each call [{low:.3g}, {high:.3g}]")
        print(f"{bytes_each:.1f} bytes each call")
        programs = {
            "conjugate gradient, mpi4py": [sys.executable, str(folder / "gradient.py")],
            "halo exchange, C": [str(folder / "halo")],
        }
        for title, program in programs.items():
            measured = measure(arguments, 2, program, folder)
            for column, part in enumerate(("whole", "median step")):
                recorded, plain, control = (measured[name][:, column] for name in ("recorded", "plain", "control"))
                words = f"recorded / plain {Ratio.of(recorded, plain)}, control {Ratio.of(control, plain)}"
                print(f"{title}, {part}: {words}")


if __name__ == "__main__":
    main()
