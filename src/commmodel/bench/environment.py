"""Environment of a launch: its header, and warnings with advice. Main entry: `describe_launch`."""

import os
import platform
import secrets
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from commmodel import plugins
from commmodel._core.clock import processor_clock as core_clock
from commmodel.bench import clock, simulation
from commmodel.launchers import batch_job
from commmodel.results import (
    Clock,
    Header,
    Host,
    Library,
    Rank,
    oversubscription_warnings,
)  # fmt: skip
from commmodel.results.conditions import LEVELS
from commmodel.results.file import FORMAT, VERSION
from commmodel.results.oversubscription import some_names
from commmodel.results.records import ThreadLevel
from commmodel.results.repeating import library_variables

if TYPE_CHECKING:
    from mpi4py import MPI

_WTIME_SECONDS = 0.05
_WTIME_TOLERANCE = 1e-3
_LOAD_PER_CPU = 0.25
_WATCHES, _WATCH = 16, 0.01  # how often, and every how many seconds on average, a host is watched while its ranks sleep
_TOPOLOGY = Path("/sys/devices/system/cpu")
_GOVERNOR = _TOPOLOGY / "cpu0" / "cpufreq" / "scaling_governor"


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _cpu_model() -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "cpu", "Processor"}:
            return value.strip()
    return platform.machine()


def _cpu_ranges(cpus: Sequence[int]) -> str:
    """Return processor numbers as ranges, in the notation of Linux.

    >>> _cpu_ranges([0, 1, 2, 5])
    '0-2,5'
    """
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)


def _against_wtime(chosen: Clock) -> float:
    """Return the relative difference between the rates of the clock and of MPI_Wtime."""
    from mpi4py import MPI

    number = clock.kind_number(chosen)

    def both_clocks() -> tuple[int, float]:
        """Read the clock between two readings of MPI_Wtime; return the tightest of ten readings."""
        tries = [(MPI.Wtime(), int(core_clock.read_ticks(number, 1)[0]), MPI.Wtime()) for _ in range(10)]
        before, ticks, after = min(tries, key=lambda reading: reading[2] - reading[0])
        return ticks, (before + after) / 2

    first_ticks, first = both_clocks()
    while MPI.Wtime() - first < _WTIME_SECONDS:
        pass
    last_ticks, last = both_clocks()
    return (last_ticks - first_ticks) / chosen.frequency / (last - first) - 1


def _is_one_core(cpus: Sequence[int]) -> bool:
    siblings = _read(_TOPOLOGY / f"cpu{cpus[0]}" / "topology" / "thread_siblings_list")
    return len(cpus) == 1 or _cpu_ranges(cpus) == siblings


def socket_of(cpus: Sequence[int], topology: Path = _TOPOLOGY) -> int | None:
    """Return the socket of these processors; None where they are on several sockets, or the system does not tell."""
    packages = {_read(topology / f"cpu{cpu}" / "topology" / "physical_package_id") for cpu in cpus}
    (package, *further) = packages
    return int(package) if package.isdecimal() and not further else None  # -1 is the kernel's "unknown"


def host_indices(names: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the hosts in order of first appearance, and each rank's index into them.

    >>> host_indices(["a", "a", "b"])
    (['a', 'b'], [0, 0, 1])
    """
    hosts = list(dict.fromkeys(names))
    index = {name: position for position, name in enumerate(hosts)}
    return hosts, [index[name] for name in names]


def data_caches(topology: Path = _TOPOLOGY) -> dict[str, int]:
    """Return the bytes of the first processor's data caches by name; empty where the system does not tell."""
    sizes = {}
    for index in sorted((topology / "cpu0" / "cache").glob("index*")):
        kibibytes = _read(index / "size").removesuffix("K")  # the kernel writes no other unit
        if _read(index / "type") in {"Data", "Unified"} and kibibytes.isdecimal():
            sizes[f"L{_read(index / 'level')}"] = int(kibibytes) << 10
    return sizes


def _others_while_asleep(comm: "MPI.Comm", *, watches: bool) -> float | None:
    """Return how many other processes ran or wanted to, on average, while the ranks slept. Collective over all ranks.

    Only ranks that watch their host return it; None where the system does not tell.
    """
    if simulation.is_simulated():
        return None
    comm.Barrier()
    end = time.monotonic() + (_WATCHES + 2) * _WATCH
    running, generator = [], np.random.default_rng()
    time.sleep(_WATCH)  # the others leave the barrier meanwhile
    while watches and time.monotonic() < end - _WATCH:
        time.sleep(_WATCH * generator.uniform(0.5, 1.5))  # not together with the watchers of other hosts on this kernel
        running.append(_read("/proc/loadavg").split("/")[0].rpartition(" ")[2])
    time.sleep(max(end - time.monotonic(), 0.0))
    comm.Barrier()
    if not running or not all(number.isdecimal() for number in running):
        return None
    return round(sum(map(int, running)) / len(running) - 1, 2)  # one is the watcher


def _describe_host(name: str, cpus: set[int], chosen: Clock, other_processes: float | None, ranks: int) -> Host:
    if simulation.is_simulated():
        return Host(name=name, cpus=ranks, clock=chosen)
    try:
        load: tuple[float, float, float] | None = os.getloadavg()
    except OSError:
        load = None
    pages = _read("/sys/kernel/mm/transparent_hugepage/enabled")
    return Host(
        name=name,
        cpus=len(cpus),
        cpu_model=_cpu_model(),
        kernel=platform.release(),
        governor=_read(_GOVERNOR),
        clocksource=clock.read_clocksource(),
        transparent_huge_pages=pages.partition("[")[2].partition("]")[0],
        caches=data_caches(),
        load=load,
        clock=chosen,
        processors=os.cpu_count() or 0,
        other_processes=other_processes,
    )


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {
        "commmodel": version("commmodel"),
        "mpi4py": version("mpi4py"),
        "numpy": np.__version__,
        "python": platform.python_version(),
        **plugins.VERSIONS,
    }


def provided_level() -> ThreadLevel:
    """Return the thread level that MPI has provided to this process."""
    from mpi4py import MPI

    provided = MPI.Query_thread()
    return next(level for level in LEVELS if getattr(MPI, f"THREAD_{level.upper()}") == provided)


def describe_launch(comm: "MPI.Comm", command: Sequence[str], requested: ThreadLevel) -> tuple[Header, Clock]:
    """Return the header of this launch (complete on rank 0) and the clock of this rank. Collective over all ranks.

    `requested` is the thread level that was asked of MPI.
    """
    from mpi4py import MPI

    from commmodel._core.mpi import pingpong

    name = MPI.Get_processor_name()
    on_host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    chosen = on_host.bcast(clock.choose() if on_host.rank == 0 else None)
    drift = 0.0 if simulation.is_simulated() else _against_wtime(chosen)
    chosen = msgspec.structs.replace(chosen, against_wtime=float(np.round(on_host.bcast(drift), 9)))
    affinity = sorted(os.sched_getaffinity(0))
    cpus = set().union(*on_host.allgather(affinity))
    other_processes = _others_while_asleep(comm, watches=on_host.rank == 0)
    host = _describe_host(name, cpus, chosen, other_processes, on_host.size) if on_host.rank == 0 else None
    on_host.Free()

    if simulation.is_simulated():  # a simulated host has cores, and sockets where its platform says so
        where: tuple[str, int, bool, int | None] = "", -1, True, simulation.socket_of(MPI.COMM_WORLD.rank)
    else:
        where = _cpu_ranges(affinity), core_clock.current_cpu(), _is_one_core(affinity), socket_of(affinity)
    ranks = comm.gather((name, *where))
    described = comm.gather(host)
    names, index = host_indices([rank[0] for rank in ranks or ()])
    by_name = {host.name: host for host in described or () if host is not None}
    header = Header(
        format=FORMAT,
        version=VERSION,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=tuple(command),
        mpi=Library(
            MPI.Get_library_version().strip("\0 \n"),
            pingpong.MPI_ABI,
            ".".join(map(str, MPI.Get_version())),
            provided_level(),
            requested,
        ),
        hosts=tuple(by_name[host_name] for host_name in names),
        ranks=tuple(Rank(number, index[number], *where) for number, (_, *where) in enumerate(ranks or ())),
        launch=secrets.token_hex(8),
        versions=_versions() if comm.rank == 0 else {},  # read from folders of all that is installed
        job=batch_job() if comm.rank == 0 else {},
        environment=library_variables(os.environ) if comm.rank == 0 else {},
        simulated=simulation.name(),
    )
    return header, chosen


def advice(header: Header) -> tuple[str, ...]:
    """Return warnings about the launch, each with its remedy, one per line."""
    hosts_of: dict[str, list[str]] = {}  # what is wrong -> the hosts where it is

    def warn(host: Host, problem: str) -> None:
        hosts_of.setdefault(problem, []).append(host.name)

    highest = max((host.other_processes for host in header.hosts if host.other_processes), default=0.0)
    for host in header.hosts:
        if host.other_processes and host.other_processes > _LOAD_PER_CPU * max(host.cpus, 1):
            warn(
                host,
                f"{'' if len(header.hosts) == 1 else 'up to '}{highest:.1f} other processes ran just before the first "
                "measurement: stop them, or measure longer (--time 5min)",
            )
        if host.governor and host.governor not in {"performance", "schedutil"}:
            warn(
                host,
                f"CPU frequency governor is {host.governor!r}: set it to 'performance' "
                "(cpupower frequency-set -g performance), or expect slow first messages",
            )
        drift = host.clock.against_wtime if host.clock else None
        if drift is not None and abs(drift) > _WTIME_TOLERANCE:
            warn(
                host,
                f"the clock ({host.clock.kind if host.clock else ''}) and MPI_Wtime differ by "
                f"{100 * drift:.2g} %: compare both with a wall clock before you trust these times",
            )
    warnings = []
    if simulation.charges_computation():
        warnings.append(
            "the processor time of this benchmark's own loops becomes simulated time: measure the network alone with "
            "commmodel simulate ... run --compute 0"
        )
    warnings += [
        *oversubscription_warnings(header),
        *(f"{some_names(names)}: {problem}" for problem, names in hosts_of.items()),
    ]
    level, requested = header.mpi.thread_level, header.mpi.thread_level_asked
    if level != requested and None not in {level, requested}:
        warnings.append(
            f"the MPI thread level is {level}, not {requested} as asked for: times are those of programs with {level}; "
            "the library gives no other, or MPI was started before the benchmark set it"
        )
    unbound = [rank.rank for rank in header.ranks if not rank.bound]
    if unbound:
        warnings.append(
            f"{len(unbound)} of {len(header.ranks)} ranks are not bound to one core and may wander: "
            "use mpiexec --bind-to core (Open MPI), -bind-to core (MPICH), srun --cpu-bind=cores"
        )
    return tuple(warnings)


def command_line() -> list[str]:
    """Return the command line of this program, with the name of the interpreter instead of its path."""
    arguments = list(getattr(sys, "orig_argv", sys.argv))
    readable = [argument.encode(errors="surrogateescape").decode(errors="replace") for argument in arguments]
    return [Path(readable[0]).name, *readable[1:]]
