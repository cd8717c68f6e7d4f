"""How well a node's message rate is predicted for numbers of pairs that were not measured.

Streams of OSU's osu_mbw_mr and IMB's Uniband between two nodes of CSD3: 100 Gb/s InfiniBand and 50 Gb/s RoCE, two MPI
libraries. Each number of pairs is left out in turn, the others are fitted, and messages of 1 to 128 B with the one left
out are predicted. Prints for each series the mean and the largest error and how many times 95 % intervals hold, beside
the same without a message rate, which is the max-rate model; and each time that is off by more than --listed.

    python -m benchmarks.validation.message_rate ../shared/data/public/hpc-tests/csd3.tar.xz
"""

import argparse
import math
import re
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from commmodel import formats, predict
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.points import between, collect_streams
from commmodel.fit.segment import fit_max_rate_model
from commmodel.machine import Machine, MaxRate
from commmodel.machine.model_choice import seconds as seconds_of
from commmodel.results import Measurements
from commmodel.results.configurations import Stream

LARGEST = 128
"""Bytes."""
_JOB = re.compile(r"(?P<system>[^/]+)/(omb/Osu_mbw_mr|imb/IMB_Uniband)_[^/]*/[^/]*\.out")


class Point(NamedTuple):
    """A time and its prediction from other numbers of pairs."""

    message_size: int
    pairs: int
    factor: float
    """Predicted over measured."""
    max_rate: float
    """The same by the max-rate model."""
    is_inside: bool
    """Whether the interval holds the measured time."""


def series(archive: Path) -> Iterator[tuple[str, Measurements]]:
    """Yield the streams of each system and suite, by the numbers of pairs."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        files: dict[str, list[Path]] = defaultdict(list)
        for path in sorted(Path(folder).rglob("*.out")):
            if match := _JOB.search(str(path)):
                files[f"{match['system']} {'OSU' if 'omb' in match[2] else 'IMB'}"].append(path)
        for name, paths in files.items():
            yield name, _streams_where(formats.load_all(paths), lambda stream: stream.path == "between-nodes")


def _streams_where(measurements: Measurements, condition: Callable[[Stream], bool]) -> Measurements:
    """Return the streams for which a condition holds."""
    launches = []
    for launch in measurements.launches:
        records = [
            record
            for record in launch.records
            if isinstance(record.configuration, Stream) and condition(record.configuration)
        ]
        launches += [msgspec.structs.replace(launch, records=tuple(records))] if records else []
    return Measurements(tuple(launches))


def _times(measurements: Measurements) -> dict[tuple[int, int], float]:
    records = (record for launch in measurements.launches for record in launch.records)
    return {
        (record.configuration.message_size, record.configuration.pairs): record.samples[0]
        for record in records
        if isinstance(record.configuration, Stream)
    }


def _has_other_pairs(pairs: int, stream: Stream) -> bool:
    return stream.pairs != pairs


def _max_rate(measurements: Measurements, machine: Machine, settings: FitSettings) -> MaxRate:
    """Return the max-rate model of the streams that the machine's first segment is of."""
    (series_of_path,) = collect_streams(measurements).values()
    limit = machine.segments[0].limit
    model = fit_max_rate_model(between(series_of_path, -1, math.inf if limit is None else limit.value), settings)
    if model is None:
        raise ValueError("streams of at least two sizes")
    return model


def points(measurements: Measurements, settings: FitSettings) -> Iterator[Point]:
    """Yield a point for each time, predicted from the other numbers of pairs."""
    times = _times(measurements)
    for pairs in sorted({pairs for _, pairs in times}):
        rest = _streams_where(measurements, partial(_has_other_pairs, pairs))
        machine = fit_machine(rest, settings=settings)
        plain = _max_rate(rest, machine, settings)
        for (size, count), seconds in times.items():
            if count == pairs and size <= LARGEST:
                time = predict.send(machine, size, processes=pairs).time
                other = seconds_of(plain, size, pairs)
                is_inside = time.low is None or time.high is None or time.low <= seconds <= time.high
                yield Point(size, pairs, time.seconds / seconds, other / seconds, is_inside)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--samples", type=int, default=200, help="of the bootstrap")
    parser.add_argument("--listed", type=float, default=0.6, help="share by which a listed prediction is off")
    arguments = parser.parse_args()
    all_points: list[Point] = []
    print(f"{'':34} times  mean  worst  inside   max-rate: mean  worst")
    for name, measurements in series(arguments.archive):
        series_points = list(points(measurements, FitSettings(samples=arguments.samples)))
        all_points += series_points
        print(_row(name, series_points))
        for point in series_points:
            if abs(point.factor - 1) > arguments.listed:
                print(f"    {point.message_size} B, {point.pairs} pairs: {point.factor:.2f} times the measured time")
    print(_row("all", all_points))


def _row(name: str, series_points: list[Point]) -> str:
    factor, plain = (np.array([getattr(point, column) for point in series_points]) for column in ("factor", "max_rate"))
    off, other = np.abs(factor - 1), np.abs(plain - 1)
    inside = np.mean([point.is_inside for point in series_points])
    return (
        f"{name:34} {len(series_points):5} {off.mean():5.1%} {off.max():6.0%} {inside:7.1%} {other.mean():15.1%} "
        f"{other.max():6.0%}"
    )


if __name__ == "__main__":
    main()
