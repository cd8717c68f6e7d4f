"""Two sides measured in turns: their order, what goes wrong, and what compare makes of them."""

import json
import shlex
import sys

import pytest

from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.sweep.interleaving import Turn, Turns, measure_in_turns, turns

PROGRAM = """
import json, pathlib, sys
side, output = sys.argv[1:]
counter = pathlib.Path(output).with_name("count")
number = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(number))
if number == {fails}:
    sys.exit("no network today")
header = {{"type": "header", "format": "commmodel-results", "version": 1, "created": "", "command": [],
           "mpi": {{"version": "MPI"}}, "hosts": [], "ranks": []}}
with open(output, "w") as file:
    print(json.dumps(header), file=file)
    for index, name in enumerate(("bcast", "barrier", "scan", "reduce")):
        seconds = 1e-6 * (1 + index) * 1.02 ** number * (1 + 0.001 * (number * 7 % 5)) * float(side)
        configuration = {{"kernel": "collective", "operation": name, "message_size": 8, "processes": 2}}
        record = {{"type": "record", "configuration": configuration, "unit": "s", "samples": [seconds] * 3}}
        print(json.dumps(record), file=file)
"""


@pytest.fixture
def command(tmp_path):
    """A benchmark on a machine that is 2 % slower with each launch; a side's name is how slow it is."""

    def write_bench(fails=0):
        program = tmp_path / "program.py"
        program.write_text(PROGRAM.format(fails=fails), "utf-8")
        return f"{shlex.quote(sys.executable)} {shlex.quote(str(program))} {{side}} {{output}}"

    return write_bench


def compare(*words):
    return main(["compare", *words])


@pytest.mark.parametrize(("after", "code"), [("1.06", 1), ("1.0", 0), ("0.94", 0)])
def test_a_slowdown_is_found_on_a_machine_that_drifts_far_more(command, tmp_path, after, code, capsys):
    folder = str(tmp_path / "turns")
    words = ("1", after, "--run", command(), "--launches", "10", "-o", folder, "--seed", "1", "--fail")
    assert compare(*words) == code
    assert "in 10 pairs of launches" in capsys.readouterr().out


def test_the_order_is_drawn_anew_for_each_two_pairs_and_more_pairs_go_on_with_it():
    plan = Turns("", ("a", "b"), 5)
    order = plan.order(40)
    first = [turn.side for turn in order[::2]]
    assert [entry + other for entry, other in zip(first[::2], first[1::2], strict=True)] == [1] * 20
    assert 3 < sum(first[::2]) < 17
    assert plan.order(13) == order[:26]
    assert {(turn.pair, turn.side) for turn in order} == {(pair, side) for pair in range(1, 41) for side in (0, 1)}


def test_what_fails_is_named_and_the_same_command_goes_on(command, tmp_path, capsys):
    folder = tmp_path / "turns"
    words = ("1", "1.06", "--run", command(fails=5), "--launches", "3", "-o", str(folder), "--json")
    assert compare(*words) == 2
    error = capsys.readouterr().err
    assert "exit code 1: no network today" in error
    assert error.count("\n") == 1
    assert len(list(folder.glob("*.jsonl"))) == 4
    assert compare(*words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["pairs"] == 3
    assert any("3 pairs of launches: too few" in remark for remark in document["remarks"])
    assert (folder / "count").read_text() == "7"
    assert compare(*words, "--launches", "4") == 0
    assert (folder / "count").read_text() == "9"


def test_a_mistyped_command_leaves_a_folder_that_takes_the_right_one(command, tmp_path):
    folder = tmp_path / "turns"
    with pytest.raises(InputError, match="exit code 1"):
        measure_in_turns(turns("false {side} {output}", ("1", "2"), 1), 1, folder)
    before, after = measure_in_turns(turns(command(), ("1", "3"), 1), 1, folder)
    assert len(before.launches) == len(after.launches) == 1


def test_launches_that_measured_nothing_are_named_and_pairs_counted_without_them(command, tmp_path, capsys):
    folder = tmp_path / "turns"
    words = ("1", "1.06", "--run", command(), "--launches", "7", "-o", str(folder), "--json")
    assert compare(*words) == 0
    capsys.readouterr()
    for name, entry in (("pair002-before", 1), ("pair005-after", 2)):  # the header alone, and one record
        path = folder / f"{name}.jsonl"
        path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:entry]), "utf-8")
    assert compare(*words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["pairs"] == 6
    assert {row["configuration"]["operation"]: row["launches"] for row in document["differences"]} == {
        "bcast": [6, 6], "barrier": [5, 5], "scan": [5, 5], "reduce": [5, 5],
    }  # fmt: skip
    assert "pair 2, before: measured nothing" in document["remarks"]
    assert "pair 5, after: measured 1 of 4 times" in document["remarks"]


def test_a_folder_of_another_comparison_is_refused(command, tmp_path, capsys):
    folder = tmp_path / "turns"
    measure_in_turns(turns(command(), ("1", "2"), 1), 1, folder)
    assert compare("1", "3", "--run", command(), "-o", str(folder)) == 2
    assert "was begun with sides ('1', '2'), not ('1', '3')" in capsys.readouterr().err
    assert compare("1", "3", "--run", command(), "-o", str(tmp_path)) == 2
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "sides", "message"),
    [
        ("run {output}", "ab", "it lacks {side}"),
        ("run {side}", "ab", "it lacks {output}"),
        ("run '{side} {output}", "ab", "No closing quotation"),
        ("run {side} {output}", "aa", "both sides are 'a'"),
    ],
)
def test_what_cannot_be_run_is_refused(command, sides, message):
    with pytest.raises(InputError, match=message):
        turns(command, tuple(sides), 1)


def test_a_command_that_is_not_there_or_writes_nothing_is_said(tmp_path):
    with pytest.raises(InputError, match="none-such: No such file"):
        measure_in_turns(turns("none-such {side} {output}", ("a", "b"), 1), 1, tmp_path / "one")
    with pytest.raises(InputError, match="ended well, but wrote no"):
        measure_in_turns(turns("true {side} {output}", ("a", "b"), 1), 1, tmp_path / "other")


def test_options_of_turns_need_a_command(tmp_path, capsys):
    assert compare("a", "b", "--launches", "3") == 2
    assert "--launches goes with --run" in capsys.readouterr().err


def test_files_of_a_turn_have_its_name():
    assert Turn(3, 1).name == "pair003-after"


def test_two_commands_do_not_measure_into_one_folder(command, tmp_path):
    plan = turns(command(), ("1", "1.01"), 1)

    def interrupting(turn, left):
        with pytest.raises(InputError, match="wait for it"):
            measure_in_turns(plan, 1, tmp_path / "turns")

    measure_in_turns(plan, 1, tmp_path / "turns", interrupting)
    assert [len(side.launches) for side in measure_in_turns(plan, 1, tmp_path / "turns")] == [1, 1]
