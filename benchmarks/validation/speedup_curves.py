"""Speed-up of LU and CG, times of alltoall, on graphene: ``python -m benchmarks.validation.speedup_curves``.

Figures 6 and 9 of Bédaride et al. 2013, without what was measured, of which the text has few numbers: the NAS
kernels LU and CG, classes B and C, and the pairwise alltoall of 100 KiB and 4 MiB, one process on each host, by the
hybrid, the fluid and the LogGPS model. Then what the paper's text says of these figures, and whether it comes out here.

Assumed: hosts in the order of their numbers, and a core's flop/s, `SPEEDS`. The kernels' iterations are all alike, so N
and 2 N of them are simulated and the line through both says how long all of them take; the line through 1 and N is
the check, and the largest difference is printed.
Main entries: `curves`, `alltoall` and `statements`.
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from commmodel import machine
from commmodel.collectives import CollectiveSettings, Problem
from commmodel.errors import InputError
from commmodel.simulate import (
    SMPI,
    DelayModel,
    Network,
    Program,
    SimulationResult,
    delays,
    fluid,
    from_machine,
    platform,
    run,
    work,
)
from commmodel.simulate.work.application_kernels import CG_CLASSES, LU_CLASSES
from commmodel.units import format_size, parse_counts

KERNELS: Mapping[str, Callable[..., Any]] = {"lu": work.lu, "cg": work.cg}
ITERATIONS = {
    "lu": {name: problem.iterations for name, problem in LU_CLASSES.items()},
    "cg": {name: problem.iterations for name, problem in CG_CLASSES.items()},
}
SPEEDS = {"lu": 1.2e9, "cg": 0.6e9}
"""Flop/s of a core of the Xeon X3440 (2.53 GHz) in each kernel: assumed, nothing that we have says it. LU does some
flops for each byte from memory; CG does two for each 12 bytes of the matrix."""
SIZES = (100 * 1024, 4 << 20)
ALLTOALL_PROCESSES = (16, 32, 64, 128)
MODELS = ("hybrid", "fluid", "fluid, none eager", "loggps")
ALLTOALL_MODELS = ("hybrid", "fluid", "loggps")
"""The fluid model has the modes of the machine: eager up to the measured limit. `commmodel.simulate.fluid` as it is has
no eager mode: each message leaves when its receive is posted."""
PAPERS_CG = 9.85
"""Seconds of CG, class B, on 128 nodes by the paper's hybrid model (Section V-B)."""

Hosts = NDArray[np.int32]
Simulation = Callable[[Program, Hosts], SimulationResult]


class Statement(NamedTuple):
    """What the paper says, what counts here as that, and what was found. The limits are ours, set with the figures at
    hand: they keep what is found from changing unnoticed.
    """

    says: str
    limit: str
    value: str
    holds: bool


class Curve(NamedTuple):
    """A kernel's class: P, and of each model the seconds of all iterations; `sequential` is one process."""

    processes: tuple[int, ...]
    sequential: float
    seconds: dict[str, NDArray[np.float64]]

    def speedup(self, model: str) -> NDArray[np.float64]:
        """Return the speed-up at each P."""
        return self.sequential / self.seconds[model]

    def at(self, model: str, processes: int) -> float:
        """Return the speed-up at one P."""
        return float(self.speedup(model)[self.processes.index(processes)])


def simulations() -> dict[str, Simulation]:
    """Return how each model simulates a program on graphene."""
    measured, links = machine.load("graphene"), platform.load("graphene")
    hybrid, parameters = from_machine.network(measured), delays.from_machine(measured)
    plain = fluid(hybrid.detached_limit)

    def on_links(network: Network) -> Simulation:
        return lambda program, hosts: run(program, network, links, hosts=hosts)

    return {
        "hybrid": on_links(hybrid),
        "fluid": on_links(fluid(hybrid.detached_limit, hybrid.eager_limit)),
        "fluid, none eager": on_links(plain),
        "loggps": lambda program, _: run(program, DelayModel(parameters)),
    }


def in_order(processes: int) -> Hosts:
    """Return the hosts in the order of their numbers, one for each rank: the first cabinet is filled first."""
    return np.arange(processes, dtype=np.int32)


def in_turn(processes: int) -> Hosts:
    """Return hosts of graphene's cabinets in turn, one for each rank."""
    links = platform.load("graphene")
    sizes = msgspec.to_builtins(links.description)["hosts"]
    ends = itertools.accumulate(sizes)
    cabinets = [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    dealt = [host for row in itertools.zip_longest(*cabinets) for host in row if host is not None]
    return np.array(dealt[:processes], dtype=np.int32)


def kernel_seconds(
    kernel: str,
    nas_class: str,
    processes: int,
    iterations: tuple[int, int],
    speed: float,
    simulation: Simulation,
    hosts: Hosts,
) -> float:
    """Return the seconds of all iterations of a kernel's class, on the line through two numbers of them."""

    def seconds(number: int) -> float:
        return simulation(
            KERNELS[kernel](nas_class, processes, number).program(speed, settings=CollectiveSettings("openmpi")), hosts
        ).seconds

    few, more = iterations
    first, second = seconds(few), seconds(more)
    return second + (ITERATIONS[kernel][nas_class] - more) * (second - first) / (more - few)


def curve(
    kernel: str,
    nas_class: str,
    processes: Sequence[int],
    iterations: tuple[int, int],
    speed: float,
    models: Sequence[str] = MODELS,
) -> Curve:
    """Return the curve of a kernel's class, by some models."""
    by_model = simulations()

    def seconds(model: str, number: int) -> float:
        return kernel_seconds(kernel, nas_class, number, iterations, speed, by_model[model], in_order(number))

    curves = {model: np.array([seconds(model, number) for number in processes]) for model in models}
    return Curve(tuple(processes), seconds(models[0], 1), curves)


def alltoall(message_size: int, processes: Sequence[int]) -> Curve:
    """Return the seconds of the pairwise alltoall, Open MPI's, of blocks of so many bytes."""
    models = simulations()

    def seconds(model: str, number: int) -> float:
        program = work.collective("alltoall", Problem(number, message_size), algorithm="pairwise")
        return models[model](program, in_order(number)).seconds

    times = {model: np.array([seconds(model, number) for number in processes]) for model in ALLTOALL_MODELS}
    return Curve(tuple(processes), 0.0, times)


def placements(
    nas_class: str, processes: Sequence[int], iterations: tuple[int, int], speed: float
) -> dict[str, list[float]]:
    """Return the seconds of CG by the hybrid model, or SMPI's parameters, where its ranks are placed otherwise."""
    measured, links = machine.load("graphene"), platform.load("graphene")
    hybrid = from_machine.network(measured)
    switch = from_machine.platform(measured, max(processes))
    cases: dict[str, tuple[Any, Network, Callable[[int], Hosts]]] = {
        "hybrid, hosts in order": (links, hybrid, in_order),
        "hybrid, cabinets in turn": (links, hybrid, in_turn),
        "hybrid, all on one switch": (switch, hybrid, in_order),
        "SMPI's parameters, hosts in order": (links, SMPI, in_order),
    }

    def seconds(case: str, number: int) -> float:
        where, network, hosts = cases[case]

        def on_places(program: Program, places: Hosts) -> SimulationResult:
            return run(program, network, where, hosts=places)

        return kernel_seconds("cg", nas_class, number, iterations, speed, on_places, hosts(number))

    return {case: [seconds(case, number) for number in processes] for case in cases}


def _value_list(values: Mapping[str, float], form: str = ".2f") -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def kernel_statements(curves: Mapping[tuple[str, str], Curve]) -> Iterator[Statement]:
    """Yield what the paper says of Figure 6."""
    lu = {name: item for (kernel, name), item in curves.items() if kernel == "lu"}
    cg = {name: item for (kernel, name), item in curves.items() if kernel == "cg"}
    if lu:
        apart = {
            f"class {name}": float(np.abs(values.seconds["hybrid"] / values.seconds["loggps"] - 1).max())
            for name, values in lu.items()
        }
        yield Statement(
            "LU: hybrid and LogGPS are near each other", "times within 10 % at each P",
            f"at most {_value_list(apart, '.1%')}", max(apart.values()) <= 0.1,
        )  # fmt: skip
        for model in ("fluid", "fluid, none eager"):
            best = {
                f"class {name}": float((values.seconds["hybrid"] / values.seconds[model])[-1])
                for name, values in lu.items()
            }
            yield Statement(
                f"LU: over-optimistic is {model}", "less time than hybrid at the largest P",
                f"hybrid over fluid {_value_list(best)}", min(best.values()) > 1,
            )  # fmt: skip
    plateaus = {name: values for name, values in cg.items() if {32, 64} <= set(values.processes)}
    for model, flat in (("hybrid", True), ("loggps", False)):
        gain = {f"class {name}": values.at(model, 64) / values.at(model, 32) for name, values in plateaus.items()}
        if gain:
            yield Statement(
                f"CG: {'a' if flat else 'no'} plateau from 32 to 64 under {model}",
                "speed-up × less than 1.1" if flat else "speed-up × more than 1.15", f"× {_value_list(gain)}",
                max(gain.values()) < 1.1 if flat else min(gain.values()) > 1.15,
            )  # fmt: skip
    for model in ("loggps", "fluid"):
        short = {
            f"class {name} on {number}": float(ratio)
            for name, values in cg.items()
            for number, ratio in zip(values.processes, values.seconds["hybrid"] / values.seconds[model], strict=True)
            if number >= 32
        }
        if short:
            yield Statement(
                f"CG: {model} largely underestimates the time", "hybrid over it at least 1.15 from 32 on",
                _value_list(short), min(short.values()) >= 1.15,
            )  # fmt: skip
    if "B" in cg and 128 in cg["B"].processes:
        seconds = float(cg["B"].seconds["hybrid"][cg["B"].processes.index(128)])
        yield Statement(
            f"CG, class B on 128: {PAPERS_CG} s by hybrid", "within 10 %", f"{seconds:.2f} s",
            abs(seconds / PAPERS_CG - 1) <= 0.1,
        )  # fmt: skip


def alltoall_statements(curves: Mapping[int, Curve]) -> Iterator[Statement]:
    """Yield what the paper says of Figure 9."""
    medium, large = (curves[size] for size in SIZES)
    apart = large.seconds["hybrid"] / large.seconds["fluid"]
    yield Statement(
        "alltoall 4 MiB: hybrid and fluid both within 10 % of what was measured", "within 10 % of each other",
        f"hybrid over fluid {apart.min():.3f} to {apart.max():.3f}", bool(np.abs(apart - 1).max() <= 0.1),
    )  # fmt: skip
    factor = large.seconds["hybrid"] / large.seconds["loggps"]
    yield Statement(
        "alltoall 4 MiB: LogGPS errs by up to a factor of 4 on 128", "a factor of 3 to 5 at the largest P, its most",
        f"hybrid over LogGPS {factor[-1]:.2f}", bool(3 <= factor[-1] <= 5 and factor.argmax() == factor.size - 1),
    )  # fmt: skip
    orders = [medium.seconds[model] for model in ("loggps", "fluid", "hybrid")]
    yield Statement(
        "alltoall 100 KiB: LogGPS and fluid underestimate, LogGPS more",
        "LogGPS < fluid < hybrid at each P, fluid by 10 %",
        f"hybrid over fluid {(orders[2] / orders[1]).min():.2f} to {(orders[2] / orders[1]).max():.2f}, "
        f"over LogGPS {(orders[2] / orders[0]).min():.2f} to {(orders[2] / orders[0]).max():.2f}",
        bool((orders[0] < orders[1]).all() and (1.1 * orders[1] <= orders[2]).all()),
    )  # fmt: skip


def plot_curves(curves: Mapping[tuple[str, str], Curve], path: Path) -> None:
    """Draw speed-up over P, a panel for each kernel and class."""
    panels = [(f"{kernel.upper()}, class {name}", item) for (kernel, name), item in curves.items()]
    _plot(path, panels, "speed-up", lambda values, model: values.speedup(model), ideal=True)


def plot_alltoall(curves: Mapping[int, Curve], path: Path) -> None:
    """Draw time over P, a panel for each message size."""
    panels = [(f"alltoall of {format_size(size)}", item) for size, item in curves.items()]
    _plot(path, panels, "seconds", lambda values, model: values.seconds[model], ideal=False)


_LOOKS = {
    "hybrid": ("#0072b2", "-", "o"),
    "fluid": ("#009e73", "--", "s"),
    "fluid, none eager": ("#009e73", ":", "x"),
    "loggps": ("#d55e00", "-.", "^"),
}
"""Okabe and Ito's colours."""


def _plot(
    path: Path, panels: Sequence[tuple[str, Curve]], label: str, values: Callable[[Curve, str], Any], *, ideal: bool
) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    across = min(2, len(panels))
    down = -(-len(panels) // across)
    description = "\n".join(
        f"{title}; {model}: "
        + ", ".join(f"{p} {value:.4g}" for p, value in zip(panel.processes, values(panel, model), strict=True))
        for title, panel in panels
        for model in panel.seconds
    )
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem, "font.size": 9}):
        figure = Figure(figsize=(4.2 * across, 3.2 * down), layout="constrained", facecolor="white")
        for axes, (title, panel) in zip(figure.subplots(down, across, squeeze=False).flat, panels, strict=False):
            if ideal:
                axes.plot(panel.processes, panel.processes, color="0.7", linewidth=1, label="ideal")
            for model in panel.seconds:
                colour, line, marker = _LOOKS[model]
                axes.plot(
                    panel.processes, values(panel, model), line, color=colour, marker=marker, markersize=4, label=model
                )
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            axes.set_xticks(panel.processes, [str(number) for number in panel.processes])
            axes.yaxis.set_major_formatter("{x:.3g}")
            axes.set(title=title, xlabel="processes, one on each host", ylabel=label)
            axes.grid(color="0.9")
            axes.legend(fontsize=8)
        is_svg = path.suffix == ".svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None, "Description": description} if is_svg else None)


def _show_curves(curves: Mapping[tuple[str, str], Curve], console: Console) -> None:
    table = Table("kernel", "P", *MODELS, title="Speed-up (seconds of all iterations)", box=None, pad_edge=False)
    for (kernel, name), values in curves.items():
        table.add_row(f"{kernel.upper()} {name}", "1", f"({values.sequential:.0f})")
        for row, number in enumerate(values.processes):
            cells = (f"{values.speedup(model)[row]:.1f} ({values.seconds[model][row]:.2f})" for model in MODELS)
            table.add_row(f"{kernel.upper()} {name}", str(number), *cells)
    console.print(table)


def _show_alltoall(curves: Mapping[int, Curve], console: Console) -> None:
    title = "Alltoall, pairwise: seconds"
    table = Table("bytes", "P", *ALLTOALL_MODELS, "hybrid / loggps", title=title, box=None, pad_edge=False)
    for size, values in curves.items():
        for row, number in enumerate(values.processes):
            seconds = [values.seconds[model][row] for model in ALLTOALL_MODELS]
            factor = f"{seconds[0] / seconds[-1]:.2f}"
            table.add_row(format_size(size), str(number), *(f"{value:.4g}" for value in seconds), factor)
    console.print(table)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Speed-up of LU and CG, and alltoall, on the simulated graphene.")
    parser.add_argument("--kernels", default="lu,cg", help="(lu,cg)")
    parser.add_argument("--classes", default="B,C", help="of the kernels (B,C)")
    parser.add_argument("--processes", default="8:128:*2", help="powers of two (8:128:*2)")
    parser.add_argument("--iterations", type=int, default=2, help="N ≥ 2: 1, N and 2 N are simulated (2)")
    speeds = ", ".join(f"{speed:g} in {kernel}" for kernel, speed in SPEEDS.items())
    parser.add_argument("--speed", type=float, help=f"of a core in flop/s, in all kernels ({speeds})")
    parser.add_argument("-o", "--output", type=Path, help="plot of the speed-up; alltoall's: NAME-alltoall (none)")
    arguments = parser.parse_args()
    arguments.kernels, arguments.classes = arguments.kernels.split(","), arguments.classes.split(",")
    for name in arguments.kernels:
        if name not in KERNELS:
            raise InputError(f"--kernels {name}: choose {' or '.join(KERNELS)}")
    if arguments.iterations < 2:
        raise InputError(f"--iterations {arguments.iterations}: there must be at least 2, for a line")
    arguments.processes = parse_counts(arguments.processes)
    if arguments.processes[-1] > platform.load("graphene").hosts:
        raise InputError(f"--processes {arguments.processes[-1]}: graphene has {platform.load('graphene').hosts} hosts")
    return arguments


def _apart(before: Curve, other: Curve) -> float:
    return max(float(np.abs(before.speedup(model) / other.speedup(model) - 1).max()) for model in before.seconds)


def main() -> None:
    """Simulate, print and draw."""
    try:
        arguments = _parsed()
        few, more = (1, arguments.iterations), (arguments.iterations, 2 * arguments.iterations)
        curves, checked = {}, {}
        for kernel, name in itertools.product(arguments.kernels, arguments.classes):
            speed = arguments.speed or SPEEDS[kernel]
            curves[kernel, name] = curve(kernel, name, arguments.processes, more, speed)
            checked[kernel, name] = curve(kernel, name, arguments.processes, few, speed)
    except InputError as error:
        print(f"speedup_curves: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    collective = {size: alltoall(size, ALLTOALL_PROCESSES) for size in SIZES}
    console = Console(width=140)
    speeds = {kernel.upper(): (arguments.speed or SPEEDS[kernel]) / 1e9 for kernel in arguments.kernels}
    print(f"Assumed: hosts in order, Gflop/s of a core: {_value_list(speeds, 'g')}\n")
    _show_curves(curves, console)
    apart = {f"{key[0].upper()} {key[1]}": _apart(curves[key], checked[key]) for key in curves}
    scope = f"{few[0]} and {few[1]} iterations, instead of {more[0]} and {more[1]},"
    print(f"{scope} change the speed-up by at most: {_value_list(apart, '.3%')}\n")
    if "cg" in arguments.kernels:
        table = Table("class", "P", title="CG, seconds of all iterations", box=None, pad_edge=False)
        numbers = [number for number in arguments.processes if number >= 32]
        for name in arguments.classes if numbers else ():
            cases = placements(name, numbers, more, arguments.speed or SPEEDS["cg"])
            if not table.rows:
                for case in cases:
                    table.add_column(case)
            for row, number in enumerate(numbers):
                table.add_row(name, str(number), *(f"{seconds[row]:.2f}" for seconds in cases.values()))
        console.print(table)
    _show_alltoall(collective, console)
    table = Table(
        "the paper says", "what counts as that", "value", "comes out", title="Figures 6 and 9", box=None, pad_edge=False
    )
    for statement in (*kernel_statements(curves), *alltoall_statements(collective)):
        table.add_row(statement.says, statement.limit, statement.value, "yes" if statement.holds else "no")
    console.print(table)
    if arguments.output is not None:
        plot_curves(curves, arguments.output)
        plot_alltoall(collective, arguments.output.with_stem(f"{arguments.output.stem}-alltoall"))


if __name__ == "__main__":
    main()
