"""Models of measured collectives: a row for each operation and algorithm. Main entry: `collective_times_table`."""

from commmodel.machine import Machine
from commmodel.report.kit.tables import Table, left, plain_rows, right
from commmodel.units import format_ratio, format_size, format_time

_NOTE = (
    "A time is the sum, over the rounds of the algorithm's schedule, of the time of the busiest process's messages, "
    "which is fitted: predict goes to other sizes and numbers of processes. Scatter: of a time around that sum; "
    "growth: of what each doubling of the processes beyond those measured adds to it; runs: how many times longer the "
    "slowest run of the same operation takes than the fastest."
)


def collective_times_table(machine: Machine) -> Table | None:
    """Return the measured collectives; None where there are none."""
    if not machine.collectives:
        return None
    rows = [
        (
            times.operation,
            times.algorithm or "the library's",
            ", ".join(map(str, times.processes)),
            "–" if times.per_node is None else str(times.per_node),
            " to ".join(dict.fromkeys(format_size(size) for size in (times.message_sizes[0], times.message_sizes[-1]))),
            format_time(times.seconds[0]),
            format_ratio(times.scatter),
            format_ratio(times.growth_scatter),
            "–" if times.between_runs == 1 else f"{times.between_runs:.2f}",
        )
        for times in machine.collectives
    ]
    columns = (
        *left("operation", "algorithm"), *right("p", "on a node"), *left("messages"),
        *right("smallest takes", "scatter", "growth", "runs"),
    )  # fmt: skip
    return Table("measured collectives", columns, plain_rows(rows), (_NOTE,), grouped=True)
