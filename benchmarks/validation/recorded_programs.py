"""Programs on emulated hosts, replayed and run on the machine calibrated there: ``make cluster-bench`` (root).

Eight mpi4py programs that differ in how they communicate (`benchmarks/validation/programs`) run on as many emulated
hosts, one rank on each, in turns without and with the recorder. Each recording is replayed on the hybrid model that is
measured between two of the hosts; computation is that of the recording. The replay's time is held against the run time
of the same recorded run, from MPI_Init to MPI_Finalize. Then each program runs while that machine is simulated
(``commmodel simulate machine.toml run``), with the computation of the recording too, or with what is measured then:
ranks of the emulated hosts share processors, those of a simulated run do not. MPICH's ABI only.

What would be the emulation's fault is avoided: several ranks share a processor, so MPICH sleeps between polls (which
it does for programs with threads only, and so does the calibration), and numpy uses one thread. Over TCP the library
reads whatever comes while its rank is in MPI: messages leave whether or not their receive is posted. UCX, below MPICH,
agrees on messages of parts of arrays from 37,807 B on before it sends them, on others from 3 MB on; of two that go both
ways between one pair, the first may hold up the other, and which one that is hangs on less than a latency. So programs
send all at once here: ``--variable UCX_RNDV_THRESH=auto`` takes UCX's choice.

Wanted, of both: errors of at most 5 % in the median and 10 % at worst; with more the exit code is 1. The spectral
program needs mpi4py-fft and is left out where it is not installed. A folder that keeps a calibration is calibrated from
that.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.validation.emulated_collectives import forced, measured
from benchmarks.validation.emulated_simulation import BUCKET
from rich.console import Console
from rich.table import Table
from tools import emulated_cluster
from tools.peers.programs import simulate

from commmodel import machine as machines
from commmodel import record
from commmodel.collectives import CollectiveSettings
from commmodel.fit import fit_machine
from commmodel.machine import Machine
from commmodel.results import Measurements, load
from commmodel.simulate import from_machine, run
from commmodel.units import format_time

MEDIAN, WORST = 0.05, 0.10
LONGEST = 60.0
"""Seconds of a launch."""
SOCKET = 1 << 17
"""Bytes of a socket's buffer, each way. With few packets in it, a sender waits for acknowledgements that stand behind
the other host's own packets."""
SETTINGS = {
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "UCX_RNDV_THRESH": "inf",
}
PROGRAMS = Path(__file__).with_name("programs")
MACHINE = "machine.toml"
NAMES = (
    "halo", "transpose", "conjugate_gradient", "objects", "master_and_workers", "rows_and_columns", "pipelined_ring",
    "spectral",
)  # fmt: skip


class Row(NamedTuple):
    """A program, measured and replayed."""

    program: str
    launched: float
    """Seconds of the whole launch without the recorder, the least."""
    launched_recorded: float
    seconds: float
    """From the end of MPI_Init to MPI_Finalize, recorded."""
    replayed: float
    not_carried: str
    recording: Path
    simulated: float = math.nan
    """Run while it is simulated; no number where the library is not MPICH."""

    @property
    def errors(self) -> tuple[float, float]:
        """Relative errors of the replay and of the simulated run."""
        return self.replayed / self.seconds - 1, self.simulated / self.seconds - 1


def launched(command: Sequence[str], environment: dict[str, str]) -> float:
    """Run a program and return its seconds."""
    begin = time.perf_counter()
    completed = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    if completed.returncode:
        raise SystemExit(f"{' '.join(command)}: {completed.stderr}")
    return time.perf_counter() - begin


def calibrated(options: argparse.Namespace, path: Path, hosts: Sequence[str]) -> Measurements:
    """Return the measurements between two hosts: those in the file, or new ones."""
    if path.exists():
        return load(path)
    return measured(
        path, options.mpiexec, hosts,
        ("ping", "pingpong", "contention", "threshold", "unexpected", "answer", "--random-sizes", options.random_sizes,
         "--thread-level", "multiple", "--sizes", "256:1MiB", "--time", options.calibration_time),
        SETTINGS | dict(options.variable),
    )  # fmt: skip


def rows(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Yield each program, measured and replayed."""
    folder.mkdir(parents=True, exist_ok=True)
    selector, rules = forced(folder, options.mpiexec)
    environment = os.environ | emulated_cluster.mpi_environment() | rules | SETTINGS | dict(options.variable)
    with emulated_cluster.cluster(options.hosts) as hosts:
        emulated_cluster.set_sockets(SOCKET, SOCKET, hosts)
        emulated_cluster.set_rate(options.rate, hosts, BUCKET, "each")
        machine = fit_machine(calibrated(options, folder / "calibration.jsonl", hosts[:2]))
        machines.dump(machine, folder / MACHINE)
        launcher = emulated_cluster.launcher(options.mpiexec, hosts, 1)
        for name in options.programs.split(","):
            if name == "spectral" and find_spec("mpi4py_fft") is None:
                print("spectral: left out: mpi4py-fft is not installed", file=sys.stderr)
                continue
            program = [sys.executable, str(PROGRAMS / f"{name}.py")]
            plain, recorded = [], []
            for number in range(options.repetitions):
                plain.append(launched([*launcher, *program], environment))
                target = ["-m", "commmodel", "record", "--force", "-o", str(folder / f"{name}-{number}"), "--"]
                recorded.append(launched([*launcher, sys.executable, *target, *program], environment))
            middle = sorted(range(options.repetitions), key=recorded.__getitem__)[options.repetitions // 2]
            yield replayed(
                name, folder / f"{name}-{middle}", machine, options.hosts, selector, min(plain), min(recorded)
            )


def replayed(
    name: str, folder: Path, machine: Machine, hosts: int, selector: object, plain: float, launch: float
) -> Row:
    """Replay a recording on the calibrated machine."""
    recording = record.load(folder)
    actions = record.RecordedActions(recording)
    program = actions.program(settings=CollectiveSettings(selector))
    outcome = run(program, from_machine.network(machine), from_machine.platform(machine, hosts))
    left_out = ", ".join(f"{count} {call}" for call, count in actions.not_carried.items())
    return Row(name, plain, launch, record.efficiency(recording).seconds, outcome.seconds, left_out, folder)


def simulated(row: Row, folder: Path, options: argparse.Namespace) -> Row:
    """Run a program while its machine is simulated."""
    compute = row.recording if options.compute == "recording" else options.compute
    words = ("-p", options.hosts, "--selector", folder / "rules", "--compute", compute, "--json", "--")
    outcome = simulate(folder / MACHINE, "run", *words, sys.executable, PROGRAMS / f"{row.program}.py")
    return row._replace(simulated=outcome.result["seconds"])


def show(rows_: Sequence[Row]) -> bool:
    """Print what was measured beside replays and simulated runs; return whether errors are as small as wanted."""
    columns = ("program", "launch", "launch, recorded", "run", "replay", "error", "simulated", "error", "as time alone")
    table = Table(*columns, title="Programs on emulated hosts, replayed and simulated")
    for row in rows_:
        launches = (format_time(value) for value in (row.launched, row.launched_recorded, row.seconds))
        replay, simulation = (
            ("-", "-") if math.isnan(seconds) else (format_time(seconds), f"{error:+.1%}")
            for seconds, error in zip((row.replayed, row.simulated), row.errors, strict=True)
        )
        table.add_row(row.program, *launches, *replay, *simulation, row.not_carried)
    Console(width=140).print(table)
    is_kept = True
    for name, errors in zip(("replays", "simulated runs"), np.abs([row.errors for row in rows_]).T, strict=True):
        if np.isnan(errors).any():
            continue
        is_small = bool(np.median(errors) <= MEDIAN and errors.max() <= WORST)
        is_kept = is_kept and is_small
        verdict = "kept" if is_small else "not kept"
        print(f"{name}: errors: median {np.median(errors):.1%}, worst {errors.max():.1%} of {errors.size}: {verdict}")
    return is_kept


def main() -> None:
    """Measure, replay and print."""
    parser = emulated_cluster.parser("Recorded programs on emulated hosts, replayed.")
    parser.add_argument("--hosts", type=int, default=8, help="(8)")
    parser.add_argument("--repetitions", type=int, default=3, help="of each program, the middle one counts (3)")
    parser.add_argument("--programs", default=",".join(NAMES), help=f"({','.join(NAMES)})")
    parser.add_argument("--random-sizes", default="80", help="for the calibration (80)")
    parser.add_argument("--calibration-time", default="30s", help="of the calibration, which may take longer (30s)")
    parser.add_argument(
        "--compute", choices=("recording", "measured"), default="recording",
        help="where simulated runs have the time of computation from (recording)",
    )  # fmt: skip
    options = parser.parse_args()
    if problem := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        rows_ = list(rows(options, folder))
        if b"Open MPI" not in subprocess.check_output([options.mpiexec, "--version"]):
            os.environ |= SETTINGS
            rows_ = [simulated(row, folder, options) for row in rows_]
    raise SystemExit(0 if show(rows_) else 1)


if __name__ == "__main__":
    main()
