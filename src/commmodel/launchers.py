"""What launchers tell the processes that they start: which rank each is, and how many there are.

A launcher that does not speak the language of the MPI library starts each rank alone, as rank 0 of one; its variables
show it. Main entries: `rank`, `ranks`, `is_launched`, `alone` and
`batch_job`.
"""

import os
from collections.abc import Mapping

_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID")
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
_STEP, _STEP_SIZE = "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"
_OF_HYDRA = "MPI_LOCALNRANKS"
"""What the mpiexec of MPICH tells, and no other."""
_CONNECTIONS = (*_SIZES, "PMI_FD", "PMI_PORT", "PMIX_NAMESPACE", "PALS_APID")
"""Of a rank with its launcher: without any, an MPI library knows of no other rank."""
_JOB = (
    "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_NAME", _STEP, "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST",
    "SLURM_RESTART_COUNT", "PBS_JOBID", "PBS_JOBNAME", "PBS_QUEUE", "LSB_JOBID", "LSB_JOBNAME", "LSB_QUEUE",
    "PJM_JOBID", "PJM_JOBNAME", "FLUX_JOB_ID",
)  # fmt: skip
_SLURM_CURE = (
    "srun --mpi=pmi2 for MPICH, srun --mpi=pmix for Open MPI, or export SLURM_MPI_TYPE=pmi2 (srun --mpi=list shows all)"
)


def _number(environment: Mapping[str, str], *names: str) -> int | None:
    words = (environment.get(name, "") for name in names)
    return next((int(word) for word in words if word.isdecimal()), None)


def rank(environment: Mapping[str, str] = os.environ) -> int:
    """Return this process's rank as its launcher tells it; 0 where there is none.

    >>> rank({"PMI_RANK": "3"}), rank({})
    (3, 0)
    """
    return _number(environment, *_RANKS) or 0


def ranks(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many ranks the launcher has started; 1 where there is none.

    >>> ranks({"PMI_SIZE": "1", "SLURM_STEP_NUM_TASKS": "4"}), ranks({"SLURM_STEP_NUM_TASKS": "4"}), ranks({})
    (1, 4, 1)
    """
    return _number(environment, *_SIZES, _STEP_SIZE) or 1


def is_launched(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether this process is a rank; the one task of a step of Slurm is a user's shell as well.

    >>> is_launched({"PMI_RANK": "0"}), is_launched({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"})
    (True, False)
    """
    return ranks(environment) > 1 or (
        _STEP not in environment and any(name in environment for name in _RANKS if name != "SLURM_PROCID")
    )


def alone(size: int = 1, environment: Mapping[str, str] = os.environ) -> str:
    """Return what is wrong where MPI knows of one rank and its launcher has started several, else nothing.

    >>> alone(1, {"PMI_SIZE": "2"})
    'the launcher has started 2 ranks, each of which is alone: take the mpiexec of the MPI library that they load'
    >>> alone(2, {"PMI_SIZE": "2"})
    ''
    """
    count = ranks(environment)
    if size > 1 or count == 1:
        return ""
    of_slurm = _number(environment, *_SIZES) is None or _STEP_SIZE in environment
    cure = _SLURM_CURE if of_slurm else "take the mpiexec of the MPI library that they load"
    return f"{'srun' if of_slurm else 'the launcher'} has started {count} ranks, each of which is alone: {cure}"


def unconnected(environment: Mapping[str, str] = os.environ) -> str:
    """Return what `alone` does where that shows before MPI begins: no variable leads to the launcher.

    >>> unconnected({"SLURM_STEP_NUM_TASKS": "2"})[:32], unconnected({"SLURM_STEP_NUM_TASKS": "2", "PMI_FD": "7"})
    ('srun has started 2 ranks, each o', '')
    """
    return "" if any(name in environment for name in _CONNECTIONS) else alone(1, environment)


def signals_all(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the launcher hands a signal to all ranks, as Slurm's, so that each ends by itself.

    >>> signals_all({"SLURM_STEP_NUM_TASKS": "2"}), signals_all({"PMI_RANK": "0"})
    (True, False)
    """
    return _STEP_SIZE in environment and not any(name in environment for name in ("OMPI_COMM_WORLD_SIZE", _OF_HYDRA))


def batch_job(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what a batch system says of its job: numbers and names of job, step, partition and nodes.

    >>> batch_job({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "HOME": "/root"})
    {'SLURM_JOB_ID': '7', 'SLURM_STEP_ID': '0'}
    """
    return {name: environment[name] for name in _JOB if name in environment}


def family(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the MPI ABI whose library's mpiexec has started this process; None where nothing tells.

    >>> family({"OMPI_COMM_WORLD_SIZE": "2"}), family({"PMI_RANK": "0"}), family({})
    ('openmpi', 'mpich', None)
    """
    if "OMPI_COMM_WORLD_SIZE" in environment:
        return "openmpi"
    return "mpich" if "PMI_RANK" in environment and _STEP_SIZE not in environment else None
