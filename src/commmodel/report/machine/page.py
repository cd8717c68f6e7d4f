"""The report as one HTML file that works offline: numbers in words, parameters, plots, measurements, environment.

Everything that comes from a file is escaped by the template; only the plots, made here from numbers, are inserted as
they are, and a content policy in the page forbids scripts and everything from elsewhere. The same input gives the
same bytes. Main entries: `render` and `write_html`.
"""

import os

from commmodel.fit.consistency import consistency
from commmodel.machine import Machine
from commmodel.report.kit.pages import drawn, render_page, write
from commmodel.report.machine.headlines import headlines
from commmodel.report.machine.hybrid import hybrid_parts, hybrid_remarks
from commmodel.report.machine.hybrid_plots import hybrid_plots
from commmodel.report.machine.loggp import has_other_models, loggp_remarks, logp_parts
from commmodel.report.machine.parameters import are_compared, explanations, have_criteria, remarks, segment_rows
from commmodel.report.machine.plots import draw
from commmodel.report.machine.tables import interval_words
from commmodel.report.measurements.environment import command_line, environment_rows, library_name
from commmodel.report.measurements.memory import memory_parts
from commmodel.report.measurements.other_kernels import collective_tables
from commmodel.report.measurements.oversubscription import beyond, share_rows
from commmodel.report.measurements.point_to_point import BUFFER_WORDS, collective_endings, overlap_endings, path_rows
from commmodel.report.overlap.measurements import overlap_parts, overlap_verdicts
from commmodel.report.scaling.growth import Scaling, scaled
from commmodel.report.scaling.page import section
from commmodel.results import Measurements, launches_of, pooled, thread_level
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio

__all__ = ["render", "write_html"]


def _origin(machine: Machine) -> list[tuple[str, str]]:
    origin = machine.origin
    if origin is None:
        return []
    told = [
        ("MPI library", origin.mpi),
        ("hosts", ", ".join(origin.hosts)),
        ("results", ", ".join(origin.results)),
        ("measured", origin.measured),
        ("launches", "" if origin.launches is None else str(origin.launches)),
        ("fitted by commmodel", origin.commmodel),
        ("seed of the bootstrap", "" if origin.seed is None else str(origin.seed)),
        ("source", origin.source),
        ("MPI thread level", origin.thread_level),
        ("messages of streams arrived in", BUFFER_WORDS.get(origin.stream_buffers, "")),
    ]
    return [(name, text) for name, text in told if text]


def _subtitle(measurements: Measurements) -> list[str]:
    headers = [launch.header for launch in measurements.launches]
    libraries = dict.fromkeys(library_name(header) for header in headers)
    hosts = dict.fromkeys(host.name for header in headers for host in header.hosts)
    dates = sorted({header.created for header in headers if header.created})
    shown = list(hosts)[:3]
    more = [f"{len(hosts) - len(shown)} more hosts"] if len(hosts) > len(shown) else []
    when = [dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"] if dates else []
    return [text for text in ("; ".join(libraries), ", ".join(shown + more), *when) if text]


def render(measurements: Measurements, machine: Machine | None, name: str, scaling: Scaling | None = None) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    measurements : Measurements
        Any kernels, sizes and numbers of pairs; without times there are no plots.
    machine : Machine or None
        What was fitted to them. None: no parameters, and plots of the points alone.
    name : str
        Title of the report.
    scaling : Scaling or None
        Of `commmodel.report.scaling.growth.scaled`, with expectations. None: models alone, of what has enough scales.

    Returns
    -------
    str
        One page; it refers to nothing outside itself.
    """
    measurements = pooled(measurements)
    plots = [*draw(measurements, machine), *hybrid_plots(measurements, machine)]
    scaling_section, scaling_plots = section(scaled(measurements) if scaling is None else scaling)
    segments = segment_rows(machine) if machine and has_other_models(machine) else []
    found = beyond(measurements)
    node_pair_counts, shares = share_rows(found.shares if found else ())
    return render_page(
        "report.html",
        name,
        [*plots, *scaling_plots],
        subtitle=_subtitle(measurements),
        warnings=[
            *dict.fromkeys(
                [
                    *(text for launch in measurements.launches for text in launch.header.warnings),
                    *(machine.origin.warnings if machine is not None and machine.origin is not None else ()),
                ]
            ),
            *measurements.notes,
            *thread_level.remarks(
                measurements.launches, (machine and machine.origin and machine.origin.thread_level) or ""
            ),
        ],
        headlines=headlines(measurements, machine),
        machine=machine,
        machine_intervals=interval_words(machine) if machine else "",
        segments=segments,
        compared=are_compared(segments),
        has_criteria=have_criteria(segments),
        explanations=explanations(segments),
        logp_parts=[*logp_parts(machine, consistency(measurements, machine)), *hybrid_parts(machine)]
        if machine
        else [],
        remarks=[*remarks(machine), *loggp_remarks(machine), *hybrid_remarks(machine)] if machine else [],
        further_remarks=remarks(machine, further=True) if machine else [],
        origin=_origin(machine) if machine else [],
        plots=drawn(plots),
        paths=path_rows(measurements),
        collectives=collective_tables(measurements),
        collective_endings=collective_endings(measurements),
        memory_parts=memory_parts(measurements),
        overlap_parts=overlap_parts(measurements, machine),
        overlap_verdicts=overlap_verdicts(measurements, machine),
        overlap_endings=overlap_endings(measurements),
        scaling_section=scaling_section,
        beyond=found,
        node_pair_counts=node_pair_counts,
        shares=shares,
        median_confidence=format_ratio(CONFIDENCE),
        is_one_launch=launches_of(measurements) == 1,
        launches=[
            (environment_rows(launch.header), command_line(launch.header), len(launch.records))
            for launch in measurements.launches
        ],
    )


def _name(measurements: Measurements, machine: Machine | None) -> str:
    if machine is not None:
        return machine.name
    hosts = dict.fromkeys(host.name for launch in measurements.launches for host in launch.header.hosts)
    return ", ".join(list(hosts)[:2]) or "MPI measurements"


def write_html(
    path: str | os.PathLike[str], measurements: Measurements, machine: Machine | None, scaling: Scaling | None = None
) -> None:
    """Write the report, titled with the machine's or the hosts' names; a file that is there is replaced."""
    page = render(measurements, machine, _name(measurements, machine), scaling)
    write(path, page)
