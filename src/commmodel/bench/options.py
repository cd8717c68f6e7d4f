"""The command line of the benchmark, parsed before MPI_Init. Main entry: `parse`.

Here are the options of all kernels; those of a few are declared with their kernels.
"""

import argparse
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, get_args

from commmodel.bench.kernels import REGISTRY
from commmodel.bench.option import Option, flag_of, more_than_zero, percent, positive, seconds, sizes
from commmodel.errors import InputError, refuse_unknown
from commmodel.results import BenchOptions
from commmodel.results.configurations import Batch, HugePages, MessageBuffers
from commmodel.results.records import ThreadLevel
from commmodel.spellings import NEGATIVE, accept_old_spellings
from commmodel.units import (
    parse_confidence,
    parse_counts,
    parse_fraction,
    parse_sizes,
    parse_time,
    parse_whole,
)

KERNELS = tuple(REGISTRY)
_MOST_RANKS = 1_000_000  # of a dry run, which makes the whole plan
_QUICK = {"time": 10.0, "ci": 0.05}

_EXAMPLES = """\
examples:
  mpiexec -n 2 python -m commmodel.bench                      latency, bandwidth and eager limit in a minute
  mpiexec -n 2 python -m commmodel.bench --quick              the same, coarser, in ten seconds
  srun --kill-on-bad-exit=1 -N 2 --ntasks-per-node=16 python -m commmodel.bench pairs --sizes 1KiB:16MiB --time 5min
  mpiexec -n 2 python -m commmodel.bench ping pingpong contention threshold --random-sizes 400
                                                              measures what the simulator needs
  mpiexec -n 2 python -m commmodel.bench loggp plogp          measures LogGP and parameterised LogP
  mpiexec -n 8 python -m commmodel.bench collective --collectives bcast,allreduce --process-counts 2:all
  mpiexec -n 2 python -m commmodel.bench overlap --volumes 1MiB --exhaustive --time 10min
  mpiexec -n 4 env LD_PRELOAD=$(commmodel list memory-library) python -m commmodel.bench memory
  python -m commmodel.bench --launches 5 --launcher 'mpiexec -n 2 -bind-to core'
                                                              five launches, which differ more than repetitions show
  mpiexec -n 2 python -m commmodel.bench --resume             continue a killed run
"""


@dataclass(frozen=True)
class CommandLine:
    """A parsed command line.

    `options.kernels` is empty where none was named: what is sensible depends on the ranks. So do numbers of processes:
    `options.procs` is empty, and `procs` holds what `parse_processes` makes them of.
    """

    options: BenchOptions
    typed: dict[str, str]
    """Field of what was typed -> the words of the user."""
    thread_level: ThreadLevel = "single"
    procs: str = "2:all"
    output: Path = Path("results.jsonl")
    resume: bool = False
    force: bool = False
    json: bool = False
    launches: int | None = None
    """How many launches to start from outside of MPI; None: this is one of a launcher's ranks."""
    launcher: str | None = None
    dry_run: bool = False
    """Say what the launch would do, without MPI."""
    processes: int | None = None
    """Ranks of the dry run, and those of a node."""
    per_node: int | None = None


class HelpRequest(Exception):  # noqa: N818  (not an error)
    """The text of ``--help``, as an exception."""


class _OptionParser(argparse.ArgumentParser):
    """Parser that raises instead of exiting, so that rank 0 alone reports an error."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._negative_number_matcher = NEGATIVE

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        spellings = [*self._option_string_actions]
        accept_old_spellings("bench", self._option_string_actions)
        namespace, unknown = self.parse_known_args(args, namespace)
        if unknown:
            refuse_unknown(unknown, [*args], spellings, self.prog)
        return namespace

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see python -m commmodel.bench --help)")

    def print_help(self, file: Any = None) -> NoReturn:  # noqa: ARG002
        raise HelpRequest(self.format_help())


def _batch(text: str) -> Batch:
    return "auto" if text == "auto" else positive(text)


def parse_processes(text: str, ranks: int) -> tuple[int, ...]:
    """Return the ascending numbers of processes of a list; ``all`` is the number of ranks.

    A range up to ``all`` doubles; all else is as in `commmodel.units.parse_counts`.

    >>> parse_processes("2:all", 12), parse_processes("1,4:6,all", 8)
    ((2, 4, 8, 12), (1, 4, 5, 6, 8))
    """
    counts: set[int] = set()
    for part in text.split(","):
        first, _, last = part.rpartition(":")
        if last == "all":
            count = positive(first) if first else ranks
            counts |= {count, ranks}
            while count < ranks:
                counts.add(count)
                count *= 2
        else:
            counts |= set(parse_counts(part))
    return tuple(sorted(counts))


_COMMON = (
    Option("sizes", "message sizes: 1:4MiB doubles; or 0,8,1KiB:8KiB:+1KiB", parse_sizes, sizes),
    Option(
        "time",
        "time of the whole run, or longer where one visit to each configuration takes longer",
        more_than_zero(parse_time),
        seconds,
        metavar="TIME",
    ),
    Option(
        "visits",
        "visits to each configuration of pingpong, ping, pairs and stream, spread over the run against disturbances",
        positive,
    ),
    Option(
        "ci",
        "target half width of the median's interval, relative to the median",
        more_than_zero(parse_fraction),
        percent,
        metavar="SHARE",
    ),
    Option("confidence", "confidence of that interval", parse_confidence, percent),
    Option(
        "batch",
        "exchanges timed together: 1 times every message, auto lasts 50us",
        _batch,
        unset="pingpong 1, pairs auto",
        metavar="N",
    ),
    Option("repetitions", "largest number of samples of a record", positive),
    Option(
        "buffers",
        "message buffers: touched, that is written before each send and read after each receive as by programs, or "
        "untouched as in most other suites",
        choices=get_args(MessageBuffers),
    ),
    Option("huge_pages", "huge pages for message buffers", choices=get_args(HugePages)),
    Option("per_rank", "keep each rank's times of collectives, too", None),
    Option("seed", "seed of the order of measurements", parse_whole, unset="random; recorded"),
)


def _options() -> dict[str, Option]:
    """Return field -> option, of all kernels that are loaded."""
    of_kernels = (option for kernel in REGISTRY.values() for option in kernel.options)
    return {option.field: option for option in (*_COMMON, *of_kernels)}


def _parser() -> argparse.ArgumentParser:
    parser = _OptionParser(
        prog="python -m commmodel.bench",
        description="Measure a machine's MPI communication into results.jsonl. Start it with mpiexec or srun.",
        epilog=f"kernels:\n{_summaries()}\n\n{_EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument(
        "kernels",
        nargs="*",
        default=(),
        metavar="KERNEL",
        help=f"kernel to measure, of the list below (default: {_default_kernels()})",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"file to write; must not exist (default: {CommandLine.output})"
    )
    parser.add_argument("--resume", action="store_true", help="complete an unfinished output file")
    parser.add_argument("--force", action="store_true", help="replace an output file that exists")
    parser.add_argument("--json", action="store_true", help="print one JSON object about the run")
    quick = f"short for --time {seconds(_QUICK['time'])} --ci {percent(_QUICK['ci'])}".replace("%", "%%")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument(
        "--process-counts", dest="procs", metavar="N,...",
        help=f"numbers of processes of collectives, patterns and clocks, like 1:4,all (default: {CommandLine.procs})",
    )  # fmt: skip
    parser.add_argument(
        "--thread-level",
        choices=get_args(ThreadLevel),
        help="MPI thread level to request; MPI_Init gives single, mpi4py's default is multiple "
        f"(default: {CommandLine.thread_level})",
    )
    parser.add_argument(
        "--launches", metavar="N",
        help="number of launches to start, one after the other; run without mpiexec (default: this launch)",
    )  # fmt: skip
    parser.add_argument(
        "--launcher", metavar="COMMAND", help="command that starts each of --launches (default: 'mpiexec -n 2')"
    )
    parser.add_argument(
        "--dry-run", action="store_true", dest="dry_run",
        help="say what -p ranks, -k of them on a node, would measure, and the time and memory; run without mpiexec",
    )  # fmt: skip
    parser.add_argument("-p", "--processes", metavar="P", help="ranks of the dry run (default: 2)")
    parser.add_argument("-k", "--per-node", metavar="K", help="ranks of the dry run on each node (default: all)")
    for option in _COMMON:
        option.add_to(parser)
    for names, options in _by_kernels().items():
        group = parser.add_argument_group(", ".join(names))
        for option in options:
            option.add_to(group)
    return parser


def _default_kernels() -> str:
    return ", ".join(name for name, kernel in REGISTRY.items() if kernel.by_default)


def _summaries() -> str:
    width = max(map(len, REGISTRY)) + 2
    return "\n".join(f"  {name:{width}}{kernel.summary}" for name, kernel in REGISTRY.items())


def _by_kernels() -> dict[tuple[str, ...], list[Option]]:
    """Return the options of each set of kernels that has some to itself."""
    groups: dict[tuple[str, ...], list[Option]] = {}
    for option in _options().values():
        names = tuple(name for name, kernel in REGISTRY.items() if option in kernel.options)
        if names:
            groups.setdefault(names, []).append(option)
    return groups


def _checked_processes(text: str) -> str:
    try:
        parse_processes(text, _MOST_RANKS)
    except InputError as error:
        raise InputError(f"--process-counts: {error}") from None
    return text


def _positive(flag: str, parse: Callable[[str], int] = positive) -> Callable[[str], int]:
    def parsed(text: str) -> int:
        try:
            return parse(text)
        except InputError as error:
            raise InputError(f"{flag}: {error}") from None

    return parsed


_PARSERS: dict[str, Callable[[str], Any]] = {
    "procs": _checked_processes,
    "launches": _positive("--launches"),
    "processes": _positive("-p", partial(parse_whole, least=1, most=_MOST_RANKS)),
    "per_node": _positive("-k", partial(parse_whole, least=1, most=_MOST_RANKS)),
    "output": Path,
}
"""Field of `CommandLine` -> how it is parsed."""


def parse(arguments: Sequence[str]) -> CommandLine:
    """Parse a command line; raise `InputError` for a mistake, `HelpRequest` for ``--help``."""
    parser = _parser()
    words = {word.partition("=")[0] for word in arguments if word.startswith("-")}
    if {"-h", "--help"} & words or words - {*parser._option_string_actions}:  # it may be a plugin's
        REGISTRY.loaded()
        parser = _parser()
    typed_values, options = vars(parser.parse_args(arguments)), _options()
    kernels = tuple(dict.fromkeys(typed_values.pop("kernels")))
    further = {option.field: option.default for name in kernels for option in REGISTRY[name].options
               if option.is_further}  # fmt: skip
    typed = {name: flag_of(name) for name in typed_values} | ({"kernels": " ".join(kernels)} if kernels else {})
    values: dict[str, Any] = {"seed": secrets.randbelow(2**32)}
    if typed_values.pop("quick", False):
        values |= _QUICK
        typed = dict.fromkeys(_QUICK, "--quick") | typed
    for name, option in options.items():
        if name in typed_values:
            value = option.value(typed_values.pop(name))
            (further if option.is_further else values)[name] = value
    for name, parsed in _PARSERS.items():
        if name in typed_values:
            typed_values[name] = parsed(typed_values[name])
    if "launcher" in typed_values and "launches" not in typed_values:
        raise InputError("--launcher goes with --launches: how many launches is it to start?")
    if {"processes", "per_node"} & {*typed_values} and "dry_run" not in typed_values:
        raise InputError("-p and -k are of --dry-run: a launch has the ranks that mpiexec or srun starts")
    if {"dry_run", "launches"} <= {*typed_values}:
        raise InputError("--dry-run estimates one launch: leave --launches out")
    if "resume" in typed_values and "force" in typed_values:
        raise InputError("--resume completes a file and --force begins it anew: leave one out")
    return CommandLine(BenchOptions(kernels, **values, further=further), typed, **typed_values)
