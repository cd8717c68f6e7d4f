"""The verb ``sweep``: many launches of the benchmark, planned, run and gathered into one file."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commmodel.cli.parsers import (
    Parser,
    add_output,
    add_processes,
    duration,
    new_verb,
    output_path,
    print_json,
    show,
    tell,
    typed,
    whole,
)
from commmodel.errors import InputError
from commmodel.shell import with_next
from commmodel.units import parse_counts

_EXAMPLE = "commmodel sweep make s -p 2:64 --launches 10 -- collective --quick"

_BATCH = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PJM_JOBID")
"""Variables of batch systems, whose mpiexec knows the nodes of a job."""


class _WithBench(Parser):
    """Parser that keeps all words after ``--`` for the benchmark."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words before ``--``."""
        words = list(sys.argv[1:] if args is None else args)
        before, bench = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, None)
        namespace, rest = super().parse_known_args(before, namespace)
        if rest and bench is None:
            raise InputError(f"{' '.join(rest)}: what is meant for the benchmark comes after --: {_EXAMPLE}")
        namespace.bench = bench
        return namespace, rest


def add(verbs: Any) -> None:
    """Add the verb and its steps."""
    topic = "launches of the benchmark on several numbers of processes: make, run, gather"
    sweep = verbs.add_parser("sweep", help=topic, description=topic, epilog=f"example: {_EXAMPLE}")
    steps = sweep.add_subparsers(required=True, metavar="STEP", parser_class=_WithBench)
    make = _new_step(steps, "make", _make, "write the plan and a script for each job", _EXAMPLE)
    make.usage = "commmodel sweep make FOLDER -p P,... [options] -- [KERNEL ...] [options of commmodel.bench]"
    add_processes(make, "numbers of MPI processes of the jobs: 2:64 doubles; 2,3,4", typed(_processes), required=True)
    make.add_argument(
        "--launches", metavar="N", type=whole(1), default=10,
        help="launches on each number of processes (default: %(default)s)",
    )  # fmt: skip
    make.add_argument(
        "--launcher", metavar="COMMAND",
        help="what starts {processes} processes (default: mpiexec -n {processes}; Slurm: srun "
        "--kill-on-bad-exit=1 --cpu-bind=cores --ntasks={processes})",
    )  # fmt: skip
    make.add_argument("--python", metavar="FILE", help="interpreter that has commmodel (default: this one)")
    make.add_argument(
        "--slurm", metavar="OPTIONS", type=typed(_words),
        help="options of sbatch, like '--time=10 --partition=x': scripts for Slurm (default: scripts of the shell)",
    )  # fmt: skip
    make.add_argument("-k", "--per-node", metavar="K", type=whole(1), help="MPI processes of a node, with --slurm")
    make.add_argument("--seed", metavar="N", type=whole(0), help="seed of the jobs' order (default: random; recorded)")
    run = _new_step(steps, "run", _run, "run the remaining jobs here, one after the other", "commmodel sweep run sweep")
    run.add_argument(
        "--workers", metavar="N", type=whole(1), default=1,
        help="jobs at once, which disturb each other's measurements (default: %(default)s)",
    )  # fmt: skip
    run.add_argument(
        "--timeout", metavar="TIME", type=duration, default="1h", help="time of a job at most (default: %(default)s)"
    )
    run.add_argument("--stop", action="store_true", help="stop at the first job that fails")
    _new_step(steps, "status", _status, "show the state of each job", "commmodel sweep status s")
    gather = _new_step(
        steps, "gather", _gather, "join the files of all finished jobs",
        "commmodel sweep gather s -o results.jsonl",
    )  # fmt: skip
    add_output(gather, "file to write", default="results.jsonl")


def _new_step(steps: Any, name: str, function: Any, topic: str, example: str) -> Any:
    step = new_verb(steps, name, function if function is _make else _without_bench, topic, example)
    step.add_argument("folder", metavar="FOLDER", help="folder of the sweep")
    step.set_defaults(step=function)
    return step


def _without_bench(arguments: argparse.Namespace) -> int:
    if arguments.bench is not None:
        raise InputError("words after -- are the benchmark's: they go with commmodel sweep make alone")
    code: int = arguments.step(arguments)
    return code


def _processes(word: str) -> tuple[int, ...]:
    return parse_counts(",".join(f"{part}:*2" if part.count(":") == 1 else part for part in word.split(",")))


def _words(word: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(word))
    except ValueError as error:
        raise InputError(f"{word!r}: {error}") from None


def _checked(words: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of the benchmark; raise for those that it refuses or that belong to the sweep."""
    from commmodel.bench.options import HelpRequest, parse

    try:
        command = parse(words)
    except HelpRequest:
        raise InputError("--help: for that of the benchmark, run commmodel bench --help") from None
    for name, option in (("output", "-o"), ("resume", "--resume"), ("force", "--force"), ("json", "--json")):
        if name in command.typed:
            raise InputError(f"{option} of the benchmark: each job has its own: leave it out")
    return tuple(words)


def _make(arguments: argparse.Namespace) -> int:
    import secrets
    from datetime import UTC, datetime

    from commmodel import sweep
    from commmodel.sweep.plan import FORMAT, VERSION

    if (arguments.slurm is None) != (arguments.per_node is None):
        raise InputError("--slurm and -k (--per-node) belong together: give both, or neither")
    slurm = None if arguments.slurm is None else sweep.Slurm(arguments.slurm, arguments.per_node)
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = shlex.quote(str(beside).replace("{", "{{").replace("}", "}}")) if beside.is_file() else "mpiexec"
    launcher = (
        f"{mpiexec} -n {{processes}}"
        if slurm is None
        else "srun --kill-on-bad-exit=1 --cpu-bind=cores --ntasks={processes}"
    )
    plan = sweep.Plan(
        FORMAT,
        VERSION,
        arguments.processes,
        arguments.launches,
        _checked(arguments.bench or ()),
        arguments.launcher or launcher,
        arguments.python or sys.executable,
        secrets.randbelow(2**32) if arguments.seed is None else arguments.seed,
        datetime.now(UTC).isoformat(timespec="seconds"),
        slurm,
    )
    sweep.make(plan, arguments.folder)
    count, folder = len(plan.jobs()), shlex.quote(arguments.folder)
    if arguments.json:
        print_json({"folder": arguments.folder, "jobs": count, "processes": plan.processes, "seed": plan.seed})
    else:
        following = f"commmodel sweep run {folder}" if slurm is None else f"bash {folder}/submit.sh"
        numbers = ", ".join(map(str, plan.processes))
        print(with_next(f"{arguments.folder}: {count} jobs on {numbers} processes", following))
    if slurm is None and arguments.launcher is None:
        _warn_of_crowding(max(plan.processes))
    return 0


def _warn_of_crowding(processes: int) -> None:
    """Say so where all processes of a job start on this machine, and it has fewer processors."""
    processors = len(os.sched_getaffinity(0))
    if processes > processors and not any(name in os.environ for name in _BATCH):
        print(f"warning: {processes} processes on the {processors} processors of this machine measure its scheduler, "
              f"and take far longer: leave numbers above {processors} out of -p, or name hosts with --launcher",
              file=sys.stderr)  # fmt: skip


def _run(arguments: argparse.Namespace) -> int:
    from commmodel import sweep

    if arguments.workers > 1:
        print("warning: several jobs at once disturb each other's measurements, unless each has its own nodes",
              file=sys.stderr)  # fmt: skip

    try:
        failures = sweep.run(
            arguments.folder, workers=arguments.workers, limit=arguments.timeout, stop=arguments.stop, tell=_tell
        )
    except KeyboardInterrupt as interruption:  # or SIGTERM: the jobs have ended with us
        raise type(interruption)(f"go on with commmodel sweep run {shlex.quote(arguments.folder)}") from None
    states = sweep.states(arguments.folder)
    done = sum(state.state == "done" for state in states)
    if arguments.json:
        failed = [{"job": failure.job.name, "problem": failure.line} for failure in failures]
        print_json({"folder": arguments.folder, "jobs": len(states), "done": done, "failed": failed})
    else:
        following = "gather" if done == len(states) else "run"
        command = f"commmodel sweep {following} {shlex.quote(arguments.folder)}"
        print(with_next(f"{arguments.folder}: {done} of {len(states)} jobs done", command))
    return 1 if failures else 0


def _tell(job: Any, failure: Any, left: int) -> None:
    if failure is not None:
        print(f"failed: {job.name}: {failure.line}", file=sys.stderr)
    elif sys.stderr.isatty():
        print(f"{job.name}: done, {left} left", file=sys.stderr)


def _status(arguments: argparse.Namespace) -> int:
    from commmodel import sweep
    from commmodel.sweep.gathering import failures

    states = sweep.states(arguments.folder)
    if arguments.json:
        jobs = [
            {"job": state.job.name, "processes": state.job.processes, "launch": state.job.launch, "state": state.state,
             "records": state.records, "problem": state.problem} for state in states
        ]  # fmt: skip
        print_json({"folder": arguments.folder, "done": sum(state.state == "done" for state in states), "jobs": jobs})
        return _code(states)
    from rich.table import Table

    kinds: tuple[Any, ...] = ("done", "failed", "begun", "missing", "damaged")
    table = Table("processes", *kinds, title=arguments.folder, title_justify="left")
    for processes in sorted({state.job.processes for state in states}):
        states_here = [state.state for state in states if state.job.processes == processes]
        counts = (str(states_here.count(state) or "") for state in kinds)
        table.add_row(str(processes), *counts)
    damaged = [f"damaged: {state.job.name}: {state.problem}" for state in states if state.state == "damaged"]
    notes = [f"note: {state.job.name}: {state.problem}" for state in states if state.state == "done" and state.problem]
    show(table, *(f"failed: {line}" for line in failures(states)), *damaged, *notes)
    return _code(states)


def _code(states: Any) -> int:
    """Return 1 where a job has failed."""
    return int(any(state.state == "failed" for state in states))


def _gather(arguments: argparse.Namespace) -> int:
    from commmodel import sweep

    output = output_path(arguments)
    gathered = sweep.gather(arguments.folder, output)
    records = sum(job.records for job in gathered.jobs)
    if arguments.json:
        left_out = [{"job": job.job.name, "state": job.state, "problem": job.problem} for job in gathered.left_out]
        print_json({"output": output, "launches": len(gathered.jobs), "records": records, "left_out": left_out})
        return 0
    for missing_job in gathered.left_out:
        tell("note", [f"{missing_job.job.name} is left out: {missing_job.problem or missing_job.state}"])
    for partial in gathered.jobs:
        if partial.problem:
            tell("note", [f"{partial.job.name}: {partial.problem}"])
    print(f"{output}: {len(gathered.jobs)} launches, {records} records")
    return 0
