#!/bin/bash
# Submits all jobs of this sweep that are neither done nor waiting or running: an array for each number of processes.
cd "$(dirname "$0")" || exit 2
queued=$(squeue --noheader --array --user "$(id -un)" --format='%j %K %Z') || exit
for folder in @FOLDERS@; do
    launches=
    for launch in {1..@LAUNCHES@}; do
        [ -e "$folder/launch$(printf %02d "$launch").done" ] && continue
        grep --quiet --line-regexp --fixed-strings "@JOB_NAME@-$folder $launch $PWD" <<< "$queued" && continue
        launches=$launches,$launch
    done
    [ -z "$launches" ] || sbatch --array="${launches#,}" "$folder/array.sh" || exit
done
