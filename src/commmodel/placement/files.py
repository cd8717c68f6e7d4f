"""Files for Slurm, Open MPI and MPICH that say where ranks go. Main entries: `launcher_files`, `refuse_existing`."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError
from commmodel.simulate.platform import Platform

SLURM, OPEN_MPI, MPICH = "hostfile", "rankfile", "MPICH_RANK_ORDER"
_RANKS_IN_LINE = 16


def launcher_files(platform: Platform, hosts: NDArray[np.int32]) -> dict[str, str]:
    """Return name and content of each file for ranks on hosts.

    ``hostfile`` has the node of each rank on a line, for Slurm's SLURM_HOSTFILE; ``rankfile`` the node and the core of
    each rank, for Open MPI; ``MPICH_RANK_ORDER`` the ranks in the order of nodes, for MPICH on Cray's machines.

    >>> from commmodel.simulate.platform import flat
    >>> files = launcher_files(flat(2, 125e6, 15e-6, cores=2), np.array([0, 1, 0, 1], np.int32))
    >>> files["hostfile"].split()
    ['node-0', 'node-1', 'node-0', 'node-1']
    >>> files["rankfile"].splitlines()[3], files["MPICH_RANK_ORDER"].splitlines()[-2:]
    ('rank 3=node-1 slot=1', ['0,2', '1,3'])
    """
    names = [platform.node_name(host) for host in hosts.tolist()]
    cores: Counter[int] = Counter()
    slots = []
    for rank, (name, host) in enumerate(zip(names, hosts.tolist(), strict=True)):
        socket = host - int(np.searchsorted(platform.node_of, platform.node_of[host]))
        core = f"{socket}:{cores[host]}" if platform.sockets.size else f"{cores[host]}"
        slots.append(f"rank {rank}={name} slot={core}\n")
        cores[host] += 1
    node = platform.node_of[hosts]
    order = np.argsort(node, kind="stable")
    lines = [
        f"# {nodes_words(node)}, in the order of the allocation: srun --distribution=block, "
        "MPICH_RANK_REORDER_METHOD=3\n"
    ]
    for part in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
        ranks = part.tolist()
        lines += [
            ",".join(map(str, ranks[start : start + _RANKS_IN_LINE])) + "\n"
            for start in range(0, len(ranks), _RANKS_IN_LINE)
        ]
    return {SLURM: "".join(f"{name}\n" for name in names), OPEN_MPI: "".join(slots), MPICH: "".join(lines)}


def refuse_existing(folder: str | os.PathLike[str], *, replace: bool = False) -> None:
    """Raise where a folder is none, or has such files already, unless they may be replaced."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file: name a folder")
    present = [name for name in (SLURM, OPEN_MPI, MPICH) if (path / name).exists()]
    if present and not replace:
        raise InputError(f"{path / present[0]} exists: replace it with --force, or name another folder")


def nodes_words(node: NDArray[np.int64]) -> str:
    """Return how many nodes there are, with how many ranks.

    >>> nodes_words(np.array([0, 0, 3, 3])), nodes_words(np.array([0, 0, 3]))
    ('2 nodes with 2 ranks each', '2 nodes with 1 to 2 ranks')
    """
    counts = np.unique(node, return_counts=True)[1]
    ranks = f"{counts.max()} ranks each" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()} ranks"
    return f"{counts.size} node{'s' * (counts.size != 1)} with {ranks}"
