"""Several hosts on one machine, joined by a network of a known rate: for tests that need one. Main entry: `cluster`.

A host is a network namespace with a name and a shared memory of its own (see `as_host.sh`). Each has one link to a
bridge; a token bucket limits it in both directions. Hosts may stand in two cabinets, each with a bridge of its own, and
one link between these. Needs root on Linux, and the commands ip and tc. `delays` makes the links long, too: by a
program of ours (`delay.c`), as few kernels have tc's netem.
"""

import argparse
import fcntl
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import Literal

__all__ = [
    "BRIDGE", "Queues", "cluster", "delays", "hosts", "launcher", "link", "missing", "mpi_environment", "parser",
    "set_congestion", "set_rate", "set_sockets", "set_uplink_rate", "socket_rate",
]  # fmt: skip

_AS_HOST = Path(__file__).with_name("as_host.sh")
_DELAY = Path(__file__).with_name("delay.c")
_OURS = "commmodel-"  # begins the name of every host and device, and of nothing else
BRIDGE = "commmodel-br"
_SECOND_BRIDGE = "commmodel-br2"
_UPLINKS = ("commmodel-up1", "commmodel-up2")  # the two ends of the link between the bridges
_INSIDE = "eth0"
_NETWORK = "10.139.211"
_BUCKET = "8kb"  # what passes at full speed after a pause: small beside any message that is timed
_QUEUE = "1s"  # longer than what an MPI library may have under way: none of it is dropped
Queues = Literal["one", "each", "acks-first"]
"""Of a host: one, one for each other host, or one for acknowledgements, which go first."""
_LOCK = Path("/run/commmodel-cluster.lock")
_CHUNK = 1 << 16
_PORT = 5001
_SLICE = 0.1  # s; a stall of the stream on a busy machine spoils a few of them


def hosts(count: int = 2) -> tuple[str, ...]:
    """Return the names of the hosts."""
    return tuple(f"{_OURS}{number}" for number in range(1, count + 1))


def link(host: str) -> str:
    """Return the end of a host's link that is at the bridge."""
    return f"{_OURS}v{_number(host)}"


def _number(host: str) -> str:
    return host.removeprefix(_OURS)


def _variable(word: str) -> tuple[str, str]:
    name, assigned, value = word.partition("=")
    if not (name and assigned):
        raise argparse.ArgumentTypeError(f"{word!r} is not NAME=VALUE")
    return name, value


def parser(description: str, keeps: bool = True) -> argparse.ArgumentParser:
    """Return a parser with the options of every program that measures on emulated hosts."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rate", type=float, default=20e6, help="of each host's link, bits a second (20e6)")
    parser.add_argument("--mpiexec", default=str(Path(sys.executable).with_name("mpiexec")), help="of the MPI library")
    if keeps:
        parser.add_argument("--keep", type=Path, help="folder that keeps what is measured and written (none)")
    parser.add_argument(
        "--variable", type=_variable, action="append", default=[], metavar="NAME=VALUE",
        help="of the library's environment, several times",
    )  # fmt: skip
    return parser


def launcher(mpiexec: str, names: Sequence[str], ranks: int) -> list[str]:
    """Return the command that starts so many ranks on each host, with either MPI library."""
    listed = ",".join(f"{host}:{ranks}" for host in names)
    count = ["-n", str(ranks * len(names))]
    if b"Open MPI" in subprocess.check_output([mpiexec, "--version"]):
        placed = ["--prtemca", "plm_ssh_agent", str(_AS_HOST), "--host", listed]
        placed += ["--map-by", f"ppr:{ranks}:node:oversubscribe"]
        network = ["--mca", "btl", "tcp,self,sm", "--mca", "pml", "ob1", "--mca", "mpi_yield_when_idle", "1"]
        return [mpiexec, *placed, *network, *count]
    placed = ["-launcher", "ssh", "-launcher-exec", str(_AS_HOST), "-iface", BRIDGE, "-hosts", listed]
    return [mpiexec, *placed, *count]


def mpi_environment() -> dict[str, str]:
    """Return the variables with which either library uses the hosts' network, Open MPI as root, too.

    Ranks of all hosts share this machine's processors, so those that wait must give theirs up. In MPICH's collectives
    of a node by flags in shared memory (release and gather), which begin after so many calls, they do not.
    """
    return {
        "FI_PROVIDER": "tcp", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": str(2**31 - 1),
    }  # fmt: skip


def missing() -> str:
    """Return what keeps this machine from having such a cluster, or an empty text."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux"
    absent = [name for name in ("ip", "tc", "unshare") if which(name) is None]
    if absent:
        return f"needs the commands {', '.join(absent)}"
    try:
        with cluster():
            set_rate(100e6)
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"
    except (OSError, ValueError) as error:  # ValueError: an ip that does not print JSON
        return str(error)
    return ""


@contextmanager
def cluster(count: int = 2, cabinets: int = 1) -> Iterator[tuple[str, ...]]:
    """Have so many hosts in one cabinet or two, with links of no limit, once no other run on this machine has them.

    A process of its own removes them when this one lets go of its input, that is also when this one is killed. It has
    the lock until then, too.
    """
    with _LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, __file__, "remove"]
        remover = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[lock.fileno()],
            text=True,
        )
        try:
            _build(hosts(count), cabinets)
            yield hosts(count)
        finally:
            _, errors = remover.communicate()
        if remover.returncode:
            raise subprocess.CalledProcessError(remover.returncode, command, stderr=errors)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _build(names: Sequence[str], cabinets: int) -> None:
    _remove()
    bridges = (BRIDGE, _SECOND_BRIDGE)[:cabinets]
    for bridge in bridges:
        _run("ip", "link", "add", bridge, "type", "bridge")
        _run("ip", "link", "set", bridge, "up")
    _run("ip", "address", "add", f"{_NETWORK}.254/24", "dev", BRIDGE)
    if cabinets == 2:
        _run("ip", "link", "add", _UPLINKS[0], "type", "veth", "peer", "name", _UPLINKS[1])
        for end, bridge in zip(_UPLINKS, bridges, strict=True):
            _run("ip", "link", "set", end, "master", bridge, "up")
    for number, host in enumerate(names):
        _run("ip", "netns", "add", host)
        _run("ip", "link", "add", link(host), "type", "veth", "peer", "name", _INSIDE, "netns", host)
        _run("ip", "link", "set", link(host), "master", bridges[number * cabinets // len(names)], "up")
        _begin(host)


def _begin(host: str) -> None:
    """Give a host's device its address, and take it into use."""
    _run("ip", "-n", host, "address", "add", f"{_NETWORK}.{_number(host)}/24", "dev", _INSIDE)
    for device in (_INSIDE, "lo"):
        _run("ip", "-n", host, "link", "set", device, "up")


@contextmanager
def delays(names: Sequence[str]) -> Iterator[Callable[[float], None]]:
    """Give hosts of one cabinet links that take time; yield what sets the seconds from one host to another.

    It comes before `set_rate` and `set_sockets`, as the links are new ones. Needs a C compiler and /dev/net/tun.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "delay")
        _run("cc", "-O2", "-o", str(program), str(_DELAY))
        ends = {host: (link(host), f"{_OURS}t{_number(host)}") for host in names}
        for host in names:
            _run("ip", "link", "delete", link(host))
        command = [str(program), *(end for pair in ends.values() for end in pair)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            with suppress(OSError):  # where a container may not: a busy processor makes its links longer
                os.sched_setscheduler(process.pid, os.SCHED_FIFO, os.sched_param(2))
            for host, (outside, inside) in ends.items():
                _run("ip", "link", "set", outside, "master", BRIDGE, "up")
                _run("ip", "link", "set", inside, "netns", host, "name", _INSIDE)
                _begin(host)

            def set_delay(seconds: float) -> None:
                """Each message passes two links, of its sender and of its receiver."""
                assert process.stdin
                assert process.stdout
                process.stdin.write(f"{seconds / 2 * 1e6:.0f}\n")
                process.stdin.flush()
                assert process.stdout.readline() == "set\n"

            yield set_delay


def _limit(bits_per_second: float, bucket: str) -> tuple[str, ...]:
    return ("root", "handle", "1:", "tbf", "rate", f"{bits_per_second:.0f}bit", "burst", bucket, "latency", _QUEUE)


def set_rate(bits_per_second: float, names: Sequence[str] = (), bucket: str = _BUCKET, queues: Queues = "one") -> None:
    """Limit each host's link (that of the first two, where none is named) to this rate, each way.

    In a host's one queue, acknowledgements wait behind data that it sends itself. The usual queue of Linux
    distributions, fq_codel, keeps flows apart, and lets those pass first that send little; adapters with queue pairs
    are like that, too. Not every kernel has fq_codel: classes of HTB stand in for it, either one for each other host,
    which take turns, or one for acknowledgements, which goes first, and one for the rest.
    """
    limit, names = _limit(bits_per_second, bucket), names or hosts()
    for host in names:
        _run("tc", "qdisc", "replace", "dev", link(host), *limit)
        inside = ("tc", "-n", host, "qdisc")
        subprocess.run(
            [*inside, "delete", "dev", _INSIDE, "root"], capture_output=True
        )  # with queues of before, if any
        _run(*inside, "add", "dev", _INSIDE, *limit)
        if queues == "each":
            receivers = [_number(name) for name in names if name != host]
            _set_queues(host, {number: ("dst", f"{_NETWORK}.{number}/32") for number in receivers}, first=())
        elif queues == "acks-first":
            _set_queues(host, {"1": ("protocol", "6", "0xff", "match", "u16", "0", "0xffc0", "at", "2")}, first=("1",))


def _set_queues(host: str, matches: dict[str, tuple[str, ...]], first: Sequence[str]) -> None:
    """Give a host a queue for what each match is about, and one for the rest, in place of the one under its limit."""
    inside, device = ("tc", "-n", host), ("dev", _INSIDE)
    _run(*inside, "qdisc", "add", *device, "parent", "1:1", "handle", "2:", "htb", "default", "ff")
    for number in ("ff", *matches):
        turns = ("htb", "rate", "1gbit", "quantum", "1514", "prio", "0" if number in first else "1")
        _run(*inside, "class", "add", *device, "parent", "2:", "classid", f"2:{number}", *turns)
    for number, match in matches.items():
        words = ("u32", "match", "ip", *match, "flowid", f"2:{number}")
        _run(*inside, "filter", "add", *device, "parent", "2:", "protocol", "ip", *words)


def set_sockets(send_buffer: int, receive_buffer: int, names: Sequence[str], congestion: str = "reno") -> None:
    """Let TCP on these hosts share links evenly and at once: plain windows, no pace of its own, buffers in bytes.

    The kernel's defaults keep what they learnt of a link, among others, for the next message, and their buffers are for
    links a thousand times as fast. Reno is the only congestion control that each kernel lets a namespace have.
    """
    set_congestion(congestion, names)
    for host in names:
        for setting in (
            "tcp_slow_start_after_idle=0",
            "tcp_no_metrics_save=1",
            f"tcp_wmem=4096 {send_buffer} {send_buffer}",
            f"tcp_rmem=4096 {receive_buffer} {receive_buffer}",
        ):
            _run("ip", "netns", "exec", host, "sysctl", "-q", "-w", f"net.ipv4.{setting}")


def set_congestion(name: str, names: Sequence[str]) -> None:
    """Give these hosts a congestion control, one of those that the kernel allows."""
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text(encoding="utf-8").split()
    if name not in allowed:
        mend = f'sysctl -w net.ipv4.tcp_allowed_congestion_control="{" ".join(allowed)} {name}"'
        raise SystemExit(f"hosts may not have congestion control {name}, only {', '.join(allowed)}: {mend}")
    for host in names:
        _run("ip", "netns", "exec", host, "sysctl", "-q", "-w", f"net.ipv4.tcp_congestion_control={name}")


def set_uplink_rate(bits_per_second: float, bucket: str = _BUCKET) -> None:
    """Limit the link between two cabinets to this rate, each way."""
    for end in _UPLINKS:
        _run("tc", "qdisc", "replace", "dev", end, *_limit(bits_per_second, bucket))


def _remove() -> None:
    """Remove everything that bears our names, processes within the hosts included."""
    spaces = json.loads(_run("ip", "-json", "netns", "list") or "[]")
    hosts = [space["name"] for space in spaces if space["name"].startswith(_OURS)]
    for host in hosts:
        for process in _run("ip", "netns", "pids", host).split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
    for device in json.loads(_run("ip", "-json", "link", "show")):  # before hosts: those give theirs up late
        if device["ifname"].startswith(_OURS):
            subprocess.run(["ip", "link", "delete", device["ifname"]], capture_output=True)  # may be gone with its peer
    for host in hosts:
        _run("ip", "netns", "delete", host)


def _remove_at_end_of_input() -> None:
    sys.stdin.read()
    _remove()


def socket_rate(seconds: float) -> float:
    """Return the bytes per second that one plain TCP socket carries from the first host to the second."""
    receiver, sender = (
        ["ip", "netns", "exec", host, sys.executable, __file__, role, str(seconds)]
        for host, role in zip(reversed(hosts()), ("receive", "send"), strict=True)
    )
    with subprocess.Popen(receiver, stdout=subprocess.PIPE, text=True) as receiving:
        assert receiving.stdout
        assert receiving.stdout.readline() == "ready\n"
        subprocess.run(sender, check=True, timeout=60)
        return float(receiving.stdout.readline())


def _receive(seconds: float) -> None:
    """Print the median rate at which bytes come, slice by slice, from a quarter of the time on."""
    with socket.create_server((f"{_NETWORK}.2", _PORT)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
    buffer = bytearray(_CHUNK)
    started = begun = time.perf_counter()
    received, rates = 0, []
    while arrived := connection.recv_into(buffer):
        received += arrived
        if (now := time.perf_counter()) >= begun + _SLICE:
            if started + seconds / 4 <= begun and now <= started + seconds:
                rates.append(received / (now - begun))
            received, begun = 0, now
    print(statistics.median(rates))


def _send(seconds: float) -> None:
    until = time.perf_counter() + seconds
    with socket.create_connection((f"{_NETWORK}.2", _PORT)) as connection:
        while time.perf_counter() < until:
            connection.sendall(bytes(_CHUNK))


if __name__ == "__main__":
    role, *seconds = sys.argv[1:]
    {"receive": _receive, "send": _send, "remove": _remove_at_end_of_input}[role](*map(float, seconds))
