"""What a terminal shows of a guard's result. Main entry: `guard_blocks`."""

from rich.text import Text

from commmodel.guard.verdict import GuardResult
from commmodel.report.kit.tables import Table, text
from commmodel.report.scaling.checks import check_tables
from commmodel.report.scaling.differences import difference_blocks
from commmodel.report.scaling.guard.words import count_words, notes, tables, verdict_words


def guard_blocks(result: GuardResult, least: float) -> list[Table | Text]:
    """Return tables of counts, growth and times, notes, and the verdict.

    Parameters
    ----------
    result : GuardResult
    least : float
        Smallest change of a time that counts.
    """
    blocks: list[Table | Text] = [*tables(result)]
    blocks += [] if result.growth is None else check_tables(result.growth)
    blocks += [] if result.times is None else difference_blocks(result.times, result.times.rows, least)
    blocks += [text(f"note: {words}", "yellow") for words in notes(result)]
    blocks.append(text(count_words(result)))
    sign, style = ("✓", "bold green") if result.holds else ("✗", "bold red")
    return [*blocks, text(f"{sign} {verdict_words(result)}", style)]
