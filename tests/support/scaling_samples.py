"""Made measurements of collective operations that grow as told, for the tests of checking and reporting."""

from pathlib import Path

import msgspec
import numpy as np

from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Collective, Memory
from commmodel.scaling import parse_growth

PROCESSES = (2, 4, 8, 16, 32, 64)
AS_PROMISED = {
    "barrier": "log p",
    "bcast": "log p",
    "reduce": "log p",
    "allreduce": "log p",
    "gather": "p",
    "allgather": "p",
    "alltoall": "p log p",
    "bcast_binary_tree": "log p",
}
KEPT = {"comm_create": "p", "comm_dup": "1", "win_create": "p", "cart_create": "p"}


def samples(growth, p, random, constant=5.0, noise=0.05, repetitions=20):
    """Return repetitions of constant + growth, in millionths."""
    value = 1e-6 * (constant + float(parse_growth(growth)(float(p))))
    return tuple((value * (1 + noise * np.abs(random.normal(size=repetitions)))).tolist())


def record(name, growth, p, random, n=8, **how):
    """Return a record of a collective operation, started in windows."""
    size = 0 if name == "barrier" else n
    return Record(Collective(name, size, p, "round-time"), "s", samples(growth, p, random, **how))


def memory_record(operation, growth, p, constant=1000, coefficient=24):
    """Return a record of memory that is kept: counted, so that it has no noise."""
    return Record(Memory(operation, p), "B", (constant + coefficient * float(parse_growth(growth)(float(p))),))


def launch(*records):
    """Return a launch of these records."""
    return Launch(Header("commmodel-results", 1, "2026-01-01", (), Library("MPI"), (), ()), records)


def measured(growths=AS_PROMISED, seed=0, launches=1, processes=PROCESSES, sizes=(8,), **how):
    """Return measurements of operations, name -> class of growth; a seed gives other noise."""
    random = np.random.default_rng(seed)
    return Measurements(
        tuple(
            launch(
                *(
                    record(name, growth, p, random, n, **how)
                    for name, growth in growths.items()
                    for n in sizes
                    for p in processes
                )
            )
            for _ in range(launches)
        )
    )


def write_results(path: Path, measurements: Measurements) -> str:
    """Write a results file and return its name."""
    lines = [line for launch in measurements.launches for line in (launch.header, *launch.records)]
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return str(path)
