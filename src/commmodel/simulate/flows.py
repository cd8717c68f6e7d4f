"""Simulation on a platform with shared links: the hybrid model, the fluid model, SMPI's model.

The source of the model is Bédaride et al. 2013, Section IV; `docs/theory/simulation.md` says what each call does, and
in which order things happen. The engine is `commmodel._core.flows.engine`. Main entry: `simulated`, which
`commmodel.simulate.run` calls.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel._core.flows import engine
from commmodel.arguments import finite
from commmodel.choices import Slopes
from commmodel.errors import InputError
from commmodel.simulate.network import Factor, Network, Overhead
from commmodel.simulate.operations import Program
from commmodel.simulate.result import SimulationResult, from_record
from commmodel.simulate.symmetry import Symmetry, by_symmetry, on_platform

if TYPE_CHECKING:
    from commmodel.simulate.platform import Platform

_MOST_STEPS = 1 << 26
"""To walk back over for derivatives: 24 bytes each."""


def simulated(
    program: Program,
    network: Network,
    platform: "Platform",
    hosts: ArrayLike | None,
    record: bool,
    progress: Callable[[float, int], None] | None = None,
    slopes: Slopes | None = None,
) -> SimulationResult:
    """Simulate a program on links; parameters, result and errors are those of `commmodel.simulate.run`.

    Two hosts on a switch, links of 125 MB/s with 15 µs each; one message of 100 kB.

    >>> import numpy as np
    >>> from commmodel.simulate import Program, OPERATION, Code, fluid, platform
    >>> there = np.array([(Code.SEND, 1, 0, -1, 1e5)], dtype=OPERATION)
    >>> here = np.array([(Code.RECV, 0, 0, -1, 1e5)], dtype=OPERATION)
    >>> two = platform.flat(2, bandwidth=125e6, latency=15e-6)
    >>> round(simulated(Program.from_ranks([there, here]), fluid(), two, None, False).seconds, 9)
    0.00083
    """
    _check(network)
    places = platform.place(program.processes) if hosts is None else np.asarray(hosts)
    if places.shape != (program.processes,) or places.dtype.kind not in "iu":
        raise InputError(f"hosts: expected {program.processes} numbers of hosts, one for each rank")
    if places.size and (int(places.min()) < 0 or int(places.max()) >= 2**31):
        raise InputError("hosts: numbers of hosts begin with 0")
    platform.refuse_hosts(places, compute=True)
    numbers = places.tolist() if program.is_live else []
    named_hosts = [(int(platform.node_of[host]), platform.node_name(host)) for host in numbers]
    sockets = [int(host - np.searchsorted(platform.node_of, platform.node_of[host])) for host in numbers]
    words = f"{platform.name}, model {network.name.partition(',')[0]}"
    program.begin(named_hosts, words, sockets if platform.sockets.size else ())
    begin = time.perf_counter()
    by_number = places.astype(np.int32)

    def simulate(part: Program, symmetry: Symmetry | None = None) -> dict[str, Any]:
        return engine.run(
            platform.routing(), by_number, part.operations, part.offsets, part.restarted(), network, record, progress,
            0 if slopes is None or symmetry is not None else _MOST_STEPS, symmetry,
        )  # fmt: skip

    # Derivatives are of all ranks: a program that does without them because it is long would take too many steps.
    record_of_run = None
    if not (record or program.is_live or (slopes is not None and program.refill is None)):
        record_of_run = by_symmetry(on_platform(platform, places, network), program, simulate)
    if record_of_run is None:
        record_of_run = simulate(program)
    result = from_record(record_of_run, network.name, time.perf_counter() - begin, place=program.place)
    if slopes is not None and not result.blocked:
        result = _with_gradient(result, record_of_run["slopes"], platform)
    platform.refuse_changes(places, result.seconds)
    return result


def _with_gradient(result: SimulationResult, slopes: NDArray[np.float64], platform: "Platform") -> SimulationResult:
    from commmodel.simulate.gradient import from_slopes

    if not slopes.size:
        why = f"the run has over {_MOST_STEPS} steps, or some of its ranks stood for all"
        return replace(result, notes=(*result.notes, f"no derivatives: {why}"))
    return replace(result, gradient=from_slopes(slopes, platform))


def _check(network: Network) -> None:
    """Raise where parameters give no valid times."""
    numbers = (
        "header", "window", "capacity_weight", "penalty_without_latency", "cross_traffic", "send_buffer",
        "answer_latency", "variation", "unevenness",
    )  # fmt: skip
    for name in numbers:
        finite(f"network {network.name!r}: {name}", getattr(network, name), 0)
    if max(network.variation, network.unevenness) >= 1:
        raise InputError(f"network {network.name!r}: variation and unevenness must be below 1")
    for name in ("eager_limit", "detached_limit"):
        if not isinstance(getattr(network, name), int | float) or np.isnan(getattr(network, name)):
            raise InputError(f"network {network.name!r}: {name} is not a number")
    for name in ("send", "isend", "receive", "message_gaps"):
        pieces: tuple[Overhead, ...] = getattr(network, name)
        _check_limits(network, name, (piece.limit for piece in pieces))
        if any(not (0 <= piece.constant < np.inf and 0 <= piece.per_byte < np.inf) for piece in pieces):
            raise InputError(f"network {network.name!r}: {name}: overheads must be numbers from 0 on")
    for name in ("latency_factors", "bandwidth_factors"):
        factors: tuple[Factor, ...] = getattr(network, name)
        _check_limits(network, name, (factor.limit for factor in factors))
        if any(not 0 < factor.value < np.inf for factor in factors):
            raise InputError(f"network {network.name!r}: {name} must be above 0")


def _check_limits(network: Network, name: str, limits: Iterable[float]) -> None:
    last = -np.inf
    for limit in limits:
        if not limit > last:
            raise InputError(f"network {network.name!r}: {name}: limits must rise, {limit} follows {last}")
        last = limit
