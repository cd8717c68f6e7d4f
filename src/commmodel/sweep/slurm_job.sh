#!/bin/bash
#SBATCH --job-name=@JOB_NAME@
#SBATCH --ntasks=@PROCESSES@
#SBATCH --nodes=@NODES@
#SBATCH --ntasks-per-node=@PER_NODE@
#SBATCH --exclusive
#SBATCH --output=@LOG@
@OPTIONS@
# commmodel: launch @LAUNCH@ of @LAUNCHES@ on @PROCESSES@ processes. Does nothing once it is done; goes on where it was stopped.
cd "${SLURM_SUBMIT_DIR:?submit it with submit.sh}" || exit 2
@BODY@
