"""The table of predicted run times of scaled and of several platforms. Main entry: `prediction_table`."""

from collections.abc import Sequence
from dataclasses import asdict

from commmodel.report.kit.cells import measured_cell
from commmodel.report.kit.tables import NOTHING, Cell, Table, left, right
from commmodel.simulate.scenario import Scale
from commmodel.simulate.what_if import PredictedRun, RankTimes
from commmodel.units import format_time

_ALIKE = 1e-3
"""Share of a time in which ranks may differ and still be the same to people."""


def factor_names(predictions: Sequence[PredictedRun]) -> list[str]:
    """Return the names of the factors that are not 1 everywhere."""
    rows = [asdict(prediction.scale) for prediction in predictions]
    return [name for name in rows[0] if any(row[name] != 1 for row in rows)]


def place_words(prediction: PredictedRun) -> str:
    """Return the platform and the model."""
    return f"{prediction.place}, {prediction.model}"


def _reference(predictions: Sequence[PredictedRun]) -> PredictedRun:
    """Return the run that others are held against: the first place as it is, or else the first run."""
    return next((prediction for prediction in predictions if prediction.scale == Scale()), predictions[0])


def verdicts(predictions: Sequence[PredictedRun]) -> list[str]:
    """Return sentences: the fastest run and how much faster than the reference it is; deadlocks."""
    finished = [prediction for prediction in predictions if not prediction.blocked and prediction.seconds > 0]
    sentences = []
    if len(finished) > 1:
        first, best = _reference(predictions), min(finished, key=lambda prediction: prediction.seconds)
        number = predictions.index(best) + 1
        is_beside = best is not first and first.seconds > 0 and not first.blocked
        beside = f", {first.seconds / best.seconds:.2f} times as fast as run {predictions.index(first) + 1}" * is_beside
        scale = f", {best.scale}" if factor_names([best]) else ""
        sentences.append(f"Fastest is run {number}, {place_words(best)}{scale}: {format_time(best.seconds)}{beside}.")
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

    Times are held against those of the first place as it is, or else of the first run.
    """
    names = factor_names(predictions)
    first = _reference(predictions)
    states = states_of(predictions)
    rows = []
    for number, prediction in enumerate(predictions, 1):
        factors = (Cell(f"{getattr(prediction.scale, name):g}") for name in names)
        if prediction.blocked:
            times, beside = Cell("deadlock", style="bad"), NOTHING
        else:
            times = Cell(format_time(prediction.seconds), style="strong")
            is_apart = prediction is not first and prediction.seconds > 0 and not first.blocked
            beside = Cell(f"{first.seconds / prediction.seconds:.2f}") if is_apart else Cell("")
        ranks = [_times_cell(prediction.ranks[state]) for state in states]
        rows.append((Cell(str(number)), Cell(place_words(prediction)), *factors, times, beside, *ranks))
    columns = (
        *right("run"), *left("platform, model"), *right(*names, "run time", "times faster"), *right(*states),
    )  # fmt: skip
    note = "Ranks: median [least, most] of their seconds in each state; in transfer messages move, in wait none does."
    return Table(title, columns, tuple(rows), (note,))
