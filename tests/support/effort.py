"""How much work a test that repeats itself does."""

from hypothesis import settings


def effort(quick, thorough):
    """Return an amount of work: `thorough` with ``--hypothesis-profile thorough``, else `quick`."""
    return thorough if settings.get_current_profile_name() == "thorough" else quick


def some(cases, number):
    """Return `number` cases spread over all, the first and the last among them; with the thorough profile all.

    >>> some(range(10), 4)
    [0, 3, 6, 9]
    """
    cases = list(cases)
    if effort(quick=False, thorough=True) or number >= len(cases):
        return cases
    return [cases[round(place * (len(cases) - 1) / (number - 1))] for place in range(number)]
