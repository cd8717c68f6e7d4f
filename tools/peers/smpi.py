"""Runs operations under SimGrid's SMPI. Main entries: `Peer`, `available`."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.peers import platforms

SOURCE = Path(__file__).with_name("operations.c")
OPTIONS = ("smpi/shared-malloc:local",)
NOT_MEASURED = ("smpi/simulate-computation:no",)
"""The program's own computing takes no time; that of a trace does."""


def available() -> bool:
    """Whether the simulator is installed."""
    return shutil.which("smpicc") is not None and shutil.which("smpirun") is not None


def version() -> str:
    """Return which version it is."""
    answer = subprocess.run(["smpirun", "-version"], capture_output=True, text=True, check=True).stdout
    return re.sub(r"\s+", " ", answer).strip()


@dataclass(frozen=True)
class Run:
    """What a run said, and what it cost."""

    output: str
    wall_seconds: float
    processor_seconds: float
    peak_bytes: int

    @property
    def seconds(self) -> float:
        """Simulated seconds of the operation."""
        match = re.search(r"^seconds (\S+)$", self.output, re.MULTILINE)
        if match is None:
            raise ValueError(f"no time in the simulator's answer: {self.output[-500:]}")
        return float(match[1])


@dataclass(frozen=True)
class Peer:
    """The compiled program and the platform files, in a folder of their own."""

    folder: Path
    source: Path = SOURCE

    def __post_init__(self) -> None:
        if not self.program.exists():
            subprocess.run(["smpicc", "-O2", self.source, "-o", self.program], check=True)

    @property
    def program(self) -> Path:
        """The compiled source."""
        return self.folder / f"smpi-{self.source.stem}"

    def platform(self, kind: str, hosts: int) -> Path:
        """Return the path of a platform file, written when it is first asked for."""
        path = self.folder / f"{kind}-{hosts}.xml"
        if not path.exists():
            path.write_text(platforms.platform(kind, hosts))
            path.with_suffix(".hosts").write_text(platforms.hostfile(hosts))
        return path

    def run(
        self,
        kind: str,
        processes: int,
        arguments: Sequence[object],
        algorithms: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        log: str = "root.thres:error",
        timeout: float | None = None,
    ) -> Run:
        """Run `arguments` of the program (or ``-replay`` and a trace) on a platform; algorithms: operation -> name."""
        path = self.platform(kind, processes)
        forced = [f"smpi/{operation}:{name}" for operation, name in (algorithms or {}).items()]
        replays = bool(arguments) and arguments[0] == "-replay"
        command = [
            *("smpirun", "-no-privatize", "-np", processes, "-platform", path, "-hostfile", path.with_suffix(".hosts")),
            *(f"--cfg={option}" for option in [*OPTIONS, *(() if replays else NOT_MEASURED), *forced]),
            f"--log={log}",
            *options,
            *([] if replays else [self.program]),
            *arguments,
        ]
        return measured([str(word) for word in command], timeout)


def measured(command: Sequence[str], timeout: float | None = None, folder: Path | None = None) -> Run:
    """Run a command, in a folder, and return its output with its processor time and its largest memory."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder)
        begin = time.perf_counter()
        clock = threading.Timer(timeout or threading.TIMEOUT_MAX, os.killpg, (process.pid, signal.SIGKILL))
        clock.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            clock.cancel()
        wall_seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        printed = output.read()
    if process.returncode:
        raise ValueError(f"{command[0]} ended with {process.returncode}: {printed[-2000:]}")
    return Run(printed, wall_seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
