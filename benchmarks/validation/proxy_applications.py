"""Proxy applications of others, simulated: ``python -m benchmarks.validation.proxy_applications FOLDER``.

FOLDER holds clones of the repositories of `APPLICATIONS`; those that are not there are left out. Each is compiled,
unchanged, with the mpicc beside this Python, which must be MPICH's, run on a few ranks by mpiexec and by
``commmodel simulate graphene run -k 1``, and what it prints as its results must be the same: energies, checksums,
verdicts, but no times. Numbers that are sums over ranks may differ in their last digits, as libraries add in orders of
their own. Then each runs simulated on many nodes of graphene, and draws its Gantt chart. The exit code is 1 unless all
results are the same.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from tools.peers.programs import Simulated, simulate

from commmodel.units import format_ratio, format_time

BIN = Path(sys.executable).parent
LONGEST = 900.0
"""Seconds after which a run is stopped."""
_CC, _CXX = (f"{BIN}/{name}" for name in ("mpicc", "mpicxx"))


@dataclass(frozen=True)
class Application:
    """A program of a repository.

    Attributes
    ----------
    name : str
    repository : str
        Owner and name on GitHub; the clone has the name.
    folder : str
        Where it is compiled.
    build : str
        Command of a shell.
    program : str
        From `folder`.
    few, many : str
        Arguments on few ranks (8) and on many (64).
    results : str
        Regular expression of what must be the same; groups that are numbers need not agree in their last digits.
    """

    name: str
    repository: str
    folder: str
    build: str
    program: str
    few: str
    many: str
    results: str
    tolerance: float = 0.0


def _kernel(folder: str, arguments: str, program: str = "") -> Application:
    """Return one of the Parallel Research Kernels, which judge themselves."""
    program = program or folder.split("/")[1].lower()
    build = (
        f"printf 'MPICC={_CC}\\nDEFAULT_OPT_FLAGS=-O2 -w -DPRKVERSION=1\\n' > ../../common/make.defs; make {program}"
    )
    if program == "branch":
        build += " MATRIX_RANK=7 NUMBER_OF_FUNCTIONS=40"
    return Application(
        f"PRK {folder}", "ParRes/Kernels", folder, build, program, arguments, arguments,
        r"(Solution validates|ERROR.*|Solution does not validate)",
    )  # fmt: skip


_SPHERE = "--refine_freq 1 --num_objects 1 --object 2 0 -1.71 -1.71 -1.71 0.04 0.04 0.04 1.7 1.7 1.7 0 0 0"
APPLICATIONS = (
    Application(
        "LULESH", "LLNL/LULESH", ".",
        f'make CXX="{_CXX} -DUSE_MPI=1" MPICXX="{_CXX} -DUSE_MPI=1" CXXFLAGS="-O2 -I. -w" LDFLAGS=-O2', "lulesh2.0",
        "-s 8 -i 20", "-s 8 -i 20", r"Final Origin Energy = +(\S+)|(?:MaxAbs|TotalAbs|MaxRel)Diff += (\S+)",
    ),
    Application(
        "CoMD", "ECP-copa/CoMD", "src-mpi", f"cp Makefile.vanilla Makefile; make CC={_CC}", "../bin/CoMD-mpi",
        "-x 16 -y 16 -z 16 -i 2 -j 2 -k 2 -N 20", "-x 24 -y 24 -z 24 -i 4 -j 4 -k 4 -N 20",
        r"(?:Initial|Final) energy +: (\S+)|Final atom count : (\d+)", 1e-9,
    ),
    Application(
        "miniAMR", "Mantevo/miniAMR", "ref", f'make CC={_CC} LD={_CC} CFLAGS="-O2 -w"', "miniAMR.x",
        f"--npx 2 --npy 2 --npz 2 --nx 4 --ny 4 --nz 4 --num_refine 2 --max_blocks 600 --num_tsteps 4 {_SPHERE}",
        f"--npx 4 --npy 4 --npz 4 --nx 4 --ny 4 --nz 4 --num_refine 1 --max_blocks 600 --num_tsteps 2 {_SPHERE}",
        r"(?:Number of blocks at level \d|Total number of blocks) at timestep \d+ is (\d+)",
    ),
    Application(
        "miniFE", "Mantevo/miniFE", "ref/src", f'make CXX={_CXX} CXXFLAGS="-O2 -w -DHAVE_MPI"', "miniFE.x", "nx=30",
        "nx=40", r"Final Resid Norm: \d\.\d+e(-\d+)",
    ),
    Application(
        "AMG", "LLNL/AMG", ".", f'make CC={_CC} INCLUDE_CFLAGS="-O2 -w -DHYPRE_TIMING"', "test/amg",
        "-problem 1 -n 8 8 8 -P 2 2 2", "-problem 1 -n 8 8 8 -P 4 4 4",
        r"^Iterations = (\d+)|Final Relative Residual Norm = (\S+)", 1e-5,
    ),
    Application(
        "HPCG", "hpcg-benchmark/hpcg", ".",
        "mkdir b; cd b; ../configure Linux_MPI > /dev/null; "
        f'make CXX={_CXX} MPdir= MPinc= MPlib= LINKER={_CXX} CXXFLAGS="-O2 -w -DHPCG_NO_OPENMP"', "b/bin/xhpcg",
        "--nx=16 --ny=16 --nz=16 --rt=1", "--nx=16 --ny=16 --nz=16 --rt=1",
        r"HPCG result is (\w+)|Iteration Counts::\w+ \w+=(\d+)",
    ),
    Application(
        "Intel MPI Benchmarks", "intel/mpi-benchmarks", ".", f"make IMB-MPI1 CC={_CC} CXX={_CXX}", "IMB-MPI1",
        "-iter 5 -msglog 10 -npmin 8 PingPong Sendrecv Exchange Allreduce Alltoall Bcast",
        "-iter 5 -msglog 10 -npmin 64 Allreduce Alltoall Bcast", r"^ {3,}(\d+) +\d+ +\d+\.\d\d",
    ),
    _kernel("MPI1/Branch", "10 1000 vector_go"), _kernel("MPI1/DGEMM", "10 200 32 1"),
    _kernel("MPI1/Nstream", "10 200000 0"), _kernel("MPI1/Random", "16 16"), _kernel("MPI1/Reduce", "10 20000"),
    _kernel("MPI1/Sparse", "10 10 4"), _kernel("MPI1/Stencil", "10 500"),
    _kernel("MPI1/Synch_global", "10 10240", "global"), _kernel("MPI1/Synch_p2p", "10 500 100", "p2p"),
    _kernel("MPI1/Transpose", "10 1024 16"), _kernel("MPI1/PIC-static", "10 500 100000 1 2 GEOMETRIC 0.99", "pic"),
    _kernel("MPI1/AMR", "10 1000 100 2 2 1 5 FINE_GRAIN 2"), _kernel("MPIRMA/Stencil", "10 500"),
    _kernel("MPIRMA/Synch_p2p", "10 500 100", "p2p"), _kernel("MPIRMA/Transpose", "10 1024 16"),
    _kernel("MPISHM/Stencil", "1 10 500"), _kernel("MPISHM/Synch_p2p", "10 500 100", "p2p"),
    _kernel("MPISHM/Transpose", "1 10 1024 16"),
)  # fmt: skip


class Row(NamedTuple):
    """What came of an application."""

    name: str
    commit: str
    expected: list[str]
    """Results under mpiexec."""
    simulated: list[str]
    mpiexec_seconds: float
    few: Simulated | None
    many: Simulated | None
    is_same: bool


def compiled(application: Application, clone: Path, folder: Path) -> Path:
    """Compile an application in a copy of its clone, and return the program."""
    copy = folder / "sources" / clone.name
    if not copy.exists():
        shutil.copytree(clone, copy, ignore=shutil.ignore_patterns(".git"))
    place = copy / application.folder
    log = folder / f"{application.name.replace('/', '-')}.log"
    with log.open("w") as output:
        subprocess.run(["sh", "-c", application.build], cwd=place, stdout=output, stderr=output, check=False)
    program = place / application.program
    if not program.exists():
        raise SystemExit(f"{application.name} cannot be compiled: {log.read_text()[-2000:]}")
    return program.resolve()


def results(application: Application, text: str, place: Path) -> list[str]:
    """Return what an application printed as its results, and wrote to files of text."""
    texts = [text, *(path.read_text(errors="replace") for path in sorted(place.glob("*.txt")))]
    return [
        next(group for group in match.groups() if group is not None)
        for content in texts
        for match in re.finditer(application.results, content, re.MULTILINE)
    ]


def are_same(expected: list[str], simulated: list[str], tolerance: float) -> bool:
    """Return whether results are the same, numbers up to a relative difference."""
    if len(expected) != len(simulated) or not expected:
        return False
    for first, second in zip(expected, simulated, strict=True):
        if first == second:
            continue
        try:
            near = abs(float(first) - float(second)) <= tolerance * abs(float(first))
        except ValueError:
            return False
        if not near:
            return False
    return True


def under_mpiexec(program: Path, words: str, ranks: int, place: Path) -> tuple[str, float]:
    """Run a program by mpiexec; return what it printed, and seconds."""
    begin = time.monotonic()
    command = [BIN / "mpiexec", "-n", str(ranks), program, *words.split()]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=LONGEST, check=False)
    return done.stdout, time.monotonic() - begin


def run_simulated(program: Path, words: str, ranks: int, place: Path) -> Simulated | None:
    """Run a program on nodes of graphene, one rank each; None where that fails."""
    options = ("graphene", "run", "-p", ranks, "-k", 1, "-o", place / f"gantt-{ranks}.html", "--force", "--json")
    try:
        return simulate(*options, "--", program, *words.split(), timeout=LONGEST, folder=place)
    except ValueError as error:
        print(f"{program.name}: {error}", file=sys.stderr)
        return None


def measured(application: Application, clone: Path, folder: Path, few: int, many: int) -> Row:
    """Compile and run an application in all ways."""
    program = compiled(application, clone, folder)
    places = [folder / f"{application.name.replace('/', '-')}-{how}" for how in ("mpiexec", "simulated", "many")]
    for place in places:
        place.mkdir()
    printed, seconds = under_mpiexec(program, application.few, few, places[0])
    expected = results(application, printed, places[0])
    simulated = run_simulated(program, application.few, few, places[1])
    printed_simulated = [] if simulated is None else results(application, simulated.cost.output, places[1])
    return Row(
        application.name, commit(clone), expected, printed_simulated, seconds, simulated,
        run_simulated(program, application.many, many, places[2]) if many else None,
        are_same(expected, printed_simulated, application.tolerance),
    )  # fmt: skip


def commit(clone: Path) -> str:
    """Return the short commit of a clone."""
    command = ["git", "-C", clone, "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def rows(arguments: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Yield what came of each application whose clone is there."""
    for application in APPLICATIONS:
        clone = arguments.folder / application.repository.partition("/")[2]
        if not re.search(arguments.only, application.name):
            continue
        if not clone.is_dir():
            print(f"{application.name}: left out: {clone} is not there", file=sys.stderr)
            continue
        yield measured(application, clone, folder, arguments.ranks, arguments.nodes)


def cells(row: Row) -> Iterator[str]:
    """Yield the cells of a row."""
    yield from (row.name, row.commit, str(len(row.expected)), "yes" if row.is_same else "no")
    yield format_time(row.mpiexec_seconds)
    for simulated in (row.few, row.many):
        if simulated is None:
            yield from ("", "", "", "")
            continue
        result = simulated.result
        computing = result["breakdown"]["compute"]["mean"] / result["seconds"]
        yield from (format_time(result["seconds"]), format_ratio(computing), str(result["messages"]))
        yield format_time(simulated.cost.wall_seconds)


def main() -> None:
    """Run all and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="of clones")
    parser.add_argument("--ranks", type=int, default=8, help="under mpiexec and simulated (%(default)s)")
    parser.add_argument("--nodes", type=int, default=64, help="simulated alone; 0: none (%(default)s)")
    parser.add_argument("--only", default="", help="applications whose name this regular expression finds")
    arguments = parser.parse_args()
    simulated = ("simulated", "computing", "messages", "took")
    table = Table("program", "commit", "results", "same", "mpiexec", *simulated, *simulated, box=None)
    done = []
    with tempfile.TemporaryDirectory() as temporary:
        for row in rows(arguments, Path(temporary)):
            done.append(row)
            table.add_row(*cells(row))
            if not row.is_same:
                print(f"{row.name}: {row.expected} under mpiexec, {row.simulated} simulated", file=sys.stderr)
    if not done:
        parser.error(f"{arguments.folder} has no clone of an application that --only finds: nothing was compared")
    Console(width=180).print(table)
    alike = sum(row.is_same for row in done)
    print(f"the same results on {arguments.ranks} ranks: {alike} of {len(done)} programs")
    many = sum(row.many is not None for row in done)
    if arguments.nodes:
        print(f"ran to their end on {arguments.nodes} nodes: {many} of {len(done)} programs")
    raise SystemExit(0 if alike == len(done) and (not arguments.nodes or many == len(done)) else 1)


if __name__ == "__main__":
    main()
