"""The table of run times on several numbers of processes, and its verdict. Main entries: `size_table`, `verdict`."""

from collections.abc import Sequence

from commmodel.report.kit.tables import NOTHING, Cell, Table, right
from commmodel.report.simulation.tables import use_cells
from commmodel.simulate.sizes import SizedRun
from commmodel.units import format_ratio, format_time

_GAIN = 1.02
"""Speed-up over another size from which on a size gains something."""
_LOSS = 1.1
"""Slowdown from which on a size is slower, and does not only gain nothing."""
_HALF = 0.5
"""Efficiency below which processors are badly used."""


def is_complete(run: SizedRun) -> bool:
    """Whether a run comes to an end, after some time."""
    return not run.prediction.blocked and run.seconds > 0


def computes(runs: Sequence[SizedRun]) -> bool:
    """Whether any run computes, so that there is a parallel efficiency."""
    return any(is_complete(run) and run.parallel is not None for run in runs)


def size_table(runs: Sequence[SizedRun], title: str = "") -> Table:
    """Return times, speed-up and efficiency, and their reasons.

    Parameters
    ----------
    runs : sequence of SizedRun
        The fewest processes first.
    title : str
    """
    has_factors = computes(runs)
    names = ("parallel", "load_balance", "serialisation", "transfer") if has_factors else ("transferring", "waiting")
    heads = ("speed-up", "efficiency") if has_factors else ("times the first",)
    uses, use_rows = use_cells([run.prediction for run in runs])
    rows = []
    for run, use in zip(runs, use_rows, strict=True):
        cells = [Cell(str(run.processes))]
        if not is_complete(run):
            blank = Cell("deadlock", style="bad") if run.prediction.blocked else Cell("no time", style="quiet")
            rows.append((*cells, blank, *[NOTHING] * (len(heads) + len(names)), *use))
            continue
        cells += [Cell(format_time(run.seconds), style="strong")]
        cells += _relative_cells(run, runs[0], has_factors)
        cells += [NOTHING if (share := getattr(run, name)) is None else Cell(format_ratio(share)) for name in names]
        rows.append((*cells, *use))
    note = (
        "Speed-up and efficiency: against the first row. Parallel efficiency = load balance × serialisation × transfer "
        "(POP)."
        if has_factors
        else "Shares of the run time, in the mean over the ranks: messages move, or ranks wait while none moves."
    )
    columns = right("ranks", "run time", *heads, *(name.replace("_", " ") for name in names), *uses)
    return Table(title, columns, tuple(rows), (note,))


def _relative_cells(run: SizedRun, first: SizedRun, has_factors: bool) -> list[Cell]:
    if run.speedup != run.speedup:
        return [NOTHING] * (2 if has_factors else 1)
    if not has_factors:
        return [Cell(f"{run.seconds / first.seconds:.3g}")]
    is_poor = run.efficiency < _HALF
    return [Cell(f"{run.speedup:.3g}"), Cell(format_ratio(run.efficiency), style="bad" if is_poor else "")]


def reason(run: SizedRun) -> str:
    """Return what takes most of the time that ranks do not compute, in words; empty where they compute all the time."""
    computing, balance = run.parallel or 0.0, run.load_balance or 1.0
    uneven = computing / balance - computing
    shares = {
        "transfer": run.transferring,
        "uneven computation": min(uneven, run.waiting),
        "waiting for each other": max(run.waiting - uneven, 0.0),
    }
    name = max(shares, key=lambda key: shares[key])
    return f": {name} takes {format_ratio(shares[name])} of the time" if shares[name] > 0 else ""


def verdict(runs: Sequence[SizedRun]) -> str:
    """Return one sentence: up to which number of processes more of them gain something, and why no further.

    Parameters
    ----------
    runs : sequence of SizedRun
        The fewest processes first.
    """
    complete = [run for run in runs if is_complete(run) and run.speedup == run.speedup]
    if len(complete) < len(runs):
        missing = ", ".join(str(run.processes) for run in runs if not any(run is other for other in complete))
        return f"There is no comparison: a deadlock, or no time at all, on {missing} ranks."
    first, last = complete[0], complete[-1]
    if not computes(runs):
        times = last.seconds / first.seconds
        words = f"{times:.3g} times as long as" if times >= 1 else f"{format_ratio(times)} of the time of"
        return f"{last.processes} ranks take {words} {first.processes}{reason(last)}."
    best = max(complete, key=lambda run: run.speedup)
    useful = next(run for run in complete if run.speedup * _GAIN >= best.speedup)
    if useful is not last:
        ratio = useful.speedup / last.speedup
        change = "gain nothing over" if ratio < _LOSS else f"are {ratio:.3g} times slower than"
        return f"{last.processes} ranks {change} {useful.processes}{reason(last)}."
    words = f"{last.processes} ranks do {last.speedup:.3g} times as much in a time as {first.processes}"
    return f"{words}, {format_ratio(last.efficiency)} of what so many more could{reason(last)}."
