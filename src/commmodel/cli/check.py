"""The verb ``check``: measurements against expectations."""

import argparse
import math
import os
from typing import Any

from commmodel.cli.parsers import (
    add_format,
    add_thread_level,
    new_verb,
    note,
    parsed,
    print_json,
    refuse_other_levels,
    show,
    whole_number,
    wrote_page,
)
from commmodel.errors import InputError, MissingPackageError

__all__ = ["add"]


def add(verbs: Any) -> None:
    """Add the verb."""
    check = new_verb(
        verbs, "check", _run, "measurements against expectations; exit code 1 where one does not hold",
        "commmodel check mpi results.jsonl",
    )  # fmt: skip
    check.add_argument(
        "files", nargs="+", metavar="FILE",
        help="EXPECTATIONS, a .toml file or mpi, which comes with commmodel; then results.jsonl of one or several "
        "launches, or other suites' output (with --baseline, the former may be left out)",
    )  # fmt: skip
    add_format(check)
    add_thread_level(check)
    check.add_argument(
        "--baseline", metavar="FILE", action="append", help="earlier results: nothing should grow faster or be slower"
    )
    check.add_argument("--metric", help="only this one: time, memory, ... (all)")
    check.add_argument("--deviation", metavar="D", help="by which growth may differ, like p^0.5 (each expectation's)")
    check.add_argument("--statistic", default="first quartile", help="of the repetitions (first quartile)")
    check.add_argument("--least", default="5%", help="smallest violation or slowdown that counts (5%%)")
    limits = check.add_argument_group("limits")
    limits.add_argument("--at", metavar="SCALE", help="predict for this scale; rules must hold up to it")
    limits.add_argument("--limit", metavar="SIZE", help="memory of a node, like 24GB: up to which scale does it last?")
    limits.add_argument("--each", help="processes that share it (1)")
    check.add_argument(
        "--uncertain", choices=("pass", "fail"), default="pass",
        help="whether what the data cannot tell counts as a mismatch (pass)",
    )  # fmt: skip
    check.add_argument("-o", "--output", help="HTML file with models and divergence to write (none)")
    check.add_argument("--confidence", default="95%", help="of intervals and of what is said to be larger (95%%)")
    check.add_argument("--draws", default="200", help="bootstrap samples behind the verdicts, of each kind (200)")
    check.add_argument("--seed", default="0", help="of the bootstrap (0)")


def _is_expectations(name: str) -> bool:
    from commmodel.scaling import shipped

    return name.endswith(".toml") or (name in shipped() and not os.path.exists(name))


def _split(asked: argparse.Namespace) -> tuple[str | None, list[str]]:
    """Return the file of expectations, or none, and those of measurements."""
    from commmodel.scaling import shipped

    expected = [name for name in asked.files if _is_expectations(name)]
    results = [name for name in asked.files if not _is_expectations(name)]
    if len(expected) > 1:
        raise InputError(f"{expected[0]} and {expected[1]} are both expectations: name one")
    if not expected and not asked.baseline:
        known = ", ".join(shipped())
        raise InputError(f"no expectations: name a .toml file or {known} first, or earlier results with --baseline")
    if not results:
        raise InputError("no results: name results.jsonl after the expectations")
    return (expected[0] if expected else None), results


def _options(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the options that `commmodel.scaling.check` takes."""
    from commmodel.scaling import parse_product
    from commmodel.units import parse_confidence, parse_fraction, parse_size

    if asked.each is not None and asked.limit is None:
        raise InputError("--each goes with --limit: how much memory do they share?")
    options: dict[str, Any] = {
        "statistic": asked.statistic,
        "metric": asked.metric,
        "confidence": parsed("--confidence", asked.confidence, parse_confidence),
        "least": parsed("--least", asked.least, parse_fraction),
        "draws": whole_number("--draws", asked.draws, 20),
        "seed": whole_number("--seed", asked.seed, 0),
        "at": parsed("--at", asked.at, parse_size),
        "limit": parsed("--limit", asked.limit, parse_size),
        "each": 1 if asked.each is None else whole_number("--each", asked.each, 1),
    }
    if asked.deviation is not None:
        product = parsed("--deviation", asked.deviation, parse_product)
        if not product:
            raise InputError("--deviation: 1 names no parameter: write it as p^0")
        options["deviation"] = product
    return options


def _run(asked: argparse.Namespace) -> int:
    """Check, print, and say by the exit code whether all holds."""
    from commmodel import formats
    from commmodel.scaling import check, read_expectations

    expected, results = _split(asked)
    options = _options(asked)
    expectations = None if expected is None else read_expectations(expected)
    measurements = formats.read_all(results, asked.format)
    note(measurements)
    if asked.baseline:
        options["baseline"] = formats.read_all(asked.baseline, asked.format)
        note(options["baseline"])
    refuse_other_levels(asked, measurements, *(options["baseline"] for _ in asked.baseline or ()))
    checked = check(measurements, expectations, **options)
    output = asked.output
    if output is not None:
        from commmodel import report

        name = expected or f"as in {', '.join(asked.baseline)}"
        if not wrote_page(lambda: report.write_check(output, name, checked, asked.statistic)):
            output = None
    if asked.json:
        print_json(_as_json(checked) | {"output": output})
    else:
        from commmodel.report.scaling.checks import check_lines, check_tables

        show(*check_tables(checked), *check_lines(checked))
        if output is not None:
            print(f"written to {output}")
    if not checked.holds or (asked.uncertain == "fail" and checked.count("uncertain")):
        return 1
    return 0 if output == asked.output else MissingPackageError.exit_code


def _as_json(checked: Any) -> dict[str, Any]:

    return {
        "results": [_row_as_json(row) for row in checked.rows],
        "violations": [_broken_as_json(broken) for broken in checked.violations],
        "possible": [_broken_as_json(broken) for broken in checked.possible],
        "slower": [_slower_as_json(one) for one in checked.slower],
        "notes": checked.notes,
        "compared": checked.compared,
        "holds": checked.holds,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _slower_as_json(slower: Any) -> dict[str, Any]:
    return {
        "name": slower.name,
        "metric": slower.metric,
        "over": slower.over,
        "parameters": dict(slower.fixed),
        **{name: _finite(getattr(slower, name)) for name in ("scale", "ratio", "low", "high")},
    }


def _row_as_json(row: Any) -> dict[str, Any]:
    import msgspec

    series, judged = row.series, row.judgement
    best, over = judged.ensemble.best, series.over
    return {
        "name": series.name,
        "expected": judged.expectation.text(over),
        "model": best.growth.text(over),
        "adjusted_r2": _finite(best.adjusted_r2),
        "divergence": judged.divergence.text(over),
        "verdict": row.verdict,
        "fits": judged.ensemble.fits,
        "advice": judged.advice,
        "metric": series.metric,
        "unit": series.unit,
        "over": over,
        "parameters": dict(series.fixed),
        "scales": series.scales,
        "values": judged.ensemble.values.tolist(),
        "constant": best.constant,
        "coefficient": best.coefficient,
        "deviation": judged.deviation.text(over),
        "classes": {growth.text(over): share for growth, share in judged.ensemble.shares.items()},
        "source": row.source,
        "predicted": None if row.predicted is None else msgspec.to_builtins(row.predicted),
        "room": None
        if row.room is None
        else {name: _finite(getattr(row.room, name)) for name in ("scale", "low", "high")},
    }


def _broken_as_json(broken: Any) -> dict[str, Any]:
    return {
        "rule": str(broken.rule),
        "kind": broken.kind,
        "metric": broken.metric,
        "over": broken.over,
        "parameters": dict(broken.fixed),
        "scale": _finite(broken.scale),
        "ratio": _finite(broken.ratio),
    }
