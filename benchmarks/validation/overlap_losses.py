"""What choices of messages and bursts lose in simulated exchanges: ``python -m benchmarks.validation.overlap_losses``.

Random problems: bytes, computation, o, L, G and a queue's depth. Each decomposition of the optimiser's grid is carried
out event by event on one processor and one port: the processor initiates a message in o, the port then takes it for
S G as soon as it is free, and it arrives L after; the processor waits for the messages one by one, and computes on
each for t_S. Pipelined, it initiates the next burst before it computes on one; tight, after. So nothing is taken from
the formulas that are judged here, and the best decomposition is the best of all that the queue allows.

Printed for the paper's equations and for the bounded ones, of the same problems: the loss (T_chosen − T_best) / T_best
and how many promises are below what the processor alone needs, N o + t_V. A promise is too fast by what the simulated
time of the choice is above it; "worse than whole" is how much longer than in one message it takes at worst.
"""

import argparse
import math
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from commmodel.optimize import Candidates, MessageCosts, TransferProblem, choose

MODELS = ("paper", "bounded")
VOLUMES, RATIOS = (1 << 10, 1 << 24), (0.02, 20.0)
OVERHEADS, LATENCIES, BYTE_TIMES = (0.1e-6, 5e-6), (0.5e-6, 50e-6), (0.04e-9, 8e-9)
QUEUES = (16, 32, 64, 128)
MOST_MESSAGES, LONGEST_BURST = 8192, 64


@numba.njit
def simulated(
    tight: bool, messages: int, burst: int, size: float, computation: float, o: float, L: float, G: float
) -> float:
    """Return when the last message has been computed on; `computation` is that on all messages."""
    arrivals = np.empty(messages)
    processor = port = 0.0
    work = computation / messages
    issued = min(burst, messages)
    for message in range(issued):
        processor += o
        port = max(processor, port) + size * G
        arrivals[message] = port + L
    done = 0
    while done < messages:
        last = issued
        following = min(last + burst, messages)
        if not tight:
            for message in range(last, following):
                processor += o
                port = max(processor, port) + size * G
                arrivals[message] = port + L
        for message in range(done, last):
            processor = max(processor, arrivals[message]) + work
        if tight:
            for message in range(last, following):
                processor += o
                port = max(processor, port) + size * G
                arrivals[message] = port + L
        done, issued = last, following
    return processor


def problems(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield random problems; volumes are powers of two, so that messages are as long as the model takes them for."""
    random = np.random.default_rng(seed)

    def between(ends: tuple[float, float]) -> float:
        return float(np.exp(random.uniform(*np.log(ends))))

    for _ in range(count):
        volume, byte_time = 2 ** round(math.log2(between(VOLUMES))), between(BYTE_TIMES)
        yield {
            "volume": volume,
            "computation": between(RATIOS) * volume * byte_time,
            "overhead": between(OVERHEADS),
            "latency": between(LATENCIES),
            "byte_time": byte_time,
            "queue_depth": int(random.choice(QUEUES)),
        }


def all_simulated(problem: dict[str, Any], implementation: str) -> dict[tuple[int, int], float]:
    """Return the simulated time of every decomposition whose bursts the queue takes, by message size and burst."""
    volume, tight = problem["volume"], implementation == "tight"
    network = (problem["overhead"], problem["latency"], problem["byte_time"])
    times = {}
    for size in (2**step for step in range(volume.bit_length())):
        messages = volume // size
        if messages > MOST_MESSAGES:
            continue
        for burst in (2**step for step in range(LONGEST_BURST.bit_length())):
            if burst <= messages and burst < problem["queue_depth"]:
                times[size, burst] = simulated(tight, messages, burst, size, problem["computation"], *network)
    return times


def judged(count: int, seed: int, implementation: str) -> dict[str, NDArray[np.float64]]:
    """Return for each model, a row a problem: loss, promise below the need, too fast by, worse than whole."""
    rows: dict[str, list[tuple[float, ...]]] = {model: [] for model in MODELS}
    for problem in problems(count, seed):
        times = all_simulated(problem, implementation)
        best, uncut = min(times.values()), times[problem["volume"], 1]
        transfer = TransferProblem(problem["volume"], problem["computation"])
        cost_names = ("overhead", "latency", "byte_time", "queue_depth")
        costs = MessageCosts(**{name: problem[name] for name in cost_names})
        for model in MODELS:
            choice = choose(costs, transfer, Candidates(implementation), model=model)
            seconds = times[choice.message_size, choice.burst]
            need = choice.messages * problem["overhead"] + problem["computation"]
            below = choice.seconds < need * (1 - 1e-9)
            rows[model].append((seconds / best - 1, below, 1 - choice.seconds / seconds, seconds / uncut - 1))
    return {model: np.array(values) for model, values in rows.items()}


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description="Judge choices of messages and bursts by simulated exchanges.")
    parser.add_argument("--problems", type=int, default=1000, help="random ones (1000)")
    parser.add_argument("--seed", type=int, default=1, help="of them (1)")
    arguments = parser.parse_args()
    print(f"{arguments.problems} problems                        loss           promise        too fast by     worse")
    print("                          median    p90   worst   below need    p90   worst   than whole")
    for implementation in ("pipelined", "tight"):
        for model, values in judged(arguments.problems, arguments.seed, implementation).items():
            loss, below, fast, worse = values.T
            figures = [np.median(loss), np.quantile(loss, 0.9), loss.max(), below.mean()]
            figures += [np.quantile(fast, 0.9), fast.max(), worse.max()]
            print(f"{implementation:10} {model:10} " + " ".join(f"{100 * figure:8.1f} %" for figure in figures))


if __name__ == "__main__":
    main()
