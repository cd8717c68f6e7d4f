"""Collectives: published values, what chooses the algorithm, what a schedule and a closed form say, the verbs."""

import json
import math
from importlib import import_module

import msgspec
import numpy as np
import pytest

from commmodel import machine, predict
from commmodel.cli import main
from commmodel.collectives import ALGORITHMS, Nodes, Problem
from commmodel.collectives.library import selection
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import LogGP, Machine, MaxRate, Origin, Parameter, PLogP, Postal, Quality, Segment
from commmodel.models.collectives import CLOSED_FORMS
from commmodel.predict.costs import message_costs, plogp_table


def loggp(L=2e-6, o=1e-6, g=1.5e-6, G=1e-9):
    return LogGP(Parameter(L, "s"), Parameter(o, "s"), Parameter(g, "s"), None if G is None else Parameter(G, "s/B"))


TWO = Machine(
    "two",
    (
        Segment("eager", limit=machine.Limit(1000), loggp=loggp()),
        Segment("rendezvous", loggp=loggp(L=9e-6, G=5e-10)),
    ),
)
TABLE = PLogP(
    Parameter(2e-6, "s", 1e-6, 3e-6), (0, 1000, 2000), o_s=(1e-6, 1e-6, 2e-6), o_r=(1e-6, 2e-6, 2e-6),
    g=(1e-6, 3e-6, 5e-6), low={"g": (0.5e-6, 2e-6, 4e-6)}, high={"g": (2e-6, 4e-6, 6e-6)},
)  # fmt: skip
FLAT = {
    operation: {name for name in algorithm if not algorithm[name].stages} for operation, algorithm in ALGORITHMS.items()
}
COPYING = predict.with_byte_times(TWO, memory_copy=1e-10)
WITH_TABLE = Machine("table", (Segment("all", loggp=loggp()),), plogp=(TABLE,))


@pytest.mark.parametrize(
    ("name", "arguments", "microseconds"),
    [
        ("ranger", ["barrier", "-p", "256"], 26.0),
        ("ranger", ["bcast", "-n", "1", "-p", "256"], 26.0),
        ("ranger", ["alltoall", "-n", "1", "-p", "256", "--algorithm", "pairwise"], 828.75),
        ("ranger-nonblocking", ["barrier", "-p", "256"], 27.6),
        ("ranger-nonblocking", ["bcast", "-n", "1", "-p", "256"], 27.6),
        ("ranger-nonblocking", ["alltoall", "-n", "1", "-p", "256", "--algorithm", "pairwise"], 879.75),
    ],
)
def test_ranger_takes_what_the_paper_says(name, arguments, microseconds, capsys):
    assert main(["predict", name, *arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["seconds"] == pytest.approx(microseconds * 1e-6, rel=1e-9)
    assert printed["model"] == "loggp"
    assert printed["evaluation"] == "schedule"
    assert printed["closed_form"] == pytest.approx(printed["seconds"])


@pytest.mark.parametrize("operation", sorted(ALGORITHMS))
def test_every_algorithm_has_a_time_and_the_fastest_is_the_best(operation):
    ranked = predict.algorithms(COPYING, operation, Problem(16, 0 if operation == "barrier" else 4096))
    assert {entry.algorithm for entry in ranked} == FLAT[operation]
    forms = CLOSED_FORMS.get(operation, {})
    assert all(entry.time.seconds > 0 and (entry.algorithm not in forms or entry.closed_form > 0) for entry in ranked)
    assert ranked == sorted(ranked, key=lambda entry: entry.time.seconds)
    assert all(entry.exactness == forms[entry.algorithm].exactness for entry in ranked if entry.algorithm in forms)
    assert operation == "reduce_scatter" or len(forms) >= 2
    size = ranked[0].message_size
    best = predict.collective(COPYING, operation, Problem(16, size), algorithm="best")
    assert best == ranked[0]
    quick = predict.algorithm_seconds(COPYING, operation, best.algorithm, Problem(16, size))
    assert quick == best.time.seconds


def test_algorithms_that_cannot_do_it_are_passed_over():
    names = {algorithm.algorithm for algorithm in predict.algorithms(TWO, "alltoall", Problem(6, 8))}
    assert names == FLAT["alltoall"] - {"pairwise-xor"}


def test_one_process_alone_takes_no_time():
    assert predict.collective(TWO, "bcast", Problem(1, 1024)).time.seconds == 0


def test_each_message_takes_the_parameters_of_its_own_size():
    costs = message_costs(TWO, "loggp")(np.array([0, 1, 1000, 1001, 1]))
    assert costs.transit == pytest.approx([2e-6, 2e-6, 2e-6 + 999e-9, 9e-6 + 1000 * 5e-10, 2e-6])
    assert costs.gap == pytest.approx([1.5e-6, 1.5e-6, 1.5e-6 + 999e-9, 1.5e-6 + 5e-7, 1.5e-6])
    assert costs.send_overhead.tolist() == costs.receive_overhead.tolist() == [1e-6] * 5
    # scatter in pieces of 512 B, which are eager, then an allgather: nothing of the rendezvous
    eager = Machine("eager", (Segment("all", loggp=loggp()),))
    options = {"algorithm": "scatter-ring"}
    assert predict.collective(TWO, "bcast", Problem(2, 1024), **options).time.seconds == pytest.approx(
        predict.collective(eager, "bcast", Problem(2, 1024), **options).time.seconds
    )
    assert predict.collective(TWO, "bcast", Problem(2, 1024)).time.seconds == pytest.approx(2e-6 + 9e-6 + 1023 * 5e-10)


def test_plogp_takes_its_table():
    costs = message_costs(WITH_TABLE, "plogp")(np.array([0, 1000, 3000]))
    assert costs.send_overhead == pytest.approx([1e-6, 1e-6, 3e-6])
    assert costs.receive_overhead == pytest.approx([1e-6, 2e-6, 2e-6])
    assert costs.gap == pytest.approx([1e-6, 3e-6, 7e-6])
    assert costs.transit == pytest.approx([1e-6, 2e-6, 4e-6])
    predicted = predict.collective(WITH_TABLE, "bcast", Problem(2, 1000))
    assert predicted.model == "plogp"
    assert predicted.time == predict.Seconds(pytest.approx(5e-6), pytest.approx(3e-6), pytest.approx(7e-6))
    assert list(predicted.models) == ["plogp", "loggp", "logp"]
    assert predicted.closed_form is None
    assert plogp_table(WITH_TABLE, end="high").L.value == 3e-6


def test_logp_leaves_the_bytes_out():
    predicted = predict.collective(TWO, "bcast", Problem(2, 500), model="logp")
    assert predicted.time.seconds == pytest.approx(4e-6)
    assert predicted.models["loggp"].seconds == pytest.approx(4e-6 + 499e-9)


def test_intervals_of_the_parameters_are_in_the_time():
    wide = LogGP(
        *(Parameter(value, "s", 0.5 * value, 2 * value) for value in (2e-6, 1e-6, 1e-6)), Parameter(0.0, "s/B")
    )
    predicted = predict.collective(Machine("m", (Segment("all", loggp=wide),)), "barrier", Problem(8))
    assert predicted.time == predict.Seconds(pytest.approx(12e-6), pytest.approx(6e-6), pytest.approx(24e-6))
    assert predict.collective(TWO, "barrier", Problem(8)).time.low is None


def test_copies_and_reductions_take_the_machine_s_time_or_that_given():
    plain = predict.collective(TWO, "alltoall", Problem(8, 100))
    assert plain.algorithm == "bruck"
    assert "no memory_copy" in plain.remarks[0]
    result = Machine("m", TWO.segments, memory_copy=Parameter(1e-9, "s/B"))
    copied = predict.collective(result, "alltoall", Problem(8, 100))
    assert copied.remarks == ()
    assert (
        copied.time.seconds
        == predict.collective(predict.with_byte_times(TWO, 1e-9), "alltoall", Problem(8, 100)).time.seconds
    )
    assert copied.time.seconds > plain.time.seconds
    reduced = predict.collective(result, "reduce", Problem(2, 1000))
    assert reduced.remarks == ("a byte is combined in the time of its copy (`reduction`)",)
    slower = predict.collective(predict.with_byte_times(result, reduction=3e-9), "reduce", Problem(2, 1000))
    assert slower.time.seconds - reduced.time.seconds == pytest.approx(2e-6)
    assert slower.remarks == ()


def test_the_library_chooses_unless_told_otherwise(tmp_path):
    assert predict.collective(TWO, "alltoall", Problem(8, 256)).algorithm == "bruck"
    assert predict.collective(TWO, "alltoall", Problem(8, 256)).chosen_by == "MPICH"
    openmpi = Machine("m", TWO.segments, origin=Origin(mpi="Open MPI v5.0.7, package"))
    assert predict.collective(openmpi, "bcast", Problem(8, 8)).chosen_by.startswith("Open MPI")
    chosen = predict.collective(TWO, "bcast", Problem(8, 13 << 10), selector="mvapich2-1.0")
    assert chosen.algorithm == "scatter-recursive-doubling"
    rule = selection.SelectionRule("bcast", "chain", segment_size=512)
    result = Machine("m", TWO.segments, selector="mpich", selection=(rule,))
    chosen = predict.collective(result, "bcast", Problem(4, 2048))
    assert (chosen.algorithm, chosen.segment_size) == ("chain", 512)
    assert predict.collective(result, "bcast", Problem(4, 2048, segment_size=256)).segment_size == 256
    assert predict.collective(result, "bcast", Problem(4, 2048), selector="mpich").algorithm == "binomial"
    path = tmp_path / "rules.json"
    selection.dump(selection.Selector("mine", (selection.SelectionRule("bcast", "linear"),)), path)
    assert predict.collective(result, "bcast", Problem(4, 2048), selector=path).algorithm == "linear"
    entry = selection.Selector("mine", (rule,))
    assert predict.collective(TWO, "bcast", Problem(4, 2048), selector=entry).chosen_by == "mine"
    sparse = selection.Selector("mine", (rule,), fallback="openmpi")
    chosen = predict.collective(TWO, "alltoall", Problem(4, 2048), selector=sparse)
    assert chosen.chosen_by == f"{selection.load('openmpi').name} (mine has no rule for it)"


def test_a_schedule_too_large_is_answered_by_the_closed_form(monkeypatch):
    by_schedule = predict.collective(TWO, "barrier", Problem(64))
    module = import_module("commmodel.predict.collective")
    monkeypatch.setattr(module, "_MOST_MESSAGES", 100)
    by_formula = predict.collective(TWO, "barrier", Problem(64))
    assert (by_formula.evaluation, by_formula.messages) == ("closed-form", None)
    assert by_formula.time.seconds == pytest.approx(by_schedule.time.seconds)
    assert predict.collective(WITH_TABLE, "barrier", Problem(64)).model == "loggp"
    with pytest.raises(InputError, match="more than 100 messages, and a closed form of LogGP only"):
        predict.collective(WITH_TABLE, "barrier", Problem(64), model="plogp")
    monkeypatch.setattr(module, "CLOSED_FORMS", {})
    with pytest.raises(InputError, match="no closed form"):
        predict.collective(TWO, "barrier", Problem(64))


def test_a_million_processes_are_no_reason_to_fill_the_memory():
    predicted = predict.collective(TWO, "alltoall", Problem(10**6, 1 << 20), algorithm="linear")
    assert predicted.evaluation == "closed-form"
    assert math.isfinite(predicted.time.seconds)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: predict.collective(TWO, "bcats", Problem(2, 1)),
            InputError,
            "operation is .*: did you mean bcast",
        ),
        (lambda: predict.collective(TWO, "bcast", Problem(0, 1)), InputError, "processes is 0"),
        (lambda: predict.collective(TWO, "bcast", Problem(2, -1)), InputError, "message_size is -1"),
        (lambda: predict.collective(TWO, "bcast", Problem(2, 1, root=2)), InputError, "root is 2"),
        (lambda: predict.collective(TWO, "allreduce", Problem(2, 1, root=1)), InputError, "allreduce has no root"),
        (lambda: predict.collective(TWO, "barrier", Problem(2, 8)), InputError, "carries nothing"),
        (
            lambda: predict.collective(TWO, "bcast", Problem(2, 1), model="postal"),
            InputError,
            "model is ",
        ),
        (
            lambda: predict.collective(TWO, "bcast", Problem(2, 1), algorithm="ring"),
            InputError,
            "bcast has no algorithm 'ring'",
        ),
        (lambda: predict.collective(TWO, "bcast", Problem(2, 1), path="moon"), InputError, "knows no path 'moon'"),
        (
            lambda: predict.collective(TWO, "bcast", Problem(2, 1), selector="moon"),
            InputError,
            "neither a file nor a published selector",
        ),
        (lambda: predict.collective(TWO, "bcast", Problem(2, 1), model="plogp"), MissingParameterError, "bench plogp"),
        (
            lambda: predict.collective(machine.load("blue-waters"), "bcast", Problem(2, 1)),
            MissingParameterError,
            "no LogGP parameters: measure it with python -m commmodel.bench loggp",
        ),
        (
            lambda: predict.collective(machine.load("ranger"), "bcast", Problem(2, 1024)),
            MissingParameterError,
            "G is missing .*`model` logp.*bench loggp",
        ),
        (
            lambda: predict.send(machine.load("ranger"), 1024),
            MissingParameterError,
            "G is missing .*`model` logp.*bench loggp",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


# Messages between two processes by the same models


@pytest.mark.parametrize(("name", "microseconds"), [("ranger", 3.25), ("ranger-nonblocking", 3.45)])
def test_a_message_on_ranger(name, microseconds):
    predicted = predict.send(machine.load(name), 1)
    assert (predicted.model, predicted.ratio) == ("loggp", 1.0)
    assert predicted.time.seconds == pytest.approx(microseconds * 1e-6)
    assert predict.send(machine.load(name), 1 << 20, model="logp").time.seconds == pytest.approx(microseconds * 1e-6)


def test_a_message_by_the_models_of_trains():
    predicted = predict.send(WITH_TABLE, 1000)
    assert predicted.model == "plogp"
    assert predicted.time == predict.Seconds(pytest.approx(5e-6), pytest.approx(3e-6), pytest.approx(7e-6))
    assert predicted.models["loggp"].seconds == pytest.approx(4e-6 + 999e-9)
    assert predict.send(TWO, 0).time == predict.send(TWO, 1).time
    with pytest.raises(MissingParameterError, match="`model` plogp ignores that"):
        predict.send(WITH_TABLE, 1000, processes=4)


def test_models_of_ping_pongs_come_first():
    postal = Postal(Parameter(3e-6, "s"), Parameter(1e-9, "s/B"))
    result = Machine("m", (Segment("all", postal=postal, loggp=loggp()),), plogp=(TABLE,))
    predicted = predict.send(result, 1000)
    assert predicted.model == "postal"
    assert list(predicted.models) == ["postal", "plogp", "loggp", "logp"]
    assert predict.send(result, 1000, model="plogp").postal == predicted.time


# The verb


def write(tmp_path, known_machine=TWO):
    path = tmp_path / "m.toml"
    machine.dump(known_machine, path)
    return str(path)


def test_a_collective_on_the_terminal(tmp_path, capsys):
    arguments = ["alltoall", "-n", "100", "-p", "8"]
    assert main(["predict", write(tmp_path), *arguments]) == 0
    printed = capsys.readouterr().out
    assert "loggp (used)" in printed
    assert "Alltoall of 100 B on 8 processes: bruck, as MPICH picks, 24 messages." in printed
    assert "The machine has no memory_copy" in printed


def test_all_algorithms_are_a_table_with_the_fastest_first(tmp_path, capsys):
    path = write(tmp_path)
    arguments = ["predict", path, "bcast", "-n", "1MiB", "-p", "64", "--algorithm", "all", "--segment-size", "8KiB"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("bcast of 1 MiB on 64 processes, loggp")
    shown = [line.split()[0] for line in lines[4:] if line.strip()]
    assert main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [algorithm["algorithm"] for algorithm in printed["algorithms"]] == shown[: len(FLAT["bcast"])]
    assert printed["algorithm"] == shown[0]
    assert printed["seconds"] == printed["algorithms"][0]["seconds"]
    assert main([*arguments[:7], "--algorithm", "best", "--segment-size", "8KiB", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["algorithm"] == shown[0]


def test_options_reach_the_prediction(tmp_path, capsys):
    arguments = "reduce -n 1000 -p 4 --root 2 --copy 1ns/B --reduction 2ns/B --model logp --selector openmpi --json"
    assert main(["predict", write(tmp_path), *arguments.split()]) == 0
    printed = json.loads(capsys.readouterr().out)
    expected = predict.collective(
        predict.with_byte_times(TWO, 1e-9, 2e-9), "reduce", Problem(4, 1000, root=2), model="logp", selector="openmpi"
    )
    assert printed["seconds"] == pytest.approx(expected.time.seconds)
    assert printed["chosen_by"] == expected.chosen_by


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("bcast -n 8", "required: -p/--processes"),
        ("bcast -p 8", "required: -n/--size"),
        ("send", "required: -n/--size"),
        ("", "required: WHAT"),
        ("bcast -n 8 -p 8 -k 0", "-k: '0' is no whole number from 1 up"),
        ("bcast -n 8 -p 8 --neighbours 2", "unrecognized arguments: --neighbours 2"),
        ("allgather -n 8 -p 8 --root 1", "unrecognized arguments: --root 1"),
        ("allgather -n 8 -p 8 --reduction 1ns/B", "unrecognized arguments: --reduction 1ns/B"),
        ("barrier -n 8 -p 8", "unrecognized arguments: -n 8"),
        ("send -n 8 -p 8", "unrecognized arguments: -p 8"),
        ("halo -n 8 --neighbours 2 --algorithm binomial", "unrecognized arguments: --algorithm binomial"),
        ("send -n 8 -o page.html", "unrecognized arguments: -o page.html"),
        ("-p 8 bcast -n 8", "-p comes after WHAT: commmodel predict MACHINE WHAT -p ..."),
        ("bcast -n 8 -p 0", "-p: '0' is no whole number from 1 up"),
        ("bcast -n 8 -p 8 --algorithm linear --selector mpich", "--selector and --algorithm exclude each other"),
        ("bcast -n 8 -p 8 --copy fast", "--copy: 'fast' is no number of s/B"),
        ("bcast -n 8 -p 8 --root x", "--root: 'x' is no whole number"),
        ("bcast -n 8 -p 8 --model postal", "--model is 'postal'"),
        ("bcats -n 8 -p 8", "there is no 'bcats'"),
        ("measurements", "required: RESULTS"),
        ("measurements r.jsonl -n 8", "unrecognized arguments: -n 8"),
        ("measurements r.jsonl --collective halo", "--collective: there is no 'halo'"),
        ("measurements r.jsonl --algorithm all", "compared with one algorithm, or with the best"),
        ("measurements missing.jsonl", "missing.jsonl: No such file"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(arguments, words, capsys):
    assert main(["predict", "ranger", *arguments.split()]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
    assert words in output.err


@pytest.mark.parametrize("work", ["send -n 1000", "bcast -n 1000 -p 2 --algorithm binomial"])
def test_parameters_may_stand_for_a_machine(work, capsys):
    assert main(["predict", "L=2us,o=1us,g=1us,G=1ns", *work.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] == pytest.approx(2e-6 + 2 * 1e-6 + 999e-9)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("L=2us,o=1us,S=64KiB", "S is of simulations; a prediction takes L, o, g, G: leave it out"),
        ("L=2us", "o missing: every delay model needs L and o"),
        ("latency=2us", "'latency=2us' is no parameter of a delay model"),
    ],
)
def test_parameters_that_predictions_do_not_take_are_named(parameters, words, capsys):
    assert main(["predict", parameters, "send", "-n", "8"]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


# Rules for a library


@pytest.mark.parametrize(
    ("library", "hint"), [("openmpi", "coll_tuned_dynamic_rules_filename"), ("mpich", "MPIR_CVAR")]
)
def test_tune_writes_rules_that_choose_what_is_fastest(library, hint, tmp_path, capsys):
    rules = tmp_path / "rules"
    arguments = ["tune", write(tmp_path), "-p", "4:16:*2", "--sizes", "1,64KiB", "--collectives", "bcast,alltoall"]
    assert main([*arguments, "--library", library, "-o", str(rules)]) == 0
    printed = capsys.readouterr().out
    assert "Fastest predicted" in printed
    assert hint in printed
    assert str(rules) in printed
    assert main([*arguments, "--library", library, "-o", str(rules), "--force", "--json"]) == 0
    choices = json.loads(capsys.readouterr().out)["choices"]
    assert len(choices) == 2 * 3 * 2
    selector = selection.load(rules)
    for choice in choices:
        size, processes = choice["message_size"], choice["processes"]
        assert selection.select(selector, choice["operation"], size, processes).algorithm == choice["algorithm"]
    biggest = next(choice for choice in choices if choice["operation"] == "alltoall" and choice["processes"] == 16)
    ranked = predict.algorithms(TWO, "alltoall", Problem(16, biggest["message_size"]))
    assert biggest["algorithm"] == ranked[0].algorithm


def test_tune_replaces_neither_of_two_files_unasked(tmp_path, capsys):
    words = "-p 16 -k 4 --library openmpi --collectives bcast --sizes 8 -o"
    command = ["tune", "L=2us,o=1us,g=1us,G=1ns", *words.split(), str(tmp_path / "rules")]
    (tmp_path / "rules.han").write_text("mine")
    assert main(command) == 2
    assert "rules.han exists: replace it with --force" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["rules.han"]
    assert main([*command, "--force"]) == 0
    request = ["bcast", "-n", "8", "-p", "16", "-k", "4", "--selector", str(tmp_path / "rules.han"), "--json"]
    capsys.readouterr()
    assert main(["predict", "L=2us,o=1us,g=1us,G=1ns", *request]) == 0
    assert json.loads(capsys.readouterr().out)["algorithm"] == "two-level"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-p 2 --library openmpi", "required: -o"),
        ("-p 2 --library intel -o rules", "there is no 'intel'"),
        ("-p 2 --library mpich -o rules --collectives bcats", "--collectives: there is no 'bcats'"),
        ("-p 0 --library mpich -o rules", "counts begin at 1"),
        ("-p 2 --library mpich -o /no/such/folder/rules", "/no/such/folder/rules"),
    ],
)
def test_tune_says_what_is_wrong_in_a_line(arguments, words, tmp_path, capsys):
    small = ["--sizes", "8"] if "folder" in arguments else []
    assert main(["tune", write(tmp_path), *arguments.split(), *small]) == 2
    output = capsys.readouterr()
    assert len(output.err.splitlines()) == 1
    assert words in output.err


AWAITED = {"o_s": (1e-6,) * 4, "o_r": (1e-6, 1e-6, 2e-6, 90e-3), "g": (1e-6, 2e-6, 50e-3, 100e-3)}
"""From 2000 bytes on messages leave when their receive is posted, as with Open MPI over TCP from 64 KiB on."""


@pytest.mark.parametrize(("size", "seconds"), [(500, 50e-3), (1000, 100e-3), (2000, 200e-3)])
def test_a_receive_that_awaits_its_message_is_no_work_after_it(size, seconds):
    """After a small message within the node, two nodes exchange the blocks of two processes, both ways at once."""
    slow = PLogP(Parameter(0.0), (0, 1, 1000, 2000), path="between-nodes", **AWAITED)
    fast = msgspec.structs.replace(slow, path="same-node", g=(1e-6,) * 4, o_r=(0.0,) * 4)
    machine = Machine("m", (Segment("all", "same-node"), Segment("all", "between-nodes")), plogp=(fast, slow))
    problem = Problem(4, size, nodes=Nodes(2))
    predicted = predict.collective(machine, "allgather", problem, algorithm="two-level")
    assert float(predicted.time) == pytest.approx(seconds, rel=0.01)
    assert any("may take turns" in remark for remark in predicted.remarks) == (size >= 1000)
    one_way = predict.collective(machine, "bcast", problem, algorithm="two-level")
    assert not any("may take turns" in remark for remark in one_way.remarks)


def test_by_plogp_a_message_takes_no_longer_than_it_does_however_long_its_ends_were():
    """A receive was once timed for a message that had not come yet."""
    ends = {"o_s": (0.0, 3e-6), "o_r": (0.0, 9e-6), "g": (1e-6, 5e-6)}
    machine = Machine("m", (Segment("all"),), plogp=(PLogP(Parameter(1e-6), (0, 100), **ends),))
    costs = message_costs(machine, "plogp")(np.array([50, 100]))
    whole = costs.send_overhead + costs.transit + costs.receive_overhead
    np.testing.assert_allclose(whole, [4e-6, 6e-6])
    assert costs.receive_overhead[1] == pytest.approx(3e-6)


def lines(path, L, o, g, G, node_rate=None):
    result = LogGP(*(Parameter(value) for value in (L, o, g, G)))
    rates = MaxRate(Parameter(L), Parameter(1 / G), Parameter(node_rate)) if node_rate else None
    return Segment("all", path, loggp=result, max_rate=rates)


WITHIN, BETWEEN = lines("same-node", 1.0, 0.25, 0.5, 1e-4), lines("between-nodes", 10.0, 0.5, 1.0, 1e-3)
NODES = Machine("nodes", (WITHIN, BETWEEN))


def test_on_nodes_each_message_costs_what_its_path_says():
    on_nodes = predict.collective(NODES, "bcast", Problem(4, 1001, nodes=Nodes(2)), algorithm="linear", model="loggp")
    # The root sends to its neighbour at once, then two over the network, each no sooner than the gap of the one before.
    assert on_nodes.time.seconds == pytest.approx((0.5 + 0.1) + (1.0 + 1.0) + 0.5 + (10.0 + 1.0) + 0.5)
    assert on_nodes.per_node == 2
    assert on_nodes.closed_form is None
    # With a path, nodes say nothing but which algorithms there are.
    problems = Problem(4, 1001), Problem(4, 1001, nodes=Nodes(2))
    result, other = (
        predict.collective(NODES, "bcast", problem, algorithm="linear", path="between-nodes") for problem in problems
    )
    assert result.time == other.time


def test_processes_of_a_node_share_its_rate():
    limited = Machine("limited", (WITHIN, lines("between-nodes", 10.0, 0.5, 1.0, 1e-3, node_rate=500.0)))

    def time(machine, processes, per_node):
        problem = Problem(processes, 1000, nodes=Nodes(per_node))
        return predict.algorithm_seconds(machine, "allreduce", "recursive-doubling", problem)

    # As in the max-rate model, 1000 bytes take 1000 k / R_N where k processes of a node send at once, all of them, in
    # place of 999 G. A node as fast as they are together changes nothing.
    for per_node in (1, 2, 4):
        longer = time(limited, 2 * per_node, per_node) - time(NODES, 2 * per_node, per_node)
        assert longer == pytest.approx(1000 * per_node / 500 - 999e-3)
    wide = Machine("wide", (WITHIN, lines("between-nodes", 10.0, 0.5, 1.0, 1e-3, node_rate=4100.0)))
    assert time(wide, 8, 4) == pytest.approx(time(NODES, 8, 4))
    assert predict.algorithm_seconds(
        limited, "allreduce", "recursive-doubling", Problem(8, 1000, nodes=Nodes(4)), model="logp"
    ) == predict.algorithm_seconds(
        NODES, "allreduce", "recursive-doubling", Problem(8, 1000, nodes=Nodes(4)), model="logp"
    )


def test_an_alltoall_takes_as_long_as_all_bytes_that_leave_a_node():
    """Messages that share a node's port come at once, but need their receivers' ports no longer: it was 17 % more."""
    size, rate = 65536, 2.5e6
    seconds = {"o_s": (1e-5, 5e-5), "o_r": (1e-5, 1e-4), "g": (2e-5, size / rate)}
    across = PLogP(Parameter(5e-5), (1, size), path="between-nodes", **seconds)
    near = PLogP(Parameter(1e-6), (1, size), (1e-6, 1e-5), (1e-6, 1e-5), (1e-6, 3e-5), path="same-node")
    rates = MaxRate(Parameter(1e-4), Parameter(rate), Parameter(rate))
    segments = Segment("all", "same-node"), Segment("all", "between-nodes", one_way=rates)
    problem = Problem(8, size, nodes=Nodes(4))
    time = predict.algorithm_seconds(Machine("m", segments, plogp=(across, near)), "alltoall", "linear", problem)
    assert time == pytest.approx(16 * size / rate, rel=0.01)


def test_two_levels_stand_beside_the_flat_algorithms_where_processes_share_nodes(tmp_path, capsys):
    path = tmp_path / "nodes.toml"
    machine.dump(NODES, path)
    arguments = ["predict", str(path), "allreduce", "-n", "8", "-p", "64", "-k", "16", "--algorithm", "all", "--json"]
    assert main(arguments) == 0
    ranked = json.loads(capsys.readouterr().out)["algorithms"]
    assert {row["algorithm"] for row in ranked} == set(ALGORITHMS["allreduce"])
    assert main(arguments[:-1]) == 0
    assert "Two-level: between nodes allreduce by recursive-doubling." in capsys.readouterr().out
    assert main([*arguments, "--path", "same-node"]) == 2
    assert "--per-node, --path: give one of them" in capsys.readouterr().err


def test_an_alltoall_in_two_levels_is_predicted_with_the_copies_of_its_shared_memory(tmp_path, capsys):
    path = tmp_path / "nodes.toml"
    machine.dump(NODES, path)
    arguments = ["predict", str(path), "alltoall", "-n", "8", "-p", "64", "-k", "16", "--json"]
    assert main([*arguments, "--algorithm", "all"]) == 0
    ranked = json.loads(capsys.readouterr().out)["algorithms"]
    assert {row["algorithm"] for row in ranked} == set(ALGORITHMS["alltoall"])
    problem = Problem(64, 8, nodes=Nodes(16))
    for name, copied in (("two-level", 64), ("two-level-steps", 2 * 64 + 16)):
        slow, fast = (
            predict.algorithm_seconds(predict.with_byte_times(NODES, memory_copy=seconds), "alltoall", name, problem)
            for seconds in (1e-6, 0.0)
        )
        assert slow - fast == pytest.approx(1e-6 * 8 * copied)


@pytest.mark.parametrize(
    ("selector", "operation", "size", "expected"),
    [
        ("openmpi", "bcast", 2**20, ("two-level-pipelined", 65536)),
        ("openmpi", "allgather", 8, ("two-level", None)),
        ("openmpi", "alltoall", 8, ("bruck", None)),
        ("mpich-5.0", "allreduce", 2**20, ("two-level", None)),
        ("mpich-5.0", "bcast", 2**20, ("scatter-ring", None)),
        ("mpich-5.0", "scan", 2**20, ("two-level", None)),
    ],
)
def test_on_nodes_a_library_picks_as_it_does_there(selector, operation, size, expected):
    problem = Problem(64, size, nodes=Nodes(16))
    predicted = predict.collective(NODES, operation, problem, selector=selector)
    assert (predicted.algorithm, predicted.segment_size) == expected
    flat = predict.collective(NODES, operation, Problem(64, size), selector=selector)
    assert "two-level" not in flat.algorithm


def test_on_nodes_it_is_told_what_is_not_known():
    remarks = predict.collective(TWO, "bcast", Problem(8, 8, nodes=Nodes(4)), algorithm="binomial").remarks
    assert any("measure on one node, too" in remark for remark in remarks)
    assert any("what a node moves at most is not known" in remark for remark in remarks)
    rates = MaxRate(Parameter(1e-6, "s"), Parameter(1e9, "B/s"), Parameter(2e9, "B/s"))
    segments = [msgspec.structs.replace(segment, max_rate=rates) for segment in TWO.segments]
    for one_way, expected in ((None, True), (rates, False)):
        limited = msgspec.structs.replace(
            TWO, segments=tuple(msgspec.structs.replace(segment, one_way=one_way) for segment in segments)
        )
        remarks = predict.collective(limited, "bcast", Problem(8, 8, nodes=Nodes(4)), algorithm="binomial").remarks
        assert any("measure the kernel stream" in remark for remark in remarks) == expected
    alone = tuple(msgspec.structs.replace(segment, one_way=rates) for segment in TWO.segments)
    streams = msgspec.structs.replace(TWO, segments=alone)
    remarks = predict.collective(streams, "bcast", Problem(8, 8, nodes=Nodes(4)), algorithm="binomial").remarks
    assert not any("what a node moves at most" in remark for remark in remarks)


def test_on_nodes_without_a_path_between_them_a_remark_says_which_is_taken():
    inside = Machine("m", (Segment("all", "same-socket", loggp=LogGP(*map(Parameter, (1e-6, 1e-6, 1e-6, 1e-9)))),))
    on_nodes = predict.collective(inside, "bcast", Problem(8, 8, nodes=Nodes(4)))
    assert "no path between nodes was measured: all messages take same-socket" in on_nodes.remarks
    assert predict.collective(inside, "bcast", Problem(8, 8)).remarks == ()


def test_parameters_that_are_not_trusted_are_told():
    wrong = LogGP(*map(Parameter, (1e-6, 1e-6, 1e-6, 1e-9)), quality=Quality(5, 1.0, 0.5, 3.0, trusted=False))
    (remark,) = predict.collective(Machine("m", (Segment("all", loggp=wrong),)), "bcast", Problem(8, 8)).remarks
    assert "not trusted" in remark
