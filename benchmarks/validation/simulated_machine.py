"""Recovery of a simulated machine's parameters by the benchmark and a fit.

A machine file with one protocol limit is simulated, the benchmark measures it there without computation, and the
measurements are fitted. For each parameter: truth, fitted value, error. Then what `commmodel check mpi` says of the
growth of allreduce and broadcast.

    python -m benchmarks.validation.simulated_machine -p 32 -k 16
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commmodel import machine
from commmodel.machine import Segment

LIMIT = 16384
MODES = {"asynchronous": (1.2e-6, 4e9, 4e-7), "synchronous": (4e-6, 8e9, 0.0)}
"""Kind of messages -> L, B and o_r of the simulated machine; a ping-pong takes L + o_r + n / B."""
WITHIN = "same-node", (5e-7, 8e9, 0.0)
BETWEEN = "between-nodes"


def _mode(kind: str, latency: float, bandwidth: float, receive: float, limit: int | None) -> str:
    rows = {"L": f"{latency}, unit = 's'", "B": f"{bandwidth}, unit = 'B/s'", "o_s": "3e-07, unit = 's'",
            "O_s": "0.0, unit = 's/B'", "o_r": f"{receive}, unit = 's'", "O_r": "0.0, unit = 's/B'"}  # fmt: skip
    lines = ["[[hybrid.modes]]", f"kind = '{kind}'", *(f"{name} = {{value = {text}}}" for name, text in rows.items())]
    return "\n".join([*lines, *([f"limit = {{value = {limit}, found_by = 'threshold'}}"] if limit else []), ""])


def known_machine() -> str:
    """Return the machine file."""
    text = "format = 'commmodel-machine'\nversion = 1\nname = 'known'\n"
    for (latency, bandwidth, receive), protocol in zip(MODES.values(), ("eager", "rendezvous"), strict=True):
        limit = f"limit = {{value = {LIMIT}, found_by = 'threshold'}}\n" if protocol == "eager" else ""
        text += (
            f"[[segments]]\nprotocol = '{protocol}'\npath = '{BETWEEN}'\n{limit}[segments.postal]\n"
            f"alpha = {{value = {latency + receive}, unit = 's'}}\nbeta = {{value = {1 / bandwidth}, unit = 's/B'}}\n"
        )
    links = "contention = {value = 2.0, unit = '1'}\nlink_latency = {value = 1.2e-06, unit = 's'}\n"
    text += f"[[hybrid]]\npath = '{BETWEEN}'\n{links}link_bandwidth = {{value = 16e9, unit = 'B/s'}}\n"
    limits = (LIMIT, None)
    text += "".join(_mode(kind, *MODES[kind], limit) for kind, limit in zip(MODES, limits, strict=True))
    return text + f"[[hybrid]]\npath = '{WITHIN[0]}'\n" + _mode("asynchronous", *WITHIN[1], None)


def _commmodel(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "commmodel", *words], capture_output=True, text=True, check=False, cwd=folder
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"commmodel {' '.join(words)}: {done.stderr}")
    return done.stdout


def measure(folder: Path, ranks: int, per_node: int, *words: str) -> None:
    """Run the benchmark on the simulated machine."""
    where = ("simulate", "known.toml", "run", "-p", str(ranks), "-k", str(per_node), "--compute", "0", "--")
    begin = time.perf_counter()
    _commmodel(folder, *where, sys.executable, "-m", "commmodel.bench", *words)
    print(f"{words[0]} on {ranks} ranks, {per_node} on a host: {time.perf_counter() - begin:.0f} s", file=sys.stderr)


def rows_of(segment: Segment, mode: tuple[float, float, float]) -> list[tuple[str, float, float]]:
    """Return parameter, truth and fitted value of a segment."""
    latency, bandwidth, receive = mode
    postal, rate = segment.postal, segment.max_rate
    if postal is None:
        raise SystemExit(f"no postal model of {segment}")
    rows = [("alpha, postal", latency + receive, postal.alpha.value), ("1 / beta", bandwidth, 1 / postal.beta.value)]
    if rate is not None:
        rows += [("alpha, max-rate", latency + receive, rate.alpha.value), ("R_C", bandwidth, rate.R_C.value)]
        if rate.R_N is not None:
            rows.append(("R_N", bandwidth, rate.R_N.value))
    return [(f"{segment.protocol}: {name}", truth, value) for name, truth, value in rows]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="recovery of a simulated machine's parameters")
    parser.add_argument("-p", type=int, default=32, help="ranks of collectives (32)")
    parser.add_argument("-k", type=int, default=16, help="ranks of a host (16)")
    parser.add_argument("--sizes", default="1:1MiB", help="of messages (1:1MiB)")
    options = parser.parse_args()
    pairs = ",".join(str(1 << number) for number in range(options.k.bit_length()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "known.toml").write_text(known_machine())
        words = ("threshold", "pingpong", "pairs", "--sizes", options.sizes, "--pairs", pairs)
        measure(folder, 2 * options.k, options.k, *words)
        _commmodel(folder, "fit", "results.jsonl", "-o", "fitted.toml")
        segments = [item for item in machine.load(folder / "fitted.toml").segments if item.path == BETWEEN]
        limits = [segment.limit.value for segment in segments if segment.limit is not None]
        rows = [("limit (B)", float(LIMIT), float(limits[0]))] if len(limits) == 1 else []
        for segment, mode in zip(segments, MODES.values(), strict=True):
            rows += rows_of(segment, mode)
        print("| parameter | truth | fitted | error |\n|---|---:|---:|---:|")
        for parameter, truth, value in rows:
            print(f"| {parameter} | {truth:.4g} | {value:.4g} | {100 * abs(value / truth - 1):.2f} % |")
        collectives = ("collective", "--collectives", "allreduce,bcast", "--sizes", "8", "-o", "collectives.jsonl")
        counts = ",".join(str(1 << number) for number in range(1, options.p.bit_length()) if 1 << number <= options.p)
        measure(folder, options.p, options.k, *collectives, "--process-counts", counts)
        print(_commmodel(folder, "check", "mpi", "collectives.jsonl"))


if __name__ == "__main__":
    main()
