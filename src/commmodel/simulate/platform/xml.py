"""Platforms in the XML of SimGrid (versions 3 to 4.1 of its format), with the settings that they hold for SMPI.

Read are zones (``zone``, ``AS``) of routing Full, Floyd, Dijkstra and Cluster, hosts, routers, links and routes, and
clusters of all four topologies. What cannot matter to messages, such as disks, is passed over with a note; profiles of
availability are read for the time of their first change, up to which a simulation is right. What would
change a simulation and is not known here is refused.
Format: the manual of SimGrid, "XML reference"; where that is silent, routes and links are those of its release 3.32
(tests/oracles/routes.toml). Main entry: `read_xml`.
"""

import math
import os
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate.platform.description import NO_COSTS, Assembly, Platform, Sharing
from commmodel.simulate.platform.hierarchy import Leaf, Point, Tree, passages, shortest_routes, table_of
from commmodel.simulate.platform.topologies import Dragonfly, FatTree, Flat, Torus
from commmodel.simulate.platform.topology import Backbone, Link, Name
from commmodel.simulate.platform.xml_elements import Element, Ranges, parse, parse_bytes
from commmodel.simulate.platform.xml_power import costs_of
from commmodel.simulate.platform.xml_profiles import OF_HOST, OF_LINK, changes
from commmodel.simulate.platform.xml_settings import check

_SHARING = {"SHARED": "shared", "SPLITDUPLEX": "split", "FULLDUPLEX": "split", "FATPIPE": "fatpipe"}
_ROUTING = {name: name for name in ("Full", "Floyd", "Dijkstra", "DijkstraCache", "Cluster", "None", "Vivaldi")}
_YES = {word: word.lower() == "yes" for word in ("YES", "NO", "yes", "no")}
_WIDE = 1e30
"""B/s that are no limit, of the distance between two hosts with coordinates."""
_LOOPBACK = (1e10, 0.0)
"""B/s and s of what connects a host with itself in a zone of routes that gives it no route to itself: SimGrid 3.32."""
_ZONE = {"zone", "AS", "cluster"}
_STORAGE = {"disk", "storage", "storage_type", "mount", "mstorage"}
_ROUTES = {"route", "zoneRoute", "ASroute", "bypassRoute", "bypassZoneRoute", "bypassASroute"}
_IN_ZONE = _ZONE | _STORAGE | _ROUTES | {"host", "router", "link", "peer", "cabinet", "host_link", "backbone", "prop"}
_CABINET = {
    *("id", "prefix", "suffix", "radical", "speed", "power", "core", "bw", "lat", "sharing_policy"),
    *("limiter_link", "loopback_bw", "loopback_lat"),
}
_CLUSTER = _CABINET | {"bb_bw", "bb_lat", "bb_sharing_policy", "topology", "topo_parameters", "router_id"}
_TOPOLOGIES = {name: name for name in ("FLAT", "TORUS", "FAT_TREE", "DRAGONFLY")}


@dataclass
class _Cluster:
    """A cluster's hosts by name."""

    prefix: str
    suffix: str
    ranges: Ranges
    leaf: int

    def find(self, name: str) -> Point | None:
        """Return the host of that name."""
        middle = name[len(self.prefix) : len(name) - len(self.suffix)]
        fits = name.startswith(self.prefix) and name.endswith(self.suffix)
        if not (fits and middle.isascii() and middle.isdecimal() and str(int(middle[:18])) == middle):
            return None
        place = self.ranges.index(int(middle))
        return None if place is None else (self.leaf, place)


@dataclass
class _Own:
    """Hosts and routers of a zone itself: hosts, and their names; names of routers; hosts of cabinets with links."""

    hosts: list[tuple[str, float, int]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    routers: list[str] = field(default_factory=list)
    ports: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    peers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    coordinates: dict[str, Element] = field(default_factory=dict)
    backbone: int = -1
    costs: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, name: str, speed: float, cores: int, costs: tuple[float, ...]) -> None:
        """Add a host."""
        self.hosts.append((name, speed, cores))
        self.costs.append(costs)
        self.names.add(name)


class _PlatformReader:
    """Reads one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.assembly = Assembly()
        self.leaves: list[Leaf] = []
        self.trees: list[Tree] = []
        self.links: dict[str, tuple[int, int]] = {}
        self.split: set[str] = set()
        self.points: dict[str, Point] = {}
        self.clusters: list[_Cluster] = []
        self.names: dict[str, Tree] = {}
        self.properties: dict[str, str] = {}
        self.loopback = -1
        self.passed_over: dict[str, Element] = {}
        self.cut: list[NDArray[np.int64]] = []
        self.changes: list[tuple[str, str | int, float, str]] = []

    # Names.

    def name_point(self, element: Element, name: str, point: Point) -> None:
        """Note the name of a host or router."""
        if name in self.points or any(cluster.find(name) for cluster in self.clusters):
            element.fail(f"a second host or router {name!r}")
        self.points[name] = point

    def point(self, element: Element, attribute: str) -> Point:
        """Return the host or router that an attribute names."""
        name = element.text(attribute)
        if name in self.points:
            return self.points[name]
        for cluster in self.clusters:
            if (location := cluster.find(name)) is not None:
                return location
        raise element.error(f"{attribute} {name!r} is no host or router of this file, or comes after this")

    def add_link(self, element: Element, name: str, rate: float, time: float, sharing: Sharing) -> tuple[int, int]:
        """Add a link, and return its numbers upwards and downwards."""
        first = self.assembly.add_links(1, rate, time, lambda _: name, sharing)
        directions = first, first + (sharing == "split")
        directions_of = {name: directions}
        if sharing == "split":
            self.split.add(name)
            directions_of |= {f"{name}_UP": (first, first + 1), f"{name}_DOWN": (first + 1, first)}
        for link in directions_of:
            if link in self.links:
                element.fail(f"a second link {link!r}")
        self.links |= directions_of
        return directions

    def route(self, element: Element) -> tuple[list[int], list[int]]:
        """Return the links that a route lists, and those of the route back."""
        forth, back = [], []
        for item in element.children:
            item.check({"id", "direction"}, set())
            name = item.text("id")
            if name not in self.links:
                item.fail(f"there is no link {name!r} before this")
            up, down = self.links[name]
            direction = item.choice("direction", {word: word for word in ("UP", "DOWN", "NONE")}, "NONE")
            if name in self.split and direction == "NONE":
                item.fail(f'link {name!r} has two directions: say direction="UP" or "DOWN"')
            if direction == "DOWN":
                up, down = down, up
            forth.append(up)
            back.append(down)
        return forth, back[::-1]

    # Elements.

    def read(self, root: Element) -> Platform:
        """Return the platform of a file."""
        if root.tag != "platform":
            root.fail("expected <platform>")
        root.check({"version"}, _ZONE | _STORAGE | {"config"})
        self.pass_over(root)
        version = root.text("version", "4.1")
        if version not in {"3", "4", "4.0", "4.1"}:
            root.fail(f"version {version!r}: 3, 4 and 4.1 are read")
        outermost = [child for child in root.children if child.tag in _ZONE]
        if len(outermost) != 1:
            root.fail(f"{len(outermost)} outermost zones: expected one")
        for child in root.children:
            if child.tag == "config":
                child.check({"id"}, {"prop"})
                for prop in child.children:
                    prop.check({"id", "value"}, set())
                    self.properties[prop.text("id")] = prop.text("value")
                    try:
                        check(prop.text("id"), prop.text("value"))
                    except InputError as error:
                        prop.fail(str(error))
        self.zone(outermost[0], None)
        if not self.assembly.hosts:
            root.fail("no hosts")
        between, apart = passages(self.leaves, self.trees)
        notes = tuple(
            f"{self.path}: line {element.line}: <{tag}> is passed over: messages do not go through it"
            for tag, element in self.passed_over.items()
        )
        cut = np.concatenate([apart, *self.cut])
        platform = self.assembly.platform(self.path.stem, "xml", between)
        numbered = tuple(
            (kind, platform.host(end) if isinstance(end, str) else end, seconds, where)
            for kind, end, seconds, where in self.changes
        )
        return replace(platform, without_route=cut, notes=notes, changes=numbered)

    def pass_over(self, element: Element) -> None:
        """Note the storage in an element, which no message goes through."""
        for child in element.children:
            if child.tag in _STORAGE:
                self.passed_over.setdefault(child.tag, child)

    def host_properties(self, host: Element) -> None:
        """Raise where a property of a host would change its messages; note its storage."""
        self.pass_over(host)
        for child in host.children:
            name = child.attributes.get("id", "")
            if child.tag == "prop" and name.startswith("smpi/"):
                child.fail(f"{name} of a single host is not simulated: set it for all in <config>, or take it out")

    def add_leaf(self, tree: Tree, leaf: Leaf, names: Name, speeds: Any, cores: Any, costs: Any = NO_COSTS) -> None:
        """Add a zone with hosts or routers."""
        leaf.links = self.assembly.links
        self.leaves.append(leaf)
        self.trees.append(tree)
        self.assembly.add_zone(leaf.zone, names, speeds, cores, costs=costs, may_stand=True)

    def zone(self, element: Element, parent: Tree | None) -> None:
        """Read a zone with all that is in it."""
        name = element.text("id")
        if name in self.names:
            element.fail(f"a second zone {name!r}")
        tree = self.names[name] = Tree(name, parent)
        if parent is not None:
            parent.order.append(name)
        if element.tag == "cluster":
            return self.cluster(element, tree)
        element.check({"id", "routing"}, _IN_ZONE)
        self.pass_over(element)
        routing = element.choice("routing", _ROUTING, "")
        tree.is_shortest = routing in {"Floyd", "Dijkstra", "DijkstraCache"}
        content = _Own()
        leaf = len(self.leaves)
        inner = [child for child in element.children if child.tag in _ZONE]
        if routing == "Cluster" and inner:
            inner[0].fail("a zone of routing Cluster has hosts, and no zones within it")
        for child in element.children:
            if child.tag in {"host", "router", "cabinet"} and inner:
                child.fail(f"zone {name!r} has zones within it, so no hosts or routers of its own")
        for child in element.children:
            self.member(child, tree, content, leaf, routing)
        if routing == "Cluster":
            self.star(element, tree, content)
        elif content.hosts or content.routers:
            self.table(element, tree, content)
        for child in element.children:
            if child.tag in {"zoneRoute", "ASroute"}:
                self.zone_route(child, tree)
        for child in element.children:
            if child.tag in {"bypassZoneRoute", "bypassASroute"}:
                self.bypass_zones(child, tree)
        return None

    def member(self, child: Element, tree: Tree, content: _Own, leaf: int, routing: str) -> None:
        """Read what stands in a zone, but for routes."""
        cluster_only = {"cabinet", "host_link", "backbone"}
        if child.tag in cluster_only and routing != "Cluster":
            child.fail("belongs into a zone of routing Cluster")
        if child.tag in _ROUTES and routing in {"Cluster", "None", "Vivaldi"}:
            child.fail(f"a zone of routing {routing} has no routes of its own")
        if child.tag in _ZONE:
            self.zone(child, tree)
        elif child.tag == "host":
            child.check({"id", "speed", "power", "core", "pstate", "coordinates"} | OF_HOST, {"prop"} | _STORAGE)
            self.changes += [("host", child.text("id"), *change) for change in changes(child)]
            self.host(child, content, leaf)
        elif child.tag == "peer":
            child.check({"id", "speed", "pstate", "coordinates", "bw_in", "bw_out", "lat"}, {"prop"})
            if routing != "Vivaldi":
                child.fail("belongs into a zone of routing Vivaldi")
            self.host(child, content, leaf)
            name = child.text("id")
            content.peers[name] = tuple(
                self.add_link(child, f"link_{name}_{way}", child.quantity(attribute, "bandwidth"), 0.0, "shared")[0]
                for way, attribute in (("UP", "bw_out"), ("DOWN", "bw_in"))
            )
        elif child.tag == "router":
            child.check({"id", "coordinates"}, {"prop"})
            content.routers.append(child.text("id"))
            if routing == "Cluster":
                self.name_point(child, content.routers[-1], (leaf, -1))
        elif child.tag in {"link", "backbone"}:
            child.check({"id", "bandwidth", "latency", "sharing_policy"} | OF_LINK, {"prop"})
            sharing = child.choice("sharing_policy", _SHARING, "SHARED")
            rate, time = child.quantity("bandwidth", "bandwidth"), child.quantity("latency", "latency", "0")
            if child.tag == "backbone" and (content.backbone >= 0 or sharing == "split"):
                child.fail("one backbone at most, and one that both directions share")
            directions = self.add_link(child, child.text("id"), rate, time, sharing)
            self.changes += [("link", link, *change) for change in changes(child) for link in {*directions}]
            content.backbone = directions[0] if child.tag == "backbone" else content.backbone
        elif child.tag == "host_link":
            child.check({"id", "up", "down"}, set())
            names = child.text("up"), child.text("down")
            for name in names:
                if name not in self.links:
                    child.fail(f"there is no link {name!r} before this")
            host = child.text("id")
            if host not in content.names or host in content.ports:
                child.fail(f"{host!r} is no host of this zone before this, or has its links")
            down = self.links[names[1]]
            content.ports[host] = -1, self.links[names[0]][0], down[1] if names[1] in self.split else down[0], -1
        elif child.tag == "cabinet":
            self.cabinet(child, content, leaf)

    def host(self, element: Element, content: _Own, leaf: int) -> None:
        """Read a host of a zone itself."""
        self.host_properties(element)
        name = element.text("id")
        self.name_point(element, name, (leaf, len(content.hosts)))
        content.add(name, self.speed(element), element.count("core", "1"), costs_of(element))
        content.coordinates[name] = element

    def speed(self, element: Element) -> float:
        """Return the flop/s of a host: of its first, or chosen, power state."""
        name = "power" if "power" in element.attributes and "speed" not in element.attributes else "speed"
        states = element.text(name).split(",")
        text = element.text("pstate", "0")
        if not (text.isascii() and text.isdecimal() and len(text) < 9 and int(text) < len(states)):
            element.fail(f"pstate {text!r}: there are {len(states)} speeds")
        state = Element(element.path, element.line, element.tag, {name: states[int(text)]})
        return state.quantity(name, "speed", may_be_zero=True)

    def ranges(self, element: Element) -> Ranges:
        """Return the numbers of the hosts of a cluster."""
        try:
            return Ranges(element.text("radical"))
        except InputError as error:
            element.fail(f"radical {error}")

    def links_of(self, element: Element) -> dict[str, Any]:
        """Return the links of a cluster, as fields of its topology."""
        attributes = element.attributes
        links: dict[str, Any] = {
            "bandwidth": element.quantity("bw", "bandwidth"),
            "latency": element.quantity("lat", "latency", "0"),
            "sharing": element.choice("sharing_policy", _SHARING, "SPLITDUPLEX"),
        }
        if "limiter_link" in attributes:
            links["limiter"] = element.quantity("limiter_link", "bandwidth")
        if "loopback_bw" in attributes or "loopback_lat" in attributes:
            rate, time = element.quantity("loopback_bw", "bandwidth"), element.quantity("loopback_lat", "latency", "0")
            links["loopback"] = Link(rate, time)
        return links

    def backbone(self, element: Element) -> Backbone | None:
        """Return the backbone of a cluster, where it has one."""
        if "bb_bw" not in element.attributes and "bb_lat" not in element.attributes:
            return None
        sharing = element.choice("bb_sharing_policy", _SHARING, "SHARED")
        rate, time = element.quantity("bb_bw", "bandwidth"), element.quantity("bb_lat", "latency", "0")
        return Backbone(rate, time, "fatpipe" if sharing == "fatpipe" else "shared")

    def named_cluster(self, element: Element, leaf: int) -> tuple[_Cluster, Name]:
        """Note the hosts of a cluster, and return them and their names."""
        prefix, suffix = element.text("prefix"), element.text("suffix")
        cluster = _Cluster(prefix, suffix, self.ranges(element), leaf)
        for other in self.clusters:
            if (other.prefix, other.suffix) == (prefix, suffix) and other.ranges.overlaps(cluster.ranges):
                element.fail(
                    f"hosts of its names are there already: {prefix}{{{element.text('radical')[:40]}}}{suffix}"
                )
        if duplicates := [name for name in self.points if cluster.find(name)]:
            element.fail(f"a second host or router {duplicates[0]!r}")
        return cluster, lambda place: f"{prefix}{cluster.ranges[place]}{suffix}"

    def cluster(self, element: Element, tree: Tree) -> None:
        """Read a cluster."""
        element.check(_CLUSTER, {"prop"})
        leaf = len(self.leaves)
        cluster, names = self.named_cluster(element, leaf)
        hosts, links, backbone = len(cluster.ranges), self.links_of(element), self.backbone(element)
        topology = element.choice("topology", _TOPOLOGIES, "FLAT")
        if topology == "FLAT":
            zone = Flat(hosts=hosts, backbone=backbone, **links).zone(self.assembly, names, tree.name)
            if backbone is not None:
                self.links[f"{tree.name}_backbone"] = zone["backbone"], zone["backbone"]
        else:
            if backbone is not None:
                element.fail(f"a cluster of topology {topology} has no backbone")
            zone = self.topology(element, topology, links, names)
            if zone["hosts"] != hosts:
                element.fail(f"topo_parameters make {zone['hosts']} hosts, radical names {hosts}")
        self.clusters.append(cluster)
        router = element.text("router_id", "") or f"{cluster.prefix}{tree.name}_router{cluster.suffix}"
        self.name_point(element, router, (leaf, -1))
        speed, cores = self.speed(element), element.count("core", "1")
        self.add_leaf(tree, Leaf(tree.name, zone), names, speed, cores, costs_of(element))

    def topology(self, element: Element, topology: str, links: dict[str, Any], names: Name) -> dict[str, Any]:
        """Return the zone of a cluster that is more than a switch."""
        text = element.text("topo_parameters")
        lists = [element.counts("topo_parameters", part) for part in text.split(";")]
        shapes = {"TORUS": "X,Y,Z", "FAT_TREE": "levels;down;up;parallel"}
        try:
            if topology == "TORUS" and len(lists) == 1:
                return Torus(sizes=lists[0], **links).zone(self.assembly, names)
            if topology == "FAT_TREE" and len(lists) == 4 and lists[0] == (len(lists[1]),):
                tree = FatTree(down=lists[1], up=lists[2], parallel=lists[3], **links)
                return tree.zone(self.assembly, names, as_simgrid=True)
            if topology == "DRAGONFLY" and [len(numbers) for numbers in lists] == [2, 2, 2, 1]:
                (groups, blue), (chassis, black), (blades, green), (nodes,) = lists
                links |= {"groups": groups, "chassis": chassis, "blades": blades, "nodes": nodes}
                dragonfly = Dragonfly(parallel=(blue, black, green), **links)
                return dragonfly.zone(self.assembly, names, as_simgrid=True)
        except InputError as error:
            element.fail(f"topo_parameters {text[:80]!r}: {error}")
        shape = shapes.get(topology, "groups,n;chassis,n;blades,n;nodes")
        raise element.error(f"topo_parameters {text[:80]!r}: expected {shape} for {topology}")

    def cabinet(self, element: Element, content: _Own, leaf: int) -> None:
        """Read the hosts of a cabinet into the zone around it."""
        element.check(_CABINET, {"prop"})
        cluster, names = self.named_cluster(element, leaf)
        count, speed, cores = len(cluster.ranges), self.speed(element), element.count("core", "1")
        if len(content.hosts) + count > 2**16:
            element.fail(f"more than {2**16} hosts in cabinets of one zone: take a cluster")
        zone = Flat(hosts=count, **self.links_of(element)).zone(self.assembly, names)
        for place in range(count):
            name = names(place)
            self.name_point(element, name, (leaf, len(content.hosts)))
            content.add(name, speed, cores, costs_of(element))
            limiter, up, down, loopback = (int(zone[key][place]) for key in ("limiter", "up", "down", "loopback"))
            content.ports[name] = limiter, up, down, loopback

    def star(self, element: Element, tree: Tree, content: _Own) -> None:
        """Make the zone of a zone of routing Cluster."""
        for name, _, _ in content.hosts:
            if name not in content.ports:
                element.fail(f"host {name!r} has no <host_link>")
        ports = np.array([content.ports[name] for name, _, _ in content.hosts], np.int64).reshape(-1, 4)
        keys = dict(zip(("limiter", "up", "down", "loopback"), ports.T, strict=True))
        count = len(content.hosts)
        zone = {"kind": "star", "hosts": count, "points": count, "backbone": content.backbone, **keys}
        self.finish(tree, content, zone, None)

    def finish(self, tree: Tree, content: _Own, zone: dict[str, Any], routes: Any) -> None:
        """Add the zone of own hosts."""
        hosts = content.hosts
        speeds, cores = [speed for _, speed, _ in hosts], [number for _, _, number in hosts]
        self.add_leaf(tree, Leaf(tree.name, zone, routes), lambda place: hosts[place][0], speeds, cores, content.costs)

    def table(self, element: Element, tree: Tree, content: _Own) -> None:
        """Make the zone of a zone of routes."""
        leaf, hosts = len(self.leaves), len(content.hosts)
        for place, name in enumerate(content.routers):
            self.name_point(element, name, (leaf, hosts + place))
        points = hosts + len(content.routers)
        routes: dict[tuple[int, int], list[int]] = {}
        for child in element.children:
            if child.tag != "route":
                continue
            child.check({"src", "dst", "symmetrical"}, {"link_ctn"})
            source, destination = self.point(child, "src"), self.point(child, "dst")
            if {source[0], destination[0]} != {leaf}:
                child.fail("joins hosts or routers of other zones: that takes a <zoneRoute>")
            self.add_route(child, routes, (source[1], destination[1]), self.route(child))
        if element.attributes.get("routing") == "Vivaldi":
            self.over_distances(content, routes)
        for host in range(hosts):
            if (host, host) not in routes:
                if self.loopback < 0:
                    self.loopback = self.assembly.add_links(1, *_LOOPBACK, lambda _: "loopback", "fatpipe")
                routes[host, host] = [self.loopback]
        bypasses = [child for child in element.children if child.tag == "bypassRoute"]
        if tree.is_shortest and bypasses:
            routes = dict(shortest_routes(points, routes))
        elif tree.is_shortest:
            over_hops = shortest_routes(points, routes)
            self.note_cuts(over_hops.before[:hosts, :hosts] < 0)
            return self.finish(
                tree, content, {"kind": "hops", "hosts": hosts, "points": points, **over_hops.arrays()}, over_hops
            )
        for child in bypasses:
            child.check({"src", "dst"}, {"link_ctn"})
            source, destination = self.point(child, "src"), self.point(child, "dst")
            if {source[0], destination[0]} != {leaf}:
                child.fail("joins hosts or routers of other zones: that is not read")
            routes[source[1], destination[1]] = self.route(child)[0]
        zone = {"kind": "table", "hosts": hosts, "points": points, **table_of(points, routes)}
        missing = np.ones((points, points), np.bool_)
        missing[tuple(np.array(list(routes), np.int64).reshape(-1, 2).T)] = False
        self.note_cuts(missing[:hosts, :hosts])
        return self.finish(tree, content, zone, routes)

    def over_distances(self, content: _Own, routes: dict[tuple[int, int], list[int]]) -> None:
        """Add routes by coordinates (Dabek et al. 2004): of a plane, and a height each, in ms."""
        places = []
        for name, element in content.coordinates.items():
            if name not in content.peers and len(content.coordinates) > 1:
                element.fail("has coordinates but no links, so would be infinitely fast: take a <peer>")
            words = element.text("coordinates").split()
            try:
                places.append([float(word) for word in words])
            except ValueError:
                element.fail(f"coordinates {element.text('coordinates')[:80]!r} are no numbers")
            if len(words) != 3 or not np.isfinite(places[-1]).all():
                element.fail(f"coordinates {element.text('coordinates')[:80]!r}: expected three finite numbers")
        for first, other in combinations(range(len(places)), 2):
            (x, y, height), (there_x, there_y, there_height) = places[first], places[other]
            seconds = (math.hypot(x - there_x, y - there_y) + abs(height) + abs(there_height)) / 1000
            ends = content.hosts[first][0], content.hosts[other][0]
            name = f"distance from {ends[0]} to {ends[1]}"
            between = self.assembly.add_links(1, _WIDE, seconds, {0: name}.__getitem__, "fatpipe")
            for source, destination in ((first, other), (other, first)):
                up, _ = content.peers[content.hosts[source][0]]
                _, down = content.peers[content.hosts[destination][0]]
                routes[source, destination] = [up, between, down]

    def note_cuts(self, missing: NDArray[np.bool_]) -> None:
        """Note the hosts of a zone without a route between them, which no ranks may use."""
        missing = missing.copy()
        np.fill_diagonal(missing, val=False)
        self.cut.append(np.argwhere(missing).astype(np.int64) + self.assembly.hosts)

    def add_route(self, child: Element, routes: dict[Any, Any], ends: tuple[Any, Any], links: tuple[Any, Any]) -> None:
        """Note a route, and the route back."""
        if ends in routes:
            child.fail("a second route between the same two")
        routes[ends] = links[0]
        if child.choice("symmetrical", _YES, "YES") and ends[0] != ends[1]:
            if ends[::-1] in routes:
                child.fail('a second route between the same two: say symmetrical="NO" for each')
            routes[ends[::-1]] = links[1]

    def zone_route(self, child: Element, tree: Tree) -> None:
        """Read a route between two inner zones."""
        child.check({"src", "dst", "gw_src", "gw_dst", "symmetrical"}, {"link_ctn"})
        ends, gates = self.ends(child, tree)
        forth, back = self.route(child)
        self.add_route(child, tree.between, ends, ((gates[0], forth, gates[1]), (gates[1], back, gates[0])))

    def bypass_zones(self, child: Element, tree: Tree) -> None:
        """Read a route that is taken from one inner zone to another instead of theirs, but not back."""
        child.check({"src", "dst", "gw_src", "gw_dst"}, {"link_ctn"})
        if tree.is_shortest:
            child.fail("is read in zones of routing Full alone")
        ends, gates = self.ends(child, tree)
        tree.between[ends] = gates[0], self.route(child)[0], gates[1]

    def ends(self, child: Element, tree: Tree) -> tuple[tuple[str, str], tuple[Point, Point]]:
        """Return the inner zones that a route joins, and where they are left and entered."""
        ends = child.text("src"), child.text("dst")
        for end in ends:
            if end not in tree.order:
                child.fail(f"{end!r} is no zone within {tree.name!r}")
        if ends[0] == ends[1]:
            child.fail("a route of a zone to itself")
        gates = self.point(child, "gw_src"), self.point(child, "gw_dst")
        for gate, end in zip(gates, ends, strict=True):
            if all(ancestor is not self.names[end] for ancestor in self.trees[gate[0]].ancestors()):
                child.fail(f"a gateway of zone {end!r} lies outside of it")
        return ends, gates


def _read(path: Path, root: Element) -> tuple[Platform, dict[str, str]]:
    reader = _PlatformReader(path)
    try:
        return reader.read(root), reader.properties
    except DamagedFileError:
        raise
    except InputError as error:
        raise DamagedFileError(path, "", str(error)) from None


def read_xml(path: str | os.PathLike[str]) -> tuple[Platform, dict[str, str]]:
    """Read a platform file of SimGrid.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Platform, dict
        The platform, and what its ``config`` sets: name -> value (`commmodel.simulate.platform.xml_settings.network`).

    Raises
    ------
    DamagedFileError
        One line with file and line number of what is wrong or not known.
    """
    path = Path(path)
    return _read(path, parse(path))


def read_xml_bytes(content: bytes, name: str = "platform") -> tuple[Platform, dict[str, str]]:
    """Read a platform from the content of a file.

    >>> zone = b'<zone id="z" routing="Full"><host id="a" speed="1Gf" core="4"/></zone>'
    >>> platform, _ = read_xml_bytes(b'<platform version="4.1">' + zone + b'</platform>')
    >>> platform.hosts, platform.speeds.tolist(), platform.cores.tolist()
    (1, [1000000000.0], [4])
    """
    path = Path(name)
    return _read(path, parse_bytes(path, content))
