"""Earlier spellings of the command line's options, which scripts may have. Main entry: `accept_old_spellings`."""

import re
from typing import TypeVar

_Action = TypeVar("_Action")
OLD_SPELLINGS = (
    ("bench", "--procs", "--process-counts"),
    ("check", "--draws", "--resamples"),
    ("check", "--each", "--per-node"),
    ("check", "--limit", "--memory"),
    ("compare", "--pairs", "--launches"),
    ("fit", "--limits", "--protocol-limits"),
    ("fit", "--samples", "--resamples"),
    ("optimize", "--compute", "--computation"),
    ("optimize", "--pattern", "--patterns"),
    ("predict", "--operation", "--collective"),
    ("sweep", "--limit", "--timeout"),
    ("tune", "--operations", "--collectives"),
)
"""Verb, earlier spelling of an option, which is still accepted, and its spelling."""


NEGATIVE = re.compile(r"-\.?[0-9]")
"""Beginning of a negative value, which argparse would take for an option but for plain numbers: ``--time -5s``."""


def accept_old_spellings(verb: str, actions: dict[str, _Action]) -> None:
    """Add the earlier spellings of a verb's options to argparse's table of options, without naming them in the help.

    >>> accept_old_spellings("sweep", table := {"--timeout": 1}); sorted(table)
    ['--limit', '--timeout']
    """
    for name, earlier, spelling in OLD_SPELLINGS:
        if name == verb and spelling in actions:
            actions[earlier] = actions[spelling]
