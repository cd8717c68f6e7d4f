"""Machines from tables of ping-pongs with 1, 2, ... k pairs at once. Main entry: `fitted`."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel import formats
from commmodel.fit import FitSettings, fit_machine
from commmodel.machine import Machine
from commmodel.results import Measurements
from commmodel.results.configurations import Pairs

__all__ = ["QUICK", "SizeTable", "fitted", "medians", "tables"]

QUICK = FitSettings(samples=20)
"""Of fits whose intervals nobody reads: the parameters do not depend on the number of samples."""
SizeTable = Mapping[int, NDArray[np.float64]]
"""Bytes -> seconds one way with 1, 2, ... pairs."""
INTEGER = 4
"""Bytes of the integers in which nodecomm gives sizes."""


def medians(several: Iterable[Mapping[int, Sequence[float]]]) -> SizeTable:
    """Return the medians over tables of the same sizes."""
    several = list(several)
    return {size: np.median([table[size] for table in several], axis=0) for size in several[0]}


def tables(measurements: Measurements) -> list[dict[int, list[float]]]:
    """Return the tables of a file of nodecomm, one of each launch."""
    several: list[dict[int, list[float]]] = []
    for launch in measurements.launches:
        table: dict[int, list[float]] = {}
        for record in launch.records:
            if isinstance(record.configuration, Pairs):
                table.setdefault(record.configuration.message_size, []).append(float(record.samples[0]))
        several.append(table)
    return several


def fitted(name: str, by_path: Mapping[str, SizeTable], limits: Sequence[int] | None = None) -> Machine:
    """Return the machine of some paths, each fitted to its table."""
    segments = []
    with tempfile.TemporaryDirectory() as folder:
        for path, table in by_path.items():
            pairs = range(len(next(iter(table.values()))))
            lines = [
                "Pingpong for",
                f"master: {', '.join(map(str, pairs))}",
                f"partner: {', '.join(str(rank + len(pairs)) for rank in pairs)}",
                *(f"{size // INTEGER} {' '.join(f'{2 * time:e}' for time in row)}" for size, row in table.items()),
            ]
            file = Path(folder) / "pingpong.txt"
            file.write_text("\n".join(lines) + "\n", "utf-8")
            machine = fit_machine(formats.load(file), limits=limits, settings=QUICK)
            segments += [msgspec.structs.replace(segment, path=path) for segment in machine.segments]
    return Machine(name, tuple(segments))
