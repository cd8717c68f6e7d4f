"""What to shorten first: call sites on a critical path, and the time of the run without them. Main entry: `gains`."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from commmodel._core.common.codes import PathKind
from commmodel.arguments import Count
from commmodel.signatures import checked
from commmodel.simulate.critical_path.marking import without_sites
from commmodel.simulate.critical_path.path import CriticalPath
from commmodel.simulate.scenario import Scenario
from commmodel.simulate.workers import spread
from commmodel.values import OneLine


@dataclass(frozen=True)
class SiteGain(OneLine):
    """A call site, and what shortening it gains."""

    site: str
    computation: float
    """Seconds of the path that are computation before its calls."""
    communication: float
    """Seconds of the path in its calls, and of their messages."""
    gain: float
    """Seconds by which the run is shorter if that computation takes no time and those messages have no bytes: less than
    both together where another path is nearly as long."""


@checked
def gains(scenario: Scenario, path: CriticalPath, most: Count = 5, *, workers: Count = 1) -> list[SiteGain]:
    """Return the call sites that take most of a critical path, and what shortening each gains: a simulation each.

    Parameters
    ----------
    scenario : Scenario
        Whose run has the path; not a program that runs while it is simulated, which is not run again.
    path : CriticalPath
    most : int
        Sites that are tried, 1 or more.
    workers : int
        Simulations side by side, 1 or more.

    Returns
    -------
    list of SiteGain
        The largest gain first; empty where no call sites are known.

    Examples
    --------
    >>> from commmodel.simulate.critical_path import critical_path, with_steps
    >>> from commmodel.simulate.scenario import place, prepare, workloads
    >>> delays = place("L=4us,o=1us,G=1ns")
    >>> ring = prepare(delays, workloads.exchange(delays, "ring", 65536, 4))
    >>> gains(ring, critical_path(ring.run(record=True, change=with_steps)))  # no call sites: it is no recording
    []
    """
    segments = path.segments[path.segments["site"] >= 0]
    if not segments.size or scenario.workload.runs:
        return []
    lengths = segments["end"] - segments["start"]
    is_computation = np.isin(segments["kind"], (PathKind.COMPUTATION, PathKind.SLEEP))
    computation = np.bincount(segments["site"], lengths * is_computation)
    communication = np.bincount(segments["site"], lengths * ~is_computation)
    chosen = np.argsort(-(computation + communication), kind="stable")[:most].tolist()
    calls = [(site,) for site in chosen]
    seconds = spread(partial(_seconds_without, scenario), calls, workers=workers, label="call sites")
    rows = [
        SiteGain(path.sites[site], float(computation[site]), float(communication[site]), max(path.seconds - time, 0.0))
        for site, time in zip(chosen, seconds, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.gain)


def _seconds_without(scenario: Scenario, site: int) -> float:
    result = scenario.run(change=partial(without_sites, sites=frozenset([site])), deadlock="return")
    return result.seconds
