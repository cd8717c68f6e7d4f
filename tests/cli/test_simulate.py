"""The verb `commmodel simulate`: what it prints and writes, how words go together, and answers to wrong ones."""

import gzip
import json
import re
import sys

import pytest

from commmodel import machine as machines
from commmodel.cli import main
from commmodel.collectives import CollectiveSettings, Nodes, Problem, build
from commmodel.collectives.library.selection import SelectionRule, Selector, dumps, load, select, with_levels
from commmodel.machine import Edge, Hybrid, Limit, LogGP, Machine, Mode, Parameter, Segment, dump
from commmodel.machine import load as load_machine
from commmodel.simulate import SMPI, Code, fluid, run, timeline
from commmodel.simulate.platform import dump as dump_platform
from commmodel.simulate.platform import flat
from commmodel.simulate.work import collective, halo

XML = """<?xml version='1.0'?>
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="c" prefix="node-" suffix="" radical="0-7" speed="1Gf" bw="125MBps" lat="15us"/>
  </zone>
</platform>
"""
FIRST = ["seconds", "messages", "events", "wall_seconds", "model"]
BCAST = ["bcast", "-n", "1MiB"]


def parameter(value, unit="s"):
    return Parameter(value, unit)


@pytest.fixture
def platform(tmp_path):
    path = tmp_path / "eight.xml"
    path.write_text(XML)
    return str(path)


@pytest.fixture
def machine(tmp_path):
    small = Mode("asynchronous", parameter(3e-5), parameter(1e8, "B/s"), Edge(65536), parameter(1e-6))
    large = Mode("synchronous", parameter(5e-5), parameter(1.1e8, "B/s"))
    hybrid = Hybrid((small, large), contention=parameter(1.5, "1"))
    loggp = LogGP(parameter(5e-6), parameter(1e-6), parameter(2e-6), parameter(1e-8, "s/B"))
    path = tmp_path / "machine.toml"
    dump(Machine("m", (Segment("eager", limit=Limit(65536), loggp=loggp), Segment("rendezvous", loggp=loggp)),
                  hybrid=(hybrid,)), path)  # fmt: skip
    return str(path)


@pytest.fixture
def deadlock(tmp_path):
    """Twelve ranks, each of which waits for a message from the next."""
    names = [f"rank-{rank}.txt" for rank in range(12)]
    for rank, name in enumerate(names):
        (tmp_path / name).write_text(f"{rank} init\n{rank} compute 1000\n{rank} recv {(rank + 1) % 12} 0 8\n")
    (tmp_path / "list.txt").write_text("\n".join(names))
    return str(tmp_path / "list.txt")


def as_json(capsys, *words, code=0):
    assert main(["simulate", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def problem(capsys, *words):
    assert main(["simulate", *words]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("commmodel: ")
    assert output.err.count("\n") == 1
    return output.err


# What it says


def test_the_json_begins_with_the_names_that_scripts_rely_on_and_agrees_with_python(platform, capsys):
    printed = as_json(capsys, platform, *BCAST)
    assert list(printed)[:5] == FIRST
    eight = flat(8, 125e6, 15e-6)
    expected = run(collective("bcast", Problem(8, 1 << 20)), SMPI, eight)
    assert [printed[name] for name in FIRST[:3]] == [expected.seconds, expected.messages, expected.events]
    assert (printed["model"], printed["processes"], printed["compared"], printed["blocked"]) == ("smpi", 8, [], [])
    assert printed["work"]["algorithm"] == select(load("mpich"), "bcast", 1 << 20, 8).algorithm
    assert printed["work"]["chosen_by"] == "mpich"
    states = printed["breakdown"]
    assert sum(state["mean"] for state in states.values()) == pytest.approx(printed["seconds"])
    assert all(
        state["least"] <= state["mean"] * (1 + 1e-12) <= state["most"] * (1 + 2e-12) for state in states.values()
    )
    links = printed["links"]
    assert links == sorted(links, key=lambda state: -state["share"])
    assert all(0 < state["share"] <= 1 for state in links)


def test_algorithms_in_two_levels_take_the_hosts_of_the_ranks_for_nodes(capsys):
    words = ("graphene", "allreduce", "-p", "16", "-n", "8")
    for mapping, per_node in (("block", 4), ("round-robin", 1)):
        printed = as_json(capsys, *words, "--algorithm", "two-level", "--mapping", mapping)
        problem_on_nodes = Problem(16, 8, nodes=Nodes(per_node))
        expected = collective(
            "allreduce", problem_on_nodes, algorithm="two-level", settings=CollectiveSettings("openmpi")
        )
        assert printed["messages"] == (expected.operations["code"] == Code.ISEND).sum()
    for operation, algorithm in (("alltoall", "two-level"), ("alltoall", "two-level-steps"), ("scan", "two-level"),
                                 ("allgather", "two-level-multi-leader")):  # fmt: skip
        words = ("graphene", operation, "-p", "16", "-n", "8", "--algorithm", algorithm)
        schedule = build(
            operation, algorithm, with_levels(load("openmpi"), operation, algorithm, Problem(16, 8, nodes=Nodes(4)))
        )
        assert as_json(capsys, *words)["messages"] == schedule.messages
    odd = ("graphene", "allreduce", "-p", "14", "-n", "8", "--algorithm", "two-level")
    assert "as many ranks on each host, one after the other: 14 ranks on 4 hosts" in problem(capsys, *odd)
    nowhere = ("L=2us,o=1us", "allreduce", "-p", "16", "-n", "1", "--algorithm", "two-level")
    assert "two levels need the number of processes on each node" in problem(capsys, *nowhere)


def test_the_same_words_give_the_same_answer(platform, capsys):
    first, second = (as_json(capsys, platform, "irregular", "-n", "64KiB") for _ in range(2))
    del first["wall_seconds"], second["wall_seconds"]
    assert first == second


def test_where_a_file_has_no_rule_its_fallback_picks_and_a_replay_names_its_selector(tmp_path, platform, capsys):
    result = Selector("mine", (SelectionRule("bcast", "chain"),), fallback="openmpi")
    (tmp_path / "rules.json").write_text(dumps(result))
    selector = ("--selector", str(tmp_path / "rules.json"))
    assert as_json(capsys, platform, *BCAST, *selector)["work"]["chosen_by"] == selector[1]
    entry = as_json(capsys, platform, "alltoall", "-p", "4", "-n", "1KiB", *selector)["work"]["chosen_by"]
    assert entry.startswith(load("openmpi").name)
    (tmp_path / "trace").write_text("0 init\n0 allreduce 100 0\n0 finalize\n")
    printed = as_json(capsys, platform, "replay", str(tmp_path / "trace"), "--selector", "mpich")
    assert "as mpich picks" in printed["work"]["title"]


def test_the_text_names_the_work_who_chose_the_time_and_the_busy_links(platform, capsys):
    assert main(["simulate", platform, "alltoall", "-n", "100KiB", "-p", "4"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Alltoall of 100 KiB on 4 ranks: pairwise-xor, as mpich picks")
    for words in ("simulated time", "messages", "events", "wall time", "Time of ranks", "transfer", "of its capacity"):
        assert words in printed
    assert re.search(r"node-\d up", printed)


EVERY = [
    ("barrier",),
    ("bcast", "-n", "1KiB", "--root", "3", "--algorithm", "binomial"),
    ("reduce", "-n", "1KiB", "--reduction", "1ns/B", "--rounds", "3"),
    ("ring", "-n", "1KiB"),
    ("halo", "-n", "1KiB", "--dimensions", "3"),
    ("irregular", "-n", "1KiB", "--rounds", "2"),
    ("pairwise", "-n", "1KiB"),
]


@pytest.mark.parametrize("words", EVERY)
def test_every_kind_of_work_runs_by_flows_and_by_delays(platform, machine, capsys, words):
    printed = as_json(capsys, platform, *words, "--parameters", machine, "--compare", "loggps")
    other = printed["compared"][0]
    assert printed["model"] == "hybrid"
    assert other["model"] == "loggps"
    assert printed["messages"] == other["messages"] > 0
    assert min(printed["seconds"], other["seconds"]) > 0


def test_an_exchange_is_read_from_a_file(platform, tmp_path, capsys):
    (tmp_path / "three.csv").write_text("sender,receiver,bytes\n0,1,1000\n0,2,2000\n2,1,10\n")
    printed = as_json(capsys, platform, "exchange", str(tmp_path / "three.csv"))
    assert (printed["processes"], printed["messages"]) == (3, 3)


def test_a_trace_is_replayed_with_the_speed_of_the_hosts_or_a_given_one(platform, tmp_path, capsys):
    (tmp_path / "one.txt").write_text("0 init\n0 compute 2e9\n0 finalize\n")
    (tmp_path / "list.txt").write_text("one.txt\n")
    assert as_json(capsys, platform, "replay", str(tmp_path / "list.txt"))["seconds"] == 2.0
    printed = as_json(capsys, platform, "replay", str(tmp_path / "list.txt"), "--speed", "4e9 flop/s")
    assert printed["seconds"] == 0.5


def test_kernels_run(platform, capsys):
    printed = as_json(capsys, platform, "lu", "--class", "S", "--iterations", "1")
    assert printed["work"]["kernel"] == "lu"
    assert printed["breakdown"]["compute"]["mean"] > 0
    assert as_json(capsys, platform, "cg", "--class", "S", "--iterations", "1")["messages"] > 0


def test_a_schedule_runs_by_the_rules_of_delays(machine, tmp_path, capsys):
    path = tmp_path / "t.goal"
    path.write_text("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n")
    printed = as_json(capsys, machine, "goal", str(path), "--compare", "logp")
    assert printed["model"] == "loggops"
    assert printed["seconds"] == pytest.approx(5e-6 + 2e-6 + 7e-8, rel=1e-6)
    assert printed["compared"][0]["seconds"] == pytest.approx(7e-6, rel=1e-6)
    assert "choose one of loggops" in problem(capsys, machine, "goal", str(path), "--model", "hybrid")


def test_parameters_of_delay_models_are_given_one_by_one(tmp_path, platform, capsys):
    path = tmp_path / "t.goal"
    path.write_text("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n")
    text = "L=2500ns, o=1.5us,g=1000ns,G=6ns/B,O=2ns,S=64KiB"
    printed = as_json(capsys, text, "goal", str(path), "--rules", "newer", "--compare", "loggp")
    assert (printed["model"], printed["platform"]) == ("loggops", text)
    assert printed["seconds"] == pytest.approx(6500e-9 + 7 * (6e-9 + 2 * 2e-9), rel=1e-9)
    assert printed["compared"][0]["seconds"] == pytest.approx(6500e-9 + 7 * 6e-9, rel=1e-9)

    pair = ["pairwise", "-n", "1000", "-p", "2"]
    printed = as_json(capsys, "L=4,o=1,G=500ps,O_r=2ns", *pair)
    assert (printed["model"], printed["seconds"]) == ("loggps", pytest.approx(6 + 1000 * 2.5e-9, rel=1e-12))
    printed = as_json(capsys, platform, *pair, "--parameters", "L=4us,o=1us", "--compare", "smpi", "--model", "logp")
    assert printed["seconds"] == pytest.approx(6e-6)
    assert printed["compared"][0]["seconds"] == as_json(capsys, platform, *pair)["seconds"]


# On what, by which model: the table of the documentation


def test_xml_is_simulated_by_smpi_and_a_machine_by_its_hybrid_model(platform, machine, capsys):
    assert as_json(capsys, platform, *BCAST)["model"] == "smpi"
    assert as_json(capsys, machine, *BCAST, "-p", "8")["model"] == "hybrid"
    assert as_json(capsys, platform, *BCAST, "--parameters", machine)["model"] == "hybrid"
    assert as_json(capsys, platform, *BCAST, "--parameters", "smpi")["model"] == "smpi"


def test_a_published_platform_is_fluid_unless_its_name_is_a_measured_machine_too(machine, capsys):
    words = [*BCAST, "-p", "8"]
    assert as_json(capsys, "switch", *words)["model"] == "fluid"
    assert as_json(capsys, "switch", *words, "--parameters", machine)["model"] == "hybrid"
    result = as_json(capsys, "graphene", *words, "--compare", "loggps", "fluid", "smpi")
    assert [result["model"], *(entry["model"] for entry in result["compared"])] == ["hybrid", "loggps", "fluid", "smpi"]


def test_a_platform_of_ones_own_is_read(tmp_path, capsys):
    dump_platform(flat(8, 125e6, 15e-6), tmp_path / "mine.toml")
    printed = as_json(capsys, str(tmp_path / "mine.toml"), *BCAST)
    assert printed["seconds"] == run(collective("bcast", Problem(8, 1 << 20)), fluid(), flat(8, 125e6, 15e-6)).seconds
    assert printed["model"] == "fluid"


def test_the_models_of_flows_are_those_of_python(platform, capsys):
    for model, network in (("smpi", SMPI), ("fluid", fluid())):
        expected = run(halo(65536, 8), network, flat(8, 125e6, 15e-6))
        printed = as_json(capsys, platform, "halo", "-n", "64KiB", "--model", model)
        assert printed["seconds"] == expected.seconds


def test_a_machine_is_as_many_hosts_as_ranks_or_as_are_said(machine, capsys):
    apart = as_json(capsys, machine, "ring", "-n", "1MiB", "-p", "8")
    together = as_json(capsys, machine, "ring", "-n", "1MiB", "-p", "8", "--hosts", "1")
    assert {entry["name"].split()[0] for entry in apart["links"]} > {
        entry["name"].split()[0] for entry in together["links"]
    }
    assert together["seconds"] != apart["seconds"]


def test_mapping_matters_and_may_come_from_a_file(platform, tmp_path, capsys):
    (tmp_path / "hosts").write_text("# all on one\nnode-3\n")
    words = (platform, "ring", "-n", "1MiB", "-p", "4")
    block = as_json(capsys, *words)["seconds"]
    assert as_json(capsys, *words, "--mapping", "block")["seconds"] == block
    assert as_json(capsys, *words, "--mapping", str(tmp_path / "hosts"))["seconds"] != block


def test_processes_of_a_node_are_placed_together(platform, machine, tmp_path, capsys):
    (tmp_path / "hosts").write_text("node-0\nnode-0\nnode-1\n")
    words = (platform, "ring", "-n", "1MiB", "-p", "3")
    result = as_json(capsys, *words, "-k", "2") | {"wall_seconds": 0}
    assert result == as_json(capsys, *words, "--mapping", str(tmp_path / "hosts")) | {"wall_seconds": 0}
    assert result["seconds"] != as_json(capsys, *words, "--per-node", "1")["seconds"]
    links = as_json(capsys, machine, "ring", "-n", "1MiB", "-p", "5", "-k", "4")["links"]
    assert {link["name"].split()[0] for link in links} == {"node-0", "node-1"}
    assert "3 ranks on the 2 cores" in result["notes"][0]


def test_more_ranks_than_cores_share_hosts_round_robin(platform, capsys):
    words = (platform, "ring", "-n", "1MiB", "-p", "16")
    assert as_json(capsys, *words) | {"wall_seconds": 0} == as_json(capsys, *words, "--mapping", "round-robin") | {
        "wall_seconds": 0
    }
    assert "16 processes on 8 cores" in problem(capsys, *words, "--mapping", "block")


# Files


def test_timelines_and_a_page_are_written(platform, machine, tmp_path, capsys):
    page, trace = tmp_path / "both.html", tmp_path / "t.json.gz"
    words = [platform, *BCAST, "--parameters", machine, "--compare", "loggps", "-o", str(page), "--trace", str(trace)]
    assert main(["simulate", *words]) == 0
    printed = capsys.readouterr().out
    assert f"written to {page}" in printed
    assert f"written to {trace}" in printed
    html = page.read_text()
    assert "<h3>hybrid</h3>" in html
    assert "<h3>loggps</h3>" in html
    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    assert len({event["tid"] for event in events if event["ph"] == "X"}) == 8


def test_recording_does_not_change_times(platform, tmp_path, capsys):
    plain = as_json(capsys, platform, *BCAST)
    recorded = as_json(capsys, platform, *BCAST, "-o", str(tmp_path / "t.html"), "--trace", str(tmp_path / "t.paje"))
    for name in ("wall_seconds", "output", "trace"):
        del plain[name], recorded[name]
    assert plain == recorded


def test_a_measured_timeline_is_set_beside_the_simulated_one(platform, tmp_path, capsys):
    measured = tmp_path / "measured.csv"
    measured.write_text(
        "rank,state,start,end\n0,MPI_Bcast,10.0,10.5\n"
        + "".join(f"{rank},MPI_Bcast,10.0,10.25\n" for rank in range(1, 8))
    )
    page = tmp_path / "t.html"
    printed = as_json(capsys, platform, *BCAST, "--compare", str(measured), "-o", str(page))
    (other,) = printed["compared"]
    assert (other["model"], other["seconds"], other["messages"]) == ("measured.csv", 0.5, None)
    assert "<h3>measured.csv</h3>" in page.read_text()


def test_a_measured_timeline_of_other_ranks_is_refused(platform, tmp_path, capsys):
    measured = tmp_path / "measured.csv"
    measured.write_text("rank,state,start,end\n0,MPI_Bcast,10.0,10.5\n2,MPI_Bcast,10.0,10.5\n")
    result = problem(capsys, platform, *BCAST, "--compare", str(measured))
    assert "a timeline of 3 ranks beside a program of 8" in result


def test_what_a_trace_holds_is_what_was_simulated(platform, tmp_path, capsys):
    path = tmp_path / "t.csv"
    printed = as_json(capsys, platform, *BCAST, "--trace", str(path))
    assert timeline.load(path).seconds == printed["seconds"]


# Deadlocks


def test_a_deadlock_says_who_waits_for_whom(platform, deadlock, tmp_path, capsys):
    page = tmp_path / "t.html"
    assert main(["simulate", platform, "replay", deadlock, "-o", str(page)]) == 2
    output = capsys.readouterr()
    lines = output.err.splitlines()
    assert output.out == ""
    assert lines[0] == "commmodel: deadlock: 12 of 12 ranks never end, smpi"
    assert lines[1].strip() == "rank 0 waits in MPI_Recv for a message from rank 1 with tag 0"
    assert len(lines) == 11
    assert lines[-2].strip() == "and 4 more ranks"
    assert lines[-1].startswith("note: 12 ranks on the 8 cores")
    assert "compute" in page.read_text()


@pytest.mark.parametrize("option", ["-o", "--trace"])
def test_a_deadlock_at_the_beginning_is_reported_although_there_is_nothing_to_draw(platform, tmp_path, capsys, option):
    (tmp_path / "t.trace").write_text("0 recv 1 0 8\n1 recv 0 0 8\n")
    path = tmp_path / ("page.html" if option == "-o" else "none.csv")
    words = ["simulate", platform, "replay", str(tmp_path / "t.trace"), option, str(path)]
    assert main(words) == 2
    result = capsys.readouterr().err.splitlines()
    assert result[0] == "commmodel: deadlock: 2 of 2 ranks never end, smpi"
    assert main([*words, "--force", "--json"]) == 2
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["blocked"]) == 2
    assert printed["output"] is None


def test_more_ranks_than_cores_are_told(platform, capsys):
    words = ["simulate", platform, "ring", "-n", "1MiB", "-p"]
    assert main([*words, "8"]) == 0
    assert "cores" not in capsys.readouterr().err
    assert main([*words, "16"]) == 0
    assert "note: 16 ranks on the 8 cores of" in capsys.readouterr().err
    assert "16 ranks on the 8 cores" in as_json(capsys, *words[1:], "16")["notes"][0]


def test_a_deadlock_is_in_the_json(platform, deadlock, capsys):
    printed = as_json(capsys, platform, "replay", deadlock, "--compare", "fluid", code=2)
    assert printed["seconds"] is None
    assert printed["compared"][0]["seconds"] is None
    assert len(printed["blocked"]) == 24
    assert printed["blocked"][0] | {"size": 0} == {
        "model": "smpi", "rank": 0, "call": "MPI_Recv", "awaits": "message", "peer": 1, "tag": 0, "size": 0, "site": "",
        "says": "rank 0 waits in MPI_Recv for a message from rank 1 with tag 0",
    }  # fmt: skip


# Wrong words

WRONG = [
    ("P", "", "required: WHAT"),
    ("P", "bcast ring -n 8", "unrecognized arguments: ring"),
    ("P", "bcast", "required: -n/--size"),
    ("P", "broadcast -n 8", "there is no 'broadcast': did you mean bcast? Choose one of barrier, bcast"),
    ("P", "run -- ./program", "no such program"),
    ("P", "bcast -n -8", "-n: '-8'"),
    ("P", "bcast --size=8K", "--size: '8K': unknown unit"),
    ("P", "barrier -n 8", "unrecognized arguments: -n 8"),
    ("P", "alltoall -n 8 --root 1", "unrecognized arguments: --root 1"),
    ("P", "bcast -n 8 --reduction 1ns/B", "unrecognized arguments: --reduction"),
    ("P", "bcast -n 8 --algorithm best", "best"),
    ("P", "bcast -n 8 --algorithm binomial --selector mpich", "leave one out"),
    ("P", "bcast -n 8 --segment-size 0", "--segment-size is 0"),
    ("P", "bcast -n 8 -p 0", "-p: '0'"),
    ("P", "bcast -n 8 --processes many", "--processes: 'many'"),
    ("P", "-p 4 bcast -n 8", "-p comes after WHAT: commmodel simulate WHERE WHAT -p ..."),
    ("P", "--json bcast -n 8", "--json comes after WHAT"),
    ("P", "bcast -n 8 --class B", "unrecognized arguments: --class B"),
    ("P", "ring -n 8 --dimensions 2", "unrecognized arguments: --dimensions 2"),
    ("P", "halo -n 8 --dimensions 4", "--dimensions: '4' is no whole number from 1 to 3"),
    ("P", "exchange none.csv", "none.csv"),
    ("P", "replay none.txt", "none.txt"),
    ("P", "goal none.goal", "none.goal"),
    ("P", "bcast -n 8 --model hybrid", "needs parameters of a machine: "),
    ("P", "bcast -n 8 --model loggps", "needs parameters of a machine: "),
    ("P", "bcast -n 8 --model loggops", "--model: there is no 'loggops'"),
    ("P", "bcast -n 8 --model slow", "--model: there is no 'slow'"),
    ("P", "bcast -n 8 --parameters smpi --model fluid", "leave one out"),
    ("P", "bcast -n 8 --parameters none.toml", "none.toml"),
    ("P", "bcast -n 8 --parameters L=1us,x=1us", "--parameters: 'x=1us' is no parameter of a delay model"),
    ("P", "bcast -n 8 --hosts 4", "--hosts"),
    ("P", "bcast -n 8 -p 4 -k 1 --mapping block", "--mapping and -k/--per-node exclude each other"),
    ("P", "bcast -n 8 -p 4 -k 0", "-k: '0' is no whole number from 1 up"),
    ("P", "bcast -n 8 -p 9 -k 1", "9 processes, 1 per node, are 9 nodes; platform 'eight' has 8"),
    ("P", "bcast -n 8 --mapping none", "--mapping is 'none': neither block nor round-robin"),
    ("P", "bcast -n 8 --compare smpi", "set beside itself"),
    ("P", "bcast -n 8 --compare fluid fluid", "twice"),
    ("P", "bcast -n 8 --compare this", "--compare this: choose hybrid"),
    ("P", "bcast -n 8 --compare none.csv", "none.csv: cannot be read"),
    ("P", "bcast -n 8 --trace t.txt", "--trace t.txt: the name must end in"),
    ("P", "bcast -n 8 -o no/folder/t.html", "cannot be written"),
    ("P", "bcast -n 8 --speed 1e9", "unrecognized arguments: --speed"),
    ("P", "lu --class S --speed 0", "--speed"),
    ("P", "bcast -n 8 --path any", "--path goes with a machine"),
    ("L=1us,x=1us", "bcast -n 8 -p 2", "'x=1us' is no parameter of a delay model"),
    ("L=1us,,o=1us", "bcast -n 8 -p 2", "'' is no parameter of a delay model"),
    ("L=1us,L=1us", "bcast -n 8 -p 2", "L is given twice"),
    ("L=1us,o=1us,O_s=0,O=0", "bcast -n 8 -p 2", "O is given twice"),
    ("G=1us", "bcast -n 8 -p 2", "L and o missing"),
    ("L=1us,o=1KiB", "bcast -n 8 -p 2", "parameter o: '1KiB': unknown unit 'KiB'"),
    ("L=1us,o=1us,S=1us", "bcast -n 8 -p 2", "parameter S: '1us': unknown unit"),
    ("L=1us,o=1us", "bcast -n 8 -p 2 --model smpi", "share links: name a platform"),
    ("L=1us,o=1us", "bcast -n 8 -p 2 --model hybrid", "needs parameters of a machine"),
    ("L=1us,o=1us", "bcast -n 8 -p 2 --path any", "--path goes with a machine"),
    ("L=1us,o=1us", "bcast -n 8 -p 2 --parameters smpi", "are parameters already"),
    ("L=1us,o=1us", "bcast -n 8", "give the number of ranks with -p"),
    ("M", "bcast -n 8 -p 4 --parameters L=1us,o=1us", "brings its own"),
    ("M", "bcast -n 8", "give the number of ranks with -p"),
    ("M", "bcast -n 8 -p 4 --parameters smpi", "needs a platform"),
    ("M", "bcast -n 8 -p 4 --parameters M", "brings its own"),
    ("M", "bcast -n 8 -p 4 --hosts 0", "--hosts"),
    ("blue-waters", "bcast -n 8 -p 4", "LogGP"),
    ("blue-waters", "bcast -n 8 -p 4 --model fluid", "no hybrid section"),
    ("nowhere", "bcast -n 8", "neither a file nor a published platform or machine"),
]


@pytest.mark.parametrize(("first", "words", "expected"), WRONG)
def test_wrong_words_get_one_line(platform, machine, capsys, first, words, expected):
    table = {"P": platform, "M": machine}
    assert expected in problem(capsys, *(table.get(word, word) for word in [first, *words.split()]))


def test_a_damaged_platform_gets_one_line(tmp_path, capsys):
    for name, content in (("p.toml", 'format = "commmodel-platform"\n'), ("p.toml", "a ="), ("p.xml", "<platform>")):
        (tmp_path / name).write_text(content)
        assert name in problem(capsys, str(tmp_path / name), *BCAST, "-p", "2")


def test_without_the_extra_for_reports_the_tables_are_there_and_a_page_names_it(
    platform, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for name in ("simulation.gantt_page", "kit.pages"):
        monkeypatch.delitem(sys.modules, f"commmodel.report.{name}", raising=False)
    assert main(["simulate", platform, *BCAST]) == 0
    tables = capsys.readouterr().out
    assert main(["simulate", platform, *BCAST, "-o", str(tmp_path / "t.html")]) == 3
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == len(tables.splitlines())
    assert "pip install 'commmodel[report]'; tables only" in output.err
    assert not (tmp_path / "t.html").exists()


def test_a_replay_that_relies_on_buffers_is_a_deadlock_without_them(tmp_path, capsys):
    """Both ranks send 1000 bytes before they receive."""
    trace = tmp_path / "trace.txt"
    trace.write_text("".join(f"{rank} send {1 - rank} 7 1000 6\n{rank} recv {1 - rank} 7 1000 6\n" for rank in (0, 1)))
    words = ["simulate", "graphene", "replay", str(trace), "-p", "2"]
    assert main(words) == 0
    for size in ("1kB", "infinite", "machine"):
        assert main([*words, "--buffering", size]) == 0
    capsys.readouterr()
    for size in ("0", "999", "zero"):
        assert main([*words, "--buffering", size]) == 2
        error = capsys.readouterr().err
        assert "deadlock: 2 of 2 ranks never end" in error
        assert "rank 0 waits in MPI_Send until rank 1 receives 1000 bytes with tag 7" in error


def test_the_files_of_a_place_are_read_once_however_many_runs_there_are_of_it(monkeypatch, capsys):
    names = []
    monkeypatch.setattr(machines, "load", lambda name: names.append(name) or load_machine(name))
    words = ["simulate", "graphene", "bcast", "-n", "8", "-p", "2", "--sensitivity", "--workers", "1"]
    assert main(words) == 0
    assert "as bad before it costs 1 %" in capsys.readouterr().out
    assert 1 <= len(names) <= 2  # one for the runs, one for how sure they are
