#!/bin/sh
# What an MPI launcher calls instead of ssh: as_host.sh [OPTIONS] HOST COMMAND...
# Runs the command on a host of emulated.py: in its network, under its name, with a shared memory of its own.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec ip netns exec "$host" unshare --uts --ipc --mount sh -c "hostname $host; mount -t tmpfs tmpfs /dev/shm; $*"
