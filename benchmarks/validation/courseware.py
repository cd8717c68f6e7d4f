"""SMPI CourseWare's broadcasts, by us and by SMPI: ``python -m benchmarks.validation.courseware FOLDER``.

FOLDER is a clone of simgrid/SMPI_CourseWare. Its module on broadcasts asks for the times of six broadcasts of 100 MB
on a ring of 50 hosts, of pieces of seven sizes on rings of 20, 35 and 50 hosts, and on a binary tree and two clusters;
its first module for the time of a round trip on 16 hosts. Each program, with `courseware_broadcasts.c` in it, is
compiled for both simulators, which print the time with nine digits. What SMPI says is left out where it is not
installed. The exit code is 1 where a time differs by more than 1e-6.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tools.peers import smpi

WANTED = 1e-6
BROADCASTS = Path(__file__).with_name("courseware_broadcasts.c")
MODULE, FIRST_MODULE = "topic_communication/broadcast", "topic_getting_started/hello_world"
PIECES = (100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 50_000_000, 100_000_000)
BEST = 500_000
"""Piece of the asynchronous broadcasts on other platforms than the ring: the best of `PIECES` there."""
RING, TREE = "asynchronous_pipelined_ring_bcast", "asynchronous_pipelined_bintree_bcast"
_SECONDS = re.compile(r"(?:time: |^)(\d+\.\d{6,})", re.MULTILINE)


@dataclass(frozen=True)
class Experiment:
    """A program on a platform."""

    activity: str
    platform: str
    hosts: str
    """Name of the file that lists them."""
    ranks: int
    program: str
    words: Sequence[str] = ()


def experiments() -> Iterator[Experiment]:
    """Yield all that the text asks for."""
    yield Experiment("round trip", "cluster_crossbar", "cluster_hostfile", 16, "roundtrip")
    for name in ("default_bcast", "naive_bcast", "ring_bcast"):
        yield Experiment("1", "ring_50", "hostfile_50", 50, "bcast_skeleton", (name,))
    for ranks in (20, 35, 50):
        for piece in PIECES:
            yield _pieces("2", f"ring_{ranks}", ranks, "pipelined_ring_bcast", piece)
    for piece in PIECES:
        yield _pieces("3", "ring_50", 50, RING, piece)
    yield _pieces("4", "ring_50", 50, TREE, BEST)
    for platform, ranks in (("bintree_50", 50), ("cluster_crossbar_64", 64), ("cluster_backbone_64", 64)):
        yield Experiment("4", platform, f"hostfile_{ranks}", ranks, "bcast_skeleton", ("default_bcast",))
        for name in (RING, TREE):
            yield _pieces("4", platform, ranks, name, BEST)


def _pieces(activity: str, platform: str, ranks: int, name: str, piece: int) -> Experiment:
    return Experiment(activity, platform, f"hostfile_{ranks}", ranks, "bcast_skeleton", (name, "-c", str(piece)))


def prepare(folder: Path, courseware: Path) -> None:
    """Copy programs and platforms, make rings of other sizes, and compile the programs for both simulators."""
    for module in (MODULE, FIRST_MODULE):
        shutil.copytree(courseware / module, folder, dirs_exist_ok=True)
    shutil.copy(BROADCASTS, folder / "bcast_solution.c")
    skeleton = folder / "bcast_skeleton.c"
    skeleton.write_text(skeleton.read_text().replace("%.3lf", "%.9lf"))
    round_trip = folder / "roundtrip.c"
    round_trip.write_text("#include <sys/time.h>\n" + round_trip.read_text())
    for ranks in (20, 35):
        subprocess.run(
            [sys.executable, "generate_xml_ring_and_hostfile.py", str(ranks)],
            cwd=folder,
            capture_output=True,
            check=True,
        )
    compilers = {"ours": str(Path(sys.executable).with_name("mpicc")), "smpi": "smpicc"}
    for name in ("bcast_skeleton", "roundtrip"):
        for simulator, compiler in compilers.items():
            if simulator == "ours" or smpi.available():
                subprocess.run(
                    [compiler, "-O2", "-w", f"{name}.c", "-o", f"{name}.{simulator}"], cwd=folder, check=True
                )


def our_seconds(folder: Path, experiment: Experiment) -> float:
    """Return what the program prints when commmodel simulates it."""
    command = [
        *(sys.executable, "-m", "commmodel", "simulate", f"{experiment.platform}.xml", "run"),
        *("-p", str(experiment.ranks), "--compute", "0", "--clocks", "simulated", "--selector", "smpi-mpich"),
        *("--", f"./{experiment.program}.ours", *experiment.words),
    ]
    return _seconds(command, folder)


def smpi_seconds(folder: Path, experiment: Experiment) -> float:
    """Return what it prints under SMPI."""
    command = [
        *(
            "smpirun",
            "--cfg=smpi/coll-selector:mpich",
            "--cfg=smpi/simulate-computation:no",
            "-np",
            str(experiment.ranks),
        ),
        *("-platform", f"{experiment.platform}.xml", "-hostfile", f"{experiment.hosts}.txt"),
        *(f"./{experiment.program}.smpi", *experiment.words),
    ]
    return _seconds(command, folder)


def _seconds(command: Sequence[str], folder: Path) -> float:
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    match = _SECONDS.search(process.stdout)
    if match is None:
        raise RuntimeError(f"{' '.join(command)}: no time: {process.stdout[-500:]} {process.stderr[-1000:]}")
    return float(match[1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a clone of simgrid/SMPI_CourseWare")
    parser.add_argument("--only", default="", help="experiments whose activity or platform contains this")
    arguments = parser.parse_args()
    if not (arguments.folder / MODULE).is_dir():
        parser.error(f"{arguments.folder}: has no {MODULE}: give a clone of simgrid/SMPI_CourseWare")
    table = Table("activity", "platform", "program", "ours, s", "SMPI, s", "difference", box=None)
    errors = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare(folder, arguments.folder)
        for experiment in experiments():
            if not any(arguments.only in text for text in (experiment.activity, experiment.platform)):
                continue
            seconds = our_seconds(folder, experiment)
            row = [f"{seconds:.9f}", "", ""]
            if smpi.available():
                peer = smpi_seconds(folder, experiment)
                errors.append(abs(seconds / peer - 1))
                row[1:] = [f"{peer:.9f}", f"{errors[-1]:.1e}"]
            name = " ".join([experiment.program, *experiment.words]).removeprefix("bcast_skeleton ")
            table.add_row(experiment.activity, experiment.platform, name, *row)
    Console(width=140).print(table)
    if errors:
        print(f"{len(errors)} experiments, largest difference {max(errors):.1e}, wanted {WANTED:g}")
    sys.exit(1 if any(error > WANTED for error in errors) else 0)


if __name__ == "__main__":
    main()
