"""Time of an MPI call that grows with its bytes, and with what it goes through: queue entries, partitions, threads.

One-sided operations take α + n β (Gerstenberger, Besta and Hoefler 2013, Section 3). A receive takes δ more for each
entry of a queue before its own (Underwood and Brightwell 2004), a partitioned message for each further partition. Of
threads that all call MPI, each waits for the others, δ for each, and their caches for each other, κ for each pair
(Gunther 1993, the universal scalability law). Main entry: `time`. Times are in seconds. Arguments:

message_size
    n, in bytes, ≥ 0.
steps
    s, ≥ 0: entries before the one that is looked for, or further partitions, ranks or threads beside the first.
alpha
    α, in seconds: the call without any of this.
beta
    β, seconds per byte.
step
    δ, in seconds, of each step.
crosstalk
    κ, in seconds, of each ordered pair of threads.
"""

from commmodel.models.formula import Real, formula

__all__ = ["rate", "time"]


@formula
def time(message_size: Real, steps: Real, alpha: Real, beta: Real, step: Real, crosstalk: Real) -> Real:
    """Return the time of a call, T = α + n β + s δ + s (s + 1) κ.

    Gerstenberger 2013, Underwood 2004; Gunther 1993 with α σ = δ and α κ for its κ.

    >>> round(1e6 * time(8192, 0, 1e-6, 1.6e-10, 0.0, 0.0), 3), round(1e6 * time(0, 100, 1e-6, 0.0, 1e-8, 0.0), 3)
    (2.311, 2.0)
    """
    return alpha + message_size * beta + steps * step + steps * (steps + 1) * crosstalk


@formula
def rate(message_size: Real, steps: Real, alpha: Real, beta: Real, step: Real, crosstalk: Real) -> Real:
    """Return the calls a second of s + 1 threads together, (s + 1) / T.

    Gunther 1993.

    >>> round(rate(8, 3, 1e-6, 0.0, 5e-7, 0.0))
    1600000
    """
    return (steps + 1) / (alpha + message_size * beta + steps * step + steps * (steps + 1) * crosstalk)
