"""Write routes.toml: routes through platforms as SimGrid 3.32 has them. Needs its library; tests need only the table.

Compile the program below (``g++ routes.cpp -o routes -lsimgrid``), then ``python routes.py ./routes > routes.toml``.
For each platform: all links of all routes between each two hosts, links numbered in the order in which they are met
(source by source, destination by destination), as a digest; and some of the routes themselves.
"""

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = r"""
#include <simgrid/s4u.hpp>
#include <cstdio>
namespace s4u = simgrid::s4u;
int main(int argc, char **argv) {
  s4u::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  engine.seal_platform();
  for (int a = 2; a < argc; ++a)
    for (int b = 2; b < argc; ++b) {
      std::vector<s4u::Link *> links;
      double latency = 0;
      s4u::Host::by_name(argv[a])->route_to(s4u::Host::by_name(argv[b]), links, &latency);
      printf("%.17g", latency);
      for (auto *link : links)
        printf(" %s:%.17g:%d", link->get_cname(), link->get_bandwidth(), (int)link->get_sharing_policy() == 0);
      printf("\n");
    }
}
"""
HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
CABLES = 'bw="125MBps" lat="15us"'
LOOPBACK = 'loopback_bw="5GBps" loopback_lat="1us"'


def cluster(hosts: int, more: str) -> tuple[str, list[str]]:
    """Return a platform of one cluster, and its hosts."""
    result = f'<cluster id="c" prefix="node-" suffix=".x" radical="0-{hosts - 1}" speed="1Gf" {CABLES} {more}/>'
    return f'<zone id="world" routing="Full">{result}</zone>', [f"node-{i}.x" for i in range(hosts)]


def topology(hosts: int, kind: str, sizes: str, more: str = "") -> tuple[str, list[str]]:
    """Return a platform of one cluster that is more than a switch."""
    return cluster(hosts, f'topology="{kind}" topo_parameters="{sizes}" {more}')


def cabinets(hosts: int, count: int) -> tuple[str, list[str]]:
    """Return cabinets with up, down and limiter links."""
    size, text = hosts // count, '<zone id="world" routing="Full">'
    for k in range(count):
        text += (
            f'<cluster id="cab{k}" prefix="node-" suffix=".x" radical="{k * size}-{k * size + size - 1}" speed="1Gf" '
        )
        text += f'{CABLES} limiter_link="187.5MBps" {LOOPBACK} router_id="rt{k}"/>'
        text += f'<link id="up{k}" bandwidth="1.25GBps" latency="0us" sharing_policy="SPLITDUPLEX"/>'
        text += f'<link id="lim{k}" bandwidth="1.625GBps" latency="0us"/>'
    for a in range(count):
        for b in range(a):
            text += f'<zoneRoute src="cab{a}" dst="cab{b}" gw_src="rt{a}" gw_dst="rt{b}"><link_ctn id="lim{a}"/>'
            text += f'<link_ctn id="up{a}" direction="UP"/><link_ctn id="up{b}" direction="DOWN"/>'
            text += f'<link_ctn id="lim{b}"/></zoneRoute>'
    return text + "</zone>", [f"node-{i}.x" for i in range(hosts)]


def nested() -> tuple[str, list[str]]:
    """Return zones within a zone beside one with routes."""
    text = '<zone id="world" routing="Full"><zone id="A" routing="Full">'
    for k in (1, 2):
        text += f'<cluster id="a{k}" prefix="a{k}-" suffix="" radical="0-1" speed="1Gf" {CABLES} router_id="r{k}"'
        text += ' bb_bw="1GBps"'
        text += ' bb_lat="2us"/>'
    text += '<link id="la" bandwidth="1Gbps" latency="1ms"/><zoneRoute src="a1" dst="a2" gw_src="r1" gw_dst="r2">'
    text += '<link_ctn id="la"/></zoneRoute></zone><zone id="B" routing="Floyd">'
    text += '<host id="b0" speed="1Gf"/><host id="b1" speed="1Gf"/><router id="r"/>'
    text += '<link id="l0" bandwidth="1Gbps" latency="2ms" sharing_policy="FATPIPE"/>'
    text += '<link id="l1" bandwidth="1Gbps" latency="3ms" sharing_policy="SPLITDUPLEX"/>'
    text += '<route src="b0" dst="r"><link_ctn id="l0"/></route>'
    text += '<route src="r" dst="b1"><link_ctn id="l1" direction="UP"/></route></zone>'
    text += '<link id="l" bandwidth="1Gbps" latency="5ms"/><zoneRoute src="A" dst="B" gw_src="r1" gw_dst="b0">'
    text += '<link_ctn id="l"/></zoneRoute></zone>'
    return text, ["a1-0", "a1-1", "a2-0", "a2-1", "b0", "b1"]


LIMITED = f'limiter_link="187.5MBps" {LOOPBACK}'
PLATFORMS = {
    "flat": cluster(16, LOOPBACK),
    "without-loopback": cluster(4, ""),
    "backbone": cluster(16, f'bb_bw="2.5GBps" bb_lat="1us" {LOOPBACK}'),
    "limiter": cluster(16, f'bb_bw="2.5GBps" bb_lat="1us" bb_sharing_policy="FATPIPE" {LIMITED}'),
    "shared": cluster(8, 'sharing_policy="SHARED" limiter_link="187.5MBps"'),
    "cabinets": cabinets(16, 4),
    "fat-tree-16": topology(16, "FAT_TREE", "2;4,4;1,2;1,2", LOOPBACK),
    "fat-tree-64": topology(64, "FAT_TREE", "2;8,8;1,4;1,2", LOOPBACK),
    "fat-tree-limiter": topology(4, "FAT_TREE", "2;2,2;1,2;1,2", LIMITED),
    "fat-tree-shared": topology(4, "FAT_TREE", "2;2,2;1,2;1,2", 'sharing_policy="SHARED"'),
    "fat-tree-uneven": topology(24, "FAT_TREE", "3;3,4,2;2,3,2;2,1,2"),
    "fat-tree-deep": topology(24, "FAT_TREE", "4;2,2,3,2;1,2,2,3;1,2,1,2"),
    "torus-16": topology(16, "TORUS", "4,2,2", LOOPBACK),
    "torus-64": topology(64, "TORUS", "4,4,4", LOOPBACK),
    "torus-uneven": topology(30, "TORUS", "5,3,2"),
    "torus-flat": topology(24, "TORUS", "6,1,4"),
    "torus-limiter": topology(6, "TORUS", "3,2", LIMITED),
    "torus-shared": topology(6, "TORUS", "3,2", 'sharing_policy="SHARED"'),
    "dragonfly-16": topology(16, "DRAGONFLY", "2,1;2,1;2,1;2", LOOPBACK),
    "dragonfly-64": topology(64, "DRAGONFLY", "2,1;2,1;4,1;4", LOOPBACK),
    "dragonfly-parallel": topology(54, "DRAGONFLY", "3,3;3,2;3,4;2"),
    "dragonfly-limiter": topology(16, "DRAGONFLY", "2,3;2,2;2,4;2", LIMITED),
    "dragonfly-shared": topology(48, "DRAGONFLY", "3,1;2,1;4,1;2", 'sharing_policy="SHARED"'),
    "nested": nested(),
}


def main() -> None:
    """Print the table."""
    print("# Routes of SimGrid 3.32 (Debian libsimgrid-dev): made by routes.py, which says what is what.")
    for name, (text, hosts) in PLATFORMS.items():
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(f"{HEAD}{text}</platform>")
            file.flush()
            command = [sys.argv[1], file.name, *hosts]
            lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        numbers: dict[str, int] = {}
        routes = [[numbers.setdefault(link, len(numbers)) for link in line.split()[1:]] for line in lines]
        digest = hashlib.sha256(repr(routes).encode()).hexdigest()
        rates = [float(link.split(":")[1]) for link in numbers]
        fatpipes = [number for link, number in numbers.items() if link.endswith(":1")]
        print(f"\n[{name}]\nxml = '''{text}'''\nhosts = {hosts}\nlinks = {len(numbers)}\ndigest = '{digest}'")
        print(f"capacity = {sum(rates)}\nfatpipes = {len(fatpipes)}")
        latency = sum(float(line.split()[0]) for line in lines)
        print(f"latency = {latency!r}  # sum over all routes\nways = [")
        for place in range(0, len(routes), max(1, len(routes) // 12 + 1)):
            source, destination = divmod(place, len(hosts))
            print(f"  [{source}, {destination}, {float(lines[place].split()[0])!r}, {routes[place]}],")
        print("]")


if __name__ == "__main__":
    Path(sys.argv[1]).stat()
    main()
