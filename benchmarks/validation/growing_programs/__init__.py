"""Programs whose messages follow from the number of ranks: see `benchmarks.validation.extrapolated_recordings`.

Computation is a sleep, whose simulated time is known.
"""
