"""Names of the calls of a program, as people read them. Main entry: `CallNames`."""

import linecache
import re
from collections.abc import Sequence

from commmodel.sites import Site, resolve

_HIDDEN = {"MPI_Mprobe", "MPI_Comm_dup"}
"""What methods of mpi4py for objects call, which users do not see."""
_OF_OBJECTS = re.compile(r"\.(recv|reduce|allreduce|scan|exscan)\(")


class CallNames:
    """Names calls by what `Pump` says of their sites: call, file, line, function and number of the language."""

    def __init__(self) -> None:
        self._sites: dict[Site, str] = {}

    def name_and_site(self, words: Sequence[str]) -> tuple[str, str]:
        """Return the name of a function and the site of its call."""
        name, file, line, function, language = words
        site = Site(file, int(line), function, int(language))
        if site not in self._sites:
            self._sites[site] = str(resolve([site])[0]) if file else ""
        method = _OF_OBJECTS.search(linecache.getline(file, site.line)) if name in _HIDDEN and language == "1" else None
        return f"{method[1]} ({name})" if method else name, self._sites[site]

    def __call__(self, words: Sequence[str]) -> str:
        """Return both together; of no words, a call of which nothing is known.

        >>> CallNames()([]), CallNames()(["MPI_Send", "", "0", "", "0"])
        ('MPI', 'MPI_Send')
        """
        name, site = self.name_and_site(words) if words else ("MPI", "")
        return f"{name}, {site}" if site else name
