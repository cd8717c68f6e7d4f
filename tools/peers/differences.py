"""Random cases replayed by two simulators, and the smallest that still differ.

Main entries: `random_experiment`, `compare`, `shrunk`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from xml.etree.ElementTree import Element, tostring

from tools.peers.random_platforms import CORES, HEADER, elements_of, host_names, random_platform
from tools.peers.random_programs import Phase, random_program, traces
from tools.peers.replays import Case, PeerReplays, our_seconds

from commmodel.errors import CommModelError

_PLAIN = {"bandwidth": "125MBps", "bw": "125MBps", "latency": "0", "lat": "0", "speed": "1Gf", "core": CORES}
"""Attributes and what is the simplest that they can be."""
_OPTIONAL = (
    ("limiter_link",), ("loopback_bw", "loopback_lat"), ("bb_bw", "bb_lat", "bb_sharing_policy"),
    ("sharing_policy",), ("bb_sharing_policy",), ("symmetrical",),
)  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """A platform, the host of each rank, and a program."""

    platform: str
    hosts: tuple[str, ...]
    phases: tuple[Phase, ...]

    def case(self) -> Case:
        """Return what the simulators replay."""
        ranks = traces(self.phases, len(self.hosts))
        return Case(self.platform, self.hosts, tuple(tuple(actions) for actions in ranks))

    def smaller(self) -> Iterator["Experiment"]:
        """Yield experiments with a phase, a rank, or a part of the platform less, or with a simpler one."""
        for place in range(len(self.phases)):
            yield replace(self, phases=self.phases[:place] + self.phases[place + 1 :])
        ranks = len(self.hosts)
        for rank in reversed(range(ranks if ranks > 2 else 0)):
            phases = (phase.without(rank, ranks) for phase in self.phases)
            hosts = self.hosts[:rank] + self.hosts[rank + 1 :]
            yield Experiment(self.platform, hosts, tuple(phase for phase in phases if phase is not None))
        for place, phase in enumerate(self.phases):
            for simpler in phase.smaller():
                yield replace(self, phases=(*self.phases[:place], simpler, *self.phases[place + 1 :]))
        for platform in _smaller_platforms(self.platform):
            yield replace(self, platform=platform)


def _smaller_platforms(platform: str) -> Iterator[str]:
    """Yield platforms without an element and all that names it, or with an attribute less or plain."""
    root = elements_of(platform)
    names = [element.attrib["id"] for element in root.iter() if "id" in element.attrib and element.tag != "link_ctn"]
    for name in names:
        copy = elements_of(platform)
        _remove(copy, name)
        yield _text(copy)
    for place, element in enumerate(root.iter()):
        for attributes in _OPTIONAL:
            if attributes[0] in element.attrib:
                yield _changed(platform, place, dict.fromkeys(attributes))
        for attribute, plain in _PLAIN.items():
            if element.attrib.get(attribute, plain) != plain:
                yield _changed(platform, place, {attribute: plain})


def _remove(element: Element, name: str) -> None:
    for child in list(element):
        if name in child.attrib.values():
            element.remove(child)
        else:
            _remove(child, name)
            if child.tag in ("route", "zoneRoute") and not len(child):
                element.remove(child)


def _changed(platform: str, place: int, attributes: dict[str, str | None]) -> str:
    root = elements_of(platform)
    element = list(root.iter())[place]
    for name, value in attributes.items():
        if value is None:
            element.attrib.pop(name, None)
        else:
            element.set(name, value)
    return _text(root)


def _text(root: Element) -> str:
    return HEADER + tostring(root, encoding="unicode") + "\n"


def random_experiment(seed: int, number: int) -> Experiment:
    """Return a random experiment, the same each time: a rank on each host, on some of them, or several on a host."""
    random = Random(f"{seed} {number}")  # noqa: S311
    platform = random_platform(random)
    names = host_names(platform)
    ranks = random.randint(2, max(2, min(12, len(names))))
    if random.random() < 0.75 or "<cabinet" in platform:  # whose hosts have one core
        hosts = random.sample(names, ranks)
    else:
        hosts = random.choices(names, k=ranks)
    return Experiment(platform, tuple(hosts), tuple(random_program(random, ranks)))


@dataclass(frozen=True)
class Comparison:
    """Seconds of a case by SMPI and by us; `problem` where one of them has none."""

    peer: float = 0.0
    commmodel: float = 0.0
    problem: str = ""

    @property
    def error(self) -> float:
        """Relative difference."""
        return abs(self.commmodel / self.peer - 1) if self.peer else float(self.commmodel != 0)


def compare(case: Case, peer: PeerReplays) -> Comparison:
    """Replay a case by both."""
    try:
        seconds = peer.seconds(case)
    except ValueError as error:
        return Comparison(problem=f"SMPI: {error}")
    try:
        return Comparison(seconds, our_seconds(case))
    except CommModelError as error:
        return Comparison(seconds, problem=f"commmodel: {error}")


def shrunk(experiment: Experiment, peer: PeerReplays, limit: float, tries: int = 600) -> Experiment:
    """Return a smaller experiment whose times still differ by more than `limit`, after so many comparisons at most."""
    goes_on = True
    while goes_on:
        goes_on = False
        for smaller in experiment.smaller():
            tries -= 1
            if tries < 0:
                return experiment
            comparison = compare(smaller.case(), peer)
            if not comparison.problem and comparison.error > limit:
                experiment, goes_on = smaller, True
                break
    return experiment
