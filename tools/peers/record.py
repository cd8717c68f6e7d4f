"""Asks SMPI for the times in ``tests/oracles/smpi.toml``: ``python -m tools.peers.record`` prints the file.

A figure is what `operations.c` prints: the largest of all ranks' times from the end of a barrier to the end of the
operation, in seconds. The point-to-point times are what one repetition more adds, halved: they have no start-up.

SMPI works out all rates anew at each event here (``network/optim:Full``). By default it works out only those that it
takes to have changed, and so misses some: irregular exchanges on 64 hosts then take up to 0.3 % longer.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.peers import traces
from tools.peers.platforms import KINDS
from tools.peers.smpi import Peer, version

ALGORITHMS = {
    "bcast": ("binomial_tree", "scatter_rdb_allgather", "scatter_LR_allgather", "flattree"),
    "allreduce": ("rdb", "rab_rdb", "lr", "redbcast"),
    "allgather": ("ring", "rdb", "bruck"),
    "alltoall": ("pair", "ring", "bruck", "basic_linear"),
}
EXCHANGES = ("pairwise", "nonblocking", "ring", "halo", "irregular")
SIZES = (1024, 102400, 1048576)
SIZE_ON_MANY = 20000
SIZES_ON_FEW = (100, 80000)
"""On 6 hosts: no power of two, and blocks that are not all equal."""
POWERS_OF_TWO = ("pair",)
"""Algorithms that abort otherwise."""
ROUNDS = 3
"""Repetitions of an exchange."""
POINT_TO_POINT = (0, 1, 100, 241, 242, 1000, 1410, 1411, 5000, 50000, 65456, 65457, 65536, 102400, 1048576, 4194304)
REPETITIONS = 200
EXACT = ("--cfg=network/optim:Full",)


def collectives(peer: Peer, kind: str, hosts: int, sizes: tuple[int, ...]) -> Iterator[str]:
    """Yield the lines of a table: each algorithm's seconds for each size."""
    yield f"[{kind}.collectives-{hosts}]"
    yield f"sizes = {list(sizes)}"
    for operation, names in ALGORITHMS.items():
        for name in names:
            if hosts & (hosts - 1) and name in POWERS_OF_TWO:
                continue
            runs = [peer.run(kind, hosts, [operation, size, 1], {operation: name}, EXACT).seconds for size in sizes]
            yield f"{operation}.{name} = [{', '.join(f'{seconds:.8g}' for seconds in runs)}]"
    yield ""


def exchanges(peer: Peer, kind: str, hosts: int, sizes: tuple[int, ...]) -> Iterator[str]:
    """Yield the lines of a table: seconds of some rounds of each exchange for each size."""
    yield f"[{kind}.exchanges-{hosts}]"
    yield f"sizes = {list(sizes)}"
    for name in EXCHANGES:
        runs = [peer.run(kind, hosts, [name, size, ROUNDS], options=EXACT).seconds for size in sizes]
        yield f"{name} = [{', '.join(f'{seconds:.8g}' for seconds in runs)}]"
    yield ""


def point_to_point(peer: Peer) -> Iterator[str]:
    """Yield the lines of the table of one-way times between two hosts."""
    yield "[point-to-point]"
    for size in POINT_TO_POINT:
        single, many = (
            peer.run("flat", 16, ["pingpong", size, count], options=EXACT).seconds for count in (1, 1 + REPETITIONS)
        )
        yield f"{size} = {(many - single) / (2 * REPETITIONS):.12g}"
    yield ""


def replays(peer: Peer) -> Iterator[str]:
    """Yield the lines of the table of replayed traces."""
    yield "[replay]"
    for name, trace in traces.TRACES.items():
        index = traces.write(trace(16), peer.folder / name)
        for kind in KINDS:
            output = peer.run(kind, 16, ["-replay", index], options=EXACT, log="smpi_replay.thres:info").output
            yield f"{name}.{kind} = {output.rpartition('Simulation time ')[2].split()[0]}"
    yield ""


def main() -> None:
    """Print the whole file."""
    print(f"# Seconds simulated by {version()}: python -m tools.peers.record > tests/oracles/smpi.toml")
    print(
        f"# Platforms: tools/peers/platforms.py; program: tools/peers/operations.c; {ROUNDS} rounds of an exchange.\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(Path(folder))
        for line in point_to_point(peer):
            print(line)
        for line in collectives(peer, "flat", 6, SIZES_ON_FEW):
            print(line)
        for kind in KINDS:
            tables = (
                collectives(peer, kind, 16, SIZES if kind not in ("flat", "cabinets") else SIZES[1:2]),
                collectives(peer, kind, 64, (SIZE_ON_MANY,)),
                exchanges(peer, kind, 16, (SIZES[1],)),
                exchanges(peer, kind, 64, (SIZE_ON_MANY,)),
            )
            for table in tables:
                for line in table:
                    print(line, flush=True)
        for line in replays(peer):
            print(line)


if __name__ == "__main__":
    main()
