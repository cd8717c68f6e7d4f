"""Try an installed commmodel with the MPI library beside it, and print figures as JSON: `make wheels` runs it.

    ENVIRONMENT/bin/python packaging/installed.py mpich

To be run by the environment's interpreter in an empty folder; knows nothing of the sources. The first use comes first.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

BIN = Path(sys.executable).parent
COMMMODEL = [str(BIN / "commmodel")]
SECONDS = 240
SIMULATION = [*COMMMODEL, "simulate", "graphene", "alltoall", "-p", "32", "-n", "100KiB", "--json"]
PREDICTION = [*COMMMODEL, "predict", "blue-waters", "send", "-n", "64KiB", "--json"]
PROGRAM = """
from mpi4py import MPI
import numpy

world = MPI.COMM_WORLD
token, received = numpy.full(1000, world.rank, "d"), numpy.empty(1000)
for _ in range(10):
    world.Sendrecv(token, (world.rank + 1) % world.size, recvbuf=received, source=(world.rank - 1) % world.size)
total = world.allreduce(int(received[0]))
assert total == sum(range(world.size)), total
if world.rank == 0:
    print("ranks", world.size)
"""
ABOUT = """
from mpi4py import MPI
from commmodel._core.mpi import pingpong

print(pingpong.MPI_ABI, MPI.Get_library_version())
"""
ENVIRONMENT = os.environ | {
    "PATH": f"{BIN}:{os.environ['PATH']}",
    "I_MPI_FABRICS": "shm",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PYTHONNOUSERSITE": "1",
}


def output(*words: str) -> str:
    """Run a command and return what it prints."""
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode} of {' '.join(words)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def seconds(*words: str) -> float:
    """Return the processor time of a command."""
    before = getrusage(RUSAGE_CHILDREN)
    output(*words)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def answers() -> str:
    """Return a digest of what is computed, which is the same with every MPI library and Python."""
    simulation, prediction = (json.loads(output(*words)) for words in (SIMULATION, PREDICTION))
    for model in simulation.get("results", [simulation]):
        model.pop("wall_seconds", None)
    return hashlib.sha256(json.dumps([simulation, prediction], sort_keys=True).encode()).hexdigest()[:16]


def main(library: str) -> None:
    """Use everything once."""
    first = seconds(*SIMULATION)
    later = median(seconds(*SIMULATION) for _ in range(5))
    nothing, imported = (
        median(seconds(sys.executable, "-c", code) for _ in range(9)) for code in ("", "import commmodel")
    )
    where = output(sys.executable, "-c", "import commmodel; print(commmodel.__file__)")
    if not where.startswith(sys.prefix):
        raise SystemExit(f"{where.strip()} is not that of {sys.prefix}")
    mpiexec = next(str(BIN / name) for name in ("mpiexec", "mpirun") if (BIN / name).exists())
    Path("program.py").write_text(PROGRAM, encoding="utf-8")
    abi, _, version = output(sys.executable, "-c", ABOUT).partition(" ")
    if abi != {"impi": "mpich"}.get(library, library):
        raise SystemExit(f"{library}: the core of the ABI {abi} was loaded, for {version}")
    ranks = [mpiexec, "-n", "2"]
    output(*ranks, sys.executable, "-m", "commmodel.bench", "--quick", "-o", "results.jsonl")
    output(*COMMMODEL, "fit", "results.jsonl", "-o", "machine.toml")
    output(*COMMMODEL, "report", "results.jsonl", "machine.toml", "-o", "report.html")
    output(*ranks, *COMMMODEL, "record", "-o", "recording", "--", sys.executable, "program.py")
    output(*COMMMODEL, "report", "recording", "-o", "recording.html")
    output(*COMMMODEL, "simulate", "graphene", "replay", "recording", "--json")
    if library != "mpiabi":  # its mpi4py was built for nothing else, and simulated programs have MPICH's ABI
        printed = output(*COMMMODEL, "simulate", "graphene", "run", "-p", "4", "--", sys.executable, "program.py")
        if "ranks 4" not in printed:
            raise SystemExit(f"the simulated program printed {printed!r}")
    words = version.split()
    name = "Intel MPI" if library == "impi" else "Open MPI" if library == "openmpi" else "MPICH"
    number = next((word.strip(",v") for word in words if word.strip(",v")[:1].isdigit()), "")
    figures = {
        "python": platform.python_version(),
        "library": f"{name} {number}",
        "abi": abi,
        "first": first,
        "later": later,
        "import": imported - nothing,
        "answers": answers(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1])
