"""A guard's result as JUnit's XML, which runners of continuous integration show. Main entry: `junit`."""

from xml.sax.saxutils import quoteattr

from commmodel.guard.file import METRICS
from commmodel.guard.verdict import GuardResult
from commmodel.report.scaling.guard.words import change_words, site_words, value_words

_CLASS = "commmodel.guard"


def junit(result: GuardResult) -> str:
    """Return a test case for each number of each run, for each growth that is expected, and for times.

    >>> from commmodel.guard import Counts, RunCounts
    >>> print(junit(GuardResult(Counts(runs=(RunCounts("solver", 4, error="deadlock"),)))))
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites><testsuite name="commmodel.guard" tests="1" failures="1">
    <testcase classname="commmodel.guard.solver" name="4 ranks"><failure message="deadlock"/></testcase>
    </testsuite></testsuites>
    <BLANKLINE>
    """
    cases = [*_runs(result), *_growth(result), *_times(result)]
    failures = sum("<failure" in case for case in cases)
    head = f'<testsuite name="{_CLASS}" tests="{len(cases)}" failures="{failures}">'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites>{head}", *cases, "</testsuite></testsuites>"]
    return "\n".join(lines) + "\n"


def _case(program: str, name: str, problem: str = "", details: str = "") -> str:
    head = f"<testcase classname={_quoted(f'{_CLASS}.{program}')} name={_quoted(name)}"
    if not problem:
        return f"{head}/>"
    message = _quoted(f"{problem}{'; ' if details else ''}{details}")
    return f"{head}><failure message={message}/></testcase>"


def _quoted(words: str) -> str:
    """Return an attribute's value; XML has no control characters."""
    return quoteattr("".join(letter if letter.isprintable() else " " for letter in words))


def _runs(result: GuardResult) -> list[str]:
    changes = () if result.comparison is None else result.comparison.changes
    by_key = {(change.program, change.processes, change.metric): change for change in changes}
    cases = []
    for run in result.counts.runs:
        ranks = f"{run.processes} ranks"
        if run.error:
            cases.append(_case(run.program, ranks, run.error))
            continue
        for metric in METRICS:
            change = by_key.get((run.program, run.processes, metric))
            problem = ""
            if change is not None and change.change == "larger":
                values = " → ".join(value_words(metric, value) for value in (change.before, change.after))
                problem = f"{values}, {change_words(change.before, change.after)}"
            cases.append(
                _case(run.program, f"{metric} on {ranks}", problem, _sites(result, run.key) if problem else "")
            )
    return cases


def _sites(result: GuardResult, key: tuple[str, int]) -> str:
    """Return the call sites that changed in a run."""
    sites = () if result.comparison is None else result.comparison.sites
    words = [
        f"{site.site.call} {site_words(site.site)}: {site.calls[0]:,} → {site.calls[1]:,} calls"
        for site in sites
        if (site.program, site.processes) == key
    ]
    return "; ".join(words[:5])


def _growth(result: GuardResult) -> list[str]:
    cases = []
    for row in () if result.growth is None else result.growth.rows:
        judged, name = row.judgement, f"growth of {row.series.metric}"
        words = f"{judged.ensemble.best.growth.text('p')}, expected {judged.expectation.text('p')}"
        cases.append(_case(row.series.name, name, words if row.verdict == "mismatch" else ""))
    return cases


def _times(result: GuardResult) -> list[str]:
    if result.times is None:
        return []
    slower = sum(row.is_worse for row in result.times.rows)
    words = f"{slower} of {len(result.times.rows)} slower" if slower else "all together slower"
    return [_case("times", "measured in turns", words if result.is_slower else "")]
