"""The verb ``study``: many simulations that a file lists, on all cores, on a cluster or as a job array."""

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from commmodel.cli.parsers import new_verb, print_json, show, tell, typed, whole
from commmodel.cli.what_if import worker_executor
from commmodel.errors import InputError
from commmodel.files import write_text
from commmodel.units import parse_whole

_MPI = "mpi"
_OF_ONE_RUN = (
    "output", "trace", "compare", "scale", "noise", "seeds", "sensitivity", "advice", "critical_path", "json",
    "workers",
)  # fmt: skip
"""Options of a simulation that a study takes none of."""


def add(verbs: Any) -> None:
    """Add the verb."""
    study = new_verb(
        verbs, "study", _run, "run the simulations of a study, machines x programs x sizes, into one file",
        "commmodel study study.toml",
    )  # fmt: skip
    study.add_argument("study", metavar="STUDY", help="TOML file: where, programs, processes, models, scales")
    study.add_argument(
        "--results", metavar="FILE",
        help="JSON lines, which are continued where they end (default: STUDY's name with .jsonl)",
    )  # fmt: skip
    study.add_argument(
        "--workers", metavar="N", type=typed(_workers),
        help="runs side by side, or mpi: on the ranks of mpiexec -n K python -m mpi4py.futures -m commmodel ... "
        "(default: one for each core)",
    )  # fmt: skip
    study.add_argument(
        "--part", metavar="K/N", type=typed(_part),
        help="run only the K-th of N parts, into a file of its own, which the next run without --part gathers "
        "(default: all)",
    )  # fmt: skip
    study.add_argument(
        "--script", metavar="FILE", help="write a script of a Slurm job array in place of running (default: none)"
    )
    study.add_argument(
        "--parts", metavar="N", type=whole(1), default=16, help="jobs of the array (default: %(default)s)"
    )
    study.add_argument(
        "--slurm", metavar="OPTIONS", help="options of sbatch in the script, like '--time=10 --partition=x'"
    )


def _workers(text: str) -> int | str:
    return text if text == _MPI else parse_whole(text, 1, 4096)


def _part(word: str) -> tuple[int, int]:
    from commmodel.simulate.study import parse_part

    return parse_part(word)


def _run(arguments: argparse.Namespace) -> int:
    """Run what is left; print the table or JSON."""
    from commmodel.simulate.study import carry_out, load

    study = load(arguments.study)
    results = arguments.results or str(Path(arguments.study).with_suffix(".jsonl"))
    if arguments.script is not None:
        return _write_script(arguments, results)
    for run in study.runs():
        _arguments_of(run)  # a wrong word ends here, and not in the middle
    workers = arguments.workers if isinstance(arguments.workers, int) else len(os.sched_getaffinity(0))
    with worker_executor(arguments) as executor:
        rows = carry_out(study, results, answer, part=arguments.part, workers=workers, executor=executor)
    problems = [f"{row['where']} {row['program']}: {row['error']}" for row in rows if row["error"]]
    if arguments.json:
        print_json({"results": results, "runs": rows})
    else:
        from commmodel.report.simulation.study import study_table

        show(study_table(rows))
        print(f"written to {results}: commmodel report {shlex.quote(results)}")
    tell("note", problems)
    return 1 if problems else 0


def _write_script(arguments: argparse.Namespace, results: str) -> int:
    command = shlex.join([sys.executable, "-m", "commmodel", "study", arguments.study, "--results", results])
    options = [f"#SBATCH {word}" for word in shlex.split(arguments.slurm or "")]
    lines = ["#!/bin/sh", f"#SBATCH --array=1-{arguments.parts}", *options,
             f'exec {command} --part "$SLURM_ARRAY_TASK_ID/{arguments.parts}"']  # fmt: skip
    write_text(arguments.script, "\n".join(lines) + "\n", executable=True)
    if arguments.json:
        print_json({"script": arguments.script, "parts": arguments.parts})
    else:
        print(f"written to {arguments.script}: sbatch {shlex.quote(arguments.script)}; then {command}")
    return 0


def _arguments_of(run: Any) -> argparse.Namespace:
    """Return the arguments of ``commmodel simulate`` for a run of a study."""
    from commmodel.cli import parsed

    words = ["simulate", run.where, *shlex.split(run.program)]
    if words[2:3] == ["run"]:
        raise InputError(f"{run.program}: a study simulates what is known: record the program, and replay it")
    words += [] if run.processes is None else ["-p", str(run.processes)]
    words += [] if run.model is None else ["--model", run.model]
    if words[2:3] == ["jobs"]:
        raise InputError(f"{run.program}: a study simulates one program at a time: give replay")
    arguments = parsed(words)
    for name in _OF_ONE_RUN:
        if getattr(arguments, name, None):
            raise InputError(f"{run.program}: --{name.replace('_', '-')} is of one run: a study has none of it")
    if isinstance(getattr(arguments, "processes", None), tuple):
        raise InputError(f"{run.program}: several -p: list them as processes of the study")
    arguments.is_one_of_many = True
    return arguments


def answer(run: Any) -> Any:
    """Return the predicted run of a study's run; other processes call this."""
    from functools import partial

    from commmodel.cli.simulation import predicted
    from commmodel.simulate.scenario import Scale, parse_scales
    from commmodel.simulate.what_if import prediction

    arguments = _arguments_of(run)
    (scale,) = parse_scales(run.scale) if run.scale else (Scale(),)
    return prediction(partial(predicted, arguments), run.where, scale)
