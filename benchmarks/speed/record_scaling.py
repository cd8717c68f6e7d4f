"""Time and memory of reading, fitting and reporting many records, and how they grow with their number.

Each command runs in a process of its own on a made file: launches of the default sizes with one and two pairs, of few
samples each. The exponent is that of the growth between the two largest files: 1 is linear.

    python -m benchmarks.speed.record_scaling --records 10000,100000 --commands fit,report
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
from pathlib import Path

import msgspec

from commmodel.results import Header, Host, Library, PingPong, Rank, Record
from commmodel.results.file import FORMAT, VERSION

SIZES = [2**exponent for exponent in range(25)]
COMMANDS = ("read", "fit", "report", "report-machine", "compare", "check")
_MEASURED = """
import json, resource, sys, time
begin, spent = time.perf_counter(), time.process_time()
from commmodel.cli import main
code = {body}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([time.perf_counter() - begin, time.process_time() - spent, peak, code]), file=sys.stderr)
"""


def write_records(path: Path, count: int, launches: int, samples: int) -> None:
    """Write a results file of so many ping-pong records in so many launches."""
    noise, encoder = random.Random(1), msgspec.json.Encoder()  # noqa: S311
    header = Header(FORMAT, VERSION, "2026-01-01", (), Library("MPICH"), (Host("m", cpus=2),), (Rank(0, 0), Rank(1, 0)))
    with open(path, "wb") as file:
        for launch in range(launches):
            file.write(encoder.encode(msgspec.structs.replace(header, created=f"2026-01-01T{launch:06}")) + b"\n")
            scatter = 1 + 0.05 * noise.random()
            for index in range(count * launch // launches, count * (launch + 1) // launches):
                size = SIZES[index % len(SIZES)]
                seconds = scatter * (1e-6 + size / 10e9)
                values = tuple(seconds * (1 + 0.02 * noise.random()) for _ in range(samples))
                file.write(encoder.encode(Record(PingPong(size, "same-socket"), "s", values)) + b"\n")


def body(command: str, folder: str) -> str:
    """Return the Python expression that carries a command out."""
    arguments = {
        "fit": ["fit", "r.jsonl", "-o", "m.toml", "--force"],
        "report": ["report", "r.jsonl", "-o", "r.html", "--force"],
        "report-machine": ["report", "r.jsonl", "m.toml", "-o", "r.html", "--force"],
        "compare": ["compare", "r.jsonl", "r.jsonl"],
        "check": ["check", "mpi", "r.jsonl"],
    }
    if command == "read":
        return f"len(__import__('commmodel.results').results.load({os.path.join(folder, 'r.jsonl')!r}).launches)"
    return f"main({arguments[command]!r})"


def measure(command: str, folder: str, limit: float) -> tuple[float, float, float, int] | None:
    """Return seconds, those of the processor, peak MiB and exit code of a command; None beyond the limit."""
    code = _MEASURED.format(body=body(command, folder))
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            timeout=limit, check=False,
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
    parser.add_argument("--launches", type=int, default=40, help="of each file (40)")
    parser.add_argument("--samples", type=int, default=10, help="of each record (10)")
    parser.add_argument("--commands", default="read,fit,report,report-machine", help=f"of {', '.join(COMMANDS)}")
    parser.add_argument("--limit", type=float, default=300, help="seconds of a command (300)")
    arguments = parser.parse_args()
    counts = [int(word) for word in arguments.records.split(",")]
    results: dict[str, list[tuple[int, tuple[float, float, float, int]]]] = {}
    print(f"{'records':>9}  {'command':<15} {'seconds':>8} {'CPU s':>7} {'peak MiB':>9}  exit")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            write_records(Path(folder) / "r.jsonl", count, min(arguments.launches, count), arguments.samples)
            size = os.path.getsize(Path(folder) / "r.jsonl") / 2**20
            print(
                f"{count:>9}  {'(making)':<15} {time.perf_counter() - begin:8.2f} {size:9.0f}  MiB of file", flush=True
            )
            for command in arguments.commands.split(","):
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
