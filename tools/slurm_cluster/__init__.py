"""A Slurm cluster of three nodes on one machine, for tests that need one. Main entry: `cluster`.

A node is a network namespace with a name, processes, a /tmp and a shared memory of its own, in which slurmd runs; a
folder is shared by all. The controller runs on the machine itself, the login host. Jobs are those of an ordinary user,
``MpiDefault`` is none, and memory is limited. Needs root on Linux, the command ip, the packages slurm-wlm and munge,
and for ``--mpi=pmix`` libpmix-dev.
"""

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

__all__ = ["NODES", "Cluster", "cluster", "missing"]

_INSIDE = Path(__file__).with_name("inside.sh")
NODES = ("n1", "n2", "n3")
"""Names of the nodes; each has two processors."""
_USER = "commmodel-trial"
_BRIDGE = "commmodel-sl"
_NETWORK = "10.139.212"
_LIMIT = 64_000_000
"""KiB of addresses that a job may take."""
_CONFIGURATION = """\
ClusterName=trial
SlurmctldHost=login({network}.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
LaunchParameters=use_interactive_step
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait=5
MinJobAge=600
InactiveLimit=0
Waittime=0
SlurmctldTimeout=30
SlurmdTimeout=20
SchedulerParameters=sched_interval=1,bf_interval=2
MailProg=/bin/true
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
SlurmdSpoolDir={folder}/state/spool.%n
StateSaveLocation={folder}/state/controller
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/slurmd.%n
NodeName=n[1-3] CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=8000
PartitionName=main Nodes=n[1-3] Default=YES MaxTime=60 State=UP PriorityTier=1 OverSubscribe=YES
PartitionName=high Nodes=n[1-3] MaxTime=60 State=UP PriorityTier=10
"""


def missing() -> str:
    """Return what is missing for a cluster, empty where it can be made."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "it needs root on Linux"
    lacking = [name for name in ("ip", "munged", "slurmctld", "slurmd", "srun", "setpriv") if not which(name)]
    return f"no {', '.join(lacking)}: install slurm-wlm, munge and iproute2" if lacking else ""


@dataclass
class Cluster:
    """A cluster that runs."""

    folder: Path
    """That all hosts share; ``home`` is the user's."""
    environment: dict[str, str]
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    """The process in which all of a node's run."""

    @property
    def home(self) -> Path:
        """The folder in which the user's commands run."""
        return self.folder / "home"

    def run(self, command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command of the shell on the login host, as the user; what it prints is one stream."""
        words = _inside(self.folder, "login", *_as_user(), "bash", "-c", command)
        with subprocess.Popen(
            words, env=self.environment, cwd=self.home, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                printed, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                printed, _ = process.communicate()
                return subprocess.CompletedProcess(words, 124, f"{printed}\nnot ended after {timeout:g} s\n", "")
        return subprocess.CompletedProcess(words, process.returncode, printed, "")

    def submit(self, script: str, *options: str) -> int:
        """Submit a job script; return the job's number."""
        path = self.home / f"job-{time.monotonic_ns()}.sh"
        path.write_text(script)
        path.chmod(0o755)
        printed = self.run(f"sbatch --parsable {' '.join(options)} {path}").stdout
        return int(printed.strip().splitlines()[-1])

    def start_node(self, node: str) -> None:
        """Start a node, or one that has died again."""
        space = f"--net=/run/netns/{_BRIDGE}-{node}"
        words = [
            "setpriv", "--pdeathsig", "KILL",
            "nsenter", space, "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
            "bash", "-c", f'ulimit -v {_LIMIT}; exec "$@"', "bash", str(_INSIDE), str(self.folder), node,
            "slurmd", "-D", "-N", node,
        ]  # fmt: skip
        with (self.folder / "log/started").open("ab") as log:
            self.nodes[node] = subprocess.Popen(
                words, env=self.environment, cwd="/", stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip

    def kill_node(self, node: str) -> None:
        """End all processes of a node at once, as a loss of power does."""
        program = self.nodes.pop(node)
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()

    def wait(self, job: int, timeout: float = 120) -> str:
        """Wait until a job has ended; return its state."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            state = re.search(r"JobState=(\w+)", self.run(f"scontrol --oneliner show job {job}").stdout)
            if state and state[1] not in ("PENDING", "RUNNING", "COMPLETING", "SUSPENDED"):
                return state[1]
            time.sleep(0.5)
        return "NOT ENDED"


def _inside(folder: Path, host: str, *command: str) -> list[str]:
    return ["unshare", "--mount", "--uts", "--ipc", str(_INSIDE), str(folder), host, *command]


def _as_user() -> list[str]:
    return ["setpriv", "--reuid", _USER, "--regid", _USER, "--init-groups", "--"]


def _call(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def _add_network() -> None:
    _call("ip", "link", "add", _BRIDGE, "type", "bridge")
    _call("ip", "address", "add", f"{_NETWORK}.1/24", "dev", _BRIDGE)
    _call("ip", "link", "set", _BRIDGE, "up")
    for number, node in enumerate(NODES, 1):
        space, end = f"{_BRIDGE}-{node}", f"{_BRIDGE}v{number}"
        _call("ip", "netns", "add", space)
        _call("ip", "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", space)
        _call("ip", "link", "set", end, "master", _BRIDGE, "up")
        _call("ip", "-n", space, "address", "add", f"{_NETWORK}.{10 + number}/24", "dev", "eth0")
        _call("ip", "-n", space, "link", "set", "eth0", "up")
        _call("ip", "-n", space, "link", "set", "lo", "up")
        _call("ip", "-n", space, "route", "add", "default", "via", f"{_NETWORK}.1")


def _remove_network() -> None:
    for number, node in enumerate(NODES, 1):
        subprocess.run(["ip", "link", "delete", f"{_BRIDGE}v{number}"], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "delete", f"{_BRIDGE}-{node}"], capture_output=True, check=False)
    subprocess.run(["ip", "link", "delete", _BRIDGE], capture_output=True, check=False)


@contextmanager
def _names() -> Iterator[None]:
    """Give the hosts their names on this machine, which all of them see, and take them away."""
    hosts = Path("/etc/hosts")
    before = hosts.read_text()
    lines = [f"{_NETWORK}.1 login", *(f"{_NETWORK}.{10 + number} {node}" for number, node in enumerate(NODES, 1))]
    hosts.write_text(f"{before.rstrip()}\n" + "".join(f"{line}\n" for line in lines))
    try:
        yield
    finally:
        hosts.write_text(before)


def _user() -> None:
    try:
        pwd.getpwnam(_USER)
    except KeyError:
        _call("useradd", "--no-create-home", "--user-group", "--shell", "/bin/bash", _USER)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Start a cluster, and end it with all that runs on it."""
    folder = Path(tempfile.mkdtemp(prefix="commmodel-slurm-"))
    folder.chmod(0o755)
    for name in ("state/controller", "run", "log", "home", "munge"):
        (folder / name).mkdir(parents=True)
    _user()
    shutil.chown(folder / "home", _USER, _USER)
    configuration = folder / "slurm.conf"
    configuration.write_text(_CONFIGURATION.format(network=_NETWORK, folder=folder))
    key = folder / "munge/key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    environment = {
        "PATH": f"{Path(sys.prefix, 'bin')}:/usr/sbin:/usr/bin:/sbin:/bin",
        "SLURM_CONF": str(configuration),
        "PYTHON_PREFIX": sys.base_prefix,
        "HOME": str(folder / "home"),
        "USER": _USER,
        "LANG": "C.UTF-8",
        "PMIX_MCA_psec": "native",  # munge's socket is not at its usual place
        "MPIR_CVAR_CH4_NETMOD": "ofi",  # addresses of UCX are longer than Slurm's PMI-2 passes on
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
    }
    programs: list[subprocess.Popen[bytes]] = []
    running: Cluster | None = None

    def start(*words: object) -> None:
        until_we_end = ["setpriv", "--pdeathsig", "KILL", *(str(word) for word in words)]
        with (folder / "log/started").open("ab") as log:
            programs.append(
                subprocess.Popen(until_we_end, env=environment, cwd="/", stdout=log, stderr=log,
                                 stdin=subprocess.DEVNULL, start_new_session=True)
            )  # fmt: skip

    _remove_network()
    _add_network()
    try:
        with _names():
            munge = folder / "munge"
            start("munged", "--foreground", "--force", "--key-file", key, "--socket", munge / "socket",
                  "--log-file", munge / "log", "--seed-file", munge / "seed", "--pid-file", munge / "pid")  # fmt: skip
            _until((munge / "socket").exists, "munged")
            start(*_inside(folder, "login", "slurmctld", "-D"))
            running = Cluster(folder, environment)
            for node in NODES:
                running.start_node(node)
            _until(lambda: running.run("sinfo -h -o %T").stdout.strip() == "idle", "slurmctld and slurmd")
            yield running
            running.run("scancel --user $USER; sleep 1")
    finally:
        for node in [*running.nodes] if running else ():
            running.kill_node(node)
        for program in reversed(programs):
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        _remove_network()
        shutil.rmtree(folder, ignore_errors=True)


def _until(is_so: object, name: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():  # type: ignore[operator]
        if time.monotonic() > end:
            raise RuntimeError(f"{name}: not ready after {seconds:g} s")
        time.sleep(0.3)
