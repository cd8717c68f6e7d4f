"""Collectives by any of SMPI's algorithms, by SMPI and by us: called by a program and replayed from a trace.

``python -m tools.peers.collectives > tests/oracles/smpi_collectives.toml`` asks SMPI for the times in that file. Main
entries: `Deployment`, `PeerCollectives`, `our_times`, `our_replay`.
"""

import atexit
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from tools.peers import platforms
from tools.peers.random_programs import Collective, traces
from tools.peers.replays import Case, PeerReplays, our_seconds
from tools.peers.smpi import version

from commmodel.collectives.library.smpi_selection import SMPI_SELECTORS, Selection
from commmodel.simulate import SMPI, run
from commmodel.simulate.platform import Platform
from commmodel.simulate.platform.xml import read_xml_bytes
from commmodel.simulate.smpi_collectives import ALGORITHMS, RankCall, calls
from commmodel.simulate.work import mark, sequence

SOURCE = Path(__file__).with_name("collectives.c")
OPERATIONS = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "allgatherv", "alltoall", "alltoallv",
    "reduce_scatter_block", "reduce_scatter",
)  # fmt: skip
_OF_NUMBERS = ("reduce", "allreduce", "reduce_scatter_block", "reduce_scatter")
_WITH_SIZES = ("allgatherv", "alltoallv", "reduce_scatter")
_NUMBER, _BYTE = 8, 1
_TYPES = {_NUMBER: 0, _BYTE: 6}
_SHAKE = 1e-9


@dataclass(frozen=True)
class Deployment:
    """A platform of `tools.peers.platforms`, and the host of each rank."""

    kind: str
    hosts: int
    rank_hosts: tuple[int, ...]

    @classmethod
    def blocks(cls, kind: str, hosts: int, per_host: int = 1) -> "Deployment":
        """Return as many ranks on each host, which follow one another."""
        return cls(kind, hosts, tuple(host for host in range(hosts) for _ in range(per_host)))

    @classmethod
    def cycles(cls, kind: str, hosts: int, per_host: int) -> "Deployment":
        """Return as many ranks on each host, in turn."""
        return cls(kind, hosts, tuple(range(hosts)) * per_host)

    @property
    def processes(self) -> int:
        """The number of ranks."""
        return len(self.rank_hosts)

    @property
    def names(self) -> tuple[str, ...]:
        """The host names of the ranks."""
        return tuple(f"node-{host}" for host in self.rank_hosts)

    def __str__(self) -> str:
        """Return its name."""
        per_host = "" if self.processes == self.hosts else f", {self.processes} ranks"
        order = "" if list(self.rank_hosts) == sorted(self.rank_hosts) else " in turn"
        return f"{self.kind} of {self.hosts}{per_host}{order}"


ORACLES = (Deployment.blocks("flat", 6), Deployment.blocks("heterogeneous", 4, 4))
"""Deployments whose times the tests know, and the bytes of the calls."""
ORACLE_SIZES = (1000, 20000)


def _peer_name(operation: str) -> str:
    """Return the operation whose algorithm SMPI takes."""
    return operation.removesuffix("_block")


def selection_of(operation: str, algorithm: str, deployment: Deployment) -> Selection:
    """Return the selection of an algorithm, or of a selector for all collectives, as ``selector mpich``."""
    prefix, _, selector = algorithm.rpartition(" ")
    if prefix:
        return Selection(selector, hosts=deployment.rank_hosts)
    return Selection(algorithms={_peer_name(operation): algorithm}, hosts=deployment.rank_hosts)


@lru_cache(maxsize=32)
def _platform(kind: str, hosts: int) -> Platform:
    return read_xml_bytes(platforms.platform(kind, hosts).encode())[0]


def _share(size: int, number: int) -> int:
    """Return the bytes of a block, as `collectives.c` has them."""
    return size // 16 * 8 * (1 + number % 3)


def _arguments(operation: str, size: int, processes: int) -> list[RankCall]:
    """Return the arguments of a call as the program makes it, of all ranks or of each."""
    element = _NUMBER if operation in _OF_NUMBERS else _BYTE
    if operation == "alltoallv":
        return [
            RankCall(element=element, sizes=tuple(_share(size, rank + 2 * other) for other in range(processes)))
            for rank in range(processes)
        ]
    if operation in _WITH_SIZES:
        return [RankCall(element=element, sizes=tuple(_share(size, rank) for rank in range(processes)))]
    size = size // element * element
    if operation == "reduce_scatter_block":
        return [RankCall(element=element, sizes=(size,) * processes)]
    return [RankCall(size, element)]


Change = Callable[[Platform], Platform]


def shaken(seed: int) -> Change:
    """Return what changes the rates and latencies of a platform's links by a part in 10^9."""

    def change(platform: Platform) -> Platform:
        factors = 1 + _SHAKE * np.random.default_rng(seed).uniform(-1, 1, (2, platform.capacity.size))
        return replace(platform, capacity=platform.capacity * factors[0], latency=platform.latency * factors[1])

    return change


def our_times(
    deployment: Deployment,
    operation: str,
    sizes: Sequence[int],
    selection: Selection,
    change: Change | None = None,
) -> list[float]:
    """Return when the last rank ends each call of `collectives.c`, in seconds."""
    processes = deployment.processes
    listed = [(_peer_name(operation), _arguments(operation, size, processes)) for size in sizes for _ in range(2)]
    parts = []
    for number, program in enumerate(calls(processes, listed, selection)):
        parts += [program, mark(processes, number)]
    platform = _platform(deployment.kind, deployment.hosts)
    if change is not None:
        platform = change(platform)
    result = run(sequence(parts), SMPI, platform, hosts=np.array(deployment.rank_hosts))
    return [float(result.marks["time"][result.marks["number"] == number].max()) for number in range(len(listed))]


def _case(deployment: Deployment, operation: str, sizes: Sequence[int]) -> Case:
    """Return the trace of each call, twice."""
    processes = deployment.processes
    phases = []
    for size in sizes:
        type_size = _NUMBER if operation in (*_OF_NUMBERS, "allgatherv") else _BYTE
        if operation == "barrier":
            counts: tuple[int, ...] = ()
        elif operation == "alltoallv":
            counts = tuple(
                _share(size, rank + 2 * other) // type_size for rank in range(processes) for other in range(processes)
            )
        elif operation in _WITH_SIZES:
            counts = tuple(_share(size, rank) // type_size for rank in range(processes))
        else:
            counts = (size // type_size,) * (processes if operation == "reduce_scatter_block" else 1)
        action = "reducescatter" if operation.startswith("reduce_scatter") else operation
        phases += 2 * [Collective(action, counts, _TYPES[type_size])]
    ranks = traces(phases, processes)
    text = platforms.platform(deployment.kind, deployment.hosts)
    return Case(text, deployment.names, tuple(tuple(actions) for actions in ranks))


def our_replay(
    deployment: Deployment,
    operation: str,
    sizes: Sequence[int],
    selection: Selection,
    change: Change | None = None,
) -> float:
    """Return what the replay of the calls takes, in seconds."""
    return our_seconds(_case(deployment, operation, sizes), selection, change)


@cache
def _program() -> Path:
    """Return the compiled program, in a folder that is removed with this process."""
    folder = tempfile.mkdtemp(prefix="commmodel-collectives-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = Path(folder) / "collectives"
    subprocess.run(["smpicc", "-O2", SOURCE, "-o", program], check=True)
    return program


@dataclass(frozen=True)
class PeerCollectives(PeerReplays):
    """SMPI's times of collectives, in a folder."""

    def _selected(self, operation: str, selection: Selection) -> list[str]:
        forced = {_peer_name(operation): selection.algorithm(_peer_name(operation)), **selection.algorithms}
        selector = [] if selection.selector == "default" else [f"smpi/coll-selector:{selection.selector}"]
        return [*selector, *(f"smpi/{name}:{algorithm}" for name, algorithm in forced.items())]

    def algorithms(self, operation: str) -> list[str]:
        """Return the names that SMPI lists for an operation, when it is asked for one that there is not."""
        try:
            self.times(Deployment.blocks("flat", 2), operation, [8], Selection(algorithms={_peer_name(operation): "?"}))
        except ValueError as error:
            return re.findall(r"\w+", str(error).partition("Valid algorithms:")[2].partition(".")[0])
        raise ValueError(f"SMPI does not list its algorithms of {operation}")

    def times(
        self, deployment: Deployment, operation: str, sizes: Sequence[int], selection: Selection, timeout: float = 300
    ) -> list[float]:
        """Return when the last rank ends each call; raises ValueError where SMPI fails."""
        hosts = self.folder / "hosts"
        (self.folder / "platform.xml").write_text(platforms.platform(deployment.kind, deployment.hosts))
        hosts.write_text("".join(f"{name}\n" for name in deployment.names))
        settings = (
            *("smpi/privatization:no", f"smpi/np:{deployment.processes}", f"smpi/hostfile:{hosts}"),
            *("smpi/simulate-computation:no", "smpi/wtime:0", f"smpi/tmpdir:{self.folder}", *self.options),
            *self._selected(operation, selection),
        )
        output = self._output(_program(), settings, (), (operation, *sizes), timeout)
        times = [float(word) for word in re.findall(r"^done (\S+)$", output, re.MULTILINE)]
        if len(times) != 2 * len(sizes):
            raise ValueError(f"SMPI says no time: {output[-300:]}")
        return times

    def replay(
        self, deployment: Deployment, operation: str, sizes: Sequence[int], selection: Selection, timeout: float = 300
    ) -> float:
        """Return what the replay of the calls takes; raises ValueError where SMPI fails."""
        settings = (f"--cfg={setting}" for setting in self._selected(operation, selection))
        output = self.run(_case(deployment, operation, sizes), *settings, timeout=timeout)
        ends = re.findall(r"^(\S+) Simulation time", output, re.MULTILINE)
        if not ends:
            raise ValueError(f"SMPI says no time: {output[-300:]}")
        return float(ends[-1])


def main() -> None:
    """Print the file of times: of each deployment, operation and algorithm the ends of the four calls."""
    print(f"# Seconds by {version()}: python -m tools.peers.collectives > tests/oracles/smpi_collectives.toml")
    print(f"# Program: tools/peers/collectives.c, called twice with each of {ORACLE_SIZES} bytes.")
    with tempfile.TemporaryDirectory() as folder:
        peer = PeerCollectives(Path(folder))
        for deployment in ORACLES:
            for operation in OPERATIONS:
                print(f'\n["{deployment}".{operation}]')
                names = (*ALGORITHMS[_peer_name(operation)], *(f"selector {name}" for name in SMPI_SELECTORS))
                for name in names:
                    selection = selection_of(operation, name, deployment)
                    try:
                        times = peer.times(deployment, operation, ORACLE_SIZES, selection)
                    except ValueError:
                        continue
                    print(f'"{name}" = [{", ".join(f"{time:.10g}" for time in times)}]', flush=True)


if __name__ == "__main__":
    main()
