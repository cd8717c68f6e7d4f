"""How fast LogGP is evaluated message by message: ``python -m benchmarks.speed.critical_path``.

Each case is the schedule of a collective on many processes, made beforehand, under the parameters of Ranger (March et
al. 2009) and for messages of one byte. In each round every case runs once, in shuffled order, beside it the yardstick:
numpy sorts as many random numbers by two keys, with its own compiled code. A ratio is taken within a round; it tells
more than the rates where other programs disturb the machine. "jitter" gives every message a transit of its own, so that
no two processes are in step.
"""

import argparse
import random
import time
from collections.abc import Callable

import numpy as np

from commmodel._core.delays.critical_path import finish_times
from commmodel.collectives import Problem, build
from commmodel.statistics import summarise

LATENCY, OVERHEAD, GAP = 1.95e-6, 0.65e-6, 0.65e-6  # March 2009, Figure 4a, blocking
WANTED = 1e6
CASES = {
    "barrier dissemination, P = 65536": ("barrier", "dissemination", 65536, 0.0),
    "the same with jitter": ("barrier", "dissemination", 65536, LATENCY),
    "alltoall pairwise, P = 1024": ("alltoall", "pairwise", 1024, 0.0),
    "the same with jitter ": ("alltoall", "pairwise", 1024, LATENCY),
    "alltoall linear, P = 512": ("alltoall", "linear", 512, 0.0),
}
"""Name -> operation, algorithm, processes, mean of the additional transit."""


def case(operation: str, name: str, processes: int, jitter: float, seed: int) -> tuple[int, Callable[[], object]]:
    """Return the number of messages, and a call that evaluates them."""
    schedule = build(operation, name, Problem(processes, 0 if operation == "barrier" else 1))
    overhead = np.full(schedule.messages, OVERHEAD)
    transit = LATENCY + (
        np.random.default_rng(seed).exponential(jitter, schedule.messages) if jitter else 0.0 * overhead
    )
    flat = (schedule.round, schedule.sender, schedule.receiver, overhead, overhead, np.full_like(overhead, GAP))
    return schedule.messages, lambda: finish_times(processes, *flat, transit)


def yardstick(count: int, seed: int) -> Callable[[], object]:
    """Return a call that sorts as many pairs of numbers."""
    keys = np.random.default_rng(seed).random((2, count))
    return lambda: np.lexsort(keys)


def timed(call: Callable[[], object]) -> float:
    """Return the processor's seconds of a call."""
    start = time.thread_time()
    call()
    return time.thread_time() - start


def main() -> None:
    """Run all cases in turns and print messages per second of processor time."""
    parser = argparse.ArgumentParser(description="Messages per second of the LogGP evaluation.")
    parser.add_argument("--rounds", type=int, default=9, help="of each case (9)")
    parser.add_argument("--seed", type=int, default=1, help="of the order, the jitter and the numbers to sort (1)")
    arguments = parser.parse_args()
    cases = {name: case(*row, arguments.seed) for name, row in CASES.items()}
    yardsticks = {name: yardstick(messages, arguments.seed) for name, (messages, _) in cases.items()}
    order, shuffle = list(CASES), random.Random(arguments.seed)  # noqa: S311, an order, no secret
    rates: dict[str, list[float]] = {name: [] for name in order}
    ratios: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(arguments.rounds):
        shuffle.shuffle(order)
        for name in order:
            messages, evaluate = cases[name]
            seconds, sorting = timed(evaluate), timed(yardsticks[name])
            rates[name].append(messages / seconds)
            ratios[name].append(seconds / sorting)
    print(f"Messages, CPU time, {arguments.rounds} rounds: median [95 % interval]; wanted: {WANTED:.0e} messages/s")
    for name, (messages, _) in cases.items():
        rate, ratio = summarise(rates[name]), summarise(ratios[name])
        print(
            f"  {name.strip():32} {messages:8} messages  {rate.median / 1e6:5.2f} [{rate.low / 1e6:.2f}, "
            f"{rate.high / 1e6:.2f}] M/s  time / sorting {ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
        )


if __name__ == "__main__":
    main()
