"""A guard's result in Markdown, as the comment of a pull request. Main entry: `comment`.

The comment is a list of parts, each the lines of a function; one without lines is left out.
Names come from the program that is guarded: they are shown as they are, and mean nothing to Markdown or HTML.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from commmodel.guard.verdict import GuardResult
from commmodel.report.kit.tables import Table
from commmodel.report.scaling.checks import check_tables
from commmodel.report.scaling.differences import difference_table
from commmodel.report.scaling.guard.words import (
    change_table,
    count_words,
    largest_changes,
    notes,
    run_table,
    site_table,
    verdict_words,
)
from commmodel.report.sections import SendingSection

MARKER = "<!-- commmodel guard -->"
"""First line, by which the comment of an earlier run is found and replaced."""
LONGEST = 60_000
"""Characters: GitHub takes 65,536."""
_MOST_ROWS = 12
_SPECIAL = {ord(letter): f"&#{ord(letter)};" for letter in "&<>|`*_[]@#~\\\\"}


def escaped(words: str) -> str:
    """Return words that Markdown and HTML show as they are.

    >>> escaped("<b> @ada a_b|c")
    '&#60;b&#62; &#64;ada a&#95;b&#124;c'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in words).split()).translate(_SPECIAL)


def markdown_table(table: Table, most: int | None = None) -> list[str]:
    """Return a table, its first rows where there are more than `most`."""
    rows = table.rows[:most]
    lines = [f"**{escaped(table.title)}**", ""] if table.title else []
    lines.append(f"| {' | '.join(escaped(column.heading) for column in table.columns)} |")
    lines.append(f"| {' | '.join('---:' if column.align == 'right' else '---' for column in table.columns)} |")
    lines += [f"| {' | '.join(escaped(str(cell)) for cell in row)} |" for row in rows]
    left_out = len(table.rows) - len(rows)
    remarks = [*table.notes, *([f"{left_out} more rows."] if left_out else [])]
    return [*lines, *(f"\n{escaped(remark)}" for remark in remarks)]


def _verdict(result: GuardResult) -> list[str]:
    sign = "✅" if result.holds else "❌"
    return [f"### {sign} MPI communication: {escaped(verdict_words(result))}", "", f"{escaped(count_words(result))}."]


def _changes(result: GuardResult) -> list[str]:
    """Return what changed, on the most ranks only."""
    changes = largest_changes(result)
    return markdown_table(change_table(changes, ""), _MOST_ROWS) if changes else []


def _sites(result: GuardResult) -> list[str]:
    sites = () if result.comparison is None else result.comparison.sites
    return markdown_table(site_table(sites)) if sites else []


def _growth(result: GuardResult) -> list[str]:
    if not result.mismatches or result.growth is None:
        return []
    return _apart(markdown_table(table) for table in check_tables(result.growth))


def _times(result: GuardResult) -> list[str]:
    if result.times is None:
        return []
    table = difference_table([row for row in result.times.rows if row.is_worse], result.times.pairs)
    heading = f"**Times, measured in turns: {len(table.rows)} of {len(result.times.rows)} slower**"
    return [heading, "", *(markdown_table(table, _MOST_ROWS) if table.rows else [])]


def _notes(result: GuardResult) -> list[str]:
    return [f"- {escaped(words)}" for words in notes(result)]


def _details(result: GuardResult) -> list[str]:
    """Return all numbers, folded."""
    changes = (*result.larger, *result.smaller)
    shown = [change_table(changes)] if len(changes) > len(largest_changes(result)) else []
    shown.append(run_table(result.counts))
    if result.growth is not None and not result.mismatches:
        shown += check_tables(result.growth)
    lines = _apart(markdown_table(table) for table in shown)
    return ["<details><summary>All numbers</summary>", "", *lines, "", "</details>"]


def _sending(section: SendingSection) -> list[str]:
    """Return a table of how to send, and folded the lines to write."""
    title = section.table.title
    lines = markdown_table(replace(section.table, title=f"{title[:1].upper()}{title[1:]}"), _MOST_ROWS)
    for name, code in section.codes:
        lines += ["", f"<details><summary>The lines for {escaped(name)}</summary>", "", "```python"]
        lines += [*code.splitlines(), "```", "", "</details>"]
    return lines


def _apart(parts: "Iterator[list[str]] | Sequence[list[str]]") -> list[str]:
    """Return the lines of some parts with an empty line between."""
    lines: list[str] = []
    for part in parts:
        lines += [*([""] if lines else []), *part]
    return lines


def comment(result: GuardResult, sending: Iterable[SendingSection] = ()) -> str:
    """Return the comment, with sections about how to send on a machine where they are given.

    >>> from commmodel.guard import Counts, RunCounts
    >>> print(comment(GuardResult(Counts(runs=(RunCounts("solver", 4, messages=12),)))).partition("<details>")[0])
    <!-- commmodel guard -->
    ### ✅ MPI communication: nothing to compare with
    <BLANKLINE>
    one simulated run; no baseline: write one with commmodel guard --accept.
    <BLANKLINE>
    <BLANKLINE>
    """
    parts = [part for lines in (_verdict, _changes, _sites, _growth, _times, _notes) if (part := lines(result))]
    parts += [*map(_sending, sending), _details(result)]
    while len(parts) > 1 and sum(len(line) + 1 for part in parts for line in part) > LONGEST:
        parts.pop()  # the last one is the longest
    return "\n".join([MARKER, *_apart(parts)])[:LONGEST] + "\n"
