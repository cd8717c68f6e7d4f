"""The verb ``compare``: what became slower between two files of measurements, or two sides measured in turns."""

import argparse
import shlex
import sys
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
)
from commmodel.errors import InputError

_CHANGES = ("slower", "faster", "larger", "smaller", "same", "unclear")


def add(verbs: Any) -> None:
    """Add the verb."""
    compare = new_verb(
        verbs, "compare", _run, "compare two files of measurements: what became slower, with intervals",
        "commmodel compare before.jsonl after.jsonl --least 2% --fail",
    )  # fmt: skip
    compare.add_argument(
        "before",
        metavar="BEFORE",
        help="results.jsonl of several launches, other suites' output or a folder of such files; with --run, value of "
        "{side} for the first side",
    )
    compare.add_argument("after", metavar="AFTER", help="the same for the other side")
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
    turns = compare.add_argument_group("measure both sides in turns, so that drift of the machine cancels")
    turns.add_argument(
        "--run", metavar="COMMAND",
        help="command that measures one launch of {side} into {output}, like "
        "'mpiexec -n 2 {side}/bin/python -m commmodel.bench --quick -o {output}'",
    )  # fmt: skip
    turns.add_argument("--launches", metavar="N", type=whole(1), help="launches of each side (default: 10)")
    turns.add_argument(
        "-o", "--output", metavar="FOLDER",
        help="folder for the files of all launches; an unfinished one is continued (default: turns)",
    )  # fmt: skip
    turns.add_argument(
        "--seed", metavar="N", type=whole(0), help="seed of the order in each pair (default: random; recorded)"
    )


def _run(arguments: argparse.Namespace) -> int:
    """Compare two sides and print the differences; exit code 1 with --fail where something became worse."""
    from commmodel import formats
    from commmodel.scaling import collect
    from commmodel.scaling.difference import differences

    least = arguments.least if arguments.least is not None else 0.05 if arguments.run is None else 0.02
    if arguments.run is None:
        for name in ("launches", "output", "seed"):
            if getattr(arguments, name) is not None:
                raise InputError(f"--{name} goes with --run: which command measures one launch?")
        before, after = (
            collect(formats.load_all([path], arguments.format, arguments.placement))
            for path in (arguments.before, arguments.after)
        )
    else:
        before, after = _measured(arguments)
    refuse_other_levels(arguments, before, after)
    result = differences(
        before, after, statistic=arguments.statistic, confidence=arguments.confidence, least=least,
        in_pairs=None if arguments.run is None else True,
    )  # fmt: skip
    rows = [row for row in result.rows if row.change in arguments.only]
    if arguments.json:
        print_json(_as_json(result, rows))
    else:
        from commmodel.report.scaling.differences import difference_blocks

        show(*difference_blocks(result, rows, least))
    return 1 if arguments.fail and result.is_worse else 0


def _measured(arguments: argparse.Namespace) -> Any:
    """Measure both sides in turns."""
    import secrets

    from commmodel.sweep.interleaving import MOST_PAIRS, Turn, measure_in_turns, turns

    pairs = arguments.launches or 10
    if pairs > MOST_PAIRS:
        raise InputError(f"--launches: {pairs} are more than {MOST_PAIRS}")
    seed = secrets.randbelow(2**32) if arguments.seed is None else arguments.seed
    folder = arguments.output or "turns"

    def tell(turn: Turn, left: int) -> None:
        if sys.stderr.isatty():
            side = (arguments.before, arguments.after)[turn.side]
            print(f"pair {turn.pair} of {pairs}: {side}; {left} launches left", file=sys.stderr)

    try:
        return measure_in_turns(turns(arguments.run, (arguments.before, arguments.after), seed), pairs, folder, tell)
    except KeyboardInterrupt as interruption:  # or SIGTERM: the ranks of a launch have ended with us
        raise type(interruption)(f"the same command goes on in {shlex.quote(str(folder))}") from None


def _as_json(result: Any, rows: Any) -> dict[str, Any]:
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
