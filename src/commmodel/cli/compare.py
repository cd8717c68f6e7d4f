"""The verb ``compare``: what became slower between files of measurements, or two sides measured in turns."""

import argparse
import shlex
from typing import Any, get_args

from commmodel.choices import Statistic
from commmodel.cli.parsers import (
    add_format,
    add_thread_level,
    choices,
    confidence,
    new_verb,
    print_json,
    refuse_other_levels,
    share,
    show,
    whole,
    write_requested_page,
)
from commmodel.errors import InputError

_PAGE = ".html"
_CHANGES = ("slower", "faster", "larger", "smaller", "same", "unclear")


def add(verbs: Any) -> None:
    """Add the verb."""
    compare = new_verb(
        verbs, "compare", _run, "compare files of measurements: what became slower, with intervals; of several, when",
        "commmodel compare before.jsonl after.jsonl --least 2% --fail",
    )  # fmt: skip
    compare.add_argument(
        "before",
        metavar="BEFORE",
        help="results.jsonl of several launches, other suites' output or a folder of such files; with --run, value of "
        "{side} for the first side",
    )
    compare.add_argument(
        "after", nargs="+", metavar="AFTER",
        help="the same for the other side; more files, measured on one machine one after the other: their history",
    )  # fmt: skip
    add_format(compare)
    add_thread_level(compare)
    compare.add_argument(
        "--least", metavar="SHARE", type=share, help="smallest change that counts (default: 5%%; with --run 2%%)"
    )
    compare.add_argument(
        "--confidence", metavar="SHARE", type=confidence, default="95%",
        help="confidence of all verdicts together (default: %(default)s)",
    )  # fmt: skip
    compare.add_argument(
        "--statistic", choices=get_args(Statistic), default="median",
        help="statistic of a launch's repetitions (default: %(default)s)",
    )  # fmt: skip
    compare.add_argument(
        "--only", metavar="VERDICT,...", type=choices(_CHANGES), default=_CHANGES,
        help=f"verdicts to show: {', '.join(_CHANGES)} (default: all)",
    )  # fmt: skip
    compare.add_argument("--fail", action="store_true", help="exit 1 if anything became slower or keeps more memory")
    compare.add_argument(
        "-o", "--output", metavar="FILE",
        help="HTML page to write, whose name ends with .html; must not exist. Another name, with --run: folder for the "
        "files of all launches; an unfinished one is continued (default: no page; turns)",
    )  # fmt: skip
    compare.add_argument("--force", action="store_true", help="replace a page that exists")
    compare.set_defaults(default_output=None)
    turns = compare.add_argument_group("measure both sides in turns, so that drift of the machine cancels")
    turns.add_argument(
        "--run", metavar="COMMAND",
        help="command that measures one launch of {side} into {output}, like "
        "'mpiexec -n 2 {side}/bin/python -m commmodel.bench --quick -o {output}'",
    )  # fmt: skip
    turns.add_argument("--launches", metavar="N", type=whole(1), help="launches of each side (default: 10)")
    turns.add_argument(
        "--seed", metavar="N", type=whole(0), help="seed of the order in each pair (default: random; recorded)"
    )


def _run(arguments: argparse.Namespace) -> int:
    """Compare two sides and print the differences; exit code 1 with --fail where something became worse."""
    from commmodel import formats
    from commmodel.scaling import collect
    from commmodel.scaling.difference import differences

    least = arguments.least if arguments.least is not None else 0.05 if arguments.run is None else 0.02
    page = _page(arguments)
    if len(arguments.after) > 1:
        return _run_history(arguments, least, page)
    (after_path,) = arguments.after
    if arguments.run is None:
        _refuse_options_of_turns(arguments, page)
        before, after = (
            collect(formats.load_all([path], arguments.format, arguments.placement))
            for path in (arguments.before, after_path)
        )
    else:
        before, after = _measured(arguments, after_path, None if page else arguments.output)
    refuse_other_levels(arguments, before, after)
    result = differences(
        before, after, statistic=arguments.statistic, confidence=arguments.confidence, least=least,
        in_pairs=None if arguments.run is None else True,
    )  # fmt: skip
    rows = [row for row in result.rows if row.change in arguments.only]
    name = f"{arguments.before} and {after_path}"
    output, code = write_requested_page(page, "write_differences", name, result, least)
    if arguments.json:
        print_json(as_json(result, rows) | {"output": output})
    else:
        from commmodel.report.scaling.differences import difference_blocks

        show(*difference_blocks(result, rows, least))
        if output is not None:
            print(f"written to {output}")
    return 1 if arguments.fail and result.is_worse else code


def _page(arguments: argparse.Namespace) -> str | None:
    """Return the page to write: -o with a name that ends with .html."""
    return arguments.output if arguments.output is not None and arguments.output.endswith(_PAGE) else None


def _refuse_options_of_turns(arguments: argparse.Namespace, page: str | None) -> None:
    """Raise where an option of measuring in turns has no command to measure with."""
    if arguments.output is not None and page is None:
        raise InputError(f"-o {arguments.output}: a page is HTML: name it {arguments.output}.html; a folder goes with "
                         "--run: which command measures one launch?")  # fmt: skip
    for name in ("launches", "seed"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name} goes with --run: which command measures one launch?")


def _run_history(arguments: argparse.Namespace, least: float, page: str | None) -> int:
    """Print since when what is another, over several files; exit code 1 with --fail where anything is worse now."""
    from commmodel import formats
    from commmodel.scaling import history

    if arguments.run is not None:
        raise InputError("--run measures two sides: name BEFORE and AFTER alone")
    _refuse_options_of_turns(arguments, page)
    paths = [arguments.before, *arguments.after]
    if len({*paths}) < len(paths):
        raise InputError("a file is named twice: name each once")
    files = {path: formats.load_all([path], arguments.format, arguments.placement) for path in paths}
    refuse_other_levels(arguments, *files.values())
    result = history(files, statistic=arguments.statistic, confidence=arguments.confidence, least=least)
    hosts = dict.fromkeys(
        host.name for file in files.values() for launch in file.launches for host in launch.header.hosts
    )
    name = ", ".join([*hosts][:2]) or f"{len(paths)} files"
    output, code = write_requested_page(page, "write_history", name, result)
    if arguments.json:
        print_json(_history_as_json(result) | {"output": output})
    else:
        from commmodel.report.scaling.history import history_blocks

        show(*history_blocks(result))
        if output is not None:
            print(f"written to {output}")
    return 1 if arguments.fail and any(point.is_worse for point in result.changes) else code


def _history_as_json(result: Any) -> dict[str, Any]:
    from dataclasses import asdict

    import msgspec

    from commmodel.results import configuration_words

    def described(row: Any) -> dict[str, Any]:
        return {
            "name": configuration_words(row.configuration),
            "configuration": msgspec.to_builtins(row.configuration),
            "unit": row.unit,
        }

    names = ("run", "before", "after", "ratio", "low", "high")
    return {
        "runs": [asdict(run) for run in result.runs],
        "changes": [
            described(point) | {name: getattr(point, name) for name in names} | {"verdict": point.change}
            for point in result.changes
        ],
        "series": [described(row) | {"points": [asdict(point) for point in row.points]} for row in result.series],
        "environment": [
            {"run": run, "what": fact, "before": old, "after": new}
            for run, rows in result.environment.items()
            for fact, old, new in rows
        ],
        "remarks": result.remarks,
    }


def _measured(arguments: argparse.Namespace, after: str, output: str | None) -> Any:
    """Measure both sides in turns."""
    import secrets

    from commmodel.progress import ProgressLine
    from commmodel.sweep.interleaving import MOST_PAIRS, Turn, measure_in_turns, turns

    pairs = arguments.launches or 10
    if pairs > MOST_PAIRS:
        raise InputError(f"--launches: {pairs} are more than {MOST_PAIRS}")
    seed = secrets.randbelow(2**32) if arguments.seed is None else arguments.seed
    folder = output or "turns"
    sides = (arguments.before, after)

    lefts: list[int] = []

    def tell(turn: Turn, left: int) -> None:
        lefts.append(left)
        line.count(lefts[0] - left, lefts[0], f"launches: pair {turn.pair} of {pairs}, {sides[turn.side]}")

    try:
        with ProgressLine("measuring in turns") as line:
            return measure_in_turns(turns(arguments.run, sides, seed), pairs, folder, tell)
    except KeyboardInterrupt as interruption:  # or SIGTERM: the ranks of a launch have ended with us
        raise type(interruption)(f"the same command goes on in {shlex.quote(str(folder))}") from None


def as_json(result: Any, rows: Any) -> dict[str, Any]:
    """Return a comparison as it is printed with --json."""
    import msgspec

    from commmodel.results import configuration_words

    return {
        "differences": [
            {
                "name": configuration_words(row.configuration),
                "configuration": msgspec.to_builtins(row.configuration),
                "unit": row.unit,
                "before": row.before,
                "after": row.after,
                "launches": row.launches,
                "ratio": row.ratio,
                "low": row.low,
                "high": row.high,
                "p_value": row.p_value,
                "verdict": row.change,
                "detectable": row.detectable,
            }
            for row in rows
        ],
        "together": None
        if result.together is None
        else {
            "configurations": result.together.configurations,
            "ratio": result.together.ratio,
            "low": result.together.low,
            "high": result.together.high,
            "p_value": result.together.p_value,
            "verdict": result.together.change,
        },
        "pairs": result.pairs,
        "only_before": [msgspec.to_builtins(configuration) for configuration in result.only_before],
        "only_after": [msgspec.to_builtins(configuration) for configuration in result.only_after],
        "environment": [{"what": name, "before": old, "after": new} for name, old, new in result.environment],
        "remarks": result.remarks,
    }
