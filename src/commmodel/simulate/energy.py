"""Energy and price of a run, by the power of hosts. Main entry: `energy_use`.

The model is that of SimGrid's plugin host_energy (Heinrich and others 2017): a host takes its idle power while none of
its ranks computes, and else a power that is linear in the share of its cores that do. Ranks that wait compute nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import State
from commmodel.frames import Tabular
from commmodel.simulate.platform import Platform
from commmodel.simulate.result import SimulationResult
from commmodel.values import Value

_HOUR = 3600.0


@dataclass(frozen=True)
class EnergyUse(Tabular, Value):
    """Energy that the hosts of a platform take until the last rank ends, and the price of those that ranks are on."""

    joules: NDArray[np.float64]
    """Of each host, shape (hosts,); NaN where its power is not known."""
    is_used: NDArray[np.bool_]
    """Whether ranks are on it, shape (hosts,)."""
    price: float | None = None
    """Of all hosts that ranks are on; None where that of one of them is not known."""

    @property
    def used_joules(self) -> float | None:
        """Of all hosts that ranks are on; None where that of one of them is not known."""
        joules = self.joules[self.is_used]
        return None if not joules.size or np.isnan(joules).any() else float(joules.sum())

    @property
    def idle_joules(self) -> float:
        """Of the hosts that no ranks are on, as far as it is known."""
        return float(np.nansum(self.joules[~self.is_used]))

    def as_json(self) -> dict[str, Any] | None:
        """Return what ``commmodel simulate --json`` prints of it; None where no power is known."""
        if np.isnan(self.joules).all():
            return None
        joules = [None if np.isnan(value) else value for value in self.joules.tolist()]
        return {"used": self.used_joules, "idle": self.idle_joules, "hosts": joules}

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each host: its number, its joules, and whether ranks are on it."""
        return {"host": [*range(self.joules.size)], "joules": self.joules.tolist(), "is_used": self.is_used.tolist()}


def has_costs(platform: Platform) -> bool:
    """Whether power or price of hosts are known."""
    return bool(platform.watts.size or platform.prices.size)


def needs_intervals(platform: Platform, hosts: NDArray[np.integer[Any]]) -> bool:
    """Whether it matters when ranks compute: where several are on a host whose power is known."""
    return bool(platform.watts.size) and bool((np.bincount(hosts) > 1).any())


def energy_use(platform: Platform, hosts: NDArray[np.integer[Any]], result: SimulationResult) -> EnergyUse:
    """Return the energy and the price of a run.

    Parameters
    ----------
    platform : Platform
        With `watts` or `prices`.
    hosts : int array, shape (processes,)
        Host of each rank.
    result : SimulationResult
        With its intervals, where several ranks are on a host.

    Examples
    --------
    Two hosts of 100 W with nothing to do and 200 W at work, on which a rank computes for one of two seconds:

    >>> from commmodel.simulate import OPERATION, Code, Program, fluid, run
    >>> from commmodel.simulate.platform import flat
    >>> two = flat(2, 125e6, 15e-6, power=(100.0, 200.0, 200.0), price=3.6)
    >>> ranks = [np.array([(Code.COMPUTE, 0, 0, -1, seconds)], OPERATION) for seconds in (1.0, 2.0)]
    >>> result = run(Program.from_ranks(ranks), fluid(), two)
    >>> use = energy_use(two, np.array([0, 1]), result)
    >>> use.joules.tolist(), use.price, use.as_json()["used"]
    ([300.0, 400.0], 0.004, 700.0)
    """
    count, seconds = platform.hosts, result.seconds
    is_used = np.zeros(count, np.bool_)
    is_used[hosts] = True
    joules = np.full(count, np.nan)
    if platform.watts.size:
        idle, epsilon, full, _ = platform.watts.T
        busy, load = _busy(platform, hosts, result)
        joules = idle * (seconds - busy) + epsilon * busy + (full - epsilon) * load
    price = None
    if platform.prices.size:
        total = float(platform.prices[is_used].sum()) * seconds / _HOUR
        price = None if np.isnan(total) else total
    return EnergyUse(joules, is_used, price)


def _busy(
    platform: Platform, hosts: NDArray[np.integer[Any]], result: SimulationResult
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for each host the seconds in which any of its ranks computes, and the integral of its load."""
    busy = np.bincount(hosts, result.spent[:, State.COMPUTE], platform.hosts).astype(np.float64)
    load = busy / platform.cores
    crowded = np.bincount(hosts, minlength=platform.hosts) > 1
    rows = result.intervals[result.intervals["state"] == State.COMPUTE]
    rows = rows[crowded[hosts[rows["rank"]]]]
    busy[crowded] = load[crowded] = 0.0
    where = hosts[rows["rank"]]
    times = np.concatenate([rows["start"], rows["end"]])
    places = np.concatenate([where, where])
    steps = np.repeat([1, -1], rows.size)
    order = np.lexsort((times, places))
    times, places, running = times[order], places[order], np.cumsum(steps[order])
    lasting = np.where(places[1:] == places[:-1], np.diff(times), 0.0)
    of_host, active = places[:-1], running[:-1]
    busy += np.bincount(of_host, lasting * (active > 0), platform.hosts)
    load += np.bincount(of_host, lasting * np.minimum(active / platform.cores[of_host], 1.0), platform.hosts)
    return busy, load
