"""What the verb ``simulate`` simulates: a collective, an exchange, a kernel, a trace or a schedule, from its options.

Main entry: `workload`.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from commmodel.cli.parsers import parsed, whole_number
from commmodel.cli.predict import COLLECTIVES, byte_time
from commmodel.errors import InputError

__all__ = ["EXCHANGES", "KERNELS", "SOURCES", "Workload", "workload"]

SOURCES = ("collective", "exchange", "kernel", "replay", "goal")
EXCHANGES = ("halo", "ring", "irregular", "pairwise")
KERNELS = ("lu", "cg")
_ONLY_OF = {
    "size": ("-n", {"collective", "exchange"}),
    "ranks": ("-p", {"collective", "exchange", "kernel", "replay"}),
    "algorithm": ("--algorithm", {"collective"}),
    "selector": ("--selector", {"collective", "replay"}),
    "root": ("--root", {"collective"}),
    "segment_size": ("--segment-size", {"collective"}),
    "copy": ("--copy", {"collective", "replay"}),
    "reduction": ("--reduction", {"collective", "replay"}),
    "rounds": ("--rounds", {"collective", "exchange"}),
    "dimensions": ("--dimensions", {"exchange"}),
    "problem": ("--class", {"kernel"}),
    "iterations": ("--iterations", {"kernel"}),
    "rules": ("--rules", {"goal"}),
    "speed": ("--speed", {"kernel", "replay"}),
    "mapping": ("--mapping", {"collective", "exchange", "kernel", "replay"}),
    "hosts": ("--hosts", {"collective", "exchange", "kernel", "replay"}),
}
"""Option -> how it is written, and what it goes with."""


@dataclass(frozen=True)
class Workload:
    """What is simulated.

    Attributes
    ----------
    processes : int
    words : str
        For people.
    program : callable
        (flop/s of each rank) -> a new program: one that is streamed runs once. Of a schedule, it is not called.
    facts : dict
        For ``--json``.
    schedule : object
        Of GOAL.
    """

    processes: int
    words: str
    program: Callable[[Any], Any]
    facts: dict[str, Any]
    schedule: Any = None


def workload(asked: argparse.Namespace, most: int | None, library: Any) -> Workload:
    """Return what the options ask for.

    Parameters
    ----------
    asked : Namespace
    most : int, optional
        Ranks that the platform has cores for, and takes where there is no ``-p``.
    library : str or Selector
        What picks algorithms where no ``--selector`` is named.
    """
    given = [name for name in SOURCES if getattr(asked, name) is not None]
    if len(given) != 1:
        listed = ", ".join(f"--{name}" for name in SOURCES)
        raise InputError(f"{'no' if not given else 'more than one'} work to simulate: give one of {listed}")
    kind = given[0]
    for name, (option, kinds) in _ONLY_OF.items():
        if getattr(asked, name) is not None and kind not in kinds:
            others = " and ".join(f"--{one}" for one in SOURCES if one in kinds)
            raise InputError(f"{option} goes with {others}, not with --{kind}: leave it out")
    if kind == "goal":
        return _goal(asked)
    if kind == "replay":
        return _replay(asked, library)
    processes = _given_ranks(asked) or most
    if kind == "exchange" and asked.exchange not in EXCHANGES:
        return _listed(asked)
    if processes is None:
        raise InputError("a machine has as many hosts as you like: give the number of ranks, like -p 64")
    if kind == "collective":
        return _collective(asked, processes, library)
    return _exchange(asked, processes) if kind == "exchange" else _kernel(asked, processes)


def _name(selector: Any) -> str:
    return selector if isinstance(selector, str) else str(selector.name)


def _given_ranks(asked: argparse.Namespace) -> int | None:
    return None if asked.ranks is None else whole_number("-p", asked.ranks, 1)


def _size(asked: argparse.Namespace, kind: str) -> int:
    from commmodel.units import parse_size

    if asked.size is None:
        raise InputError(f"{kind} needs a size of its messages: like -n 64KiB")
    size: int = parsed("-n", asked.size, parse_size)
    return size


def _rounds(asked: argparse.Namespace) -> int:
    return whole_number("--rounds", asked.rounds or "1", 1)


def _collective(asked: argparse.Namespace, processes: int, library: Any) -> Workload:
    from commmodel.collectives import OPERATIONS
    from commmodel.simulate import smpi_collectives
    from commmodel.simulate.work import collective, repeated
    from commmodel.simulate.work.collective import SMPI_SELECTOR, chosen
    from commmodel.units import format_size, parse_size

    operation = asked.collective
    if operation not in COLLECTIVES:
        raise InputError(f"--collective {operation}: there is no such operation; choose {', '.join(COLLECTIVES)}")
    if operation == "barrier" and asked.size not in (None, "0"):
        raise InputError("-n goes with operations that move data, not with a barrier: leave it out")
    if asked.root is not None and not OPERATIONS[operation].has_root:
        rooted = sorted(name for name in COLLECTIVES if OPERATIONS[name].has_root)
        raise InputError(f"--root goes with {', '.join(rooted)}, not with {operation}: leave it out")
    as_smpi = asked.selector == SMPI_SELECTOR
    if asked.algorithm is not None and asked.selector is not None and not as_smpi:
        raise InputError("--algorithm and --selector both say how: leave one out")
    size = 0 if operation == "barrier" else _size(asked, operation)
    selector = asked.selector or library
    segment_size = parsed("--segment-size", asked.segment_size, parse_size)
    if as_smpi:
        algorithm, pieces = asked.algorithm or smpi_collectives.DEFAULT, None
    else:
        algorithm, pieces = chosen(operation, size, processes, asked.algorithm, selector)
    rounds = _rounds(asked)
    options: dict[str, Any] = {
        "algorithm": algorithm,
        "selector": selector,
        "root": whole_number("--root", asked.root or "0", 0),
        "segment_size": pieces if segment_size is None else segment_size,
        "memory_copy": byte_time("--copy", asked.copy) or 0.0,
        "reduction": byte_time("--reduction", asked.reduction) or 0.0,
    }

    def make(_: Any) -> Any:
        once = collective(operation, size, processes, **options)
        return once if rounds == 1 else repeated(once, rounds)

    chooser = "given" if asked.algorithm is not None else _name(selector)
    words = f"{operation}{'' if operation == 'barrier' else f' of {format_size(size)}'} on {_ranks(processes)}: "
    words += algorithm + ("" if chooser == "given" else f", as {chooser} picks") + _times(rounds)
    facts = {"operation": operation, "message_size": size, "algorithm": algorithm, "chosen_by": chooser}
    return Workload(processes, words[:1].upper() + words[1:], make, facts)


def _ranks(processes: int) -> str:
    return "one rank" if processes == 1 else f"{processes} ranks"


def _times(rounds: int) -> str:
    return "" if rounds == 1 else f", {rounds} times"


def _exchange(asked: argparse.Namespace, processes: int) -> Workload:
    from commmodel.simulate.work import halo, pairwise, repeated, ring, shifts
    from commmodel.units import format_size

    kind, size, rounds = asked.exchange, _size(asked, asked.exchange), _rounds(asked)
    if asked.dimensions is not None and kind != "halo":
        raise InputError(f"--dimensions goes with --exchange halo, not with {kind}: leave it out")
    dimensions = whole_number("--dimensions", asked.dimensions or "2", 1)
    if dimensions > 3:
        raise InputError(f"--dimensions {dimensions}: a halo exchange has 1, 2 or 3")

    def make(_: Any) -> Any:
        if kind == "irregular":
            return shifts(size, processes, rounds)
        if kind == "halo":
            once = halo(size, processes, dimensions=dimensions)
        else:
            once = ring(size, processes) if kind == "ring" else pairwise(size, processes)
        return once if rounds == 1 else repeated(once, rounds)

    shape = f" in {dimensions} dimensions" if kind == "halo" else ""
    words = f"{kind} exchange{shape}, {format_size(size)} on {_ranks(processes)}{_times(rounds)}"
    return Workload(processes, words[:1].upper() + words[1:], make, {"exchange": kind, "message_size": size})


def _listed(asked: argparse.Namespace) -> Workload:
    """Return an exchange of the messages that a file lists."""
    from commmodel.simulate.work import read_sparse, repeated

    path = asked.exchange
    if not path.endswith(".csv"):
        raise InputError(f"--exchange {path}: choose {', '.join(EXCHANGES)} or a .csv file (sender, receiver, bytes)")
    if asked.size is not None:
        raise InputError(f"-n: {path} says how many bytes each message has: leave it out")
    if asked.dimensions is not None:
        raise InputError("--dimensions goes with --exchange halo, not with a file: leave it out")
    rounds = _rounds(asked)
    program = read_sparse(path, _given_ranks(asked))

    def make(_: Any) -> Any:
        return program if rounds == 1 else repeated(program, rounds)

    words = f"Exchange of {path} on {_ranks(program.processes)}{_times(rounds)}"
    return Workload(program.processes, words, make, {"exchange": path})


def _kernel(asked: argparse.Namespace, processes: int) -> Workload:
    from commmodel.simulate.work import cg, lu

    problem = (asked.problem or "A").upper()
    iterations = None if asked.iterations is None else whole_number("--iterations", asked.iterations, 1)
    actions = {"lu": lu, "cg": cg}[asked.kernel](problem, processes, iterations)

    def make(speeds: Any) -> Any:
        return actions.program(speeds)

    words = f"{asked.kernel.upper()}, class {problem}, on {_ranks(processes)}"
    words += "" if iterations is None else f", {iterations} iteration{'s' * (iterations > 1)}"
    return Workload(processes, words, make, {"kernel": asked.kernel, "class": problem})


def _replay(asked: argparse.Namespace, library: Any) -> Workload:
    from commmodel.simulate.traces import replay

    selector = asked.selector or library
    processes = replay(asked.replay, _given_ranks(asked)).processes
    copy, reduction = byte_time("--copy", asked.copy) or 0.0, byte_time("--reduction", asked.reduction) or 0.0

    def make(speeds: Any) -> Any:
        return replay(
            asked.replay, processes, speeds=speeds, selector=selector, memory_copy=copy, reduction=reduction
        )  # fmt: skip

    words = f"Replay of {asked.replay} on {_ranks(processes)}"
    return Workload(processes, words, make, {"replay": asked.replay, "chosen_by": _name(selector)})


def _goal(asked: argparse.Namespace) -> Workload:
    from commmodel.simulate import goal

    schedule = goal.read(asked.goal)
    words = f"Schedule {asked.goal} on {_ranks(schedule.processes)}"
    return Workload(schedule.processes, words, lambda _: None, {"goal": asked.goal}, schedule)
