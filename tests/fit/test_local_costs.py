"""What a byte costs within memory, from made times, and that predictions use it."""

import math

import pytest
from support.fit_samples import measurements

from commmodel import predict
from commmodel.collectives import Problem
from commmodel.fit import FitSettings
from commmodel.fit.local_costs import fit_local
from commmodel.machine import LogGP, Machine, Parameter, Segment
from commmodel.results import Record
from commmodel.results.configurations import Local

QUICK = FitSettings(samples=50)
SIZES = tuple(2**power for power in range(10, 23))


def local_records(operation, byte_time, start=1e-7, sizes=SIZES):
    return [Record(Local(operation, size), "s", (start + byte_time * size,) * 9) for size in sizes]


@pytest.mark.parametrize("operation", ["copy", "reduction"])
def test_the_slope_of_exact_times_is_found_whatever_the_other_operation_costs(operation):
    result = measurements(*local_records("copy", 1e-10), *local_records("reduction", 3e-10))
    fit = fit_local(result, operation, QUICK)
    assert fit.value == pytest.approx({"copy": 1e-10, "reduction": 3e-10}[operation], rel=1e-4)
    assert fit.low <= fit.value <= fit.high


def test_copies_within_a_cache_do_not_decide():
    small, large = SIZES[:6], SIZES[6:]
    result = measurements(*local_records("copy", 1e-12, sizes=small), *local_records("copy", 1e-10, sizes=large))
    assert fit_local(result, "copy", QUICK).value == pytest.approx(1e-10, rel=1e-4)


def test_two_sizes_are_too_few():
    assert fit_local(measurements(*local_records("copy", 1e-10, sizes=SIZES[:2])), "copy", QUICK) is None
    assert fit_local(measurements(), "copy", QUICK) is None


def test_a_reduction_takes_its_own_time_in_a_prediction():
    model = LogGP(Parameter(1e-6), Parameter(1e-7), Parameter(1e-7), Parameter(1e-10))
    result = Machine("m", (Segment("all", loggp=model),), memory_copy=Parameter(1e-10), reduction=Parameter(3e-10))
    size, rounds = 1 << 20, 3
    entry, without = (
        predict.collective(machine, "allreduce", Problem(2**rounds, size), algorithm="recursive-doubling").time.seconds
        for machine in (result, Machine("m", (Segment("all", loggp=model),), reduction=Parameter(0.0)))
    )
    assert math.isclose(entry - without, rounds * size * 3e-10, rel_tol=1e-9)
