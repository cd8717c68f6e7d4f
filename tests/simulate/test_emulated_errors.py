"""How far a simulation is from repetitions that were measured: `benchmarks.validation.emulated_simulation`."""

import numpy as np
import pytest
from benchmarks.validation.emulated_simulation import Row


@pytest.mark.parametrize(
    ("simulated", "expected"),
    [
        ((10.0,), 0.0), ((9.0,), -0.1), ((18.0,), 0.5), ((11.0,), 0.0), ((5.0, 8.0), -0.23), ((5.0, 20.0), 0.0),
        ((13.0, 15.0), 13.2 / 12 - 1),
    ],
)  # fmt: skip
def test_the_error_is_the_gap_between_two_ranges(simulated, expected):
    row = Row("1 cabinet", "alltoall", 1024, 4, 11.0, 10.0, 12.0, {"hybrid": np.array(simulated)})
    assert row.error("hybrid") == pytest.approx(expected)
