"""Choice of the clock that times the loops, and its quality. Main entry: `choose`.

The processor's counter is read directly where it can be trusted: no call, no conversion, its fences known. On x86-64
that is only where CPUID calls it invariant and Linux itself keeps time with it.
"""

from pathlib import Path

import numpy as np

from commmodel._core.clock import processor_clock as core
from commmodel.bench import simulation
from commmodel.results import Clock

_CALIBRATION_SECONDS = 0.1
_CHECK_SECONDS = 0.02
_TOLERANCE = 1e-3  # NTP may slew a clock by 500 ppm; a wrong nominal frequency is off by far more
_INVARIANT_TSC = 1 << 8


def read_clocksource() -> str:
    """Return the clock with which Linux keeps time, or an empty text."""
    try:
        return Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip()
    except OSError:
        return ""


def _counter_is_trusted() -> bool:
    if core.COUNTER_NAME != "tsc":
        return bool(core.COUNTER_NAME)  # aarch64's and Power's counters are invariant by architecture
    power_management = core.cpuid(0x80000007)
    invariant = power_management is not None and bool(power_management[3] & _INVARIANT_TSC)
    return invariant and read_clocksource() in {"tsc", ""}


def _nominal_frequency() -> tuple[float, str]:
    """Return the counter's frequency as the hardware or the hypervisor states it; 0 where they do not."""
    if register := core.frequency_register():
        return float(register), "cntfrq_el0"
    crystal = core.cpuid(0x15)
    if crystal and all(crystal[:3]):
        denominator, numerator, crystal_frequency, _ = crystal
        return crystal_frequency * numerator / denominator, "cpuid 0x15"
    hypervisor = core.cpuid(0x40000010)
    if hypervisor and hypervisor[0]:
        return hypervisor[0] * 1e3, "cpuid 0x40000010"
    return 0.0, ""


def _frequency(number: int) -> tuple[float, str]:
    if number == core.CLOCK_GETTIME:
        return 1e9, "nanoseconds"
    nominal, source = _nominal_frequency()
    if nominal and abs(core.calibrate(number, _CHECK_SECONDS) / nominal - 1) < _TOLERANCE:
        return nominal, source
    return core.calibrate(number, _CALIBRATION_SECONDS), "calibration against CLOCK_MONOTONIC_RAW"


def describe(number: int) -> Clock:
    """Return the properties of a clock of `_core` (``CLOCK_GETTIME`` or ``COUNTER``), measured at the call."""
    frequency, source = _frequency(number)
    steps = np.diff(core.read_ticks(number, 2000).astype(np.int64))
    return Clock(
        kind="clock_gettime" if number == core.CLOCK_GETTIME else core.COUNTER_NAME,
        frequency=frequency,
        frequency_source=source,
        resolution=float(steps[steps > 0].min(initial=np.iinfo(np.int64).max)) / frequency,
        cost=float(np.median(core.read_pairs(number, 2000))) / frequency,
    )


def choose() -> Clock:
    """Return the best clock of this machine, or that of a simulation."""
    if simulation.is_simulated():
        return Clock(kind="simulated", frequency=1e9, frequency_source="nanoseconds", resolution=1e-9, cost=0.0)
    return describe(core.COUNTER if _counter_is_trusted() else core.CLOCK_GETTIME)


def kind_number(clock: Clock) -> int:
    """Return the number of a clock in the loops of `_core`."""
    numbers = {"clock_gettime": core.CLOCK_GETTIME, "simulated": core.SIMULATED}
    return int(numbers.get(clock.kind, core.COUNTER))
