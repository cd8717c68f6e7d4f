"""Ranks, nodes and MPI library of a benchmark's output, from the job script beside it.

Most outputs do not say how many ranks there were, and none how many to a node, unless the command stands in them. Main
entries: `Placement`, `script_of`, `command_placement`.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from commmodel.arguments import Count, whole
from commmodel.docstrings import with_attributes
from commmodel.documents import read_bytes
from commmodel.errors import InputError
from commmodel.results.configurations import MessagePath
from commmodel.signatures import checked

SUFFIXES = {".sh", ".sbatch", ".slurm", ".job", ".pbs", ".lsf"}
"""Of scripts."""
_LARGEST = 1 << 16
"""Bytes of a script."""
_RANKS = re.compile(r"(?:^|\s)(?:(?:--ntasks|--n(?:p|procs)?)[=\s]+|-np?[=\s]*)(\d+)(?=\s|$)|--mpi\s+\"?proc=(\d+)")
_PER_NODE = re.compile(
    r"(?:^|\s)(?:--ntasks-per-node|--tasks-per-node|-ppn|--ppn|-npernode)[=\s]+(\d+)(?=\s|$)"
    r"|\bppr:(\d+):node|mpiprocs=(\d+)|proc-per-node=(\d+)"
)
_NODES = re.compile(r"(?:^|\s)(?:--nodes[=\s]+|-N[=\s]*)(\d+)(?=\s|$)|select=(\d+)|(?<![\w-])node=(\d+(?:x\d+)*)")
_NO_BLOCKS = re.compile(r"\b(?:cyclic|arbitrary|plane)\b|--(?:map-by|rank-by)[=\s]+node\b|-bynode\b")
"""Ranks that do not lie on nodes in blocks."""
_HEADER = re.compile(r"#(?:SBATCH|PBS|BSUB|FLUX:|PJM)\s+(.*)")
_LOADS = re.compile(r"\s*(?:module\s+(?:load|add|swap)|ml(?:\s+load)?|spack\s+load)\s+(?P<names>.*)")
_LIBRARY = re.compile(
    r"(?<![\w.-])(?P<name>open-?mpi|cray-mpich|mpich|mvapich2?|impi|intel-?mpi)[-/@]v?(?P<version>\d+(?:\.\d+)+)",
    re.IGNORECASE,
)
_LIBRARIES = {
    "openmpi": "Open MPI", "craympich": "Cray MPICH", "mpich": "MPICH", "mvapich": "MVAPICH", "mvapich2": "MVAPICH2",
    "impi": "Intel MPI", "intelmpi": "Intel MPI",
}  # fmt: skip
"""Name of a module without strokes -> library."""
_LAUNCHERS = re.compile(
    r"\s*(?:time\s+|exec\s+)*(?P<name>srun|mpirun|mpiexec(?:\.\w+)?|prterun|flux run)\s+(?P<words>.*)"
)


@with_attributes
@dataclass(frozen=True, slots=True)
class Placement:
    """Ranks, which lie on nodes in blocks."""

    ranks: int
    per_node: int | None = None
    """None where it is not known."""

    def __post_init__(self) -> None:
        whole("ranks", self.ranks, 1)
        if self.per_node is not None:
            whole("per_node", self.per_node, 1)

    @checked
    def path(self, pairs: Count) -> MessagePath | None:
        """Return the path of `pairs` pairs, rank i with rank i + pairs; None of some on one and some on another.

        >>> [Placement(64, 32).path(pairs) for pairs in (1, 16, 24, 32)]
        ['same-node', 'same-node', None, 'between-nodes']
        >>> Placement(2).path(1), Placement(256, 32).path(128)
        ('any', None)
        """
        if self.per_node is None:
            return "any"
        if 2 * pairs <= self.per_node:
            return "same-node"
        return "between-nodes" if pairs == self.per_node else None


def parse_placement(text: str) -> Placement:
    """Return ranks, or ranks and ranks of a node, as of the option ``--ranks``.

    >>> parse_placement("64"), parse_placement("64/32")
    (Placement(ranks=64, per_node=None), Placement(ranks=64, per_node=32))
    """
    match = re.fullmatch(r"([1-9][0-9]{0,8})(?:/([1-9][0-9]{0,8}))?", text)
    if match is None:
        raise InputError(f"{text!r} is no number of ranks: write it like 64, or 64/32 with 32 ranks on a node")
    return Placement(int(match[1]), int(match[2]) if match[2] else None)


def placement_words(placement: Placement) -> str:
    """Return a placement in words.

    >>> placement_words(Placement(64, 32))
    '64 ranks, 32 on a node'
    """
    on_nodes = "" if placement.per_node is None else f", {placement.per_node} on a node"
    return f"{placement.ranks} ranks{on_nodes}"


def command_placement(line: str) -> Placement | None:
    """Return the placement that a launcher's command in an output says, None where a line is no such command.

    >>> command_placement("+ srun -n 64 --ntasks-per-node=32 osu_allreduce"), command_placement("8   1.25")
    (Placement(ranks=64, per_node=32), None)
    """
    return _placement([line.lstrip("+$ ")])


class JobScript(NamedTuple):
    """What the script of an output says."""

    name: str = ""
    """Of the file; empty where there is none."""
    placement: Placement | None = None
    library: str = ""
    """The MPI library that it loads."""


def script_of(path: Path) -> JobScript:
    """Return what the script of an output says.

    The script is the one in the same folder that names the output, has its name, or is the only one.
    """
    scripts = [file for file in sorted(path.parent.glob("*")) if file.suffix in SUFFIXES and file.is_file()]
    texts = {file: _read(file) for file in scripts}
    matches = [file for file, text in texts.items() if path.name in text or file.stem == path.stem]
    chosen = matches if len(matches) == 1 else scripts if len(scripts) == 1 else []
    if not chosen:
        return JobScript()
    lines = texts[chosen[0]].splitlines()
    return JobScript(chosen[0].name, _placement(lines), loaded_library(lines))


def loaded_library(lines: Iterable[str]) -> str:
    """Return the MPI library of a script's modules or packages; empty where it loads none, or several.

    >>> loaded_library(["module load gcc/9.1 openmpi-3.1.6-gcc-9.1.0-omffmfv"])
    'Open MPI 3.1.6'
    """
    loads = (match["names"] for line in lines if (match := _LOADS.match(line)))
    libraries = {
        f"{_LIBRARIES[match['name'].lower().replace('-', '')]} {match['version']}"
        for names in loads
        for match in _LIBRARY.finditer(names)
    }
    return libraries.pop() if len(libraries) == 1 else ""


def _read(file: Path) -> str:
    try:
        return read_bytes(file, _LARGEST).decode("utf-8", "replace")
    except InputError:
        return ""


def _placement(lines: Iterable[str]) -> Placement | None:
    """Return what the lines of a script say: of its launchers, if all say the same, else of its header."""
    header, launchers = "", []
    for line in lines:
        if match := _HEADER.match(line):
            header += f" {match[1]}"
        elif match := _LAUNCHERS.match(line):
            words = f" {match['words']}"
            is_srun = match["name"] == "srun"
            launchers.append((words if is_srun else words.replace(" -N ", " -npernode "), is_srun))
    placements = {_of_words(words, header, is_srun) for words, is_srun in launchers} or {_of_words("", header)}
    return placements.pop() if len(placements) == 1 else None


def _of_words(words: str, header: str, is_srun: bool = False) -> Placement | None:
    if _NO_BLOCKS.search(f"{words} {header}"):
        return Placement(ranks) if (ranks := _number(_RANKS, words) or _number(_RANKS, header)) else None
    ranks, per_node, nodes = (
        _number(pattern, words) or _number(pattern, header) for pattern in (_RANKS, _PER_NODE, _NODES)
    )
    if ranks is None and per_node is not None and nodes is not None:
        ranks = per_node * nodes
    if ranks is None and is_srun:  # whose default is one to a node
        ranks = nodes
    if ranks is None:
        return None
    if per_node is None and nodes is not None and ranks % nodes == 0:
        per_node = ranks // nodes
    return Placement(ranks, per_node)


def _number(pattern: re.Pattern[str], words: str) -> int | None:
    match = pattern.search(words)
    if match is None:
        return None
    return math.prod(map(int, next(group for group in match.groups() if group).split("x")))  # 4x6x16 nodes of a torus
