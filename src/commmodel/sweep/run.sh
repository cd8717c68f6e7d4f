#!/bin/bash
# Runs all jobs of this sweep that are not done, one after the other: together they would disturb each other.
cd "$(dirname "$0")" || exit 2
failed=0
for job in @JOBS@; do
    bash "$job.sh" && continue
    echo "failed: $job: $(tail -n 1 "$job.log")" >&2
    failed=1
done
exit "$failed"
