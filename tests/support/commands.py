"""Commands as they are printed."""


def joined(output: str) -> str:
    """Return an output on one line, with the lines of its commands joined as a shell joins them.

    >>> joined("written to a; next:\\n  commmodel report \\\\\\n      a\\n")
    'written to a; next: commmodel report a'
    """
    return " ".join(output.replace("\\\n", " ").split())
