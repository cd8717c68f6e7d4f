"""The input files that the frozen commands read: made from small texts and formulas, without the package.

Nothing here imports commmodel, so that a redesign of the package cannot change the inputs unseen. Main entry: `make`.
"""

import gzip
import json
import math
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

SIZES = (0, 1, 64, 1024, 4096, 8116, 8192, 65536, 262144, 1 << 20)
TRAIN_SIZES = (1, *(2**power for power in range(1, 15)))
PROCESSES = (2, 4, 8, 16, 32, 64)
MESSAGES = 16
HEADER = {
    "type": "header",
    "format": "commmodel-results",
    "version": 1,
    "created": "2026-01-02T03:04:05+00:00",
    "command": ["python", "-m", "commmodel.bench"],
    "mpi": {"version": "MPICH Version:      5.0.2", "abi": "mpich", "standard": "5.0"},
    "hosts": [{"name": "node1", "cpus": 4, "cpu_model": "A CPU"}, {"name": "node2", "cpus": 4, "cpu_model": "A CPU"}],
    "ranks": [{"rank": rank, "host": rank % 2, "cpus": str(rank // 2), "cpu": rank // 2} for rank in range(8)],
    "versions": {"commmodel": "0.1.0"},
}

Line = dict[str, Any]


def record(kernel: str, samples: Iterable[float], unit: str = "s", more: Line | None = None, **fields: Any) -> Line:
    """Return a line of a results file."""
    return {
        "type": "record", "configuration": {"kernel": kernel, **fields}, "unit": unit, "samples": [*samples],
        **(more or {}),
    }  # fmt: skip


def scattered(seconds: float, random: Random, noise: float = 0.02, count: int = 9) -> list[float]:
    """Return samples of a time, none of them below it."""
    return [seconds * (1 + noise * random.random()) for _ in range(count)]


def growth(name: str, p: int) -> float:
    """Return how a collective operation grows; p is a power of two, so that its logarithm is exact."""
    log = p.bit_length() - 1
    return {"1": 1, "log": log, "p": p, "p log": p * log}[name]


def ping_pongs(seed: int, path: str = "between-nodes", slow: float = 1.0) -> Iterator[Line]:
    """Ping-pongs of one pair and of several, by the max-rate model, with a limit at 8116 bytes."""
    random = Random(seed)  # noqa: S311
    yield record("threshold", [8116.0], "B", {"bracket": [8116.0, 8120.0]}, path=path)
    for size in SIZES:
        alpha, rate = (0.75e-6, 3e9) if size <= 8116 else (1.5e-6, 10e9)
        for pairs in (1, 2, 4, 8):
            time = slow * (alpha + pairs * size / min(20e9, pairs * rate))
            samples = scattered(time, random)
            if pairs == 1:
                yield record("pingpong", samples, message_size=size, path=path)
            yield record("pairs", samples, message_size=size, pairs=pairs, path=path)


def streams(seed: int) -> Iterator[Line]:
    """Streams of windows of messages, of one pair and of several."""
    random = Random(seed)  # noqa: S311
    for size in SIZES[1:]:
        for pairs in (1, 2, 4):
            time = 0.3e-6 + pairs * size / min(12e9, pairs * 4e9)
            yield record("stream", scattered(time, random), message_size=size, pairs=pairs, path="between-nodes")


def trains(seed: int, mode: str = "blocking") -> Iterator[Line]:
    """Trains as LogGP is fitted to, and pLogP's quantities of the same machine."""
    random = Random(seed)  # noqa: S311
    L, o, g, G = 2e-6, 0.6e-6, 0.9e-6, 1e-9
    where = {"path": "between-nodes", "mode": mode}
    for size in TRAIN_SIZES:
        rest = (size - 1) * G
        lone = 2 * L + 4 * o + rest
        waiting = lone + (MESSAGES - 1) * (o + 0.2 * rest + lone)
        for messages, delayed, seconds in (
            (1, False, lone), (MESSAGES, False, lone + (MESSAGES - 1) * (g + rest)), (MESSAGES, True, waiting),
        ):  # fmt: skip
            more = {"delay": lone} if delayed else None
            samples = scattered(seconds, random, 0.01)
            yield record("loggp", samples, "s", more, message_size=size, messages=messages, delayed=delayed, **where)
    for size in (0, *TRAIN_SIZES):
        rest = max(size - 1, 0) * G
        way = L + 2 * o
        for quantity, seconds in (("send", o), ("receive", o), ("gap", g + rest), ("round-trip", 2 * way + rest)):
            yield record("plogp", scattered(seconds, random, 0.01), message_size=size, quantity=quantity, **where)


def overlaps(seed: int) -> Iterator[Line]:
    """Overlap of computation with transfers in bursts, and what is needed to choose them."""
    random = Random(seed)  # noqa: S311
    o, L, G = 2e-6, 6e-6, 0.4e-9
    path = "same-node"
    yield from trains_of(o / 2, L, G, path, random)
    for size in (1024, 16384, 262144):
        for burst in (1, 2, 4, 8, 16, 32, 64):
            for operation in ("isend", "irecv"):
                time = o / 2 * (0.5 + 0.5 / burst)
                yield record("burst", scattered(time, random), message_size=size, burst=burst, operation=operation,
                             path=path)  # fmt: skip
        yield record("queue", [1e-6 * (1 if place < 48 else 9) for place in range(96)], message_size=size,
                     operation="isend", path=path)  # fmt: skip
        for burst in (1, 8):
            alone = L + o + burst * size * G
            yield record("progress", scattered(1.4 * alone, random), "s", {"delay": alone}, message_size=size,
                         burst=burst, path=path)  # fmt: skip
        for direction in ("one-way", "both-ways"):
            yield record("bandwidth", scattered(size * G, random), message_size=size, processes=2,
                         pattern="nearest-neighbour", direction=direction, path=path)  # fmt: skip
    for volume in (1 << 20, 1 << 22):
        for ratio in (0.5, 1.0, 2.0):
            computation = ratio * volume * G
            for size, burst, template in [(volume, 1, "blocking")] + [
                (volume >> down, burst, template)
                for down in (1, 3, 5)
                for burst in (1, 4, 16)
                for template in ("pipelined", "tight")
                if (volume >> down) * burst <= volume
            ]:
                messages = volume // size
                sending = messages * (o / burst + o) + volume * G + L
                serial = 1.0 if template == "blocking" else 0.2 + 0.5 / messages
                time = max(sending, computation) + serial * min(sending, computation)
                yield record(
                    "overlap", scattered(time, random), "s", {"computation": computation}, volume=volume,
                    message_size=size, burst=burst, template=template, passes=1, processes=2, path=path,
                )  # fmt: skip


def trains_of(o: float, L: float, G: float, path: str, random: Random) -> Iterator[Line]:
    """Trains of a machine that LogGP describes, with g = o."""
    for size in TRAIN_SIZES:
        rest = (size - 1) * G
        lone = 2 * L + 4 * o + rest
        for messages, delayed, seconds in (
            (1, False, lone), (MESSAGES, False, lone + (MESSAGES - 1) * (o + rest)),
            (MESSAGES, True, lone + (MESSAGES - 1) * (o + lone)),
        ):  # fmt: skip
            more = {"delay": lone} if delayed else None
            yield record("loggp", scattered(seconds, random, 0.01), "s", more, message_size=size, messages=messages,
                         path=path, delayed=delayed)  # fmt: skip


def random_sizes(seed: int) -> Iterator[Line]:
    """Messages of random sizes, whose calls change at 5000 and at 70 000 bytes, and both ways at once."""
    random = Random(seed)  # noqa: S311
    sizes = sorted({int(2 ** (22 * random.random())) for _ in range(150)})
    rate = 1e8

    def way(size: int) -> float:
        return (3e-5 if size <= 5000 else 6e-5 if size <= 70_000 else 2e-4) + size / rate

    calls = {
        "send": lambda size: 3e-6 + 2e-10 * size if size <= 70_000 else way(size),
        "isend": lambda size: 2e-6 + 1e-10 * size if size <= 70_000 else 3e-6,
        "receive": lambda size: 5e-6 + 1e-10 * size if size <= 5000 else way(size),
    }
    path = "between-nodes"
    yield record("random-pingpong", [way(size) * (1 + 0.02 * random.random()) for size in sizes], message_sizes=sizes,
                 path=path)  # fmt: skip
    for operation, time in calls.items():
        yield record("random-ping", [time(size) * (1 + 0.02 * random.random()) for size in sizes],
                     message_sizes=sizes, operation=operation, path=path)  # fmt: skip
    for direction, time in (("one-way", 1e-3), ("both-ways", 1.4e-3)):
        yield record("contention", [time, 1.01 * time, 0.99 * time], message_size=1 << 22, direction=direction,
                     path=path)  # fmt: skip
    for operation in ("copy", "reduction"):
        for size in (1024, 65536, 1 << 20):
            yield record("local", scattered(1e-7 + size * 0.2e-9, random), operation=operation, message_size=size)


GROWTHS = {"barrier": "log", "bcast": "log", "reduce": "log", "allreduce": "log", "gather": "p", "alltoall": "p log"}


def collectives(seed: int, start: str = "round-time", **extra: str) -> Iterator[Line]:
    """Collective operations that grow as told, at two sizes, and the memory that communicators keep."""
    random = Random(seed)  # noqa: S311
    for name, kind in (GROWTHS | extra).items():
        for size in (0,) if name == "barrier" else (8, 4096):
            for p in PROCESSES:
                samples = scattered(1e-6 * (5 + growth(kind, p) * (1 + size / 4096)), random, 0.03, 12)
                yield record("collective", samples, operation=name, message_size=size, processes=p, start=start)
    for name, kind in (("comm_create", "p"), ("comm_dup", "1")):
        for p in PROCESSES:
            yield record("memory", [1000.0 + 24 * growth(kind, p)], "B", operation=name, processes=p)


def results(path: Path, *launches: Iterable[Line]) -> None:
    """Write launches as a results file."""
    lines = []
    for number, launch in enumerate(launches):
        lines += [HEADER | {"launch": f"{number + 1:016x}"}, *launch]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


MACHINE = """\
format = "commmodel-machine"
version = 1
name = "whole"
selector = "mpich"
memory_copy = { value = 0.125e-9, unit = "s/B" }
reduction = { value = 0.25e-9, unit = "s/B" }
link_contention = { value = 1e-10, unit = "s/B" }
queue_search = { value = 5e-9, unit = "s" }
[[segments]]
protocol = "eager"
limit = 65536
postal = { alpha = "2us", beta = 1e-9 }
max_rate = { alpha = "2us", R_C = "1GB/s", R_N = "4GB/s" }
loggp = { L = { value = 5e-6, low = 4e-6, high = 6e-6 }, o = "1us", g = "2us", G = 1e-8 }
[[segments]]
protocol = "rendezvous"
postal = { alpha = "6us", beta = 5e-10 }
max_rate = { alpha = "6us", R_C = "2GB/s", R_N = "5GB/s" }
loggp = { L = "9us", o = "1us", g = "2us", G = 9e-9 }
[[plogp]]
L = { value = 2e-6, unit = "s", low = 1e-6, high = 3e-6 }
sizes = [0, 1000, 100000]
o_s = [1e-6, 1e-6, 2e-6]
o_r = [1e-6, 2e-6, 2e-6]
g = [1e-6, 3e-6, 150e-6]
[[hybrid]]
contention = { value = 1.5, unit = "1" }
[[hybrid.modes]]
kind = "asynchronous"
L = { value = 3e-5, unit = "s" }
B = { value = 1e8, unit = "B/s" }
o_s = { value = 1e-6, unit = "s" }
limit = { value = 65536 }
[[hybrid.modes]]
kind = "synchronous"
L = { value = 5e-5, unit = "s" }
B = { value = 1.1e8, unit = "B/s" }
[[overlap]]
queue_depth = 64
outstanding_volume = 4194304
[overlap.progress]
sizes = [1024.0, 65536.0, 1048576.0]
bursts = [1.0, 8.0]
values = [[0.95, 1.0], [0.3, 0.2], [0.02, 0.0]]
"""
PLATFORM = 'format = "commmodel-platform"\nversion = 1\n'
RATES = 'bandwidth = "125MB/s"\nlatency = "15us"\n'
PLATFORMS = {
    "flat": 'kind = "flat"\nhosts = 8\ncores = 4\nspeed = 2e9\nlimiter = "187.5MB/s"\n'
    'backbone = {bandwidth = "250MB/s", latency = 1e-6}\nloopback = {bandwidth = "5GB/s", latency = 0}\n',
    "cabinets": 'kind = "cabinets"\nhosts = [4, 5]\nuplink = {bandwidth = "250MB/s", latency = 0, limiter = 1.3e9}\n',
    "fat-tree": 'kind = "fat-tree"\ndown = [4, 4]\nup = [1, 2]\nparallel = [1, 2]\nsharing = "shared"\n',
    "torus": 'kind = "torus"\nsizes = [4, 3]\nhost_names = "t{}.x"\n',
    "dragonfly": 'kind = "dragonfly"\ngroups = 2\nchassis = 2\nblades = 2\nnodes = 2\nparallel = [3, 2, 1]\n',
    "crossbar": 'kind = "crossbar"\nhosts = 8\nsharing = "fatpipe"\n',
}
CLUSTER = '<cluster id="c" prefix="node-" suffix="" radical="0-7" speed="1Gf" bw="125MBps" lat="15us"/>'
HOSTS = '<host id="a" speed="1Gf"/><host id="b" speed="2Gf,1Gf" core="4" pstate="1"/>'
ROUTED = (
    f'{HOSTS}<router id="r"/><link id="l" bandwidth="1Gbps" latency="2ms"/>'
    '<link id="m" bandwidth="125MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>'
    '<route src="a" dst="r"><link_ctn id="l"/></route><route src="r" dst="b"><link_ctn id="m" direction="UP"/></route>'
)
STAR = (
    '<host id="h0" speed="1Gf"/><host id="h1" speed="1Gf"/>'
    '<link id="w" bandwidth="125MBps" latency="1us" sharing_policy="SPLITDUPLEX"/>'
    '<host_link id="h0" up="w_UP" down="w_DOWN"/><host_link id="h1" up="w_UP" down="w_DOWN"/>'
    '<backbone id="bb" bandwidth="1GBps" latency="1us"/>'
)
SETTINGS = (
    '<config id="General"><prop id="smpi/bw_factor" value="1000:0.5;0:0.9"/>'
    '<prop id="smpi/os" value="0:1e-6:2e-9;100:3e-6:0"/><prop id="smpi/async-small-thres" value="65536"/>'
    '<prop id="network/crosstraffic" value="no"/></config>'
)


def xml(text: str, routing: str = "Full", before: str = "") -> str:
    """Return a platform of one zone."""
    return f'<platform version="4.1">{before}<zone id="z" routing="{routing}">{text}</zone></platform>'


ROUTES = HOSTS + '<link id="l" bandwidth="1Gbps" latency="2ms"/><route src="a" dst="b"><link_ctn id="l"/></route>'
BOMB = (
    '<!DOCTYPE platform [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><platform version="4.1"><zone id="&c;" routing="Full"/></platform>'
)
TRACE = """\
{r} init
{r} compute 2e9
{r} sleep 0.25
{r} irecv {o} 3 4 0
{r} isend {o} 3 4 0
{r} wait {o} {r} 3
{r} wait {r} {o} 3
{r} barrier
{r} bcast 1000 0 6
{r} allreduce 500 1e6
{r} alltoall 100 100
{r} finalize
"""
GOAL = """\
num_ranks 3
rank 0 {
s: send 100b to 1
c: calc 5000
t: send 100000b to 2 tag 4
t requires s
c irequires s
}
rank 1 {
recv 100b from 0
l: calc 700 cpu 1
}
rank 2 {
r: recv 100000b from 0 tag 4
}
"""
OSU = """\
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
0                       0.71
1                       0.82
1024                    1.25
65536                  12.50

# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 4 ] [ window size: 32 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s
1                       0.01          12345.00
1000                 2000.00        2000000.00
"""
IMB = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
#----------------------------------------------------------------
# Date                  : Fri Nov 20 18:34:48 2026
# MPI Version           : 5.0
# List of Benchmarks to run:
# PingPong
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.98         0.00
            1         1000         0.99         1.01
         1024         1000         1.25       819.20
        65536          640        20.25      3236.00
"""
NODECOMM = """\
Pingpong for
master:  0, 1, 2
partner: 16, 17, 18
1\t4.00e-06\t4.40e-06\t5.00e-06\t
1024\t2.00e-05\t2.40e-05\t3.00e-05\t
16384\t9.00e-05\t9.40e-05\t9.90e-05\t
Pingpong for
master:  0
partner: 32
1\t4.00e-06\t
1024\t1.00e-05\t
16384\t5.00e-05\t
"""
CSV = """\
# from my own program
message_size,seconds,pairs,path,kernel
8,4.5us,,same-node,pingpong
1KiB,5.5us,,same-node,pingpong
32KiB,21us,,same-node,pingpong
8,4.9us,4,same-node,pairs
1KiB,6.5us,4,same-node,pairs
32KiB,61us,4,same-node,pairs
1MB,2e-3,2,,stream
"""
EXTRAP_TEXT = """\
PARAMETER p
PARAMETER n
POINTS (2 8) (4 8) (8 8) (16 8) (32 8) (2 64) (4 64) (8 64) (16 64) (32 64)

METRIC time
REGION main->solve
DATA 1.5 1.25
DATA 2.5 2.6
DATA 3.5 3.4
DATA 4.5 4.6
DATA 5.5 5.4
DATA 2.5 2.25
DATA 4.5 4.6
DATA 6.5 6.4
DATA 8.5 8.6
DATA 10.5 10.4
"""
EXPECTATIONS = """\
title = "Mine"
[[expectation]]
name = "bcast"
expect = "log p"
deviation = "p^0.5"
[[expectation]]
name = "gather"
expect = "p"
where = { n = 8 }
[[rule]]
rule = "allreduce <= reduce + bcast"
"""


def small_files(docs: Path) -> dict[str, str]:
    """Return name -> text of every input that is a text of its own."""
    deadlock = {f"dead-{rank}.txt": f"{rank} init\n{rank} compute 1000\n{rank} recv {(rank + 1) % 4} 0 8\n"
                for rank in range(4)}  # fmt: skip
    recorded = (docs / "results.jsonl").read_text()
    return {
        **{f"{kind}.toml": PLATFORM + text + RATES for kind, text in PLATFORMS.items()},
        **deadlock,
        "dead.list": "".join(f"{name}\n" for name in deadlock),
        "machine.toml": MACHINE,
        "loggp.toml": MACHINE.partition("[[plogp]]")[0].replace('"whole"', '"loggp only"'),
        "cluster.xml": xml(CLUSTER),
        "settings.xml": xml(CLUSTER, before=SETTINGS),
        "full.xml": xml(ROUTES),
        "floyd.xml": xml(ROUTED, "Floyd"),
        "dijkstra.xml": xml(ROUTED, "Dijkstra"),
        "dijkstra-cache.xml": xml(ROUTED, "DijkstraCache"),
        "star.xml": xml(STAR, "Cluster"),
        "trace0.txt": TRACE.format(r=0, o=1),
        "trace1.txt": TRACE.format(r=1, o=0),
        "trace.list": "trace0.txt\ntrace1.txt\n",
        "merged.list": "merged.txt\n",
        "merged.txt": TRACE.format(r=0, o=1) + TRACE.format(r=1, o=0),
        "schedule.goal": GOAL,
        "exchange.csv": "sender,receiver,bytes\n0,1,1000\n0,2,2000000\n2,1,10\n3,0,70000\n",
        "hosts.txt": "# all on two\nnode-3\nnode-5\n",
        "measured.csv": "rank,state,start,end\n"
        + "".join(f"{rank},MPI_Bcast,10.0,{10.25 + rank / 64}\n" for rank in range(8)),
        "osu.txt": OSU,
        "imb.txt": IMB,
        "nodecomm.txt": NODECOMM,
        "own.csv": CSV,
        "extrap.txt": EXTRAP_TEXT,
        "extrap.jsonl": "".join(
            json.dumps({"params": {"p": p}, "callpath": "main->solve", "metric": "time", "value": 1.5 + math.sqrt(p)})
            + "\n"
            for p in (4, 16, 64, 256, 1024)
        ),
        "docs.jsonl": recorded,
        **{name: (docs / name).read_text() for name in ("blue-waters.toml", "collectives.txt")},
        "expectations.toml": EXPECTATIONS,
        # What is wrong.
        "bomb.xml": BOMB,
        "external.xml": '<!DOCTYPE platform [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]><platform/>',
        "nested.xml": "<a>" * 100,
        "noroute.xml": xml(HOSTS),
        "nolink.xml": xml(f'{HOSTS}<route src="a" dst="b"><link_ctn id="l"/></route>'),
        "huge.xml": xml(CLUSTER.replace("0-7", "0-99999999")),
        "cut.xml": xml(CLUSTER)[:80],
        "unit.toml": PLATFORM + 'kind = "flat"\nhosts = 4\nbandwidth = "125MBps"\nlatency = "15us"\n',
        "nohosts.toml": PLATFORM + 'kind = "flat"\nhosts = 0\n' + RATES,
        "nokind.toml": PLATFORM + 'kind = "ring"\nhosts = 4\n' + RATES,
        "newer.toml": PLATFORM.replace("1", "2") + 'kind = "flat"\nhosts = 4\n' + RATES,
        "nottoml.toml": "a = = 3\n",
        "wrong-machine.toml": MACHINE.replace('L = "9us"', 'L = "-9us"'),
        "empty-machine.toml": 'format = "commmodel-machine"\nversion = 1\nname = "x"\n',
        "cut.jsonl": recorded[: len(recorded) // 2],
        "notjson.jsonl": recorded.replace('{"type":"record"', '{"type":', 3),
        "negative.jsonl": recorded.replace('"samples":[', '"samples":[-1.0,', 1),
        "empty.jsonl": "",
        "action.list": "action.txt\n",
        "action.txt": "0 init\n0 fly 3\n",
        "partner.list": "partner.txt\n",
        "partner.txt": "0 init\n0 send 7 0 8\n",
        "nan.list": "nan.txt\n",
        "nan.txt": "0 init\n0 compute nan\n",
        "lost.list": "nosuch.txt\n",
        "damaged.goal": "num_ranks 2\nrank 0 {\nsend 8b to 5\n}\nrank 1 {\n}\n",
        "dead.goal": "num_ranks 2\nrank 0 {\nrecv 8b from 1\n}\nrank 1 {\nrecv 8b from 0\n}\n",
        "cycle.goal": "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n",
        "loop.csv": "sender,receiver,bytes\n0,1,-5\n",
        "osu-damaged.txt": OSU.replace("1.25", "1.2.5"),
        "twice.toml": EXPECTATIONS.replace('"log p"', '"p log"'),
    }


def make(folder: Path, docs: Path, oracles: Path) -> None:
    """Write every input into a folder.

    Parameters
    ----------
    folder : pathlib.Path
        An empty one.
    docs, oracles : pathlib.Path
        Where ``results.jsonl`` of the documentation and ``routes.toml`` of the tests are.
    """
    for name, text in small_files(docs).items():
        (folder / name).write_text(text)
    for name, case in tomllib.loads((oracles / "routes.toml").read_text()).items():
        (folder / f"oracle-{name}.xml").write_text(f'<platform version="4.1">{case["xml"]}</platform>')
    (folder / "binary.jsonl").write_bytes(b"\xff\xfe\x00\x01")
    with gzip.GzipFile(folder / "packed.goal.gz", "wb", mtime=0) as packed:
        packed.write(GOAL.encode())
    results(folder / "pairs.jsonl", ping_pongs(1))
    results(folder / "pairs-two.jsonl", ping_pongs(2), ping_pongs(3))
    results(folder / "paths.jsonl", [*ping_pongs(4), *ping_pongs(5, "same-node", 0.5), *streams(6)])
    results(folder / "slow.jsonl", *(ping_pongs(seed, slow=1.25) for seed in (7, 8, 9, 10, 11)))
    results(folder / "fast.jsonl", *(ping_pongs(seed) for seed in (12, 13, 14, 15, 16)))
    results(folder / "trains.jsonl", trains(17))
    results(folder / "trains-non-blocking.jsonl", [*trains(18), *trains(19, "non-blocking")])
    results(folder / "overlap.jsonl", overlaps(20))
    results(folder / "random.jsonl", random_sizes(21))
    results(folder / "collectives.jsonl", collectives(22))
    results(folder / "compared.jsonl", [*collectives(23, "barrier"), *ping_pongs(24)])
    results(folder / "linear.jsonl", collectives(25, bcast="p", allreduce="p"))
    results(folder / "before.jsonl", *(collectives(seed) for seed in range(30, 35)))
    results(folder / "after.jsonl", *(collectives(seed, bcast="p") for seed in range(40, 45)))
