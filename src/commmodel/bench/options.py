"""The command line of the benchmark. Parsed before MPI starts, so a wrong word costs nothing. Main entry: `parse`."""

import argparse
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, get_args

from commmodel.bench.kernels import REGISTRY
from commmodel.bench.kernels.collective import GROUPS
from commmodel.errors import InputError
from commmodel.results import (
    Batch,
    CollectiveName,
    MemoryOperation,
    Mode,
    Options,
    Pattern,
    Start,
    StreamBuffers,
    Template,
    ThreadLevel,
)
from commmodel.units import parse_confidence, parse_counts, parse_fraction, parse_sizes, parse_time, parse_whole

__all__ = ["KERNELS", "CommandLine", "HelpAsked", "parse", "parse_processes"]

KERNELS = tuple(REGISTRY)
_MEMORY_OPERATIONS: tuple[MemoryOperation, ...] = get_args(MemoryOperation)
_TEMPLATES: tuple[Template, ...] = get_args(Template)
_PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
_OPERATIONS = ("two-sided", "put", "get")
_LARGEST_VOLUME = 2**31 - 1  # bytes that one message of the kernel overlap can have
_MOST_SIZES = 100_000  # that are drawn at random
_MOST_RANKS = 2**31 - 1  # that MPI can have
_QUICK = {"sizes": "1:16MiB", "time": "10s", "ci": "5%", "pairs": None, "node_pairs": "1"}
_FULL = {"sizes": "1:16MiB", "time": "60s", "ci": "2%", "pairs": None, "node_pairs": "1"}

_EXAMPLES = """\
examples:
  mpiexec -n 2 python -m commmodel.bench                      latency, bandwidth and eager limit in a minute
  mpiexec -n 2 python -m commmodel.bench --quick              the same, coarser, in ten seconds
  srun -N 2 --ntasks-per-node=16 python -m commmodel.bench pairs --sizes 1KiB:16MiB --time 5min
  mpiexec -n 2 python -m commmodel.bench ping pingpong contention threshold --random-sizes 400
                                                              what the simulator is calibrated with
  mpiexec -n 2 python -m commmodel.bench loggp plogp          what LogGP and parameterised LogP are made of
  mpiexec -n 8 python -m commmodel.bench collective --collectives bcast,allreduce --procs 2:all
  mpiexec -n 2 python -m commmodel.bench overlap --volumes 1MiB --exhaustive --time 10min
  mpiexec -n 4 env LD_PRELOAD=$(commmodel list memory-library) python -m commmodel.bench memory
  python -m commmodel.bench --launches 5 --launcher 'mpiexec -n 2 -bind-to core'
                                                              five launches, which differ more than repetitions show
  mpiexec -n 2 python -m commmodel.bench --resume             go on where a killed run stopped
"""


@dataclass(frozen=True)
class CommandLine:
    """What was asked: how to measure, where to, and which options were given in so many words.

    `options.kernels` is empty where none was named: what is sensible depends on the ranks. So do numbers of processes:
    `options.procs` is empty, and `procs` holds what `parse_processes` makes them of.
    """

    options: Options
    thread_level: ThreadLevel
    procs: str
    output: Path
    resume: bool
    json: bool
    given: frozenset[str]
    launches: int | None = None
    """How many launches to start from outside of MPI; None: this is one of a launcher's ranks."""
    launcher: str | None = None


class HelpAsked(Exception):  # noqa: N818  (not an error)
    """Carries the text of ``--help``."""


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, so that one rank can speak for all."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see python -m commmodel.bench --help)")

    def print_help(self, file: Any = None) -> NoReturn:  # noqa: ARG002
        raise HelpAsked(self.format_help())


def _batch(text: str) -> Batch:
    if text == "auto":
        return "auto"
    return _positive(text)


def _positive(text: str) -> int:
    return parse_whole(text, least=1)


def _more_than_zero(parse: Callable[[str], float]) -> Callable[[str], float]:
    def checked(text: str) -> float:
        value = parse(text)
        if value <= 0:
            raise InputError(f"{text!r} must be more than 0")
        return value

    return checked


def _some_sizes(text: str) -> int:
    count = _positive(text)
    if count > _MOST_SIZES:
        raise InputError(f"{text!r}: more than {_MOST_SIZES} sizes")
    return count


def _number(text: str) -> int:
    return parse_whole(text)


def _some_of(names: Sequence[str], what: str) -> Callable[[str], tuple[str, ...]]:
    """Return what reads a list of names, or all of them."""

    def parsed(text: str) -> tuple[str, ...]:
        found = tuple(names) if text == "all" else tuple(dict.fromkeys(text.split(",")))
        for name in found:
            if name not in names:
                raise InputError(f"unknown {what} {name!r}: choose from {', '.join(names)}, or write all")
        return found

    return parsed


def _collectives(text: str) -> tuple[CollectiveName, ...]:
    found: dict[CollectiveName, None] = {}
    known = {name: (name,) for name in GROUPS["all"]} | GROUPS
    for name in text.split(","):
        if name not in known:
            raise InputError(
                f"unknown collective {name!r}: choose from {', '.join(GROUPS['all'])}, or of these words for several: "
                f"{', '.join(GROUPS)}"
            )
        found |= dict.fromkeys(known[name])
    return tuple(found)


def _volumes(text: str) -> tuple[int, ...]:
    volumes = parse_sizes(text)
    if not 1 <= volumes[0] <= volumes[-1] <= _LARGEST_VOLUME:
        raise InputError(f"{text!r}: a volume is at least 1 B and less than 2 GiB")
    return volumes


def _with_step(text: str, step: str) -> str:
    """Return a list of numbers and ranges in which each range has a step."""
    return ",".join(f"{part}:{step}" if part.count(":") == 1 else part for part in text.split(","))


def _bursts(text: str) -> tuple[int, ...]:
    return parse_counts(_with_step(text, "*2"))


def _work(text: str) -> tuple[int, ...]:
    if not set(text) <= set("0123456789,:+*"):
        raise InputError(f"{text!r} is no list of whole numbers: write it like 0:5, or 1,3,5")
    return parse_sizes(_with_step(text, "+1"))  # of which 0 may be one, unlike of counts


def _waits(text: str) -> tuple[float, ...]:
    return tuple(sorted({parse_time(part) for part in text.split(",")}))


def parse_processes(text: str, ranks: int) -> tuple[int, ...]:
    """Return the numbers of processes of a list in which ``all`` is the number of ranks, ascending.

    A range up to ``all`` doubles; all else is as in `commmodel.units.parse_counts`.

    >>> parse_processes("2:all", 12), parse_processes("1,4:6,all", 8)
    ((2, 4, 8, 12), (1, 4, 5, 6, 8))
    """
    counts: set[int] = set()
    for part in text.split(","):
        first, _, last = part.rpartition(":")
        if last == "all":
            count = _positive(first) if first else ranks
            counts |= {count, ranks}
            while count < ranks:
                counts.add(count)
                count *= 2
        else:
            counts |= set(parse_counts(part))
    return tuple(sorted(counts))


_PARSERS: dict[str, Callable[[str], Any]] = {
    "sizes": parse_sizes,
    "pairs": parse_counts,
    "node_pairs": parse_counts,
    "time": _more_than_zero(parse_time),
    "ci": _more_than_zero(parse_fraction),
    "confidence": parse_confidence,
    "batch": _batch,
    "repetitions": _positive,
    "visits": _positive,
    "seed": _number,
    "collectives": _collectives,
    "templates": _some_of(_TEMPLATES, "template"),
    "patterns": _some_of(_PATTERNS, "pattern"),
    "operations": _some_of(_OPERATIONS, "operation"),
    "volumes": _volumes,
    "bursts": _bursts,
    "work": _work,
    "passes": _positive,
    "iterations": _positive,
    "waits": _waits,
    "random_sizes": _some_sizes,
    "memory_operations": _some_of(_MEMORY_OPERATIONS, "operation that keeps memory"),
}


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m commmodel.bench",
        description="Measure a machine's MPI communication into results.jsonl. Start it with mpiexec or srun.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=f"what to measure: {', '.join(KERNELS)}")
    parser.add_argument("-o", "--output", default="results.jsonl", help="file to write (results.jsonl)")
    parser.add_argument("--quick", action="store_true", help="10 s and intervals of 5%%")
    parser.add_argument("--sizes", help="message sizes: 1:4MiB doubles; or 0,8,1KiB:8KiB:+1KiB (1:16MiB)")
    parser.add_argument(
        "--random-sizes",
        metavar="N",
        help="ping and pingpong: N sizes drawn at random between the ends of --sizes, evenly in their logarithm, "
        "instead of those sizes; for the hybrid model",
    )
    parser.add_argument("--pairs", help="numbers of pairs: 1:8, or 1:16:*2 (one to all)")
    parser.add_argument("--node-pairs", help="numbers of pairs of nodes at once: 1:4 needs 8 nodes (1)")
    parser.add_argument("--time", help="seconds for everything (60s)")
    parser.add_argument(
        "--visits", default="4",
        help="how often to go through pingpong, ping, pairs and stream: what disturbs one visit leaves the next (4)",
    )  # fmt: skip
    parser.add_argument("--ci", help="half width of the median's interval to reach (2%%)")
    parser.add_argument("--confidence", default="95%", help="of that interval (95%%)")
    parser.add_argument(
        "--batch",
        help="exchanges timed together: 1 times every message, auto lasts 50us (pingpong 1, pairs auto)",
    )
    parser.add_argument("--repetitions", default="10000", help="most samples of a record (10000)")
    parser.add_argument(
        "--huge-pages",
        choices=("never", "always", "system"),
        default="never",
        help="for message buffers (never)",
    )
    parser.add_argument(
        "--mode",
        choices=(*get_args(Mode), "both"),
        default="blocking",
        help="how loggp and plogp send and receive, and collective waits; not blocking is overlapped, too (blocking)",
    )
    parser.add_argument(
        "--collectives",
        default="usual",
        help=f"some of {', '.join(GROUPS['all'])}; or words for several: {', '.join(GROUPS)} (usual: up to exscan)",
    )
    parser.add_argument(
        "--procs", default="2:all", help="processes of collectives and patterns: 1:4,all; 2:all doubles (2:all)"
    )
    parser.add_argument("--imb-repetitions", action="store_true", help="repeat collectives as often as IMB does")
    parser.add_argument(
        "--start",
        choices=get_args(Start),
        help="how repetitions of collectives begin: on synchronised clocks, or after a barrier "
        "(round-time; barrier where ranks outnumber processors, and with --imb-repetitions)",
    )
    parser.add_argument(
        "--stream-buffers",
        choices=(*get_args(StreamBuffers), "both"),
        default="each",
        help="where the messages of a window of the kernel stream arrive: each in a buffer of its own, or all in one "
        "as OSU's do (each)",
    )
    parser.add_argument(
        "--thread-level",
        choices=get_args(ThreadLevel),
        default="single",
        help="asked of MPI; MPI_Init gives single, mpi4py's default is multiple (single)",
    )
    parser.add_argument("--per-rank", action="store_true", help="keep each rank's times of collectives, too")
    parser.add_argument("--waits", default="0,1s,5s", help="after which the kernel clocks looks at clocks (0,1s,5s)")
    parser.add_argument(
        "--memory-operations", default="all", help=f"of the kernel memory: {','.join(_MEMORY_OPERATIONS)} (all)"
    )
    _add_overlap(parser)
    parser.add_argument(
        "--launches", metavar="N",
        help="start N launches one after the other, into one file; without mpiexec before it (this launch alone)",
    )  # fmt: skip
    parser.add_argument("--launcher", help="with --launches: what starts each ('mpiexec -n 2')")
    parser.add_argument("--seed", help="of the order of measurements (random; recorded)")
    parser.add_argument("--resume", action="store_true", help="complete what the output file lacks")
    parser.add_argument("--json", action="store_true", help="print one JSON object about the run")
    return parser


def _add_overlap(parser: argparse.ArgumentParser) -> None:
    overlap = parser.add_argument_group("communication overlapped with computation")
    overlap.add_argument(
        "--templates", default="blocking,pipelined", help=f"some of {','.join(_TEMPLATES)}; all (blocking,pipelined)"
    )
    overlap.add_argument(
        "--patterns", default="point-to-point", help=f"some of {','.join(_PATTERNS)}; all (point-to-point)"
    )
    overlap.add_argument(
        "--operations",
        default="two-sided",
        help=f"some of {','.join(_OPERATIONS)}; all; also of burst, queue, progress (two-sided)",
    )
    overlap.add_argument(
        "--volumes", default="64KiB:4MiB:*4", help="bytes that a process receives from a peer (64KiB:4MiB:*4)"
    )
    overlap.add_argument("--bursts", default="1:64", help="messages begun in a row: 1:64 doubles (1:64)")
    overlap.add_argument("--work", default="1:5", help="computation, multiples of --passes: 0:5, or 1,3 (1:5)")
    overlap.add_argument(
        "--passes", help="adds of a scalar to all data (measured: half as long as the transfer of 1 MiB)"
    )
    overlap.add_argument(
        "--iterations", default="1", help="problems in a row without synchronisation: 1 is balanced (1)"
    )
    overlap.add_argument(
        "--exhaustive", action="store_true", help="all of --sizes and --bursts, not steps of a factor of 4"
    )


def parse(arguments: Sequence[str]) -> CommandLine:
    """Return what was asked; raise `InputError` for what is wrong, `HelpAsked` for ``--help``."""
    written = vars(_parser().parse_args(arguments))
    defaults = vars(_parser().parse_args([]))
    kernels = tuple(dict.fromkeys(written["kernels"]))
    for name in kernels:
        if name not in KERNELS:
            raise InputError(f"unknown kernel {name!r}: choose from {', '.join(KERNELS)}")
    given = {name for name, value in written.items() if value != defaults[name]}
    preset = _QUICK if written["quick"] else _FULL
    if written["quick"]:
        given |= {"time", "ci"}  # all that is not as it is without
    texts = {name: written[name] if written[name] is not None else preset.get(name) for name in _PARSERS}
    values: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            values[name] = None if text is None else _PARSERS[name](text)
        except InputError as error:
            raise InputError(f"--{name.replace('_', '-')}: {error}") from None
    try:
        parse_processes(written["procs"], _MOST_RANKS)
    except InputError as error:
        raise InputError(f"--procs: {error}") from None
    try:
        launches = None if written["launches"] is None else _positive(written["launches"])
    except InputError as error:
        raise InputError(f"--launches: {error}") from None
    if launches is None and written["launcher"] is not None:
        raise InputError("--launcher goes with --launches: how many launches is it to start?")
    seed = secrets.randbelow(2**32) if values["seed"] is None else values["seed"]
    options = Options(
        kernels=kernels,
        huge_pages=written["huge_pages"],
        mode=written["mode"],
        imb_repetitions=written["imb_repetitions"],
        exhaustive=written["exhaustive"],
        start=written["start"] or "round-time",
        per_rank=written["per_rank"],
        stream_buffers=written["stream_buffers"],
        **(values | {"seed": seed}),
    )
    return CommandLine(
        options,
        written["thread_level"],
        written["procs"],
        Path(written["output"]),
        written["resume"],
        written["json"],
        frozenset(given),
        launches,
        written["launcher"],
    )
