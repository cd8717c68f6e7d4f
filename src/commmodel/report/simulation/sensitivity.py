"""What costs do to a simulated time, as a table and in sentences. Main entries: `cost_table`, `verdicts`."""

from commmodel.report.kit.tables import NOTHING, Cell, Table, left, right
from commmodel.simulate.sensitivity import CostCurve, CostSensitivity
from commmodel.units import format_ratio, format_time

COST_NAMES = {"latency": "latency", "overhead": "overhead of messages", "gap": "gap between messages",
          "bandwidth": "bandwidth", "compute": "speed of cores"}  # fmt: skip
_SHARES = {**COST_NAMES, "latency": "the latency of messages", "bandwidth": "the bytes of messages",
           "compute": "computation"}  # fmt: skip
_GOODS = {"latency": "a network without latency", "overhead": "messages that cost processors nothing",
          "gap": "a network without gaps between messages", "bandwidth": "a network of endless bandwidth",
          "compute": "cores that compute in no time"}  # fmt: skip
_NEVER = 1e3
"""The factor from which on a cost may get as bad as one likes."""
_NO_GAIN = 1e-3


def title_of(costs: CostSensitivity) -> str:
    """Return what was simulated, where, and by which model."""
    return f"{costs.title}, {costs.place}, by {costs.model}: {format_time(costs.seconds)}"


def cost_table(costs: CostSensitivity, title: str = "") -> Table:
    """Return for each cost its share, how much worse it may get, and what is gained where it costs nothing.

    Parameters
    ----------
    costs : CostSensitivity
    title : str
    """
    percents = list(costs.curves[0].tolerance) if costs.curves else []
    rows = [
        (
            Cell(COST_NAMES[curve.cost]), _now(curve), Cell(format_ratio(curve.share), style="strong"),
            *(_tolerated(curve, percent) for percent in percents), Cell(f"{format_ratio(curve.gain)} faster"),
        )
        for curve in costs.curves
    ]  # fmt: skip
    heads = [f"{percent:g} % slower at" for percent in percents]
    note = (
        "Share of the time, on the chain of work and messages that decides the end; what each may come to before the "
        "work takes so much longer; and what is gained where it costs nothing."
    )
    return Table(title, (*left("cost"), *right("now", "share", *heads, "at no cost")), tuple(rows), (note,))


def _now(curve: CostCurve) -> Cell:
    if len(curve.values) != 1 or curve.cost == "compute":
        return NOTHING
    [(name, value)] = curve.values.items()
    return Cell(f"{name} {_value(curve, value)}")


def _value(curve: CostCurve, value: float) -> str:
    return f"{1e12 * value:.4g} ps/B" if curve.cost == "bandwidth" else format_time(value)


def _tolerated(curve: CostCurve, percent: float) -> Cell:
    factor = curve.tolerance[percent]
    if factor > _NEVER:
        return Cell("never", style="quiet")
    if len(curve.values) == 1 and curve.cost != "compute":
        [value] = curve.values.values()
        return Cell(_value(curve, value * factor))
    return Cell(f"× {curve.speed(factor):.3g}")


def verdicts(costs: CostSensitivity) -> list[str]:
    """Return sentences: what decides, what a better one would bring, and what may get worse without harm."""
    if not costs.curves:
        return ["Nothing of it depends on latency, bandwidth, overheads or the speed of cores."]
    first = costs.curves[0]
    lines = [f"What takes most of the time is {_SHARES[first.cost]}: {format_ratio(first.share)}."]
    if costs.uncertainty is not None:
        sure = format_ratio(costs.uncertainty)
        lines[0] += f" By the intervals of the machine's parameters, the time is sure to {sure}."
    best = max(costs.curves, key=lambda curve: curve.gain)
    if best.gain > _NO_GAIN:
        lines.append(f"Most would be gained by {_GOODS[best.cost]}: {format_ratio(best.gain)}.")
    for curve in costs.curves if costs.curves[0].tolerance else ():
        factor = curve.tolerance[min(curve.tolerance)]
        percent = f"{min(curve.tolerance):g} %"
        if factor > 2:
            change = "as bad as one likes" if factor > _NEVER else f"{factor:.3g} times as bad"
            lines.append(f"{COST_NAMES[curve.cost].capitalize()} may be {change} before it costs {percent}.")
    return lines
