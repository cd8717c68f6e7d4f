"""The verb ``simulate``: its workloads and their options."""

import argparse
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, get_args

from commmodel.choices import Application, ProblemGrowth, ProgramModel, ScheduleModel, ScheduleRules
from commmodel.cli import advice, noise, sensitivity, sizes, what_if
from commmodel.cli.jobs import run as run_jobs
from commmodel.cli.parsers import (
    Parser,
    add_byte_times,
    add_output,
    add_processes,
    add_root,
    add_segment_size,
    collective_parents,
    duration,
    flop_rate,
    message_rate,
    new_verb,
    number,
    parent,
    typed,
    whole,
)
from commmodel.cli.simulation import run
from commmodel.errors import InputError
from commmodel.units import parse_size

_EXCHANGES = {
    "halo": "exchange with the neighbours in a periodic grid",
    "ring": "exchange with both neighbours in a ring",
    "irregular": "each rank sends to the rank a pseudo-random distance on, in rounds",
    "pairwise": "everybody with everybody, one partner after the other",
}


def add(verbs: Any) -> None:
    """Add the verb and its workloads."""
    from commmodel.collectives.operation import SCHEDULED

    purpose = "a program on a platform: how long it takes, and why"
    simulate = verbs.add_parser(
        "simulate", help=f"simulate {purpose}", description=f"simulate {purpose}",
        epilog="example: commmodel simulate graphene alltoall -p 64 -n 100KiB -o timeline.html; options of each WHAT: "
        "commmodel simulate WHERE WHAT --help",
    )  # fmt: skip
    simulate.add_argument(
        "where", metavar="WHERE",
        help="platform or machine (file, or name from: commmodel list platforms, commmodel list machines), or a delay "
        "model's parameters, like L=2500ns,o=1500ns,g=1us,G=6ps; several platforms with commas between",
    )  # fmt: skip
    works = simulate.add_subparsers(dest="what", required=True, metavar="WHAT", title="what to simulate")
    kinds: dict[str, Callable[[Any, str], None]] = {
        **dict.fromkeys(SCHEDULED, _add_collective), **dict.fromkeys(_EXCHANGES, _add_exchange),
        "exchange": _add_messages, **dict.fromkeys(get_args(Application), _add_application), "replay": _add_replay,
        "jobs": _add_jobs, "goal": _add_schedule, "run": _add_run,
    }  # fmt: skip
    for name in simulate.typed_alone(kinds):
        kinds[name](works, name)


def _add_exchange(works: Any, kind: str) -> None:
    parents = [_messages(), _rounds(), *_programs()]
    exchange = _add(works, kind, _EXCHANGES[kind], f"{kind} -n 64KiB", parents)
    if kind == "halo":
        exchange.add_argument(
            "--dimensions",
            metavar="N",
            type=whole(1, 3),
            default=2,
            help="dimensions of the grid, 1 to 3 (default: %(default)s)",
        )


def _add_messages(works: Any, name: str) -> None:
    listed = _add(works, name, "messages that a file lists, all at once", f"{name} messages.csv",
                  [_rounds(), *_programs()])  # fmt: skip
    listed.add_argument("file", metavar="FILE", help="CSV file: sender,receiver,bytes")


def _add_schedule(works: Any, name: str) -> None:
    parents = [_models(get_args(ScheduleModel)), sensitivity.options(), _path(), _files()]
    schedule = _add(works, name, "GOAL schedule", f"{name} schedule.goal", parents, "L=2500ns,o=1500ns,g=1us,G=6ps")
    schedule.add_argument(
        "file", metavar="FILE", help="GOAL schedule: text, also compressed, or LogGOPSim's binary form"
    )
    schedule.add_argument(
        "--rules", choices=get_args(ScheduleRules), default="classic", help="rules of messages (default: %(default)s)"
    )


def _add_jobs(works: Any, name: str) -> None:
    purpose = "several recordings or traces at once, and each alone: how they slow each other down"
    example = f"commmodel simulate graphene {name} fft cfd --placement random --seed 1"
    jobs = new_verb(works, name, run_jobs, purpose, example, [one_model(get_args(ProgramModel))])
    jobs.add_argument(
        "traces", metavar="FROM", nargs="+", help="2 to 8 recordings or traces, as of replay; a job may come twice"
    )
    jobs.add_argument(
        "--placement", metavar="HOW", default="block",
        help="nodes of jobs, each on its own: block, round-robin or random; or a file that names the host of each rank "
        "on a line (default: %(default)s)",
    )  # fmt: skip
    jobs.add_argument(
        "--seed", metavar="N", type=whole(0), default=1, help="of --placement random (default: %(default)s)"
    )
    jobs.add_argument(
        "-k", "--per-node", dest="per_node", metavar="K", type=whole(1),
        help="ranks of a job on each of its nodes (default: as many as it has cores)",
    )  # fmt: skip
    _add_speeds(jobs)
    add_output(jobs, "HTML page of the jobs' times and the links that they share")


def _add(works: Any, name: str, meaning: str, example: str, parents: Sequence[Parser], where: str = "graphene") -> Any:
    return new_verb(works, name, run, meaning, f"commmodel simulate {where} {example}", parents)


def _programs() -> list[Parser]:
    """Return the options of programs."""
    return [
        _ranks(),
        _models(get_args(ProgramModel)),
        what_if.options(),
        sensitivity.options(),
        advice.options(),
        _path(),
        noise.options(),
        _files(),
    ]


@cache
def _path() -> Parser:
    """Return the option of the critical path."""
    options = parent()
    options.add_argument(
        "--critical-path", action="store_true",
        help="what decides the time: messages, computation and waits from the end back to the begin, by call site, "
        "rank and link, and what to shorten first",
    )  # fmt: skip
    return options


@cache
def _growth() -> Parser:
    """Return the option of programs that compute, of how their problem grows with their ranks."""
    options = parent()
    options.add_argument(
        "--scaling", choices=get_args(ProblemGrowth), default="strong",
        help="beside several -p: all ranks together do the same work, or each of them does (default: %(default)s)",
    )  # fmt: skip
    return options


@cache
def _ranks() -> Parser:
    """Return the options of ranks and their hosts."""
    options = parent()
    add_processes(
        options, "number of MPI processes, or several, like 4,16,64 or 4:64, which doubles: a table of run times, "
        "speed-up and efficiency (default: one for each core of the platform)", typed(sizes.parse_processes),
    )  # fmt: skip
    options.add_argument(
        "--hosts", metavar="N", type=whole(1), help="hosts of a machine (default: one for each process)"
    )
    places = options.add_mutually_exclusive_group()
    places.add_argument(
        "-k", "--per-node", dest="mapping", metavar="K", type=whole(1),
        help="MPI processes of a node (default: one for each of its cores)",
    )  # fmt: skip
    places.add_argument(
        "--mapping",
        help="block, round-robin, or a file that names a host on each line (default: block while cores last)",
    )  # fmt: skip
    return options


@cache
def _rounds() -> Parser:
    """Return the option of repetitions."""
    options = parent()
    options.add_argument("--rounds", metavar="N", type=whole(1), default=1, help="repetitions (default: %(default)s)")
    return options


@cache
def _messages() -> Parser:
    """Return the option of a message's size."""
    options = parent()
    options.add_argument(
        "-n", "--size", dest="message_size", metavar="SIZE", type=typed(sizes.parse_message_sizes), required=True,
        help="message size, like 64KiB; of a collective, that of MPI's count; or one for each number of -p, like "
        "64KiB,32KiB,16KiB",
    )  # fmt: skip
    return options


@cache
def _models(names: Sequence[str]) -> Parser:
    """Return the options of models, their parameters, and what is set beside them."""
    options = parent()
    group = _add_model(options, names)
    group.add_argument(
        "--compare", nargs="+", metavar="OTHER", default=[],
        help="further models, or measured timelines (.csv, .json), beside it (default: none)",
    )  # fmt: skip
    options.set_defaults(models=names)
    return options


@cache
def one_model(names: Sequence[str]) -> Parser:
    """Return the options of the model and its parameters."""
    options = parent()
    _add_model(options, names)
    return options


def _add_model(options: Parser, names: Sequence[str]) -> Any:
    group = options.add_argument_group("model")
    default = "loggops" if "loggops" in names else "hybrid, else loggp, with a machine; smpi with XML; else fluid"
    group.add_argument("--model", choices=names, help=f"model of messages (default: {default})")
    group.add_argument(
        "--parameters", metavar="SET", type=typed(_parameters),
        help="parameters for a platform: smpi, a machine (file or name), or a delay model's one by one, like "
        "L=2500ns,o=1500ns,g=1us,G=6ps,O=0,S=64KiB (default: the platform's own)",
    )  # fmt: skip
    group.add_argument(
        "--path", help="path of the machine whose parameters hold (default: between-nodes, if it has it)"
    )
    group.add_argument(
        "--message-rate", metavar="RATE", type=message_rate,
        help="messages a second that a host sends to others, like 100M/s (default: the machine's, else no limit)",
    )  # fmt: skip
    return group


def _parameters(word: str) -> Any:
    from commmodel.simulate.scenario import are_parameters, parse_parameters

    return parse_parameters(word) if are_parameters(word) else word


@cache
def _files() -> Parser:
    """Return the options of files to write."""
    options = parent()
    group = options.add_argument_group("files to write")
    add_output(group, "HTML page with a Gantt chart of each model")
    group.add_argument(
        "--trace", metavar="FILE",
        help="timeline: .json for Perfetto, .paje, or .csv, .gz behind; must not exist (default: none)",
    )  # fmt: skip
    return options


def _add_collective(works: Any, operation: str) -> None:
    algorithms, pieces, root, copying, reducing = _collective_options()
    parents = collective_parents(operation, _messages(), pieces, copying, root, reducing)
    example = operation if operation == "barrier" else f"{operation} -p 64 -n 100KiB"
    _add(works, operation, f"collective operation {operation}", example,
         [*parents, algorithms, _rounds(), *_programs()])  # fmt: skip


@cache
def _collective_options() -> list[Parser]:
    """Return the options of algorithms, segments, the root, copying and reduction."""
    algorithms, pieces, root, copying, reducing = (parent() for _ in range(5))
    algorithms.add_argument("--algorithm", help="algorithm (default: the selector's choice)")
    _add_selector(algorithms)
    add_segment_size(pieces)
    add_root(root)
    add_byte_times(copying, reducing)
    return [algorithms, pieces, root, copying, reducing]


def _add_selector(options: Any) -> None:
    options.add_argument(
        "--selector",
        help="library or file of rules that picks algorithms, or smpi, smpi-ompi, smpi-mpich, smpi-mvapich2, smpi-impi "
             "(default: the machine's, else mpich)",
    )  # fmt: skip


def _add_settings(options: Any) -> None:
    """Add the settings of collectives."""
    _add_selector(options)
    add_byte_times(options, options)


def _add_speed(options: Any) -> None:
    options.add_argument("--speed", metavar="RATE", type=flop_rate, help="flop/s of a core (default: the platform's)")


def _add_buffering(options: Any) -> None:
    options.add_argument(
        "--buffering", metavar="HOW", type=typed(_buffering), default=None,
        help="zero: no send ends before its receive, and no rank leaves a collective before all have come, so that a "
        "program that relies on buffers is a deadlock; infinite: every send ends; machine: those that end by the "
        "model; or the size of the largest message whose send ends, like 4KiB (default: machine)",
    )  # fmt: skip


def _buffering(word: str) -> float | None:
    words = {"zero": 0.0, "infinite": math.inf, "machine": None}
    if word in words:
        return words[word]
    try:
        return parse_size(word)
    except InputError:
        raise InputError(f"{word}: say zero, infinite, machine, or a size like 4KiB") from None


def _add_application(works: Any, name: str) -> None:
    kernel = _add(works, name, f"messages and computation of NAS benchmark {name.upper()}",
                  f"{name} -p 16 --class S", _programs())  # fmt: skip
    kernel.add_argument("--class", dest="problem", metavar="CLASS", default="A",
                        help="problem class: S, W, A, B, C or D (default: %(default)s)")  # fmt: skip
    kernel.add_argument(
        "--iterations", metavar="N", type=whole(1), help="iterations (default: as many as the class has)"
    )
    _add_speed(kernel)


def _add_replay(works: Any, name: str) -> None:
    replay = _add(works, name, "a recording, or traces of other programs", f"{name} recording", _programs())
    replay.add_argument(
        "traces",
        metavar="FROM",
        nargs="+",
        help="folder of a recording, or several of the same program on other numbers of ranks; traces of SimGrid "
        "(time-independent), liballprof, Chakra or OTF2: file that lists them, folder, or a merged trace",
    )
    replay.add_argument(
        "--scaling", choices=get_args(ProblemGrowth),
        help="of one recording and another -p: all ranks together do the same work, or each of them does (default: "
        "several recordings tell it)",
    )  # fmt: skip
    replay.add_argument(
        "--process-grid", dest="grid", metavar="NxM", type=typed(sizes.parse_grid),
        help="of another -p than the recording's: the grid of ranks, like 64x64 (default: by the rule that those of "
        "recordings follow)",
    )  # fmt: skip
    _add_speeds(replay)


def _add_speeds(replay: Any) -> None:
    """Add the options of how recordings and traces are replayed."""
    _add_buffering(replay)
    replay.add_argument(
        "--faster", metavar="FACTOR", type=number,
        help="how many times faster cores are than those of a recording or of traces in seconds (default: 1)",
    )  # fmt: skip
    _add_settings(replay)
    _add_speed(replay)


def _add_run(works: Any, name: str) -> None:
    running = _add(works, name, "an MPI program that runs unchanged while it is simulated",
                   f"{name} -p 64 -- python app.py", [_growth(), *_programs()])  # fmt: skip
    running.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- PROGRAM",
        help="program and its arguments; {processes} in them is the number of ranks",
    )  # fmt: skip
    running.add_argument(
        "--compute", metavar="HOW",
        help="time of computation: measured, as long as it takes here; 0; or the folder of a recording of the same "
        "program (default: measured, or 0 where a platform file says smpi/simulate-computation:0)",
    )  # fmt: skip
    _add_buffering(running)
    running.add_argument(
        "--faster", metavar="FACTOR", type=number, default=1.0,
        help="how many times faster cores are than those of this machine or of the recording (default: 1)",
    )  # fmt: skip
    running.add_argument(
        "--clocks", choices=("machine", "simulated"), default="machine",
        help="what clocks other than MPI_Wtime tell the program (clock_gettime, Python's time): the time of this "
        "machine, or simulated time (default: machine)",
    )  # fmt: skip
    running.add_argument(
        "--record", metavar="FOLDER",
        help="record the calls of MPI of the simulated ranks, with simulated times, into a new folder, as commmodel "
        "record does; their clocks are simulated then (default: not recorded)",
    )  # fmt: skip
    running.add_argument(
        "--orders", metavar="N", type=typed(_orders), default=1,
        help="run the program in N different orders of its messages, or all that are possible, and name what differs: "
        "what receives and probes of any source get, and which request MPI_Waitany and the like complete (default: 1)",
    )  # fmt: skip
    running.add_argument(
        "--order", metavar="ORDER", type=typed(_order),
        help="the order of messages in which to run, as a finding of --orders says it (default: as time decides)",
    )  # fmt: skip
    running.add_argument(
        "--patience", metavar="TIME", type=duration, default=60.0,
        help="processor time between two calls of MPI after which a rank is told, as no other one runs meanwhile; "
        "0: never (default: 60s)",
    )  # fmt: skip
    running.add_argument(
        "--storage", metavar="STORAGE", type=typed(_storage),
        help="file system that all hosts share, like bandwidth=10GB/s,latency=100us,client=2GB/s: what all have "
        "together, what an operation takes besides, and the most that a host has (default: files take no time)",
    )  # fmt: skip
    running.add_argument(
        "--universe", metavar="N", type=whole(1),
        help="ranks with those that the program may spawn by MPI, placed after its own (default: those of -p)",
    )  # fmt: skip
    running.add_argument(
        "--check", action="store_true",
        help="name wrong uses of MPI, such as leaks and datatypes that differ, with the lines of their calls; "
        "where there are any, the exit code is 1",
    )  # fmt: skip
    _add_settings(running)


def _storage(text: str) -> Any:
    from commmodel.simulate.storage import parse_storage

    return parse_storage(text)


def _orders(word: str) -> int | None:
    return None if word == "all" else whole(1)(word)


def _order(word: str) -> Any:
    from commmodel.simulate.online.decisions import RunRecord, parse_order

    return RunRecord(parse_order(word))
