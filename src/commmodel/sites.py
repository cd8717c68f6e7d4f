"""Call sites: where in a program its calls of MPI stand. Main entries: `Site`, `resolve`."""

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from commmodel.docstrings import with_attributes

__all__ = ["Site", "resolve", "without_suffix"]

_PATIENCE = 20.0
_ADDRESS = "@0x"
_CALLER = ", called at "
"""What sites.c writes between a function of a library and the line of the program that calls it."""


@with_attributes
@dataclass(frozen=True)
class Site:
    """A line of a program; without a file it is not known.

    Attributes
    ----------
    file : str
        As the program names it.
    line : int
        0 where it is not known.
    function : str
    language : int
        0 unknown, 1 Python, 2 C, 3 Fortran.
    """

    file: str = ""
    line: int = 0
    function: str = ""
    language: int = 0

    def __str__(self) -> str:
        """Return the file's name and the line, as people write them; of a library's line also who calls it.

        >>> str(Site("/home/ada/solver.py", 81, "step", 1)), str(Site()), str(Site("/opt/app", 0, "main", 2))
        ('solver.py:81', 'unknown site', 'app, main')
        >>> str(Site("/opt/site-packages/heat/communication.py", 680, "Bcast, called at solver.py:42", 1))
        'communication.py:680 from solver.py:42'
        """
        name = os.path.basename(self.file)
        if not name:
            return "unknown site"
        caller = self.function.partition(_CALLER)[2]
        behind = f" from {caller}" if caller else ""
        return f"{name}:{self.line}{behind}" if self.line else f"{name}, {self.function}" if self.function else name


def without_suffix(place: str) -> str:
    """Return where a site is; of a compiled module of Python, its name alone.

    >>> without_suffix("MPI.mpich.cpython-311-x86_64-linux-gnu.so, @0x8fd52")
    'MPI.mpich, @0x8fd52'
    """
    return re.sub(r"\.cpython-[^,]*", "", place)


def resolve(sites: Sequence[Site]) -> list[Site]:
    """Return sites in which addresses in C programs have become lines, or else functions, if addr2line knows them."""
    addresses: dict[str, list[int]] = defaultdict(list)
    for number, site in enumerate(sites):
        if not site.line and _ADDRESS in site.function and os.path.isfile(site.file):
            addresses[site.file].append(number)
    resolved = list(sites)
    for file, numbers in addresses.items():
        words = [sites[number].function.rpartition("@")[2] for number in numbers]
        for number, address, (function, path, line) in zip(numbers, words, _answers(file, words), strict=False):
            site = sites[number]
            function = function or site.function.partition(_ADDRESS)[0]
            if line:
                resolved[number] = replace(site, file=path, line=line, function=function)
            else:
                resolved[number] = replace(site, function=f"{function}@{address}")
    return resolved


def _answers(file: str, addresses: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return function, file and line of each address, empty or 0 where addr2line does not say."""
    try:
        done = subprocess.run(
            ["addr2line", "-f", "-C", "-e", os.path.abspath(file)], input="\n".join(addresses), timeout=_PATIENCE,
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return []
    answers = done.stdout.splitlines()
    lines = []
    for function, place in zip(answers[::2], answers[1::2], strict=False):
        path, _, number = place.split(" (discriminator")[0].rpartition(":")
        line = int(number) if number.isdecimal() and not path.startswith("?") else 0
        lines.append((_plain(function), path, line))
    return lines


def _plain(function: str) -> str:
    """Return a function of C++ without its type, arguments and those of templates.

    >>> _plain("void solver::step<double>(std::vector<double>&)"), _plain("main"), _plain("??")
    ('solver::step', 'main', '')
    """
    if function.startswith("?"):
        return ""
    name, depth = "", 0
    for character in function.replace("(anonymous namespace)::", ""):
        if character == "(" and not depth:
            break
        depth += (character == "<") - (character == ">")
        name += character if not depth and character != ">" else ""
    return name.split()[-1] if name.split() else function
