#!/bin/sh
# What an MPI launcher calls instead of ssh: as_host.sh [OPTIONS] HOST COMMAND...
# Runs the command on a host of emulated.py: in its network, under its name, with a shared memory of its own, and
# where ONE_PROCESSOR_EACH is set on one processor, another one for the next host.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
processor=$(($(echo "$host" | tr -cd 0-9) % $(nproc)))
exec ${ONE_PROCESSOR_EACH:+taskset -c $processor} ip netns exec "$host" unshare --uts --ipc --mount sh -c "hostname $host; mount -t tmpfs tmpfs /dev/shm; $*"
