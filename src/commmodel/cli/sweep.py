"""The verb ``sweep``: many launches of the benchmark, made, run, and gathered into one file."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commmodel.cli.parsers import Parser, print_json, show, whole_number
from commmodel.errors import InputError

__all__ = ["add"]

_EXAMPLE = "commmodel sweep make s --procs 2:64 --launches 10 -- collective --quick"


class _WithBench(Parser):
    """Leaves all after ``--`` as it is: these words are the benchmark's."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse what stands before it."""
        words = list(sys.argv[1:] if args is None else args)
        before, bench = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, None)
        namespace, rest = super().parse_known_args(before, namespace)
        namespace.bench = bench
        return namespace, rest


def add(verbs: Any) -> None:
    """Add the verb and what it does."""
    what = "launches of the benchmark on several numbers of processes: make, run, gather"
    sweep = verbs.add_parser("sweep", help=what, description=what, epilog=f"example: {_EXAMPLE}", allow_abbrev=False)
    steps = sweep.add_subparsers(required=True, metavar="STEP", parser_class=_WithBench)
    make = _new_step(steps, "make", _make, "write the plan and a script for each job", _EXAMPLE)
    make.usage = "commmodel sweep make FOLDER --procs P,... [options] -- [KERNEL ...] [options of commmodel.bench]"
    make.add_argument("--procs", required=True, metavar="P,...", help="processes of the jobs: 2:64 doubles; 2,3,4")
    make.add_argument("--launches", default="10", help="on each number of processes (10)")
    make.add_argument("--launcher", help="what starts {processes} processes (mpiexec -n {processes}; Slurm: srun)")
    make.add_argument("--python", help="that has commmodel (the one that runs this)")
    make.add_argument("--slurm", metavar="OPTIONS", help="of sbatch, like '--time=10 --partition=x': scripts for Slurm")
    make.add_argument("--ranks-per-node", metavar="N", help="with --slurm")
    make.add_argument("--seed", help="of the order of the jobs (random; recorded)")
    run = _new_step(
        steps, "run", _run, "run here what is not done, one job after the other", "commmodel sweep run sweep"
    )
    run.add_argument(
        "--workers", default="1", metavar="N", help="jobs at once: they disturb each other's measurements (1)"
    )
    run.add_argument("--limit", default="1h", metavar="TIME", help="after which a job is ended (1h)")
    run.add_argument("--stop", action="store_true", help="at the first job that fails")
    _new_step(steps, "status", _status, "say how far each job is", "commmodel sweep status s")
    gather = _new_step(
        steps, "gather", _gather, "the files of all jobs that are done -> one",
        "commmodel sweep gather s -o results.jsonl",
    )  # fmt: skip
    gather.add_argument("-o", "--output", help="file to write (results.jsonl, which must not exist)")


def _new_step(steps: Any, name: str, function: Any, what: str, example: str) -> Any:
    step = steps.add_parser(name, help=what, description=what, epilog=f"example: {example}", allow_abbrev=False)
    step.add_argument("folder", metavar="FOLDER", help="of the sweep")
    step.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    step.set_defaults(verb=_without_bench if function is not _make else function, step=function)
    return step


def _without_bench(asked: argparse.Namespace) -> int:
    if asked.bench is not None:
        raise InputError("words after -- are the benchmark's: they go with commmodel sweep make alone")
    code: int = asked.step(asked)
    return code


def _processes(text: str) -> tuple[int, ...]:
    from commmodel.units import parse_counts

    doubled = ",".join(f"{part}:*2" if part.count(":") == 1 else part for part in text.split(","))
    try:
        return parse_counts(doubled)
    except InputError as error:
        raise InputError(f"--procs: {error}") from None


def _checked(words: Sequence[str]) -> tuple[str, ...]:
    """Return the benchmark's words; raise for those that it would refuse, or that are the sweep's."""
    from commmodel.bench.options import HelpRequest, parse

    try:
        parsed = parse(words)
    except HelpRequest:
        raise InputError("--help: for that of the benchmark, run python -m commmodel.bench --help") from None
    for name, option in (("output", "-o"), ("resume", "--resume"), ("json", "--json")):
        if name in parsed.typed:
            raise InputError(f"{option} of the benchmark: each job has its own: leave it out")
    return tuple(words)


def _split(option: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"{option}: {text!r}: {error}") from None


def _make(asked: argparse.Namespace) -> int:
    import secrets
    from datetime import UTC, datetime

    from commmodel import sweep
    from commmodel.sweep.plan import FORMAT, VERSION

    if (asked.slurm is None) != (asked.ranks_per_node is None):
        raise InputError("--slurm and --ranks-per-node belong together: give both, or neither")
    slurm = None
    if asked.slurm is not None:
        ranks = whole_number("--ranks-per-node", asked.ranks_per_node, 1)
        slurm = sweep.Slurm(_split("--slurm", asked.slurm), ranks)
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = shlex.quote(str(beside).replace("{", "{{").replace("}", "}}")) if beside.is_file() else "mpiexec"
    launcher = f"{mpiexec} -n {{processes}}" if slurm is None else "srun --ntasks={processes}"
    plan = sweep.Plan(
        FORMAT,
        VERSION,
        _processes(asked.procs),
        whole_number("--launches", asked.launches, 1),
        _checked(asked.bench or ()),
        asked.launcher or launcher,
        asked.python or sys.executable,
        secrets.randbelow(2**32) if asked.seed is None else whole_number("--seed", asked.seed, 0),
        datetime.now(UTC).isoformat(timespec="seconds"),
        slurm,
    )
    sweep.make(plan, asked.folder)
    count, folder = len(plan.jobs()), shlex.quote(asked.folder)
    if asked.json:
        print_json({"folder": asked.folder, "jobs": count, "processes": plan.processes, "seed": plan.seed})
    else:
        following = f"commmodel sweep run {folder}" if slurm is None else f"bash {folder}/submit.sh"
        print(f"{asked.folder}: {count} jobs; next: {following}")
    return 0


def _run(asked: argparse.Namespace) -> int:
    import signal

    from commmodel import sweep
    from commmodel.units import parse_time

    try:
        limit = parse_time(asked.limit)
    except InputError as error:
        raise InputError(f"--limit: {error}") from None
    workers = whole_number("--workers", asked.workers, 1)
    if workers > 1:
        print("warning: several jobs at once disturb each other's measurements, unless each has its own nodes",
              file=sys.stderr)  # fmt: skip

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)  # so that jobs end with us
    try:
        failures = sweep.run(asked.folder, workers=workers, limit=limit, stop=asked.stop, tell=_tell)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"go on with commmodel sweep run {shlex.quote(asked.folder)}") from None
    finally:
        signal.signal(signal.SIGTERM, before)
    found = sweep.states(asked.folder)
    done = sum(one.state == "done" for one in found)
    if asked.json:
        failed = [{"job": one.job.name, "problem": one.line} for one in failures]
        print_json({"folder": asked.folder, "jobs": len(found), "done": done, "failed": failed})
    else:
        following = "gather" if done == len(found) else "run"
        print(f"{asked.folder}: {done} of {len(found)} jobs done; next: commmodel sweep {following} "
              f"{shlex.quote(asked.folder)}")  # fmt: skip
    return 1 if failures else 0


def _tell(job: Any, failure: Any, left: int) -> None:
    if failure is not None:
        print(f"failed: {job.name}: {failure.line}", file=sys.stderr)
    elif sys.stderr.isatty():
        print(f"{job.name}: done, {left} left", file=sys.stderr)


def _status(asked: argparse.Namespace) -> int:
    from commmodel import sweep

    found = sweep.states(asked.folder)
    if asked.json:
        jobs = [
            {"job": one.job.name, "processes": one.job.processes, "launch": one.job.launch, "state": one.state,
             "records": one.records, "problem": one.problem} for one in found
        ]  # fmt: skip
        print_json({"folder": asked.folder, "done": sum(one.state == "done" for one in found), "jobs": jobs})
        return 0
    from rich.table import Table

    table = Table("processes", "done", "begun", "missing", "damaged", title=asked.folder, title_justify="left")
    for processes in sorted({one.job.processes for one in found}):
        here = [one.state for one in found if one.job.processes == processes]
        counts = (str(here.count(state) or "") for state in ("done", "begun", "missing", "damaged"))
        table.add_row(str(processes), *counts)
    show(table, *(f"damaged: {one.job.name}: {one.problem}" for one in found if one.state == "damaged"))
    return 0


def _gather(asked: argparse.Namespace) -> int:
    from commmodel import sweep

    output = Path(asked.output or "results.jsonl")
    if asked.output is None and os.path.exists(output):
        raise InputError(f"{output} exists: replace it with -o {output}, or name another file with -o")
    gathered = sweep.gather(asked.folder, output)
    records = sum(one.records for one in gathered.jobs)
    if asked.json:
        left_out = [{"job": one.job.name, "state": one.state, "problem": one.problem} for one in gathered.left_out]
        print_json({"output": str(output), "launches": len(gathered.jobs), "records": records, "left_out": left_out})
        return 0
    for one in gathered.left_out:
        print(f"note: {one.job.name} is left out: {one.problem or one.state}", file=sys.stderr)
    print(f"{output}: {len(gathered.jobs)} launches, {records} records")
    return 0
