"""Whether a trusted fit is contradicted by its own data, on ping-pongs that others and we measured.

Each set of measurements of a folder is fitted as `commmodel fit` does, and each of its times is predicted. Prints how
many segments are trusted, how many times lie outside three times the interval of their prediction though their segment
is trusted, and how far predictions of measured times are off.

    python -m benchmarks.validation.contradictions ../shared/data
"""

import argparse
import csv
import io
import lzma
import math
import re
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from commmodel import formats, predict
from commmodel.errors import CommModelError
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.points import collect
from commmodel.machine import Segment
from commmodel.machine.model_choice import model_of, recommended_model
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import PingPong
from commmodel.results.file import FORMAT

__all__ = ["Tally", "measured_sets", "ping_pongs", "tally"]

BEYOND = 3.0
"""Times half an interval."""
ROUNDING = 1e-5
FAR = math.log(1.25)
US = 1e-6
_OSU_ROWS = re.compile(r"OSU MPI[^\n]*Latency Test[^\n]*\n(?:[ \t]*#[^\n]*\n)*((?:[ \t]*\d+[ \t]+[\d.]+[^\n]*\n)+)")


class Tally(NamedTuple):
    """What of the measurements a fit holds."""

    segments: int
    trusted: int
    points: int
    contradicting: int
    """Points of trusted segments outside three times their interval."""
    far: int
    """Points whose prediction is off by more than 25 %."""

    def __add__(self, other: "Tally") -> "Tally":  # type: ignore[override]
        return Tally(*(first + second for first, second in zip(self, other, strict=True)))


def ping_pongs(tables: Sequence[Sequence[tuple[int, float]]]) -> Measurements:
    """Return measurements of a launch for each table of sizes and seconds."""
    header = Header(FORMAT, 1, "", (), Library("other"), (), ())
    return Measurements(tuple(
        Launch(header, tuple(Record(PingPong(size, "between-nodes"), "s", (seconds,)) for size, seconds in table))
        for table in tables
    ))  # fmt: skip


def _grouped(path: Path, key: Sequence[str], choice: Mapping[str, str], run: str) -> Iterator[Measurements]:
    """Yield the measurements of each combination of columns; `run` is the column that tells launches apart."""
    groups: dict[tuple[str, ...], dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    with lzma.open(path, "rt") as rows:
        for row in csv.DictReader(rows):
            if all(row[name] == value for name, value in choice.items()):
                group = groups[tuple(row[name] for name in key)]
                group[row[run]].append((int(row["bytes"]), US * float(row["value"])))
    for tables in groups.values():
        yield ping_pongs(list(tables.values()))


def _tables(path: Path) -> Measurements:
    """Return a CSV table of ping-pongs with a column of times."""
    first, *rows = csv.reader(io.StringIO(path.read_text("utf-8")))
    column = next(place for place, name in enumerate(first) if re.search(r"time|latency|t\[usec\]", name))
    unit = US if "usec" in first[column] else 1.0
    return ping_pongs([[(int(row[0]), unit * float(row[column])) for row in rows]])


def _readable(paths: Sequence[Path]) -> Iterator[Measurements]:
    for path in paths:
        try:
            yield formats.load(path)
        except CommModelError:  # a table of something else
            continue


def _packed(path: Path) -> Iterator[Measurements]:
    """Yield the readable members of an archive, or the results of a packed file."""
    with tempfile.TemporaryDirectory() as folder:
        if ".tar" in path.name:
            with tarfile.open(path) as archive:
                archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4
                archive.extractall(folder)  # noqa: S202  (our own)
        else:
            (Path(folder) / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
        yield from _readable(
            [member for member in sorted(Path(folder).rglob("*")) if member.suffix in (".out", ".jsonl")]
        )


def measured_sets(folder: Path) -> Iterator[tuple[str, Measurements]]:
    """Yield the sets of measurements of a folder, each with its source."""
    for source in ("runs", "faults3"):
        for path in sorted((folder / source).glob("*.jsonl.xz")):
            yield from ((source, measurements) for measurements in _packed(path))
    suites = [*(folder / "suites").glob("*.txt"), *(folder / "faults3/suites").glob("*.txt")]
    yield from (("suites", measurements) for measurements in _readable(sorted(suites)))
    yield "blue-waters", formats.load_all(sorted((folder / "blue-waters").glob("*.txt")))
    yield from (("blue-waters", member) for member in _readable(sorted((folder / "blue-waters").glob("*.txt"))))
    yield "graphene", formats.load(folder / "graphene/graphene_eth_PingPong.csv")
    public = folder / "public"
    yield from (("hpc-tests", measurements) for measurements in _packed(public / "hpc-tests/csd3.tar.xz"))
    for path in sorted((public / "fugaku-julia").rglob("*.csv")):
        if re.search("pingpong|latency", path.name):
            yield "fugaku-julia", _tables(path)
    study = public / "performance-study/osu_times.csv.xz"
    for measurements in _grouped(study, ("cloud", "nodes", "processor"), {"test": "osu_latency"}, "run"):
        yield "performance-study", measurements
        yield "performance-study", Measurements(measurements.launches[:1])
    vendor = public / "aws-parallelcluster/osu_times.csv.xz"
    key = ("date", "os", "mpi", "test", "commit", "instance")
    for measurements in _grouped(vendor, key, {"benchmark": "osu_latency"}, "benchmark"):
        yield "aws-parallelcluster", measurements
    for path in sorted((public / "alps").glob("*.md")):
        for match in _OSU_ROWS.finditer(path.read_text("utf-8")):
            rows = [line.split() for line in match[1].splitlines()]
            yield "alps", ping_pongs([[(int(row[0]), US * float(row[1])) for row in rows]])


def _is_trusted(segment: Segment) -> bool:
    quality = getattr(model_of(segment, recommended_model(segment)), "quality", None)
    return quality is not None and quality.trusted


def tally(measurements: Measurements, settings: FitSettings | None = None) -> Tally:
    """Fit measurements, and compare each time with its prediction."""
    machine = fit_machine(measurements, settings=settings or FitSettings(samples=200))
    count, contradicting, far = 0, 0, 0
    for path, points in collect(measurements).items():
        places, of_place = np.unique([points.message_size, points.pairs], axis=1, return_inverse=True)
        for place, (size, pairs) in enumerate(places.T.tolist()):
            seconds = points.seconds[of_place == place]
            time = predict.send(machine, size, processes=pairs, path=path).time
            low, high = (time.seconds if end is None else end for end in (time.low, time.high))
            is_outside = (seconds > (time.seconds + BEYOND * (high - time.seconds)) * (1 + ROUNDING)) | (
                seconds < (time.seconds - BEYOND * (time.seconds - low)) * (1 - ROUNDING)
            )
            count += seconds.size
            contradicting += int(is_outside.sum()) * _is_trusted(machine.segment(size, path))
            far += int((np.abs(np.log(seconds / time.seconds)) > FAR).sum())
    return Tally(len(machine.segments), sum(map(_is_trusted, machine.segments)), count, contradicting, far)


def main() -> None:
    """Print a row for each source."""
    parser = argparse.ArgumentParser(description="contradictions between trusted fits and their data")
    parser.add_argument("folder", type=Path, help="of the measurements")
    sums: dict[str, Tally] = {}
    for source, measurements in measured_sets(parser.parse_args().folder):
        try:
            sums[source] = sums.get(source, Tally(0, 0, 0, 0, 0)) + tally(measurements)
        except CommModelError:  # no ping-pongs
            continue
    columns = ("source", "segments", "trusted", "times", "outside, though trusted", "off by more than 25 %")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for source, row in sums.items():
        print(f"| {source} | {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
