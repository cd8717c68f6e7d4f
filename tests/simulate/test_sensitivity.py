"""What costs do to a time: shares, tolerance and breakpoints against formulas, by delay models and on shared links."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel import simulate
from commmodel.cli import main
from commmodel.errors import DeadlockError, InputError
from commmodel.report.simulation.sensitivity import verdicts
from commmodel.simulate import OPERATION, Code, Program, goal
from commmodel.simulate import platform as platforms
from commmodel.simulate.sensitivity import CostCurve, CostSensitivity, CurvePoint, _pieces, _tolerated, sensitivity

DELAYS = "L=2500ns,o=1500ns,g=1us,G=6ns"


class Pieces:
    """Runs of a time that is the largest of some lines."""

    def __init__(self, lines):
        self.lines, self.count = lines, 0

    def at(self, factor):
        self.count += 1
        values = [(start + slope * factor, slope) for start, slope in self.lines]
        seconds = max(value for value, _ in values)
        return CurvePoint(factor, seconds, max(slope for value, slope in values if value >= seconds * (1 - 1e-13)))


lines = st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 1000)), min_size=1, max_size=8)


@given(lines)
def test_all_breakpoints_of_a_largest_of_lines_are_found(drawn):
    runs = Pieces(drawn)
    points, is_exact = _pieces(runs, runs.at(0.0), runs.at(8.0))
    assert is_exact
    places = np.linspace(0, 8, 1001)
    between = np.interp(places, [p.factor for p in points], [p.seconds for p in points])
    assert between == pytest.approx([runs.at(float(x)).seconds for x in places], rel=1e-7)
    slopes = {point.slope for point in points[:-1]}
    assert len(slopes) == len(points) - 1  # no point but where the slope changes


@given(lines, st.sampled_from([0.5, 1.0, 5.0, 40.0]))
def test_tolerance_is_where_the_time_is_so_much_longer(drawn, percent):
    runs = Pieces(drawn)
    now = runs.at(1.0)
    target = now.seconds * (1 + percent / 100)
    factor = _tolerated(runs, now, percent)
    if max(slope for _, slope in drawn) == 0:
        assert factor == math.inf
    else:
        assert runs.at(factor).seconds == pytest.approx(target, rel=1e-8)
    assert runs.count < 40


def ring(where, scale, slopes):
    return simulate.exchange("ring", 1001, 4, on=where, scale=scale, slopes=slopes)


def test_costs_of_a_ring_are_those_of_its_messages():
    costs = sensitivity(ring, DELAYS)
    latency, byte, overhead = 2.5e-6, 1000 * 6e-9, 3e-6
    seconds = latency + byte + overhead
    assert costs.seconds == pytest.approx(seconds)
    assert [curve.cost for curve in costs.curves] == ["bandwidth", "overhead", "latency"]
    assert costs["bandwidth"].share == pytest.approx(byte / seconds)
    assert costs["latency"].tolerance[5.0] == pytest.approx(1 + 0.05 * seconds / latency)
    assert costs["latency"].gain == pytest.approx(latency / seconds, rel=1e-6)
    assert costs.derivatives == pytest.approx({"compute": 0, "L": 1, "o": 2, "g": 0, "G": 1000})
    assert costs.as_json()["tolerance"]["1%"]["L"] == pytest.approx(latency + 0.01 * seconds)
    assert costs.uncertainty is None


def test_shared_links_have_slopes_by_a_walk_back():
    """Two messages share a link of 100 MB/s for all of their bytes: 2 n / B and the latency of the route."""

    def incast(where, scale, slopes):
        from commmodel.simulate.scenario import place, prepare
        from commmodel.simulate.scenario.workloads import Workload

        sends = [[(Code.SEND, 2 + i, 0, -1, 1e6)] for i in range(2)] + [[(Code.RECV, i, 0, -1, 1e6)] for i in range(2)]
        program = Program.from_ranks([np.array(rows, dtype=OPERATION) for rows in sends])
        work = Workload(4, "both", lambda *_: program, {})
        ready = prepare(place(where), work, "fluid", mapping=[0, 0, 1, 1], scale=scale)
        return ready.run(slopes=slopes)

    links = platforms.flat(2, bandwidth=100e6, latency=1e-3, cores=2)
    costs = sensitivity(incast, links)
    assert costs.seconds == pytest.approx(2e-3 + 0.02)
    assert costs["bandwidth"].share == pytest.approx(0.02 / 0.022, rel=1e-6)
    assert costs["latency"].share == pytest.approx(0.002 / 0.022, rel=1e-6)
    assert costs["bandwidth"].tolerance[1.0] == pytest.approx(1 + 0.00022 / 0.02)
    assert costs["bandwidth"].is_exact
    assert costs.derivatives == pytest.approx(
        {"latency": 0.002, "overhead": 0, "gap": 0, "bandwidth": 0.02, "compute": 0}
    )


@pytest.mark.parametrize("kind", ["halo", "irregular"])
def test_slopes_on_shared_links_are_differences_on_both_sides(kind):
    def question(where, scale, slopes=None):
        return simulate.exchange(kind, 40_000, 8, on=where, scale=scale, slopes=slopes)

    costs = sensitivity(question, "graphene", percents=(1.0,), pieces=False)
    for curve in costs.curves:
        step = 1e-4
        up, down = (
            question("graphene", simulate.scenario.Scale(**{curve.cost: curve.speed(1 + s)})).seconds
            for s in (step, -step)
        )
        assert (up - down) / (2 * step) == pytest.approx(curve.now.slope, rel=1e-5, abs=1e-7 * costs.seconds)


def test_workers_and_a_notebooks_function_give_the_same():
    alone, two = sensitivity(ring, DELAYS), sensitivity(lambda *a: ring(*a), DELAYS, workers=2)
    assert alone == two


def test_a_graphene_halo_is_sure_by_its_intervals_and_costs_are_asked_for_by_name():
    def halo(where, scale, slopes):
        return simulate.exchange("halo", 65536, 4, on=where, scale=scale, slopes=slopes)

    costs = sensitivity(halo, "graphene", costs=["latency"], pieces=False)
    assert [curve.cost for curve in costs.curves] == ["latency"]
    assert 0 < costs.uncertainty < 1
    with pytest.raises(InputError, match="'gap' costs nothing here: choose one of latency"):
        costs["gap"]


def curve_of(cost, share, gain, bounds=None, tolerance=None):
    now = CurvePoint(1.0, 1.0, share)
    return CostCurve(cost, now, tolerance or {}, 1.0 - gain, (), True, bounds=bounds)


def sentences(*curves, uncertainty=None):
    return verdicts(CostSensitivity("ring", "cluster", "loggp", 4, 1.0, curves, {}, uncertainty))


def test_what_intervals_leave_open_is_not_called_certain():
    exact = sentences(curve_of("latency", 0.6, 0.6), curve_of("overhead", 0.4, 0.4))
    assert exact == [
        "What takes most of the time is the latency of messages: 60 %.",
        "Most would be gained by a network without latency: 60 %.",
    ]
    wide = curve_of("latency", 0.6, 0.6, (0.0, 4.0), {1.0: 3.0})
    lines = sentences(wide, curve_of("overhead", 0.4, 0.4), uncertainty=2.17)
    assert lines == [
        "What takes most of the time is not certain: the latency of messages (0.0 % to 86 %) or overhead of messages "
        "(40 %). By the intervals of the machine's parameters, the time is uncertain by a factor of 3.2.",
        "Most may be gained by a network without latency: 60 %, uncertain between nothing and 86 %; messages that cost "
        "processors nothing may gain more.",
    ]  # and latency may be four times what it is already: it is not said to do no harm at three times
    assert "uncertain by 12 % either way" in sentences(curve_of("latency", 1.0, 1.0), uncertainty=0.12)[0]
    assert "sure" not in " ".join(lines)


def test_shares_of_a_cost_go_by_its_bounds():
    curve = curve_of("latency", 0.5, 0.5, (0.5, 3.0))
    assert curve.share_interval == (pytest.approx(1 / 3), 0.75)
    assert curve_of("latency", 0.0, 0.0, (0.5, 3.0)).gain_interval == (0.0, 0.0)
    assert curve_of("latency", 0.1, 0.1, (0.0, math.inf)).gain_interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("how", "problem"),
    [({"percents": (0,)}, "percents"), ({"costs": ["weather"]}, "weather"), ({"workers": 0}, "workers")],
)
def test_bad_arguments_are_named(how, problem):
    with pytest.raises(InputError, match=problem):
        sensitivity(ring, DELAYS, **how)


def test_a_deadlock_is_an_error():
    def stuck(where, scale, slopes):
        schedule = goal.parse("num_ranks 1\nrank 0 {\nl1: recv 1b from 0\n}\n")
        return simulate.delays.run_schedule(schedule, simulate.DelayParameters(1e-6, 1e-6), deadlock="return")

    with pytest.raises(DeadlockError):
        sensitivity(stuck, DELAYS)


def test_the_command_prints_a_table_json_and_a_page(capsys, tmp_path):
    page = tmp_path / "page.html"
    assert main(["simulate", DELAYS, "lu", "-p", "4", "--class", "S", "--iterations", "2", "--sensitivity"]) == 0
    assert "What takes most of the time is computation" in capsys.readouterr().out.replace("\n", " ")
    assert main(["simulate", DELAYS, "ring", "-p", "4", "-n", "1001", "--sensitivity", "--json", "-o", str(page)]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["derivatives"]["L"] == 1.0
    assert output["tolerance"]["5%"]["L"] == pytest.approx(2.5e-6 + 0.05 * output["seconds"])
    assert output["curves"]["latency"]["exact"]
    assert "Run time over latency" in page.read_text()


def test_what_takes_no_time_has_no_costs():
    def alone(where, scale, slopes):
        return simulate.collective("barrier", None, 1, on=where, scale=scale, slopes=slopes)

    costs = sensitivity(alone, DELAYS)
    assert (costs.seconds, costs.curves) == (0.0, ())


def test_a_schedule_has_a_sensitivity(capsys, tmp_path):
    path = tmp_path / "one.goal"
    sender = "rank 0 {\nl1: calc 1000\nl2: send 8b to 1\nl2 requires l1\n}\n"
    path.write_text(f"num_ranks 2\n{sender}rank 1 {{\nrecv 8b from 0\n}}\n")
    assert main(["simulate", DELAYS, "goal", str(path), "--sensitivity", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["derivatives"] == pytest.approx({"compute": 1e-6, "L": 1, "o": 2, "g": 0, "G": 7})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("graphene halo -n 8 -p 4 --scale latency=2", "leave out --scale"),
        ("graphene,switch halo -n 8 -p 4", "all but one WHERE"),
        ("graphene halo -n 8 -p 4,8", "several -p"),
        ("graphene halo -n 8 -p 4 --compare fluid", "--compare"),
        ("graphene run -p 2 -- python -c pass", "--compute 0 or a recording"),
    ],
)
def test_what_does_not_go_with_it_is_one_line(options, problem, capsys):
    where, *words = options.split()
    words = [*words[:1], "--sensitivity", *words[1:]]
    assert main(["simulate", where, *words]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


def test_links_and_hosts_that_decide_are_told_and_whether_one_alone_gains(capsys):
    """A link that all share decides alone; of two that are as full and as late, one alone is no gain."""
    words = ["-p", "2", "-n", "1MB", "--sensitivity", "--model", "smpi"]
    assert main(["simulate", "switch", "pairwise", *words, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    first = output["links"][0]
    assert first["name"].startswith("node-")
    assert first["worse"] == pytest.approx(first["bandwidth"], rel=1e-3)
    assert sum(link["bandwidth"] for link in output["links"]) == pytest.approx(output["derivatives"]["bandwidth"])
    assert main(["simulate", "switch", "pairwise", *words]) == 0
    assert "lower bandwidth" in capsys.readouterr().out


@pytest.mark.parametrize(("second", "is_exact"), [(0.5, True), (1.0, False)])
def test_a_link_alone_gains_where_no_other_is_as_late(second, is_exact):
    """Two messages of 1 MB on links of their own, of 100 MB/s or 50 MB/s; both end at the same time, or one later."""

    def messages(where, scale, slopes):
        from commmodel.simulate.scenario import place, prepare
        from commmodel.simulate.scenario.workloads import Workload

        rows = [[(Code.SEND, 2 + i, 0, -1, 1e6 / (1.0 if i else second))] for i in range(2)]
        rows += [[(Code.RECV, i, 0, -1, 2e6)] for i in range(2)]
        program = Program.from_ranks([np.array(row, dtype=OPERATION) for row in rows])
        work = Workload(4, "both", lambda *_: program, {})
        return prepare(place(where), work, "fluid", mapping=[0, 1, 2, 3], scale=scale).run(slopes=slopes)

    links = platforms.flat(4, bandwidth=200e6, latency=1e-3)
    narrow = np.where(np.arange(links.capacity.size) % 2 == 0, 0.5, 1.0)  # upwards
    costs = sensitivity(messages, replace(links, capacity=links.capacity * narrow, description=None), pieces=False)
    first = costs.links[0]
    assert first.worse == pytest.approx(0.01 / second, rel=1e-5)
    assert first.is_exact is is_exact
    assert first.better == pytest.approx(first.worse if is_exact else 0.0, rel=1e-5)
    assert costs.hosts == ()


def test_work_of_no_time_has_a_sentence_and_no_empty_table(capsys, tmp_path):
    (tmp_path / "zero.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 0\n}\n")
    assert main(["simulate", DELAYS, "goal", str(tmp_path / "zero.goal"), "--sensitivity"]) == 0
    output = capsys.readouterr().out
    assert "Nothing of it depends on" in output
    assert "slower at" not in output
