"""Page of several jobs at once on one platform. Main entry: `write_jobs`."""

import os
from string import ascii_uppercase

from commmodel.errors import InputError
from commmodel.files import write_text
from commmodel.report.kit import axes as look
from commmodel.report.kit.bars import BarWords, bar_plot
from commmodel.report.kit.blocks import Bullets, Figures, Section
from commmodel.report.kit.pages import render_page
from commmodel.report.simulation.jobs import job_lines, job_tables, jobs_title
from commmodel.signatures import checked
from commmodel.simulate.scenario import JobRuns

_TIMES = BarWords(
    "jobs-times", "Run time of each job", "Run time of each job alone in its place, and beside the others.",
    "run time", "s",
)  # fmt: skip
_LINKS = BarWords(
    "jobs-links", "Links that jobs share", "Bytes that each job sends over the links where jobs meet most.",
    "bytes", "B",
)  # fmt: skip
_MOST_LINKS = 8


@checked
def write_jobs(path: str | os.PathLike[str], runs: JobRuns) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    runs : JobRuns

    Raises
    ------
    InputError
        Where the jobs end in a deadlock.
    """
    if runs.result.blocked:
        raise InputError("the jobs end in a deadlock: there is no page of their times")
    letters = ascii_uppercase[: len(runs.jobs)]
    names = [f"job {letter}" for letter in letters]
    times = {"alone": [job.alone.seconds for job in runs.jobs], "beside others": [job.seconds for job in runs.jobs]}
    links = runs.shared_links[:_MOST_LINKS]
    with look.style():
        plots = [bar_plot(names, times, _TIMES)] if any(times["beside others"]) else []
        if links:
            carried = {f"job {letter}": [link.bytes[index] for link in links] for index, letter in enumerate(letters)}
            plots.append(bar_plot([link.name for link in links], carried, _LINKS))
    notes = (Bullets(tuple(runs.notes)),) if runs.notes else ()
    blocks = (*job_tables(runs), *((Figures(tuple(plots)),) if plots else ()), *notes)
    name = jobs_title(runs)
    sections = [Section("Jobs at once", blocks)]
    write_text(path, render_page(name, f"Jobs: {name}", "Several jobs", sections, answer=job_lines(runs)))
