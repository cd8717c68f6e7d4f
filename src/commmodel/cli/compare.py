"""The verb ``compare``: what became slower between two files of measurements, or two sides measured in turns."""

import argparse
import math
import shlex
import sys
from typing import Any

from commmodel.cli.parsers import (
    add_format,
    add_thread_level,
    new_verb,
    parsed,
    print_json,
    refuse_other_levels,
    show,
    whole_number,
)
from commmodel.errors import InputError

__all__ = ["add"]

_CHANGES = ("slower", "faster", "larger", "smaller", "same", "unclear")


def add(verbs: Any) -> None:
    """Add the verb."""
    compare = new_verb(
        verbs, "compare", _run, "what became slower between two files of measurements, with intervals",
        "commmodel compare before.jsonl after.jsonl --least 2% --fail",
    )  # fmt: skip
    compare.add_argument(
        "before", metavar="BEFORE", help="results.jsonl of several launches; with --run, what {side} is on one side"
    )
    compare.add_argument("after", metavar="AFTER", help="likewise")
    add_format(compare)
    add_thread_level(compare)
    compare.add_argument("--least", metavar="SHARE", help="change from which on it is called one (5%%; with --run 2%%)")
    compare.add_argument("--confidence", metavar="SHARE", default="95%", help="of all verdicts together (95%%)")
    compare.add_argument(
        "--statistic", default="median",
        help="of a launch's repetitions: median, first quartile, third quartile, minimum or mean (median)",
    )  # fmt: skip
    compare.add_argument("--only", metavar="VERDICT,...", help=f"show only these: {', '.join(_CHANGES)} (all)")
    compare.add_argument("--fail", action="store_true", help="exit 1 where anything became slower or keeps more memory")
    turns = compare.add_argument_group("measure both sides in turns, so that drift of the machine cancels")
    turns.add_argument(
        "--run", metavar="COMMAND",
        help="that measures one launch of {side} into {output}, like "
        "'mpiexec -n 2 {side}/bin/python -m commmodel.bench --quick -o {output}'",
    )  # fmt: skip
    turns.add_argument("--pairs", metavar="N", help="launches of each side (10)")
    turns.add_argument("-o", "--output", metavar="FOLDER", help="for the files of all launches (turns); goes on in one")
    turns.add_argument("--seed", metavar="N", help="of which side begins each pair (random; recorded)")


def _only(text: str | None) -> tuple[str, ...]:
    if text is None:
        return _CHANGES
    chosen = tuple(word.strip() for word in text.split(","))
    for one in chosen:
        if one not in _CHANGES:
            raise InputError(f"--only: there is no verdict {one!r}: choose of {', '.join(_CHANGES)}")
    return chosen


def _run(asked: argparse.Namespace) -> int:
    """Compare and print; exit code 1 where that is asked for and something became worse."""
    from commmodel import formats
    from commmodel.scaling.difference import differences
    from commmodel.units import parse_confidence, parse_fraction

    only = _only(asked.only)
    least = parsed("--least", asked.least or ("5%" if asked.run is None else "2%"), parse_fraction)
    confidence = parsed("--confidence", asked.confidence, parse_confidence)
    if asked.run is None:
        for option, value in (("--pairs", asked.pairs), ("--output", asked.output), ("--seed", asked.seed)):
            if value is not None:
                raise InputError(f"{option} goes with --run: which command measures one launch?")
        before, after = (formats.read(path, asked.format) for path in (asked.before, asked.after))
    else:
        measured = _measured(asked)
        if measured is None:
            return 1
        before, after = measured
    refuse_other_levels(asked, before, after)
    found = differences(
        before, after, statistic=asked.statistic, confidence=confidence, least=least,
        in_pairs=None if asked.run is None else True,
    )  # fmt: skip
    rows = [row for row in found.rows if row.change in only]
    if asked.json:
        print_json(_as_json(found, rows))
    else:
        from commmodel.report.scaling.differences import difference_blocks

        show(*difference_blocks(found, rows, least))
    return 1 if asked.fail and found.is_worse else 0


def _measured(asked: argparse.Namespace) -> Any:
    """Measure both sides in turns; None where that was interrupted."""
    import secrets
    import signal

    from commmodel.sweep.interleaving import MOST_PAIRS, Turn, measure_in_turns, turns

    pairs = whole_number("--pairs", asked.pairs or "10", 1)
    if pairs > MOST_PAIRS:
        raise InputError(f"--pairs: {pairs} are more than {MOST_PAIRS}")
    seed = secrets.randbelow(2**32) if asked.seed is None else whole_number("--seed", asked.seed, 0)
    folder = asked.output or "turns"

    def tell(turn: Turn, left: int) -> None:
        if sys.stderr.isatty():
            side = (asked.before, asked.after)[turn.side]
            print(f"pair {turn.pair} of {pairs}: {side}; {left} launches left", file=sys.stderr)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGTERM, interrupt)  # so that the ranks of a launch end with us
    try:
        return measure_in_turns(turns(asked.run, (asked.before, asked.after), seed), pairs, folder, tell)
    except KeyboardInterrupt:
        again = f"the same command goes on in {shlex.quote(str(folder))}"
        print(f"commmodel: interrupted: {again}", file=sys.stderr)
        return None
    finally:
        signal.signal(signal.SIGTERM, earlier)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _as_json(found: Any, rows: Any) -> dict[str, Any]:
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
                "ratio": _number(row.ratio),
                "low": row.low,
                "high": _number(row.high),
                "p_value": row.p_value,
                "verdict": row.change,
            }
            for row in rows
        ],
        "together": None
        if found.together is None
        else {
            "configurations": found.together.configurations,
            "ratio": _number(found.together.ratio),
            "low": found.together.low,
            "high": _number(found.together.high),
            "p_value": found.together.p_value,
            "verdict": found.together.change,
        },
        "pairs": found.pairs,
        "only_before": [msgspec.to_builtins(one) for one in found.only_before],
        "only_after": [msgspec.to_builtins(one) for one in found.only_after],
        "surroundings": [{"what": name, "before": old, "after": new} for name, old, new in found.surroundings],
        "remarks": found.remarks,
    }
