"""Random platforms in SimGrid's XML, of every kind of zone and link that both simulators read.

FATPIPE links that limit flows are used only by flows with equal penalties, others are so wide that they limit none:
else SMPI 3.32 shares them, or does not, as rounding has it (``tests/oracles/smpi_faults.toml``).

Main entries: `random_platform`, `host_names`, `elements_of`.
"""

from collections.abc import Callable
from itertools import combinations
from math import prod
from random import Random
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

HEADER = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
MOST_HOSTS = 16
CORES = "16"
"""Of a host: ranks that share a core are not modelled by us."""


def random_platform(random: Random) -> str:
    """Return a platform file of 2 to 16 hosts."""
    root = Element("platform", version="4.1")
    make = random.choice(list(KINDS.values()))
    make(_Maker(random), root)
    return HEADER + tostring(root, encoding="unicode") + "\n"


def elements_of(platform: str) -> Element:
    """Return the root element of a platform that was made here."""
    return fromstring(platform)  # noqa: S314  (not from elsewhere)


def host_names(platform: str) -> list[str]:
    """Return the names of a platform's hosts, in the order of the file.

    >>> host_names('<zone><host id="a"/><cluster prefix="c" radical="0-1,4" suffix=""/></zone>')
    ['a', 'c0', 'c1', 'c4']
    """
    names = []
    for element in elements_of(platform).iter():
        if element.tag == "host":
            names.append(element.attrib["id"])
        elif element.tag in ("cluster", "cabinet"):
            for part in element.attrib["radical"].split(","):
                first, _, last = part.partition("-")
                numbers = range(int(first), int(last or first) + 1)
                names += [f"{element.attrib['prefix']}{number}{element.attrib['suffix']}" for number in numbers]
    return names


class _Maker:
    """Makes the parts of one platform; names count up over all of it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = 0
        self.hosts = 0
        self.policies = random.choice((("SHARED",), ("SHARED",), ("SPLITDUPLEX",), _MIXED, _MIXED))
        self.speeds = [random.choice((1, 2, 3.5, 10)) for _ in range(random.choice((1, 1, 3)))]

    def name(self, kind: str) -> str:
        """Return a new name."""
        self.names += 1
        return f"{kind}{self.names}"

    def bandwidth(self) -> str:
        """Return 1 MB/s to 10 GB/s, often the same again."""
        if self.random.random() < 0.4:
            return "125MBps"
        return f"{10 ** self.random.uniform(6, 10):.4g}Bps"

    def latency(self) -> str:
        """Return 0 to 1 ms, often the same again."""
        if self.random.random() < 0.3:
            return self.random.choice(("0", "15us"))
        return f"{10 ** self.random.uniform(-6.5, -3):.3g}s"

    def speed(self) -> str:
        """Return the speed of a host."""
        return f"{self.random.choice(self.speeds)}Gf"

    def links(self, zone: Element, count: int) -> list[Element]:
        """Add links."""
        links = []
        for _ in range(count):
            policy = self.random.choice(self.policies)
            rate = _WIDE if policy == "FATPIPE" else self.bandwidth()
            link = SubElement(zone, "link", id=self.name("link"), bandwidth=rate, latency=self.latency())
            link.set("sharing_policy", policy)
            links.append(link)
        return links

    def add_hosts(self, zone: Element, count: int) -> list[str]:
        """Add hosts."""
        names = []
        for _ in range(count):
            names.append(self.name("host"))
            SubElement(zone, "host", id=names[-1], speed=self.speed(), core=CORES)
        self.hosts += count
        return names

    def route(self, zone: Element, ends: dict[str, str], links: list[Element], most: int = 3) -> None:
        """Add a route of some of the links, or one for each direction."""
        tag = "zoneRoute" if "gw_src" in ends else "route"
        symmetrical = self.random.random() < 0.7 or ends["src"] == ends["dst"]
        for direction in range(1 if symmetrical else 2):
            if direction:
                ends = {_OPPOSITE[key]: value for key, value in ends.items()}
            route = SubElement(zone, tag, **ends)
            if not symmetrical:
                route.set("symmetrical", "NO")
            for link in self.random.sample(links, self.random.randint(1, min(most, len(links)))):
                item = SubElement(route, "link_ctn", id=link.attrib["id"])
                if link.attrib["sharing_policy"] == "SPLITDUPLEX":
                    item.set("direction", self.random.choice(("UP", "DOWN")))

    def cluster_attributes(self, count: int) -> dict[str, str]:
        """Return the attributes that clusters of all topologies have."""
        random = self.random
        attributes = {
            "prefix": f"{self.name('c')}-",
            "suffix": "",
            "radical": f"0-{count - 1}",
            "speed": self.speed(),
            "core": CORES,
            "bw": self.bandwidth(),
            "lat": self.latency(),
            "sharing_policy": random.choice(("SPLITDUPLEX", "SPLITDUPLEX", "SHARED")),
        }
        if random.random() < 0.4:
            attributes["limiter_link"] = self.bandwidth()
        if random.random() < 0.5:
            attributes |= {"loopback_bw": self.bandwidth(), "loopback_lat": self.latency()}
        self.hosts += count
        return attributes


_MIXED = ("SHARED", "SHARED", "SPLITDUPLEX", "FATPIPE")
_WIDE = "1e18Bps"
_OF_CABINETS = ("prefix", "suffix", "radical", "speed", "bw", "lat")
_OPPOSITE = {"src": "dst", "dst": "src", "gw_src": "gw_dst", "gw_dst": "gw_src"}


def _full(maker: _Maker, parent: Element, most: int = 8) -> str:
    """Add a zone with a table of routes over common links, and return a host of it."""
    random = maker.random
    zone = SubElement(parent, "zone", id=maker.name("zone"), routing="Full")
    hosts = maker.add_hosts(zone, random.randint(2, most))
    links = maker.links(zone, random.randint(2, 12))
    most = 3
    if parent.tag == "platform" and random.random() < 0.2:
        most = 1
        for link in links:
            link.attrib |= {"bandwidth": "125MBps", "latency": "15us", "sharing_policy": "FATPIPE"}
    loopbacks = maker.links(zone, 1) if random.random() < 0.4 else []
    for source, destination in combinations(hosts, 2):
        maker.route(zone, {"src": source, "dst": destination}, links, most)
    if loopbacks:
        for host in hosts:
            maker.route(zone, {"src": host, "dst": host}, loopbacks)
    return hosts[0]


def _shortest(maker: _Maker, parent: Element, most: int = 8) -> str:
    """Add a zone of shortest routes over a tree of hosts and routers, or a graph, and return a host of it."""
    random = maker.random
    routing = random.choice(("Floyd", "Floyd", "Dijkstra"))
    zone = SubElement(parent, "zone", id=maker.name("zone"), routing=routing)
    hosts = maker.add_hosts(zone, random.randint(2, most))
    points = list(hosts)
    for _ in range(random.randint(0, 4)):
        points.append(maker.name("router"))
        SubElement(zone, "router", id=points[-1])
    random.shuffle(points)
    edges = [(random.choice(points[:place]), point) for place, point in enumerate(points) if place]
    if routing == "Floyd":
        absent = [edge for edge in combinations(points, 2) if edge not in edges]
        edges += random.sample(absent, min(len(absent), random.choice((0, 0, 1, 3))))
    links = maker.links(zone, len(edges))
    for place, (source, destination) in enumerate(edges):
        few = [links[place], *random.sample(links, random.choice((0, 0, 1)))]
        maker.route(zone, {"src": source, "dst": destination}, few, most=1)
    return hosts[0]


def _flat(maker: _Maker, parent: Element, most: int = 8) -> str:
    """Add hosts on one switch, and return their router."""
    random, alone = maker.random, parent.tag == "platform"
    attributes = maker.cluster_attributes(random.randint(2, most))
    router = maker.name("router")
    if random.random() < 0.5:
        attributes |= {"bb_bw": maker.bandwidth(), "bb_lat": maker.latency()}
        attributes["bb_sharing_policy"] = "FATPIPE" if alone and random.random() < 0.3 else "SHARED"
    SubElement(parent, "cluster", id=maker.name("cluster"), router_id=router, **attributes)
    return router


def _topology(maker: _Maker, parent: Element) -> None:
    """Add a fat tree, a torus or a dragonfly, none on which SMPI 3.32 ends with a fault.

    Those are dragonflies of more groups than a chassis has blades, and some fat trees with limiters.
    """
    random = maker.random
    kind = random.choice(("FAT_TREE", "TORUS", "DRAGONFLY"))
    if kind == "TORUS":
        lists = [[random.randint(2, 4) for _ in range(random.randint(1, 3))]]
        hosts = prod(lists[0])
    elif kind == "FAT_TREE":
        levels = random.randint(1, 3)
        down = [random.randint(2, 4) for _ in range(levels)]
        up = [1, *(random.randint(1, 3) for _ in range(levels - 1))]
        lists = [[levels], down, up, [random.randint(1, 2) for _ in range(levels)]]
        hosts = prod(down)
    else:
        chassis, blades, nodes = random.randint(1, 3), random.randint(2, 3), random.randint(1, 3)
        groups = random.randint(1, blades)
        lists = [[groups, random.randint(1, 2)], [chassis, random.randint(1, 2)], [blades, 1], [nodes]]
        hosts = groups * chassis * blades * nodes
    if not 2 <= hosts <= 2 * MOST_HOSTS:
        return _topology(maker, parent)
    text = ";".join(",".join(map(str, numbers)) for numbers in lists)
    attributes = maker.cluster_attributes(hosts)
    if kind == "FAT_TREE" and len(lists[1]) > 2:
        attributes.pop("limiter_link", None)
    if kind == "TORUS" and "limiter_link" not in attributes:  # else SMPI has no route from a host to itself
        attributes |= {"loopback_bw": maker.bandwidth(), "loopback_lat": maker.latency()}
    SubElement(parent, "cluster", id=maker.name("cluster"), topology=kind, topo_parameters=text, **attributes)
    return None


def _cabinets(maker: _Maker, parent: Element) -> None:
    """Add a zone of cabinets around one switch."""
    random = maker.random
    zone = SubElement(parent, "zone", id=maker.name("zone"), routing="Cluster")
    for _ in range(random.randint(1, 3)):
        attributes = maker.cluster_attributes(random.randint(2, 4))
        attributes = {name: value for name, value in attributes.items() if name in _OF_CABINETS}
        SubElement(zone, "cabinet", id=maker.name("cabinet"), **attributes)
    if random.random() < 0.6:
        rate, time = maker.bandwidth(), maker.latency()
        SubElement(zone, "backbone", id=maker.name("backbone"), bandwidth=rate, latency=time)


def _nested(maker: _Maker, parent: Element, depth: int = 0) -> str:
    """Add a zone with zones within it, and return a point of the first."""
    random = maker.random
    routing = random.choice(("Full", "Full", "Floyd"))
    zone = SubElement(parent, "zone", id=maker.name("zone"), routing=routing)
    gates = []
    for _ in range(random.randint(2, 3)):
        if depth < 1 and random.random() < 0.25:
            gate = _nested(maker, zone, depth + 1)
        else:
            gate = random.choice((_flat, _flat, _full, _shortest))(maker, zone, 4)
        gates.append((zone[-1].attrib["id"], gate))
    links = maker.links(zone, random.randint(1, 6))
    pairs = list(combinations(gates, 2))
    if routing == "Floyd" and random.random() < 0.5:
        pairs = [(gates[place], gates[place + 1]) for place in range(len(gates) - 1)]
    for (source, leave), (destination, enter) in pairs:
        ends = {"src": source, "dst": destination, "gw_src": leave, "gw_dst": enter}
        maker.route(zone, ends, links, most=1 if routing == "Floyd" else 3)
    return gates[0][1]


KINDS: dict[str, Callable[[_Maker, Element], object]] = {
    "full": _full,
    "full again": _full,
    "shortest": _shortest,
    "flat": _flat,
    "topology": _topology,
    "topology again": _topology,
    "cabinets": _cabinets,
    "nested": _nested,
    "nested again": _nested,
}
"""Kind -> function that adds its outermost zone; those that come twice are taken twice as often."""
