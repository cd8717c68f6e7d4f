"""Tables and sentences on the cost of the model's choices. Main entry: `validation_tables`."""

from itertools import groupby

from rich.text import Text

from commmodel.optimize.validation import MISESTIMATES, Case, Validation, ValidationSummary
from commmodel.report.kit.cells import error_words, measured_cell
from commmodel.report.kit.tables import NOTHING, Cell, Table, common_notes, left, right, text
from commmodel.report.overlap.measurements import decomposition_words, problem_words
from commmodel.units import counted, format_ratio, format_size, format_time

_NOTE = (
    "r: computation over communication, t_V / (T_blocking − t_V). hidden: share of the communication that the choice "
    "hides, and that the best hides. not split: the advice is one blocking message. loss: (T_chosen − T_best) / "
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
        Cell("not split")
        if case.advice == "do not split"
        else Cell(decomposition_words(chosen.message_size, chosen.burst)),
        measured_cell(chosen.seconds, chosen.low, chosen.high, "s"),
        Cell(format_time(case.model_seconds)),
        _hidden(case),
        _loss(case),
    )


def case_tables(validation: Validation) -> tuple[Table, ...]:
    """Return a table for each pattern, operation, path, template and library: a row for each case."""
    several = _several_libraries(validation)
    columns = right("V", "r", "blocking", "best", "T", "chosen", "T", "model", "hidden", "loss")
    tables = []
    for title, group in groupby(
        validation.cases, key=lambda case: f"{problem_words(case.sweep, with_library=several)}, {case.sweep.template}"
    ):
        tables.append(Table(title, columns, tuple(map(_row, group)), (_NOTE,), details="none"))
    return common_notes(tables)


def _names(summary: ValidationSummary, *, with_library: bool) -> Cell:
    if not summary.pattern:
        return Cell("all")
    path = "" if summary.path == "any" else summary.path
    words = ", ".join(filter(None, (summary.pattern, summary.operation, path, summary.template)))
    return Cell(words, summary.library if with_library else "")


def _several_libraries(validation: Validation) -> bool:
    return len({case.sweep.library for case in validation.cases}) > 1


def _summary_table(validation: Validation) -> Table:
    """Return the losses of each pattern, operation, path, template and library, and of all."""
    several = _several_libraries(validation)
    rows = tuple(
        (
            _names(summary, with_library=several),
            Cell(str(summary.cases)),
            Cell(_ratio(summary.median_loss)),
            Cell(_ratio(summary.worst_loss)),
            Cell(str(summary.within_noise)),
            Cell(_ratio(summary.least_share_of_best)),
            Cell(str(summary.nothing_to_hide)),
            Cell(_ratio(summary.worst_loss_of_nothing)),
        )
        for summary in validation.summaries
    )
    columns = (
        *left("pattern"),
        *right("cases", "median loss", "worst loss", "in noise", "least of best", "nothing to hide", "its worst loss"),
    )
    note = (
        "In noise: cases whose choice is not known to be slower than the best. Least of best: what the choice hides "
        "over what the best decomposition hides."
    )
    return Table("How good the choices are", columns, rows, (note,), details="beside")


def _misestimate_table(validation: Validation) -> Table | None:
    """Return the losses with wrong estimates of the computation; None without cases."""
    several = _several_libraries(validation)
    rows = tuple(
        (
            _names(summary, with_library=several),
            *(Cell(format_ratio(middle), f"worst {format_ratio(worst)}") for _, middle, worst in summary.misestimates),
        )
        for summary in validation.summaries
        if summary.misestimates
    )
    columns = (*left("pattern"), *right(*(f"t_V {error_words(factor - 1)}" for factor in MISESTIMATES)))
    note = "Median loss, measured, of what is chosen with such an estimate of the computation (Iancu 2007, Table 2)."
    title = "With a wrong estimate of the computation"
    return Table(title, columns, rows, (note,), details="beside") if rows else None


def cost_tables(validation: Validation) -> tuple[Table, ...]:
    """Return the costs of the choices, and the costs with a wrong estimate of the computation."""
    return tuple(filter(None, (_summary_table(validation), _misestimate_table(validation))))


def verdicts(validation: Validation) -> list[str]:
    """Return the findings as sentences."""
    over_all = validation.summaries[0]
    sentences = []
    if over_all.cases:
        worst, middle = _ratio(over_all.worst_loss), _ratio(over_all.median_loss)
        cases = counted(over_all.cases, "case")
        sentence = f"In {cases} the choices lose at most {worst} of the blocking time, {middle} in the median."
        if over_all.within_noise:
            sentence += f" In {over_all.within_noise} of them choice and best cannot be told apart."
        least = over_all.least_share_of_best
        if least is not None and least > 0:
            sentence += f" They hide at least {_ratio(least)} of what the best decompositions hide."
        elif least is not None:
            sentence += " At worst they hide nothing, and take as long as without overlap or longer."
        sentences.append(sentence)
    count = over_all.cases + over_all.nothing_to_hide
    cost = over_all.worst_against_blocking
    sentence = f"In {over_all.not_split} of {count} cases the advice is not to split."
    sentence += (
        f" Compared with not splitting, the advice costs {format_ratio(cost)} at worst."
        if cost > 0
        else (" Nowhere does the advice cost more than not splitting.")
    )
    sentences.append(sentence)
    if over_all.disturbed:
        sentences.append(
            f"In {over_all.disturbed} of {count} cases the computation alone takes 1.5 times as long in some records "
            "as in others: the best of so many unsteady times is the luckiest, and losses are too large. Measure on a "
            "quieter machine, or longer."
        )
    if over_all.nothing_to_hide:
        cases = counted(over_all.nothing_to_hide, "further " * bool(over_all.cases) + "case")
        sentences.append(
            f"In {cases} there is nothing to hide: even the best decomposition hides less than 10 % of the "
            "communication, or there is hardly any."
        )
    return [*validation.progress, *sentences]


def validation_tables(validation: Validation) -> list[Table | Text]:
    """Return a table of cases for each pattern, the costs, and the findings."""
    return [
        *case_tables(validation),
        *cost_tables(validation),
        *map(text, verdicts(validation)),
        *(text(line, "yellow") for line in validation.left_out),
    ]
