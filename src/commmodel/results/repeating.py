"""How to start a launch again: the launcher, ranks a host, binding, and variables of the MPI library.

Main entries: `launcher_words`, `command_words` and `is_launched`.
"""

from collections.abc import Mapping

from commmodel.results.records import Header

_LAUNCHERS = {"mpiexec", "mpirun", "srun"}
_LIBRARY = (
    "MPICH_", "MPIR_CVAR_", "OMPI_MCA_", "I_MPI_", "MV2_", "UCX_", "UCC_", "FI_", "PSM2_", "PSM3_", "HCOLL_", "SHARP_",
    "OMP_NUM_THREADS", "SLURM_MPI_TYPE",
)  # fmt: skip
_OF_LAUNCHERS = (
    "OMPI_MCA_PREFIXES", "OMPI_MCA_cpu_type", "OMPI_MCA_initial_wdir", "OMPI_MCA_num_procs", "OMPI_MCA_ess",
    "OMPI_MCA_orte", "OMPI_MCA_pmix", "OMPI_MCA_prte", "I_MPI_ROOT", "I_MPI_HYDRA", "I_MPI_INFO", "I_MPI_MPIRUN",
)  # fmt: skip
"""Prefixes of variables that a launcher or a module sets itself: they say nothing of what a user chose."""


def library_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that tell an MPI library or its network layer what to do, without those of its launcher.

    >>> library_variables({"UCX_TLS": "tcp", "OMPI_MCA_num_procs": "2", "HOME": "/root"})
    {'UCX_TLS': 'tcp'}
    """
    return {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith(_LIBRARY) and not name.startswith(_OF_LAUNCHERS)
    }


def launcher_words(header: Header) -> tuple[str, ...]:
    """Return the words that start as many ranks on as many hosts, bound as they were.

    >>> from commmodel.results import Library, Rank
    >>> ranks = (Rank(0, 0, bound=True), Rank(1, 0, bound=True))
    >>> launcher_words(Header("commmodel-results", 1, "", (), Library("MPICH", "mpich"), (), ranks))
    ('mpiexec', '-n', '2', '-bind-to', 'core')
    """
    ranks, hosts = max(1, len(header.ranks)), len(header.hosts)
    counts = {sum(rank.host == host for rank in header.ranks) for host in range(hosts)}
    share = str(counts.pop()) if hosts > 1 and len(counts) == 1 else ""
    is_bound = bool(header.ranks) and all(rank.bound for rank in header.ranks)
    if "SLURM_JOB_ID" in header.job:
        spread = ("-N", str(hosts), f"--ntasks-per-node={share}") if share else ()
        return ("srun", "--kill-on-bad-exit=1", "-n", str(ranks), *spread, *(("--cpu-bind=cores",) if is_bound else ()))
    count = ("mpiexec", "-n", str(ranks))
    if header.mpi.abi == "openmpi" or header.mpi.version.startswith("Open MPI"):
        bound = ("--bind-to", "core" if is_bound else "none") if header.ranks and header.hosts else ()
        return (*count, *(("--map-by", f"ppr:{share}:node") if share else ()), *bound)
    if header.mpi.version.startswith("Intel"):
        return (*count, *(("-ppn", share) if share else ()))  # its ranks are bound unless told otherwise
    return (*count, *(("-ppn", share) if share else ()), *(("-bind-to", "core") if is_bound else ()))


def is_launched(header: Header) -> bool:
    """Return whether the command of a launch begins with its launcher."""
    return header.command[:1] != () and header.command[0] in _LAUNCHERS


def command_words(header: Header) -> tuple[str, ...]:
    """Return the words of the command that repeats a launch; none where its file does not tell.

    >>> from commmodel.results import Library, Rank
    >>> command = ("python", "-m", "commmodel.bench")
    >>> header = Header("commmodel-results", 1, "", command, Library("MPICH"), (), (Rank(0, 0), Rank(1, 0)))
    >>> " ".join(command_words(header))
    'mpiexec -n 2 python -m commmodel.bench'
    """
    if not header.command:
        return ()
    is_whole = is_launched(header) or not header.ranks
    return (*(() if is_whole else launcher_words(header)), *header.command)
