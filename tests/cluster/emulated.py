"""Two hosts on one machine, joined by a network of a known rate: for tests that need one. Main entry: `cluster`.

A host is a network namespace with a name and a shared memory of its own (see `as_host.sh`). Each has one link to a
bridge; a token bucket limits it in both directions. Needs root on Linux, and the commands ip and tc.
"""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which

__all__ = ["AS_HOST", "BRIDGE", "HOSTS", "cluster", "missing", "set_rate", "socket_rate"]

AS_HOST = Path(__file__).with_name("as_host.sh")
HOSTS = ("commmodel-1", "commmodel-2")
BRIDGE = "commmodel-br"
_LINKS = ("commmodel-v1", "commmodel-v2")
_INSIDE = "eth0"
_ADDRESSES = ("10.139.211.1", "10.139.211.2")
_BRIDGE_ADDRESS = "10.139.211.254"
_BUCKET = "8kb"  # what passes at full speed after a pause: small beside any message that is timed
_QUEUE = "100ms"
_LOCK = Path("/run/commmodel-cluster.lock")
_CHUNK = 1 << 16
_PORT = 5001


def missing() -> str:
    """Return what keeps this machine from having such a cluster, or an empty text."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux"
    absent = [name for name in ("ip", "tc", "unshare") if which(name) is None]
    if absent:
        return f"needs the commands {', '.join(absent)}"
    try:
        with _alone():
            _build()
            set_rate(100e6)
            _remove()
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"
    except (OSError, ValueError) as error:  # ValueError: an ip that does not print JSON
        return str(error)
    return ""


@contextmanager
def cluster() -> Iterator[None]:
    """Have both hosts, with links of no limit; whatever an earlier run left behind is removed first."""
    with _alone():
        _build()
        try:
            yield
        finally:
            _remove()


@contextmanager
def _alone() -> Iterator[None]:
    """Wait for another run on this machine; the lock goes with its process, however that ends."""
    with _LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _build() -> None:
    _remove()
    _run("ip", "link", "add", BRIDGE, "type", "bridge")
    _run("ip", "address", "add", f"{_BRIDGE_ADDRESS}/24", "dev", BRIDGE)
    _run("ip", "link", "set", BRIDGE, "up")
    for host, link, address in zip(HOSTS, _LINKS, _ADDRESSES, strict=True):
        _run("ip", "netns", "add", host)
        _run("ip", "link", "add", link, "type", "veth", "peer", "name", _INSIDE, "netns", host)
        _run("ip", "link", "set", link, "master", BRIDGE, "up")
        _run("ip", "-n", host, "address", "add", f"{address}/24", "dev", _INSIDE)
        for device in (_INSIDE, "lo"):
            _run("ip", "-n", host, "link", "set", device, "up")


def set_rate(bits_per_second: float) -> None:
    """Limit each host's link to this rate, each way."""
    limit = ("root", "tbf", "rate", f"{bits_per_second:.0f}bit", "burst", _BUCKET, "latency", _QUEUE)
    for host, link in zip(HOSTS, _LINKS, strict=True):
        _run("tc", "qdisc", "replace", "dev", link, *limit)
        _run("tc", "-n", host, "qdisc", "replace", "dev", _INSIDE, *limit)


def _remove() -> None:
    """Remove everything that bears our names, processes within the hosts included."""
    present = {entry["name"] for entry in json.loads(_run("ip", "-json", "netns", "list") or "[]")}
    for host in present & set(HOSTS):
        for process in _run("ip", "netns", "pids", host).split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
    devices = {entry["ifname"] for entry in json.loads(_run("ip", "-json", "link", "show"))}
    for device in (*_LINKS, BRIDGE):  # links first: a namespace gives its own up late
        if device in devices:
            subprocess.run(["ip", "link", "delete", device], capture_output=True)  # it may go by itself meanwhile
    for host in present & set(HOSTS):
        _run("ip", "netns", "delete", host)


def socket_rate(seconds: float) -> float:
    """Return the bytes per second that one plain TCP socket carries from the first host to the second."""
    receiver, sender = (
        ["ip", "netns", "exec", host, sys.executable, __file__, role, str(seconds)]
        for host, role in zip(reversed(HOSTS), ("receive", "send"), strict=True)
    )
    with subprocess.Popen(receiver, stdout=subprocess.PIPE, text=True) as receiving:
        assert receiving.stdout
        assert receiving.stdout.readline() == "ready\n"
        subprocess.run(sender, check=True, timeout=60)
        return float(receiving.stdout.readline())


def _receive(seconds: float) -> None:
    """Print the rate at which bytes come, from the first after a quarter of the time on."""
    with socket.create_server((_ADDRESSES[1], _PORT)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
    buffer = bytearray(_CHUNK)
    until = time.perf_counter() + seconds / 4
    while time.perf_counter() < until:
        connection.recv_into(buffer)
    received, started = 0, time.perf_counter()
    while (now := time.perf_counter()) < started + seconds / 2:
        received += connection.recv_into(buffer)
    print(received / (now - started))
    while connection.recv_into(buffer):
        pass


def _send(seconds: float) -> None:
    until = time.perf_counter() + seconds
    with socket.create_connection((_ADDRESSES[1], _PORT)) as connection:
        while time.perf_counter() < until:
            connection.sendall(bytes(_CHUNK))


if __name__ == "__main__":
    {"receive": _receive, "send": _send}[sys.argv[1]](float(sys.argv[2]))
