"""Verdicts on programs of others' suites of MPI bugs: ``python -m benchmarks.validation.bug_suites SUITE FOLDER``.

SUITE is one of `SUITES`, FOLDER a clone that has it; nothing is fetched. Each program is compiled with the mpicc beside
this interpreter, which must be MPICH's, and runs simulated on graphene, with checks, in other orders of its messages
where there are any, and without computation, as ``commmodel simulate graphene run --check --orders 100`` does, several
in one process. The table has for each class of the suite how many verdicts are right: on a wrong program, a finding,
deadlock or error of the kind that the suite names; on a correct one, none. The exit code is 1 if a correct program is
accused. With ``--mpiexec``, programs are not simulated: the table is of what the MPI library itself says under it.
"""

import argparse
import hashlib
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.validation import bug_cases_corrbench, bug_cases_mbi, bug_cases_rmaracebench
from benchmarks.validation.bug_cases import Case, Suite
from benchmarks.validation.bug_launches import launch, launch_table
from rich.console import Console
from rich.progress import track
from rich.table import Table

from commmodel import simulate
from commmodel.errors import CommModelError, RankEndedError
from commmodel.simulate import online
from commmodel.simulate.findings import Finding
from commmodel.simulate.online import Outlets
from commmodel.simulate.online.decisions import RunRecord
from commmodel.simulate.online.orders import run_orders
from commmodel.simulate.scenario import Place, Workload, place, prepare

SUITES: dict[str, Suite] = {
    "mbi": bug_cases_mbi.SUITE, "corrbench": bug_cases_corrbench.SUITE, "rmaracebench": bug_cases_rmaracebench.SUITE
}  # fmt: skip
OUTCOMES = ("right", "missed", "other kind", "false alarm", "no end", "not run")
TOTAL = "all"


@dataclass(frozen=True)
class Verdict:
    """What is said of a program: kinds and sentences of its findings and of its end; none where nothing is wrong."""

    kinds: tuple[str, ...]
    sentences: tuple[str, ...]
    end: str = ""
    """Why there is no verdict: ``no end`` or ``not run``; else empty."""


def outcome(case: Case, verdict: Verdict, aside: str) -> str:
    """Return what a verdict is worth, without kinds of findings that the suite leaves aside."""
    if verdict.end:
        return verdict.end
    kinds = {kind for kind in verdict.kinds if not re.search(aside, kind)}
    if not case.kinds:
        return "false alarm" if kinds else "right"
    if not kinds:
        return "missed"
    return "right" if case.kinds & kinds else "other kind"


def compiled(case: Case, flags: Sequence[str], folder: Path) -> Path | None:
    """Return the program of a case, compiled unless it has been before; None where it cannot be."""
    number = hashlib.sha256(case.source.read_bytes()).hexdigest()[:16]
    program = folder / f"{case.source.stem}-{number}"
    if program.exists():
        return program
    part = program.with_suffix(f".{os.getpid()}")
    command = [f"{Path(sys.executable).parent}/mpicc", "-w", "-g", *flags, str(case.source), "-o", str(part), "-lm"]
    if subprocess.run(command, capture_output=True, check=False, cwd=case.source.parent).returncode:
        return None
    part.rename(program)
    return program


class NoEndError(BaseException):
    """A program has had its time."""


def stop(*_: object) -> None:
    """End the simulation of a program that goes on for too long."""
    raise NoEndError


def begin() -> None:
    """Prepare a process of the pool: what programs print is of no concern."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    signal.signal(signal.SIGALRM, stop)


def judge(case: Case, flags: Sequence[str], folder: Path, seconds: int, orders: int) -> Verdict:
    """Compile and simulate a program; return the verdict."""
    program = compiled(case, flags, folder)
    if program is None:
        return Verdict((), ("cannot be compiled",), "not run")
    words, record = [str(program), *case.arguments], RunRecord()
    where = place("graphene", buffering={"zero": 0.0, "infinite": math.inf}.get(case.buffering))
    verdict = verdict_on(words, case.ranks, where, seconds, record)
    if orders == 1 or verdict.end:
        return verdict
    findings = findings_of_orders(words, case.ranks, where, seconds, record, orders)
    kinds, sentences = (finding.kind for finding in findings), map(str, findings)
    return Verdict((*verdict.kinds, *kinds), (*verdict.sentences, *sentences))


def findings_of_orders(
    words: Sequence[str], ranks: int, where: Place, seconds: int, record: RunRecord, most: int
) -> Sequence[Finding]:
    """Simulate a program in other orders of messages than the one on record; none where that takes too long."""

    def workload(outlets: Outlets) -> Workload:
        return online.workload(where, words, ranks, computation=0.0, outlets=outlets)

    signal.alarm(seconds)
    try:
        return run_orders(record, workload, partial(prepare, where), most, Outlets(check=True)).findings
    except NoEndError:
        return ()
    finally:
        signal.alarm(0)


def verdict_on(words: Sequence[str], ranks: int, where: Place, seconds: int, record: RunRecord) -> Verdict:
    """Simulate a program; return the verdict."""
    outlets = Outlets(subprocess.DEVNULL, check=True, record=record)
    signal.alarm(seconds)
    try:
        result = simulate.command(words, ranks, on=where, computation=0.0, outlets=outlets, deadlock="return")
    except NoEndError:
        return Verdict((), (f"no end in {seconds} s",), "no end")
    except RankEndedError as error:
        kinds = (*(finding.kind for finding in error.findings), error.kind)
        return Verdict(kinds, (*map(str, error.findings), str(error)))
    except CommModelError as error:
        return Verdict(("error",), (str(error),))
    finally:
        signal.alarm(0)
    hangs = [("deadlock", "; ".join(result.deadlock_lines()))] if result.blocked else []
    pairs = [*((finding.kind, str(finding)) for finding in result.findings), *hangs]
    return Verdict(tuple(kind for kind, _ in pairs), tuple(sentence for _, sentence in pairs))


def sample(cases: Sequence[Case], count: int | None, seed: int) -> list[Case]:
    """Return some cases of each class, as many of all as wanted, or all cases."""
    if count is None or count >= len(cases):
        return [*cases]
    rows: dict[str, list[Case]] = {}
    for case in cases:
        rows.setdefault(case.row, []).append(case)
    choice = random.Random(seed)  # noqa: S311
    for row in rows.values():
        choice.shuffle(row)
    chosen: list[Case] = []
    while len(chosen) < count:
        for row in rows.values():
            if row and len(chosen) < count:
                chosen.append(row.pop())
    return sorted(chosen, key=lambda case: case.name)


def verdicts(cases: Sequence[Case], suite: Suite, folder: Path, options: argparse.Namespace) -> list[Verdict]:
    """Return the verdicts on programs, several at once."""
    flags = [flag.format(folder=options.folder.resolve()) for flag in suite.flags]
    work: Callable[[Case], Verdict] = partial(
        judge, flags=flags, folder=folder, seconds=options.seconds, orders=options.orders
    )
    console = Console(stderr=True)
    with ProcessPoolExecutor(options.workers, initializer=begin) as pool:
        running = pool.map(work, cases)
        try:
            return [*track(running, "programs", len(cases), console=console, disable=not console.is_terminal)]
        except BrokenProcessPool:
            raise SystemExit("a process of the pool has ended: there may not be enough memory") from None


def launches(cases: Sequence[Case], suite: Suite, folder: Path, options: argparse.Namespace) -> list[str]:
    """Return how programs end under mpiexec, one after the other, as their ranks have the processors for themselves."""
    flags = [flag.format(folder=options.folder.resolve()) for flag in suite.flags]
    console = Console(stderr=True)
    running = track(cases, "programs", len(cases), console=console, disable=not console.is_terminal)
    return [launch(case, compiled(case, flags, folder), options.mpiexec, options.seconds) for case in running]


def table(suite: Suite, cases: Sequence[Case], outcomes: Sequence[str]) -> Table:
    """Return the table of verdicts by class."""
    counts: dict[str, Counter[str]] = {row: Counter() for row in suite.rows}
    for case, word in zip(cases, outcomes, strict=True):
        counts.setdefault(case.row, Counter())[word] += 1
    counts = {row: count for row, count in counts.items() if count} | {TOTAL: Counter(outcomes)}
    drawn = Table("class", "programs", *OUTCOMES, "right, %", box=None)
    for row, count in counts.items():
        share = 100 * count["right"] / count.total()
        drawn.add_row(row, str(count.total()), *(str(count[word]) for word in OUTCOMES), f"{share:.1f}")
    return drawn


def main() -> int:
    """Judge the programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=SUITES, help="suite of bugs")
    parser.add_argument("folder", type=Path, help="a clone of the repository that has it")
    parser.add_argument("--include", default="", help="regular expression of the programs to run (all)")
    parser.add_argument("--sample", type=int, help="number of programs, some of each class (all)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (%(default)s)")
    parser.add_argument(
        "--workers", type=int, default=len(os.sched_getaffinity(0)), help="programs at once (%(default)s)"
    )
    parser.add_argument("--seconds", type=int, default=20, help="a run may take, and all other orders (%(default)s)")
    parser.add_argument(
        "--orders", type=int, default=100, help="of messages in which a program runs at most (%(default)s)"
    )
    parser.add_argument("--mpiexec", type=Path, help="path of MPICH's: run programs under it, and simulate none")
    parser.add_argument("--programs", type=Path, help="folder that keeps what is compiled for the next time (none)")
    parser.add_argument("--misses", action="store_true", help="print each program whose verdict is not right, and why")
    parser.add_argument("--verbose", action="store_true", help="print each program and what is said of it")
    options = parser.parse_args()
    if options.mpiexec is not None and not os.access(options.mpiexec, os.X_OK):
        parser.error(f"--mpiexec {options.mpiexec}: no such program")
    suite = SUITES[options.suite]
    with tempfile.TemporaryDirectory() as temporary:
        cases = suite.cases(options.folder.resolve(), Path(temporary))
        cases = [case for case in cases if re.search(options.include, case.name)]
        cases = sample(cases, options.sample, options.seed)
        if not cases:
            raise SystemExit(f"--include {options.include}: no program has such a name")
        programs = (options.programs or Path(temporary, "programs")).resolve()
        programs.mkdir(parents=True, exist_ok=True)
        if options.mpiexec is not None:
            ends = launches(cases, suite, programs, options)
            for case, end in zip(cases, ends, strict=True):
                if options.verbose or (options.misses and (end == "no error") == bool(case.kinds)):
                    print(f"{end}: {case.name}, which is {case.detail or 'correct'}")
            Console(width=160).print(launch_table(suite.rows, cases, ends))
            return 0
        answers = verdicts(cases, suite, programs, options)
    outcomes = [outcome(case, verdict, suite.aside) for case, verdict in zip(cases, answers, strict=True)]
    for case, verdict, word in zip(cases, answers, outcomes, strict=True):
        if options.verbose or (options.misses and word != "right"):
            expectation = f", which is {case.detail}" if case.kinds else ", which is correct"
            print(f"{word}: {case.name}{expectation}: {' | '.join(verdict.sentences) or 'nothing is said'}")
    Console(width=160).print(table(suite, cases, outcomes))
    return int("false alarm" in outcomes)


if __name__ == "__main__":
    sys.exit(main())
