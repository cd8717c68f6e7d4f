"""What a profile of a large recording takes: memory, which must not grow with the recording, and time.

A recording of a ring exchange and a reduction is written by repeating its blocks, and `commmodel report` reads it in a
process of its own. Run it as

    python -m benchmarks.speed.recording_memory --sizes 200MB,1GB,4GB --folder /scratch
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from commmodel.units import parse_size

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from support.logs import describe, new_logs, unsigned

MB = 10**6
STEPS = 1000


def write(folder: Path, size: int, processes: int) -> int:
    """Write a recording of about so many bytes; return the number of its calls."""
    describe(folder)
    calls = 0
    for log in new_logs(processes):
        before, after = (log.rank - 1) % processes, (log.rank + 1) % processes
        log.call("Init", 0, 10**6)
        head, start = len(log.parts), log.last
        for step in range(STEPS):
            at = start + 10**5 * (step + 1)
            log.call("Irecv", at, at + 300, line=7, peer=before, tag=3, bytes=65536, request=1)
            log.call("Isend", at + 400, at + 900, line=8, peer=after, tag=3, bytes=65536, request=2)
            done = [(1, before, 3, 65536), (2, -2, 0, 0)]
            log.call("Waitall", at + 1000, at + 30_000 + 7 * (step * log.rank % 100), line=9, given=2, completed=done)
            log.call("Allreduce", at + 40_000, at + 50_000, line=12, bytes=8, operation=3)
        block = b"".join(log.parts[head:])
        repeats = max(1, size // processes // len(block))
        with open(folder / f"rank-{log.rank:06d}.log", "wb") as file:
            file.write(b"".join(log.parts[:head]))
            for _ in range(repeats):
                file.write(block)
            file.write(b"\x07" + unsigned(1) + unsigned(0) + unsigned(start + (log.last - start) * repeats))
        calls += 4 * STEPS * repeats + 1
    return calls


def reported(folder: Path) -> tuple[int, float]:
    """Report a recording in a process of its own; return its peak of resident memory in bytes, and its seconds."""
    command = [sys.executable, "-m", "commmodel", "report", str(folder), "--json", "-o", str(folder / "page.html")]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{folder}: exit code {child.returncode}")
    return usage.ru_maxrss * 1024, time.perf_counter() - begin


def main() -> int:
    """Measure and show the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="200MB,1GB", help="bytes of the recordings (%(default)s)")
    parser.add_argument("-p", "--ranks", type=int, default=8, help="(%(default)s)")
    parser.add_argument("--allowed", default="64MB", help="that the longest may take above the shortest (%(default)s)")
    parser.add_argument("--folder", help="where recordings are written (the system's for temporary files)")
    arguments = parser.parse_args()
    table = Table("size", "calls", "peak of memory", "seconds", "MB/s", "ns a call", title=f"{arguments.ranks} ranks")
    peaks = []
    for size in map(parse_size, arguments.sizes.split(",")):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            folder = Path(name) / "recording"
            calls = write(folder, int(size), arguments.ranks)
            volume = sum(path.stat().st_size for path in folder.glob("*.log"))
            peak, seconds = reported(folder)
        peaks.append(peak)
        table.add_row(
            f"{volume / MB:.0f} MB", f"{calls / MB:.1f} million", f"{peak / MB:.0f} MB", f"{seconds:.1f}",
            f"{volume / MB / seconds:.0f}", f"{1e9 * seconds / calls:.0f}",
        )  # fmt: skip
    Console(width=120).print(table)
    return int(max(peaks) - peaks[0] > parse_size(arguments.allowed))


if __name__ == "__main__":
    raise SystemExit(main())
