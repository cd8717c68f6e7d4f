"""The verb `commmodel optimize`: what it prints, and answers to wrong words."""

import json

import pytest
from msgspec.structs import replace
from support import structs
from support.choosing import choose, sensitivity

from commmodel.cli import main
from commmodel.cli.optimize import _PATTERNS
from commmodel.machine import CallCost, LogGP, Machine, Parameter, Segment, dump, load
from commmodel.results.configurations import Pattern

PROBLEM = ["--volume", "8MiB", "--computation", "3ms"]
NETWORK = ["--overhead", "2us", "--latency", "10us", "--byte-time", "1.1ns/B"]
NUMBERS = {"overhead": 2e-6, "latency": 10e-6, "byte_time": 1.1e-9}
FIRST = ["message_size", "burst", "messages", "seconds", "blocking_seconds", "hidden_fraction", "limits"]


@pytest.fixture
def machine(tmp_path):
    loggp = LogGP(*(Parameter(value, unit, 0.8 * value, 1.2 * value) for value, unit in
                    ((5e-6, "s"), (1e-6, "s"), (1e-6, "s"), (1e-9, "s/B"))))  # fmt: skip
    path = tmp_path / "machine.toml"
    dump(Machine("m", (Segment("all", loggp=loggp),)), path)
    return str(path)


def as_json(capsys, *words):
    assert main(["optimize", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_patterns_are_those_of_the_results():
    assert Pattern.__args__ == _PATTERNS


def test_the_json_begins_with_the_names_that_scripts_rely_on_and_agrees_with_python(capsys):
    printed = as_json(capsys, *PROBLEM, *NETWORK, "--queue-depth", "16", "--implementation", "pipelined")
    assert list(printed)[:7] == FIRST
    expected = choose(8 << 20, 3e-3, **NUMBERS, queue_depth=16)
    assert [printed[name] for name in FIRST[:6]] == [getattr(expected, name) for name in FIRST[:6]]
    assert printed["limits"] == list(expected.limits) == ["queue-depth"]
    assert (printed["sensitivity"], printed["misdiagnosis"], len(printed["choices"])) == (None, None, 1)


def test_both_implementations_are_compared_unless_told(capsys):
    printed = as_json(capsys, *PROBLEM, *NETWORK)
    assert {choice["implementation"] for choice in printed["choices"]} == {"pipelined", "tight"}
    assert printed["seconds"] == min(choice["seconds"] for choice in printed["choices"])
    assert printed["choices"] == as_json(capsys, *PROBLEM, *NETWORK, "--implementation", "any")["choices"]


def test_a_machine_file_and_a_published_one_are_known(machine, capsys):
    assert as_json(capsys, machine, *PROBLEM)["blocking_seconds"] == pytest.approx(7e-6 + (8 << 20) * 1e-9 + 3e-3)
    published = as_json(capsys, "quadrics-elan4", *PROBLEM, "--overhead", "2us", "--byte-time", "1.1ns/B")
    assert published["burst"] < 32
    assert main(["optimize", "quadrics-elan4", *PROBLEM]) == 2
    assert "does not know overhead and byte time (its publication" in capsys.readouterr().err


def test_the_table_says_what_was_chosen_and_what_limits_it_in_words(machine, capsys):
    assert main(["optimize", machine, *PROBLEM, "--queue-depth", "4", "--sensitivity"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for words in (
        "8 MiB, 3.00 ms of computation", "pipelined", "tight", "instead of", "of the communication",
        "Limited by queue-depth: a burst must be shorter than the network's queue (Eq 8).",
        "As fast within the parameters' intervals", "The choice", "Taken for a problem of the other kind",
    ):  # fmt: skip
        assert words in printed
    assert "pattern" not in printed


def test_several_patterns_stand_in_one_table(capsys):
    assert main(["optimize", *PROBLEM, *NETWORK, "--all-patterns", "--peers", "8"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in _PATTERNS)
    two = ["--patterns", "all-to-all-contiguous, all-to-all-interleaved", "--peers", "4", "--rule", "measured"]
    result = as_json(capsys, *PROBLEM, "--computation", "30ms", *NETWORK, *two)
    assert {choice["pattern"] for choice in result["choices"]} == {"all-to-all-contiguous", "all-to-all-interleaved"}
    assert {choice["burst"] for choice in result["choices"]} == {2}
    assert result["sensitivity"] is None


def test_the_rule_is_left_out_for_patterns_that_have_none_where_several_are_compared(capsys):
    result = as_json(capsys, *PROBLEM, *NETWORK, "--all-patterns", "--peers", "3", "--rule", "measured")
    assert len(result["choices"]) == 2 * len(_PATTERNS)


def test_what_may_be_chosen_can_be_given(capsys):
    options = ["--sizes", "3000:30000:+3000", "--bursts", "1,5", "--progress", "50%", "--outstanding-volume", "100kB"]
    result = as_json(capsys, *PROBLEM, *NETWORK, *options)
    assert result["message_size"] % 3000 == 0
    assert result["burst"] in {1, 5}
    expected = choose(
        8 << 20, 3e-3, **NUMBERS, sizes=range(3000, 30001, 3000), bursts=(1, 5), progress=0.5,
        outstanding_volume=100_000, implementation=result["implementation"],
    )  # fmt: skip
    assert result["seconds"] == expected.seconds
    fine = as_json(capsys, *PROBLEM, *NETWORK, "--grid", "fine")
    assert fine["seconds"] <= as_json(capsys, *PROBLEM, *NETWORK)["seconds"]


def test_sensitivity_is_that_of_the_fastest(capsys):
    result = as_json(capsys, *PROBLEM, *NETWORK, "--sensitivity")
    expected = sensitivity(8 << 20, 3e-3, **NUMBERS, implementation=result["implementation"])
    assert result["sensitivity"] == {"overestimate": expected.overestimate, "underestimate": expected.underestimate}
    assert 0 <= result["misdiagnosis"] < 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --volume and --computation"),
        (["--volume", "8MiB"], "give --volume and --computation"),
        (PROBLEM, "overhead, latency or byte_time is missing"),
        (["missing.toml", *PROBLEM], "missing.toml: No such file"),
        (["nowhere", *PROBLEM], "neither a file nor a published machine"),
        ([*PROBLEM, *NETWORK, "--volume", "many"], "--volume: 'many' is no size"),
        ([*PROBLEM, *NETWORK, "--overhead", "2"], None),
        ([*PROBLEM, *NETWORK, "--byte-time", "1GB"], "--byte-time: '1GB': unknown unit"),
        ([*PROBLEM, *NETWORK, "--patterns", "ring"], "--patterns: there is no 'ring': choose one of point-to-point"),
        ([*PROBLEM, *NETWORK, "--patterns", "end-point-congestion", "--all-patterns"], "both say which"),
        ([*PROBLEM, *NETWORK, "--all-patterns"], "needs a number of peers: like --peers 8"),
        ([*PROBLEM, *NETWORK, "--peers", "2"], "point-to-point has one peer, not 2"),
        ([*PROBLEM, *NETWORK, "--peers", "0", "--patterns", "end-point-congestion"], "--peers: '0' is no whole number"),
        ([*PROBLEM, *NETWORK, "--implementation", "loose"], "choose one of pipelined, tight, any"),
        ([*PROBLEM, *NETWORK, "--operation", "send"], "choose one of two-sided, put, get"),
        ([*PROBLEM, *NETWORK, "--rule", "measured"], "leave it out for point-to-point"),
        ([*PROBLEM, *NETWORK, "--queue-depth", "1"], "--queue-depth: '1' is no whole number from 2 up"),
        ([*PROBLEM, *NETWORK, "--bursts", "0"], "--bursts: '0': counts begin at 1"),
        ([*PROBLEM, *NETWORK, "-o", "page.html"], "-o goes with --validate"),
        (["--validate", "results.jsonl", *PROBLEM], "--volume goes with a choice"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(words, message, capsys):
    if message is None:  # a bare number is in seconds: strange, but a number
        assert main(["optimize", *words]) == 0
        return
    assert main(["optimize", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert message in printed.err


def test_validation_is_handed_on_with_what_was_asked(monkeypatch):
    rows = []
    monkeypatch.setattr("commmodel.cli.optimize._validate", lambda arguments: rows.append(arguments) or 0)
    assert main(["optimize", "m.toml", "--validate", "r.jsonl", "-o", "p.html", "--json"]) == 0
    assert (rows[0].machine, rows[0].validate, rows[0].output, rows[0].json) == ("m.toml", "r.jsonl", "p.html", True)
    assert main(["optimize", "--validate", "r.jsonl"]) == 0
    assert (rows[1].machine, rows[1].output) == (None, None)


def test_data_in_pieces_are_answered_with_the_lines_to_write(tmp_path, capsys):
    path = str(tmp_path / "machine.toml")
    dump(structs.sending(), path)
    pieces = ["--block", "8", "--count", "1024", "--stride", "16KiB"]
    printed = as_json(capsys, path, *pieces)
    assert (printed["best"], printed["usual"], printed["gain"]) == ("numpy", "numpy", 1.0)
    assert printed["code"].startswith("# sender\npieces = ")
    assert main(["optimize", path, *pieces]) == 0
    assert "comm.Send([buffer, MPI.BYTE], peer, tag)" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "problem"), [
    (["--block", "8"], "the pieces are incomplete: give --block and --count"),
    (["--block", "8", "--count", "4"], "give a machine with times of the kernel datatype"),
    (["--block", "8", "--count", "4", "--volume", "8"], "--volume is of a transfer"),
    (["ranger", "--block", "8", "--count", "4"], "has no times of ways to send"),
    (["ranger", "--block", "8", "--count", "4", "--stride", "7"], "that begin so close overlap"),
])  # fmt: skip
def test_pieces_that_are_incomplete_are_refused(words, problem, capsys):
    assert main(["optimize", *words]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("partitioned", "words"),
    [
        (None, "were not measured (kernel persistent)"),
        (2e-3, "Partitioned sends gain nothing for certain"),
        (1e-7, 'give implementation="partitioned"'),
    ],
)
def test_partitioned_sends_are_advised_where_measurements_show_a_gain(machine, tmp_path, capsys, partitioned, words):
    costs = [("persistent", 1e-5), ("partitioned", partitioned)] if partitioned else []
    calls = tuple(
        CallCost("persistent", name, Parameter(alpha, "s"), beta=Parameter(1e-10, "s/B"), sizes=(8, 16 << 20))
        for name, alpha in costs
    )
    path = tmp_path / "with-calls.toml"
    dump(replace(load(machine), calls=calls), path)
    assert main(["optimize", str(path), *PROBLEM]) == 0
    assert words in " ".join(capsys.readouterr().out.split())


def test_unequal_peers_have_two_patterns_and_say_what_lies_beyond_what_was_measured(capsys):
    peers = ["--volume", "2MB,64KiB", "--computation", "500us,16us"]
    assert main(["optimize", *peers, *NETWORK, "--all-patterns"]) == 2
    assert "--all-patterns: peers of unequal volumes go with multiple-end-points-... alone" in capsys.readouterr().err
    printed = as_json(capsys, *peers, *NETWORK)
    assert printed["extrapolates"] == []
    assert {choice["pattern"] for choice in printed["choices"]} == {
        "multiple-end-points-contiguous", "multiple-end-points-interleaved",
    }  # fmt: skip
