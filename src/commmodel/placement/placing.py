"""The best of some mappings of a program's ranks, by simulation. Main entry: `map_ranks`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import Count, Positive, refuse
from commmodel.choices import ProgramModel
from commmodel.errors import InputError
from commmodel.files import write_text
from commmodel.frames import Tabular
from commmodel.placement.candidates import candidate_hosts
from commmodel.placement.files import launcher_files, refuse_existing
from commmodel.placement.nodes import Hosts, block_seats, even_seats
from commmodel.placement.partition import metis
from commmodel.placement.traffic import Traffic, traffic_of
from commmodel.signatures import checked
from commmodel.simulate.platform import Platform
from commmodel.simulate.questions import replayed
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.scenario import FLOW_MODELS, Place, Scenario, Where, Workload, place, prepare, workloads
from commmodel.simulate.workers import spread
from commmodel.values import Value

if TYPE_CHECKING:
    from commmodel.record import Recording

_ALIKE = 1e-6
"""Share of a time by which mappings differ that are the same: then fewer bytes between nodes decide."""


@dataclass(frozen=True)
class CandidateMapping(Value):
    """One mapping of ranks to hosts, and what it gives."""

    name: str
    hosts: Hosts
    """Of each rank, shape (processes,)."""
    seconds: float
    """Simulated; infinite where ranks wait for ever."""
    cut: float
    """Bytes between nodes."""


@dataclass(frozen=True)
class RankMapping(Tabular, Value):
    """Where the ranks of a program are best, of some candidates."""

    title: str
    """What was simulated."""
    platform: Platform
    model: str
    candidates: tuple[CandidateMapping, ...]
    """Block first, round-robin second."""
    total: float
    """Bytes between all ranks."""
    notes: tuple[str, ...] = ()
    """What is to be said of the simulations."""

    @property
    def best(self) -> CandidateMapping:
        """The candidate with the shortest time; of those that are alike, that with the fewest bytes between nodes."""
        least = min(candidate.seconds for candidate in self.candidates)
        most = min(least * (1 + _ALIKE), self.block.seconds)
        alike = [candidate for candidate in self.candidates if candidate.seconds <= most]
        return min(alike, key=lambda candidate: candidate.cut)

    @property
    def block(self) -> CandidateMapping:
        """Ranks in blocks, which the others are held against."""
        return self.candidates[0]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each candidate: its name, seconds, cut, and whether it is the best."""
        return {
            "name": [candidate.name for candidate in self.candidates],
            "seconds": [candidate.seconds for candidate in self.candidates],
            "cut": [candidate.cut for candidate in self.candidates],
            "best": [candidate is self.best for candidate in self.candidates],
        }

    def as_json(self) -> dict[str, Any]:
        """Return what ``commmodel place --json`` prints."""
        columns = self.to_dict()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for row in rows:
            row["seconds"] = row["seconds"] if np.isfinite(row["seconds"]) else None
        best = self.best
        return {
            "title": self.title,
            "platform": self.platform.name,
            "model": self.model,
            "processes": best.hosts.size,
            "bytes": self.total,
            "best": best.name,
            "seconds": best.seconds,
            "cut": best.cut,
            "hosts": [self.platform.host_names[host] for host in best.hosts.tolist()],
            "candidates": rows,
            "notes": [*self.notes],
        }

    def files(self) -> dict[str, str]:
        """Return name and content of the files that tell launchers the best mapping.

        They are ``hostfile`` for Slurm, ``rankfile`` for Open MPI and ``MPICH_RANK_ORDER``.
        """
        return launcher_files(self.platform, self.best.hosts)

    @checked
    def write(self, folder: str | os.PathLike[str], *, replace: bool = False) -> list[Path]:
        """Write the files into a folder, which is made where it is not there; return their paths.

        Parameters
        ----------
        folder : str or path
        replace : bool
            Whether files that are there already may be replaced.

        Raises
        ------
        InputError
            Where files are there already, and may not be replaced.
        """
        refuse_existing(folder, replace=replace)
        directory = Path(folder)
        directory.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, content in self.files().items():
            paths.append(directory / name)
            write_text(paths[-1], content)
        return paths


@checked
def map_ranks(
    program: "str | os.PathLike[str] | Recording | Workload",
    *,
    on: Where | Place,
    processes: Count | None = None,
    model: ProgramModel | None = None,
    per_node: Count | None = None,
    nodes: Sequence[str] | None = None,
    faster: Positive | None = None,
    workers: Count = 1,
) -> RankMapping:
    """Find where the ranks of a program should be, so that its traffic stays near, and simulate it there.

    Candidates are ranks in blocks, round-robin, and mappings that METIS makes: ranks are divided among nodes so that
    few bytes go between these, by halves or group by group of near nodes, and nodes are exchanged so that bytes take
    few links. Each is simulated, and the fastest is the best one, so that it is never slower than blocks.

    Parameters
    ----------
    program : str, path, Recording or Workload
        A recording, traces of another program, or a CSV file with sender, receiver and bytes, whose messages are all
        sent at once; or any workload.
    on : str, path, Platform, Machine or Place
        What `commmodel.simulate.scenario.place` takes; with a platform.
    processes : int, optional
        1 or more; of a CSV file, by default as many as occur in it; others than those of a recording extrapolate it.
    model : str, optional
        By default the place's; one of models in which messages share links.
    per_node : int, optional
        Ranks on each node, 1 or more; by default one for each core.
    nodes : sequence of str, optional
        Names of the nodes that there are, by default as many as are needed of the first ones.
    faster : float, optional
        How many times faster cores are than those of a recording or of traces in seconds, above 0.
    workers : int
        Simulations side by side, 1 or more.

    Raises
    ------
    MissingPackageError
        Without pymetis.
    InputError
        If there is no such program or platform, or there are more ranks than the nodes take.
    DeadlockError
        If the program waits for ever in blocks.

    Examples
    --------
    >>> from commmodel.simulate.platform import flat
    >>> from commmodel.simulate.scenario import place, workloads
    >>> four = place(flat(4, 1.25e9, 1e-6, cores=4, loopback=(1e10, 1e-7)))
    >>> halo = workloads.exchange(four, "halo", 65536, 16)
    >>> mapping = map_ranks(halo, on=four)
    >>> mapping.block.cut, mapping.best.cut <= mapping.block.cut, mapping.as_json()["processes"]
    (2097152.0, True, 16)
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in mapping.write(folder)]
    ['hostfile', 'rankfile', 'MPICH_RANK_ORDER']
    >>> len(mapping.files()["hostfile"].split())
    16
    """
    metis()
    where = place(on)
    platform = where.platform
    if platform is None:
        raise InputError(f"{where.name} has no nodes and links: name a platform")
    name = model or where.model or where.default_model
    if name not in FLOW_MODELS:
        raise InputError(f"the model {name} knows no links: take {', '.join(FLOW_MODELS)}")
    workload = _workload(where, program, processes, faster)
    if workload.runs or workload.schedule is not None:
        raise InputError("programs that run and GOAL schedules cannot be placed: record the program first")
    seats = block_seats(platform, workload.processes, _nodes(platform, nodes), per_node)
    traffic = _traffic(workload, platform, seats.hosts)
    distinct: dict[bytes, tuple[str, Hosts]] = {}
    for label, hosts in candidate_hosts(traffic.graph, seats, even_seats(seats, per_node)):
        distinct.setdefault(hosts.tobytes(), (label, hosts))
    scenario = partial(_scenario, where, workload, model)
    calls = [(hosts,) for _, hosts in distinct.values()]
    results = spread(partial(_run, scenario), calls, workers=workers, label="placing ranks")
    results[0].or_deadlock("raise")
    candidates = tuple(
        CandidateMapping(
            label, hosts, np.inf if result.blocked else result.seconds, traffic.between(platform.node_of[hosts])
        )
        for (label, hosts), result in zip(distinct.values(), results, strict=True)
    )
    notes = tuple(dict.fromkeys(note for result in results for note in result.notes))
    return RankMapping(workload.title, platform, results[0].model, candidates, float(traffic.bytes.sum()), notes)


def _workload(where: Place, program: Any, processes: int | None, faster: float | None) -> Workload:
    if isinstance(program, Workload):
        return program
    if isinstance(program, str | os.PathLike) and os.fspath(program).lower().endswith(".csv"):
        if faster is not None:
            raise refuse("faster", faster, "messages of a CSV file compute nothing: leave it out")
        return workloads.messages(os.fspath(program), processes)
    return replayed(where, program, processes, faster=faster)


def _nodes(platform: Platform, names: Sequence[str] | None) -> NDArray[np.int64]:
    """Return the numbers of the nodes that there are."""
    if names is None:
        return np.arange(platform.sockets.size or platform.hosts)
    number = {platform.node_name(host): int(platform.node_of[host]) for host in range(platform.hosts)}
    if unknown := [name for name in names if name not in number]:
        raise refuse("nodes", unknown[0], f"there is no such node on platform {platform.name!r}")
    if len({*names}) < len(names) or not names:
        raise refuse("nodes", names, "name each node once")
    return np.array([number[name] for name in names], np.int64)


def _traffic(workload: Workload, platform: Platform, hosts: Hosts) -> Traffic:
    """Return what ranks send to each other; where that depends on their hosts, in blocks."""
    on_hosts = workload if workload.on_hosts is None else workload.on_hosts(tuple(hosts.tolist()))
    return traffic_of(on_hosts.program(platform.speeds[hosts], 1.0))


def _scenario(where: Place, workload: Workload, model: ProgramModel | None, hosts: Hosts) -> Scenario:
    return prepare(where, workload, model, mapping=hosts.tolist())


def _run(scenario: Callable[[Hosts], Scenario], hosts: Hosts) -> SimulationResult:
    return scenario(hosts).run(deadlock="return")
