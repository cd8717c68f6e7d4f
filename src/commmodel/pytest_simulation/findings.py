"""Wrong uses of MPI, as ranks tell them at the end of a test. Main entry: `finding_of`."""

from collections.abc import Sequence

from commmodel.simulate.findings import Finding
from commmodel.sites import Site, resolve

_OF_SITE = 5  # words: call, file, line, function, language


def _call_of(words: Sequence[str]) -> str:
    name, file, line, function, language = words
    return f"{name}, {resolve([Site(file, int(line), function, int(language))])[0]}" if file else name


def finding_of(words: Sequence[str]) -> Finding:
    """Return a finding of its words: kind, sentence, times, ranks as a 0 or a 1 each, and those of its sites.

    >>> print(finding_of(["leak", "never freed", "2", "0110", "MPI_Comm_dup", "/a/b.py", "3", "test", "1"]))
    leak: never freed: MPI_Comm_dup, b.py:3 (ranks 1-2)
    """
    kind, sentence, times, bits, *sites = words
    ranks = tuple(rank for rank, bit in enumerate(bits) if bit == "1")
    begins = range(0, len(sites) // _OF_SITE * _OF_SITE, _OF_SITE)
    return Finding(
        kind, sentence, ranks, tuple(_call_of(sites[begin : begin + _OF_SITE]) for begin in begins), int(times)
    )
