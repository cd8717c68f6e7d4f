"""How much work a test that repeats itself does."""

from hypothesis import settings


def effort(quick, thorough):
    """Return an amount of work: `thorough` with ``--hypothesis-profile thorough``, else `quick`."""
    return thorough if settings.get_current_profile_name() == "thorough" else quick
