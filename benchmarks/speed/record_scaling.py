"""Time and memory of reading, fitting, reporting and comparing many records, and how they grow with their number.

Each command runs in a process of its own on made files. ``campaign``: launches of what the benchmark plans for two
hosts of eight ranks, some 1100 configurations with few samples each. ``pingpong``: 25 sizes, each repeated very often.
A file of measurements: its records again and again, their samples drawn anew. ``decode`` is the yardstick: msgspec
decodes the same lines, and nothing is kept. The exponent is that of the growth between the two largest files: 1 is
linear.

    python -m benchmarks.speed.record_scaling --records 10000,100000 --commands decode,fit,report,compare
    python -m benchmarks.speed.record_scaling --records 100000 --like results.jsonl
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from commmodel.results import Header, Host, Library, Rank, Record, load
from commmodel.results.configurations import PingPong, RandomPing, RandomPingPong, Threshold, Train
from commmodel.results.file import FORMAT, VERSION

SIZES = [2**exponent for exponent in range(25)]
CAMPAIGN = (
    "threshold pingpong ping pairs stream loggp collective halo --sizes 1:4MiB:*4 --pairs 1:8 "
    "--collectives bcast,allreduce,reduce,alltoall,allgather,barrier --process-counts 2:all --seed 1"
)
RANKS = 16
COMMANDS = ("decode", "read", "fit", "report", "report-machine", "compare", "check", "convert")
_MEASURED = """
import json, resource, sys, time
begin, spent = time.perf_counter(), time.process_time()
from commmodel.cli import main
code = {body}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([time.perf_counter() - begin, time.process_time() - spent, peak, code]), file=sys.stderr)
"""
_SEVERAL_SIZES = (RandomPing, RandomPingPong)
_DECODE = "__import__('benchmarks.speed.record_scaling', fromlist=['decode']).decode({path!r})"


def planned() -> list[Record]:
    """Return a record of one sample for each configuration that the benchmark plans for a campaign."""
    from commmodel.bench.options import parse, parse_processes
    from commmodel.bench.placement import place
    from commmodel.bench.plan import make_plan

    options = parse(CAMPAIGN.split()).options
    options = msgspec.structs.replace(options, procs=parse_processes("2:all", RANKS))
    placement = place([rank * 2 // RANKS for rank in range(RANKS)], [0] * RANKS)
    records = []
    for configuration in make_plan(options, placement):
        if isinstance(configuration, Threshold):
            records.append(Record(configuration, "B", (8192.0,), bracket=(8192, 8193)))
            continue
        size, processes = (getattr(configuration, name, 1) for name in ("message_size", "processes"))
        seconds = getattr(configuration, "messages", 1) * math.log2(2 * processes) * (1e-6 + size / 10e9)
        delay = seconds if isinstance(configuration, Train) and configuration.delayed else None
        records.append(Record(configuration, "s", (seconds,), "interval", delay=delay))
    return records


def pingpongs() -> list[Record]:
    """Return a record of one sample for each size."""
    return [Record(PingPong(size, "same-socket"), "s", (1e-6 + size / 10e9,)) for size in SIZES]


def write_records(path: Path, originals: Sequence[Record], count: int, launches: int, samples: int, seed: int) -> None:
    """Write a results file of so many records in so many launches, drawn from the samples of the originals.

    Times of a launch are all off by one factor, and each sample by up to 2 %.
    """
    noise, encoder = random.Random(seed), msgspec.json.Encoder()  # noqa: S311
    hosts = tuple(Host(f"m{number}", cpus=8) for number in range(2))
    header = Header(
        FORMAT, VERSION, "", (), Library("MPICH"), hosts, tuple(Rank(rank, rank * 2 // RANKS) for rank in range(RANKS))
    )
    with open(path, "wb") as file:
        for launch in range(launches):
            created, number = f"2026-{seed:02}-01T{launch:06}", f"{seed:08x}{launch:08x}"
            file.write(encoder.encode(msgspec.structs.replace(header, created=created, launch=number)) + b"\n")
            scatter = 1 + 0.05 * noise.random()
            for index in range(count * launch // launches, count * (launch + 1) // launches):
                record = originals[index % len(originals)]
                values = tuple(
                    round(noise.choice(record.samples) * scatter * (1 + 0.02 * noise.random()), 11)
                    if record.unit == "s" else noise.choice(record.samples)
                    for _ in range(samples)
                )  # fmt: skip
                record = msgspec.structs.replace(record, samples=values, visits=())
                file.write(encoder.encode(record) + b"\n")


def decode(path: str) -> int:
    """Decode the lines of a results file with msgspec, as dictionaries, and keep nothing; return 0."""
    decoder = msgspec.json.Decoder()
    with open(path, "rb") as file:
        for line in file:
            decoder.decode(line)
    return 0


def body(command: str, folder: str) -> str:
    """Return the Python expression that carries a command out."""
    arguments = {
        "fit": ["fit", "r.jsonl", "-o", "m.toml", "--force"],
        "report": ["report", "r.jsonl", "-o", "r.html", "--force"],
        "report-machine": ["report", "r.jsonl", "m.toml", "-o", "r.html", "--force"],
        "compare": ["compare", "r.jsonl", "s.jsonl"],
        "check": ["check", "mpi", "r.jsonl"],
        "convert": ["convert", "r.jsonl", "-o", "r.csv", "--force"],
    }
    path = os.path.join(folder, "r.jsonl")
    if command == "decode":
        return _DECODE.format(path=path)
    if command == "read":
        return f"len(__import__('commmodel.results').results.load({path!r}).launches)"
    return f"main({arguments[command]!r})"


def measure(command: str, folder: str, limit: float) -> tuple[float, float, float, int] | None:
    """Return seconds, those of the processor, peak MiB and exit code of a command; None beyond the limit."""
    code = _MEASURED.format(body=body(command, folder))
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            timeout=limit, check=False, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, spent, kibibytes, code = json.loads(done.stderr.splitlines()[-1])
    return seconds, spent, kibibytes / 1024, code


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", default="1000,10000,100000", help="numbers of records (1000,10000,100000)")
    parser.add_argument(
        "--plan", choices=("campaign", "pingpong"), default="campaign", help="what they are of (campaign)"
    )
    parser.add_argument("--like", metavar="FILE", help="results to draw from, instead of a plan")
    parser.add_argument("--launches", type=int, help="of each file (one for each round of the plan; of pingpong 40)")
    parser.add_argument("--samples", type=int, default=3, help="of each record (3)")
    parser.add_argument(
        "--commands", default="decode,read,fit,report,report-machine,compare", help=f"of {', '.join(COMMANDS)}"
    )
    parser.add_argument("--limit", type=float, default=300, help="seconds of a command (300)")
    arguments = parser.parse_args()
    counts = [int(word) for word in arguments.records.split(",")]
    commands = arguments.commands.split(",")
    if arguments.like:
        drawn = [
            record for record in load(arguments.like).records if not isinstance(record.configuration, _SEVERAL_SIZES)
        ]
    else:
        drawn = planned() if arguments.plan == "campaign" else pingpongs()
    results: dict[str, list[tuple[int, tuple[float, float, float, int]]]] = {}
    print(f"{'records':>9}  {'command':<15} {'seconds':>8} {'CPU s':>7} {'peak MiB':>9}  exit")
    for count in counts:
        launches = arguments.launches or (
            -(-count // len(drawn)) if arguments.like or arguments.plan == "campaign" else 40
        )
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            for seed, name in enumerate(("r.jsonl", "s.jsonl")[: 1 + ("compare" in commands)], 1):
                write_records(Path(folder) / name, drawn, count, min(launches, count), arguments.samples, seed)
            size = os.path.getsize(Path(folder) / "r.jsonl") / 2**20
            print(
                f"{count:>9}  {'(making)':<15} {time.perf_counter() - begin:8.2f} {size:9.0f}  MiB of a file: "
                f"{len(drawn)} configurations, {launches} launches", flush=True,
            )  # fmt: skip
            for command in commands:
                result = measure(command, folder, arguments.limit)
                if result is None:
                    print(f"{count:>9}  {command:<15} longer than {arguments.limit:.0f} s", flush=True)
                    continue
                results.setdefault(command, []).append((count, result))
                print(
                    f"{count:>9}  {command:<15} {result[0]:8.2f} {result[1]:7.2f} {result[2]:9.0f}  {result[3]}",
                    flush=True,
                )
    for command, rows in results.items():
        if len(rows) > 1:
            (fewer, less), (more, most) = rows[-2:]
            exponents = [math.log(most[index] / less[index]) / math.log(more / fewer) for index in (1, 2)]
            print(
                f"{command}: processor time grows as records^{exponents[0]:.2f}, memory as records^{exponents[1]:.2f}"
            )


if __name__ == "__main__":
    main()
