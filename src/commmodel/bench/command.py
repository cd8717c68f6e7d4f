"""``python -m commmodel.bench``: parse, describe, measure, report. Main entry: `run`.

What is wrong is said once, by rank 0, and every rank ends with the same exit code. Only a fault of the program
itself or of MPI on one rank aborts the job.
"""

import math
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from commmodel.bench import process_memory
from commmodel.bench.launches import is_launched, measure_repeatedly
from commmodel.bench.options import CommandLine, HelpAsked, parse, parse_processes
from commmodel.errors import CommModelError, InputError, MPIEnvironmentError
from commmodel.results import (
    Bandwidth,
    Configuration,
    Header,
    Options,
    PointToPoint,
    Record,
    Writer,
    configuration_words,
    joined,
    read,
    thread_level,
)
from commmodel.statistics import summarise
from commmodel.streams import guarded
from commmodel.units import format_ratio, format_time

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["run"]

_Value = TypeVar("_Value")
_THREAD_LEVEL = "MPI4PY_RC_THREAD_LEVEL"  # mpi4py goes by it even where mpi4py.rc.thread_level says otherwise
_HOW_LONG = {"time", "ci"}
"""Options that a resumed run may change: how long it measures, not what."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark on all ranks of COMM_WORLD; return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        asked: CommandLine | HelpAsked | CommModelError = parse(words)
    except (CommModelError, HelpAsked) as other:
        asked = other
    if isinstance(asked, CommandLine) and asked.launches is not None:
        if not is_launched():
            return _repeat(asked, words)
        asked = InputError(
            "--launches starts the launcher itself: python -m commmodel.bench --launches 5 --launcher 'mpiexec -n 2', "
            "without mpiexec before it"
        )

    with guarded():
        return _run(asked)


def _run(asked: CommandLine | HelpAsked | CommModelError) -> int:
    watched = _may_measure_memory(asked)
    if watched:
        process_memory.before_mpi()
    if isinstance(asked, CommandLine):
        os.environ[_THREAD_LEVEL] = asked.thread_level
    try:
        from mpi4py import MPI  # which starts MPI, unless this process has done so before
    except (ImportError, RuntimeError) as error:
        return _without_mpi(asked, error)
    if watched:
        process_memory.after_init()
    comm = MPI.COMM_WORLD
    try:
        if isinstance(asked, HelpAsked):
            if comm.rank == 0:
                _tell(str(asked))
            return 0
        if isinstance(asked, CommModelError):
            raise asked
        ours = comm.Dup()
        if watched:
            process_memory.after_use(ours)
        _measure(ours, asked)
        return 0
    except CommModelError as error:  # every rank has it: see `_on_rank_0`
        _say(comm, f"commmodel.bench: {error}")
        comm.Barrier()  # a rank that ends first with an exit code would have the others killed unheard
        return error.exit_code
    except KeyboardInterrupt:
        print(
            f"commmodel.bench: rank {comm.rank} was interrupted: go on with --resume",
            file=sys.stderr,
            flush=True,
        )
        comm.Abort(1)
    except BaseException:  # whatever it was: the other ranks wait for messages that will not come
        traceback.print_exc()
        print(f"commmodel.bench: rank {comm.rank} failed: go on with --resume", file=sys.stderr, flush=True)
        comm.Abort(1)
    raise AssertionError("MPI_Abort returned")


def _repeat(asked: CommandLine, words: Sequence[str]) -> int:
    """Start several launches from outside of MPI; return the exit code."""
    try:
        return measure_repeatedly(asked, words)
    except CommModelError as error:
        print(f"commmodel.bench: {error}", file=sys.stderr)
        return error.exit_code


def _without_mpi(asked: CommandLine | HelpAsked | CommModelError, error: Exception) -> int:
    """Say what can be said where no MPI library can be loaded; return the exit code."""
    if isinstance(asked, HelpAsked):
        _tell(str(asked))
        return 0
    if isinstance(asked, CommandLine):
        asked = MPIEnvironmentError(
            f"no MPI library: {'; '.join(str(error).splitlines())}: load its module, install one (pip install mpich), "
            "or name its file in MPI4PY_LIBMPI"
        )
    print(f"commmodel.bench: {asked}", file=sys.stderr)
    return asked.exit_code


def _may_measure_memory(asked: CommandLine | HelpAsked | CommModelError) -> bool:
    """Return whether the memory before MPI began may be wanted; what is resumed is known only once MPI runs."""
    return isinstance(asked, CommandLine) and (asked.resume or "memory" in asked.options.kernels)


def _say(comm: "MPI.Intracomm", text: str) -> None:
    if comm.rank == 0:
        with suppress(OSError):  # nobody hears it
            print(f"{text}\n", end="", file=sys.stderr, flush=True)


def _tell(text: str) -> None:
    """Print on standard output; where it is full, results are on the disk all the same, and other ranks end well."""
    with suppress(InputError):
        print(f"{text}\n", end="", flush=True)  # at once: a launcher may put other lines between two pieces


def _on_rank_0(comm: "MPI.Intracomm", function: Callable[[], _Value]) -> _Value:
    """Return on every rank what the function returns, or raise what it raises, on rank 0."""
    outcome: tuple[_Value | None, tuple[str, int] | None] = (None, None)
    if comm.rank == 0:
        try:
            outcome = function(), None
        except CommModelError as error:
            outcome = None, (str(error), error.exit_code)
    value, problem = comm.bcast(outcome)
    if problem is not None:
        refusal = CommModelError(problem[0])
        refusal.exit_code = problem[1]
        raise refusal
    return cast(_Value, value)


def _measure(comm: "MPI.Intracomm", asked: CommandLine) -> None:
    writers: list[Writer] = []  # on rank 0: the one of the results
    try:
        _measure_into(writers, comm, asked)
    finally:
        for writer in writers:
            writer.close()


def _measure_into(writers: list[Writer], comm: "MPI.Intracomm", asked: CommandLine) -> None:
    if comm.size < 2:
        raise MPIEnvironmentError(
            "one rank has nobody to talk to: start it with mpiexec -n 2 python -m commmodel.bench "
            "(or srun -n 2; if that still gives one rank, mpiexec and mpi4py belong to different MPI libraries)"
        )
    try:
        from commmodel._core.mpi import pingpong  # noqa: F401  (fails where the core was built for another MPI library)
    except ImportError as error:
        raise MPIEnvironmentError(str(error)) from None
    from commmodel.bench import environment
    from commmodel.bench.driver import Launch, check_memory, make_plan, shuffled, visited
    from commmodel.bench.kernels import buffer_bytes, check, left_out, refinements, sensible_kernels
    from commmodel.bench.placement import place, place_further
    from commmodel.bench.preparation import prepare
    from commmodel.bench.progress import Progress

    header, clock = environment.describe_launch(comm, environment.command_line(), asked.thread_level)
    where = comm.bcast(([rank.host for rank in header.ranks], [rank.socket for rank in header.ranks]))
    placement, further_nodes = place(*where), place_further(*where)
    kernels = asked.options.kernels or sensible_kernels(placement, asked.options.node_pairs)
    procs = _processes(asked, comm.size)
    options = msgspec.structs.replace(asked.options, kernels=kernels, procs=procs)
    # Ranks that take turns on a processor hardly ever meet a common start, and IMB knows none.
    if "start" not in asked.given and (options.imb_repetitions or comm.bcast(environment.oversubscribed(header))):
        options = msgspec.structs.replace(options, start="barrier")
    asked = replace(asked, options=options)
    records: list[Record] = []  # on rank 0: what an earlier run measured, then what this one does

    def go_on() -> Options:
        if not asked.resume:
            _refuse_existing(asked.output)
            return asked.options
        writers.append(Writer(asked.output, resume=True))  # before it is read: nobody may add to it from now on
        if writers[0].is_empty:
            return asked.options
        options, earlier = _what_is_left(asked, header)
        records.extend(earlier)
        return options

    def choose() -> list[Configuration]:
        done = {record.configuration for record in records}
        return [one for one in plan if one not in done] or refine()

    def refine() -> list[Configuration]:
        return shuffled(refinements(options, records), options.seed)

    options = prepare(comm, clock, _on_rank_0(comm, go_on), placement)
    plan = _on_rank_0(comm, lambda: make_plan(options, placement, further_nodes))
    todo = _on_rank_0(comm, choose)
    if not todo:
        if comm.rank == 0:
            _report(asked, options, header, [])
        return
    check(comm, plan)
    room = buffer_bytes(plan)
    check_memory(comm, room)
    launch = Launch(comm, clock, options, placement, further_nodes, room)
    header = msgspec.structs.replace(
        header, options=options, placement=placement, further_nodes=further_nodes,
        buffers=launch.describe_buffers(), resumes=bool(writers) and not writers[0].is_empty,
        warnings=(*environment.advice(header), *left_out(options)),
    )  # fmt: skip

    _on_rank_0(comm, lambda: _begin(asked, header, writers))
    earlier = len(records)
    progress = Progress(sum(map(len, visited(todo, options)))) if comm.rank == 0 else None

    def keep(record: Record) -> None:
        try:
            writers[0].write(record)
        except CommModelError as error:  # the other ranks wait for their turn and cannot be asked to stop
            _say(comm, f"commmodel.bench: {error}; then go on with --resume")
            comm.Abort(error.exit_code)
        records.append(record)
        if progress:
            progress.advance(record)

    def further() -> list[Configuration]:
        found = refine()
        if progress:
            progress.extend(len(found))
        return found

    for warning in header.warnings:
        _say(comm, f"warning: {warning}")
    launch.measure(todo, keep, further)
    if progress:
        progress.close()
        _report(asked, options, header, joined(records[earlier:]))


def _begin(asked: CommandLine, header: Header, writers: list[Writer]) -> None:
    """Write the header; a file that is resumed is open already."""
    if not writers:
        writers.append(Writer(asked.output))
    writers[0].write(header)


def _refuse_existing(output: Path) -> None:
    """Refuse a file that holds something, before anything is measured; an empty one may be what a full disk left."""
    with suppress(OSError):  # what is wrong with the place is said when it is opened
        if os.stat(output).st_size:
            raise InputError(f"{output} exists: complete it with --resume, or name another file with --output")


def _processes(asked: CommandLine, ranks: int) -> tuple[int, ...]:
    """Return the numbers of processes that take part in collectives."""
    counts = parse_processes(asked.procs, ranks)
    if max(counts) > ranks:
        raise MPIEnvironmentError(
            f"--procs asks for {max(counts)} processes, but there are {ranks}: start more ranks, or ask for 2:all"
        )
    return counts


def _what_is_left(asked: CommandLine, header: Header) -> tuple[Options, list[Record]]:
    """Return the options and what is measured already in a file that is resumed."""
    launches = read(asked.output).launches
    begun = max(number for number, launch in enumerate(launches) if not (launch.header.resumes and number))
    before = launches[begun].header
    if before.options is None:
        raise InputError(f"{asked.output} was not written by this benchmark: it cannot be resumed")
    for what, then, now in (
        ("ranks", len(before.ranks), len(header.ranks)),
        ("MPI library", before.mpi.version, header.mpi.version),
    ):
        if then != now:
            raise InputError(
                f"{asked.output}: its {what} was {then!r}, now it is {now!r}: start a new file with --output"
            )
    level = thread_level.known(before)
    if level != thread_level.known(header):
        raise InputError(
            f"{asked.output}: its MPI thread level was {thread_level.words(before)}, "
            f"now it is {thread_level.words(header)}: "
            f"resume it with --thread-level {level}, or start a new file with --output"
        )
    given = {name: getattr(asked.options, name) for name in asked.given & set(Options.__struct_fields__)}
    for name in sorted(given.keys() - _HOW_LONG):
        if given[name] != getattr(before.options, name):
            raise InputError(
                f"--{name.replace('_', '-')} differs from what {asked.output} was begun with: leave it out"
            )
    options = msgspec.structs.replace(before.options, **{name: given[name] for name in given.keys() & _HOW_LONG})
    return options, [record for launch in launches[begun:] for record in launch.records]


def _report(asked: CommandLine, options: Options, header: Header, records: Sequence[Record]) -> None:
    """Say where the results are, what did not go well and what to do next."""
    ended = (record for record in records if record.stop in {"time", "repetitions"})
    widths = [(summarise(one.samples, options.confidence).relative_half_width, one.configuration) for one in ended]
    wide = [one for one in widths if one[0] > options.ci]  # several visits together may be narrow
    notes = []
    if wide:
        widest, configuration = max(wide, key=lambda one: one[0])
        width = format_ratio(widest) if math.isfinite(widest) else "too few samples for one"
        notes.append(
            f"{len(wide)} of {len(records)} medians have an interval wider than {format_ratio(options.ci)} "
            f"(widest: {configuration_words(configuration)}, {width}): "
            "measure longer with --time, or on a quieter machine"
        )
    seconds = sum(record.duration for record in records)
    if asked.json:
        summary = {
            "output": str(asked.output),
            "records": len(records),
            "seconds": seconds,
            "warnings": [*header.warnings, *notes],
        }
        _tell(msgspec.json.encode(summary).decode())
        return
    for note in notes:
        print(f"warning: {note}\n", end="", file=sys.stderr)
    if not records:
        _tell(f"{asked.output} is complete: nothing left to measure")
        return
    verb = "fit" if any(isinstance(record.configuration, PointToPoint | Bandwidth) for record in records) else "report"
    _tell(f"{asked.output}: {len(records)} records in {format_time(seconds)}; next: commmodel {verb} {asked.output}")
