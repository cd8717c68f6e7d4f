"""Advice on overlap: promises that one processor can keep, and no cutting where the gain is not above its error."""

import json
import math

import msgspec
import numpy as np
import pytest
from benchmarks.validation.overlap_losses import all_simulated, problems, simulated
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choosing import choose, sensitivity, surface
from support.overlap_samples import measurements, overlap_record
from support.report_samples import record

from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.fit.overlap_parameters import fit_overlap
from commmodel.machine import BandwidthProfile, Machine, OverlapProfile, Parameter, ParameterTable, Segment
from commmodel.models import overlap
from commmodel.optimize import search
from commmodel.optimize.progress import progress_sentence
from commmodel.optimize.smoothing import steady_costs, steady_shares
from commmodel.optimize.validation import validate
from commmodel.report.overlap.validation import verdicts
from commmodel.results.configurations import Progress

MIB = 1 << 20
NETWORK = {"overhead": 2e-6, "latency": 10e-6, "byte_time": 1 / 900e6}
MANY_OVERHEADS = {"overhead": 1e-6, "latency": 17e-6, "byte_time": 0.095e-9, "queue_depth": 64}
TIME = st.floats(1e-7, 1e-4)


def test_32_overheads_are_not_promised_in_18_microseconds():
    paper, bounded = (choose(4096, 174e-9, **MANY_OVERHEADS, model=model) for model in ("paper", "bounded"))
    assert paper.seconds < paper.messages * 1e-6
    assert (bounded.message_size, bounded.messages, bounded.advice) == (4096, 1, "do not split")
    assert bounded.seconds == pytest.approx(1e-6 + 17e-6 + 4096 * 0.095e-9 + 174e-9)


@given(
    st.integers(0, 22).map(lambda step: 2**step), st.floats(0, 10), TIME, TIME, st.floats(1e-11, 1e-8),
    st.sampled_from(["pipelined", "tight"]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_no_promise_is_below_what_one_processor_needs(volume, ratio, o, L, G, implementation):
    t_V = ratio * G * volume
    chosen = choose(volume, t_V, overhead=o, latency=L, byte_time=G, implementation=implementation)
    need = overlap.processor_least_time(volume, volume / chosen.messages, t_V, o, L, G)
    assert chosen.seconds >= need * (1 - 1e-9)
    assert chosen.low <= chosen.seconds <= chosen.high
    assert (chosen.advice == "split") == (chosen.messages > 1)


@given(
    st.integers(0, 8), st.integers(0, 4), st.floats(0, 1e-2), TIME, TIME, st.floats(1e-11, 1e-8), st.booleans()
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_what_bounds_the_times_bounds_simulated_exchanges_too(bursts, length, t_V, o, L, G, tight):
    burst, messages = 2**length, 2**length * 2**bursts
    seconds = simulated(tight, messages, burst, 512.0, t_V, o, L, G)
    assert seconds >= overlap.processor_least_time(messages * 512.0, 512.0, t_V, o, L, G) * (1 - 1e-9)
    turns = overlap.turns_least_time(messages * 512.0, 512.0, burst, t_V, o, L, G, 1.0 if tight else 2.0)
    assert seconds >= turns * (1 - 1e-9)


def test_simulated_exchanges_lose_little_of_the_bounded_choices_and_much_of_the_papers():
    losses = {"paper": [], "bounded": []}
    for problem in problems(60, seed=7):
        times = all_simulated(problem, "pipelined")
        for model, loss in losses.items():
            choice = choose(**problem, model=model)
            loss.append(times[choice.message_size, choice.burst] / min(times.values()) - 1)
    assert np.quantile(losses["bounded"], 0.9) < 0.02 < 0.2 < np.quantile(losses["paper"], 0.9)


def profiled(progress, byte_times, overhead=1e-6, L=2e-6):
    sizes = tuple(1024.0 * 2**step for step in range(len(progress)))

    def column(values):
        return ParameterTable(sizes, (1.0,), tuple((value,) for value in values))

    profile = OverlapProfile(
        "same-node", L=Parameter(L), overhead=column([overhead] * len(sizes)), progress=column(progress)
    )
    bandwidth = BandwidthProfile(
        "nearest-neighbour", "both-ways", ParameterTable(sizes, (2.0,), column(byte_times).values)
    )
    return Machine("m", (Segment("all", "same-node"),), overlap=(profile,), bandwidth=(bandwidth,))


@given(st.lists(st.floats(1e-11, 1e-9), min_size=11, max_size=11), st.floats(0, 5), TIME, TIME)
@settings(max_examples=40, deadline=None)
def test_nothing_is_cut_where_nothing_moves_by_itself_whatever_the_bandwidths_say(byte_times, ratio, o, L):
    machine = profiled([0.0] * 11, byte_times, o, L)
    chosen = choose(MIB, ratio * 1e-4, machine)
    assert (chosen.advice, chosen.message_size, chosen.burst, chosen.rejected) == ("do not split", MIB, 1, None)
    assert chosen.hidden_fraction == pytest.approx(0.0, abs=1e-9)


def test_a_slow_cell_of_the_bandwidth_and_a_share_that_stands_alone_do_not_decide():
    """1 MiB in a slow mode and 59 % of progress at one size, as on a machine beside other work."""
    shares = [0.2, 0.17, 0.0, 0.18, 0.11, 0.11, 0.06, 0.59, 0.0, 0.05, 0.0]
    machine = profiled(shares, [1e-10] * 8 + [4e-10] + [1e-10] * 2)
    for computation in (5e-5, 2e-4, 5e-3):
        bounded = choose(MIB, computation, machine)
        assert bounded.advice == "do not split"
        assert bounded.gain_seconds <= bounded.error_seconds
        assert bounded.progress <= 0.2


def test_where_messages_move_by_themselves_they_are_cut_on_a_measured_machine_too():
    chosen = choose(MIB, 1e-3, profiled([1.0, 0.97, 0.99, 0.98, 0.95, 1.0, 0.96, 0.99, 1.0, 1.0, 0.98], [1e-9] * 11))
    assert chosen.advice == "split"
    assert chosen.messages > 1
    assert chosen.gain_seconds > chosen.error_seconds > 0
    assert chosen.low < chosen.seconds < chosen.high
    assert chosen.hidden_fraction > 0.8


def test_what_is_not_cut_names_both_figures(capsys):
    assert main(["optimize", "--volume", "1MiB", "--computation", "20us", "--overhead", "1us", "--latency", "1us",
                 "--byte-time", "1ns/B"]) == 0  # fmt: skip
    result = " ".join(capsys.readouterr().out.split())
    chosen = choose(MIB, 20e-6, overhead=1e-6, latency=1e-6, byte_time=1e-9)
    assert chosen.rejected is not None
    assert 0 < chosen.gain_seconds <= chosen.error_seconds
    assert "Do not split it: in blocking messages it takes 1.07 ms." in result
    assert "which is not above the gain's error, 21.4 us (2.0 %)." in result
    assert "instead of" not in result


@pytest.mark.parametrize(("share", "words"), [(0.05, "Hardly anything moves outside MPI calls: at most 5.0 %"),
                                              (0.3, "Little moves outside MPI calls: at most 30 %")])  # fmt: skip
def test_that_nothing_goes_on_by_itself_is_said_first(share, words, capsys):
    numbers = ["--overhead", "1us", "--latency", "1us", "--byte-time", "1ns/B", "--progress", f"{share}"]
    assert main(["optimize", "--volume", "1MiB", "--computation", "1ms", *numbers]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "outside MPI" in line or "split" in line]
    assert lines[0].startswith(words)


def test_the_whole_stays_out_where_it_is_not_offered():
    """A program that computes on rows asks for the best of them, and hears that none is worth it."""
    numbers = NETWORK | {"progress": 0.0}
    assert choose(MIB, 1e-3, **numbers).messages == 1
    rows = choose(MIB, 1e-3, **numbers, sizes=(4096, 8192))
    assert (rows.message_size, rows.advice, rows.rejected) == (8192, "do not split", None)
    assert choose(MIB, 1e-3, **numbers, bursts=(4, 8)).burst in {4, 8}


def test_the_sensitivity_is_that_of_the_advice():
    result = sensitivity(MIB, 5e-4, **NETWORK)
    for factor, direction in ((result.overestimate, -1), (result.underestimate, 1)):
        if factor < math.inf:
            near, beyond = (choose(MIB, 5e-4 * (factor * step) ** direction, **NETWORK) for step in (0.999, 1.001))
            assert (near.message_size, near.burst) != (beyond.message_size, beyond.burst)


def test_a_uniform_machine_is_read_as_it_is():
    for values in ((8.0, 4.0, 2.0, 1.0, 0.5), (1.0, 1.0, 3.0, 3.0, 3.0)):
        table = ParameterTable((1, 2, 4, 8, 16), (1,), tuple((steady_cost,) for steady_cost in values))
        assert [steady_cost.ravel().tolist() for steady_cost in steady_costs(table)] == [list(values)] * 3
    step = ParameterTable((1, 2, 4, 8, 16, 32), (1,), ((1.0,), (1.0,), (1.0,), (0.0,), (0.0,), (0.0,)))
    assert steady_shares(step).value.ravel().tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_an_exchange_that_was_disturbed_when_it_was_timed_alone_says_nothing_of_progress():
    """8 ms for 64 B where 1 KiB take 10 us: a rank waited for a processor, and 99 % would seem hidden."""
    rows = [(8, 10e-6, 19e-6), (64, 8e-3, 8.08e-3), (1024, 10e-6, 20e-6), (4096, 7.9e-3, 8e-3), (65536, 80e-6, 0.16e-3)]
    records = [
        msgspec.structs.replace(record(Progress(size, 1, "same-node"), seconds), delay=alone)
        for size, alone, seconds in rows
    ]
    (profile,) = fit_overlap(measurements(*records))
    assert profile.progress.sizes == (8, 1024, 65536)
    assert max(share for row in profile.progress.values for share in row) == pytest.approx(0.1, abs=0.02)
    assert "do not move" in progress_sentence(profile) or "at most 10 %" in progress_sentence(profile)


def test_in_records_of_an_unsteady_machine_the_best_is_called_the_luckiest():
    where = [(MIB, 1), (MIB // 2, 1), (MIB // 4, 2), (MIB // 8, 4)]
    records = [overlap_record(MIB, MIB, 1, "blocking", 3e-4, 1e-4)]
    records += [
        overlap_record(MIB, *entry, "pipelined", 3e-4, (1 + place % 2) * 1e-4) for place, entry in enumerate(where)
    ]
    machine = profiled([0.0] * 11, [1e-10] * 11)
    result = validate(measurements(*records), machine)
    (case,) = result.cases
    assert case.sweep.disturbed
    assert (case.advice, case.chosen, case.against_blocking) == ("do not split", case.sweep.blocking, 0.0)
    assert result.summaries[0].not_split == 1
    assert any("luckiest" in line for line in verdicts(result))


def test_choices_are_plain_numbers_even_where_the_search_is_not_compiled(monkeypatch):
    monkeypatch.setattr(search, "search", search.search.python)
    plain = json.loads(msgspec.json.encode(choose(np.int64(MIB), np.float64(5e-4), **NETWORK)))
    monkeypatch.undo()
    assert plain == json.loads(msgspec.json.encode(choose(MIB, 5e-4, **NETWORK)))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"overhead": "2"}, "overhead is '2': give a number"),
        ({"latency": [1e-6]}, r"latency is \[1e-06\]: give a number"),
        ({"byte_time": math.nan}, "byte_time is nan: give a number"),
        ({"queue_depth": 2.5}, "queue_depth is 2.5: give a whole number"),
        ({"outstanding_volume": 100.5}, "outstanding_volume is 100.5: give a whole number"),
        ({"machine": "machine.toml"}, r"machine is 'machine.toml': give a Machine"),
        ({"model": "exact"}, "choose one of bounded, paper"),
    ],
)
def test_what_is_no_number_of_the_kind_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        choose(**{"volume": MIB, "computation": 1e-3} | NETWORK | more)


@pytest.mark.parametrize("axes", [([1.5], [8], [1]), ([8], [1.5], [1]), ([8], [8], [1.5]), ([8], ["8"], [1])])
def test_a_surface_takes_whole_bytes_and_messages(axes):
    with pytest.raises(InputError, match=r"whole numbers|give numbers"):
        surface(*axes, [1e-3], **NETWORK)
