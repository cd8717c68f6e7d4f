"""Ranks that stay: they run one program after the other, so that a test need not wait for MPI to start.

Main entry: `Ranks`. As a program, this is each of the ranks: it connects to the test's socket and runs what it is sent.
"""

import atexit
import gc
import json
import os
import runpy
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

SECONDS = 900
STARTS = 3
"""Open MPI's launcher gives up where one with its process number was killed."""
STREAMS = {1: "stdout", 2: "stderr"}


class Ranks:
    """Ranks of one mpiexec, from the first program to the end of the session or of a rank.

    A program whose ranks end by themselves, as after MPI_Abort, has the exit code of mpiexec; the next program starts
    new ranks.
    """

    def __init__(self, mpiexec: str, count: int, environment: dict[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ranks-"))
        self.connections: list[socket.socket] = []
        atexit.register(self.close)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "socket"))
            listener.listen(count)
            listener.settimeout(1.0)
            for _ in range(STARTS):
                self.process = subprocess.Popen(
                    [mpiexec, "-n", str(count), sys.executable, __file__, str(self.folder)],
                    env=environment | {"MPI4PY_RC_THREAD_LEVEL": "single"},
                    stdin=subprocess.DEVNULL,
                )
                if self.connect(listener, count):
                    break
            else:
                raise RuntimeError(f"{mpiexec} started no ranks: exit code {self.process.returncode}")

    def connect(self, listener: socket.socket, count: int) -> bool:
        """Wait for the ranks; return whether all of them came before the launcher ended."""
        deadline = time.monotonic() + SECONDS
        while len(self.connections) < count:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                if self.process.poll() is not None:
                    self.disconnect()
                    return False
                if time.monotonic() > deadline:
                    raise
                continue
            connection.settimeout(SECONDS)
            self.connections.append(connection)
        return True

    @property
    def alive(self) -> bool:
        return bool(self.connections)

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run ``python COMMAND`` on all ranks, as a launch of its own would."""
        request = json.dumps({"command": command, "folder": os.getcwd()}).encode() + b"\n"
        codes = []
        try:
            for connection in self.connections:
                connection.sendall(request)
            for connection in self.connections:
                with connection.makefile("r") as answers:
                    codes.append(answers.readline())
        except OSError as error:
            codes.append("")
            if isinstance(error, TimeoutError):
                self.process.kill()
        if not all(codes):
            self.disconnect()
        code = max(map(int, codes)) if all(codes) else self.process.returncode
        texts = [self.read(name) for name in STREAMS.values()]
        return subprocess.CompletedProcess(command, code, *texts)

    def read(self, name: str) -> str:
        """Return what the ranks wrote, one rank after the other."""
        return "".join(path.read_text() for path in sorted(self.folder.glob(f"{name}.*")))

    def disconnect(self) -> None:
        for connection in self.connections:
            connection.close()
        self.connections.clear()
        self.process.wait(SECONDS)

    def close(self) -> None:
        atexit.unregister(self.close)
        self.disconnect()
        shutil.rmtree(self.folder)


def redirect(targets: dict[int, int]) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for number, target in targets.items():
        os.dup2(target, number)
        os.close(target)


def execute(command: Sequence[str]) -> int:
    """Run ``-m MODULE ARGUMENTS`` or ``FILE ARGUMENTS``; return its exit code."""
    is_module = command[0] == "-m"
    program, *arguments = command[is_module:]
    sys.argv[:] = [program, *arguments]
    sys.orig_argv[:] = [sys.executable, *command]
    try:
        if is_module:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(program)
            runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve(folder: Path) -> None:
    """Run what comes through the socket, until it is closed."""
    from mpi4py import MPI

    environment = dict(os.environ)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(folder / "socket"))
        for line in connection.makefile("r"):
            request = json.loads(line)
            os.chdir(request["folder"])
            saved = {number: os.dup(number) for number in STREAMS}
            files = {number: folder / f"{name}.{MPI.COMM_WORLD.rank}" for number, name in STREAMS.items()}
            redirect({number: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for number, path in files.items()})
            code = execute(request["command"])
            redirect(saved)
            sys.path[0] = ""
            os.environ.clear()
            os.environ.update(environment)
            gc.collect()
            connection.sendall(f"{code}\n".encode())


if __name__ == "__main__":
    sys.path[0] = ""
    serve(Path(sys.argv[1]))
