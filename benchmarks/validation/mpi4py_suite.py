"""mpi4py's own test suite with and without the recorder: ``python -m benchmarks.validation.mpi4py_suite FOLDER``.

FOLDER is ``test`` of mpi4py's sources, of the version that is installed. Its modules run in groups, each group on the
same ranks without and with ``commmodel record``; what each rank's unittest says is compared. ``--python`` names the
interpreter of another environment, to take its MPI library, too. Each test that does not end alike in both is named,
and then the exit code is 1. As random ends of tests that need time or another process are not the recorder's, a group
that differs is run once more, both ways. Where a test ends the launch even without the recorder, "neither ends" stands
in the table: run its modules apart (``--group 1``).

With ``--simulated 1 3 5`` the suite runs on so many simulated ranks instead (`commmodel simulate switch run`), beside
mpiexec: which share of the tests that pass there passes. A module that ends the simulation counts as all its tests
failed; the exit code is 1 where the share is below 97 %. ``--reference FILE`` keeps the verdicts under mpiexec.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.validation import mpi4py_simulated
from rich.console import Console
from rich.table import Table

LAUNCHING = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
TO_FILE_OF_RANK = 'exec "$@" > "$REPORT.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" 2>&1 < /dev/null'
LEFT_OUT = r"test_(spawn|dynproc|io|file|util_pool)$"
"""Modules, of simulated ones: of dynamic processes (util_pool spawns its workers) and files."""
LEFT_OUT_CASES = r"File|Spawn|DynProc|Publish|Port\b"
"""The same among the cases of other modules."""
_RESULT = re.compile(r"^(OK|FAILED)\b(.*)$", re.MULTILINE)
_RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
_PROBLEM = re.compile(r"^(FAIL|ERROR|UNEXPECTED SUCCESS): (.+)$", re.MULTILINE)


class Outcome(NamedTuple):
    """How a group of test modules has ended on all ranks."""

    exit_code: int
    ran: int
    skipped: int
    unfinished: int
    """Ranks that have not come to the end."""
    problems: frozenset[str]

    @property
    def text(self) -> str:
        """Counts for the table."""
        words = f"{self.ran} run, {self.skipped} skipped, {len(self.problems)} not passed"
        return words + (f", {self.unfinished} ranks without end" if self.unfinished else "")


def groups(folder: Path, size: int, names: str) -> Iterator[list[str]]:
    """Yield names of test modules, so many at a time."""
    modules = [path.name for path in sorted(folder.glob("test_*.py")) if re.search(names, path.stem)]
    for first in range(0, len(modules), size):
        yield modules[first : first + size]


def outcome(python: str, ranks: int, words: Sequence[str], folder: Path, seconds: float) -> Outcome:
    """Run a command on ranks and read what each has written."""
    for path in folder.glob("report.*"):
        path.unlink()
    environment = os.environ | LAUNCHING | {"REPORT": str(folder / "report")}
    mpiexec = Path(python).with_name("mpiexec")
    command = [str(mpiexec), "-n", str(ranks), "sh", "-c", TO_FILE_OF_RANK, "sh", *words]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment, start_new_session=True, **streams)
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        code = 124
    texts = [path.read_text(errors="replace") for path in sorted(folder.glob("report.*"))]
    results = [match for text in texts if (match := _RESULT.search(text))]
    return Outcome(
        code,
        sum(int(number) for text in texts for number in _RAN.findall(text)),
        sum(int(number) for match in results for number in re.findall(r"skipped=(\d+)", match[2])),
        ranks - len(results),
        frozenset(match[2] for text in texts for match in _PROBLEM.finditer(text)),
    )


def pairs(python: str, ranks: int, options: argparse.Namespace) -> Iterator[tuple[list[str], Outcome, Outcome]]:
    """Yield each group of modules with its outcomes without and with the recorder."""
    for number, modules in enumerate(groups(options.folder, options.group, options.include)):
        names = "|".join(re.escape(name) for name in modules)
        tests = [python, str(options.folder / "main.py"), "-v", "-i", f"^({names})$"]
        for attempt in range(2):
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                recording = (options.keep or folder) / f"{Path(python).parts[-3]}-{ranks}-{number}-{attempt}"
                recorder = [python, "-m", "commmodel", "record", "-o", str(recording), "--"]
                plain = outcome(python, ranks, tests, folder, options.seconds)
                recorded = outcome(python, ranks, [*recorder, *tests], folder, options.seconds)
            if plain == recorded:
                break
        yield modules, plain, recorded


def library(python: str) -> str:
    """Return the name of the MPI library that an interpreter's mpi4py loads."""
    text = "from mpi4py import MPI; print(*MPI.get_vendor())"
    command = [python, "-c", text]
    return subprocess.run(command, env=os.environ | LAUNCHING, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Run the suite both ways and print the table."""
    parser = argparse.ArgumentParser(description="mpi4py's own test suite with and without the recorder.")
    parser.add_argument("folder", type=Path, help="test of mpi4py's sources")
    parser.add_argument("--python", action="append", help="interpreter, beside it mpiexec (this one); more than once")
    parser.add_argument("--ranks", default="1,2,4", help="(%(default)s)")
    parser.add_argument("--group", type=int, default=8, help="modules in one launch (%(default)s)")
    parser.add_argument("--include", default="", help="regular expression of the modules to run (all)")
    parser.add_argument("--seconds", type=float, default=300, help="a launch may take (%(default)s)")
    parser.add_argument("--keep", type=Path, help="folder that keeps the recordings (none)")
    parser.add_argument("--simulated", type=int, nargs="+", help="numbers of simulated ranks (none)")
    parser.add_argument("--reference", type=Path, help="file that keeps the verdicts under mpiexec (none)")
    options = parser.parse_args()
    if not (options.folder / "main.py").is_file():
        raise SystemExit(f"{options.folder}: not mpi4py's folder of tests: main.py is missing")
    if options.simulated:
        options.script, options.left_out, options.left_out_cases = "main.py", LEFT_OUT, LEFT_OUT_CASES
        print(f"left out: modules {LEFT_OUT}, cases {LEFT_OUT_CASES}", flush=True)
        raise SystemExit(0 if mpi4py_simulated.compare(options) else 1)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    table = Table("library", "ranks", "modules", "plain", "recorded", "alike", title="mpi4py's test suite")
    are_alike = True
    for python in options.python or [sys.executable]:
        name = library(python).strip()
        for ranks in map(int, options.ranks.split(",")):
            for modules, plain, recorded in pairs(python, ranks, options):
                is_alike = plain == recorded
                are_alike = are_alike and is_alike
                span = f"{modules[0].removesuffix('.py')} ... {modules[-1].removesuffix('.py')}"
                ends = "neither ends" if plain.unfinished and is_alike else "yes" if is_alike else "NO"
                row = (name, str(ranks), span, plain.text, recorded.text, ends)
                print(*row, sep="; ", flush=True)
                table.add_row(*row)
                for outcome_, words in ((plain, "plain"), (recorded, "recorded")):
                    for problem in sorted(outcome_.problems):
                        print(f"   {words}: {problem}", flush=True)
                if plain.exit_code != recorded.exit_code:
                    print(f"   exit codes: {plain.exit_code}, {recorded.exit_code}", flush=True)
    Console(width=160).print(table)
    raise SystemExit(0 if are_alike else 1)


if __name__ == "__main__":
    main()
