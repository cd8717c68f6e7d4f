"""T(L) and tolerance of latency beside LLAMP's: ``python -m benchmarks.validation.llamp_tolerances --llamp FOLDER``.

LLAMP (Shen and others, SC 2024, github.com/spcl/llamp) makes a linear program of a GOAL schedule and solves it, here by
its free solver, OR-Tools' CLP. FOLDER is a checkout, ``--python`` an interpreter with ortools, igraph, networkx, numpy,
pandas, matplotlib, seaborn, tqdm and psutil. ``--atlahs`` is a checkout of github.com/spcl/atlahs, whose samples of
liballprof's traces are compared, too: sweep3d on 2 x 2 ranks, and a broadcast.

Both get the same schedules. LLAMP lets a processor do several things at once and leaves the order to the schedule, so
each rank's operations stand in one chain: sends where the program calls them, receives where it waits for them. It
takes every send and receive for a pair by its tag, so each message has its own. A message of m bytes takes m G there
and (m - 1) G here: ours have one byte more. Our rules are those of ATLAHS (``rules="newer"``) without gaps.

Wanted: T and tolerance within 0.1 %, and 50 times as fast. Times are processor seconds: LLAMP's for the graph, the
linear program, T at five latencies and the tolerance at 1, 2 and 5 %; ours for reading the schedule and the same
answers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from commmodel.collectives import Problem
from commmodel.simulate import Code, DelayParameters, Program, SimulationResult, goal
from commmodel.simulate.delays import run_schedule
from commmodel.simulate.operations import EVERY_NAMED
from commmodel.simulate.questions import replayed
from commmodel.simulate.scenario import Scale, place, workloads
from commmodel.simulate.sensitivity import sensitivity
from commmodel.simulate.work.block_streams import fresh

TOLERANCE, FASTER = 1e-3, 50.0
LATENCIES = (1000.0, 3000.0, 10_000.0, 30_000.0, 100_000.0)
"""Nanoseconds; the first is where tolerance begins."""
PERCENTS = (1.0, 2.0, 5.0)
OVERHEAD, BYTE = 1500.0, 0.018
WHERE = place("L=1us,o=1500ns,G=18ps")
RECORDED = (
    *(f"programs.{name}" for name in ("conjugate_gradient", "halo", "objects", "pipelined_ring", "rows_and_columns")),
    *("programs.transpose", *(f"growing_programs.{name}" for name in ("halo_1d", "halo_2d", "lu", "pencils"))),
)
"""Modules of this folder."""
PEER = """
import contextlib, io, json, sys, time
sys.path.insert(0, sys.argv[1])
request = json.load(sys.stdin)
answers = []
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    from dep_graph_generator import DependencyGraphGenerator
    from lp_analyzer import LPAnalyzer
    from lp_converter import LPConverter
    for path in request["schedules"]:
        start = time.process_time()
        graph = DependencyGraphGenerator(path).generate(False)
        def model(latency):
            program = LPConverter(graph, o=request["o"], S=None).convert_to_lp(
                False, False, native_nic_serialize_sends=True, native_nic_send_mode="full_timeline", G=request["G"]
            )
            program.LookupVariable("l").SetLb(latency)
            return program
        program, points = model(request["L"][0]), []
        for latency in request["L"]:
            program.LookupVariable("l").SetLb(latency)
            program.Solve()
            points.append([program.Objective().Value(), program.LookupVariable("l").reduced_cost()])
        tolerated = [
            LPAnalyzer().get_net_lat_buffer(model(request["L"][0]), percent / 100, None, False)
            for percent in request["percents"]
        ]
        answers.append([points, tolerated, time.process_time() - start])
json.dump(answers, sys.stdout)
"""
"""What LLAMP's interpreter runs: its own modules, and nothing of ours."""


class Answer(NamedTuple):
    """What one of the two says of a schedule, in nanoseconds."""

    times: list[float]
    slopes: list[float]
    tolerated: list[float]
    seconds: float


def chained(program: Program, more_bytes: int) -> str:
    """Return a program as GOAL text: a chain for each rank, a tag for each message."""
    source, used, tags = fresh(program), [Counter[Any](), Counter[Any]()], dict[Any, int]()

    def tag(receives: bool, sender: int, receiver: int, tag_of_program: int) -> int:
        channel = (sender, receiver, tag_of_program)
        used[receives][channel] += 1
        return tags.setdefault((channel, used[receives][channel]), len(tags) + 1)

    text = [f"num_ranks {program.processes}\n"]
    for rank in range(program.processes):
        lines = [*_lines(source.pieces(rank), rank, tag, more_bytes)]
        text.append(f"rank {rank} {{\n")
        text += [f"l{number}: {line}\n" for number, line in enumerate(lines, 1)]
        text += [f"l{number + 1} requires l{number}\n" for number in range(1, len(lines))]
        text.append("}\n")
    return "".join(text)


def _lines(pieces: Any, rank: int, tag: Any, more_bytes: int) -> Iterator[str]:
    waiting: dict[int, str] = {}
    unnamed: list[str] = []
    yield "calc 0"
    for operations in pieces:
        for code, peer, number, request, value in operations.tolist():
            size = int(max(value, 0)) + more_bytes
            match code:
                case Code.COMPUTE | Code.SLEEP:
                    yield f"calc {round(1e9 * value)}"
                case Code.SEND | Code.ISEND | Code.SSEND:
                    yield f"send {size}b to {peer} tag {tag(False, rank, peer, number)}"
                case Code.RECV | Code.IRECV:
                    if peer < 0 or number == -1:
                        raise ValueError("a receive from any rank")
                    line = f"recv {size}b from {peer} tag {tag(True, peer, rank, number)}"
                    if code == Code.RECV:
                        yield line
                    elif request >= 0:
                        waiting[request] = line
                    else:
                        unnamed.append(line)
                case Code.WAIT if request in waiting:
                    yield waiting.pop(request)
                case Code.WAITALL if request == EVERY_NAMED:
                    yield from waiting.values()
                    waiting.clear()
                case Code.WAITALL:
                    yield from unnamed
                    unnamed.clear()
    yield from (*waiting.values(), *unnamed)
    yield "calc 0"


def simulated(text: str) -> Answer:
    """Answer by simulation."""
    start = time.process_time()
    schedule = goal.parse(text)

    def question(where: Any, scale: Scale, slopes: Any) -> SimulationResult:
        return run_schedule(schedule, scale.delays(where), rules="newer", slopes=slopes)

    def parameters(latency: float) -> DelayParameters:
        return DelayParameters(L=1e-9 * latency, o=1e-9 * OVERHEAD, G=1e-9 * BYTE)

    results = [question(parameters(latency), Scale(), "parameters") for latency in LATENCIES]
    costs = sensitivity(question, parameters(LATENCIES[0]), percents=PERCENTS, costs=["latency"], pieces=False)
    factors = costs.curves[0].tolerance if costs.curves else dict.fromkeys(PERCENTS, float("inf"))
    seconds = time.process_time() - start
    return Answer(
        [1e9 * result.seconds for result in results], [result.derivatives["L"] for result in results],
        [LATENCIES[0] * factors[percent] for percent in PERCENTS], seconds,
    )  # fmt: skip


def solved(folder: Path, python: str, schedules: list[Path]) -> list[Answer]:
    """Answer by LLAMP."""
    request = {"schedules": [*map(str, schedules)], "o": OVERHEAD, "G": BYTE, "L": LATENCIES, "percents": PERCENTS}
    words = [python, "-c", PEER, str(folder / "mpi-dep-graph")]
    done = subprocess.run(words, input=json.dumps(request), capture_output=True, text=True, check=True)
    return [
        Answer([T for T, _ in points], [slope for _, slope in points], tolerated, seconds)
        for points, tolerated, seconds in json.loads(done.stdout)
    ]


def cases(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield names, schedules for LLAMP, and the same with a byte more for each message."""
    for path in sorted((arguments.llamp / "mpi-dep-graph" / "test" / "data").glob("*.goal")):
        text = path.read_text()
        yield f"LLAMP's toy {path.stem}", text, text.replace("4b", "5b")
    examples: dict[str, workloads.Workload] = {}
    if arguments.atlahs is not None:
        samples = arguments.atlahs / "goal_gen" / "hpc" / "Schedgen" / "liballprof-samples"
        for name in ("sweep3d-2x2", "bcast"):
            examples[f"ATLAHS's sample {name}"] = replayed(WHERE, str(samples / name))
    for name in RECORDED:
        examples[f"recording of {name.partition('.')[2]}, 4 ranks"] = replayed(WHERE, str(_recorded(name, folder)))
    examples["LU, class W, 16 ranks"] = workloads.application(WHERE, "lu", "W", 16, iterations=5)
    examples["CG, class S, 16 ranks"] = workloads.application(WHERE, "cg", "S", 16, iterations=5)
    examples["halo in 3 dimensions, 64 ranks"] = workloads.exchange(WHERE, "halo", 4096, 64, dimensions=3, rounds=5)
    examples["allreduce, 64 ranks"] = workloads.collective(WHERE, "allreduce", Problem(64, 4096), rounds=10)
    for name, workload in examples.items():
        make = partial(workload.program, [1e9] * workload.processes, 1.0)
        yield name, chained(make(), 0), chained(make(), 1)


def _recorded(name: str, folder: Path) -> Path:
    """Return a recording of one of the programs of the validation."""
    launcher = Path(sys.executable).with_name("mpiexec")
    words = [str(launcher), "-n", "4", sys.executable, "-m", "commmodel", "record", "-o", str(folder / name)]
    subprocess.run([*words, "--", sys.executable, "-m", f"benchmarks.validation.{name}"], check=True,
                   capture_output=True, timeout=300)  # fmt: skip
    return folder / name


def main() -> int:
    """Print a row for each schedule, and the misses by name."""
    parser = argparse.ArgumentParser(description="Tolerance of latency beside LLAMP's.")
    parser.add_argument("--llamp", type=Path, required=True, help="checkout of github.com/spcl/llamp")
    parser.add_argument("--python", default=sys.executable, help="interpreter with LLAMP's packages (this one)")
    parser.add_argument("--atlahs", type=Path, help="checkout of github.com/spcl/atlahs (none)")
    arguments = parser.parse_args()
    table = Table("schedule", "operations", "T differs", "slope differs", "tolerance differs", "LLAMP", "times ours")
    misses = []
    with tempfile.TemporaryDirectory() as folder:
        schedules = [*cases(arguments, Path(folder))]
        paths = []
        for number, (_, text, _) in enumerate(schedules):
            paths.append(Path(folder, f"{number}.goal"))
            paths[-1].write_text(text)
        answers = solved(arguments.llamp, arguments.python, paths)
        for (name, text, longer), answer in zip(schedules, answers, strict=True):
            answer_here = simulated(longer)
            times, slopes, tolerated = (
                max((abs(a - b) / abs(b) if b else abs(a) for a, b in zip(*pair, strict=True) if a < 1e9), default=0.0)
                for pair in zip(answer_here[:3], answer[:3], strict=True)
            )
            faster = answer.seconds / answer_here.seconds
            table.add_row(
                name, str(text.count(":")), f"{times:.1e}", f"{slopes:.1e}", f"{tolerated:.1e}",
                f"{answer.seconds:.2f} s", f"{faster:.0f}",
            )  # fmt: skip
            if max(times, tolerated) > TOLERANCE or faster < FASTER:
                misses.append(name)
    Console(width=160).print(table)
    print(f"{len(schedules) - len(misses)} of {len(schedules)} within {TOLERANCE:.1%} and {FASTER:.0f} times as fast")
    for name in misses:
        print(f"  miss: {name}")
    return int(bool(misses))


if __name__ == "__main__":
    sys.exit(main())
