"""Measured noise in programs: where it comes from, that it is the same whatever the order, what becomes of it."""

import json
import math
import os

import numpy as np
import pytest
from support.paths import ROOT, SHARED
from support.report_samples import measurements, records

from commmodel import results
from commmodel.cli import main
from commmodel.collectives import Problem
from commmodel.errors import DamagedFileError, DeadlockError, InputError
from commmodel.results import configurations
from commmodel.simulate import OPERATION, Code, Program, fluid, run
from commmodel.simulate.noise import Noise, NoiseTable, load, noise_spread, noisy
from commmodel.simulate.platform import flat
from commmodel.simulate.scenario import Workload, place, workloads
from commmodel.simulate.work import collective, halo, repeat, sequence

MEAN = 1e-3
EXPONENTIAL = np.random.default_rng(7).exponential(MEAN, 20_000)
BY_COMPUTING = Noise("exponential", NoiseTable(np.array([1.0]), (EXPONENTIAL,)), None)
"""A computation of one second has noise of a millisecond on average."""
SWITCH = place(flat(64, 125e9, 0.0))


def computing(*seconds, code=Code.COMPUTE):
    operations = np.zeros((len(seconds), 1), OPERATION)
    operations["code"], operations["value"][:, 0] = code, seconds
    return Program.from_ranks([*operations])


def workload_of(program):
    return Workload(program.processes, "program", lambda *_: program, {})


def all_operations(program, order):
    parts = {rank: [] for rank in order}
    left = [*order]
    while left:
        for rank in [*left]:
            operations = program.refill(rank)
            parts[rank].append(operations)
            if not operations.size:
                left.remove(rank)
    return {rank: np.concatenate(parts[rank]) for rank in sorted(parts)}


def test_a_barrier_waits_for_the_largest_of_independent_noise():
    """The largest of P exponential numbers is 1 + 1/2 + ... + 1/P times their mean."""
    processes, rounds = 32, 50
    barrier = collective("barrier", Problem(processes), algorithm="dissemination")
    step = sequence([computing(*[1.0] * processes), barrier])
    study = noise_spread(workload_of(repeat(step, rounds)), BY_COMPUTING, 40, on=SWITCH)
    harmonic = sum(1 / number for number in range(1, processes + 1))
    delays = (study.seconds - study.quiet) / rounds
    assert delays.mean() == pytest.approx(harmonic * MEAN, rel=0.03)
    assert study.rank_noise.mean() == pytest.approx(rounds * MEAN, rel=0.01)
    assert study.amplification == pytest.approx(harmonic, rel=0.05)
    assert study.verdict == "amplifies"


def test_noise_of_a_single_rank_is_passed_on():
    study = noise_spread(workload_of(repeat(computing(1.0), 50)), BY_COMPUTING, 10, on=SWITCH)
    np.testing.assert_allclose(study.seconds - study.quiet, study.rank_noise, rtol=1e-9)
    assert study.verdict == "passes on"


def test_ranks_that_wait_anyway_absorb_noise():
    sleeping = computing(100.0, *[0.0] * 7, code=Code.SLEEP)
    work = sequence([sleeping, computing(0.0, *[1.0] * 7), collective("barrier", Problem(8))])
    study = noise_spread(workload_of(work), BY_COMPUTING, 5, on=SWITCH)
    assert study.seconds.tolist() == [study.quiet] * 5
    assert (study.rank_noise > 0).all()
    assert study.verdict == "absorbs"


@pytest.mark.parametrize("seconds", [0.01, 0.5, 1.0, 7.3, 1000.0])
def test_the_noise_of_a_computation_goes_by_its_length(seconds):
    program = repeat(computing(seconds), 4000 if seconds < 100 else 40)
    loud = all_operations(noisy(program, BY_COMPUTING, 3), [0])[0]
    excess = loud["value"] - seconds
    expected = seconds * MEAN
    error = 5 * math.sqrt(2 * seconds * MEAN**2 / excess.size) + 1e-3 * expected
    assert excess.mean() == pytest.approx(expected, abs=error)
    assert (excess >= 0).all()


def test_noise_is_that_of_seed_and_rank_whatever_the_order(monkeypatch):
    monkeypatch.setattr("commmodel.simulate.work.sequences.BLOCK", 200)
    late = NoiseTable(np.array([8.0, 1e6]), (EXPONENTIAL, 10 * EXPONENTIAL))
    noise = Noise("both", BY_COMPUTING.computation, late)
    program = repeat(sequence([computing(*[0.3] * 8), halo(1000, 8)]), 20)
    assert program.refill is not None
    first = all_operations(noisy(program, noise, 1), range(8))
    second = all_operations(noisy(program, noise, 1), range(7, -1, -1))
    other = all_operations(noisy(program, noise, 2), range(8))
    for rank in range(8):
        assert np.array_equal(first[rank], second[rank])
        assert not np.array_equal(first[rank], other[rank])
    assert not np.array_equal(first[0]["value"], first[1]["value"])


def test_a_noisy_program_runs_again_alike():
    program = noisy(repeat(halo(1000, 4), 3), Noise("late", None, NoiseTable(np.array([8.0]), (EXPONENTIAL,))), 1)
    first, second = (run(program, fluid(), SWITCH.platform) for _ in range(2))
    assert np.array_equal(first.ends, second.ends)


def test_messages_are_late_by_the_noise_of_their_size():
    late = NoiseTable(np.array([10.0, 1e6]), (np.full(20, 1e-6), np.full(20, 1e-3)))
    calls = [(Code.SEND, 1, 0, -1, size) for size in (0, 12, 3000, 4000, 1e7)]
    program = Program.from_ranks([np.array(calls, OPERATION), np.zeros(0, OPERATION)])
    loud = all_operations(noisy(program, Noise("late", None, late), 1), [0, 1])
    assert loud[0]["code"].tolist() == [Code.COMPUTE, Code.SEND] * 5
    assert loud[0]["value"][::2].tolist() == [1e-6, 1e-6, 1e-6, 1e-3, 1e-3]
    assert loud[1].size == 0


def test_records_give_noise_above_their_medians(tmp_path):
    ping_pong = configurations.PingPong

    def record(configuration, samples, batch=1):
        return results.Record(configuration, "s", samples, stop="interval", batch=batch)

    samples = (*[1e-6] * 11, 4e-6)
    rows = [
        record(ping_pong(8, "same-node"), samples=samples, batch=4),
        record(ping_pong(8, "between-nodes"), samples=samples),
        record(ping_pong(1024, "between-nodes"), samples=(*[2e-6] * 11, 7e-6)),
        record(ping_pong(64, "between-nodes"), samples=(1.0,) * 3),
    ]
    path = tmp_path / "results.jsonl"
    results.dump(measurements(rows), path)
    noise = load(path)
    assert noise.messages.keys.tolist() == [8.0, 1024.0]
    assert [excess.max() for excess in noise.messages.excess] == pytest.approx([3e-6, 5e-6])
    assert noise.computation.keys.tolist() == pytest.approx([1e-6, 2e-6])
    within = load(path, "same-node")
    assert within.computation.keys.tolist() == pytest.approx([4e-6])
    assert within.messages.mean(100.0) == pytest.approx(12e-6 / 12)
    with pytest.raises(InputError, match="same-node, between-nodes"):
        load(path, "same-socket")
    local = record(configurations.Local("copy", 1024), samples=(*[3e-6] * 11, 4e-6))
    results.dump(measurements([*rows, local]), tmp_path / "more.jsonl")
    assert load(tmp_path / "more.jsonl").computation.keys.tolist() == pytest.approx([3e-6])


def test_files_that_are_no_source_of_noise_are_refused(tmp_path):
    path = tmp_path / "work.csv"
    for text, problem in (
        ("duration\n1\n", "no column seconds"), ("seconds\n1\nx\n", "line 3"), ("seconds\n-1\n", "line 2"),
        ("seconds\n1\n", "1 durations"), ("seconds\n1,2\n" * 3, "line 3"),
    ):  # fmt: skip
        path.write_text(text)
        with pytest.raises((InputError, DamagedFileError), match=problem):
            load(path)
    with pytest.raises(InputError, match="No such file"):
        load(tmp_path / "none.csv")
    few = [part for part in records() if not isinstance(part.configuration, configurations.PingPong)]
    results.dump(measurements(few), tmp_path / "results.jsonl")
    with pytest.raises(InputError, match="no record of kernel local or pingpong"):
        load(tmp_path / "results.jsonl")


def test_programs_that_hang_are_told():
    hanging = np.array([(Code.RECV, 1, 0, -1, 8)], OPERATION)
    with pytest.raises(DeadlockError):
        noise_spread(workload_of(Program.from_ranks([hanging, hanging[:0]])), BY_COMPUTING, 2, on=SWITCH)


def test_workers_give_what_one_gives():
    work = workloads.exchange(SWITCH, "ring", 1000, 4, rounds=5)
    noise = Noise("late", None, NoiseTable(np.array([8.0]), (EXPONENTIAL,)))
    alone, side_by_side = (noise_spread(work, noise, 4, on=SWITCH, workers=workers) for workers in (1, 2))
    assert alone == side_by_side


def test_the_command_prints_what_the_function_returns(capsys, tmp_path):
    path = tmp_path / "work.csv"
    path.write_text("seconds\n" + "".join(f"{1e-3 + number * 1e-5}\n" for number in range(20)))
    trace = str(ROOT / "docs/examples/cfd.trace")
    words = ["simulate", "graphene", "replay", trace, "--noise", str(path), "--seeds", "3"]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    graphene = place("graphene")
    study = noise_spread(workloads.replay(graphene, trace), str(path), 3, on=graphene)
    assert printed == json.loads(json.dumps(study.as_json())) | {"output": None}
    assert [row["seconds"] for row in printed["runs"]] == study.seconds.tolist()
    page = tmp_path / "noise.html"
    assert main([*words, "-o", str(page)]) == 0
    assert "noise of a rank" in capsys.readouterr().out
    assert "Spread of the run time" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--seeds", "3"], "name its source with --noise"),
        (["--noise", "none.csv"], "none.csv"),
        (["--noise", "x.csv", "--scale", "latency=2"], "--scale is of runs without noise"),
        (["--noise", "x.csv", "--sensitivity"], "--sensitivity is of runs without noise"),
        (["--noise", "x.csv", "--seeds", "0"], "--seeds: "),
        (["--noise", "x.csv", "-p", "2,4"], "-p: noise is of one program"),
        (["--noise", "x.csv", "-n", "8,16"], "-n: noise is of one program"),
    ],
)
def test_wrong_words_are_refused_in_a_line(capsys, words, problem):
    assert main(["simulate", "graphene", "ring", "-n", "8", *(["-p", "4"] if "-p" not in words else []), *words]) == 2
    errors = capsys.readouterr().err
    assert problem in errors
    assert errors.count("\n") == 1


@pytest.mark.skipif(not (SHARED / "runs").exists(), reason="our own records are not here")
def test_own_records_have_noise(tmp_path):
    import lzma

    with lzma.open(SHARED / "runs/quiet.jsonl.xz") as file:
        (tmp_path / "quiet.jsonl").write_bytes(file.read())
    noise = load(os.fspath(tmp_path / "quiet.jsonl"))
    assert noise.messages.keys.size > 10
    assert 0 < noise.messages.mean(8) < 1e-4
