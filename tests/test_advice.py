"""What to pay for: options are simulations with one thing better, on one page, in one table, as JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from commmodel.advice import advise
from commmodel.cli import main
from commmodel.report.simulation.advice import advice_lines
from commmodel.simulate import OPERATION, Code, Program
from commmodel.simulate.critical_path import with_steps
from commmodel.simulate.platform import flat
from commmodel.simulate.scenario import Scale, expansion, place, prepare, workloads
from commmodel.simulate.scenario.expansion import expanded_once

RECORDING = str(Path(__file__).parents[1] / "docs" / "examples" / "recording")


def test_options_are_simulations_and_the_best_is_first():
    graphene = place("graphene")
    halo = workloads.exchange(graphene, "halo", 65536, 16, rounds=2)
    advice = advise(halo, on=graphene)
    seconds = {option.words: option.seconds for option in advice.options}
    assert seconds["twice the bandwidth"] == prepare(graphene, halo, scale=Scale(bandwidth=2.0)).run().seconds
    assert [option.seconds for option in advice.options] == sorted(seconds.values())
    assert advice.path.seconds == pytest.approx(advice.seconds, rel=1e-12)
    assert advice.mapping.best.seconds <= advice.seconds
    assert advice.to_dict()["gain"][0] == max(advice.to_dict()["gain"])


def test_a_placement_comes_first_where_blocks_are_bad():
    """Ranks that are far apart by number send each other all bytes: blocks put each pair on two nodes."""

    def program(*_):
        rows = [
            [(Code.ISEND, (rank + 4) % 8, 0, -1, 1e6), (Code.IRECV, (rank + 4) % 8, 0, -1, 1e6),
             (Code.WAITALL, 0, 0, -1, 0)] for rank in range(8)
        ]  # fmt: skip
        return Program.from_ranks([np.array(operations, dtype=OPERATION) for operations in rows])

    nodes = flat(4, 1.25e9, 1e-6, cores=2, loopback=(1e11, 1e-7))
    advice = advise(workloads.Workload(8, "far pairs", program, {}), on=place(nodes))
    assert advice.options[0].kind == "placement"
    assert advice.options[0].seconds < advice.seconds / 10


def test_a_link_that_decides_is_named():
    """All send to one: only its own link matters."""
    switch = flat(5, 1.25e9, 1e-6)

    def program(*_):
        receives = [(Code.IRECV, rank, 0, -1, 1e7) for rank in range(1, 5)]
        rows = [[*receives, (Code.WAITALL, 0, 0, -1, 0)], *([(Code.SEND, 0, 0, -1, 1e7)] for _ in range(4))]
        return Program.from_ranks([np.array(operations, dtype=OPERATION) for operations in rows])

    advice = advise(workloads.Workload(5, "incast", program, {}), on=place(switch))
    seconds = {option.words: option.seconds for option in advice.options}
    assert seconds["twice the bandwidth of node-0 down"] < 0.6 * advice.seconds
    assert seconds["twice the bandwidth of node-1 up"] == pytest.approx(advice.seconds, rel=0.01)


def test_a_placement_is_not_held_against_a_run_of_other_speed_or_more_ranks_than_cores():
    graphene = place("graphene")
    lu = workloads.application(graphene, "lu", "S", 16, iterations=1)
    crowd = workloads.exchange(graphene, "ring", 8, 600)
    for advice in (advise(lu, on=graphene, percents=(), speed=1e6), advise(crowd, on=graphene, percents=())):
        assert advice.mapping is None
        assert any("other placements are not tried" in note for note in advice.notes)


def test_what_intervals_leave_open_is_not_advised_for_certain():
    """Graphene's overheads of small messages were measured to within a factor of three."""
    graphene = place("graphene")
    advice = advise(workloads.exchange(graphene, "halo", 8, 16), on=graphene, percents=())
    first = advice.options[0]
    low, high = first.gain_interval(advice.seconds)
    assert low < 0.005 < first.gain(advice.seconds) < high
    lines = " ".join(advice_lines(advice))
    assert f"Most may be gained with {first.words}" in lines
    assert "(nothing to" in lines
    assert "uncertain by a factor of 3" in lines
    assert not any(word in lines for word in ("sure", "Pay for"))


def test_programs_that_are_expanded_once_are_the_same_programs():
    graphene = place("graphene")
    cg = workloads.application(graphene, "cg", "S", 16, iterations=2)
    with expanded_once(cg) as work:
        for scale in (Scale(), Scale(latency=3.0), Scale(compute=2.0), Scale(compute=7.0), Scale(compute=0.1)):
            for change in (None, with_steps):
                plain, again = (prepare(graphene, workload, scale=scale).run(change=change) for workload in (cg, work))
                np.testing.assert_allclose(again.ends, plain.ends, rtol=1e-12)
                assert (again.messages, again.marks.size) == (plain.messages, plain.marks.size)
                assert scale.compute != 1 or again.seconds == plain.seconds
        result = prepare(graphene, work, mapping="round-robin").run()
    assert result.seconds == prepare(graphene, cg, mapping="round-robin").run().seconds
    assert not expansion._STORES


def test_programs_too_large_for_memory_are_expanded_each_time(monkeypatch):
    monkeypatch.setattr(expansion, "_MOST", 100)
    graphene = place("graphene")
    cg = workloads.application(graphene, "cg", "S", 4, iterations=1)
    with expanded_once(cg) as work:
        assert prepare(graphene, work).run().seconds == prepare(graphene, cg).run().seconds


def test_workers_give_the_same_advice():
    graphene = place("graphene")
    halo = workloads.exchange(graphene, "halo", 65536, 16)
    alone, two = (advise(halo, on=graphene, percents=(1.0,), workers=workers) for workers in (1, 2))
    assert alone.options == two.options
    assert alone.sensitivity == two.sensitivity


def test_without_links_there_is_no_placement_and_no_link():
    delays = place("L=4us,o=1us,G=1ns")
    advice = advise(workloads.exchange(delays, "ring", 1000, 4), on=delays)
    assert (advice.mapping, advice.links) == (None, ())
    assert advice.options[0].words == "half the latency"


def test_the_command_prints_a_table_json_and_a_page(capsys, tmp_path):
    page = tmp_path / "page.html"
    assert main(["simulate", "graphene", "replay", RECORDING, "--advice", "-o", str(page)]) == 0
    output = capsys.readouterr().out
    assert "Work on your own program first: app.py:4, MPI_Comm_dup, where up to 89 %" in output.replace("\n", " ")
    assert "Of the machine: cores twice as fast 50 %." in output
    text = page.read_text()
    for words in ("What to pay for", "slower at", "What to shorten first", "Where its ranks are"):
        assert words in text
    assert main(["simulate", "graphene", "replay", RECORDING, "--advice", "--json", "--workers", "1"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["options"][0]["kind"] == "program"
    assert output["critical_path"]["gains"][0]["site"] == "app.py:4, MPI_Comm_dup"
    assert output["placement"]["best"]
    assert "1%" in output["tolerance"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("halo -n 8 -p 4 --sensitivity", "leave out --sensitivity"),
        ("halo -n 8 -p 4,8", "several -p"),
        ("halo -n 8 -p 4 --noise pyproject.toml", "--advice is of runs without noise"),
        ("run -p 2 --compute 0 --record x -- python -c pass", "leave out --record"),
        ("halo -n 8 -p 4 -o tests", "it is a folder: name a file"),
        ("halo -n 8 -p 4 --workers mpi", "--workers mpi"),
        ("halo -n 8 -p 4 --workers 2 --scale latency=2", "leave out --scale"),
        ("run -p 2 -- python -c pass", "--compute 0 or a recording"),
    ],
)
def test_what_does_not_go_with_it_is_one_line(options, problem, capsys):
    first, *words = options.split()
    assert main(["simulate", "graphene", first, "--advice", *words]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
