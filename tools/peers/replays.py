"""A trace replayed by SMPI and by us on one platform. Main entries: `Case`, `PeerReplays`, `our_seconds`."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from commmodel.collectives import CollectiveSettings
from commmodel.collectives.library.smpi_selection import Selection
from commmodel.simulate import SMPI, run
from commmodel.simulate.platform import Platform
from commmodel.simulate.platform.xml import read_xml_bytes
from commmodel.simulate.traces.reader import replay_texts

EXACT = ("surf/precision:1e-12", "network/model:SMPI", "network/optim:Full")
"""All rates are worked out anew at each event, and times are told apart down to 1e-12 s."""


@dataclass(frozen=True)
class Case:
    """A platform in XML, the host of each rank, and the actions of each rank."""

    platform: str
    hosts: tuple[str, ...]
    ranks: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Return the case as a table of a TOML file."""
        lines = [f"platform = '''\n{self.platform.strip()}\n'''", f"hosts = {list(self.hosts)}", "ranks = ["]
        lines += ["'''\n" + "".join(f"{action}\n" for action in actions) + "'''," for actions in self.ranks]
        return "\n".join([*lines, "]", ""])


def read_cases(path: Path) -> list[tuple[Case, dict[str, Any]]]:
    """Return the cases of a TOML file, each with its other keys."""
    cases = []
    for table in tomllib.loads(path.read_text())["case"]:
        ranks = tuple(tuple(text.splitlines()) for text in table.pop("ranks"))
        cases.append((Case(table.pop("platform"), tuple(table.pop("hosts")), ranks), table))
    return cases


def our_seconds(
    case: Case, selector: str | Selection = "smpi", change: Callable[[Platform], Platform] | None = None
) -> float:
    """Return what a case takes by our simulator, on a changed platform; raises DeadlockError where ranks hang."""
    platform = read_xml_bytes(case.platform.encode())[0]
    if change is not None:
        platform = change(platform)
    hosts = platform.place(len(case.ranks), case.hosts)
    texts = ["".join(f"{rank} {action}\n" for action in actions).encode() for rank, actions in enumerate(case.ranks)]
    names = [f"rank {rank}" for rank in range(len(texts))]
    speeds = platform.speeds[hosts].tolist()
    program = replay_texts(
        lambda rank: iter([texts[rank]]), names, speeds=speeds, settings=CollectiveSettings(selector)
    )
    return run(program, SMPI, platform, hosts=hosts).seconds


@dataclass(frozen=True)
class PeerReplays:
    """Replays by SMPI in a folder; its program is started without smpirun, whose shell takes longer than a replay."""

    folder: Path
    options: tuple[str, ...] = EXACT

    @cached_property
    def _programs(self) -> tuple[Path, Path, str]:
        script = Path(shutil.which("smpirun") or "smpirun").read_text()
        programs, libraries = (
            re.search(pattern, script) for pattern in (r'"?(\S+)/smpimain"?', r'LD_LIBRARY_PATH="([^:$"]+)')
        )
        if programs is None or libraries is None:
            raise ValueError("smpirun does not say where its programs are")
        folder = Path(programs[1].lstrip('"'))
        return folder / "smpimain", folder / "smpireplaymain", libraries[1]

    def run(self, case: Case, *options: str, timeout: float = 30) -> str:
        """Return what SMPI prints; raises ValueError where it fails."""
        _, replay, _ = self._programs
        files = [self.folder / name for name in ("platform.xml", "hosts", "index")]
        paths = [self.folder / f"rank{rank}" for rank in range(len(case.ranks))]
        contents = [case.platform, *("".join(f"{name}\n" for name in names) for names in (case.hosts, paths))]
        for path, content in zip(files, contents, strict=True):
            path.write_text(content)
        for rank, (path, actions) in enumerate(zip(paths, case.ranks, strict=True)):
            path.write_text("".join(f"{rank} {action}\n" for action in actions))
        settings = (
            *("smpi/privatization:no", f"smpi/np:{len(case.ranks)}", f"smpi/hostfile:{files[1]}"),
            *(f"smpi/replay:{files[2]}", f"smpi/tmpdir:{self.folder}", *self.options),
        )
        words = ("--log=smpi_replay.thres:info", "--log=smpi_replay.fmt:%.15r%e%m%n", *options)
        return self._output(replay, settings, words, (), timeout)

    def _output(
        self, program: Path, settings: Sequence[str], options: Sequence[str], words: Sequence[str], timeout: float
    ) -> str:
        """Return what a program prints that runs on the platform and hosts written before."""
        main, _, libraries = self._programs
        command = [
            *(main, program, *(f"--cfg={setting}" for setting in settings)),
            *("--log=root.thres:critical", *options),
            *(self.folder / "platform.xml", *words),
        ]
        try:
            process = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=timeout,
                env={"LD_LIBRARY_PATH": libraries},
                cwd=self.folder,
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"SMPI takes longer than {timeout:g} s") from None
        if process.returncode:
            raise ValueError(f"SMPI ended with {process.returncode}: {process.stdout[:2000]}")
        return process.stdout

    def seconds(self, case: Case) -> float:
        """Return what a case takes by SMPI."""
        output = self.run(case)
        ends = re.findall(r"^(\S+) Simulation time", output, re.MULTILINE)  # whenever no rank is at work
        if not ends:
            raise ValueError(f"SMPI says no time: {output[-300:]}")
        return float(ends[-1])
