"""Tables of several jobs at once on one platform. Main entries: `job_tables`, `job_lines`, `jobs_title`."""

from string import ascii_uppercase

from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right
from commmodel.report.simulation.tables import volume
from commmodel.report.simulation.what_if import beside_words
from commmodel.simulate.scenario import JobRuns
from commmodel.units import counted, format_ratio, format_time

_MOST_LINKS = 8
_FELT = 1.001
"""Slowdown from which on others are felt: simulated times have no noise."""


def jobs_title(runs: JobRuns) -> str:
    """Return how many jobs of how many ranks are where, and by which rule.

    A placement that is a file is named.
    """
    ranks = counted(runs.result.ends.size, "rank")
    rule = f"placement {runs.placement}" + (f", seed {runs.seed}" if runs.placement == "random" else "")
    return f"{counted(len(runs.jobs), 'job')} on {ranks} of {runs.result.where}, {runs.result.model}, {rule}"


def job_tables(runs: JobRuns) -> list[Table]:
    """Return the times of jobs beside each other and alone, and the links that they share most."""
    rows = []
    for letter, job in zip(ascii_uppercase, runs.jobs, strict=False):
        slowdown = Cell(f"{job.slowdown:.3g}", style="bad" if job.slowdown > _FELT else "")
        times = (Cell(format_time(job.alone.seconds)), Cell(format_time(job.seconds)))
        counts = (Cell(str(job.hosts.size)), Cell(str(job.nodes)))
        rows.append((Cell(letter), Cell(job.title.partition(", ")[0]), *counts, *times, slowdown))
    columns = (*left("job", "program"), *right("ranks", "nodes", "alone", "beside others", "slowdown"))
    tables = [Table("", columns, tuple(rows))]
    links = runs.shared_links
    if links:
        shown = links[:_MOST_LINKS]
        notes = (
            "Bytes of each job. Others: time that the link needs for all jobs but the one with the most there. Of its "
            "capacity: all jobs together, until the last one ends.",
            *([f"And {len(links) - len(shown)} more links of several jobs."] if len(links) > len(shown) else []),
        )
        carried = (
            (link.name, *(volume(size) if size else "" for size in link.bytes), format_time(link.seconds),
             format_ratio(link.share))
            for link in shown
        )  # fmt: skip
        letters = ascii_uppercase[: len(runs.jobs)]
        columns = (*left("link"), *right(*letters, "others", "of its capacity"))
        tables.append(Table("Links that jobs share most", columns, plain_rows(carried), notes))
    return tables


def job_lines(runs: JobRuns) -> list[str]:
    """Return a sentence: which job others slow down most, or that none does."""
    letter, job = max(zip(ascii_uppercase, runs.jobs, strict=False), key=lambda pair: pair[1].slowdown)
    if not runs.shared_links:
        return ["No two jobs share a link."]
    if job.slowdown <= _FELT:
        return ["No job slows another one down by more than 0.1 %."]
    return [f"Job {letter} suffers most: {beside_words(job.seconds, job.alone.seconds)} than alone."]
