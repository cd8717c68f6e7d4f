"""The report as an HTML page without references to other files.

It puts together the sections of all products. The same input gives the same bytes. Main entries: `render` and
`write_html`.
"""

import os
from collections.abc import Sequence
from typing import Any

from commmodel.files import write_text
from commmodel.fit.consistency import consistency
from commmodel.machine import Machine
from commmodel.report.kit.blocks import (
    Block,
    Bullets,
    Facts,
    Figures,
    Folded,
    Heading,
    NameList,
    Plot,
    Section,
    Words,
)
from commmodel.report.kit.pages import render_page
from commmodel.report.machine.headlines import Headline, headlines
from commmodel.report.machine.hybrid_plots import hybrid_plots
from commmodel.report.machine.plots import draw
from commmodel.report.measurements.collective_plots import HOW_TO_READ, collective_plots
from commmodel.report.measurements.collectives import collective_answer
from commmodel.report.measurements.environment import environment_rows
from commmodel.report.measurements.node_matrix_plots import matrix_plots
from commmodel.report.measurements.point_to_point import BUFFER_WORDS
from commmodel.report.measurements.repeating import repeat_section
from commmodel.report.overlap.plots import profile_plots
from commmodel.report.scaling.page import scaling_section
from commmodel.report.sections import machine_section, measured_sections, predicted_section, sending_section
from commmodel.results import Measurements, launch_count, library_name, pool
from commmodel.results.conditions import remarks as condition_remarks
from commmodel.results.conditions import touched_words
from commmodel.results.configurations import Burst, Collective, Function, Memory, Overlap, PointToPoint
from commmodel.results.pooling import TABLED
from commmodel.scaling.overview import Overview, overview
from commmodel.signatures import checked

_UNKNOWN = "unknown"
"""Name of the host and of the machine in files of other suites."""


def _subtitle(measurements: Measurements) -> list[str]:
    headers = [launch.header for launch in measurements.launches]
    libraries = dict.fromkeys(library_name(header) for header in headers)
    hosts = dict.fromkeys(host.name for header in headers for host in header.hosts if host.name != _UNKNOWN)
    dates = sorted({header.created for header in headers if header.created})
    shown = list(hosts)[:3]
    more = [f"{len(hosts) - len(shown)} more hosts"] if len(hosts) > len(shown) else []
    when = [dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"] if dates else []
    return [text for text in ("; ".join(libraries), ", ".join(shown + more), *when) if text]


def _warnings(measurements: Measurements, machine: Machine | None) -> Section:
    origin = machine.origin if machine is not None else None
    headers = (launch.header for launch in measurements.launches)
    warnings = [text for header in headers for text in header.warnings]
    warnings += machine.warnings if machine is not None else ()
    texts = (
        *dict.fromkeys(warnings),
        *measurements.notes,
        *condition_remarks(measurements.launches, *((origin.thread_level, origin.buffers) if origin else ())),
    )
    return Section("Before you trust these numbers", (Bullets(texts),) if texts else (), is_warning=True)


def _headlines(measurements: Measurements, lines: Sequence[Headline]) -> list[Section]:
    of_launch = ", intervals of this launch" if launch_count(measurements) == 1 else ""
    return [Section(line.path, (Facts(line.facts),), f"{line.source}{of_launch}") for line in lines]


def _plots(measurements: Measurements, machine: Machine | None) -> Section:
    plots: tuple[Plot, ...] = (
        *draw(measurements, machine), *profile_plots(measurements), *hybrid_plots(measurements, machine),
        *matrix_plots(measurements),
    )  # fmt: skip
    panels, left_out = collective_plots(measurements)
    blocks: list[Block] = [Figures(plots)] if plots else []
    if panels:
        more = f" {left_out} further operations are in the tables only." if left_out else ""
        blocks += [Heading("Collective operations"), Words(f"{HOW_TO_READ}{more}", is_hint=True)]
        blocks.append(Figures(tuple(panels), is_small=True))
    return Section("Plots", tuple(blocks))


def _origin(machine: Machine) -> tuple[tuple[str, tuple[str, ...]], ...]:
    origin = machine.origin
    if origin is None:
        return ()
    rows = [
        ("MPI library", origin.mpi),
        ("hosts", ", ".join(origin.hosts)),
        ("results", ", ".join(origin.results)),
        ("measured", origin.measured),
        ("launches", "" if origin.launches is None else str(origin.launches)),
        ("fitted by commmodel", origin.commmodel),
        ("seed of the bootstrap", "" if origin.seed is None else str(origin.seed)),
        ("source", origin.source),
        ("MPI thread level", origin.thread_level),
        ("message buffers", touched_words(origin.buffers)),
        ("messages of streams arrived in", BUFFER_WORDS.get(origin.stream_buffers, "")),
    ]
    return tuple((name, (text,)) for name, text in rows if text)


def _parameters(measurements: Measurements, machine: Machine | None) -> Section:
    if machine is None:
        return Section("", ())
    return machine_section(machine, consistency(measurements, machine)).on_page(_origin(machine))


def _environment(measurements: Measurements) -> Section:
    launches, blocks = measurements.launches, []
    for number, launch in enumerate(launches, 1):
        records = len(launch.records)
        summary = f"Launch {number} of {len(launches)}, {records} record{'s' * (records != 1)}"
        blocks.append(Folded(summary, (NameList(tuple(environment_rows(launch.header))),), is_open=number == 1))
    return Section("Environment", tuple(blocks))


@checked
def render(
    measurements: Measurements,
    machine: Machine | None,
    name: str,
    scaling: Overview | None = None,
    command: Sequence[str] = (),
) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    measurements : Measurements
        Any kernels, sizes and numbers of pairs; without times there are no plots.
    machine : Machine or None
        What was fitted to them. None: no parameters, and plots of the points alone.
    name : str
        The machine's or the hosts', for the title.
    scaling : Overview or None
        Of `commmodel.scaling.overview.overview`, with expectations. None: models alone, of what has enough scales.
    command : sequence of str
        Words of the command that makes the page, which says how to do it again. Empty: it does not say that.

    Returns
    -------
    str
        One page; it refers to nothing outside itself.
    """
    scaling = overview(measurements) if scaling is None else scaling
    again = repeat_section(measurements, machine, command)
    measurements = pool(measurements, kinds=TABLED)
    lines = headlines(measurements, machine)
    numbers = [
        *_headlines(measurements, lines),
        _plots(measurements, machine),
        _parameters(measurements, machine),
        *(section.on_page() for section in measured_sections(measurements, machine)),
        *([] if machine is None else [predicted_section(machine).on_page()]),
        *([] if machine is None or (sending := sending_section(machine)) is None else [sending.on_page()]),
        scaling_section(scaling),
    ]
    words = Words("There are no times, and no records of other kernels.")
    empty = [] if any(section.blocks for section in numbers) else [Section("Nothing was measured", (words,))]
    sections = [_warnings(measurements, machine), *numbers, *empty, _environment(measurements), again]
    title = f"{_subject(measurements)}{f' on {name}' if name and name != _UNKNOWN else ''}"
    answer = tuple(filter(None, (*(line.answer for line in lines), collective_answer(measurements))))
    return render_page(title, title, "MPI, measured and modelled", sections, _subtitle(measurements), answer=answer)


_SUBJECTS: dict[str, Any] = {
    "messages": PointToPoint,
    "collectives": Collective,
    "memory": Memory,
    "overlap": (Overlap, Burst),
    "functions": Function,
}
"""Word of a title -> the kernels that measure it."""


def _subject(measurements: Measurements) -> str:
    """Return what was measured, for the title."""
    kinds = {type(record.configuration) for record in measurements.records}
    words = [word for word, structs in _SUBJECTS.items() if any(issubclass(kind, structs) for kind in kinds)]
    return f"MPI {' and '.join(filter(None, (', '.join(words[:-1]), *words[-1:])))}".strip()


def _name(measurements: Measurements, machine: Machine | None) -> str:
    if machine is not None:
        return machine.name
    hosts = dict.fromkeys(host.name for launch in measurements.launches for host in launch.header.hosts)
    return ", ".join(list(hosts)[:2])


@checked
def write_html(
    path: str | os.PathLike[str],
    measurements: Measurements,
    machine: Machine | None,
    scaling: Overview | None = None,
    command: Sequence[str] = (),
) -> None:
    """Write the report, titled with the names of the machine or the hosts, replacing an existing file.

    Parameters
    ----------
    command : sequence of str
        Words of the command that makes the page, as of `render`.
    """
    write_text(path, render(measurements, machine, _name(measurements, machine), scaling, command))
