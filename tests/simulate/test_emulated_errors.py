"""How far a simulation is from repetitions that were measured: `benchmarks.validation.emulated_simulation`."""

import numpy as np
import pytest
from benchmarks.validation.emulated_simulation import Row, show_launches


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


def test_every_row_of_every_launch_counts(capsys):
    rows = [["1 cabinet", "bcast", 1 << 20, 8, 1.0, error, 0.0, 0.3] for error in (0.01, -0.02, 0.25)]
    launch = {"library": "MPICH", "kind": "reno, acks-first", "kept": True}
    show_launches([launch | {"rows": rows[:2]}, launch | {"rows": rows[2:]}])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "MPICH" in line)
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert cells[4:7] == ["2", "3", "2.0%, 25.0%"]
    assert cells[-1] == "1"
