"""What costs do to a simulated time, as a table and in sentences. Main entries: `cost_table`, `part_tables`,
`verdicts`, `uncertainty_words`.
"""

from collections.abc import Sequence
from typing import Any

from commmodel.report.kit.tables import NOTHING, Cell, Table, left, right
from commmodel.simulate.sensitivity import CostCurve, CostSensitivity
from commmodel.units import counted, format_ratio, format_time

COST_NAMES = {"latency": "latency", "overhead": "overhead of messages", "gap": "gap between messages",
          "bandwidth": "bandwidth", "compute": "speed of cores"}  # fmt: skip
_SHARES = {**COST_NAMES, "latency": "the latency of messages", "bandwidth": "the bytes of messages",
           "compute": "computation"}  # fmt: skip
_GOODS = {"latency": "a network without latency", "overhead": "messages that cost processors nothing",
          "gap": "a network without gaps between messages", "bandwidth": "a network of endless bandwidth",
          "compute": "cores that compute in no time"}  # fmt: skip
_PARTS = 5
"""Links, and hosts, that are shown."""
_NEVER = 1e3
"""The factor from which on a cost may get as bad as one likes."""
_NO_GAIN = 1e-3
_FACTOR = 0.5
"""Share by which a time is unsure from which on that is a factor, and no percentage."""
_HARMLESS = 2.0
"""Times as bad as it is that a cost must be allowed to get, so that there is a sentence about it."""


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
            Cell(COST_NAMES[curve.cost]), _now(curve), _share_cell(curve),
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


def part_tables(costs: CostSensitivity) -> list[Table]:
    """Return the links and the hosts that decide the time, with the share of each; none where links are not shared.

    Parameters
    ----------
    costs : CostSensitivity
    """
    tables = []
    if costs.links:
        rows = [(link.name, link.worse, link.better, link.latency) for link in costs.links[:_PARTS]]
        note = (
            "Share of the time by each link alone: where its bandwidth is 1 % lower, the time grows by that share of "
            f"1 %; where it is higher, it falls by that.{_rest(costs.links, 'link')}"
        )
        tables.append(_part_table(costs.seconds, ("link", "lower bandwidth", "higher", "latency"), rows, note))
    if costs.hosts:
        note = (
            "Share of the time by each host alone: where its cores are 1 % slower, the time grows by that share of "
            f"1 %.{_rest(costs.hosts, 'host')}"
        )
        tables.append(_part_table(costs.seconds, ("host", "speed of cores"), costs.hosts[:_PARTS], note))
    return tables


def _rest(parts: Sequence[Any], kind: str) -> str:
    more = len(parts) - _PARTS
    return f" Left out, as it decides less: {counted(more, kind)}." if more > 0 else ""


def _part_table(seconds: float, heads: tuple[str, ...], parts: Sequence[tuple[Any, ...]], note: str) -> Table:
    rows = [
        (Cell(name), *(NOTHING if value is None else Cell(format_ratio(value / seconds)) for value in values))
        for name, *values in parts
    ]
    return Table("", (*left(heads[0]), *right(*heads[1:])), tuple(rows), (note,))


def _share_cell(curve: CostCurve) -> Cell:
    interval = "" if curve.bounds is None else f"[{', '.join(map(format_ratio, curve.share_interval))}]"
    return Cell(format_ratio(curve.share), interval, style="strong")


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


def uncertainty_words(costs: CostSensitivity) -> str:
    """Return how unsure the time is by the intervals of the machine's parameters; empty where these are not known."""
    unsure = costs.uncertainty
    if unsure is None:
        return ""
    much = f"by a factor of {1 + unsure:.2g}" if unsure >= _FACTOR else f"by {format_ratio(unsure)} either way"
    return f"By the intervals of the machine's parameters, the time is uncertain {much}."


def verdicts(costs: CostSensitivity) -> list[str]:
    """Return sentences: what decides, what a better one would bring, and what may get worse without harm.

    Where intervals of parameters leave open which cost it is, sentences say so.
    """
    if not costs.curves:
        return ["Nothing of it depends on latency, bandwidth, overheads or the speed of cores."]
    return [
        " ".join(filter(None, (_largest(costs), uncertainty_words(costs)))),
        *_most_gain(costs),
        *(line for curve in costs.curves if curve.tolerance for line in _tolerance_line(curve)),
    ]


def _largest(costs: CostSensitivity) -> str:
    """Return what takes most of the time, or what may, where intervals overlap."""
    first, *further = costs.curves
    rivals = [curve for curve in further if curve.share_interval[1] > first.share_interval[0]]
    if not rivals:
        return f"What takes most of the time is {_SHARES[first.cost]}: {format_ratio(first.share)}."
    several = " or ".join(_between(_SHARES[curve.cost], curve.share_interval) for curve in (first, *rivals))
    return f"What takes most of the time is not certain: {several}."


def _between(words: str, interval: tuple[float, float]) -> str:
    low, high = map(format_ratio, interval)
    return f"{words} ({low} to {high})" if low != high else f"{words} ({low})"


def _most_gain(costs: CostSensitivity) -> list[str]:
    """Return what would be gained most, as far as intervals tell."""
    best = max(costs.curves, key=lambda curve: curve.gain)
    if best.gain <= _NO_GAIN:
        return []
    low, high = best.gain_interval
    rivals = [curve for curve in costs.curves if curve is not best and curve.gain_interval[1] > low]
    if low > _NO_GAIN and not rivals:
        return [f"Most would be gained by {_GOODS[best.cost]}: {format_ratio(best.gain)}."]
    more = f"; {' or '.join(_GOODS[curve.cost] for curve in rivals)} may gain more" if rivals else ""
    ends = f"{'nothing' if low <= _NO_GAIN else format_ratio(low)} and {format_ratio(high)}"
    doubt = "" if low == high else f", uncertain between {ends}"
    return [f"Most may be gained by {_GOODS[best.cost]}: {format_ratio(best.gain)}{doubt}{more}."]


def _tolerance_line(curve: CostCurve) -> list[str]:
    """Return by how much a cost may get worse, from the most that it may be already."""
    least = min(curve.tolerance)
    factor = curve.tolerance[least] / (1.0 if curve.bounds is None else max(curve.bounds[1], 1.0))
    if not factor > _HARMLESS:
        return []
    change = "as bad as one likes" if factor > _NEVER else f"{factor:.3g} times as bad"
    return [f"{COST_NAMES[curve.cost].capitalize()} may be {change} before it costs {least:g} %."]
