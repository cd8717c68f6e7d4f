"""The verb ``fit``: results.jsonl -> machine.toml."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from commmodel.choices import Loss, SendMode
from commmodel.cli.parsers import (
    add_format,
    add_output,
    confidence,
    new_verb,
    note,
    output_path,
    print_json,
    show,
    sizes,
    warn_of,
    whole,
)
from commmodel.shell import with_next


def add(verbs: Any) -> None:
    """Add the verb."""
    fit = new_verb(
        verbs, "fit", _run, "fit a machine's models to measurements: results.jsonl -> machine.toml",
        "commmodel fit results.jsonl -o machine.toml",
    )  # fmt: skip
    fit.add_argument(
        "results",
        nargs="+",
        metavar="RESULTS",
        help="results.jsonl of one or several launches, or other suites' output",
    )
    add_format(fit)
    add_output(fit, "machine file to write", default="machine.toml")
    fit.add_argument("--name", help="machine name (default: the first host's)")
    fit.add_argument(
        "--protocol-limits", dest="limits", metavar="SIZES", type=sizes,
        help="protocol limits, like 500,8000 (default: as probed, or as found in the times)",
    )  # fmt: skip
    fit.add_argument(
        "--mode", choices=get_args(SendMode), default="blocking",
        help="mode of the messages that LogGP and pLogP are fitted to (default: %(default)s)",
    )  # fmt: skip
    fit.add_argument(
        "--loss", choices=get_args(Loss), default="robust",
        help="loss to minimise: robust to disturbed records, or the squares of Gropp 2016 (default: %(default)s)",
    )  # fmt: skip
    fit.add_argument(
        "--confidence", metavar="SHARE", type=confidence, default="95%",
        help="confidence of the parameters' intervals (default: %(default)s)",
    )  # fmt: skip
    fit.add_argument(
        "--resamples", metavar="N", type=whole(20), default=1000,
        help="bootstrap samples behind the intervals (default: %(default)s)",
    )  # fmt: skip
    fit.add_argument("--seed", metavar="N", type=whole(0), default=1, help="bootstrap seed (default: %(default)s)")


def _run(arguments: argparse.Namespace) -> int:
    """Fit measurements, write the machine, show it."""
    from commmodel import formats, machine
    from commmodel.fit import FitSettings, fit_report

    settings = FitSettings(arguments.confidence, arguments.resamples, arguments.seed, arguments.loss)
    output = output_path(arguments)
    fitted = fit_report(
        formats.load_all(arguments.results, arguments.format, arguments.placement),
        name=arguments.name,
        limits=arguments.limits,
        settings=settings,
        results=[Path(path).name for path in arguments.results],
        mode=arguments.mode,
    )
    machine.dump(_with_command(fitted.machine, arguments.words), output)
    note(fitted.measurements)
    warn_of(fitted.machine)
    if arguments.json:
        print_json(fitted.to_dict())
    else:
        from commmodel.report.overlap.measurements import overlap_verdicts
        from commmodel.report.sections import machine_section

        section = machine_section(fitted.machine, fitted.consistency, fitted.error_sums)
        show(section)
        if not section.tables:
            print(
                "No model of messages: no records of pingpong or pairs here. Fit these files with those that have some."
            )
        for sentence in overlap_verdicts(fitted.measurements, fitted.machine.overlap):
            print(sentence)
        print(with_next(f"written to {output}", f"commmodel report {shlex.join([*arguments.results, str(output)])}"))
    return 0


def _with_command(fitted: Any, words: Sequence[str]) -> Any:
    """Return the machine with the command that fitted it in its origin."""
    import msgspec

    return msgspec.structs.replace(fitted, origin=msgspec.structs.replace(fitted.origin, command=tuple(words)))
