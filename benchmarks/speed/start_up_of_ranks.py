"""Start-up of many ranks: what each rank of the benchmark loads before it measures, and what that is for all of them.

    python -m benchmarks.speed.start_up_of_ranks [--ranks 1 10 100] [--of 1000]

A rank here is a process that imports what a rank of ``python -m commmodel.bench pingpong`` does, MPI's library too,
without MPI_Init: what MPI itself needs grows with the ranks and is another matter. So many run at a time as there are
processors. Each start is made twice: once for its processor time, once under strace, where that is installed, for its
calls to the file system. A file system answers all of them once for each rank, unless nodes have copies. The last row
is not measured, but the median of the row before times the number of ranks.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

LOADED = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
from commmodel._core.mpi import pingpong
from commmodel.bench import command, run
import json, time
with open("/proc/self/io") as io:
    read = dict(line.split(": ") for line in io)["rchar"]
print(json.dumps({"processor": time.process_time(), "read": int(read)}))
"""
STRACE = ["strace", "-f", "-c", "-e", "trace=%file,fstat,getdents64"]
"""Calls that a server of metadata answers; each but fstat and getdents64 has a path."""
OPENING = {"open", "openat", "openat2"}
COLUMNS = {
    "processor": ("processor", 1, "{:,.3f} s"),
    "opened": ("files opened", 1, "{:,.0f}"),
    "missing": ("not found", 1, "{:,.0f}"),
    "metadata": ("calls in all", 1, "{:,.0f}"),
    "read": ("read", 1e-6, "{:,.1f} MB"),
}
"""Quantity -> its heading, its factor and its form."""


def start(traced: bool) -> dict[str, float]:
    """Start a rank; return its seconds and bytes, or where it is traced, its calls to the file system."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words = [sys.executable, "-c", LOADED]
    if not traced:
        done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
        return dict(json.loads(done.stdout))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "calls")
        subprocess.run([*STRACE, "-o", table, *words], check=True, capture_output=True, env=environment)
        return calls(table.read_text(encoding="utf-8"))


def calls(table: str) -> dict[str, float]:
    """Return how many files were opened and not found, and how many calls there were, of a summary of strace.

    >>> calls('''% time     seconds  usecs/call     calls    errors syscall
    ... ------ ----------- ----------- --------- --------- ----------------
    ...  60.00    0.000600           1       600       100 openat
    ...  40.00    0.000400           1       400           fstat
    ... ------ ----------- ----------- --------- --------- ----------------
    ... 100.00    0.001000           1      1000       100 total''')
    {'opened': 500, 'missing': 100, 'metadata': 1000}
    """
    opened = missing = metadata = 0
    for line in table.splitlines():
        words = line.split()
        if not words or words[-1] == "total" or not words[0][0].isdigit():
            continue
        count, errors = int(words[3]), int(words[4]) if len(words) == 6 else 0
        metadata += count
        missing += errors
        if words[-1] in OPENING:
            opened += count - errors
    return {"opened": opened, "missing": missing, "metadata": metadata}


def row(name: str, values: Mapping[str, float]) -> str:
    """Return a row of the table."""
    cells = (form.format(values[key] * factor) if key in values else "-" for key, (_, factor, form) in COLUMNS.items())
    return f"{name:<22}" + "".join(f"{cell:>14}" for cell in cells)


def main() -> None:
    """Start ranks, and print what one takes, least to most, and all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 10, 100], help="(default: 1 10 100)")
    parser.add_argument("--of", type=int, default=1000, help="ranks to extrapolate to (default: %(default)s)")
    arguments = parser.parse_args()
    kinds = [False, True] if shutil.which("strace") else [False]
    for traced in kinds:
        start(traced)  # not counted: modules are compiled, files come into the cache
    print(f"{'':<22}" + "".join(f"{heading:>14}" for heading, _, _ in COLUMNS.values()))
    middle: dict[str, float] = {}
    for ranks in arguments.ranks:
        begin = time.perf_counter()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            starts = [list(pool.map(start, [traced] * ranks)) for traced in kinds]
        clock = time.perf_counter() - begin
        values = {key: [rank[key] for rank in kind] for kind in starts for key in kind[0]}
        for end in (min, median, max):
            print(row(f"{end.__name__} of {ranks}", {key: end(value) for key, value in values.items()}))
        print(row(f"all {ranks}", {key: sum(value) for key, value in values.items()}) + f"   {clock:.1f} s")
        middle = {key: median(value) for key, value in values.items()}
    print(row(f"{arguments.of:,}, extrapolated", {key: arguments.of * value for key, value in middle.items()}))
    if len(kinds) == 1:
        print("calls to the file system: not counted, as strace is not installed")


if __name__ == "__main__":
    main()
