"""Interpreters of which ranks are forks, as those who start them see them. Main entries: `ForkServer`, `ForkedRun`.

The other side is `commmodel.simulate.online.fork_server`; of a program that is none of Python, our MPI library's.
"""

import os
import select
import signal
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

from commmodel.errors import InputError, RankEndedError

ServerKind = Literal["program", "nursery", "native"]
Outputs = tuple[IO[str] | int | None, IO[str] | int | None]
"""Standard output and standard error of a process; None: ours."""
_SCRIPT = str(Path(__file__).with_name("fork_server.py"))


def exit_code(code: int) -> int:
    """Return the exit code of a process as a shell says it."""
    return 128 - code if code < 0 else code


def open_process(
    command: Sequence[str],
    descriptors: Sequence[int],
    environment: Mapping[str, str],
    outputs: Outputs,
    *,
    folder: str | None = None,
    has_terminal: bool = False,
) -> "subprocess.Popen[bytes]":
    """Start a process that has the descriptors and nothing to read, in a group of its own: Ctrl-C is ours alone.

    With the terminal it reads what we would, and is in our group.

    Raises
    ------
    InputError
        If it cannot be started.
    """
    try:
        return subprocess.Popen(
            command, env=environment, pass_fds=descriptors, stdout=outputs[0], stderr=outputs[1],
            stdin=None if has_terminal else subprocess.DEVNULL, process_group=None if has_terminal else 0, cwd=folder,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"{command[0]}: {error.strerror}") from None


class ForkedRun:
    """Ranks of one run."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def start(self, rank: int) -> None:
        """Start a rank; the end of a server that has gone is seen by `ended`."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._connection.send(b"%d" % rank)

    def copy(self, rank: int) -> int:
        """Start a rank of a beginning; return its process, a child of this one, or what is no process."""
        self.start(rank)
        return int(self._received() or -1)

    def wait(self, seconds: float) -> None:
        """Wait until there is something to see, so long at most."""
        select.select([self._connection], [], [], seconds)

    def ended(self) -> list[tuple[int, int]] | None:
        """Return ranks that have ended since the last call, and their exit codes; None where the server has gone."""
        codes: list[tuple[int, int]] = []
        while select.select([self._connection], [], [], 0)[0]:
            text = self._received()
            if not text:
                return codes or None
            rank, code = map(int, text.split())
            codes.append((rank, code))
        return codes

    def _received(self) -> bytes:
        try:
            return self._connection.recv(64)
        except ConnectionResetError:
            return b""

    def close(self) -> None:
        """End all ranks that are left, and wait for their end."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
            while self._received():
                pass
        self._connection.close()


class ForkServer:
    """An interpreter of which ranks are forks, with the program's words; runs may go on side by side.

    `kind` is that of the other side, `environment` that of ranks. A ``native`` one is no interpreter but a program that
    serves forks of itself once it has come to MPI_Init; `words` are then its arguments.
    """

    def __init__(
        self,
        interpreter: Sequence[str],
        words: Sequence[str],
        environment: Mapping[str, str],
        *,
        kind: ServerKind = "program",
        outputs: Outputs = (None, None),
        descriptors: Sequence[int] = (),
        has_terminal: bool = False,
    ) -> None:
        self.name: str = interpreter[0]
        self._has_terminal = has_terminal
        self._connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [*interpreter, _SCRIPT, str(other.fileno()), kind, *words]
        if kind == "native":
            command = [*interpreter, *words]
            environment = {**environment, "COMMMODEL_FORK_SERVER": str(other.fileno())}
        self.process = open_process(
            command, [other.fileno(), *descriptors], environment, outputs, has_terminal=has_terminal
        )
        other.close()

    def wait(self) -> None:
        """Wait until ranks can be started.

        Raises
        ------
        RankEndedError
            If the interpreter ends before.
        """
        if not self._connection.recv(16):
            raise self.over()

    def over(self) -> RankEndedError:
        """Return what says that the interpreter has ended."""
        code = self.process.wait()
        return RankEndedError(f"{self.name} ended with exit code {code}", exit_code(code) or 1, "exit code")

    def begin(
        self,
        memory: int,
        descriptors: Iterable[int] = (),
        processors: Iterable[int] = (),
        *,
        are_copied: bool = False,
    ) -> ForkedRun:
        """Begin a run of ranks that share a memory, and have further descriptors, on some processors.

        Ranks that are to be copied become children of this process, which alone sees their end.
        """
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = " ".join(["copies" if are_copied else "begin", *map(str, processors)])
        with far, suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._connection, [words.encode()], [far.fileno(), memory, *descriptors])
        return ForkedRun(near)

    def close(self) -> None:
        """End the interpreter and all its ranks."""
        self._connection.close()
        with suppress(ProcessLookupError):
            (os.kill if self._has_terminal else os.killpg)(self.process.pid, signal.SIGKILL)
        self.process.wait()
