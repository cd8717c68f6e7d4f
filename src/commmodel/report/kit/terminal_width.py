"""Columns of a table on a narrow terminal: numbers stay whole, words break at blanks, a wide table goes on below.

Main entries: `least_width`, `parts` and `shared`.
"""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len

_MOST_OF_WORDS = 24
"""Columns that words may take at least, before a table is divided."""


def least_width(headings: str, cells: Iterable[str], *, is_number: bool) -> int:
    """Return how many columns of a terminal a table's column needs, so that nothing is torn.

    A number stays on a line with its unit; headings and words break at blanks.

    Parameters
    ----------
    headings : str
        Heading of the column.
    cells : iterable of str
        Lines of its cells.
    is_number : bool

    Examples
    --------
    >>> least_width("run time", ["36.5 ms", "2 us"], is_number=True)
    7
    >>> least_width("what", ["ping-pong of 8 B", "barrier"], is_number=False)
    9
    """
    lines = [line for cell in cells for line in cell.splitlines()]
    words = [word for line in (*headings.splitlines(), *([] if is_number else lines)) for word in line.split()]
    least = max((cell_len(part) for part in (words if not is_number else (*words, *lines))), default=1)
    if is_number:
        return max(least, 1)
    longest = max(map(cell_len, lines), default=1)
    return max(least, min(longest, _MOST_OF_WORDS) // 2, 1)


def parts(widths: Sequence[int], room: int, keys: int) -> list[list[int]]:
    """Return the columns of each part of a table, which is divided where it is too wide.

    Parameters
    ----------
    widths : sequence of int
        The least width of each column, with the space beside it.
    room : int
        Width of the terminal.
    keys : int
        Columns that name a row, and begin each part.

    Examples
    --------
    >>> parts([6, 8, 8, 8], 24, 1)
    [[0, 1, 2], [0, 3]]
    >>> parts([6, 8, 8, 8], 30, 1)
    [[0, 1, 2, 3]]
    """
    if sum(widths) <= room:
        return [[*range(len(widths))]]
    first = sum(widths[:keys])
    divided: list[list[int]] = [[*range(keys)]]
    used = first
    for column, width in enumerate(widths[keys:], keys):
        if used + width > room and len(divided[-1]) > keys:
            divided.append([*range(keys)])
            used = first
        divided[-1].append(column)
        used += width
    return divided


def shared(least: Sequence[int], natural: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns that share a terminal: short ones are whole first, long ones break.

    Parameters
    ----------
    least, natural : sequence of int
        What each column needs, and what it would take.
    room : int
        For all of them.

    Examples
    --------
    >>> shared([4, 7], [12, 7], 40), shared([4, 7], [40, 7], 30)
    ([12, 7], [23, 7])
    """
    widths = [*least]
    for _ in range(room - sum(least)):
        lacking = [place for place in range(len(widths)) if widths[place] < natural[place]]
        if not lacking:
            break
        widths[min(lacking, key=widths.__getitem__)] += 1
    return widths
