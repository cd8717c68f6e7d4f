"""Bédaride and others 2013: hybrid, fluid and LogGPS models of graphene. Main entry: `paper`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.validation.papers.rows import Gap, Paper, Row, off
from benchmarks.validation.speedup_curves import (
    ALLTOALL_PROCESSES,
    SIZES,
    SPEEDS,
    alltoall,
    alltoall_statements,
    curve,
    in_order,
    kernel_statements,
)

from commmodel import formats, machine
from commmodel.fit import fit_machine
from commmodel.simulate import fluid, platform, run, work

__all__ = ["paper"]

CALIBRATION = "src/calibration/examples/graphene_eth_{}.csv"
LIMITS = (1420, 32768, 65536, 327680)
"""Ends of the modes in Figure 4, bytes."""
SPEEDUP = "`python -m benchmarks.validation.speedup_curves`"
PROCESSES = (8, 16, 32, 64, 128)
ITERATIONS = (2, 4)
TRANSFER = 4 << 20


def platform_rows() -> Iterator[Row]:
    """Yield the links of graphene: what both directions of a node, and two cabinets, carry."""
    graphene = platform.load("graphene")
    network = fluid()
    one_way, both_ways = (
        run(work.sparse(senders, receivers, [TRANSFER] * len(senders)), network, graphene, hosts=in_order(2)).seconds
        for senders, receivers in (([0], [1]), ([0, 1], [1, 0]))
    )
    ratio = 2 * one_way / both_ways
    yield Row(
        "Section IV-B, Figure 5",
        "B_s + B_r of an exchange of 4 MiB, over B",
        "1.5",
        f"{ratio:.2f}",
        off(ratio, 1.5),
        "`simulate graphene exchange`",
    )


def modes(repository: Path) -> Iterator[Row]:
    """Yield the ends of modes that a fit finds in the authors' own calls."""
    files = [repository / CALIBRATION.format(name) for name in ("PingPong", "Isend", "Recv")]
    fitted = fit_machine(formats.load_all(files))
    limits = [part.limit.value for part in fitted.hybrid[0].modes if part.limit]
    for printed in LIMITS:
        nearest = min(limits, key=lambda value: abs(np.log(value / printed)))
        yield Row(
            "Figure 4",
            f"end of a mode at {printed} B",
            str(printed),
            str(nearest),
            off(nearest, printed),
            "`commmodel fit` of platform-calibration's PingPong, Isend, Recv",
        )


def published_modes() -> Iterator[Row]:
    """Yield the modes of the machine that comes with commmodel."""
    hybrid = machine.load("graphene").hybrid[0]
    kinds = [mode.kind for mode in hybrid.modes]
    order = [kind for kind, before in zip(kinds, ["", *kinds], strict=False) if kind != before]
    yield Row(
        "Figures 3, 4",
        "kinds of modes, in the order of size",
        "asynchronous, detached, synchronous",
        ", ".join(order),
        "the same" if order == ["asynchronous", "detached", "synchronous"] else "differs",
        '`machine.load("graphene")`',
    )


def statements() -> Iterator[Row]:
    """Yield what the text says of Figures 6 and 9, simulated."""
    curves = {
        (kernel, name): curve(kernel, name, PROCESSES, ITERATIONS, SPEEDS[kernel])
        for kernel in ("lu", "cg")
        for name in ("B", "C")
    }
    times = {size: alltoall(size, ALLTOALL_PROCESSES) for size in SIZES}
    for place, items in (("Figure 6", kernel_statements(curves)), ("Figure 9", alltoall_statements(times))):
        for item in items:
            yield Row(
                place,
                f"{item.says} ({item.limit})",
                "in words",
                item.value,
                "holds" if item.holds else "fails",
                SPEEDUP,
            )


def paper(folder: Path | None) -> Paper:
    """Return the rows: with the folder of public repositories, those of measurements, too."""
    rows = [*published_modes(), *platform_rows()]
    gaps = [
        Gap("Figure 1", "definition of LogGPS", "`_core/delays/message_rule.hpp`; its equations: docs/theory/delays"),
        Gap(
            "Figures 6, 9, measured",
            "drawn, with few numbers in the text",
            "their statements, above; the models beside "
            "measured times on emulated hosts: docs/theory/validation-emulated",
        ),
        Gap(
            "Figure 7",
            "a Gantt chart of TAU's trace",
            "`simulate graphene lu -p 32 --class B -o lu.html`: the simulated half",
        ),
        Gap("Figure 8", "timeouts of TCP when a switch drops packets, which no flow model has", "none"),
        Gap(
            "Figure 10",
            "Tibidabo is gone; BigDFT's instance is not published",
            "any program: `simulate PLATFORM run -- PROGRAM`",
        ),
    ]
    repository = folder and folder / "platform-calibration"
    if repository and repository.is_dir():
        rows += modes(repository)
    else:
        gaps.append(Gap("Figure 4 from measurements", "FOLDER has no clone of Ezibenroc/platform-calibration", ""))
    return Paper("Bédaride and others 2013: hybrid", [*rows, *statements()], gaps)
