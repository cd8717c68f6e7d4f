"""The verb ``guard``: what programs send in simulated runs, against a baseline and expectations."""

import argparse
import os
from datetime import UTC, datetime
from typing import Any

from commmodel.cli.parsers import check_folder, known_machine, new_verb, print_json, show, whole, write_requested_page
from commmodel.errors import InputError

_FILE = "guard.toml"
_COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA")
"""Variables of GitHub and GitLab."""
_LETTERS = 10
"""Of a commit."""


def add(verbs: Any) -> None:
    """Add the verb."""
    guard = new_verb(
        verbs, "guard", _run,
        "simulate programs and compare what they send with a baseline; exit code 1 if anything has grown",
        "commmodel guard --baseline ../base --markdown comment.md",
    )  # fmt: skip
    guard.add_argument(
        "file", nargs="?", metavar="GUARD", default=_FILE,
        help="guard file: programs, numbers of ranks, expected growth (default: %(default)s)",
    )  # fmt: skip
    guard.add_argument(
        "--baseline", metavar="FILE",
        help="file of counts, or folder of another version of the programs, where they are simulated, too (default: "
        "the guard file's)",
    )  # fmt: skip
    guard.add_argument(
        "--machine", metavar="FILE",
        help="machine file: say where another way to send gains there, and how to send examples (default: the guard "
        "file's)",
    )  # fmt: skip
    guard.add_argument(
        "--accept", action="store_true",
        help="write the counts into the baseline's file: what has changed since is accepted, growth must hold",
    )  # fmt: skip
    guard.add_argument(
        "--times", action="store_true",
        help="measure the baseline's folder and this one in turns, too, by the guard file's command",
    )  # fmt: skip
    guard.add_argument(
        "--uncertain", choices=("pass", "fail"), default="pass",
        help="whether growth that cannot be decided counts as a mismatch (default: %(default)s)",
    )  # fmt: skip
    guard.add_argument("--workers", metavar="N", type=whole(1, 4096), help="simulations side by side (default: cores)")
    files = guard.add_argument_group("files to write")
    files.add_argument("--markdown", metavar="FILE", help="comment of a pull request; must not exist (default: none)")
    files.add_argument("--junit", metavar="FILE", help="JUnit's XML; must not exist (default: none)")
    files.add_argument(
        "--badge", metavar="FILE",
        help="badge: .svg, or .json of a shields.io endpoint; must not exist (default: none)",
    )  # fmt: skip
    files.add_argument(
        "--history", metavar="FILE", help="HTML page of all runs, to which this one is added (default: none)"
    )
    files.add_argument(
        "--label", metavar="NAME", help="name of this run in the history (default: the commit in the environment)"
    )
    files.add_argument("--force", action="store_true", help="replace files that exist")
    guard.set_defaults(output=None, default_output=None)


def _run(arguments: argparse.Namespace) -> int:
    """Simulate, compare, write files, and print tables or JSON."""
    from commmodel import guard

    rules = guard.load(arguments.file)
    path: Any = arguments.baseline or rules.baseline or None
    for output in (arguments.markdown, arguments.junit, arguments.badge, arguments.history):
        check_folder(output)
    if arguments.label is not None and arguments.history is None:
        raise InputError("--label goes with --history: whose run is named?")
    if arguments.accept and (path is None or os.path.isdir(path)):
        raise InputError("--accept writes a file of counts: name it as baseline of the guard file, or with --baseline")
    machine = known_machine(place) if (place := arguments.machine or rules.machine) else None
    if machine is not None and not machine.sending:
        raise InputError(
            f"{place} has no [[sending]], by which the guard says how to send: measure the kernels datatype and object "
            "there, and fit again"
        )
    baseline: Any = path if path is None or os.path.isdir(path) else _counts(arguments, path)
    workers = arguments.workers or len(os.sched_getaffinity(0))
    result = guard.run(rules, baseline, timed=arguments.times, workers=workers)
    if arguments.accept:
        if result.failures:
            raise InputError(
                f"--accept: {result.failures[0].program} does not come to an end: {result.failures[0].error}"
            )
        guard.dump_counts(result.counts, path)
    sending = () if machine is None else _sending(result, machine)
    code = _write(arguments, result, sending)
    if arguments.json:
        print_json(_as_json(result, path) | _sending_as_json(result, machine))
    else:
        from commmodel.report.scaling.guard.terminal import guard_blocks

        blocks = guard_blocks(result, rules.times.tolerance if rules.times else 0.0)
        show(*(section.table for section in sending), *blocks)
        if arguments.accept:
            print(f"accepted: written to {path}")
    is_accepted = arguments.accept and not result.mismatches
    is_undecided = result.growth is not None and bool(result.growth.count("uncertain"))
    if (arguments.uncertain == "fail" and is_undecided) or not (result.holds or is_accepted):
        return 1
    return code


def _counts(arguments: argparse.Namespace, path: str) -> Any:
    """Return the counts of a file; None where they are to be written for the first time."""
    from commmodel import guard

    if os.path.exists(path):
        return guard.load_counts(path)
    if arguments.accept:
        check_folder(path)
        return None
    raise InputError(f"{path}: there is no such baseline: write it with --accept, or name another with --baseline")


def _sending(result: Any, machine: Any) -> tuple[Any, ...]:
    """Return sections about how to send on a machine: what the programs send, and examples."""
    from commmodel.report.scaling.guard.sending import sending_sections

    return sending_sections(result.counts, machine)


def _sending_as_json(result: Any, machine: Any) -> dict[str, Any]:
    if machine is None:
        return {"sending": None, "sending_sites": []}
    from commmodel.report.scaling.guard.sending import site_findings
    from commmodel.report.sending import examples

    names = ("best", "usual", "gain", "certainty", "code")
    findings = site_findings(result.counts, machine)
    return {
        "sending": {
            data: {name: getattr(advice, name) for name in names} for data, advice in examples(machine).items()
        },
        "sending_sites": [] if findings is None else findings.as_json(),
    }


def _write(arguments: argparse.Namespace, result: Any, sending: tuple[Any, ...]) -> int:
    """Write the files that were asked for; return the exit code."""
    from commmodel.files import write_text

    if arguments.markdown is not None:
        from commmodel.report.scaling.guard.markdown import comment

        write_text(arguments.markdown, comment(result, sending))
    if arguments.junit is not None:
        from commmodel.report.scaling.guard.junit import junit

        write_text(arguments.junit, junit(result))
    if arguments.badge is not None:
        from commmodel.report.scaling.guard.badge import badge

        write_text(arguments.badge, badge(arguments.badge, result))
    created = datetime.now(UTC).isoformat(timespec="seconds")
    _, code = write_requested_page(
        arguments.history, "write_guard_history", result, arguments.label or _commit(created), created
    )
    return code


def _commit(created: str) -> str:
    """Return the commit that the environment names, or else when it was counted."""
    commits = [os.environ[name] for name in _COMMITS if os.environ.get(name)]
    return commits[0][:_LETTERS] if commits else created


def _as_json(result: Any, baseline: str | None) -> dict[str, Any]:
    from dataclasses import asdict

    from commmodel.cli.check import as_json as growth_as_json
    from commmodel.cli.compare import as_json as times_as_json
    from commmodel.report.scaling.guard.words import notes, verdict_words

    comparison = result.comparison
    return {
        "holds": result.holds,
        "verdict": verdict_words(result),
        "baseline": baseline,
        "runs": [_run_as_json(run) for run in result.counts.runs],
        "changes": [] if comparison is None else [asdict(row) for row in comparison.changes if row.change != "same"],
        "compared": 0 if comparison is None else len(comparison.changes),
        "sites": [] if comparison is None else [_site_as_json(row) for row in comparison.sites],
        "growth": [] if result.growth is None else growth_as_json(result.growth)["results"],
        "times": None if result.times is None else times_as_json(result.times, result.times.rows),
        "notes": [*notes(result)],
    }


def _run_as_json(run: Any) -> dict[str, Any]:
    import msgspec

    row: dict[str, Any] = msgspec.to_builtins(run)
    del row["contents"]  # those of all runs are in `sending_sites`, where there is a machine
    return row


def _site_as_json(change: Any) -> dict[str, Any]:
    import msgspec

    before, after = (None if side is None else msgspec.to_builtins(side) for side in (change.before, change.after))
    return {"program": change.program, "processes": change.processes, "before": before, "after": after}
