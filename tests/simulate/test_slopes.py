"""Derivatives that the delay models carry along: finite differences, and at ties what comes when costs grow."""

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from commmodel import simulate
from commmodel.simulate import OPERATION, Code, DelayModel, DelayParameters, Program, goal, run
from commmodel.simulate.delays import run_schedule

STEP = 1e-6
PARAMETERS = ("L", "o", "g", "G", "O_s", "O_r", "G_small")
UNITS = dict(zip(PARAMETERS, np.sqrt([2, 3, 5, 7, 11, 13, 17]).tolist(), strict=True))  # no two costs are alike


@st.composite
def programs(draw):
    """Return ranks that compute, and exchange messages with others at once, in rounds; the work of each, the hosts."""
    ranks = draw(st.integers(2, 5))
    work = [[] for _ in range(ranks)]
    for number in range(draw(st.integers(1, 4))):
        for rank in range(ranks):
            work[rank].append((Code.COMPUTE, 0, 0, -1, draw(st.integers(0, 100)) * 1.13e-6))
        for sender, receiver in draw(st.lists(st.permutations(range(ranks)).map(lambda order: order[:2]), max_size=6)):
            size = draw(st.integers(0, 5000))
            work[sender].append((Code.ISEND, receiver, number, -1, size))
            work[receiver].append((Code.IRECV, sender, number, -1, 5000))
        for rank in range(ranks):
            work[rank].append((Code.WAITALL, 0, 0, -1, 0))
    return work, draw(st.lists(st.integers(0, 1), min_size=ranks, max_size=ranks))


def program(work, compute=1.0):
    rows = [
        [(code, peer, tag, request, value * compute if code == Code.COMPUTE else value)
         for code, peer, tag, request, value in operations]
        for operations in work
    ]  # fmt: skip
    return Program.from_ranks([np.array(operations, dtype=OPERATION) for operations in rows])


@st.composite
def models(draw):
    def drawn():
        values = {name: draw(st.integers(1, 1000)) * 1e-8 * unit for name, unit in UNITS.items()}
        return {name: value / (1 if name in ("L", "o", "g") else 1000) for name, value in values.items()}

    values = drawn()
    small, limit = draw(st.sampled_from([0, 100, 3000])), draw(st.sampled_from([float("inf"), 2000]))
    name = draw(st.sampled_from(["logp", "loggp", "loggps"]))
    within = ()
    if draw(st.booleans()):
        within = ((float("inf"), DelayParameters(**{name: 0.57 * value for name, value in drawn().items()})),)
    return DelayModel(DelayParameters(**values, S=limit, small=small), name, (), within)


def changed(model, name, step, within):
    """Return a model in which a parameter is larger, that between hosts or that within one."""

    def larger(parameters):
        return msgspec.structs.replace(parameters, **{name: getattr(parameters, name) + step})

    lines = tuple((upto, larger(p) if within else p) for upto, p in model.within)
    return DelayModel(model.parameters if within else larger(model.parameters), model.name, (), lines)


@given(programs(), models())
def test_derivatives_of_programs_are_finite_differences(drawn_program, model):
    work, hosts = drawn_program
    base = run(program(work), model, hosts=hosts, slopes="parameters")
    assert base.ends.tolist() == run(program(work), model, hosts=hosts).ends.tolist()
    for name in base.slope_names:
        parameter, within = name.removesuffix(" within"), name.endswith(" within")
        lines = model.within[0][1] if within else model.parameters
        step = STEP * (1.0 if parameter == "compute" else getattr(lines, parameter) or 1e-9)

        def later(step, parameter=parameter, within=within):
            if parameter == "compute":
                other = run(program(work, 1 + step), model, hosts=hosts)
            else:
                other = run(program(work), changed(model, parameter, step, within), hosts=hosts)
            return other.seconds - base.seconds

        whole, half = later(step), later(step / 2)
        rounding = 1e-13 * base.seconds
        assume(abs(whole - 2 * half) <= 1e-7 * abs(whole) + rounding)  # else the order of messages changes just here
        assert base.derivatives[name] == pytest.approx(whole / step, rel=1e-6, abs=rounding / step), name


@given(programs(), models())
def test_derivatives_by_factors_are_those_by_parameters_times_their_values(drawn_program, model):
    work, hosts = drawn_program
    by_value = run(program(work), model, hosts=hosts, slopes="parameters").derivatives
    by_factor = run(program(work), model, hosts=hosts, slopes="factors").derivatives
    for name, slope in by_value.items():
        parameters = model.within[0][1] if name.endswith(" within") else model.parameters
        value = 1.0 if name == "compute" else getattr(parameters, name.removesuffix(" within"))
        assert by_factor[name] == pytest.approx(slope * value, rel=1e-9, abs=1e-18)


@st.composite
def schedules(draw):
    """Return a GOAL schedule in which ranks send on and calculate, in an order that has no circles."""
    ranks = draw(st.integers(2, 4))
    lines = [[] for _ in range(ranks)]
    for tag in range(draw(st.integers(1, 8))):
        sender, receiver = draw(st.permutations(range(ranks)))[:2]
        for rank, call in ((sender, f"send {draw(st.integers(1, 9000))}b to {receiver} tag {tag}"),
                           (receiver, f"recv 1b from {sender} tag {tag}")):  # fmt: skip
            lines[rank] += [f"calc {draw(st.integers(0, 50000))}", call]
    text = f"num_ranks {ranks}\n"
    for rank, calls in enumerate(lines):
        text += f"rank {rank} {{\n" + "".join(f"l{i}: {call}\n" for i, call in enumerate(calls, 1))
        text += "".join(f"l{i + 1} requires l{i}\n" for i in range(1, len(calls)) if draw(st.booleans())) + "}\n"
    return text


def test_derivatives_of_schedules_are_finite_differences():
    """All but a few: where a time is no straight line between a bit more and a bit less, the order changes there."""
    cases = Counter()

    @given(schedules(), st.sampled_from(["classic", "newer"]), st.sampled_from([4096, float("inf")]))
    def holds(text, rules, limit):
        schedule = goal.parse(text)
        values = DelayParameters(L=2517e-9, o=1493e-9, g=1031e-9, G=6.1e-9, O_s=0.37e-9, O_r=0.53e-9, S=limit)
        unit = 1.0  # so that no value is taken for an integer

        def seconds(parameters):
            ticks = {name: 1e9 * getattr(parameters, name) for name in PARAMETERS}
            scaled = DelayParameters(**ticks, S=limit)
            return run_schedule(schedule, scaled, rules=rules, unit=unit, deadlock="return", slopes="parameters")

        base = seconds(values)
        cases["blocked" if base.blocked else "run"] += 1
        for name in () if base.blocked else ("L", "o", "g", "G", "O_s", "O_r"):
            step = 1e-5 * getattr(values, name)
            up, down = (
                seconds(msgspec.structs.replace(values, **{name: getattr(values, name) + change}))
                for change in (step, -step)
            )
            rounding = 4 * np.spacing(base.seconds)
            if abs(up.seconds - 2 * base.seconds + down.seconds) > 1e-6 * abs(up.seconds - down.seconds) + rounding:
                cases["bent"] += 1
                continue
            cases["straight"] += 1
            slope = (up.seconds - base.seconds) / (1e9 * step)
            assert base.derivatives[name] == pytest.approx(slope, rel=1e-6, abs=1e-6 + rounding / (1e9 * step))

    holds()
    assert cases["blocked"] <= 0.05 * cases["run"]
    assert cases["bent"] <= 0.05 * cases["straight"]


def test_where_two_chains_are_as_long_the_one_that_grows_counts():
    """A rank waits for a message that arrives just when its own computation ends."""
    sender = np.array([(Code.SEND, 1, 0, -1, 1)], dtype=OPERATION)
    receiver = np.array([(Code.COMPUTE, 0, 0, -1, 5.0), (Code.RECV, 0, 0, -1, 1)], dtype=OPERATION)
    model = DelayModel(DelayParameters(L=4.0, o=1.0), "loggp")
    result = run(Program.from_ranks([sender, receiver]), model, slopes="parameters")
    derivatives = result.derivatives
    assert result.seconds == 6.0
    assert (derivatives["compute"], derivatives["L"], derivatives["o"]) == (5.0, 1.0, 2.0)


def test_a_run_without_slopes_has_none_and_that_of_a_network_those_of_its_end():
    plain = simulate.exchange("ring", 1000, 4, on="L=4us,o=1us")
    assert (plain.slopes.size, plain.derivatives) == (0, {})
    shared = simulate.exchange("ring", 1000, 4, on="switch", slopes="parameters")
    assert shared.slopes.size == 0
    assert sum(shared.derivatives.values()) == pytest.approx(shared.seconds)


def test_seconds_of_a_schedule_in_other_units_have_the_same_derivatives():
    schedule = goal.parse("num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 8b to 1\nl2 requires l1\n}\n"
                          "rank 1 {\nrecv 8b from 0\n}\n")  # fmt: skip
    parameters = DelayParameters(L=2500e-9, o=1500e-9, g=1000e-9, G=6e-9)
    result = run_schedule(schedule, parameters, slopes="parameters")
    assert result.derivatives == pytest.approx({"compute": 1e-6, "L": 1, "o": 2, "g": 0, "G": 7})
    by_factor = run_schedule(schedule, parameters, slopes="factors").derivatives
    assert by_factor["L"] == pytest.approx(2500e-9)
    assert by_factor["compute"] == pytest.approx(1e-6)
