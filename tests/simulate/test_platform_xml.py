"""Platforms in the XML of another simulator, and the settings in them."""

import re
import subprocess
import sys
import tomllib
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import ORACLES, SHARED
from tools.peers.replays import Case, our_seconds

from commmodel import simulate
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import platform as platforms
from commmodel.simulate import traces
from commmodel.simulate.network import SMPI, Factor, Overhead
from commmodel.simulate.platform.xml import read_xml, read_xml_bytes
from commmodel.simulate.platform.xml_elements import Ranges
from commmodel.simulate.scenario import place

DATA = SHARED / "simgrid"
HOSTS = '<host id="a" speed="1Gf"/><host id="b" speed="2Gf,1Gf" core="4" pstate="1"/>'
LINK = '<link id="l" bandwidth="1Gbps" latency="2ms"/>'
TWO = '<link id="l" bandwidth="125MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>'
CLUSTER = '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"/>'


def read(text, routing="Full"):
    return read_xml_bytes(
        f'<platform version="4.1"><zone id="z" routing="{routing}">{text}</zone></platform>'.encode()
    )[0]


def test_units_and_directions():
    route = '<route src="a" dst="b"><link_ctn id="l" direction="UP"/></route>'
    platform = read(f"{HOSTS}{TWO}{route}")
    assert platform.speeds.tolist() == [1e9, 1e9]
    assert platform.cores.tolist() == [1, 4]
    assert (platform.route(0, 1), platform.route(1, 0), platform.route(0, 0)) == (["l up"], ["l down"], ["loopback"])
    for text, rate in (
        ("1Gbps", 125e6),
        ("1GBps", 1e9),
        ("1KiBps", 1024),
        ("2Mibps", 2**18),
        ("8", 8),
        ("1.5e3Bps", 1500),
    ):
        result = read(HOSTS + LINK.replace("1Gbps", text) + '<route src="a" dst="b"><link_ctn id="l"/></route>')
        assert result.capacity[0] == rate
        assert result.latency[0] == 0.002


def with_profiles(folder, host="", link="", **files):
    for name, text in files.items():
        (folder / name).write_text(text)
    hosts = f'<host id="a" speed="1Gf" {host}/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>'
    links = "".join(
        f'<link id="{name}" bandwidth="1MBps" latency="0" {more}/>' for name, more in (("l", link), ("m", ""))
    )
    routes = '<route src="a" dst="b"><link_ctn id="l"/></route><route src="b" dst="c"><link_ctn id="m"/></route>'
    (folder / "p.xml").write_text(
        f'<platform version="4.1"><zone id="z" routing="Full">{hosts}{links}{routes}</zone></platform>'
    )
    return read_xml(folder / "p.xml")[0]


def message(platform, size, *hosts):
    program = traces.reader.replay_texts(
        lambda rank: iter([f"{rank} {('send 1', 'recv 0')[rank]} 0 {size} 6\n".encode()]), ["first", "second"]
    )
    return simulate.run(program, SMPI, platform, hosts=platform.place(2, hosts)).seconds


@pytest.mark.parametrize(
    ("attribute", "profile", "size", "ends"),
    [
        ('state_file="f"', "# on\n0 1\n13 0\n14 1\n", 10**6, True),
        ('state_file="f"', "0 1\n13 0\n14 1\n", 10**8, False),
        ('bandwidth_file="f"', "0 1000000\nLOOPAFTER 5\n", 10**8, True),  # what holds anyway
        ('bandwidth_file="f"', "0 2000000\nLOOPAFTER 5\n", 10, False),
        ('latency_file="f"', "0 0\n\n2 0.001\n", 10**6, True),
        ('latency_file="f"', "STOCHASTIC\nDET 5 UNIF 1 2\n", 10, False),
    ],
)
def test_a_simulation_ends_before_the_profile_of_a_link_changes_it(tmp_path, attribute, profile, size, ends):
    platform = with_profiles(tmp_path, link=attribute, f=profile)
    assert message(platform, size, "b", "c") == message(with_profiles(tmp_path), size, "b", "c")  # not over this link
    if ends:
        assert message(platform, size, "a", "b") == message(with_profiles(tmp_path), size, "a", "b")
    else:
        with pytest.raises(InputError, match=r"link 'l' changes at \d+ s \(line 1: \w+_file\), but the simul"):
            message(platform, size, "a", "b")


def test_a_simulation_ends_before_the_profile_of_a_host_changes_it(tmp_path):
    platform = with_profiles(tmp_path, host='state_file="f" speed_file="g"', f="5 0\n", g="0 1.0\n3 0.5\n")
    assert message(platform, 10**6, "a", "b") < 3
    assert message(platform, 10**7, "b", "c") > 5
    with pytest.raises(InputError, match=r"host 'a' changes at (5 s \(line 1: state|3 s \(line 1: speed)_file"):
        message(platform, 10**7, "a", "b")


@pytest.mark.parametrize("profile", ["nonsense 1\n", "-1 1\n", "1\n", "1 2 3\n", "nan 1\n"])
def test_a_profile_that_is_none_is_named(tmp_path, profile):
    with pytest.raises(DamagedFileError, match="line 1: <link>: state_file 'f', line 1: "):
        with_profiles(tmp_path, link='state_file="f"', f=profile)


def test_older_names_mean_the_same():
    text = (
        '<platform version="4"><AS id="z" routing="Full">'
        '<cluster id="c" prefix="n" suffix="" radical="0-1;4" power="1E9" bw="1.25E8" lat="2.4E-5" '
        'sharing_policy="FULLDUPLEX"/><cluster id="d" prefix="m" suffix="" radical="0" speed="1f" bw="1" lat="1"/>'
        '<link id="l" bandwidth="1" latency="1"/>'
        '<ASroute src="c" dst="d" gw_src="nc_router" gw_dst="md_router"><link_ctn id="l"/></ASroute></AS></platform>'
    )
    platform = read_xml_bytes(text.encode())[0]
    assert list(platform.host_names) == ["n0", "n1", "n4", "m0"]
    assert platform.route(3, 2) == ["m0 up", "l", "n4 down"]


def test_settings_become_a_network(tmp_path):
    path = tmp_path / "p.xml"
    path.write_text(
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1"><config id="General">'
        '<prop id="smpi/bw_factor" value="1000:0.5;0:0.9"/><prop id="smpi/os" value="0:1e-6:2e-9;100:3e-6:0"/>'
        '<prop id="smpi/async-small-thres" value="65536"/><prop id="network/TCP_gamma" value="0"/>'
        '<prop id="network/crosstraffic" value="no"/><prop id="maxmin/precision" value="1e-9"/></config>'
        f"{CLUSTER}</platform>"
    )
    platform, properties = read_xml(path)
    assert platforms.load(path).hosts == platform.hosts == 4
    network = platforms.network(properties)
    assert network.bandwidth_factors == (Factor(0, 1), Factor(1000, 0.9), Factor(float("inf"), 0.5))
    assert network.send == (Overhead(100, 1e-6, 2e-9), Overhead(float("inf"), 3e-6))
    assert (network.eager_limit, network.window, network.cross_traffic) == (65535, 0, 0)
    assert network.latency_factors == SMPI.latency_factors
    assert platforms.network({"host/model": "compound"}) is SMPI


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("smpi/os", "0:x", "'x' is no number"),
        ("smpi/or", "0:1:2:3", "no piece like T:a:b"),
        ("smpi/lat-factor", "0:0", "above 0"),
        ("smpi/bw-factor", "0:1;0:2", "no piece"),
        ("network/crosstraffic", "maybe", "neither yes nor no"),
        ("network/weight-S", "-1", "not be negative"),
    ],
)
def test_wrong_settings(name, value, problem):
    with pytest.raises(InputError, match=f"setting {name}: .*{problem}"):
        platforms.network({name: value})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f'{HOSTS}<route src="a" dst="b"><link_ctn id="l"/></route>', "line 1: <link_ctn>: there is no link 'l'"),
        (f'{HOSTS}{TWO}<route src="a" dst="b"><link_ctn id="l"/></route>', "say direction="),
        (f'{HOSTS}{LINK}<route src="a" dst="c"><link_ctn id="l"/></route>', "dst 'c' is no host"),
        (f"{HOSTS}{LINK}{LINK}", "a second link 'l'"),
        (HOSTS + HOSTS, "a second host or router 'a'"),
        ('<host id="a" speed="1GHz"/>', "speed '1GHz' is no speed"),
        ('<host id="a" speed="-1f"/>', "must be finite and not negative"),
        ('<host id="a" speed="1f"><prop id="smpi/os" value="0:1:0"/></host>', "smpi/os of a single host"),
        ('<host id="a"/>', "attribute 'speed' is missing"),
        ('<host id="a" speed="1f" core="0"/>', "core '0'"),
        ('<host id="a" speed="1f" pstate="1"/>', "pstate '1'"),
        ('<host id="a" speed="1f" state_file="x"/>', "state_file 'x': No such file"),
        ('<host id="a" speed="1f" state_file="../x"/>', "name a file below the platform's folder"),
        ('<trace id="t" periodicity="1">0 1\n1 0</trace>', "<trace>: profiles of availability are not simulated"),
        ('<peer id="a" speed="1f" bw_in="1Bps" bw_out="1Bps"/>', "<peer>: belongs into a zone of routing Vivaldi"),
        (f'{HOSTS}<bypassRoute src="a" dst="c"/>', "dst 'c' is no host"),
        (CLUSTER.replace("0-3", "0-99999999"), "more than"),
        (CLUSTER.replace("0-3", "3-0"), "no list of numbers"),
        (CLUSTER.replace("0-3", "0-3,2"), "2 occurs twice"),
        (CLUSTER + CLUSTER.replace('"c"', '"d"'), "hosts of its names are there already"),
        (CLUSTER + CLUSTER.replace('prefix="n"', 'prefix="m"'), "a second zone 'c'"),
        (CLUSTER.replace("/>", ' topology="TORUS" topo_parameters="2,3"/>'), "make 6 hosts, radical names 4"),
        (CLUSTER.replace("/>", ' topology="TORUS" topo_parameters="2;2"/>'), "expected X,Y,Z"),
        (CLUSTER.replace("/>", ' topology="FAT_TREE" topo_parameters="2;2;1;1"/>'), "levels;down;up;parallel"),
        (CLUSTER.replace("/>", ' topology="DRAGONFLY" topo_parameters="9,1;1,1;1,1;1"/>'), "take fewer groups"),
        (CLUSTER.replace("/>", ' topology="RING"/>'), "expected one of FLAT"),
        (CLUSTER.replace("/>", ' loopback_lat="1us"/>'), "'loopback_bw' is missing"),
        (CLUSTER + HOSTS, "zone 'z' has zones within it"),
        ('<zoneRoute src="x" dst="y" gw_src="a" gw_dst="b"/>', "'x' is no zone within 'z'"),
        ("<backbone id='b' bandwidth='1Bps'/>", "belongs into a zone of routing Cluster"),
        ("text", "unexpected text 'text'"),
        ("", "<platform>: no hosts"),
    ],
)
def test_wrong_files_get_one_line_that_says_where(text, problem):
    with pytest.raises(DamagedFileError, match=problem) as caught:
        read(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<!DOCTYPE platform [<!ENTITY a "b">]><platform/>', "line 1: a document type with declarations of its own"),
        ('<!DOCTYPE platform [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]><platform/>', "declarations of its own"),
        ('<!DOCTYPE platform SYSTEM "x.dtd"><platform>&lol;</platform>', "entities are not read"),
        ("<a>" * 100, "more than 64 elements within each other"),
        ("<platform>", "not XML"),
        ("", "not XML"),
        ('<platform version="5"><zone id="z" routing="Full"/></platform>', "version '5'"),
        ('<platform version="4.1"/>', "0 outermost zones"),
        ("<machine/>", "expected <platform>"),
        ('<?xml version="1.0" encoding="klingon"?><platform/>', "not XML"),
    ],
)
def test_what_is_not_trusted(text, problem):
    with pytest.raises(DamagedFileError, match=problem):
        read_xml_bytes(text.encode())


@pytest.mark.parametrize("attribute", ["speed", "core", "pstate"])
def test_a_million_digits_are_one_line(attribute):
    host = {"id": "a", "speed": "1Gf"} | {attribute: "9" * 1_000_000}
    text = " ".join(f'{name}="{value}"' for name, value in host.items())
    with pytest.raises(DamagedFileError, match=attribute) as raised:
        read(f"<host {text}/>")
    assert len(str(raised.value)) < 600


def test_large_files_are_not_read(tmp_path):
    path = tmp_path / "large.xml"
    with path.open("wb") as file:
        file.truncate(2**26 + 1)
    with pytest.raises(DamagedFileError, match="larger than 64 MiB"):
        read_xml(path)
    with pytest.raises(InputError, match="No such file"):
        read_xml(tmp_path / "nosuch.xml")


def test_ranges():
    ranges = Ranges("0-3,7,9-11")
    numbers = [0, 1, 2, 3, 7, 9, 10, 11]
    assert list(ranges) == numbers
    assert [ranges[place] for place in range(len(ranges))] == numbers
    assert [ranges.index(number) for number in numbers] == list(range(8))
    assert ranges.overlaps(Ranges("8-9"))
    assert not ranges.overlaps(Ranges("4-6"))


ORACLE = tomllib.loads((ORACLES / "routes.toml").read_text())
SEEDS = [
    *(entry["xml"] for entry in ORACLE.values()),
    f'<zone id="z" routing="Cluster">{HOSTS}{TWO}<host_link id="a" up="l_UP" down="l_DOWN"/>'
    '<host_link id="b" up="l" down="l"/><backbone id="bb" bandwidth="1Bps"/>'
    '<cabinet id="c" prefix="h" suffix="" radical="0-1" speed="1f" bw="1Bps" lat="1us"/></zone>',
]
VALUES = [
    "",
    "0",
    "1",
    "-1",
    "2,2",
    "1;4;1;1",
    "x",
    "9" * 20,
    "1e400",
    "0-3",
    "Floyd",
    "Cluster",
    "TORUS",
    "FATPIPE",
    "a",
    "c",
]


def damaged(text, random):
    """Return XML with elements lost, doubled or moved, and attributes changed."""
    for _ in range(random.randint(1, 3)):
        tags = list(re.finditer("<[^/][^>]*/>", text))
        pairs = list(re.finditer('([a-z_]+)="([^"]*)"', text))
        choice, two = random.choice(tags or [None]), random.choice(tags or [None])
        kind = random.randrange(4)
        if kind == 0 and choice:
            text = text[: choice.start()] + text[choice.end() :]
        elif kind == 1 and choice:
            text = text[: two.start()] + choice.group() + text[two.start() :]
        else:
            pair, other = random.choice(pairs), random.choice(pairs)
            value = random.choice([*VALUES, other[2]])
            name = random.choice([pair[1], pair[1], pair[1], other[1]])
            text = f'{text[: pair.start()]}{name}="{value}"{text[pair.end() :]}'
    return text


def outcome(function, *arguments):
    """Return a platform, or the one line that says what is wrong."""
    try:
        return function(*arguments)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_damaged_files_make_a_platform_or_one_line(seed):
    random = Random(seed)  # noqa: S311
    kinds = set()
    for turn in range(40):
        text = damaged(SEEDS[seed], random) if turn else SEEDS[seed]
        result = outcome(read_xml_bytes, f'<platform version="4.1">{text}</platform>'.encode())
        kinds.add(type(result))
        if isinstance(result, str):
            assert "\n" not in result
        else:
            ends, routing = range(result[0].hosts), result[0].routing()
            routing.count([a for a in ends for _ in ends], [b for _ in ends for b in ends])
    assert kinds == {str, tuple}


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 400))
def test_any_bytes_make_a_platform_or_one_line(rubbish, place):
    text = f'<platform version="4.1"><zone id="z" routing="Full">{HOSTS}{LINK}</zone></platform>'.encode()
    result = outcome(read_xml_bytes, text[:place] + rubbish + text[place + len(rubbish) :])
    assert not isinstance(result, str) or "\n" not in result


@pytest.mark.skipif(not DATA.exists(), reason="the shared data are not here")
def test_the_files_of_the_measurements(tmp_path):
    for path in sorted(DATA.glob("*.xml")):
        assert platforms.load(path).hosts == 16
    subprocess.run([sys.executable, DATA / "genplat.py"], cwd=tmp_path, check=True)
    files = sorted((tmp_path / "plat").glob("*.xml"))
    assert len(files) > 40
    for path in files:
        assert platforms.load(path).hosts == int(path.stem.split("_")[1])


RING = "".join(
    f'<host id="h{i}" speed="1Gf"/><link id="l{i}" bandwidth="1GBps" latency="1us"/>' for i in range(400)
) + ("".join(f'<route src="h{i}" dst="h{(i + 1) % 400}"><link_ctn id="l{i}"/></route>' for i in range(400)))


@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra", "DijkstraCache"])
def test_a_zone_that_finds_its_ways_keeps_hops_and_no_ways(routing):
    """All routes of the ring, listed, would be 16 million links."""
    platform = read(RING, routing)
    assert sum(array.nbytes for array in platform.zones[0].values() if hasattr(array, "nbytes")) < 2_000_000
    assert platform.route(2, 5) == ["l2", "l3", "l4"]
    assert platform.route(5, 2) == ["l4", "l3", "l2"]
    assert platform.route(1, 398) == ["l0", "l399", "l398"]
    assert len(platform.route(0, 200)) == 200


@pytest.mark.parametrize("seed", range(20))
def test_found_ways_are_those_of_floyds_algorithm(seed):
    """Of equally long routes, the one that the algorithm finds first, written out here as its author did."""
    random = Random(seed)  # noqa: S311
    points, text, hops = random.randint(2, 9), "", {}
    names = [f"h{point}" for point in range(points)]
    text = "".join(f'<host id="{name}" speed="1Gf"/>' for name in names)
    pairs = [(index, (index + 1) % points) for index in range(points)]
    pairs += [(random.randrange(points), random.randrange(points)) for _ in range(points)]
    for index, other in pairs:
        if index == other or (index, other) in hops:
            continue
        links = [f"l{len(hops)}.{part}" for part in range(random.randint(1, 3))]
        text += "".join(f'<link id="{link}" bandwidth="1GBps" latency="1us"/>' for link in links)
        listed = "".join(f'<link_ctn id="{link}"/>' for link in links)
        text += f'<route src="{names[index]}" dst="{names[other]}" symmetrical="NO">{listed}</route>'
        hops[index, other] = links
    routes = {pair: list(links) for pair, links in hops.items()}
    for middle in range(points):
        for index in range(points):
            for other in range(points):
                before, after = routes.get((index, middle)), routes.get((middle, other))
                if before is None or after is None or index == other or middle in (index, other):
                    continue
                if (index, other) not in routes or len(before) + len(after) < len(routes[index, other]):
                    routes[index, other] = before + after
    platform = read(text, "Floyd")
    for pair, links in routes.items():
        assert platform.route(*pair) == links


ROUTED = f'{HOSTS}{LINK}<route src="a" dst="b"><link_ctn id="l"/></route>'


def seconds(platform, mapping="block"):
    return simulate.collective("bcast", 1000, 2, on=platform, mapping=mapping).seconds


def test_what_no_message_goes_through_is_passed_over_with_a_note():
    disk = '<disk id="d" read_bw="100MBps" write_bw="100MBps"/>'
    platform = read(ROUTED.replace('speed="1Gf"/>', f'speed="1Gf">{disk}{disk}</host>'))
    assert [note.partition(": ")[2] for note in platform.notes] == [
        "line 1: <disk> is passed over: messages do not go through it"
    ]
    assert simulate.collective("bcast", 8, 2, on=platform).notes[0] == platform.notes[0]
    assert seconds(platform) == seconds(read(ROUTED))


def test_hosts_that_nobody_uses_need_no_route_and_no_speed():
    platform = read(f'{ROUTED}<host id="c" speed="0f"/>')
    assert seconds(platform, ["a", "b"]) == seconds(read(ROUTED))
    assert platform.summary()["longest_route"] == 1
    with pytest.raises(InputError, match="no route from 'a' to 'c'"):
        seconds(platform, ["a", "c"])
    with pytest.raises(InputError, match="no route from 'b' to 'c'"):
        platform.route(1, 2)
    with pytest.raises(InputError, match="'c' has speed 0"):
        seconds(platform, ["c", "c"])


def test_zones_without_a_route_between_them_keep_ranks_apart():
    platform = read(CLUSTER + CLUSTER.replace('"c"', '"d"').replace('"n"', '"m"'))
    assert seconds(platform, ["n0", "n1"]) == seconds(read(CLUSTER))
    with pytest.raises(InputError, match="no route from 'n0' to 'm1'"):
        seconds(platform, ["n0", "m1"])


def test_hosts_without_a_route_to_the_gateway_stay_within_their_zone():
    inner = f'<zone id="i" routing="Full">{ROUTED}<router id="r"/></zone>'
    link = '<link id="far" bandwidth="1MBps" latency="1s"/>'
    ends = '<zoneRoute src="c" dst="i" gw_src="nc_router" gw_dst="r"><link_ctn id="far"/></zoneRoute>'
    platform = read(CLUSTER + inner + link + ends)
    assert seconds(platform, ["a", "b"]) == seconds(read(ROUTED))
    with pytest.raises(InputError, match="no route from 'n0' to 'a'"):
        seconds(platform, ["n0", "a"])


def test_a_zone_of_routing_none_has_no_routes():
    platform = read(HOSTS, routing="None")
    with pytest.raises(InputError, match="no route from 'a' to 'b'"):
        platform.route(0, 1)
    with pytest.raises(DamagedFileError, match="a zone of routing None has no routes of its own"):
        read(ROUTED, routing="None")


@pytest.mark.parametrize("routing", ["Full", "Floyd"])
def test_a_bypass_is_taken_one_way(routing):
    bypass = '<link id="m" bandwidth="1MBps"/><bypassRoute src="a" dst="b"><link_ctn id="m"/></bypassRoute>'
    platform = read(ROUTED + bypass, routing=routing)
    assert (platform.route(0, 1), platform.route(1, 0)) == (["m"], ["l"])


def test_zones_have_a_bypass_one_way():
    other = CLUSTER.replace('"c"', '"d"').replace('"n"', '"m"')
    links = "".join(f'<link id="{name}" bandwidth="1MBps"/>' for name in ("usual", "short"))
    ends = 'src="c" dst="d" gw_src="nc_router" gw_dst="md_router"'
    usual = f'<zoneRoute {ends}><link_ctn id="usual"/></zoneRoute>'
    bypass = f'<bypassZoneRoute {ends}><link_ctn id="short"/></bypassZoneRoute>'
    platform = read(CLUSTER + other + links + usual + bypass)
    assert platform.route(0, 4) == ["n0 up", "short", "m0 down"]
    assert platform.route(4, 0) == ["m0 up", "usual", "n0 down"]


def test_peers_are_as_far_apart_as_their_coordinates():
    peers = (
        '<peer id="a" coordinates="25.5 9.4 1.4" speed="1Gf" bw_in="2GBps" bw_out="1MBps"/>'
        '<peer id="b" coordinates="-12.7 -9.9 2.1" speed="1Gf" bw_in="3MBps" bw_out="20MBps"/>'
    )
    platform = read(peers, routing="Vivaldi")
    assert platform.route(0, 1) == ["link_a_UP", "distance from a to b", "link_b_DOWN"]
    text = f'<platform version="4.1"><zone id="z" routing="Vivaldi">{peers}</zone></platform>'
    message = ("init", "send 1 0 1000000 6", "finalize"), ("init", "recv 0 0 1000000 6", "finalize")
    assert our_seconds(Case(text, ("a", "b"), message)) == pytest.approx(1.602145669338491, rel=1e-9)  # SMPI 3.32
    with pytest.raises(DamagedFileError, match="take a <peer>"):
        read(HOSTS.replace('id="a"', 'id="a" coordinates="1 2 3"'), routing="Vivaldi")


@pytest.mark.parametrize(("value", "computes"), [("0", False), ("yes", True)])
def test_a_file_says_whether_computation_takes_time(value, computes, tmp_path):
    config = f'<config><prop id="smpi/simulate-computation" value="{value}"/></config>'
    path = tmp_path / "p.xml"
    path.write_text(f'<platform version="4.1">{config}<zone id="z" routing="Full">{ROUTED}</zone></platform>')
    assert place(str(path)).computes is computes


def test_a_declaration_behind_blanks_is_read():
    zone = f'<platform version="4.1"><zone id="z" routing="Full">{ROUTED}<link/></zone></platform>'
    text = f'\n\n<?xml version="1.0" encoding="ISO-8859-1"?>\n<!-- M\xfcller -->{zone}'
    with pytest.raises(DamagedFileError, match="line 4: <link>"):
        read_xml_bytes(text.encode("latin-1"))
    assert read_xml_bytes(text.replace("<link/>", "").encode("latin-1"))[0].hosts == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("smpi/coll-selector", "mpich"), ("smpi/bcast", "binomial_tree"), ("smpi/init", "1"), ("host/model", "ptask_L07"),
     ("smpi/finalization-barrier", "on"), ("network/model", "CM02"), ("a/b", "1")],
)  # fmt: skip
def test_settings_that_are_not_simulated_are_refused_by_name(name, value):
    text = f'<platform version="4.1"><config><prop id="{name}" value="{value}"/></config>{CLUSTER}</platform>'
    with pytest.raises(DamagedFileError, match=f"line 1: <prop>: setting {name}: '{value}'"):
        read_xml_bytes(text.encode())


OVERHEADS = "1000:1e-4:1e-9;10000:3e-4:2e-9"
# Seconds of both ranks in SMPI 3.32: a message on one link of 125 MB/s and 50 us, by ranks that do not compute.
SMPI_SECONDS = [
    ({"smpi/os": OVERHEADS}, "send", 0, (0.0001, 0.000200899000121)),
    ({"smpi/os": OVERHEADS}, "send", 999, (0.000100999, 0.000223444772222)),
    ({"smpi/os": OVERHEADS}, "send", 1000, (0.000101, 0.00022347033456)),
    ({"smpi/or": OVERHEADS}, "send", 1, (0.0, 0.000200910343878)),
    ({"smpi/ois": OVERHEADS}, "isend", 1, (0.000100001, 0.000200910343878)),
    ({"smpi/ois": OVERHEADS}, "sendrecv", 999, (0.000248375544445, 0.000248375544445)),
    ({"smpi/or": OVERHEADS}, "sendrecv", 1, (0.000201086187756, 0.000201086187756)),
    ({"smpi/send-is-detached-thresh": "0"}, "send", 0, (0.000100899000121, 0.000100899000121)),
    ({"smpi/async-small-thresh": "0", "smpi/send-is-detached-thresh": "0"}, "isend", 0, (0.000100899000121,) * 2),
]


@pytest.mark.parametrize(("config", "action", "size", "expected"), SMPI_SECONDS)
def test_lowest_thresholds_mean_what_they_do_in_smpi(config, action, size, expected, tmp_path):
    properties = "".join(f'<prop id="{name}" value="{value}"/>' for name, value in config.items())
    hosts = '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="125MBps" latency="50us"/>'
    route = '<route src="a" dst="b"><link_ctn id="l"/></route>'
    zone = f'<zone id="z" routing="Full">{hosts}{route}</zone>'
    platform, settings_of_smpi = read_xml_bytes(
        f'<platform version="4.1"><config>{properties}</config>{zone}</platform>'.encode()
    )
    actions = {
        "send": (f"0 send 1 0 {size} 6", f"1 recv 0 0 {size} 6"),
        "isend": (f"0 isend 1 0 {size} 6\n0 wait 0 1 0", f"1 irecv 0 0 {size} 6\n1 wait 0 1 0"),
        "sendrecv": (f"0 sendRecv {size} 1 {size} 1 6 6", f"1 sendRecv {size} 0 {size} 0 6 6"),
    }
    for rank, line in enumerate(actions[action]):
        (tmp_path / f"{rank}.txt").write_text(f"{rank} init\n{line}\n{rank} finalize\n")
    (tmp_path / "list").write_text("0.txt\n1.txt\n")
    result = simulate.run(traces.replay(tmp_path / "list"), platforms.network(settings_of_smpi), platform)
    assert result.ends.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)
