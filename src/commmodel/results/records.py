"""Launches of the benchmark: environment, options, and a record for each configuration. Main entry: `Record`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, field

from commmodel.choices import Unit
from commmodel.errors import InputError
from commmodel.frames import Tabular, axes_of, draw, of_axes
from commmodel.results.configurations import BenchOptions, Configuration, HugePages
from commmodel.results.quantities import Bytes, Count, MessagePath, Seconds
from commmodel.results.words import configuration_words
from commmodel.statistics import Summary, summarise
from commmodel.structs import InputStruct
from commmodel.values import OneLine, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ThreadLevel = Literal["single", "funneled", "serialized", "multiple"]
"""What threads of a process may do, as MPI_Init_thread names it: MPI_Init gives ``single``."""


UNKNOWN_LIBRARY = "unknown (read from"
BY_SCRIPT = " (by its job script)"
"""Behind the library's name where nothing but the script beside an output tells it."""
"""Begin of a library's version where a suite's output does not say it."""
_UNSAID = {"node_pairs": 1}
"""Fields of configurations that go without saying."""


class Clock(InputStruct, frozen=True, forbid_unknown_fields=True):
    """The clock that timed a host's ranks."""

    kind: str
    """``tsc``, ``cntvct``, ``timebase``, ``clock_gettime`` or ``simulated``."""
    frequency: Annotated[float, Meta(gt=0)]
    """Ticks per second."""
    frequency_source: str
    resolution: Seconds
    """Smallest step seen between two readings."""
    cost: Seconds
    """Median time between a start and a stop that enclose nothing; part of every sample."""
    against_wtime: float | None = None
    """Relative difference of its rate from MPI_Wtime's."""


class Host(Value, InputStruct, frozen=True, forbid_unknown_fields=True):
    """A host of the launch, as its lowest rank saw it."""

    name: str
    cpus: Annotated[int, Meta(ge=0)] = 0
    """Processors that the ranks on this host may use, all together."""
    cpu_model: str = ""
    kernel: str = ""
    governor: str = ""
    """CPU frequency governor; empty where the system does not tell."""
    clocksource: str = ""
    transparent_huge_pages: str = ""
    load: tuple[float, float, float] | None = None
    """Load averages just before the first measurement."""
    clock: Clock | None = None
    caches: dict[str, Bytes] = field(default_factory=dict)
    """Bytes of each data cache that its first processor uses, by name: ``L1``, ``L2``, ...; the last is often
    shared."""
    processors: Annotated[int, Meta(ge=0)] = 0
    """Processors of the host, whoever may use them; 0 where not known."""
    other_processes: Annotated[float, Meta(ge=0)] | None = None
    """Other processes that ran or wanted to, on average, while its ranks slept just before the first measurement."""


class Rank(InputStruct, frozen=True, forbid_unknown_fields=True):
    """The place of one rank."""

    rank: Annotated[int, Meta(ge=0)]
    host: Annotated[int, Meta(ge=0)]
    """Index into `Header.hosts`."""
    cpus: str = ""
    """Processors that it may use, like ``0-3,8``."""
    cpu: int = -1
    """Processor on which it was when it said so."""
    bound: bool = False
    """Whether these processors are one core's, so that the rank cannot wander."""
    socket: Annotated[int, Meta(ge=0)] | None = None
    """Socket of its processors; None where they are on several, or the system does not tell."""


class Library(InputStruct, frozen=True, forbid_unknown_fields=True):
    """The MPI library."""

    version: str
    abi: str = ""
    """Build of commmodel's core that ran: ``mpich``, ``openmpi`` or ``mpiabi``."""
    standard: str = ""
    thread_level: ThreadLevel | None = None
    """What MPI_Query_thread says; None where it was not recorded."""
    thread_level_asked: ThreadLevel | None = None
    """What the benchmark asked for."""


class Buffers(InputStruct, frozen=True, forbid_unknown_fields=True):
    """Allocation of message buffers: per rank, on fresh pages, written before use."""

    alignment: int
    huge_pages: HugePages
    huge_bytes: int | None = None
    """Bytes of rank 0's largest buffer that really lay on huge pages; None where the system does not tell."""


class Header(Value, InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="header"):
    """A launch of the benchmark."""

    format: Literal["commmodel-results"]
    version: Annotated[int, Meta(ge=1)]
    created: str
    command: tuple[str, ...]
    mpi: Library
    hosts: tuple[Host, ...]
    ranks: tuple[Rank, ...]
    versions: dict[str, str] = field(default_factory=dict)
    options: BenchOptions | None = None
    buffers: Buffers | None = None
    placement: dict[MessagePath, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """Ranks of each pair on each path, in the order in which pairs are added."""
    further_nodes: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Ranks of each pair between the hosts of the second pair of hosts, the third, ...; `placement` has the first."""
    warnings: tuple[str, ...] = ()
    resumes: bool = False
    """True where this launch goes on with what the one before it left undone."""
    launch: str = ""
    """A random number that no other launch has, in hexadecimal; empty in older files and those of other programs."""
    planned: Annotated[int, Meta(ge=0)] = 0
    """Configurations of the plan; with fewer of them its launch was stopped, or goes on. 0: not recorded."""
    job: dict[str, str] = field(default_factory=dict)
    """Of the batch system, by its own variables, such as SLURM_JOB_ID; empty without one."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that told the MPI library and its network layer what to do, such as UCX_TLS."""
    simulated: str = ""
    """Platform and model of the simulation in which the benchmark ran; empty elsewhere."""


class Record(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="record"):
    """The samples of one configuration."""

    configuration: Configuration
    unit: Unit
    """Of the samples."""
    samples: Annotated[tuple[Annotated[float, Meta(ge=0)], ...], Meta(min_length=1)]
    stop: Literal["interval", "time", "repetitions", "found"] = "found"
    """Why it ended: interval narrow enough, time spent, most repetitions reached, or the thing looked for found."""
    batch: Count = 1
    """Exchanges timed together; each sample is their mean."""
    warmup: Annotated[int, Meta(ge=0)] = 0
    """Exchanges made before the first sample."""
    bracket: tuple[float, float | None] | None = None
    """For a threshold: the largest value below and the smallest above it that were tried; None: none above."""
    delay: Seconds | None = None
    """For a delayed train: the time between the end of a send and the begin of the next, as it really was. For the
    kernel progress and overlapped collectives: the time without computation, which is how long the ranks compute."""
    fastest: tuple[Seconds, ...] | None = None
    """For the kernel bandwidth: the samples of the fastest pair."""
    computation: Seconds | None = None
    """For the kernel overlap: the time of the computation alone."""
    visits: tuple[Count, ...] = ()
    """Samples of each visit, where the plan was gone through several times; in a file, one visit a line."""
    late: Annotated[int, Meta(ge=0)] = 0
    """Repetitions left out of the samples, since a rank missed their common start."""
    window: Seconds | None = None
    """Last length of the windows in which collectives start, or time from announcement to start."""
    clock_error: Seconds | None = None
    """Largest difference between clocks of ranks seen after the last sample."""
    ranks: tuple[tuple[float, ...], ...] | None = None
    """For each rank its own value in each sample, of whose maximum over ranks the samples are."""
    started: Seconds = 0.0
    """Time since the launch's first measurement."""
    duration: Seconds = 0.0

    @property
    def summary(self) -> Summary:
        """Quantiles of the samples and the interval of their median."""
        return summarise(self.samples)

    def __repr__(self) -> str:
        """Return the configuration and the median, without the samples."""
        words = configuration_words(self.configuration)
        return f"Record({words}: {self.summary.median:.4g} {self.unit}, {len(self.samples)} samples)"


class Launch(InputStruct, frozen=True):
    """A header and the records that follow it."""

    header: Header
    records: tuple[Record, ...]

    def __repr__(self) -> str:
        """Return the time, the hosts and the number of records."""
        hosts, library = len(self.header.hosts), self.header.mpi.version.partition("\n")[0]
        return f"Launch({self.header.created}, {library}, {hosts} host(s), {len(self.records)} records)"


class Measurements(Tabular, OneLine, InputStruct, frozen=True):
    """All launches of one or several files, in order."""

    launches: tuple[Launch, ...]
    notes: tuple[str, ...] = ()
    """What the reader had to leave out, a line each."""

    @property
    def records(self) -> Iterator[Record]:
        """Every record of every launch."""
        return (record for launch in self.launches for record in launch.records)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the records as columns.

        Returns
        -------
        dict of str to list
            A row for each record: ``launch`` (its number), ``kernel``, every field that some configuration has (None
            where another one has not), ``unit``, what `commmodel.statistics.Summary` has, and ``stop``.

        Examples
        --------
        >>> from commmodel.results.configurations import PingPong
        >>> record = Record(PingPong(8, "any"), "s", (1e-6, 3e-6, 2e-6))
        >>> mpi = Header("commmodel-results", 1, "", (), Library("MPICH"), (), ())
        >>> table = Measurements((Launch(mpi, (record,)),)).to_dict()
        >>> table["kernel"], table["message_size"], table["median"]
        (['pingpong'], [8], [2e-06])
        """
        rows = [
            {"launch": number, **msgspec.to_builtins(record.configuration), "unit": record.unit,
             **msgspec.structs.asdict(record.summary), "stop": record.stop}
            for number, launch in enumerate(self.launches)
            for record in launch.records
        ]  # fmt: skip
        first, last = ("launch", "kernel"), ("unit", *Summary.__struct_fields__, "stop")
        columns = dict.fromkeys(name for row in rows for name in row)
        names = [
            *first,
            *(name for name in columns if name not in (*first, *last)),
            *(name for name in last if name in columns),
        ]
        return {name: [row.get(name) for row in rows] for name in names}

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the median times of messages over their sizes with their intervals, a curve for all that differs else.

        Raises
        ------
        InputError
            Where no times of messages were measured.
        MissingPackageError
            Without matplotlib.
        """
        curves: dict[str, list[tuple[float, ...]]] = {}
        for record in self.records:
            fields = msgspec.to_builtins(record.configuration)
            if record.unit == "s" and "message_size" in fields:
                words = (
                    value if isinstance(value, str) else f"{name} {value}"
                    for name, value in fields.items()
                    if name not in {"message_size", "batch"} and value not in (None, _UNSAID.get(name))
                )  # fmt: skip
                seconds = (record.summary.median, record.summary.low, record.summary.high)
                curves.setdefault(", ".join(words), []).append((fields["message_size"], *seconds))
        if not curves:
            raise InputError("no times of messages to draw: measure pingpong, pairs, loggp, plogp or collective")
        axes = axes_of(axes)
        for label, rows in curves.items():
            sizes, medians, low, high = zip(*sorted(rows), strict=True)
            draw(axes, sizes, {label: (medians, low, high) if np.isfinite([low, high]).all() else medians})
        axes.legend()
        return axes

    def __repr__(self) -> str:
        """Return the numbers of launches and records."""
        records = sum(len(launch.records) for launch in self.launches)
        return f"Measurements({len(self.launches)} launch(es), {records} records)"
