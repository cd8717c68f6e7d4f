"""The table of predicted run times of scaled and of several platforms. Main entries: `prediction_table`, `verdicts`."""

from collections.abc import Sequence

from commmodel.report.kit.cells import measured_cell
from commmodel.report.kit.tables import NOTHING, Cell, Style, Table, left, right
from commmodel.report.simulation.tables import use_cells
from commmodel.simulate.scenario import Scale
from commmodel.simulate.what_if import PredictedRun, RankTimes
from commmodel.units import format_ratio, format_time

_ALIKE = 1e-3
"""Share of a time in which ranks, or runs, may differ and still be the same to people."""
_FACTOR = 1.1
"""Ratio from which on it is a factor, and no percentage."""
_MOST_CHANGES = 12
"""Single changes that have a sentence."""


def factor_names(predictions: Sequence[PredictedRun]) -> list[str]:
    """Return the names of the factors that are not 1 everywhere."""
    rows = [prediction.scale.factors for prediction in predictions]
    return [name for name in rows[0] if any(row[name] != 1 for row in rows)]


def place_words(prediction: PredictedRun) -> str:
    """Return the platform and the model."""
    return f"{prediction.place}, {prediction.model}"


def run_words(prediction: PredictedRun, predictions: Sequence[PredictedRun]) -> str:
    """Return what tells a run from the others: its platform, where there are several, and its factors."""
    models = {place_words(run) for run in predictions}
    if len(models) == 1:
        return str(prediction.scale)
    scale = "" if prediction.scale == Scale() else f", {prediction.scale}"
    is_told_by_place = len({run.place for run in predictions}) == len(models)
    return f"{prediction.place if is_told_by_place else place_words(prediction)}{scale}"


def baseline_first(predictions: Sequence[PredictedRun]) -> list[PredictedRun]:
    """Return the runs with the baseline, which others are held against, before all others.

    That is the first place as it is, or else the first run.
    """
    number = next((number for number, run in enumerate(predictions) if run.scale == Scale()), 0)
    return [predictions[number], *predictions[:number], *predictions[number + 1 :]]


def beside_words(seconds: float, baseline: float) -> str:
    """Return how a run time compares with that of the baseline; both are above 0.

    Simulated times have no noise: what differs by no more than 0.1 % is the same to people.

    >>> beside_words(1.0, 2.0), beside_words(2.0, 1.9), beside_words(1.0005, 1.0)
    ('2 times faster', '5.3 % slower', 'the same within 0.1 %')
    """
    if abs(seconds - baseline) <= _ALIKE * baseline:
        return f"the same within {format_ratio(_ALIKE)}"
    ratio, word = max(seconds / baseline, baseline / seconds), "slower" if seconds > baseline else "faster"
    return f"{ratio:.3g} times {word}" if ratio >= _FACTOR else f"{format_ratio(ratio - 1)} {word}"


def _is_comparable(prediction: PredictedRun) -> bool:
    return not prediction.blocked and prediction.seconds > 0


def _changes(predictions: Sequence[PredictedRun], best: PredictedRun) -> list[str]:
    """Return a sentence for each run that differs from the baseline in one factor or its platform.

    The best run has its sentence, if it is faster.
    """
    baseline, *changed = predictions
    lines = []
    for run in changed:
        if run is best and run.seconds < (1 - _ALIKE) * baseline.seconds:
            continue
        factors = [name for name, factor in run.scale.factors.items() if factor != getattr(baseline.scale, name)]
        differences = len(factors) + (place_words(run) != place_words(baseline))
        if differences == 1 and _is_comparable(run):
            is_worse = run.seconds > (1 + _ALIKE) * baseline.seconds
            beside = f"{'no better: ' if is_worse else ''}{beside_words(run.seconds, baseline.seconds)}"
            lines.append(f"{run_words(run, predictions)}: {format_time(run.seconds)}, {beside}.")
    return lines if len(lines) <= _MOST_CHANGES else []


def verdicts(predictions: Sequence[PredictedRun]) -> list[str]:
    """Return sentences: the baseline's time, the fastest run, what each single change does, and deadlocks.

    Parameters
    ----------
    predictions : sequence of PredictedRun
        With the baseline first.
    """
    baseline, *changed = predictions
    finished = [run for run in changed if _is_comparable(run)]
    name = "As it is" if baseline.scale == Scale() else f"Baseline, {baseline.scale}"
    time = "it ends in a deadlock" if baseline.blocked else format_time(baseline.seconds)
    sentences = [f"{name}, on {baseline.place} ({baseline.model}): {time}."]
    if finished:
        best = min(finished, key=lambda run: run.seconds)
        words = f"run {[*predictions].index(best) + 1}, {run_words(best, predictions)}"
        if not _is_comparable(baseline):
            sentences.append(f"Fastest is {words}: {format_time(best.seconds)}.")
        elif best.seconds < (1 - _ALIKE) * baseline.seconds:
            beside = beside_words(best.seconds, baseline.seconds)
            sentences.append(f"Fastest is {words}: {format_time(best.seconds)}, {beside}.")
        else:
            beside = beside_words(best.seconds, baseline.seconds)
            sentences.append(f"Nothing is better: the fastest of the others, {words}, is {beside}.")
        changes = _changes(predictions, best) if _is_comparable(baseline) else []
        sentences += changes if len(changed) > 1 else []
    if blocked := sum(bool(prediction.blocked) for prediction in predictions):
        sentences.append(f"{blocked} of {len(predictions)} runs end in a deadlock.")
    return sentences


def states_of(predictions: Sequence[PredictedRun]) -> list[str]:
    """Return the states in which any rank spends time."""
    return [state for state in predictions[0].ranks if any(run.ranks[state].most > 0 for run in predictions)]


def _times_cell(times: RankTimes) -> Cell:
    if times.most == 0:
        return NOTHING
    if times.most - times.least <= _ALIKE * times.most:
        return Cell(format_time(times.median))
    return measured_cell(times.median, times.least, times.most, "s")


def prediction_table(predictions: Sequence[PredictedRun], title: str = "") -> Table:
    """Return the run times, and what ranks do: median, least and most over the ranks.

    Parameters
    ----------
    predictions : sequence of PredictedRun
        With the baseline first, which the others are held against.
    title : str
    """
    names = factor_names(predictions)
    baseline = predictions[0]
    states = states_of(predictions)
    uses, use_rows = use_cells(predictions)
    rows = []
    for number, prediction in enumerate(predictions, 1):
        factors = (Cell(f"{getattr(prediction.scale, name):g}") for name in names)
        if prediction.blocked:
            times, beside = Cell("deadlock", style="bad"), NOTHING
        else:
            times = Cell(format_time(prediction.seconds), style="strong")
            is_apart = number > 1 and prediction.seconds > 0 and _is_comparable(baseline)
            beside = _beside_cell(prediction.seconds, baseline.seconds) if is_apart else Cell("")
        beside = Cell("as it is" if prediction.scale == Scale() else "") if number == 1 else beside
        ranks = [_times_cell(prediction.ranks[state]) for state in states]
        rows.append((Cell(str(number)), Cell(place_words(prediction)), *factors, times, beside, *use_rows[number - 1],
                     *ranks))  # fmt: skip
    columns = (
        *right("run"), *left("platform, model"), *right(*names, "run time", "against run 1"), *right(*uses, *states),
    )  # fmt: skip
    notes = [
        "Ranks: median [least, most] of their seconds in each state; in transfer messages move, in wait none does."
    ]
    if uses:
        notes.append(f"{' and '.join(uses).capitalize()}: of the hosts with ranks, until the last rank ends.")
    return Table(title, columns, tuple(rows), tuple(notes))


def _beside_cell(seconds: float, baseline: float) -> Cell:
    if abs(seconds - baseline) <= _ALIKE * baseline:
        return Cell("the same", style="quiet")
    style: Style = "" if seconds > baseline else "good"
    return Cell(beside_words(seconds, baseline), style=style)
