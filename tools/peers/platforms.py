"""Platform files in XML, of six kinds and any number of hosts: ``node-0`` and so on, one rank on each.

Hosts have links of 125 MB/s and 15 µs each way, and a loopback of 5 GB/s. Main entry: `platform`.
"""

from collections.abc import Callable

HOST = 'speed="1Gf" bw="125MBps" lat="15us" loopback_bw="5GBps" loopback_lat="0"'
LIMITER = 'limiter_link="187.5MBps"'
CABINETS = 4
FAT_TREES = {
    16: "2;4,4;1,2;1,2",
    24: "2;6,4;1,2;1,2",
    64: "2;8,8;1,4;1,2",
    256: "2;16,16;1,8;1,2",
    1024: "3;16,8,8;1,8,8;1,1,1",
}
TORI = {16: "4,2,2", 24: "4,3,2", 64: "4,4,4", 256: "8,8,4", 1024: "16,8,8"}
DRAGONFLIES = {
    16: "2,1;2,1;2,1;2",
    24: "2,1;3,1;2,1;2",
    64: "2,1;2,1;4,1;4",
    256: "4,1;4,1;4,1;4",
    1024: "8,1;4,1;8,1;4",
}


def platform(kind: str, hosts: int) -> str:
    """Return a platform file; topologies have 16, 24, 64, 256 or 1024 hosts."""
    zones = (KINDS | UNRECORDED)[kind](hosts)
    settings = "".join(f'<prop id="{name}" value="{value}"/>' for name, value in SETTINGS.get(kind, {}).items())
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        + (f"<config>{settings}</config>\n" if settings else "")
        + f'<zone id="world" routing="Full">\n{zones}</zone>\n</platform>\n'
    )


def hostfile(hosts: int) -> str:
    """Return the names of all hosts, one a line."""
    return "".join(f"node-{host}\n" for host in range(hosts))


def _cluster(name: str, first: int, last: int, more: str) -> str:
    return f'<cluster id="{name}" prefix="node-" suffix="" radical="{first}-{last - 1}" {HOST} {more}/>\n'


def _flat(hosts: int) -> str:
    return _cluster("all", 0, hosts, "")


def _limited(hosts: int) -> str:
    return _cluster("all", 0, hosts, f'bb_bw="2.5GBps" bb_lat="1us" {LIMITER}')


def _cabinets(hosts: int) -> str:
    """Return four cabinets behind links of 1.25 GB/s, with limiters of 1.625 GB/s for both directions together."""
    hosts_each = hosts // CABINETS
    lines = [
        _cluster(
            f"cabinet{number}", number * hosts_each, (number + 1) * hosts_each, f'router_id="router{number}" {LIMITER}'
        )
        for number in range(CABINETS)
    ]
    for number in range(CABINETS):
        lines.append(f'<link id="up{number}" bandwidth="1.25GBps" latency="0us" sharing_policy="SPLITDUPLEX"/>\n')
        lines.append(f'<link id="limiter{number}" bandwidth="1.625GBps" latency="0us" sharing_policy="SHARED"/>\n')
    lines += [
        f'<zoneRoute src="cabinet{cabinet}" dst="cabinet{other}" gw_src="router{cabinet}" gw_dst="router{other}" '
        f'symmetrical="NO"><link_ctn id="limiter{cabinet}"/><link_ctn id="up{cabinet}" direction="UP"/>'
        f'<link_ctn id="up{other}" direction="DOWN"/><link_ctn id="limiter{other}"/></zoneRoute>\n'
        for cabinet in range(CABINETS)
        for other in range(CABINETS)
        if cabinet != other
    ]
    return "".join(lines)


def _heterogeneous(hosts: int) -> str:
    """Return four clusters of other speeds, rates and latencies each, all behind one link to the next."""
    hosts_each = hosts // CABINETS
    lines = []
    for number in range(CABINETS):
        first, last = number * hosts_each, (number + 1) * hosts_each
        host = (
            f'speed="{1 + number}Gf" bw="{125 * (1 + number)}MBps" lat="{15 + 7 * number}us" '
            f'loopback_bw="{5 + number}GBps" loopback_lat="{number}us"'
        )
        lines.append(
            f'<cluster id="cabinet{number}" prefix="node-" suffix="" radical="{first}-{last - 1}" {host} '
            f'router_id="router{number}"/>\n'
        )
    lines += [
        f'<link id="between{number}" bandwidth="{400 + 150 * number}MBps" latency="{3 * number}us" '
        f'sharing_policy="SHARED"/>\n'
        for number in range(CABINETS)
    ]
    lines += [
        f'<zoneRoute src="cabinet{source}" dst="cabinet{other}" gw_src="router{source}" gw_dst="router{other}">'
        f'<link_ctn id="between{source}"/><link_ctn id="between{other}"/></zoneRoute>\n'
        for source in range(CABINETS)
        for other in range(source + 1, CABINETS)
    ]
    return "".join(lines)


def _topology(name: str, parameters: dict[int, str]) -> Callable[[int], str]:
    def cluster(hosts: int) -> str:
        more = f'sharing_policy="SPLITDUPLEX" topology="{name}" topo_parameters="{parameters[hosts]}"'
        return _cluster("all", 0, hosts, more)

    return cluster


KINDS: dict[str, Callable[[int], str]] = {
    "flat": _flat,
    "limited": _limited,
    "cabinets": _cabinets,
    "fat-tree": _topology("FAT_TREE", FAT_TREES),
    "torus": _topology("TORUS", TORI),
    "dragonfly": _topology("DRAGONFLY", DRAGONFLIES),
}
"""Kind -> function that returns what it consists of."""
UNRECORDED: dict[str, Callable[[int], str]] = {"heterogeneous": _heterogeneous, "overheads": _flat}
"""More kinds, of which no times are recorded."""
SETTINGS = {"overheads": {"smpi/os": "0:1e-5:1e-9", "smpi/ois": "0:2e-5:2e-9", "smpi/or": "0:3e-5:3e-9"}}
"""Kind -> SMPI's settings in its file."""
