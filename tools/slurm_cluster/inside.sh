#!/bin/bash
# What runs on a node or on the login host, in a mount namespace of its own: inside.sh FOLDER HOST COMMAND...
# FOLDER is what all hosts share; /tmp and /dev/shm are the host's own. PYTHON_PREFIX is shown to ordinary users where
# a folder above it hides it from them.
set -e
folder=$1 host=$2
shift 2
hostname "$host"
mount --make-rprivate /
kept=$(mktemp -d)
mkdir "$kept/shared" "$kept/python"
mount --bind "$folder" "$kept/shared"
mount --bind "$PYTHON_PREFIX" "$kept/python"
hidden=
for above in $(p=$PYTHON_PREFIX; while [ "$p" != / ]; do p=$(dirname "$p"); echo "$p"; done); do
    case $(stat -c %A "$above") in *[xt]) ;; *) hidden=$above ;; esac
done
if [ -n "$hidden" ]; then
    mount -t tmpfs -o size=1m,mode=755 tmpfs "$hidden"
    mkdir -p "$PYTHON_PREFIX"
    mount --bind "$kept/python" "$PYTHON_PREFIX"
fi
exec 3<"$kept/shared"
mount -t tmpfs -o size=4g,mode=1777 tmpfs /dev/shm
case $folder in /tmp/*)
    shared=$(mktemp -d /dev/shm/shared.XXXXXX)
    mount --bind "/proc/self/fd/3" "$shared"
    mount -t tmpfs -o size=4g,mode=1777 tmpfs /tmp
    mkdir -p "$folder"
    mount --move "$shared" "$folder" 2>/dev/null || mount --bind "$shared" "$folder"
    ;;
esac
exec 3<&-
mount -t proc proc /proc
exec "$@"
