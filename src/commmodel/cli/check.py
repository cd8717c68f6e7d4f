"""The verb ``check``: measurements against expectations."""

import argparse
import os
from typing import Any, get_args

from commmodel.choices import Statistic
from commmodel.cli.guards import GUARDS, add_options
from commmodel.cli.parsers import (
    add_format,
    add_output,
    add_thread_level,
    confidence,
    new_verb,
    note,
    print_json,
    refuse_other_levels,
    share,
    show,
    size,
    typed,
    warn_of_launches,
    whole,
    write_requested_page,
)
from commmodel.errors import InputError


def add(verbs: Any) -> None:
    """Add the verb."""
    check = new_verb(
        verbs, "check", _run, "check measurements against expectations; exit code 1 if one does not hold",
        "commmodel check mpi results.jsonl",
    )  # fmt: skip
    check.add_argument(
        "files", nargs="+", metavar="FILE",
        help="expectations (a .toml file, or a name from: commmodel list expectations; may be left out with "
        "--baseline), or physics or nodes, then results.jsonl of one or several launches, or other suites' output",
    )  # fmt: skip
    add_format(check)
    add_thread_level(check)
    check.add_argument(
        "--baseline",
        metavar="FILE",
        action="append",
        help="earlier results: nothing should be slower or grow faster than there (default: none)",
    )
    check.add_argument("--metric", help="metric to check: time, memory, ... (default: all)")
    check.add_argument(
        "--deviation", metavar="GROWTH", type=typed(_deviation),
        help="factor by which growth may differ, like p^0.5 (default: each expectation's)",
    )  # fmt: skip
    check.add_argument(
        "--statistic", choices=get_args(Statistic), default="lower half",
        help="statistic of the repetitions (default: %(default)s)",
    )  # fmt: skip
    check.add_argument(
        "--least", metavar="SHARE", type=share, default="5%",
        help="smallest violation or slowdown that counts (default: %(default)s)",
    )  # fmt: skip
    limits = check.add_argument_group("limits")
    limits.add_argument(
        "--at", metavar="SCALE", type=size, help="scale to predict for, up to which rules must hold (default: none)"
    )
    limits.add_argument(
        "--memory", metavar="SIZE", type=size,
        help="memory of a node, like 24GB: up to which scale does it last? (default: none)",
    )  # fmt: skip
    limits.add_argument(
        "-k", "--per-node", metavar="K", type=whole(1), help="processes that share that memory (default: 1)"
    )
    add_options(check)
    check.add_argument(
        "--uncertain", choices=("pass", "fail"), default="pass",
        help="whether an undecided verdict counts as a mismatch (default: %(default)s)",
    )  # fmt: skip
    add_output(check, "HTML page with models and divergence")
    check.add_argument(
        "--confidence", metavar="SHARE", type=confidence, default="95%",
        help="confidence of intervals and of slowdowns (default: %(default)s)",
    )  # fmt: skip
    check.add_argument(
        "--resamples", metavar="N", type=whole(20), default=200,
        help="bootstrap samples behind the verdicts, of each kind (default: %(default)s)",
    )  # fmt: skip
    check.add_argument("--seed", metavar="N", type=whole(0), default=1, help="bootstrap seed (default: %(default)s)")


def _deviation(word: str) -> Any:
    from commmodel.scaling.growth import parse_product

    product = parse_product(word)
    if not product:
        raise InputError("1 names no parameter: write it as p^0")
    return product


def _is_expectations(name: str) -> bool:
    from commmodel.scaling import published

    return name.endswith(".toml") or name in GUARDS or (name in published() and not os.path.exists(name))


def _split(arguments: argparse.Namespace) -> tuple[str | None, list[str]]:
    """Return the file of expectations, or None, and the files of measurements."""
    from commmodel.scaling import published

    expected = [name for name in arguments.files if _is_expectations(name)]
    results = [name for name in arguments.files if not _is_expectations(name)]
    if len(expected) > 1:
        raise InputError(f"{expected[0]} and {expected[1]} are both expectations: name one")
    if not expected and not arguments.baseline:
        names = ", ".join((*published(), "a .toml file"))
        raise InputError(f"no expectations: name one of {names} first, or earlier results with --baseline")
    if not results:
        raise InputError("no results: name results.jsonl after the expectations")
    return (expected[0] if expected else None), results


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that `commmodel.scaling.check` takes."""
    from commmodel.scaling import CheckSettings, MemoryLimit

    if arguments.per_node is not None and arguments.memory is None:
        raise InputError("-k (--per-node) goes with --memory: how much memory do they share?")
    options: dict[str, Any] = {
        "metric": arguments.metric,
        "settings": CheckSettings(
            arguments.statistic, arguments.resamples, arguments.seed, arguments.confidence, arguments.least
        ),
        "at": arguments.at,
        "memory": None if arguments.memory is None else MemoryLimit(arguments.memory, arguments.per_node or 1),
    }
    if arguments.deviation is not None:
        options["deviation"] = arguments.deviation
    return options


def _run(arguments: argparse.Namespace) -> int:
    """Check measurements and print the verdicts; exit code 1 if one does not hold."""
    from commmodel import formats
    from commmodel.results.conditions import MESSAGE_BUFFERS
    from commmodel.scaling import check, load

    expected, results = _split(arguments)
    if expected in GUARDS:
        return GUARDS[expected](arguments, results)
    if arguments.link_bandwidth is not None:
        raise InputError("--link-bandwidth goes with physics: commmodel check physics FILE ...")
    options = _options(arguments)
    expectations = None if expected is None else load(expected)
    measurements = formats.load_all(results, arguments.format, arguments.placement)
    note(measurements)
    if arguments.baseline:
        options["baseline"] = formats.load_all(arguments.baseline, arguments.format, arguments.placement)
        note(options["baseline"])
    else:  # with a baseline, the remarks of the comparison name them
        warn_of_launches(measurements)
    refuse_other_levels(arguments, measurements, *(options["baseline"] for _ in arguments.baseline or ()))
    if arguments.baseline:
        launches = (*measurements.launches, *options["baseline"].launches)
        MESSAGE_BUFFERS.refuse_different(launches, "measure both with the same --buffers")
    checked = check(measurements, expectations, **options)
    name = expected or f"as in {', '.join(arguments.baseline)}"
    output, code = write_requested_page(arguments.output, "write_check", name, checked, arguments.statistic)
    if arguments.json:
        print_json(as_json(checked) | {"output": output})
    else:
        from commmodel.report.scaling.checks import check_lines, check_tables

        show(*check_tables(checked), *check_lines(checked))
        if output is not None:
            print(f"written to {output}")
    if not checked.holds or (arguments.uncertain == "fail" and checked.count("uncertain")):
        return 1
    return code


def as_json(checked: Any) -> dict[str, Any]:
    """Return a check as it is printed with --json."""
    return {
        "results": [_row_as_json(row) for row in checked.rows],
        "violations": [_violation_as_json(rule) for rule in checked.violations],
        "possible": [_violation_as_json(rule) for rule in checked.possible],
        "slower": [_slower_as_json(row) for row in checked.slower],
        "notes": checked.notes,
        "compared": checked.compared,
        "holds": checked.holds,
    }


def _slower_as_json(slower: Any) -> dict[str, Any]:
    return {
        "name": slower.name,
        "metric": slower.metric,
        "over": slower.over,
        "parameters": dict(slower.fixed),
        **{name: getattr(slower, name) for name in ("scale", "ratio", "low", "high")},
    }


def _row_as_json(row: Any) -> dict[str, Any]:
    import msgspec

    series, judged = row.series, row.judgement
    best, over = judged.ensemble.best, series.over
    return {
        "name": series.name,
        "expected": judged.expectation.text(over),
        "model": best.growth.text(over),
        "adjusted_r2": best.adjusted_r2,
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
        "room": None if row.room is None else {name: getattr(row.room, name) for name in ("scale", "low", "high")},
    }


def _violation_as_json(broken: Any) -> dict[str, Any]:
    return {
        "rule": str(broken.rule),
        "kind": broken.kind,
        "metric": broken.metric,
        "over": broken.over,
        "parameters": dict(broken.fixed),
        "scale": broken.scale,
        "ratio": broken.ratio,
        "launches": broken.launches,
        "name": broken.name,
    }
