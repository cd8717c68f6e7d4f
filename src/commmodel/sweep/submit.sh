#!/bin/bash
# Submits all jobs of this sweep that are not done. Do so again once none is waiting or running any more.
cd "$(dirname "$0")" || exit 2
for job in @JOBS@; do
    [ -e "$job.done" ] || sbatch "$job.sh" || exit
done
