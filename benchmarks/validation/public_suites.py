"""A public project's tests on simulated ranks: ``python -m benchmarks.validation.public_suites FOLDER TESTS ...``.

FOLDER is where its maintainers begin pytest, TESTS are files and options of pytest. They run under mpiexec and by
``pytest --mpi simulated``, in an interpreter that has the project, pytest and commmodel. A line for each run says how
many tests passed, failed and were skipped, the processor time, and what was found beside; then, what failed. The exit
code is 1 where a test that passes under mpiexec fails simulated on as many ranks.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

_ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass
class SuiteRun:
    """What the tests gave in one run, under mpiexec as its rank 0 tells."""

    words: str
    verdicts: dict[str, str] = field(default_factory=dict)
    """Test -> ``passed``, ``failed`` or ``skipped``."""
    seconds: float = 0.0
    """Processor time."""
    findings: list[str] = field(default_factory=list)
    """What is told at the end: leaks, requests never completed."""

    def of(self, verdict: str) -> list[str]:
        """Return the tests with a verdict."""
        return sorted(name for name, value in self.verdicts.items() if value == verdict)

    def row(self) -> str:
        """Return the line of the table."""
        counts = " | ".join(str(len(self.of(verdict))) for verdict in ("passed", "failed", "skipped"))
        return f"| {self.words} | {counts} | {self.seconds:.0f} |"


def _verdicts(file: Path) -> dict[str, str]:
    """Return what a report of JUnit's form says; nothing where pytest wrote none."""
    if not file.is_file():
        return {}
    verdicts: dict[str, str] = {}
    for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314  (pytest's own)
        kinds = {child.tag for child in case}
        verdict = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        name = re.sub(r"\[Rank \d+\]$", "", f"{case.get('classname')}.{case.get('name')}")
        verdicts[name] = verdict
    return verdicts


def run_suite(options: argparse.Namespace, ranks: int, *, is_simulated: bool) -> SuiteRun:
    """Run the tests once."""
    run = SuiteRun(f"{'simulated' if is_simulated else 'mpiexec'}, {ranks}")
    pytest_words = [options.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options.tests]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        if is_simulated:
            words = [*pytest_words, "--mpi", "simulated", "--ranks", str(ranks), f"--junitxml={report}"]
        else:  # all but rank 0 write theirs elsewhere
            script = f'exec "$0" "$@" --junitxml={folder}/${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}.xml'
            words = [options.mpiexec, "-n", str(ranks), "sh", "-c", script, *pytest_words, "-p", "no:mpi-pytest"]
            report = Path(folder, "0.xml")
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            words, cwd=options.folder, env=os.environ | _ALONE, capture_output=True, text=True, check=False
        )  # fmt: skip
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        run.verdicts = _verdicts(report)
    run.seconds = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
    _, _, last = done.stdout.partition("= at the end =")
    run.findings = [line for line in last.splitlines() if re.match(r"[a-z ]+: .*\(ranks? ", line)]
    if not run.verdicts:
        print(f"{run.words}: no report\n{(done.stdout + done.stderr)[-2000:]}", file=sys.stderr)
    return run


def main() -> None:
    """Run the tests both ways and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the project's maintainers begin pytest")
    parser.add_argument("tests", nargs="+", help="files of tests, and options of pytest behind --")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the project (this one)")
    parser.add_argument("--mpiexec", default=shutil.which("mpiexec") or "mpiexec", help="mpiexec (of the path)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[4], help="ranks under mpiexec (4)")
    parser.add_argument("--simulated", type=int, nargs="+", default=[4, 8, 64], help="simulated ranks (4 8 64)")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder}: no such folder")
    for name in ("python", "mpiexec"):
        program = shutil.which(getattr(options, name))
        if program is None:
            parser.error(f"--{name} {getattr(options, name)}: no such program")
        setattr(options, name, os.path.abspath(program))  # tests run in their own folder
    real = {ranks: run_suite(options, ranks, is_simulated=False) for ranks in options.ranks}
    simulated = {ranks: run_suite(options, ranks, is_simulated=True) for ranks in options.simulated}
    print("| run, ranks | passed | failed | skipped | processor seconds |\n|---|---:|---:|---:|---:|")
    for run in (*real.values(), *simulated.values()):
        print(run.row())
    for run in (*real.values(), *simulated.values()):
        for line in [*(f"failed: {name}" for name in run.of("failed")), *run.findings]:
            print(f"{run.words}: {line}")
    differs = any(
        set(run.of("passed")) & set(simulated[ranks].of("failed")) for ranks, run in real.items() if ranks in simulated
    )
    raise SystemExit(1 if differs or not all(run.verdicts for run in (*real.values(), *simulated.values())) else 0)


if __name__ == "__main__":
    main()
