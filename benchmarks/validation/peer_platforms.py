"""Other people's platform files for SimGrid: which of those that SMPI runs we read, and whether times are the same.

``python -m benchmarks.validation.peer_platforms PROJECT...``, each a folder with a checkout. A platform file is an XML
file with a zone. Two ranks on its first and last host, or on its first two, send 1 kB there and 1 MB back, in SMPI and
by us. Files that SMPI runs and we do not read are named with our reason. SMPI must be installed. The exit code is 1
where a time differs by more than 1e-6.
"""

import argparse
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.peers.replays import EXACT, Case, PeerReplays

from commmodel.collectives import CollectiveSettings
from commmodel.errors import InputError
from commmodel.simulate import run
from commmodel.simulate.platform import network, read_xml
from commmodel.simulate.traces.reader import replay_texts

WANTED = 1e-6
_NO_TIME = 1e-12
"""Seconds."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ZONE = re.compile(r"<(zone|AS|cluster)\b")
_HOSTS = re.compile(r"<(host|peer|cluster|cabinet)\s([^>]*)>")
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*[\"']([^\"']*)[\"']")
_RANKS = (
    ("init", "send 1 0 1000 6", "recv 1 0 1000000 6", "finalize"),
    ("init", "recv 0 0 1000 6", "send 0 0 1000000 6", "finalize"),
)


@dataclass(frozen=True)
class Outcome:
    """What became of a file: SMPI's and our seconds, each None where it does not run, and our reason."""

    file: Path
    peer: float | None
    seconds: float | None
    reason: str = ""

    @property
    def error(self) -> float:
        """Relative difference, 0 where one does not run, or where SMPI does not tell times apart."""
        if self.seconds is None or self.peer is None or abs(self.seconds - self.peer) < _NO_TIME:
            return 0.0
        return abs(self.seconds / self.peer - 1)


def host_names(text: str) -> list[str]:
    """Return the hosts of a platform file, of clusters the first and the last."""
    names = []
    for tag, attributes in _HOSTS.findall(text):
        fields = dict(_ATTRIBUTE.findall(attributes))
        numbers = re.findall(r"\d+", fields.get("radical", "")) if tag in ("cluster", "cabinet") else []
        prefix, suffix = fields.get("prefix", ""), fields.get("suffix", "")
        names += [f"{prefix}{numbers[place]}{suffix}" for place in (0, -1)] if numbers else [fields.get("id", "")]
    return list(dict.fromkeys(names))


def our_seconds(file: Path, hosts: tuple[str, ...]) -> float:
    """Return our time, with the settings of the file."""
    platform, properties = read_xml(file)
    places = platform.place(len(hosts), hosts)
    texts = ["".join(f"{rank} {action}\n" for action in actions).encode() for rank, actions in enumerate(_RANKS)]
    speeds = platform.speeds[places].tolist()
    program = replay_texts(
        lambda rank: iter([texts[rank]]), ["first", "second"], speeds=speeds, settings=CollectiveSettings("smpi")
    )
    return run(program, network(properties), platform, hosts=places).seconds


def outcome(peer: PeerReplays, file: Path) -> Outcome:
    """Run a file on the first two hosts that SMPI runs."""
    text = _COMMENT.sub("", file.read_text(errors="replace"))
    names = host_names(text)
    pairs = [(names[0], names[-1]), (names[0], names[1])] if len(names) > 1 else [(names[0], names[0])] if names else []
    for pair in pairs:
        try:
            case = Case(file.read_text(errors="replace"), pair, _RANKS)
            output = peer.run(case, f"--cfg=path:{file.parent}")
        except ValueError:
            continue
        seconds = float(re.findall(r"^(\S+) Simulation time", output, re.MULTILINE)[-1])
        try:
            return Outcome(file, seconds, our_seconds(file, pair))
        except InputError as error:
            return Outcome(file, seconds, None, str(error).removeprefix(f"{file}: "))
    return Outcome(file, None, None)


def files(project: Path) -> Iterator[Path]:
    """Yield the platform files of a project."""
    for file in sorted(project.rglob("*.xml")):
        text = _COMMENT.sub("", file.read_text(errors="replace"))
        if "<platform" in text and _ZONE.search(text):
            yield file


def main() -> None:
    """Run, print a row for each project, and name the misses."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("projects", nargs="+", type=Path, metavar="PROJECT")
    worst, misses = 0.0, []
    print("| project | files | run in SMPI | of these read | largest difference |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        peer = PeerReplays(Path(folder), EXACT)
        for project in parser.parse_args().projects:
            outcomes = [outcome(peer, file) for file in files(project)]
            in_peer = [result for result in outcomes if result.peer is not None]
            read = [result for result in in_peer if result.seconds is not None]
            largest = max((result.error for result in read), default=0.0)
            print(f"| {project.name} | {len(outcomes)} | {len(in_peer)} | {len(read)} | {largest:.1e} |", flush=True)
            misses += [(project, result) for result in in_peer if result.seconds is None or result.error > WANTED]
            worst = max(worst, largest)
    for project, result in misses:
        print(f"{project.name}/{result.file.relative_to(project)}: {result.reason or f'differs by {result.error:.1e}'}")
    raise SystemExit(worst > WANTED)


if __name__ == "__main__":
    main()
