"""Programs on the two processors of one machine, simulated and replayed on what the benchmark measures there.

Five programs (`benchmarks/validation/shared_memory_programs`, three of C and two of mpi4py) run on two ranks that share
memory. In each round of a program the benchmark measures the same two ranks, `commmodel fit` makes a machine of it, and
on that machine the program runs simulated and its recording is replayed. The time of the program's loop is held against
that of its simulated run; the time from MPI_Init to MPI_Finalize of a recorded run against that of its replay.

Virtual machines move their processors, and those of one core hand memory over several times as fast as those of two. So
the time of a cache line between the two, and of some work, is looked at after each launch of a round, and the round
counts only where they stay. ``--line`` waits for processors that are so far apart.

Wanted, of simulated runs and of replays: errors of at most 10 % in the median and 25 % at worst; with more the exit
code is 1. MPICH's ABI; with other libraries recordings are replayed, but no program runs simulated.
"""

import argparse
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from commmodel import record
from commmodel.units import format_time, parse_time

MEDIAN, WORST = 0.10, 0.25
PROGRAMS = Path(__file__).with_name("shared_memory_programs")
NAMES = ("ping_pong", "halo", "conjugate_gradient", "transpose", "pipeline")
KERNELS = ("ping", "pingpong", "contention", "threshold", "unexpected", "answer")
ALIKE = (1.5, 1.15)
"""By which factors times of a cache line, and of some work, differ at most within a round."""
RUNS = 2
"""Launches in a round, of a program, recorded ones and simulated ones; the fastest is the least disturbed one."""
LONGEST = 60.0
"""Seconds of a launch."""
BIN = Path(sys.executable).parent
BENCH = [sys.executable, "-m", "commmodel.bench"]
COMMMODEL = [sys.executable, "-m", "commmodel"]


class Round(NamedTuple):
    """A program: seconds of its loop and of a recorded run, and what they are on the machine."""

    line: float
    """Seconds of a cache line there and back."""
    seconds: float
    simulated: float
    """No number where the program does not run simulated."""
    recorded: float
    replayed: float

    @property
    def errors(self) -> tuple[float, float]:
        """Relative errors of the simulated run and of the replay."""
        return self.simulated / self.seconds - 1, self.replayed / self.recorded - 1


def output(command: Sequence[object]) -> str:
    """Run a command and return what it prints."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)
    if done.returncode:
        raise SystemExit(f"{shlex.join(words)}: {done.stderr}")
    return done.stdout


def loop_seconds(printed: str) -> float:
    """Return what a program says of its loop."""
    match = re.search(r"seconds (\S+)", printed)
    if match is None:
        raise SystemExit(f"no seconds in {printed!r}")
    return float(match[1])


def command_of(name: str, folder: Path) -> list[str]:
    """Return the command of a program, compiled if it is of C."""
    if (PROGRAMS / f"{name}.py").exists():
        return [sys.executable, str(PROGRAMS / f"{name}.py")]
    if not (folder / name).exists():
        output([BIN / "mpicc", "-O2", PROGRAMS / f"{name}.c", "-o", folder / name])
    return [str(folder / name)]


def probe(folder: Path) -> tuple[float, float]:
    """Return the seconds of a cache line between the two processors, and of some work of one."""
    program = folder / "processors"
    if not program.exists():
        output(["cc", "-O2", "-pthread", PROGRAMS / "processors.c", "-o", program])
    line, work = (1e-9 * float(word) for word in output([program]).split())
    return line, work


class MovedError(Exception):
    """Processors that did not stay where they were."""


def stays(before: tuple[float, float], folder: Path) -> None:
    """Raise where the processors are no longer as they were."""
    for *pair, most in zip(before, probe(folder), ALIKE, strict=True):
        if max(pair) > most * min(pair):
            raise MovedError


def once(program: Sequence[str], options: argparse.Namespace, folder: Path) -> Round:
    """Measure the machine, and run a program in all ways; raise where the processors move meanwhile."""
    before = probe(folder)
    if before[0] < options.line:
        time.sleep(0.2)
        raise MovedError
    results, machine = folder / "results.jsonl", folder / "machine.toml"
    launcher = [*options.mpiexec, "-n", 2]
    measure = [*BENCH, *KERNELS, "--buffers", options.buffers, "--random-sizes", options.random_sizes]
    output([*launcher, *measure, "--sizes", "1:4MiB", "--force", "-o", results])
    stays(before, folder)
    seconds, recorded = [], {}
    for number in range(RUNS):
        recording = folder / f"recording-{number}"
        seconds.append(loop_seconds(output([*launcher, *program])))
        stays(before, folder)
        output([*launcher, *COMMMODEL, "record", "--force", "-o", recording, "--", *program])
        stays(before, folder)
        recorded[record.efficiency(record.load(recording)).seconds] = recording
    output([*COMMMODEL, "fit", results, "-o", machine, "--force"])
    run = [*COMMMODEL, "simulate", machine, "run", "-p", 2, "--", *program]
    simulated = [loop_seconds(output(run)) for _ in range(RUNS)] if options.simulated else []
    fastest = min(recorded)
    replay = output([*COMMMODEL, "simulate", machine, "replay", recorded[fastest], "--json"])
    replayed = json.loads(replay)["seconds"]
    return Round(before[0], min(seconds), min(simulated, default=math.nan), fastest, replayed)


def rounds(program: Sequence[str], options: argparse.Namespace, folder: Path) -> Iterator[Round]:
    """Yield rounds in which the processors stayed where they were, as many as there are within the patience."""
    end, count = time.monotonic() + options.patience, 0
    while count < options.rounds and time.monotonic() < end:
        with suppress(MovedError):
            yield once(program, options, folder)
            count += 1


def show(table_rows: dict[str, list[Round]]) -> bool:
    """Print the table and the verdict; return whether errors are as small as wanted."""
    columns = ("program", "rounds", "cache line", "loop", "simulated", "error", "recorded run", "replay", "error")
    table = Table(*columns, title="Programs on two processors of one machine")
    medians = {}
    for name, row in table_rows.items():
        if not row:
            table.add_row(name, "0")
            continue
        line, seconds, simulated, recorded, replayed = (
            format_time(median(values)) for values in zip(*row, strict=True)
        )
        medians[name] = [median(errors) for errors in zip(*(result.errors for result in row), strict=True)]
        of_run, of_replay = (f"{error:+.1%}" for error in medians[name])
        table.add_row(name, str(len(row)), line, seconds, simulated, of_run, recorded, replayed, of_replay)
    Console(width=140).print(table)
    is_kept = len(medians) == len(table_rows)
    for kind, errors in zip(("simulated runs", "replays"), zip(*medians.values(), strict=True), strict=True):
        sizes = [abs(error) for error in errors if not math.isnan(error)]
        if sizes:
            is_small = median(sizes) <= MEDIAN and max(sizes) <= WORST
            is_kept = is_kept and is_small
            verdict = "kept" if is_small else "not kept"
            print(f"{kind}: errors: median {median(sizes):.1%}, worst {max(sizes):.1%} of {len(sizes)}: {verdict}")
    return is_kept


def main() -> None:
    """Measure, fit, run, simulate, replay and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    launcher = f"{BIN / 'mpiexec'} -bind-to core"
    parser.add_argument("--mpiexec", type=shlex.split, default=launcher, help="(mpiexec -bind-to core)")
    parser.add_argument("--rounds", type=int, default=3, help="of each program, whose median counts (3)")
    parser.add_argument("--programs", default=",".join(NAMES), help=f"({','.join(NAMES)})")
    buffers = ("touched", "untouched")
    parser.add_argument("--buffers", choices=buffers, default=buffers[0], help="of the benchmark (touched)")
    parser.add_argument("--random-sizes", type=int, default=120, help="of the benchmark (120)")
    parser.add_argument("--line", type=parse_time, default=0.0, help="least time of a cache line, like 250ns (any)")
    parser.add_argument("--patience", type=parse_time, default=60.0, help="for the rounds of a program (60s)")
    parser.add_argument("--keep", type=Path, help="folder in which the last machine and recordings stay")
    options = parser.parse_args()
    os.environ |= {"MPI4PY_RC_THREAD_LEVEL": "single", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    options.simulated = b"Open MPI" not in subprocess.check_output([options.mpiexec[0], "--version"])
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = {}
        for name in options.programs.split(","):
            rows[name] = list(rounds(command_of(name, folder), options, folder))
            errors = (
                f"{of_run:+.1%} {of_replay:+.1%}" for of_run, of_replay in (result.errors for result in rows[name])
            )
            print(f"{name}: {'; '.join(errors)}", flush=True)
    raise SystemExit(0 if show(rows) else 1)


if __name__ == "__main__":
    main()
