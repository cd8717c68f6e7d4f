"""What the peers are asked for, simulated by us. Main entries: `rows`, `simulated`, `platform`."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tools.peers import platforms, traces
from tools.peers.record import ROUNDS

from commmodel.collectives import CollectiveSettings
from commmodel.simulate import OPERATION, SMPI, Code, Program, run, smpi_collectives
from commmodel.simulate.operations import ANY, UNNAMED
from commmodel.simulate.platform import Platform
from commmodel.simulate.platform.xml import read_xml_bytes
from commmodel.simulate.traces import replay
from commmodel.simulate.work import halo, mark, pairwise, repeat, ring, sequence, shifts, slowest, sparse

ORACLES = tomllib.loads((Path(__file__).parents[2] / "tests" / "oracles" / "smpi.toml").read_text())
CLOCK = 1e-8
"""Seconds that reading the clock takes in SMPI."""


@lru_cache(maxsize=32)
def platform(kind: str, hosts: int) -> Platform:
    """Return the platform of the file that the peer gets."""
    return read_xml_bytes(platforms.platform(kind, hosts).encode())[0]


def reading_the_clock(processes: int) -> Program:
    """Return the program in which every rank reads the clock."""
    operations = np.empty(processes, dtype=OPERATION)
    operations[:] = (Code.SLEEP, ANY, ANY, UNNAMED, CLOCK)
    return Program(operations, np.arange(processes + 1, dtype=np.int64))


def simulated(program: Program, kind: str) -> float:
    """Return what the program takes on a platform of as many hosts, as `operations.c` measures it.

    A rank whose sends are detached goes on to the reduction of the times, and its message there shares the link with
    those that are still under way. A collective must have the number 1: the barrier before it is number 0.
    """
    processes = program.processes
    clock = reading_the_clock(processes)
    parts = (
        smpi_collectives.program("barrier", 0, processes),
        clock,
        mark(processes, 0),
        program,
        clock,
        mark(processes, 1),
        smpi_collectives.program("reduce", 8, processes, number=2),
    )
    return slowest(run(sequence(parts), SMPI, platform(kind, processes)))


def collective(operation: str, algorithm: str, size: int, processes: int) -> Program:
    """Return a collective of the program that was timed, which reduces whole numbers of eight bytes."""
    size = size // smpi_collectives.ELEMENT * smpi_collectives.ELEMENT if operation == "allreduce" else size
    return smpi_collectives.program(operation, size, processes, algorithm, number=1)


def nonblocking(size: int, processes: int) -> Program:
    """Return the exchange of everybody with everybody at once."""
    sender = np.repeat(np.arange(processes), processes - 1)
    receiver = (sender + np.tile(np.arange(1, processes), processes)) % processes
    return sparse(sender, receiver, np.full(sender.size, size), processes)


def exchange(name: str, size: int, processes: int, rounds: int) -> Program:
    """Return some rounds of an exchange of the program that was timed."""
    makers = {"pairwise": pairwise, "nonblocking": nonblocking, "ring": ring, "halo": halo}
    if name == "irregular":
        return shifts(size, processes, rounds)
    return repeat(makers[name](size, processes), rounds)


def rows(kind: str, table: str, oracles: Mapping[str, Any] = ORACLES) -> list[tuple[str, Program, float]]:
    """Return what a table of the oracles says: name, program, seconds."""
    figures, processes = oracles[kind][table], int(table.rpartition("-")[2])
    cases = []
    for place, size in enumerate(figures["sizes"]):
        for operation, algorithms in figures.items():
            if operation == "sizes":
                continue
            if table.startswith("exchanges"):
                program = exchange(operation, size, processes, ROUNDS)
                cases.append((f"{operation} {size}", program, algorithms[place]))
                continue
            for name, seconds in algorithms.items():
                program = collective(operation, name, size, processes)
                cases.append((f"{operation} {name} {size}", program, seconds[place]))
    return cases


def replayed(ranks: Sequence[Sequence[str]], folder: Path, kind: str) -> float:
    """Return what a trace takes on a platform of as many hosts, with the collectives of SMPI."""
    program = replay(traces.write(ranks, folder), settings=CollectiveSettings("smpi"))
    return run(program, SMPI, platform(kind, len(ranks))).seconds
