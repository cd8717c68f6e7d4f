"""Tables of kernels that declare their columns in the configuration. Main entry: `declared_tables`."""

from collections import defaultdict

import msgspec

from commmodel.report.kit.cells import record_cell
from commmodel.report.kit.tables import Cell, Table, left, right
from commmodel.results import Measurements, Record, columns, kernel_name
from commmodel.results.configurations import (
    Bandwidth,
    Burst,
    Clocks,
    Collective,
    Function,
    Local,
    Memory,
    Overlap,
    Pairs,
    Ping,
    PingPong,
    PLogPParameter,
    Queue,
    RandomPing,
    RandomPingPong,
    Stream,
    Threshold,
    Train,
)

_WITH_TABLES = (
    PingPong | Pairs | Stream | Ping | Threshold | Train | PLogPParameter | Burst | Queue | RandomPing | RandomPingPong
    | Bandwidth | Overlap | Collective | Local | Clocks | Memory | Function
)  # fmt: skip
"""Configurations that have tables, plots or fits of their own."""


def declared_tables(measurements: Measurements) -> tuple[Table, ...]:
    """Return a table for each kernel without tables of its own, and for those that are registered from outside."""
    kernels: dict[str, list[Record]] = defaultdict(list)
    for launch in measurements.launches:
        for record in launch.records:
            configuration = record.configuration
            is_of_benchmark = launch.header.options is not None or bool(launch.header.versions)
            if isinstance(configuration, Function) and is_of_benchmark:
                kernels[f"{configuration.name}: {configuration.metric}"].append(record)
            elif not isinstance(configuration, _WITH_TABLES):
                kernels[kernel_name(configuration)].append(record)
    tables = []
    for kernel, records in kernels.items():
        records.sort(key=lambda record: msgspec.structs.astuple(record.configuration))
        rows = tuple((*map(Cell, columns(record.configuration).values()), record_cell(record)) for record in records)
        headings = (*left(*columns(records[0].configuration)), *right("median"))
        tables.append(Table(kernel, headings, rows, (f"Median of each record of the kernel {kernel}.",)))
    return tuple(tables)
