"""Recovery of simulated machines' parameters by the benchmark and a fit, and the times of collectives predicted by it.

Two machines whose parameters are known are simulated, and the benchmark measures them without computation: nodes on one
switch, whose parameters of the max-rate model are derived below, and a LogGP machine. Of what is fitted to few ranks,
each parameter stands beside the truth. Then collectives are measured on many ranks, and stand beside what the fitted
machine predicts, and `commmodel check mpi` says how they grow.

    python -m benchmarks.validation.simulated_machine --ranks 256 -k 16
    python -m benchmarks.validation.simulated_machine --ranks 1024 --part scale
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from commmodel import machine, predict, results
from commmodel.machine import Segment
from commmodel.units import format_size

LIMIT = 16384
LATENCY, LINK, FLOW = 1.2e-6, 20e9, 8e9
"""Seconds between two nodes; B/s of a node's link each way, and the most of it that one message gets."""
LOOPBACK_LATENCY, LOOPBACK = 0.5e-6, 10e9
"""The same within a node, where messages share nothing."""
SOCKET_LATENCY, SOCKET_LINK, WITHIN_SOCKET = 0.15e-6, 30e9, 0.25e-6
"""Seconds and B/s of a socket's link each way, where a node has two; seconds within a socket."""
SEND = 0.3e-6
LEAST_SCALES = 3
"""Of which growth can be told."""


class Mode(NamedTuple):
    """A kind of messages."""

    latency: float
    bandwidth: float
    """L + n / B of one message between nodes."""
    receive: float
    """o_r, seconds."""

    @property
    def share(self) -> float:
        """What it gets of the links' bandwidth."""
        return self.bandwidth / FLOW


EAGER = Mode(LATENCY, 4e9, 0.4e-6)
MODES = {"asynchronous": EAGER, "synchronous": Mode(4e-6, 8e9, 0.0)}
LOGGP = {"L": 2.7e-6, "o": 1.5e-6, "g": 4e-6, "G": 0.25e-9}
"""L + o is not g. Else a message comes at the very time at which its receiver may send the next one, and the last digit
of a fit decides which of both is first: one prediction in four was 22 % off."""
NODES = f"""
format = "commmodel-platform"
version = 1
kind = "flat"
hosts = {{hosts}}
cores = {{cores}}
bandwidth = {LINK}
latency = {LATENCY / 2}
backbone = {{{{bandwidth = {FLOW}, sharing = "fatpipe"}}}}
loopback = {{{{bandwidth = {LOOPBACK}, latency = {LOOPBACK_LATENCY}}}}}
"""
NODES_OF_SOCKETS = f"""
format = "commmodel-platform"
version = 1
kind = "cabinets"
are_nodes = true
hosts = {{sockets}}
cores = {{cores}}
bandwidth = {SOCKET_LINK}
latency = {SOCKET_LATENCY}
backbone = {{{{bandwidth = {FLOW}, sharing = "fatpipe"}}}}
loopback = {{{{bandwidth = {LOOPBACK}, latency = {WITHIN_SOCKET}}}}}
uplink = {{{{bandwidth = {LINK}, latency = {LATENCY / 2 - SOCKET_LATENCY}}}}}
"""


class Route(NamedTuple):
    """A path between two ranks."""

    latency: float
    flow: float
    """B/s that one message gets."""
    link: float
    """B/s that all of a node share; infinite where they share nothing."""


PATHS = {
    1: {
        "same-node": Route(LOOPBACK_LATENCY, LOOPBACK, math.inf),
        "between-nodes": Route(LATENCY, FLOW, LINK),
    },
    2: {
        "same-socket": Route(WITHIN_SOCKET, LOOPBACK, math.inf),
        "same-node": Route(2 * SOCKET_LATENCY, FLOW, SOCKET_LINK),
        "between-nodes": Route(LATENCY, FLOW, LINK),
    },
}
"""Sockets of a node -> its paths."""


def known_machine() -> str:
    """Return the file of the modes of messages."""
    text = "format = 'commmodel-machine'\nversion = 1\nname = 'known'\n[[segments]]\nprotocol = 'all'\n"
    text += f"path = 'between-nodes'\n[[hybrid]]\npath = 'between-nodes'\nlink_latency = {{value = {LATENCY}}}\n"
    text += f"link_bandwidth = {{value = {FLOW}, unit = 'B/s'}}\n"
    for kind, mode in MODES.items():
        rows = {"L": (mode.latency, "s"), "B": (mode.bandwidth, "B/s"), "o_s": (SEND, "s"), "o_r": (mode.receive, "s")}
        lines = (f"{name} = {{value = {value}, unit = '{unit}'}}" for name, (value, unit) in rows.items())
        limit = [f"limit = {{value = {LIMIT}, found_by = 'threshold'}}"] if kind == "asynchronous" else []
        text += "\n".join(["[[hybrid.modes]]", f"kind = '{kind}'", *lines, *limit, ""])
    return text


def truth(path: str, mode: Mode, sockets: int = 1) -> dict[str, float]:
    """Return the parameters of the max-rate model that a mode of messages has on a path.

    A message of n bytes takes the mode's share f of what its links leave it, after their latency: k that leave a node
    at once have f min(LINK / k, FLOW) B/s each, so T = α + k n / min(f LINK, k f FLOW), which is the max-rate model
    with R_C = f FLOW and R_N = f LINK. Its send's overhead is over before it arrives. Messages within a socket, or a
    node without sockets, have a loopback link each, and no R_N.
    """
    route = PATHS[sockets][path]
    parameters = {"alpha": mode.latency / LATENCY * route.latency + mode.receive, "R_C": mode.share * route.flow}
    return parameters | ({"R_N": mode.share * route.link} if math.isfinite(route.link) else {})


def truth_of_trains(path: str, mode: Mode, sockets: int = 1) -> dict[str, float]:
    """Return LogGP's parameters of eager messages.

    A sender is busy for o_s, which is o, and a lone message takes α + n / R_C = L + 2 o + n G. Messages that follow one
    another are received one by one, so g is the larger one of both overheads, while it takes longer than their bytes.
    """
    alpha, rate = (truth(path, mode, sockets)[name] for name in ("alpha", "R_C"))
    return {"L": alpha - 2 * SEND, "o": SEND, "g": max(SEND, mode.receive), "G": 1 / rate}


class Measurement(NamedTuple):
    """What a run of the benchmark on a simulated machine took."""

    words: str
    processor_seconds: float
    first_record: float
    """Processor seconds until it was in the file."""
    memory: str
    """What the simulation says of it."""


def _session_seconds(session: int) -> float:
    """Return the processor time of all processes of a session, as far as they live."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Laboratory:
    """A folder with the simulated machines, and runs of the benchmark on them."""

    def __init__(self, folder: Path, per_node: int, sockets: int = 1) -> None:
        self.folder, self.per_node, self.sockets = folder, per_node, sockets
        (folder / "known.toml").write_text(known_machine())

    def commmodel(self, *words: str) -> str:
        """Run a command; return what it prints."""
        command = [sys.executable, "-m", "commmodel", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        if done.returncode not in (0, 1):
            raise SystemExit(f"commmodel {' '.join(words)}: {done.stderr}")
        return done.stdout

    def measure_nodes(self, output: str, ranks: int, *words: str) -> Measurement:
        """Run the benchmark on nodes."""
        hosts = max(2, -(-ranks // self.per_node))
        text = NODES if self.sockets == 1 else NODES_OF_SOCKETS
        cores = self.per_node // self.sockets
        text = text.format(hosts=hosts, sockets=[self.sockets] * hosts, cores=cores)
        (self.folder / "nodes.toml").write_text(text)
        where = ["nodes.toml", "run", "--parameters", "known.toml", "-k", str(self.per_node)]
        return self._measure(where, output, ranks, words)

    def measure_loggp(self, output: str, ranks: int, *words: str) -> Measurement:
        """Run the benchmark on the LogGP machine."""
        where = ",".join(f"{name}={value}" for name, value in LOGGP.items())
        return self._measure([where, "run"], output, ranks, words)

    def _measure(self, where: list[str], output: str, ranks: int, words: tuple[str, ...]) -> Measurement:
        command = [sys.executable, "-m", "commmodel", "simulate", *where, "-p", str(ranks), "--compute", "0", "--"]
        command += [sys.executable, "-m", "commmodel.bench", *words, "-o", output]
        before, first, path = _children_seconds(), 0.0, self.folder / output
        with (self.folder / "log").open("w+") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
            )
            while process.poll() is None:
                if not first and path.exists() and path.read_bytes().count(b"\n") > 1:
                    first = _session_seconds(process.pid)
                time.sleep(0.1)
            log.seek(0)
            lines = log.read().splitlines()
        if process.returncode:
            raise SystemExit("\n".join(lines))
        memory = next((line.partition(": ")[2] for line in lines if "where it first waits" in line), "")
        done = Measurement(f"{words[0]} on {ranks} ranks", _children_seconds() - before, first, memory)
        print(f"{done.words}: {done.processor_seconds:.0f} s of processor time", file=sys.stderr)
        return done

    def fit(self, output: str) -> machine.Machine:
        """Return what is fitted to some results."""
        self.commmodel("fit", output, "-o", "fitted.toml", "--force")
        return machine.load(self.folder / "fitted.toml")


def _print_parameters(rows: list[tuple[str, float, float]]) -> None:
    print("| parameter | truth | fitted | difference |\n|---|---:|---:|---:|")
    for parameter, value, fitted in rows:
        print(f"| {parameter} | {value:.4g} | {fitted:.4g} | {100 * (fitted / value - 1):+.2f} % |")
    print()


def rows_of(segment: Segment, sockets: int = 1) -> list[tuple[str, float, float]]:
    """Return parameter, truth and fitted value of a segment."""
    mode = EAGER if segment.limit is not None else MODES["synchronous"]
    name = f"{segment.path}, {segment.protocol}"
    if segment.max_rate is None:
        raise SystemExit(f"{name}: no models")
    expected, rate, rows = truth(segment.path, mode, sockets), segment.max_rate, []
    if segment.limit is not None:
        rows.append((f"{name}: limit, B", LIMIT, segment.limit.value))
    for parameter, value in expected.items():
        rows.append((f"{name}: {parameter}", value, getattr(rate, parameter).value))
    if segment.one_way is not None and "R_N" in expected:
        rows.append((f"{name}: R_N of streams", expected["R_N"], segment.one_way.R_N.value))
    if segment.loggp is not None and segment.limit is not None:
        of_trains = truth_of_trains(segment.path, mode, sockets)
        fitted = {key: getattr(segment.loggp, key).value for key in of_trains}
        if segment.path == "between-nodes" and segment.loggp.G_gap is not None:
            rows.append((f"{name}: LogGP's G_gap", 1 / expected["R_N"], segment.loggp.G_gap.value))
        rows += [(f"{name}: LogGP's {key}", value, fitted[key]) for key, value in of_trains.items()]
    return rows


def _print_collectives(laboratory: Laboratory, fitted: machine.Machine, output: str) -> None:
    """Print measured and predicted times of collectives, then the verdict on their growth."""
    comparison = predict.compare(fitted, results.load(laboratory.folder / output), models=("loggp",))
    print("| operation | p | size | algorithm | simulated | predicted | difference |")
    print("|---|---:|---:|---|---:|---:|---:|")
    for row in comparison.rows:
        times = f"{1e6 * row.measured.seconds:.2f} µs | {1e6 * row.predicted['loggp'].seconds:.2f} µs"
        difference = f"{100 * row.relative_error('loggp'):+.1f} %"
        about = f"{row.operation} | {row.processes} | {format_size(row.message_size)} | {row.algorithm}"
        print(f"| {about} | {times} | {difference} |")
    print()
    if len({row.processes for row in comparison.rows}) >= LEAST_SCALES:
        print(laboratory.commmodel("check", "mpi", output))


def fitted_nodes(laboratory: Laboratory, options: argparse.Namespace) -> machine.Machine:
    """Return what is fitted to two nodes, whose parameters are printed."""
    pairs = ",".join(str(1 << number) for number in range(options.k.bit_length()))
    words = ("threshold", "pingpong", "pairs", "stream", "loggp", "--sizes", options.sizes, "--pairs", pairs)
    laboratory.measure_nodes("nodes.jsonl", 2 * options.k, *words)
    fitted = laboratory.fit("nodes.jsonl")
    _print_parameters([row for segment in fitted.segments for row in rows_of(segment, laboratory.sockets)])
    return fitted


def nodes(laboratory: Laboratory, options: argparse.Namespace) -> None:
    """Print parameters and collectives of nodes."""
    fitted = fitted_nodes(laboratory, options)
    laboratory.measure_nodes("nodes-collectives.jsonl", options.ranks, *_collectives(options))
    _print_collectives(laboratory, fitted, "nodes-collectives.jsonl")


def ports(laboratory: Laboratory, options: argparse.Namespace) -> None:
    """Print parameters and collectives of a LogGP machine."""
    laboratory.measure_loggp("loggp.jsonl", 2, "loggp", "--sizes", options.sizes)
    fitted = laboratory.fit("loggp.jsonl")
    (segment,) = fitted.segments
    if segment.loggp is None:
        raise SystemExit("no LogGP parameters")
    _print_parameters([(name, value, getattr(segment.loggp, name).value) for name, value in LOGGP.items()])
    laboratory.measure_loggp("loggp-collectives.jsonl", options.ranks, *_collectives(options))
    _print_collectives(laboratory, fitted, "loggp-collectives.jsonl")


def _process_counts(options: argparse.Namespace) -> list[int]:
    return sorted(count for power in range(12) if (count := options.ranks >> 2 * power) > 1)


def _collectives(options: argparse.Namespace) -> tuple[str, ...]:
    counts = ",".join(str(count) for count in _process_counts(options))
    sizes = "--sizes", options.collective_sizes
    return "collective", "--collectives", options.collectives, *sizes, "--process-counts", counts


def scale(laboratory: Laboratory, options: argparse.Namespace) -> None:
    """Print what the benchmark of one collective on all ranks takes."""
    count = str(options.ranks)
    words = ("collective", "--collectives", "allreduce", "--sizes", "8", "--process-counts", count)
    done = laboratory.measure_nodes("scale.jsonl", options.ranks, *words)
    times = f"{done.first_record:.0f} s to the first record, {done.processor_seconds:.0f} s in all"
    print(f"{options.ranks} ranks: processor time {times}; {done.memory}")


def sockets(laboratory: Laboratory, options: argparse.Namespace) -> None:
    """Print parameters of nodes with two sockets."""
    fitted_nodes(Laboratory(laboratory.folder, laboratory.per_node, 2), options)


PARTS = {"nodes": nodes, "loggp": ports, "sockets": sockets, "scale": scale}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="recovery of simulated machines' parameters")
    parser.add_argument("--part", action="append", choices=PARTS, help="may be repeated (nodes, loggp and sockets)")
    parser.add_argument("--ranks", type=int, default=32, help="of collectives (32)")
    parser.add_argument("-k", type=int, default=16, help="ranks of a node (16)")
    parser.add_argument("--sizes", default="1:4MiB:*2", help="of messages (1:4MiB:*2)")
    parser.add_argument("--collectives", default="barrier,bcast,allreduce,allgather,alltoall", help="to predict")
    parser.add_argument("--collective-sizes", default="8,1KiB,64KiB", help="of them (8,1KiB,64KiB)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for part in options.part or ("nodes", "loggp", "sockets"):
            PARTS[part](Laboratory(Path(name), options.k), options)


if __name__ == "__main__":
    main()
