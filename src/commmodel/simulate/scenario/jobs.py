"""Several jobs at once on one platform, and how they slow each other down. Main entries: `run_jobs`, `JobRuns`.

A job is a workload with ranks of its own, on nodes of its own unless a file or a list says where each rank is. All
jobs begin at time 0. Each is also simulated alone in the same place, so that what differs comes from the other jobs.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import Count, Whole, integer, refuse
from commmodel.choices import JobPlacement, ProgramModel
from commmodel.errors import InputError
from commmodel.frames import Tabular
from commmodel.signatures import checked
from commmodel.simulate.operations import Program
from commmodel.simulate.platform import Platform
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.scenario.places import Place
from commmodel.simulate.scenario.preparation import FLOW_MODELS, host_names, prepare
from commmodel.simulate.scenario.scale import Scale
from commmodel.simulate.scenario.workloads import Workload
from commmodel.simulate.work import concurrent
from commmodel.units import counted
from commmodel.values import Value

LEAST_JOBS, MOST_JOBS = 2, 8
_MOST_LINKS = 8
Hosts = NDArray[np.int32]


class JobRun(NamedTuple):
    """One of several jobs."""

    title: str
    hosts: Hosts
    """Of its ranks, shape (processes,)."""
    nodes: int
    """That it is on."""
    seconds: float
    """Until its last rank ends beside the other jobs; infinite where it never does."""
    alone: SimulationResult
    """In the same place without the other jobs."""

    @property
    def slowdown(self) -> float:
        """Time beside the other jobs by that without them; 1 where a job takes no time."""
        return self.seconds / self.alone.seconds if self.alone.seconds > 0 else 1.0


class SharedLink(NamedTuple):
    """A link that several jobs use."""

    name: str
    bytes: tuple[float, ...]
    """Of each job."""
    share: float
    """Of its capacity until the last job ends, all jobs together."""
    seconds: float
    """That the link needs for the bytes of all jobs but the one with the most there."""


@dataclass(frozen=True)
class JobRuns(Tabular, Value):
    """Jobs beside each other on one platform, and each of them alone."""

    jobs: tuple[JobRun, ...]
    result: SimulationResult
    """Of all jobs at once; the ranks of the second follow those of the first."""
    platform: Platform
    placement: str
    seed: int
    """Of a random placement."""

    @property
    def notes(self) -> list[str]:
        """Notes on the results."""
        return [*dict.fromkeys(note for result in (self.result, *self._alone) for note in result.notes)]

    @property
    def _alone(self) -> list[SimulationResult]:
        return [job.alone for job in self.jobs]

    @property
    def shared_links(self) -> list[SharedLink]:
        """Links of several jobs, those first where jobs bring each other the most seconds of traffic."""
        carried = np.array([result.link_bytes for result in self._alone])
        work = np.array([result.link_work for result in self._alone]) / self.platform.capacity
        disturbance = work.sum(axis=0) - work.max(axis=0)
        users = (carried > 0).sum(axis=0)
        order = np.lexsort((np.arange(disturbance.size), -disturbance))
        shares = self.result.link_work / self.platform.capacity / (self.result.seconds or 1.0)
        return [
            SharedLink(
                self.platform.link_names[link], tuple(carried[:, link].tolist()), float(shares[link]),
                float(disturbance[link]),
            )
            for link in order[users[order] > 1].tolist()
        ]  # fmt: skip

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each job: title, processes, nodes, seconds, seconds alone and slowdown."""
        return {
            "title": [job.title for job in self.jobs],
            "processes": [job.hosts.size for job in self.jobs],
            "nodes": [job.nodes for job in self.jobs],
            "seconds": [job.seconds for job in self.jobs],
            "alone_seconds": [job.alone.seconds for job in self.jobs],
            "slowdown": [job.slowdown for job in self.jobs],
        }

    def as_json(self) -> dict[str, Any]:
        """Return what ``commmodel simulate WHERE jobs --json`` prints."""
        columns = self.to_dict()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for row, job in zip(rows, self.jobs, strict=True):
            row["hosts"] = [self.platform.host_names[host] for host in job.hosts.tolist()]
            if self.result.blocked:
                row["seconds"] = row["slowdown"] = None
        return {
            "seconds": None if self.result.blocked else self.result.seconds,
            "messages": self.result.messages,
            "events": self.result.events,
            "wall_seconds": self.result.wall_seconds,
            "model": self.result.model,
            "platform": self.result.where,
            "placement": self.placement,
            "seed": self.seed,
            "jobs": rows,
            "links": [link._asdict() for link in self.shared_links[:_MOST_LINKS]],
        }


@checked
def job_hosts(
    platform: Platform,
    sizes: Sequence[int],
    placement: JobPlacement | str | os.PathLike[str] | Sequence[int] | Sequence[str] = "block",
    *,
    per_node: Count | None = None,
    seed: Whole = 1,
) -> list[Hosts]:
    """Return the host of each rank of each job.

    Parameters
    ----------
    platform : Platform
    sizes : sequence of int
        Ranks of each job.
    placement : str, path or sequence
        Which nodes jobs get, each those that no other one has: ``block``, the next ones; ``round-robin``, one in turn
        until each has enough; ``random``, any. Or the number or name of each rank's host, the ranks of the second job
        behind those of the first, in a list or a file with one on each line.
    per_node : int, optional
        Ranks of a job on each of its nodes, 1 or more; by default as many as the node has cores.
    seed : int
        Of a random placement.

    Raises
    ------
    InputError
        If there is no room for all jobs, no such host, or more or fewer hosts than ranks.

    Examples
    --------
    >>> from commmodel.simulate.platform import flat
    >>> four = flat(hosts=4, bandwidth=125e6, latency=15e-6, cores=2)
    >>> [hosts.tolist() for hosts in job_hosts(four, [4, 3], "round-robin")]
    [[0, 0, 2, 2], [1, 1, 3]]
    >>> [hosts.tolist() for hosts in job_hosts(four, [2, 1], "random", per_node=1)]
    [[0, 1], [2]]
    """
    total, cores = sum(sizes), int(platform.cores.sum())
    if isinstance(placement, str) and placement in get_args(JobPlacement):
        if total > cores and per_node is None:
            raise InputError(f"{total} ranks of {len(sizes)} jobs on {cores} cores of platform {platform.name!r}")
        return _on_nodes_of_their_own(platform, sizes, placement, per_node, seed)
    if per_node is not None:
        raise InputError("`per_node` goes with block, round-robin and random: hosts are given rank by rank")
    if not isinstance(placement, str | os.PathLike):
        names: Sequence[Any] = placement
    else:
        names = host_names(placement, JobPlacement, "placement")
    if len(names) != total:
        raise refuse("placement", placement, f"{counted(len(names), 'host')} for {total} ranks: name the host of each")
    hosts: list[Hosts] = np.split(platform.place(total, names), np.cumsum(sizes)[:-1])
    return hosts


def _on_nodes_of_their_own(
    platform: Platform, sizes: Sequence[int], placement: str, per_node: int | None, seed: int
) -> list[Hosts]:
    nodes = np.arange(platform.sockets.size or platform.hosts)
    if placement == "random":
        nodes = np.random.default_rng(seed).permutation(nodes)
    seated: list[list[Hosts]] = [[] for _ in sizes]
    left, queue = [*sizes], iter(nodes.tolist())
    job = 0
    while any(count > 0 for count in left):
        while left[job] <= 0:
            job = (job + 1) % len(sizes)
        node = next(queue, None)
        if node is None:
            ranks = " and ".join(map(str, sizes))
            kind = counted(nodes.size, "node") if per_node is None else f"{nodes.size} nodes with {per_node} ranks each"
            problem = f"jobs of {ranks} ranks, each on nodes of its own, do not fit on platform {platform.name!r}"
            raise InputError(f"{problem} of {kind}: take fewer, or name the host of each rank with `placement`")
        seated[job].append(platform.seats(node, per_node))
        left[job] -= seated[job][-1].size
        if placement == "round-robin":
            job = (job + 1) % len(sizes)
    return [np.concatenate(hosts)[:size] for hosts, size in zip(seated, sizes, strict=True)]


def jobs_workload(workloads: Sequence[Workload]) -> Workload:
    """Return several workloads at once as one; the ranks of the second follow those of the first."""
    ends = np.cumsum([workload.processes for workload in workloads])[:-1]

    def program(speeds: Any, faster: float) -> Program:
        parts = np.split(np.asarray(speeds), ends)
        return concurrent([work.program(part, faster) for work, part in zip(workloads, parts, strict=True)])

    def notes() -> list[str]:
        return [note for workload in workloads for note in workload.notes()]

    title = f"{counted(len(workloads), 'job')} on {counted(sum(work.processes for work in workloads), 'rank')}"
    facts = {"jobs": [workload.facts for workload in workloads]}
    return Workload(sum(work.processes for work in workloads), title, program, facts, notes=notes)


@checked
def run_jobs(
    place: Place,
    workloads: Sequence[Workload],
    model: ProgramModel | None = None,
    *,
    placement: JobPlacement | str | os.PathLike[str] | Sequence[int] | Sequence[str] = "block",
    per_node: Count | None = None,
    seed: Whole = 1,
    speed: float | None = None,
    scale: Scale | None = None,
) -> JobRuns:
    """Simulate several workloads at once on one platform, and each of them alone in the same place.

    Parameters
    ----------
    place : Place
        With a platform, whose links jobs share.
    workloads : sequence of Workload
        2 to 8 jobs; none that runs while it is simulated, and no GOAL schedule.
    model : str, optional
        By default the place's; one of models in which messages share links.
    placement, per_node, seed
        As of `job_hosts`.
    speed, scale
        As of `commmodel.simulate.scenario.prepare`.

    Returns
    -------
    JobRuns
        Where jobs deadlock, the result says so: its `blocked` names the ranks.

    Raises
    ------
    InputError
        If there are too few or too many jobs, no room for them, or no links that they share.

    Examples
    --------
    Two rings that are dealt nodes in turn share no link of a switch:

    >>> from commmodel.simulate.scenario import place, run_jobs, workloads
    >>> switch = place("switch")
    >>> ring = workloads.exchange(switch, "ring", 65536, 16)
    >>> runs = run_jobs(switch, [ring, ring], placement="round-robin")
    >>> runs.to_dict()["slowdown"], runs.as_json()["placement"]
    ([1.0, 1.0], 'round-robin')
    """
    if not LEAST_JOBS <= len(workloads) <= MOST_JOBS:
        few = " (commmodel simulate WHERE replay simulates one)" if len(workloads) == 1 else ""
        raise InputError(f"{counted(len(workloads), 'job')}: give {LEAST_JOBS} to {MOST_JOBS}{few}")
    if any(workload.runs or workload.schedule is not None for workload in workloads):
        raise InputError("programs that run and GOAL schedules are no jobs among others: give recordings or traces")
    integer("seed", seed, 0)
    if place.platform is None:
        raise InputError(f"{place.name} has no links that jobs could share: name a platform")
    name = model or place.model or place.default_model
    if name not in FLOW_MODELS:
        models = ", ".join(FLOW_MODELS)
        raise InputError(f"by the model {name} jobs do not disturb each other, as it knows no links: take {models}")
    sizes = [workload.processes for workload in workloads]
    hosts = job_hosts(place.platform, sizes, placement, per_node=per_node, seed=seed)
    on_hosts = [
        workload if workload.on_hosts is None else workload.on_hosts(tuple(part.tolist()))
        for workload, part in zip(workloads, hosts, strict=True)
    ]
    how: dict[str, Any] = {"speed": speed, "scale": scale}
    union = jobs_workload(on_hosts)
    scenario = prepare(place, union, model, mapping=np.concatenate(hosts).tolist(), **how)
    result = scenario.run(deadlock="return")
    alone = [
        prepare(place, workload, model, mapping=part.tolist(), **how).run(deadlock="return")
        for workload, part in zip(on_hosts, hosts, strict=True)
    ]
    hanging = {blocked.rank for blocked in result.blocked}
    jobs, first = [], 0
    for workload, part, single in zip(on_hosts, hosts, alone, strict=True):
        ranks = range(first, first := first + part.size)
        seconds = np.inf if hanging.intersection(ranks) else float(result.ends[ranks.start : ranks.stop].max())
        nodes = np.unique(place.platform.node_of[part]).size
        jobs.append(JobRun(workload.title, part, nodes, seconds, single))
    rule = placement if isinstance(placement, str) else "hosts of ranks"
    return JobRuns(tuple(jobs), result, scenario.platform or place.platform, rule, seed)
