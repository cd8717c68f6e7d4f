"""The same programs of C run by our simulator and by SMPI. Main entries: `Twins`, `PROGRAMS`."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.peers import platforms, smpi

SOURCES = {name: Path(__file__).with_name(f"{name}.c") for name in ("operations", "programs", "calls")}
PROGRAMS = {
    "halo": (10000, 3), "transpose": (1000, 3), "conjugate_gradient": (10000, 6), "objects": (20000, 3),
    "master_and_workers": (10000, 40), "rows_and_columns": (10000, 5), "pipelined_ring": (5000, 10),
    "spectral": (3000, 4),
}  # fmt: skip
"""Names of programs of `programs.c` -> numbers in a message, and steps."""
EXACT = ("--cfg=network/optim:Full", "--cfg=smpi/wtime:0")
"""SMPI works out all rates anew at each event, and reading the clock takes no time."""
_SHARED = ("-DSMPI_SHARED_MALLOC=malloc", "-DSMPI_SHARED_FREE=free")
_LIBRARY = b"libmpi.so.12"


def compiled(source: Path, program: Path, *options: str) -> Path:
    """Compile a program with the mpicc beside this interpreter, which must be MPICH's: its ABI is simulated."""
    mpicc = Path(sys.executable).with_name("mpicc")
    if not mpicc.exists():
        raise SystemExit(f"no mpicc beside {sys.executable}: install with MPICH")
    subprocess.run([mpicc, "-O2", "-w", *options, source, "-o", program], check=True)
    if _LIBRARY not in program.read_bytes():
        raise SystemExit(f"{mpicc} is not MPICH's, whose ABI is simulated")
    return program


@dataclass(frozen=True)
class Simulated:
    """A run by our simulator: what it cost and said, and its JSON."""

    cost: smpi.Run
    result: dict[str, Any]

    @property
    def bits(self) -> tuple[object, ...]:
        """What two runs must have in common."""
        return tuple(self.result[name] for name in ("seconds", "messages", "events"))


def simulate(*words: object, timeout: float | None = None, folder: Path | None = None) -> Simulated:
    """Run our simulator, in a folder."""
    command = [sys.executable, "-m", "commmodel", "simulate", *map(str, words)]
    cost = smpi.measured(command, timeout, folder)
    (line,) = (line for line in cost.output.splitlines() if line.startswith('{"seconds"'))
    return Simulated(cost, json.loads(line))


@dataclass
class Twins:
    """Programs compiled for both simulators, in a folder with the platform files."""

    folder: Path
    selector: str = "smpi"
    """Of collectives: ``smpi`` or ``smpi-ompi`` and so on."""
    peers: dict[str, smpi.Peer] = field(init=False)
    """Empty where SMPI is not installed."""

    def __post_init__(self) -> None:
        for name, source in SOURCES.items():
            compiled(source, self.folder / name, *_SHARED)
        self.peers = {name: smpi.Peer(self.folder, source) for name, source in SOURCES.items() if smpi.available()}

    def peer_run(self, source: str, kind: str, processes: int, words: Sequence[object]) -> smpi.Run:
        """Run a program by SMPI, with its exact solver and the selector."""
        selected = self.selector.removeprefix("smpi").removeprefix("-")
        options = [f"--cfg=smpi/coll-selector:{selected}"] if selected else []
        return self.peers[source].run(kind, processes, words, options=[*EXACT, *options])

    def simulated_run(self, source: str, kind: str, processes: int, words: Sequence[object]) -> Simulated:
        """Run a program by our simulator, with SMPI's model and collectives and without computation."""
        path = self.folder / f"{kind}-{processes}.xml"
        path.write_text(platforms.platform(kind, processes))
        path.with_suffix(".hosts").write_text(platforms.hostfile(processes))
        options = ("-p", processes, "--compute", 0, "--selector", self.selector, "--json")
        return simulate(path, "run", *options, "--", self.folder / source, *words)
