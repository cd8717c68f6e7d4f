"""A launch of the benchmark on all ranks, from the description of the machine to the last record. Main entry: `Run`."""

import math
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from commmodel.bench import environment, simulation
from commmodel.bench.driver import Runner, check_memory
from commmodel.bench.kernels import REGISTRY, buffer_bytes, check, left_out, refinements, sensible_kernels
from commmodel.bench.options import CommandLine, parse_processes
from commmodel.bench.outlook import Outlook
from commmodel.bench.placement import place, place_further
from commmodel.bench.plan import Rounds, in_rounds, make_plan, shuffled
from commmodel.bench.preparation import prepare
from commmodel.bench.rank_0 import on_rank_0, say, tell
from commmodel.errors import CommModelError, InputError, MPIEnvironmentError
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
)
from commmodel.results.conditions import THREAD_LEVEL
from commmodel.results.configurations import Bandwidth, Collective, Pairs, PingPong, PointToPoint, Stream
from commmodel.results.file import existing
from commmodel.shell import with_next
from commmodel.statistics import summarise
from commmodel.units import format_ratio, format_time

if TYPE_CHECKING:
    from mpi4py import MPI

    from commmodel.bench.progress import ProgressBar

_SCALES_OF_GROWTH = 3  # with fewer, no growth can be seen
_DURATIONS = {"time", "ci"}
"""BenchOptions that a resumed run may change: how long it measures, not what."""


class Run:
    """A launch of the benchmark, on every rank. Rank 0 plans, writes the records and reports.

    Attributes
    ----------
    options : BenchOptions
        Those of the command line; of a resumed run those of its file, completed by what kernels measure beforehand.
    plan : list of Configuration
        All configurations, in the order of measurement, without refinements.
    records : list of Record
        On rank 0: what an earlier run measured, then what this one does.
    writer : Writer or None
        On rank 0: the open results file.
    progress : ProgressBar or None
        On rank 0, while it measures.
    """

    def __init__(self, comm: "MPI.Intracomm", line: CommandLine) -> None:
        self.comm = comm
        self.header, self.clock = environment.describe_launch(comm, environment.command_line(), line.thread_level)
        hosts = comm.bcast(([rank.host for rank in self.header.ranks], [rank.socket for rank in self.header.ranks]))
        self.placement, self.further_nodes = place(*hosts), place_further(*hosts)
        self.options = self._sensible_options(line)
        self.line = replace(line, options=self.options)
        self.plan: list[Configuration] = []
        self.records: list[Record] = []
        self.writer: Writer | None = None
        self.progress: ProgressBar | None = None

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            self.writer.close()

    def measure(self) -> None:
        """Measure what is left of the plan, and report."""
        comm = self.comm
        self.options = prepare(comm, self.clock, on_rank_0(comm, self._open_resumed), self.placement)
        self.plan = on_rank_0(comm, lambda: make_plan(self.options, self.placement, self.further_nodes))
        rounds = on_rank_0(comm, self._remaining)
        if not self.plan:
            reasons = left_out(self.options) or [f"{', '.join(self.options.kernels)} plan nothing for these options"]
            raise InputError(f"nothing to measure: {'; '.join(reasons)}")
        if not rounds:
            if comm.rank == 0:
                _report(self.line, self.options, self.header, [])
            return
        check(comm, self.plan)
        room = buffer_bytes(self.plan)
        check_memory(comm, room)
        runner = Runner(comm, self.clock, self.options, self.placement, self.further_nodes, room)
        self.header = msgspec.structs.replace(
            self.header, options=self.options, placement=self.placement, further_nodes=self.further_nodes,
            buffers=runner.describe_buffers(), resumes=self.writer is not None and not self.writer.is_empty,
            planned=len(rounds.rounds[0]), warnings=(*environment.advice(self.header), *left_out(self.options)),
        )  # fmt: skip
        on_rank_0(comm, self._write_header)
        earlier = len(self.records)
        if comm.rank == 0:
            from commmodel.bench.progress import ProgressBar  # a fifth of all that is imported

            self.progress = ProgressBar(len(rounds))
        for warning in self.header.warnings:
            say(comm, f"warning: {warning}")
        self._warn_of_duration(runner.look(rounds.rounds[0]), len(rounds.rounds[0]))
        runner.measure(rounds, self._keep, partial(self._further, runner.outlook))
        if self.progress:
            self.progress.close()
            records = self.records[earlier:]
            left = len({*rounds.rounds[0]} - {record.configuration for record in records})
            _report(self.line, self.options, self.header, join_visits(records), left)

    def _sensible_options(self, line: CommandLine) -> BenchOptions:
        """Return the options, with kernels, processes and synchronisation that suit the ranks."""
        kernels = line.options.kernels or sensible_kernels(self.placement, line.options.node_pairs)
        if "pairs" in line.typed and not {*line.options.kernels, "pairs"} & {*kernels}:
            kernels = (*kernels, "pairs")
        options = msgspec.structs.replace(line.options, kernels=kernels, procs=_processes(line, self.comm.size))
        if simulation.is_simulated() and "visits" not in line.typed:  # what would be otherwise the next time?
            options = msgspec.structs.replace(options, visits=1)
        # Ranks that take turns on a processor hardly ever meet a common start, and IMB knows none.
        if "start" not in line.typed and (options.imb_repetitions or self.comm.bcast(is_oversubscribed(self.header))):
            options = msgspec.structs.replace(options, start="barrier")
        return options

    def _open_resumed(self) -> BenchOptions:
        """Open the file of a resumed run and read its records; return the options. Called on rank 0."""
        if not self.line.resume:
            if not self.line.force:
                _refuse_existing(self.line.output)
            return self.options
        self.writer = Writer(self.line.output, resume=True)  # before it is read: nobody may add to it from now on
        if self.writer.is_empty:
            return self.options
        options, self.records = _resumed(self.line, self.header)
        return options

    def _write_header(self) -> None:
        if self.writer is None:
            self.writer = Writer(self.line.output, force=self.line.force)
        self.writer.write(self.header)

    def _remaining(self) -> Rounds:
        """Return what is left of the plan, or its refinements. Called on rank 0."""
        planned = set(self.plan)
        refined = dict.fromkeys(record.configuration for record in self.records if record.configuration not in planned)
        left = in_rounds([*self.plan, *refined], self.options).without(self.records)
        return left or in_rounds(self._refinements(), self.options)

    def _refinements(self) -> list[Configuration]:
        return shuffled(refinements(self.options, self.records), self.options.seed)

    def _further(self, outlook: Outlook, seconds: float) -> list[Configuration]:
        """Return the refinements for which there is time. Called on rank 0."""
        refined = outlook.affordable(self._refinements(), seconds)
        if self.progress:
            self.progress.extend(len(in_rounds(refined, self.options)))
        return refined

    def _keep(self, record: Record) -> None:
        """Write a record. Called on rank 0."""
        try:
            if self.writer:
                self.writer.write(record)
        except CommModelError as error:  # the other ranks wait for their turn and cannot be asked to stop
            say(self.comm, f"commmodel.bench: {error}; then go on with --resume")
            self.comm.Abort(error.exit_code)
        self.records.append(record)
        if self.progress:
            self.progress.advance(record)

    def _warn_of_duration(self, expected: float, count: int) -> None:
        if expected > self.options.time:
            say(
                self.comm,
                f"note: one visit to each of {count} configurations takes about {format_time(expected)} on "
                f"this network, and --time is {format_time(self.options.time)}: for less, ask for smaller or fewer "
                "--sizes",
            )


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
            f"--process-counts asks for {max(counts)} processes, but there are {ranks}: "
            "start more ranks, or ask for 2:all"
        )
    return counts


def _resumed(line: CommandLine, header: Header) -> tuple[BenchOptions, list[Record]]:
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
    level = THREAD_LEVEL.of(before)
    if level != THREAD_LEVEL.of(header):
        raise InputError(
            f"{line.output}: its MPI thread level was {THREAD_LEVEL.words(before)}, "
            f"now it is {THREAD_LEVEL.words(header)}: "
            f"resume it with --thread-level {level}, or start a new file with --output"
        )
    for name in before.options.kernels:
        if name not in REGISTRY:
            versions = ", ".join(f"{distribution} {version}" for distribution, version in before.versions.items())
            raise InputError(f"{line.output}: kernel {name} is not installed; it was measured with {versions}")
    typed, begun_with = (
        msgspec.structs.asdict(options) | options.further for options in (line.options, before.options)
    )
    changed = {name: value for name, value in typed.items() if name in line.typed}
    for name in sorted(changed.keys() - _DURATIONS):
        if changed[name] != begun_with.get(name):
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
        tell(msgspec.json.encode(summary).decode())
        return
    for note in notes:
        print(f"warning: {note}\n", end="", file=sys.stderr)
    if not records:
        tell(f"{line.output} is complete: nothing left to measure")
        return
    tell(with_next(f"{line.output}: {len(records)} records in {format_time(seconds)}", _next(line.output, records)))


def _next(output: Path, records: Sequence[Record]) -> str:
    """Return the command that goes on with these records."""
    name = shlex.quote(str(output))
    configurations = [record.configuration for record in records]
    scales = {configuration.processes for configuration in configurations if isinstance(configuration, Collective)}
    if not any(isinstance(configuration, PointToPoint | Bandwidth) for configuration in configurations):
        return f"commmodel {'check mpi' if len(scales) >= _SCALES_OF_GROWTH else 'report'} {name}"
    first = output.with_name("results.jsonl")
    with_messages = any(isinstance(configuration, PingPong | Pairs | Stream) for configuration in configurations)
    exists = os.path.exists("machine.toml")
    if not with_messages and first != output and first.exists():
        return f"commmodel fit {shlex.quote(str(first))} {name}{' --force' if exists else ''}"
    other = f" -o {shlex.quote(str(output.with_suffix('.toml')))}" if exists else ""
    return f"commmodel fit {name}{other}"
