"""Time of a choice of messages and bursts, and of a surface: ``python -m benchmarks.speed.overlap_surfaces``.

First `commmodel.optimize.choose` on a loaded machine, after a first call that compiles: the median of single calls, for
each kind of problem with the volume of the call before and with a new one. Wanted: less than 100 us. And the processor
time of a fresh process that makes one choice, which loads no compiler, beside one that imports numpy alone.

Then `commmodel.optimize.surface`, ten million times of pipelined transfers by the paper's equations, against the same
formulas in numpy, a volume at a time, as all at once numpy would need a gigabyte for its steps. Both write to the same
array, made beforehand. In each round every contestant runs once, in shuffled order; a ratio is taken within a round.
"surface, bounded" has the bounds of one processor and one port as well; "surface again" is the control: what its ratio
to "surface" is off from one by, this machine cannot tell apart.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from benchmarks.speed.model_surfaces import interleaved, line
from msgspec.structs import replace
from numpy.typing import NDArray

from commmodel.machine import (
    BandwidthProfile,
    Limit,
    LogGP,
    Machine,
    OverlapProfile,
    Parameter,
    ParameterTable,
    PLogP,
    Segment,
)
from commmodel.optimize import Candidates, MessageCosts, SurfaceAxes, TransferProblem, choose, search, surface

VOLUME, COMPUTATION = 1 << 20, 5e-4
OVERHEAD, LATENCY, BYTE_TIME = 2e-6, 10e-6, 1 / 900e6  # Iancu 2007, Section 2.1 and Figure 3, Infiniband, about
SURFACE = (10, 20, 50, 1000)
WANTED_CHOICE, WANTED_RATE = 100e-6, 1e8
FRESH_CHOICE = f"""
from commmodel.optimize import MessageCosts, TransferProblem, choose
choose(MessageCosts(overhead={OVERHEAD}, latency={LATENCY}, byte_time={BYTE_TIME}), TransferProblem({VOLUME}, 5e-4))
"""
PROBLEMS: dict[str, tuple[dict[str, Any], Candidates, MessageCosts]] = {
    "point-to-point": ({}, Candidates(), MessageCosts()),
    "any implementation": ({}, Candidates("any"), MessageCosts()),
    "fine grid": ({}, Candidates(grid="fine"), MessageCosts()),
    "fine grid, any implementation": ({}, Candidates("any", "fine"), MessageCosts()),
    "sizes and bursts given": (
        {},
        Candidates(sizes=tuple(range(3000, 90001, 3000)), bursts=(1, 2, 4, 8)),
        MessageCosts(),
    ),
    "several end points, interleaved": (
        {"pattern": "multiple-end-points-interleaved", "peers": 8},
        Candidates(),
        MessageCosts(),
    ),
    "all to all, measured rule": (
        {"pattern": "all-to-all-contiguous", "peers": 8},
        Candidates(rule="measured"),
        MessageCosts(),
    ),
    "numbers given": ({}, Candidates(), MessageCosts(overhead=OVERHEAD, latency=LATENCY, byte_time=BYTE_TIME)),
}


def parameter(value: float) -> Parameter:
    """Return a parameter with an interval."""
    return Parameter(value, "", 0.9 * value, 1.1 * value)


def machines() -> dict[str, Machine]:
    """Return what a machine may know: LogGP with intervals, a pLogP table, or profiles of overlap and bandwidth."""
    loggp = [LogGP(*map(parameter, numbers)) for numbers in ((5e-6, 1e-6, 1e-6, 1e-9), (9e-6, 2e-6, 2e-6, 8e-10))]
    segments = (Segment("eager", limit=Limit(8192), loggp=loggp[0]), Segment("rendezvous", loggp=loggp[1]))
    column = (1e-6, 1e-6, 2e-6)
    plogp = PLogP(Parameter(3e-6), (0, 1024, 1 << 20), column, column, (2e-6, 2e-6, 1e-3))
    sizes, bursts = tuple(4.0**step for step in range(5, 12)), tuple(2.0**step for step in range(7))
    profile = OverlapProfile(
        L=parameter(LATENCY),
        overhead=ParameterTable(
            sizes, bursts, tuple(tuple(1e-6 + 1e-12 * size / burst for burst in bursts) for size in sizes)
        ),
        progress=ParameterTable(sizes, bursts, tuple(tuple(0.5 + 0.5 / burst for burst in bursts) for _ in sizes)),
        queue_depth=64,
        outstanding_volume=4 << 20,
    )
    byte_times = tuple(tuple(1e-9 * peers**0.5 for peers in (2, 4, 8)) for _ in sizes)
    bandwidth = BandwidthProfile("cross", "both-ways", ParameterTable(sizes, (2, 4, 8), byte_times))
    return {
        "LogGP": Machine("m", segments),
        "pLogP": Machine("m", (Segment("all"),), plogp=(plogp,)),
        "profiles": Machine("m", segments, overlap=(profile,), bandwidth=(bandwidth,)),
    }


def choices(calls: int) -> Iterator[tuple[str, list[float], list[float]]]:
    """Yield (problem, seconds of each call with the same volume, with a new one)."""
    _ = search.search.compiled, search.look_up.compiled, search.interpolate.compiled  # few choices alone would not
    for title, machine in machines().items():
        for name, (options, candidates, costs) in PROBLEMS.items():
            network = replace(costs, machine=machine)
            choose(network, TransferProblem(VOLUME, COMPUTATION, **options), candidates)
            seconds: list[list[float]] = [[], []]
            for step in range(calls):
                for kind, volume in enumerate((VOLUME, VOLUME + 1 + step)):
                    start = time.perf_counter()
                    choose(network, TransferProblem(volume, COMPUTATION, **options), candidates)
                    seconds[kind].append(time.perf_counter() - start)
            yield f"{title}, {name}", *seconds


def fresh_process(code: str, rounds: int = 5) -> float:
    """Return the least processor time, in seconds, of processes that run some code."""
    command = [sys.executable, "-c", f"{code}\nimport time\nprint(time.process_time())"]
    return min(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(rounds))


def contestants() -> dict[str, Callable[[], NDArray[np.float64]]]:
    """Return name -> a call that fills the array at hand."""
    V, S = np.geomspace(1e6, 1e8, SURFACE[0]).round(), np.geomspace(1e3, 1e6, SURFACE[1]).round()
    b, t = np.arange(1.0, SURFACE[2] + 1), np.geomspace(1e-5, 1, SURFACE[3])
    o, L, G = OVERHEAD, LATENCY, BYTE_TIME
    network, axes, at_hand = (
        MessageCosts(overhead=o, latency=L, byte_time=G),
        SurfaceAxes(V, S, b, t),
        np.zeros(SURFACE),
    )

    def compiled() -> NDArray[np.float64]:
        return surface(network, axes, model="paper", out=at_hand)

    def bounded() -> NDArray[np.float64]:
        return surface(network, axes, out=at_hand)

    def in_numpy() -> NDArray[np.float64]:
        for row, volume in enumerate(V):
            messages = np.ceil(volume / S)[:, None, None]
            size = volume / messages
            burst = messages / np.ceil(messages / b[:, None])
            bursts = volume / size / burst
            communication = (o + L) * np.maximum(1.0, bursts * (t / (G * volume))) + volume * G + t * size / volume
            computation = (o + L + size * G) + t + o * burst * np.maximum(0.0, bursts - 2.0)
            slower = np.where(volume * G > t, np.maximum(communication, computation), computation)
            hides = volume * G - t - volume / size * o > 0.0
            at_hand[row] = np.where(hides, communication, slower)
        return at_hand

    expected = in_numpy().copy()
    at_hand.fill(np.nan)
    if not np.allclose(compiled(), expected, rtol=1e-13, atol=0.0):
        raise AssertionError("surface and numpy disagree")
    return {"surface": compiled, "surface again": compiled, "surface, bounded": bounded, "numpy": in_numpy}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time choices of messages and bursts, and a surface of their times.")
    parser.add_argument("--calls", type=int, default=300, help="of each problem (300)")
    parser.add_argument("--rounds", type=int, default=21, help="of the surface (21)")
    parser.add_argument("--seed", type=int, default=1, help="of the order (1)")
    arguments = parser.parse_args()
    print(f"Choice: median of {arguments.calls} calls with the same volume, and with a new one each time")
    slowest = 0.0
    for name, *seconds in choices(arguments.calls):
        repeated, new = (1e6 * float(np.median(second)) for second in seconds)
        print(f"  {name:44} {repeated:6.1f} us {new:6.1f} us")
        slowest = max(slowest, repeated, new)
    print(f"  {'slowest':44} {slowest:6.1f} us            wanted: below {WANTED_CHOICE * 1e6:.0f} us")
    choice, numpy_alone = map(fresh_process, (FRESH_CHOICE, "import numpy"))
    print(f"One choice in a fresh process: {choice:.2f} s of processor time; import numpy: {numpy_alone:.2f} s")
    shape = " x ".join(map(str, SURFACE))
    print(
        f"Surface of {shape} volumes, sizes, bursts and computations, {arguments.rounds} rounds: median [95 % interval]"
    )
    times = interleaved(contestants(), arguments.rounds, arguments.seed)
    for name, values in times.items():
        print(line(name, values, "ms", 1e3))
    meanings = {"surface again": "control", "surface, bounded": "for the record", "numpy": "for the record"}
    for other, meaning in meanings.items():
        ratios = [above / below for above, below in zip(times[other], times["surface"], strict=True)]
        print(line(f"{other} / surface", ratios, "  "), f" {meaning}")
    for name in ("surface", "surface, bounded"):
        rates = [np.prod(SURFACE) / time for time in times[name]]
        print(line(name, rates, "million/s", 1e-6), f" wanted: at least {WANTED_RATE / 1e6:.0f}")


if __name__ == "__main__":
    main()
