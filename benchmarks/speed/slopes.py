"""What derivatives cost: ``python -m benchmarks.speed.slopes``.

Each case is run in turn, in shuffled order: plain, with derivatives, and plain once more, the control. By delay models
these are the derivatives of all ranks' ends; where messages share links, those of the last end by all links and hosts.
A ratio is that of processor times within a round. What makes the operations is not counted.
"""

import argparse
import random
import time
from collections.abc import Callable

from commmodel.collectives import Problem
from commmodel.simulate import SMPI, DelayModel, DelayParameters, Network, run
from commmodel.simulate.platform import Platform, cabinets, flat, torus
from commmodel.simulate.scenario import place, workloads
from commmodel.statistics import summarise

PARAMETERS = DelayParameters(L=2.5e-6, o=1.5e-6, g=1e-6, G=6e-12, S=65536)
WHERE = place("L=2500ns,o=1500ns,g=1us,G=6ps")
CASES: dict[str, tuple[str, Callable[[], workloads.Workload]]] = {
    "alltoall, linear, 512 ranks": (
        "loggp", lambda: workloads.collective(WHERE, "alltoall", Problem(512, 1000), algorithm="linear")
    ),
    "dissemination, 1024 ranks, 10 times": (
        "loggp", lambda: workloads.collective(WHERE, "barrier", Problem(1024), algorithm="dissemination", rounds=10)
    ),
    "halo in 3 dimensions, 4096 ranks, 10 times": (
        "loggps", lambda: workloads.exchange(WHERE, "halo", 100_000, 4096, dimensions=3, rounds=10)
    ),
    "LU, class W, 64 ranks": ("loggp", lambda: workloads.application(WHERE, "lu", "W", 64, iterations=20)),
}  # fmt: skip
"""Name -> model, workload."""
SHARED: dict[str, tuple[Callable[[], Platform], Callable[[], workloads.Workload]]] = {
    "alltoall, linear, 128 ranks, cabinets": (
        lambda: cabinets([32] * 4, 1.25e9, 2e-6, (5e9, 2e-6)),
        lambda: workloads.collective(WHERE, "alltoall", Problem(128, 20_000), algorithm="linear"),
    ),
    "irregular, 1024 ranks, torus": (
        lambda: torus([8, 8, 16], 1.25e9, 2e-6), lambda: workloads.exchange(WHERE, "irregular", 100_000, 1024)
    ),
    "halo in 3 dimensions, 512 ranks, 10 times, cabinets": (
        lambda: cabinets([32] * 16, 1.25e9, 2e-6, (5e9, 2e-6)),
        lambda: workloads.exchange(WHERE, "halo", 100_000, 512, dimensions=3, rounds=10),
    ),
    "LU, class W, 64 ranks, switch": (
        lambda: flat(64, 1.25e9, 2e-6), lambda: workloads.application(WHERE, "lu", "W", 64, iterations=20)
    ),
}  # fmt: skip
"""Name -> platform, workload; of SMPI's model."""


def timed(workload: workloads.Workload, model: DelayModel | Network, platform: Platform | None, slopes: bool) -> float:
    """Return the processor's seconds of a run."""
    program = workload.program([1e9] * workload.processes, 1.0)
    start = time.process_time()
    run(program, model, platform, slopes="parameters" if slopes else None)
    return time.process_time() - start


def main() -> None:
    """Run all cases in turns and print how much longer derivatives take."""
    parser = argparse.ArgumentParser(description="Processor time of derivatives, by that of plain runs.")
    parser.add_argument("--rounds", type=int, default=9, help="of each case (9)")
    parser.add_argument("--seed", type=int, default=1, help="of the order (1)")
    arguments = parser.parse_args()
    shuffle = random.Random(arguments.seed)  # noqa: S311, an order, no secret
    times: dict[tuple[str, str], list[float]] = {}
    cases: dict[str, tuple[DelayModel | Network, Platform | None, workloads.Workload]] = {
        name: (DelayModel(PARAMETERS, model), None, make()) for name, (model, make) in CASES.items()
    }
    cases |= {name: (SMPI, platform(), make()) for name, (platform, make) in SHARED.items()}
    for _ in range(arguments.rounds):
        order = [(name, kind) for name in cases for kind in ("plain", "slopes", "control")]
        shuffle.shuffle(order)
        for name, kind in order:
            model, platform, workload = cases[name]
            times.setdefault((name, kind), []).append(timed(workload, model, platform, kind == "slopes"))
    print(
        f"Processor time over that of a plain run, {arguments.rounds} rounds: median [95 % interval]; wanted: at most 2"
    )
    for name in cases:
        plain = times[name, "plain"]
        words = []
        for kind in ("slopes", "control"):
            ratio = summarise([other / plain_time for plain_time, other in zip(plain, times[name, kind], strict=True)])
            words.append(f"{kind} {ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]")
        print(f"  {name:51} {summarise(plain).median * 1e3:7.1f} ms  {'  '.join(words)}")


if __name__ == "__main__":
    main()
