"""What the model's choices of message size and burst cost, as tables and sentences. Main entry: `validation_tables`."""

from itertools import groupby

from rich.console import RenderableType

from commmodel.optimize.validation import MISESTIMATES, Case, Validation, ValidationSummary
from commmodel.report.kit.cells import NOTHING, Cell, measured_cell
from commmodel.report.kit.terminal import text
from commmodel.report.measurements.other_kernels import PartTable
from commmodel.report.overlap.measurements import decomposition_words, problem_words
from commmodel.report.prediction.comparison import error_words, part_table
from commmodel.units import format_ratio, format_size, format_time

__all__ = ["case_parts", "misestimate_part", "summary_part", "validation_tables", "verdicts"]

HINT = (
    "r: computation over communication, t_V / (T_blocking − t_V). hidden: share of the communication that the choice "
    "hides, and that the best hides. not cut: the advice is one blocking message. loss: (T_chosen − T_best) / "
    "T_blocking, measured; best: the choice is the best; ~: the intervals overlap, so neither is known to be faster."
)


def _ratio(value: float | None) -> str:
    return "–" if value is None else format_ratio(value)


def _hidden(case: Case) -> Cell:
    if case.sweep.nothing_to_hide:
        return Cell("nothing to hide", case.sweep.nothing_to_hide)
    return Cell(f"{_ratio(case.hidden_share)} of {_ratio(case.best_hidden_share)}")


def _loss(case: Case) -> Cell:
    if case.loss == 0:
        return Cell("best")
    return Cell(f"{'~' * case.within_noise}{format_ratio(case.loss)}")


def _row(case: Case) -> tuple[Cell, ...]:
    sweep, best, chosen = case.sweep, case.sweep.best, case.chosen
    blocking = NOTHING if sweep.blocking is None else Cell(format_time(sweep.blocking.seconds))
    return (
        Cell(format_size(sweep.volume)),
        Cell("–" if sweep.ratio is None else f"{sweep.ratio:.2f}"),
        blocking,
        Cell(decomposition_words(best.message_size, best.burst)),
        measured_cell(best.seconds, best.low, best.high, "s"),
        Cell("not cut")
        if case.advice == "do not cut"
        else Cell(decomposition_words(chosen.message_size, chosen.burst)),
        measured_cell(chosen.seconds, chosen.low, chosen.high, "s"),
        Cell(format_time(case.model_seconds)),
        _hidden(case),
        _loss(case),
    )


def case_parts(validation: Validation) -> list[PartTable]:
    """Return a table for each pattern, operation, path, template and library: a row for each case."""
    several = _several_libraries(validation)
    columns = ("V", "r", "blocking", "best", "T", "chosen", "T", "model", "hidden", "loss")
    parts = []
    for title, group in groupby(
        validation.cases, key=lambda case: f"{problem_words(case.sweep, with_library=several)}, {case.sweep.template}"
    ):
        parts.append(PartTable(title, columns, tuple(map(_row, group)), HINT))
    return parts


def _names(summary: ValidationSummary, *, with_library: bool) -> Cell:
    if not summary.pattern:
        return Cell("all")
    path = "" if summary.path == "any" else summary.path
    words = ", ".join(filter(None, (summary.pattern, summary.operation, path, summary.template)))
    return Cell(words, summary.library if with_library else "")


def _several_libraries(validation: Validation) -> bool:
    return len({case.sweep.library for case in validation.cases}) > 1


def summary_part(validation: Validation) -> PartTable:
    """Return the losses of each pattern, operation, path, template and library, and of all."""
    several = _several_libraries(validation)
    rows = tuple(
        (
            _names(one, with_library=several),
            Cell(str(one.cases)),
            Cell(_ratio(one.median_loss)),
            Cell(_ratio(one.worst_loss)),
            Cell(str(one.within_noise)),
            Cell(_ratio(one.least_share_of_best)),
            Cell(str(one.nothing_to_hide)),
            Cell(_ratio(one.worst_loss_of_nothing)),
        )
        for one in validation.summaries
    )
    columns = (
        "pattern", "cases", "median loss", "worst loss", "in noise", "least of best", "nothing to hide",
        "its worst loss",
    )  # fmt: skip
    hint = (
        "In noise: cases whose choice is not known to be slower than the best. Least of best: what the choice hides "
        "over what the best decomposition hides."
    )
    return PartTable("How good the choices are", columns, rows, hint)


def misestimate_part(validation: Validation) -> PartTable | None:
    """Return the losses where the computation is estimated wrongly; None where there is no case to tell."""
    several = _several_libraries(validation)
    rows = tuple(
        (
            _names(one, with_library=several),
            *(Cell(format_ratio(middle), f"worst {format_ratio(worst)}") for _, middle, worst in one.misestimates),
        )
        for one in validation.summaries
        if one.misestimates
    )
    columns = ("pattern", *(f"t_V {error_words(factor - 1)}" for factor in MISESTIMATES))
    hint = "Median loss, measured, of what is chosen with such an estimate of the computation (Iancu 2007, Table 2)."
    return PartTable("With a wrong estimate of the computation", columns, rows, hint) if rows else None


def _cases(count: int, further: str = "") -> str:
    return f"one {further}case" if count == 1 else f"{count} {further}cases"


def verdicts(validation: Validation) -> list[str]:
    """Return what was found in plain sentences."""
    over_all = validation.summaries[0]
    said = []
    if over_all.cases:
        worst, middle = _ratio(over_all.worst_loss), _ratio(over_all.median_loss)
        cases = _cases(over_all.cases)
        line = f"In {cases} the choices lose at most {worst} of the blocking time, {middle} in the median."
        if over_all.within_noise:
            line += f" In {over_all.within_noise} of them choice and best cannot be told apart."
        least = over_all.least_share_of_best
        if least is not None and least > 0:
            line += f" They hide at least {_ratio(least)} of what the best decompositions hide."
        elif least is not None:
            line += " At worst they hide nothing, and take as long as without overlap or longer."
        said.append(line)
    count = over_all.cases + over_all.nothing_to_hide
    cost = over_all.worst_against_blocking
    line = f"In {over_all.not_cut} of {count} cases the advice is not to cut."
    line += (
        f" Against not cutting, the advice costs {format_ratio(cost)} at worst."
        if cost > 0
        else (" Nowhere does the advice cost more than not cutting.")
    )
    said.append(line)
    if over_all.disturbed:
        said.append(
            f"In {over_all.disturbed} of {count} cases the computation alone takes 1.5 times as long in some records "
            "as in others: the best of so many unsteady times is the luckiest, and losses are too large. Measure on a "
            "quieter machine, or longer."
        )
    if over_all.nothing_to_hide:
        cases = _cases(over_all.nothing_to_hide, "further " * bool(over_all.cases))
        said.append(
            f"In {cases} there is nothing to hide: even the best decomposition hides less than 10 % of the "
            "communication, or there is hardly any."
        )
    return [*validation.progress, *said]


def validation_tables(validation: Validation) -> list[RenderableType]:
    """Return a table of cases for each pattern, the sums, and what they mean."""
    cases = [part_table(_without_details(part)) for part in case_parts(validation)]
    sums = [part for part in (summary_part(validation), misestimate_part(validation)) if part is not None]
    return [
        *cases,
        text(f"{HINT}\n", "dim"),
        *map(part_table, sums),
        *map(text, verdicts(validation)),
        *(text(line, "yellow") for line in validation.left_out),
    ]


def _without_details(part: PartTable) -> PartTable:
    """Return the table without intervals, for which a line of the terminal has no room."""
    return part._replace(rows=tuple(tuple(Cell(cell.value) for cell in row) for row in part.rows))
