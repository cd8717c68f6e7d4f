"""Wrong programs on simulated ranks: ``python -m benchmarks.validation.corrbench FOLDER``.

FOLDER is a clone of MPI-CorrBench (tudasc/mpi-corrbench), whose programs misuse MPI, each in one way, but for those in
folders called correct. Each is compiled with the mpicc beside this interpreter, which must be MPICH's, and runs on two
ranks, simulated on graphene with ``--check`` and under mpiexec. The table has how the runs end: without an error, with
one (simulated, a line that says what is wrong), by a signal, or not within the time. The exit code is 1 if a program
ends by a signal simulated but not under mpiexec, if it ends with an error or a signal under mpiexec where the simulator
says nothing, or if one that is correct and ends without an error under mpiexec does not simulated.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

BIN = Path(sys.executable).parent
RANKS = 2
SIDES = ("simulated", "mpiexec")
ENDS = ("no error", "error", "signal", "no end")
BY_SIGNAL = re.compile(r"was ended by SIG|EXIT STRING: .*\(signal \d+\)|KILLED BY SIGNAL")
"""What is said of a rank that a signal has ended, here and by MPICH's mpiexec."""


class Run(NamedTuple):
    """How a program ended, and what it said of its error."""

    end: str
    words: str


def run(command: Sequence[object], folder: Path, seconds: float) -> Run:
    """Run a command; a signal is that of a rank."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            [*map(str, command)], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return Run("no end", "")
        output.seek(0)
        text = output.read()
    lines = [line for line in text.splitlines() if line.strip()]
    messages = [line for line in lines if line.startswith(("commmodel: ", "finding: "))] or lines
    end = "no error" if code == 0 else "signal" if BY_SIGNAL.search(text) else "error"
    return Run(end, messages[-1][:160] if messages else "")


def compiled(source: Path, program: Path, base: Path) -> bool:
    """Compile a program, as CorrBench's scripts do."""
    command = [
        BIN / "mpicc",
        "-w",
        "-g",
        "-fopenmp",
        f"-I{base}/correct/include",
        f"-I{base}/openmp",
        source,
        "-o",
        program,
        "-lm",
    ]
    return subprocess.run([*map(str, command)], capture_output=True, check=False).returncode == 0


def outcomes(
    sources: Sequence[Path], base: Path, folder: Path, options: argparse.Namespace
) -> dict[Path, tuple[Run, Run]]:
    """Return how programs end simulated and under mpiexec; those that cannot be compiled are left out."""
    words = ("-m", "commmodel", "simulate", "graphene", "run", "-p", RANKS, "--check", "--")

    def pair(source: Path) -> tuple[Run, Run] | None:
        place = folder / source.parent.name / source.stem
        place.mkdir(parents=True)
        program = place / "program"
        if not compiled(source, program, base):
            return None
        simulated = run([sys.executable, *words, program], place, options.seconds)
        return simulated, run([BIN / "mpiexec", "-n", RANKS, program], place, options.seconds)

    with ThreadPoolExecutor(options.workers) as pool:
        runs = zip(sources, pool.map(pair, sources), strict=True)
        return {source: two_runs for source, two_runs in runs if two_runs is not None}


def is_wrong(simulated: str, launched: str, *, is_correct: bool) -> bool:
    """Return whether a program crashes or passes simulated alone, or is correct and has an error there alone."""
    crashes = simulated == "signal" != launched
    passes = simulated == "no error" and launched in ("error", "signal")
    return crashes or passes or (is_correct and launched == "no error" != simulated)


def main() -> int:
    """Run the programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a clone of MPI-CorrBench")
    parser.add_argument("--include", default="", help="regular expression of the programs to run (all)")
    parser.add_argument("--workers", type=int, default=2, help="programs at once (%(default)s)")
    parser.add_argument("--seconds", type=float, default=30, help="a run may take (%(default)s)")
    parser.add_argument("--verbose", action="store_true", help="print how each program ends")
    options = parser.parse_args()
    base = options.folder.resolve() / "micro-benches" / "0-level"
    if not base.is_dir():
        raise SystemExit(f"{options.folder}: no clone of MPI-CorrBench: micro-benches/0-level is missing")
    folders: dict[str, list[Path]] = {}
    for source in sorted(base.rglob("*.c")):
        name = str(source.parent.relative_to(base))
        if re.search(options.include, f"{name}/{source.stem}"):
            folders.setdefault(name, []).append(source)
    table = Table("programs in", "", *(f"{side}: {end}" for side in SIDES for end in ENDS), box=None)
    totals = [Counter[str]() for _ in SIDES]
    wrong_count = 0
    for name, sources in folders.items():
        with tempfile.TemporaryDirectory() as temporary:
            pairs = outcomes(sources, base, Path(temporary), options)
        for source, (simulated, launched) in pairs.items():
            wrong = is_wrong(simulated.end, launched.end, is_correct="correct" in name.split("/"))
            wrong_count += wrong
            if wrong or options.verbose:
                ends = f"{simulated.end} (under mpiexec {launched.end})"
                print(f"{name}/{source.stem}: {ends}: {simulated.words} [{launched.words}]", flush=True)
        counts = [Counter(pair[side].end for pair in pairs.values()) for side in range(len(SIDES))]
        for total, count in zip(totals, counts, strict=True):
            total.update(count)
        table.add_row(name, str(len(pairs)), *(str(count[end]) for count in counts for end in ENDS))
    table.add_row("all", str(totals[0].total()), *(str(total[end]) for total in totals for end in ENDS))
    Console(width=160).print(table)
    return int(wrong_count > 0)


if __name__ == "__main__":
    sys.exit(main())
