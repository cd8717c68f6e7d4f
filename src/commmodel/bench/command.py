"""``python -m commmodel.bench``: parse, describe, measure, report. Main entry: `run`.

What is wrong is said once, by rank 0, and every rank ends with the same exit code. Only a fault of the program
itself or of MPI on one rank, Ctrl-C and SIGTERM abort the job.
"""

import math
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from commmodel.bench import process_memory
from commmodel.bench.launches import is_launched, measure_repeatedly
from commmodel.bench.options import CommandLine, HelpRequest, parse, parse_processes
from commmodel.errors import CommModelError, InputError, MPIEnvironmentError
from commmodel.interruption import TO_BE_HEARD, ending, prompt_interruption, raise_on_signals
from commmodel.results import (
    BenchOptions,
    Configuration,
    Header,
    Record,
    Writer,
    configuration_words,
    is_oversubscribed,
    join_visits,
    load,
    thread_level,
)
from commmodel.results.configurations import Bandwidth, Collective, Pairs, PingPong, PointToPoint, Stream
from commmodel.results.file import existing
from commmodel.statistics import summarise
from commmodel.streams import guarded
from commmodel.units import format_ratio, format_time

if TYPE_CHECKING:
    from mpi4py import MPI

_SCALES_OF_GROWTH = 3  # with fewer, no growth can be seen
_Value = TypeVar("_Value")
_Parsed = CommandLine | HelpRequest | CommModelError
_THREAD_LEVEL = "MPI4PY_RC_THREAD_LEVEL"  # mpi4py goes by it even where mpi4py.rc.thread_level says otherwise
_ADVICE = ": what was measured is kept: go on with --resume"
_PATIENCE = 2.0  # seconds that rank 0 has to end an interrupted job, before another rank does
_DURATIONS = {"time", "ci"}
"""BenchOptions that a resumed run may change: how long it measures, not what."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark on all ranks of COMM_WORLD; return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    raise_on_signals()
    try:
        parsed: _Parsed = parse(words)
    except (CommModelError, HelpRequest) as other:
        parsed = other
    if isinstance(parsed, CommandLine) and parsed.launches is not None:
        if not is_launched():
            return _repeat(parsed, words)
        parsed = InputError(
            "--launches starts the launcher itself: python -m commmodel.bench --launches 5 --launcher 'mpiexec -n 2', "
            "without mpiexec before it"
        )

    if isinstance(parsed, CommandLine) and parsed.dry_run:
        if not is_launched():
            return _foretell(parsed)
        parsed = InputError("--dry-run starts no ranks: type it without mpiexec, with -p RANKS -k RANKS_OF_A_NODE")

    try:
        with guarded():
            return _run(parsed)
    except KeyboardInterrupt as interruption:  # before MPI was there, with which rank 0 speaks for all
        return ending(interruption)[1]


def _run(parsed: _Parsed) -> int:
    watched = _may_measure_memory(parsed)
    if watched:
        process_memory.before_mpi()
    if isinstance(parsed, CommandLine):
        os.environ[_THREAD_LEVEL] = parsed.thread_level
    try:
        from mpi4py import MPI  # which starts MPI, unless this process has done so before
    except (ImportError, RuntimeError) as error:
        return _without_mpi(parsed, error)
    if watched:
        process_memory.after_init()
    comm = MPI.COMM_WORLD
    try:
        if isinstance(parsed, HelpRequest):
            if comm.rank == 0:
                _tell(str(parsed))
            return 0
        if isinstance(parsed, CommModelError):
            raise parsed
        private = comm.Dup()
        if watched:
            process_memory.after_use(private)
        with _interruption(comm.rank, watched=watched):
            _measure(private, parsed)
        return 0
    except CommModelError as error:  # every rank has it: see `_on_rank_0`
        _say(comm, f"commmodel.bench: {error}")
        comm.Barrier()  # a rank that ends first with an exit code would have the others killed unheard
        return error.exit_code
    except KeyboardInterrupt as interruption:
        word, code = ending(interruption)
        _say(comm, f"commmodel.bench: {word}{_ADVICE}")
        time.sleep(_PATIENCE if comm.rank else TO_BE_HEARD)
    except BaseException:  # whatever it was: the other ranks wait for messages that will not come
        traceback.print_exc()
        print(f"commmodel.bench: rank {comm.rank} failed: go on with --resume", file=sys.stderr, flush=True)
        time.sleep(TO_BE_HEARD)
        code = 1
    comm.Abort(code)
    os._exit(code)  # it may return: a launcher that is being ended itself does not hear of it


def _interruption(rank: int, *, watched: bool) -> AbstractContextManager[None]:
    """Context in which signals end a rank even while it waits for a message; rank 0 says so."""
    if not watched:
        return prompt_interruption("commmodel.bench", _ADVICE, quiet=rank > 0)
    for number in (signal.SIGINT, signal.SIGTERM):  # a thread would be in the memory that is measured
        signal.signal(number, signal.SIG_DFL)
    return nullcontext()


def _foretell(line: CommandLine) -> int:
    """Say what a launch would do; return the exit code."""
    from commmodel.bench.dry_run import forecast

    try:
        launch = forecast(line)
    except CommModelError as error:
        print(f"commmodel.bench: {error}", file=sys.stderr)
        return error.exit_code
    _tell(msgspec.json.encode(launch).decode() if line.json else str(launch))
    return 0


def _repeat(line: CommandLine, words: Sequence[str]) -> int:
    """Start several launches, outside of MPI; return the exit code."""
    try:
        return measure_repeatedly(line, words)
    except CommModelError as error:
        print(f"commmodel.bench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as interruption:
        word, code = ending(interruption)
        print(f"commmodel.bench: {word}: the same command with --resume goes on with {line.output.name}",
              file=sys.stderr)  # fmt: skip
        return code


def _without_mpi(parsed: _Parsed, error: Exception) -> int:
    """Print the help text or the error where no MPI library can be loaded; return the exit code."""
    if isinstance(parsed, HelpRequest):
        _tell(str(parsed))
        return 0
    if isinstance(parsed, CommandLine):
        parsed = MPIEnvironmentError(
            f"no MPI library: {'; '.join(str(error).splitlines())}: load its module, install one (pip install mpich), "
            "or name its file in MPI4PY_LIBMPI"
        )
    print(f"commmodel.bench: {parsed}", file=sys.stderr)
    return parsed.exit_code


def _may_measure_memory(parsed: _Parsed) -> bool:
    """Whether the memory before MPI_Init may be needed; the options of a resumed file are read only after MPI_Init."""
    return isinstance(parsed, CommandLine) and (parsed.resume or "memory" in parsed.options.kernels)


def _say(comm: "MPI.Intracomm", text: str) -> None:
    if comm.rank == 0:
        with suppress(OSError):  # nobody hears it
            print(f"{text}\n", end="", file=sys.stderr, flush=True)


def _tell(text: str) -> None:
    """Print text on standard output at once; a full output is no error here, as the results are on disk."""
    with suppress(InputError):
        print(f"{text}\n", end="", flush=True)  # at once: a launcher may put other lines between two pieces


def _on_rank_0(comm: "MPI.Intracomm", function: Callable[[], _Value]) -> _Value:
    """Call a function on rank 0; return its result, or raise its error, on every rank."""
    result: tuple[_Value | None, tuple[str, int] | None] = (None, None)
    if comm.rank == 0:
        try:
            result = function(), None
        except CommModelError as error:
            result = None, (str(error), error.exit_code)
    value, problem = comm.bcast(result)
    if problem is not None:
        refusal = CommModelError(problem[0])
        refusal.exit_code = problem[1]
        raise refusal
    return cast(_Value, value)


def _measure(comm: "MPI.Intracomm", line: CommandLine) -> None:
    writers: list[Writer] = []  # on rank 0: the one of the results
    try:
        _measure_into(writers, comm, line)
    finally:
        for writer in writers:
            writer.close()


def _measure_into(writers: list[Writer], comm: "MPI.Intracomm", line: CommandLine) -> None:
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
    from commmodel.bench.driver import Runner, check_memory
    from commmodel.bench.kernels import buffer_bytes, check, left_out, refinements, sensible_kernels
    from commmodel.bench.placement import place, place_further
    from commmodel.bench.plan import Rounds, in_rounds, make_plan, shuffled
    from commmodel.bench.preparation import prepare

    header, clock = environment.describe_launch(comm, environment.command_line(), line.thread_level)
    where = comm.bcast(([rank.host for rank in header.ranks], [rank.socket for rank in header.ranks]))
    placement, further_nodes = place(*where), place_further(*where)
    kernels = line.options.kernels or sensible_kernels(placement, line.options.node_pairs)
    if "pairs" in line.typed and not {*line.options.kernels, "pairs"} & {*kernels}:
        kernels = (*kernels, "pairs")
    procs = _processes(line, comm.size)
    options = msgspec.structs.replace(line.options, kernels=kernels, procs=procs)
    # Ranks that take turns on a processor hardly ever meet a common start, and IMB knows none.
    if "start" not in line.typed and (options.imb_repetitions or comm.bcast(is_oversubscribed(header))):
        options = msgspec.structs.replace(options, start="barrier")
    line = replace(line, options=options)
    records: list[Record] = []  # on rank 0: what an earlier run measured, then what this one does

    def go_on() -> BenchOptions:
        if not line.resume:
            if not line.force:
                _refuse_existing(line.output)
            return line.options
        writers.append(Writer(line.output, resume=True))  # before it is read: nobody may add to it from now on
        if writers[0].is_empty:
            return line.options
        options, earlier = _what_is_left(line, header)
        records.extend(earlier)
        return options

    def choose() -> Rounds:
        planned = set(plan)
        refined = dict.fromkeys(record.configuration for record in records if record.configuration not in planned)
        return in_rounds([*plan, *refined], options).without(records) or in_rounds(refine(), options)

    def refine() -> list[Configuration]:
        return shuffled(refinements(options, records), options.seed)

    options = prepare(comm, clock, _on_rank_0(comm, go_on), placement)
    plan = _on_rank_0(comm, lambda: make_plan(options, placement, further_nodes))
    todo = _on_rank_0(comm, choose)
    if not todo:
        if comm.rank == 0:
            _report(line, options, header, [])
        return
    check(comm, plan)
    room = buffer_bytes(plan)
    check_memory(comm, room)
    runner = Runner(comm, clock, options, placement, further_nodes, room)
    header = msgspec.structs.replace(
        header, options=options, placement=placement, further_nodes=further_nodes,
        buffers=runner.describe_buffers(), resumes=bool(writers) and not writers[0].is_empty,
        planned=len(todo.rounds[0]), warnings=(*environment.advice(header), *left_out(options)),
    )  # fmt: skip

    _on_rank_0(comm, lambda: _begin(line, header, writers))
    earlier = len(records)
    progress = None
    if comm.rank == 0:
        from commmodel.bench.progress import ProgressBar  # a fifth of all that is imported

        progress = ProgressBar(len(todo))

    def keep(record: Record) -> None:
        try:
            writers[0].write(record)
        except CommModelError as error:  # the other ranks wait for their turn and cannot be asked to stop
            _say(comm, f"commmodel.bench: {error}; then go on with --resume")
            comm.Abort(error.exit_code)
        records.append(record)
        if progress:
            progress.advance(record)

    def further(seconds: float) -> list[Configuration]:
        refined = runner.outlook.affordable(refine(), seconds)
        if progress:
            progress.extend(len(in_rounds(refined, options)))
        return refined

    for warning in header.warnings:
        _say(comm, f"warning: {warning}")
    expected = runner.look(todo.rounds[0])
    if expected > options.time:
        _say(
            comm,
            f"note: one visit to each of {len(todo.rounds[0])} configurations takes about {format_time(expected)} on "
            f"this network, and --time is {format_time(options.time)}: for less, ask for smaller or fewer --sizes",
        )
    runner.measure(todo, keep, further)
    if progress:
        progress.close()
        left = len({*todo.rounds[0]} - {record.configuration for record in records[earlier:]})
        _report(line, options, header, join_visits(records[earlier:]), left)


def _begin(line: CommandLine, header: Header, writers: list[Writer]) -> None:
    """Write the header of a new launch; the file of a resumed one is open already."""
    if not writers:
        writers.append(Writer(line.output, force=line.force))
    writers[0].write(header)


def _refuse_existing(output: Path) -> None:
    """Raise where the output file exists and is not empty, before anything is measured."""
    with suppress(OSError):  # what is wrong with the place is said when it is opened
        if os.stat(output).st_size:
            raise existing(output)


def _processes(line: CommandLine, ranks: int) -> tuple[int, ...]:
    """Return the numbers of processes of collective operations."""
    counts = parse_processes(line.procs, ranks)
    if max(counts) > ranks:
        raise MPIEnvironmentError(
            f"--procs asks for {max(counts)} processes, but there are {ranks}: start more ranks, or ask for 2:all"
        )
    return counts


def _what_is_left(line: CommandLine, header: Header) -> tuple[BenchOptions, list[Record]]:
    """Return the options and the records of a file to be resumed."""
    launches = load(line.output).launches
    begun = max(number for number, launch in enumerate(launches) if not (launch.header.resumes and number))
    before = launches[begun].header
    if before.options is None:
        raise InputError(f"{line.output} was not written by this benchmark: it cannot be resumed")
    for kind, then, now in (
        ("ranks", len(before.ranks), len(header.ranks)),
        ("the MPI library", repr(before.mpi.version), repr(header.mpi.version)),
    ):
        if then != now:
            was = f"on {then} {kind}" if kind == "ranks" else f"with {kind} {then}"
            raise InputError(f"{line.output} was measured {was}, now it is {now}: start a new file with --output")
    level = thread_level.known_level(before)
    if level != thread_level.known_level(header):
        raise InputError(
            f"{line.output}: its MPI thread level was {thread_level.words(before)}, "
            f"now it is {thread_level.words(header)}: "
            f"resume it with --thread-level {level}, or start a new file with --output"
        )
    changed = {name: getattr(line.options, name) for name in BenchOptions.__struct_fields__ if name in line.typed}
    for name in sorted(changed.keys() - _DURATIONS):
        if changed[name] != getattr(before.options, name):
            raise InputError(f"{line.typed[name]} differs from what {line.output} was begun with: leave it out")
    options = msgspec.structs.replace(before.options, **{name: changed[name] for name in changed.keys() & _DURATIONS})
    return options, [record for launch in launches[begun:] for record in launch.records]


def _report(line: CommandLine, options: BenchOptions, header: Header, records: Sequence[Record], left: int = 0) -> None:
    """Print the place of the results, warnings about them, and the next command; `left` configurations are missing."""
    ended = (record for record in records if record.stop in {"time", "repetitions"})
    widths = [
        (summarise(record.samples, options.confidence).relative_half_width, record.configuration) for record in ended
    ]
    wide = [width for width in widths if width[0] > options.ci]  # several visits together may be narrow
    notes = []
    if wide:
        widest, configuration = max(wide, key=lambda pair: pair[0])
        width = format_ratio(widest) if math.isfinite(widest) else "too few samples for one"
        notes.append(
            f"{len(wide)} of {len(records)} medians have an interval wider than {format_ratio(options.ci)} "
            f"(widest: {configuration_words(configuration)}, {width}): "
            "measure longer with --time, or on a quieter machine"
        )
    if left:
        notes.append(
            f"{left} of {header.planned} configurations are not measured, as the time is long over: "
            "go on with --resume, or ask for fewer kernels, sizes or ranks"
        )
    seconds = sum(record.duration for record in records)
    if line.json:
        summary = {
            "output": str(line.output),
            "records": len(records),
            "seconds": seconds,
            "warnings": [*header.warnings, *notes],
        }
        _tell(msgspec.json.encode(summary).decode())
        return
    for note in notes:
        print(f"warning: {note}\n", end="", file=sys.stderr)
    if not records:
        _tell(f"{line.output} is complete: nothing left to measure")
        return
    _tell(f"{line.output}: {len(records)} records in {format_time(seconds)}; next: {_next(line.output, records)}")


def _next(output: Path, records: Sequence[Record]) -> str:
    """Return the command that goes on with these records."""
    configurations = [record.configuration for record in records]
    scales = {configuration.processes for configuration in configurations if isinstance(configuration, Collective)}
    if not any(isinstance(configuration, PointToPoint | Bandwidth) for configuration in configurations):
        return f"commmodel {'check mpi' if len(scales) >= _SCALES_OF_GROWTH else 'report'} {output}"
    first = output.with_name("results.jsonl")
    with_messages = any(isinstance(configuration, PingPong | Pairs | Stream) for configuration in configurations)
    exists = os.path.exists("machine.toml")
    if not with_messages and first != output and first.exists():
        return f"commmodel fit {first} {output}{' --force' if exists else ''}"
    other = f" -o {output.with_suffix('.toml')}" if exists else ""
    return f"commmodel fit {output}{other}"
