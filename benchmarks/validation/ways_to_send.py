"""How good the choice of a way to send is: ``python -m benchmarks.validation.ways_to_send``.

Measures data in pieces on a grid of sizes and lengths, fits, and measures another grid, between the first, in the same
turn; several launches of both. At each point of the second grid the choice of `commmodel.optimize.how_to_send`, among
the ways that a program in Python has, is compared with the way that took the least measured time. Wanted: a choice at
most 5 % slower than the best measured at 95 % of the points. Misses are named. Beside it stands the control: the choice
by one half of the launches of the second grid, judged by the other half: what noise alone leaves. Times of a busy
machine say little; the load before and after is printed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from commmodel.fit import fit_machine
from commmodel.fit.points import points_of
from commmodel.fit.visits import visit_times
from commmodel.formats import load_all
from commmodel.optimize import PieceLayout, how_to_send
from commmodel.results import Measurements
from commmodel.results.configurations import Datatype
from commmodel.units import format_ratio, format_size, format_time

WITHIN = 0.05
WAYS = ("type", "pack", "numpy")
GRID = ("1KiB:64MiB:*4", "8:64KiB:*8", "4160")
APART = ("2KiB:32MiB:*4", "16:32KiB:*8", "1000,12000")
Point = tuple[str, int, int, int]
"""Layout, bytes of all pieces, of a piece, and between the begins of two."""
Times = dict[Point, dict[str, float]]


def measure(arguments: argparse.Namespace, grid: tuple[str, str, str], output: Path) -> None:
    """Measure a grid in one launch."""
    totals, blocks, strides = grid
    command = [*arguments.mpiexec.split(), "-n", "2", sys.executable, "-m", "commmodel.bench", "datatype", "--force"]
    command += ["--layouts", arguments.layouts, "--totals", totals, "--blocks", blocks, "--strides", strides]
    command += ["--time", arguments.time, "--ways", f"contiguous,{','.join(WAYS)}", "-o", str(output)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise SystemExit(completed.stderr)


def times_of(measurements: Measurements) -> Times:
    """Return the time of each way at each point, of all launches together."""
    visits = defaultdict(list)
    for record in measurements.records:
        if isinstance(row := record.configuration, Datatype) and row.way in WAYS:
            visits[(row.layout, row.message_size, row.block, row.stride), row.way] += visit_times(record)
    times: Times = defaultdict(dict)
    for (point, way), observed in visits.items():
        times[point][way] = float(points_of([(point[1], point[2], observed)]).seconds[0])
    return times


def judged(choices: Mapping[Point, str], times: Times) -> list[tuple[float, Point, str, str]]:
    """Return by how much each choice is slower than the best way, with the point, the choice and the best."""
    losses = []
    for point, choice in choices.items():
        best = min(times[point], key=times[point].__getitem__)
        losses.append((times[point][choice] / times[point][best] - 1, point, choice, best))
    return losses


def show(title: str, losses: Iterable[tuple[float, Point, str, str]], times: Times | None) -> None:
    """Print the share of good choices and, of given times, what was missed by how much."""
    rows = sorted(losses, reverse=True)
    good = sum(loss <= WITHIN for loss, *_ in rows)
    print(f"{title}: {good} of {len(rows)} choices within {format_ratio(WITHIN)} of the best ({good / len(rows):.0%})")
    for loss, point, choice, best in rows if times else ():
        if times and loss > WITHIN:
            layout, total, block, stride = point
            seconds = format_time(times[point][choice])
            print(
                f"  {layout}, {format_size(total)} in {format_size(block)}, {format_size(stride)} apart: "
                f"{choice} {seconds}, {loss:.0%} over {best}"
            )


def main() -> int:
    """Measure both grids, fit one of them, and judge by the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpiexec", default="mpiexec", help="command that starts ranks (%(default)s)")
    parser.add_argument("--launches", type=int, default=4, help="of each grid (%(default)s)")
    parser.add_argument("--time", default="60s", help="of a launch (%(default)s)")
    parser.add_argument("--layouts", default="vector,indexed", help="(%(default)s)")
    parser.add_argument(
        "--grid", nargs=3, default=GRID, metavar=("TOTALS", "BLOCKS", "STRIDES"), help="to be fitted (%(default)s)"
    )
    parser.add_argument(
        "--apart", nargs=3, default=APART, metavar=("TOTALS", "BLOCKS", "STRIDES"), help="to judge by (%(default)s)"
    )
    arguments = parser.parse_args()
    if arguments.launches < 2:
        parser.error("--launches: the control needs two")
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name), defaultdict(list)
        for launch in range(arguments.launches):
            for grid in ("grid", "apart"):
                files[grid].append(folder / f"{grid}{launch}.jsonl")
                measure(arguments, getattr(arguments, grid), files[grid][-1])
        machine = fit_machine(load_all(files["grid"]))
        times = times_of(load_all(files["apart"]))
        halves = [times_of(load_all(files["apart"][half::2])) for half in (0, 1)]
    print(f"load after: {os.getloadavg()[0]:.1f}; {machine.origin.mpi if machine.origin else ''}")
    layouts = {point: PieceLayout(size // block, block, stride, layout)
               for point in times for layout, size, block, stride in [point]}  # fmt: skip
    choices = {point: how_to_send(layout, machine).best for point, layout in layouts.items()}
    show("model", judged(choices, times), times)
    by_half = {point: min(ways, key=ways.__getitem__) for point, ways in halves[0].items()}
    show("control, one half of the launches judged by the other", judged(by_half, halves[1]), None)
    show("always the datatype", judged(dict.fromkeys(times, "type"), times), None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
