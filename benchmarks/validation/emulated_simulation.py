"""Collectives and halos on eight emulated hosts, simulated from two of them: ``make cluster-bench`` (root, Linux).

The hybrid model is measured between two hosts, one rank on each; LogGPS gets its parameters from the same. Pairwise
alltoall, binomial broadcast, ring allgather and the exchange with the neighbours in a grid are then measured on 2, 4
and 8 hosts and simulated by the hybrid, the fluid and the LogGPS model. Hosts stand in one cabinet, then in two with
one slower link between them. Of that link nothing is measured: its rate is as nominal as the hosts', so it is taken to
carry as much more than B as its rate is above theirs.

Wanted of the hybrid model: for messages of 100 KiB and more a median error of at most 5 % and none above 10 %, for
smaller ones a median of at most 10 %; with more the exit code is 1. Source: Bedaride et al. 2013, Section V; there, the
best of a few repetitions is what is compared. With Open MPI, an exchange whose ranks happen to ask at the same time
takes half as long as another one, and which of two ranks asks first hangs on when they leave the barrier before. So
that is measured, too, after an exchange like the one that is simulated, and simulated ranks begin as they left each of
several barriers. An error is the distance between the outer deciles of the repetitions and those of the simulations, 0
where these overlap; beside it stands the error of the median of the simulations.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np
from benchmarks.validation.emulated_collectives import forced, measured
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from tools import emulated_cluster

from commmodel.collectives import Problem
from commmodel.fit import fit_machine
from commmodel.machine import Machine
from commmodel.results import Measurements
from commmodel.results.configurations import Collective
from commmodel.simulate import OPERATION, Code, DelayModel, Network, delays, fluid, from_machine, run, work
from commmodel.simulate.operations import COLLECTIVE_TAG, Program
from commmodel.simulate.platform import Platform, cabinets
from commmodel.simulate.work.grids import square_grid
from commmodel.units import format_size, format_time, parse_sizes

LARGE = 100 * 1024
LARGE_MEDIAN, LARGE_WORST, SMALL_MEDIAN = 0.05, 0.10, 0.10
MEDIAN = "its median"  # of the simulations by the hybrid model
MODELS = ("hybrid", MEDIAN, "fluid", "loggps")
HALO = "neighbor_alltoall"
BUCKET = "1600"  # bytes, of one packet: what passes at full speed after a pause is little beside 10 KiB
EXITS = Path(__file__).with_name("barrier_exits.py")
BARRIERS = 15  # that ranks leave, one simulated begin each
SEND_BUFFER, RECEIVE_BUFFER = 1 << 14, 1 << 16  # bytes of a socket: some ms of a link, as real ones have


Exits = dict[str, NDArray[np.float64]]
"""Exchange before a barrier -> by how many seconds ranks left it later than the first one, shape (barriers, ranks)."""


class Row(NamedTuple):
    """An operation, measured and simulated."""

    topology: str
    operation: str
    message_size: int
    processes: int
    seconds: float
    """The median of the repetitions."""
    quickest: float
    """Their first and last decile."""
    slowest: float
    simulated: dict[str, NDArray[np.float64]]
    """By a model or its median: seconds, one time or more."""

    def error(self, model: str) -> float:
        """Return how far a model's outer deciles are from those measured, relative to these; 0 where they overlap."""
        low, high = np.quantile(self.simulated[model], (0.1, 0.9))
        nearest = min(max(self.quickest, low), high)
        return float(nearest / min(max(nearest, self.quickest), self.slowest) - 1)


def program_of(operation: str, message_size: int, processes: int, algorithms: dict[str, str]) -> Program:
    """Return the program of what was measured."""
    if operation == HALO:
        return exchange_with_neighbours(message_size, processes)
    return work.collective(operation, Problem(processes, message_size), algorithm=algorithms[operation])


def exchange_with_neighbours(message_size: int, processes: int) -> Program:
    """Return MPI_Neighbor_alltoall on a periodic grid of MPI_Dims_create: the longer side first, down before up."""
    fast, slow = square_grid(processes)
    rank = np.arange(processes)
    receivers = []
    for side, stride in ((slow, fast), (fast, 1)):
        place = rank // stride % side
        receivers += [rank + ((place + step) % side - place) * stride for step in (-1, 1)]
    senders = np.tile(rank, len(receivers))
    return work.sparse(senders, np.concatenate(receivers), np.full(senders.size, message_size), processes)


def barrier_exits(mpiexec: str, hosts: Sequence[str], variables: dict[str, str]) -> Exits:
    """Return by how many seconds ranks leave barriers later than the first of them."""
    command = [*emulated_cluster.launcher(mpiexec, hosts, 1), sys.executable, str(EXITS), str(BARRIERS)]
    environment = os.environ | emulated_cluster.mpi_environment() | variables
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    return {name: np.array(rows, dtype=np.float64) for name, rows in json.loads(completed.stdout).items()}


def simulated_seconds(
    program: Program, network: Network, platform: Platform, exits: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the times of a program whose ranks begin as they left each barrier.

    A rank begins when it gets a message of another one, which the last host has for each.
    """
    count, last = program.processes, platform.hosts - 1
    tag = COLLECTIVE_TAG
    ranks = [
        np.concatenate(
            [
                np.array([(Code.RECV, count + rank, tag, -1, 0), (Code.MARK, 0, 0, 0, 0)], dtype=OPERATION),
                program.operations[program.offsets[rank] : program.offsets[rank + 1]],
            ]
        )
        for rank in range(count)
    ]
    seconds = []
    for times in exits:
        starters = [
            np.array([(Code.SLEEP, 0, 0, -1, time), (Code.SEND, rank, tag, -1, 0)], dtype=OPERATION)
            for rank, time in enumerate(times[:count])
        ]
        outcome = run(
            Program.from_ranks([*ranks, *starters]), network, platform, hosts=[*range(count), *[last] * count]
        )
        begins = np.empty(count)
        begins[outcome.marks["rank"]] = outcome.marks["time"]
        seconds.append(float(np.max(outcome.ends[:count] - begins)))
    return np.array(seconds)


def platform_of(machine: Machine, hosts: int, in_cabinets: int, uplink: float) -> Platform:
    """Return the hosts as a platform, and one more; `uplink` is the rate of the link between cabinets over a host's."""
    if in_cabinets == 1:
        return from_machine.platform(machine, hosts + 1)
    model = machine.hybrid_model()
    latency, bandwidth = from_machine.reference(model)
    limiter = None if model.contention is None else model.contention.value * bandwidth
    # Two uplinks in a row make one way between the bridges.
    return cabinets(
        [hosts // 2, hosts // 2 + 1],
        bandwidth,
        latency / 2,
        (uplink * bandwidth, 0.0),
        limiter=limiter,
        loopback=(1e15, 0.0),
    )


def rows(
    topology: str, machine: Machine, several: Measurements, platforms: dict[int, Platform], algorithms: dict[str, str],
    exits: dict[int, Exits], one_queue: bool,
) -> Iterator[Row]:  # fmt: skip
    """Yield each configuration that was measured, simulated."""
    network = msgspec.structs.replace(from_machine.network(machine), one_queue=one_queue)
    plain = fluid(network.detached_limit, network.eager_limit)
    parameters = delays.from_machine(machine)
    for launch in several.launches:
        for record in launch.records:
            configuration = record.configuration
            if not isinstance(configuration, Collective):
                continue
            program = program_of(
                configuration.operation, configuration.message_size, configuration.processes, algorithms
            )
            platform = platforms[configuration.processes]
            begins = exits[configuration.processes]
            hybrid = simulated_seconds(program, network, platform, begins.get(configuration.operation, begins["ring"]))
            yield Row(
                topology, configuration.operation, configuration.message_size, configuration.processes,
                *(float(value) for value in np.quantile(record.samples, (0.5, 0.1, 0.9))),
                {
                    "hybrid": hybrid,
                    MEDIAN: np.median(hybrid, keepdims=True),
                    "fluid": np.array([run(program, plain, platform).seconds]),
                    "loggps": np.array([run(program, DelayModel(parameters)).seconds]),
                },
            )  # fmt: skip


def show(rows: Sequence[Row]) -> None:
    """Print what was measured beside what each model says."""
    columns = ("hosts in", "operation", "P", "bytes", "measured", "from", "to", *MODELS)
    table = Table(*columns, title="Measured: median and outer deciles; errors of models")
    for row in sorted(rows):
        errors = (f"{row.error(model):+.1%}" for model in MODELS)
        size = format_size(row.message_size)
        times = (format_time(value) for value in (row.seconds, row.quickest, row.slowest))
        table.add_row(row.topology, row.operation, str(row.processes), size, *times, *errors)
    Console(width=120).print(table)


def judged(rows: Sequence[Row]) -> bool:
    """Print the errors of each model, and return whether those of the hybrid model are as small as wanted."""
    holds = True
    for topology in dict.fromkeys(row.topology for row in rows):
        for model in MODELS:
            sizes = {large: errors(rows, topology, model, large) for large in (True, False)}
            words = [
                f"{'≥' if large else '<'} 100 KiB: median |E| {np.median(of):.1%}, worst {of.max():.1%} of {of.size}"
                for large, of in sizes.items()
                if of.size
            ]
            print(f"{topology}, {model}: {'; '.join(words)}")
            if model == "hybrid":
                large, small = sizes[True], sizes[False]
                holds &= not large.size or bool(np.median(large) <= LARGE_MEDIAN and large.max() <= LARGE_WORST)
                holds &= not small.size or bool(np.median(small) <= SMALL_MEDIAN)
    print("the hybrid model: " + ("kept" if holds else "not kept"))
    return holds


def errors(rows: Sequence[Row], topology: str, model: str, large: bool) -> NDArray[np.float64]:
    """Return the absolute relative errors of a model for messages of 100 KiB and more, or below."""
    chosen = [row for row in rows if row.topology == topology and (row.message_size >= LARGE) == large]
    return np.abs([row.error(model) for row in chosen])


def main() -> None:
    """Measure, simulate and print."""
    parser = emulated_cluster.parser("Operations on emulated hosts, simulated and measured.")
    parser.add_argument("--uplink", type=float, default=2.0, help="rate between cabinets over that of a host (2)")
    parser.add_argument(
        "--queues",
        choices=get_args(emulated_cluster.Queues),
        default="acks-first",
        help="of a host: one, one for each other host, or one for acknowledgements, which go first (acks-first)",
    )
    parser.add_argument("--congestion", default="reno", help="TCP's congestion control on the hosts (reno)")
    parser.add_argument("--hosts", type=int, default=8, help="a power of two (8)")
    parser.add_argument(
        "--sizes", default="10KiB,100KiB,1MiB", type=parse_sizes, help="of the messages (10KiB,100KiB,1MiB)"
    )
    parser.add_argument("--cabinets", type=int, choices=(1, 2), default=2, help="measured in one, or one and two (2)")
    parser.add_argument("--random-sizes", default="80", help="for the calibration (80)")
    parser.add_argument("--calibration-time", default="30s", help="of the calibration, which may take longer (30s)")
    parser.add_argument("--time", default="100s", help="of the measurement in each topology (100s)")
    parser.add_argument("--launches", type=int, default=1, help="each calibrated anew; --keep adds to those there (1)")
    parser.add_argument(
        "--gather", action="store_true", help="measure nothing: print the table of those that --keep has"
    )
    arguments = parser.parse_args()
    if arguments.gather and not arguments.keep:
        parser.error("--gather needs --keep")
    if not arguments.gather and (problem := emulated_cluster.missing()):
        raise SystemExit(f"no emulated cluster here: {problem}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        for _ in range(0 if arguments.gather else arguments.launches):
            launch(arguments, folder)
        launches = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*/rows.json"))]
    if not launches:
        raise SystemExit(f"{folder} has no launches")
    show_launches(launches)
    raise SystemExit(0 if all(launch["kept"] for launch in launches) else 1)


def launch(arguments: argparse.Namespace, folder: Path) -> None:
    """Calibrate, measure and simulate once; add what came out to a folder."""
    number = 1 + len(list(folder.glob("launch-*")))
    place = folder / f"launch-{number}"
    rows = list(measured_rows(arguments, place, number))
    show(rows)
    version = subprocess.check_output([arguments.mpiexec, "--version"], text=True)
    summary = {
        "library": "Open MPI" if "Open MPI" in version else "MPICH",
        "kind": f"{arguments.congestion}, {arguments.queues}",
        "kept": judged(rows),
        "rows": [(*row[:5], row.error("hybrid"), row.error(MEDIAN), row.error("loggps")) for row in rows],
    }
    (place / "rows.json").write_text(json.dumps(summary), encoding="utf-8")


def show_launches(launches: Sequence[dict[str, Any]]) -> None:
    """Print the errors of all rows of all launches: by library, hosts and size of messages."""
    groups: dict[tuple[str, ...], list[tuple[int, Any]]] = {}
    for number, summary in enumerate(launches):
        for row in summary["rows"]:
            size = "≥ 100 KiB" if row[2] >= LARGE else "< 100 KiB"
            groups.setdefault((summary["library"], summary["kind"], row[0], size), []).append((number, row))
    columns = ("library", "TCP, queues", "hosts in", "messages", "launches", "rows", "hybrid", "its median", "LogGPS")
    table = Table(*columns, "beyond 10 %", title="All rows of all launches: median and worst |E|")
    for key, rows in sorted(groups.items()):
        errors = np.abs([row[5:] for _, row in rows])
        cells = (f"{np.median(column):.1%}, {column.max():.1%}" for column in errors.T)
        beyond = int((errors[:, 0] > LARGE_WORST).sum())
        table.add_row(*key, str(len({number for number, _ in rows})), str(len(rows)), *cells, str(beyond))
    Console(width=140).print(table)


def measured_rows(arguments: argparse.Namespace, folder: Path, seed: int) -> Iterator[Row]:
    """Yield what was measured in each topology, simulated."""
    folder.mkdir(parents=True)
    selector, rules = forced(folder, arguments.mpiexec)
    variables = dict(arguments.variable)
    algorithms = {rule.operation: rule.algorithm for rule in selector.rules}
    largest = 1 << (max(arguments.sizes) - 1).bit_length()
    one_queue = arguments.queues != "each"
    machine: Machine | None = None
    for topology, in_cabinets in (("1 cabinet", 1), ("2 cabinets", 2))[: arguments.cabinets]:
        with emulated_cluster.cluster(arguments.hosts, in_cabinets) as hosts:
            emulated_cluster.set_sockets(SEND_BUFFER, RECEIVE_BUFFER, hosts, arguments.congestion)
            emulated_cluster.set_rate(arguments.rate, hosts, BUCKET, arguments.queues)
            if in_cabinets == 2:
                emulated_cluster.set_uplink_rate(arguments.uplink * arguments.rate, BUCKET)
            if machine is None:
                pair = measured(
                    folder / "calibration.jsonl", arguments.mpiexec, hosts[:2],
                    ("ping", "pingpong", "contention", "threshold", "answer", "--random-sizes", arguments.random_sizes,
                     "--sizes", f"256:{largest}", "--time", arguments.calibration_time), variables, seed=seed,
                )  # fmt: skip
                machine = fit_machine(pair)
            processes = [2, 4, arguments.hosts] if in_cabinets == 1 else [arguments.hosts]
            exits = {count: barrier_exits(arguments.mpiexec, hosts[:count], rules | variables) for count in processes}
            counts = f"2:{arguments.hosts}:*2" if in_cabinets == 1 else str(arguments.hosts)
            several = measured(
                folder / f"measured-{in_cabinets}.jsonl", arguments.mpiexec, hosts,
                ("collective", "--start", "barrier", "--collectives", ",".join((*algorithms, HALO)),
                 "--process-counts", counts, "--sizes", ",".join(map(str, arguments.sizes)), "--time", arguments.time),
                rules | variables, seed=seed,
            )  # fmt: skip
        platforms = {count: platform_of(machine, count, in_cabinets, arguments.uplink) for count in processes}
        yield from rows(topology, machine, several, platforms, algorithms, exits, one_queue)


if __name__ == "__main__":
    main()
