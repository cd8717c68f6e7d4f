#!/bin/bash
#SBATCH --job-name=@JOB_NAME@
#SBATCH --ntasks=@PROCESSES@
#SBATCH --nodes=@NODES@
#SBATCH --ntasks-per-node=@PER_NODE@
#SBATCH --exclusive
#SBATCH --output=@FOLDER@/launch%2a.log
#SBATCH --open-mode=append
@OPTIONS@
# commmodel: launches on @PROCESSES@ processes, one for each task of an array: submit.sh submits those that are not done.
cd "${SLURM_SUBMIT_DIR:?submit it with submit.sh}" || exit 2
name=@FOLDER@/launch$(printf %02d "${SLURM_ARRAY_TASK_ID:?submit it with submit.sh}")
rm -f "$name.failed"
@BODY@
