"""How often a limit is found in times of one law, and how often a planted one is missed.

Ping-pong times of 1 B ... 16 MiB are made of T = alpha + n/R, alpha 1 us and R 10 GB/s, with noise. None of the limits
found there is real. Then alpha, R or both are worse by a factor from some size on, where the change matters most.

    python -m benchmarks.validation.segment_power --sets 200
"""

import argparse

import numpy as np

from commmodel.fit.points import Points
from commmodel.fit.protocol_limits import change_points

SIZES = 2 ** np.arange(25)
ALPHA, RATE = 1e-6, 1e10


def law(latency: float = 1.0, slowness: float = 1.0, beyond: int = 0) -> np.ndarray:
    """Return exact times, of which those of more than so many bytes have latency and byte time by a factor higher."""
    change = beyond < SIZES
    alpha, beta = np.where(change, latency, 1.0) * ALPHA, np.where(change, slowness, 1.0) / RATE
    return alpha + SIZES * beta


def detected_share(seconds: np.ndarray, noise: float, sets: int) -> float:
    """Return the share of data sets in which a limit is found."""
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(sets):
        times = seconds * np.exp(noise * random.standard_normal(SIZES.size))
        hits += bool(change_points(Points(SIZES, np.ones_like(SIZES), times, times, times)))
    return hits / sets


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="false and missed limits")
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell (200)")
    parser.add_argument(
        "--factor", type=float, default=1.5, help="by which the planted change makes things slower (1.5)"
    )
    options = parser.parse_args()
    factor = options.factor
    rows = {
        "one law (false limits)": law(),
        f"latency × {factor:g} above 256 B": law(latency=factor, beyond=256),
        f"byte time × {factor:g} above 64 KiB": law(slowness=factor, beyond=64 << 10),
        f"byte time × {factor:g} above 1 MiB": law(slowness=factor, beyond=1 << 20),
        f"both × {factor:g} above 8 KiB": law(factor, factor, 8 << 10),
    }
    noises = (0.03, 0.05, 0.10)
    print(
        f"| times | {' | '.join(f'{noise:.0%}'.replace('%', ' %') for noise in noises)} |\n|---{'|---' * len(noises)}|"
    )
    for name, seconds in rows.items():
        shares = (f"{detected_share(seconds, noise, options.sets):.1%}".replace("%", " %") for noise in noises)
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
