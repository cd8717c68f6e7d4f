"""What is fuzzed: for each reader, a function of bytes, and a few inputs to begin with.

A reader may refuse its input with a `CommModelError` of one line. Anything else that it raises is a finding, as is a
crash, a hang, or more memory than the machine should give for a small file (`run.py` watches these).
"""

import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from commmodel.errors import CommModelError

Target = Callable[[bytes], None]

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "commmodel"
FOLDER = Path(os.environ.get("FUZZ_FOLDER") or tempfile.mkdtemp(prefix="commmodel-fuzz-"))
MOST = 1 << 16
"""Bytes of an input."""
SEPARATOR = b"\n====\n"
"""Between files of which an input is made."""
ARCHIVE = ["traces.otf2", "traces.def", *(f"traces/{number}.{kind}" for number in range(3) for kind in ("def", "evt"))]
"""Files of an archive of two ranks, one of them with a thread more."""


def _file(name: str, content: bytes) -> Path:
    path = FOLDER / name
    path.write_bytes(content)
    return path


def _reads(name: str, read: Callable[[Path], object]) -> Target:
    """Return the target that writes its input to a file of that name and has it read."""

    def target(content: bytes) -> None:
        path = _file(name, content)
        try:
            read(path)
        except CommModelError as error:
            if len(str(error).splitlines()) > 1:
                raise AssertionError(f"more than one line: {error}") from error

    return target


def _results(path: Path) -> object:
    from commmodel import formats
    from commmodel.fit import fit_machine

    measurements = formats.load(path)
    with suppress(CommModelError):
        fit_machine(measurements)
    return measurements


def _machine(path: Path) -> object:
    from commmodel import machine

    return machine.load(path)


def _measurements(path: Path) -> object:
    from commmodel import formats

    return formats.load(path)


def _simulated(program: object) -> object:
    from commmodel.simulate import DelayModel, DelayParameters, fluid, run
    from commmodel.simulate.platform import flat

    processes = program.processes  # type: ignore[attr-defined]
    if processes > 64:
        return None
    with suppress(CommModelError):
        run(program, DelayModel(DelayParameters(L=1e-6, o=1e-6, G=1e-9, S=1e4)))  # type: ignore[arg-type]
    return run(program, fluid(), flat(processes, 1e9, 1e-6), record=True)  # type: ignore[arg-type]


def _trace(path: Path) -> object:
    from commmodel.simulate.traces import replay

    return _simulated(replay(path))


def _exchange(path: Path) -> object:
    from commmodel.simulate.work import read_sparse

    return _simulated(read_sparse(path))


def _timeline(path: Path) -> object:
    from commmodel.simulate import timeline

    return timeline.load(path)


def _goal(path: Path) -> object:
    from commmodel.simulate import DelayParameters, delays, goal

    return delays.run_schedule(goal.load(path), DelayParameters(L=1e-6, o=1e-6, g=1e-6, G=1e-9, S=1e4))


def _files(path: Path, folder: Path, names: list[str]) -> Path:
    """Write the parts of a file as files of a folder that has no others."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in zip(names, path.read_bytes().split(SEPARATOR), strict=False):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def _foreign(path: Path) -> object:
    """Read a trace of two ranks, of another program."""
    from commmodel.simulate.traces import load

    trace = load(_files(path, path.with_suffix(""), ["rank-0", "rank-1"]))
    return _simulated(trace.program()), trace.notes()


def _archive(path: Path) -> object:
    """Read an archive of OTF2 in a process of its own: what its library does to itself there is not ours."""
    folder = _files(path, path.with_suffix(""), ARCHIVE)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise AssertionError("an archive that is neither read nor refused")
        return None
    code = 1
    try:
        from commmodel.simulate.traces import load

        _simulated(load(folder).program())
        code = 0
    except CommModelError as error:
        code = int(len(str(error).splitlines()) > 1)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _platform(path: Path) -> object:
    from commmodel.simulate import fluid, platform, run
    from commmodel.simulate.work import ring

    found = platform.load(path)
    return run(ring(70000, 3), fluid(), found, hosts=found.place(3, "round-robin"))


def _units(content: bytes) -> None:
    from commmodel import units

    text = content.decode("utf-8", "replace")
    parsers = (units.parse_size, units.parse_time, units.parse_rate, units.parse_fraction, units.parse_sizes,
               units.parse_counts, units.parse_number, units.parse_whole)  # fmt: skip
    for parse in parsers:
        with suppress(CommModelError):
            parse(text)


def _expressions(content: bytes) -> None:
    """Read what users type beside quantities: growth, rules between functions, factors, parameters."""
    from commmodel.scaling import growth, rules
    from commmodel.simulate.scenario import places, scale
    from commmodel.simulate.work import communicators

    text = content.decode("utf-8", "replace")
    parsers = (growth.parse_growth, growth.parse_product, rules.parse_rule, scale.parse_scales, places.parse_parameters,
               lambda words: communicators.parse_ranks(words, 16))  # fmt: skip
    for parse in parsers:
        with suppress(CommModelError):
            parse(text)


def _sweep(path: Path) -> object:
    from commmodel.sweep import load

    return load(path.parent).jobs()


def _recording(path: Path) -> object:
    """Read a recording of two ranks: their logs stand one behind the other in the file."""
    from commmodel import record
    from commmodel.record.actions import RecordedActions
    from commmodel.record.files import MAGIC

    folder = path.parent / "recording"
    folder.mkdir(exist_ok=True)
    for before in folder.glob("rank-*.log"):
        before.unlink()
    for rank, log in enumerate(path.read_bytes().split(MAGIC, 2)[1:] or [b""]):
        (folder / f"rank-{rank:06d}.log").write_bytes(MAGIC + log)
    recording = record.load(folder)
    with suppress(CommModelError):
        record.efficiency(recording)
    with suppress(CommModelError):
        _simulated(RecordedActions(recording).program())
    return record.profile(recording).to_dict(), record.timeline(recording), record.site_contents(recording)


def _recording_description(path: Path) -> object:
    """Read the file beside the logs of a recording, and a log."""
    from commmodel import record

    (path.parent / "rank-000000.log").write_bytes(_logs()[0].content())
    return record.load(path.parent)


def _selector(path: Path) -> object:
    """Read rules of which algorithm a collective takes, choose by them, write them again."""
    from commmodel.collectives.library.selection import FORMATS, dumps, load, select
    from commmodel.collectives.operation import SCHEDULED

    selector = load(path)
    for operation in SCHEDULED:
        with suppress(CommModelError):
            select(selector, operation, 1000, 16)
    for format_name in FORMATS:
        with suppress(CommModelError):
            dumps(selector, format_name)
    return selector


def _expectations(path: Path) -> object:
    from commmodel.scaling import load

    return load(path)


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "results": ("results.jsonl", _results),
    "machine": ("machine.toml", _machine),
    "csv": ("measured.csv", _measurements),
    "osu": ("osu.txt", _measurements),
    "imb": ("imb.txt", _measurements),
    "nodecomm": ("nodecomm.txt", _measurements),
    "durations": ("durations.csv", _measurements),
    "extrap-text": ("extrap.txt", _measurements),
    "extrap-json": ("extrap.jsonl", _measurements),
    "trace": ("merged.trace", _trace),
    "exchange": ("exchange.csv", _exchange),
    "timeline-csv": ("timeline.csv", _timeline),
    "timeline-json": ("timeline.json", _timeline),
    "goal": ("schedule.goal", _goal),
    "goal-binary": ("schedule.bin", _goal),
    "liballprof": ("liballprof.both", _foreign),
    "chakra": ("chakra.both", _foreign),
    "otf2": ("otf2.all", _archive),
    "platform-toml": ("platform.toml", _platform),
    "platform-xml": ("platform.xml", _platform),
    "sweep": ("sweep.toml", _sweep),
    "expectations": ("expectations.toml", _expectations),
    "selector": ("rules.toml", _selector),
    "recording": ("rank.logs", _recording),
    "recording-json": ("recording.json", _recording_description),
}
"""Target -> the name of its file, and what reads that."""
TARGETS: dict[str, Target] = {name: _reads(*one) for name, one in READERS.items()} | {
    "units": _units,
    "expressions": _expressions,
}

_XML = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><config id="General"><prop id="smpi/os" value="0:1e-6:2e-9;100:2e-6:0"/></config>
<zone id="z" routing="{routing}"><host id="a" speed="1Gf" core="2"/><host id="b" speed="1Gf,2Gf" pstate="1"/>
<link id="l" bandwidth="1GBps" latency="1us" sharing_policy="SPLITDUPLEX"/><link id="m" bandwidth="125MBps"/>
<route src="a" dst="b"><link_ctn id="l" direction="UP"/><link_ctn id="m"/></route></zone></platform>
"""
_CLUSTER = """<platform version="4"><AS id="z" routing="Full"><cluster id="c" prefix="n" suffix="" radical="0-7"
 speed="1Gf" bw="1GBps" lat="1us" topology="{topology}" topo_parameters="{parameters}"/></AS></platform>"""
_OSU = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1      0.55\n1024     1.20\n"
_IMB = """#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
#-----------------------------------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.52         0.00
         1024         1000         1.30       787.00
"""
_TRACE = """0 init
1 init
0 compute 1e6
1 sleep 0.001
0 isend 1 0 1000 6
1 irecv 0 0 1000 6
0 wait 0 1 0
1 waitall
0 allreduce 100 5
1 allreduce 100 5
0 alltoall 10 10 1 1
1 alltoall 10 10 1 1
0 bcast 100 0 6
1 bcast 100 0 6
0 communicator 2 1 0
1 communicator 2 1 0
0 within 2 gatherv 3 5 3 1 0 0
1 within 2 gatherv 5 5 3 1 0 0
0 sendRecv 10 1 10 1 6 6
1 sendRecv 10 0 10 0 6 6
0 barrier
1 barrier
0 finalize
1 finalize
"""
_GOAL = """num_ranks 2
rank 0 {
l1: calc 100 cpu 0
l2: send 8b to 1 tag 3 nic 0
l2 requires l1
}
rank 1 {
l1: recv 8b from 0 tag 3
l2: calc 5
l2 irequires l1
}
"""
_LIBALLPROF = """# htor's PMPI Tracer 0.1 Output File
MPI_Init:-:140:141:0
MPI_Comm_rank:1:1140850688,{rank},2:99:2
MPI_Irecv:3:77:100:11,8,8:{other}:7:1140850688,{rank},2:96:4
MPI_Isend:5:77:100:11,8,8:{other}:7:1140850688,{rank},2:104:6
MPI_Waitall:7:2:96:9:8
MPI_Comm_split:9:1140850688,{rank},2:0:{other}:88:10
MPI_Alltoallv:11:77:1:2,3:1:0,2:10,4,4:77:1:{received}:1:0,2:10,4,4:1140850688,{rank},2:12
MPI_Ibcast:13:77:10:10,4,4:0:-2080374784,{other},2:120:14
MPI_Wait:15:120:9:16
MPI_Put:17:1:18
MPI_Sendrecv:19:77:1:10,4,4:{other}:1:77:1:10,4,4:{other}:1:1140850688,{rank},2:9:20
MPI_Finalize:21:-
"""
_EVENTS = """[{"ph":"X","name":"wait","tid":0,"ts":0.5,"dur":2,"args":{"peer":1,"bytes":8}},
{"ph":"s","id":1,"tid":0,"ts":1,"args":{"tag":3}},{"ph":"f","id":1,"tid":1,"ts":2},{"ph":"X","name":"send","tid":1}]"""
_EXTRAP = "PARAMETER p\nPOINTS (4) (8) (16)\nREGION main\nMETRIC time\nDATA 1 1.1\nDATA 2 2.1\nDATA 4 4.2\n"
_PLAN = """format = "commmodel-sweep"
version = 1
processes = [2, 4]
launches = 2
bench = ["memory"]
launcher = "mpiexec -n {processes}"
python = "python3"
seed = 1
"""
_DURATIONS = "MPI_Send,8,0.1,1e-6\nMPI_Recv,8,0.2,2e-6\nMPI_Isend,8,0.3,1e-6\n"
_RULES = """format = "commmodel-selector"
version = 1
name = "mine"
fallback = "mpich"
[[rules]]
operation = "bcast"
algorithm = "chain"
segment_size = "8KiB"
processes_from = 16
"""
_RECORDING = """{"format": "commmodel-recording", "version": 1, "command": ["python", "app.py"],
 "created": "2026-01-01T00:00:00+00:00", "commmodel": "0.1.0"}"""
_FLAT = 'format = "commmodel-platform"\nversion = 1\nkind = "{kind}"\nbandwidth = "125MB/s"\nlatency = "1us"\n{more}\n'


def _package(pattern: str) -> list[bytes]:
    return [path.read_bytes()[:MOST] for path in sorted(PACKAGE.glob(pattern))]


def _lines(path: Path) -> list[bytes]:
    return [b"".join(path.read_bytes().splitlines(keepends=True)[:20])] if path.is_file() else []


def _logs() -> list[Any]:
    """Return logs of two ranks: messages of all kinds, collectives, communicators, a rank that was killed."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.logs import new_logs

    logs = new_logs(2)
    for log in logs:
        other = 1 - log.rank
        log.note("host", "node")
        log.call("Init", 0, 10)
        log.communicator(3, [(0, 1, 2)], name="pair")
        log.call("Comm_dup", 20, 30, new_communicator=3)
        log.layout(1, 0, 800, 100, 64)
        log.contents(1)
        log.call("Isend", 40, 41, peer=other, tag=1, bytes=100, request=1, communicator=3)
        log.call("Irecv", 42, 43, peer=-1, tag=-1, bytes=200, request=2, communicator=3)
        log.call("Waitall", 44, 90, given=2, completed=[(1, -2, 0, 0), (2, other, 1, 100)])
        log.call("Sendrecv", 100, 120, peer=other, receive_peer=other, bytes=8, source=other, received_bytes=8)
        log.call("Send_init", 130, 131, peer=other, tag=2, bytes=50, request=3)
        log.call("Start", 140, 141, requests=[3])
        log.call("Recv", 142, 150, peer=other, tag=2, bytes=50, source=other, received_tag=2, received_bytes=50)
        log.call("Wait", 151, 152, given=1, completed=[(3, -2, 0, 0)])
        log.call("Alltoallv", 160, 170, sent_counts=[4, 5], received_counts=[4, 4])
        log.call("Allreduce", 180, 200, bytes=8, operation=3)
        log.call("Bcast", 210, 220, bytes=1000, root=0, communicator=3)
        log.call("Finalize", 300, 310)
    logs[0].leave()
    return logs


def _recordings() -> list[bytes]:
    logs = _logs()
    return [b"".join(log.content() for log in logs), logs[0].content()]


def _liballprof() -> list[bytes]:
    both = [_LIBALLPROF.format(rank=rank, other=1 - rank, received=("2,2", "3,3")[rank]).encode() for rank in range(2)]
    return [SEPARATOR.join(both), both[0]]


def _chakra() -> list[bytes]:
    sys.path.insert(0, str(ROOT / "tests"))
    from support.chakra import encoded, node

    both = [
        encoded(
            node(1, 4, duration=5, begin=3, is_cpu_op=True),
            node(2, 6, [1], comm_src=1 - rank, comm_size=64, comm_tag=2),
            node(3, 5, [1], comm_dst=1 - rank, comm_size=64, comm_tag=2),
            node(4, 4, [2, 3], duration=20, packed=True),
            node(5, 7, [4], comm_type=0, comm_size=800),
            node(6, 7, [5], comm_type=6, comm_size=10, pg_name="pair"),
        )
        for rank in range(2)
    ]
    return [SEPARATOR.join(both), encoded(node(1, 4, duration=5))]


def _selectors() -> list[bytes]:
    """Return rules in the form of each MPI library."""
    from commmodel.collectives.library.rules import SEVERAL
    from commmodel.collectives.library.selection import FORMATS, SelectionRule, Selector, dumps

    levels = SelectionRule("bcast", "two-level", upto=64, distribution=SEVERAL)
    rules = Selector("mine", (levels, SelectionRule("bcast", "binomial", upto=4096), SelectionRule("bcast", "chain")))
    return [dumps(rules, name).encode() for name in FORMATS]


def _goal_binary() -> list[bytes]:
    from commmodel.simulate import goal
    from commmodel.simulate.goal.binary_form import content

    return [b"".join(content(goal.parse(_GOAL)))]


def _archives() -> list[bytes]:
    """Return an archive; none where the package otf2 is not installed."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support import archives

    if archives.package() is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        anchor = archives.exchange(Path(folder))
        return [SEPARATOR.join((anchor.parent / name).read_bytes() for name in ARCHIVE)]


_MADE: dict[str, Callable[[], list[bytes]]] = {
    "selector": _selectors,
    "recording": _recordings,
    "liballprof": _liballprof,
    "chakra": _chakra,
    "goal-binary": _goal_binary,
    "otf2": _archives,
}
"""Target -> what makes its inputs."""


def seeds(name: str) -> list[bytes]:
    """Return inputs of a target that are right."""
    texts: dict[str, list[str]] = {
        "csv": ["message_size,seconds,pairs,path,kernel\n8,4.1us,1,between-nodes,pairs\n1MiB,1ms,1,any,stream\n"],
        "osu": [_OSU],
        "imb": [_IMB],
        "nodecomm": ["Pingpong for\nmaster: 0, 1\npartner: 2, 3\n1 1e-6 2e-6\n2 1.1e-6 2.1e-6\n1024 3e-6 4e-6\n"],
        "extrap-text": [_EXTRAP],
        "extrap-json": ['{"params":{"p":4},"value":1.5}\n{"params":{"p":8},"value":3.5,"callpath":"a->b"}\n'],
        "trace": [_TRACE, "0 init\n1 init\n", "#\n" * 2000 + _TRACE],
        "exchange": ["sender,receiver,bytes\n0,1,8\n1,0,1e6\n2,0,5\n"],
        "timeline-csv": ["rank,state,start,end\n0,MPI_Send,0,1\n1,MPI_Recv,0.5,1.5\n"],
        "timeline-json": [_EVENTS],
        "goal": [_GOAL],
        "platform-toml": [
            _FLAT.format(kind="flat", more='hosts = 4\nlimiter = "0.2GB/s"'),
            _FLAT.format(kind="torus", more="sizes = [3, 2]"),
            _FLAT.format(kind="fat-tree", more="down = [2, 2]\nup = [1, 2]\nparallel = [1, 1]"),
            _FLAT.format(kind="dragonfly", more="groups = 2\nchassis = 2\nblades = 2\nnodes = 2"),
            _FLAT.format(kind="crossbar", more="hosts = 3"),
        ],
        "platform-xml": [
            *(_XML.format(routing=routing) for routing in ("Full", "Floyd", "Dijkstra")),
            _CLUSTER.format(topology="FAT_TREE", parameters="2;4,2;1,2;1,2"),
            _CLUSTER.format(topology="DRAGONFLY", parameters="2,1;2,1;1,1;2"),
            _CLUSTER.format(topology="TORUS", parameters="2,4"),
        ],
        "units": ["64KiB", "2.5us", "1.5GB/s", "2%", "1:1KiB:*4", "1:16:*2", "1e-9"],
        "sweep": [_PLAN],
        "durations": [_DURATIONS],
        "selector": [_RULES],
        "recording-json": [_RECORDING],
        "expressions": [
            "p log^2 p",
            "n^(1/3) log p",
            "allreduce <= reduce + 2 bcast",
            "bandwidth=1:4,compute=0.5,1",
            "L=2500ns,o=1500ns,g=1us,G=6ps",
            "0 3-12:3",
        ],
    }
    files = {
        "results": _lines(ROOT / "docs" / "examples" / "results.jsonl"),
        "machine": _package("machine/published/*.toml"),
        "expectations": _package("scaling/published/*.toml"),
        "platform-toml": _package("simulate/platform/published/*.toml"),
        "selector": _package("collectives/library/published/*.toml"),
    }
    made = _MADE[name]() if name in _MADE else []
    return [text.encode() for text in texts.get(name, [])] + files.get(name, []) + made
