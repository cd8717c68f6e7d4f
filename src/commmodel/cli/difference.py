"""The verb ``compare``: what became slower between two files of measurements."""

import argparse
import math
from typing import Any

from commmodel.cli.words import add_format, new_verb, print_json, show
from commmodel.errors import InputError

__all__ = ["add"]

_CHANGES = ("slower", "faster", "larger", "smaller", "same", "unclear")


def add(verbs: Any) -> None:
    """Add the verb."""
    compare = new_verb(
        verbs, "compare", _run, "what became slower between two files of measurements, with intervals",
        "commmodel compare before.jsonl after.jsonl --least 2% --fail",
    )  # fmt: skip
    compare.add_argument("before", metavar="BEFORE", help="results.jsonl, of several launches if possible")
    compare.add_argument("after", metavar="AFTER", help="results.jsonl, likewise")
    add_format(compare)
    compare.add_argument("--least", metavar="SHARE", default="5%", help="change from which on it is called one (5%%)")
    compare.add_argument("--confidence", metavar="SHARE", default="95%", help="of all verdicts together (95%%)")
    compare.add_argument(
        "--statistic", default="median",
        help="of a launch's repetitions: median, first quartile, third quartile, minimum or mean (median)",
    )  # fmt: skip
    compare.add_argument("--only", metavar="VERDICT,...", help=f"show only these: {', '.join(_CHANGES)} (all)")
    compare.add_argument("--fail", action="store_true", help="exit 1 where anything became slower or keeps more memory")


def _share(option: str, text: str) -> float:
    from commmodel.units import parse_fraction

    try:
        return parse_fraction(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


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

    only, least = _only(asked.only), _share("--least", asked.least)
    confidence = _share("--confidence", asked.confidence)
    before, after = (formats.read(path, asked.format) for path in (asked.before, asked.after))
    found = differences(before, after, statistic=asked.statistic, confidence=confidence, least=least)
    rows = [row for row in found.rows if row.change in only]
    if asked.json:
        print_json(_as_json(found, rows))
    else:
        from commmodel.report.difference import difference_tables

        show(*difference_tables(found, rows, least))
    return 1 if asked.fail and any(row.is_worse for row in found.rows) else 0


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _as_json(found: Any, rows: Any) -> dict[str, Any]:
    import msgspec

    from commmodel.report.difference import configuration_words

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
        "only_before": [msgspec.to_builtins(one) for one in found.only_before],
        "only_after": [msgspec.to_builtins(one) for one in found.only_after],
        "surroundings": [{"what": name, "before": old, "after": new} for name, old, new in found.surroundings],
        "remarks": found.remarks,
    }
