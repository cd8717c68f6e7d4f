"""Tables on narrow terminals: numbers and words are whole, nothing is cut off."""

import re

import pytest
from support.report_samples import shown

from commmodel.cli import main
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right

WIDE = Table(
    "times", (*left("what it is that was measured"), *right(*(f"p = {2**power}" for power in range(8)))),
    plain_rows([
        ("allreduce_of_blocks, round-time", *(f"{3.21 * 2**power:.2f} us" for power in range(8))),
        ("bcast", *(f"{1.23 * 2**power:.2f} us" for power in range(8))),
    ]),
)  # fmt: skip


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_numbers_and_words_are_whole_at_any_width(width):
    lines = shown(WIDE, width).splitlines()
    words = {word for line in lines for word in line.split()}
    assert max(map(len, lines)) <= width
    assert {"allreduce_of_blocks,", "bcast", "measured"} <= words
    for power in range(8):
        assert re.search(rf" {3.21 * 2**power:.2f} us", "\n".join(lines))
        assert f"p = {2**power}" in "\n".join(lines)


def test_each_part_of_a_divided_table_names_its_rows():
    narrow = shown(WIDE, 40)
    assert narrow.count("bcast") == narrow.count("measured") > 1
    assert shown(WIDE, 120).count("bcast") == 1


def test_a_word_that_is_wider_than_the_terminal_is_folded_and_not_lost():
    output = shown(Table("", (*left("what"), *right("n")), ((Cell("x" * 100), Cell("1")),)), 40)
    assert output.count("x") == 100


RESULTS, MACHINE = "docs/examples/results.jsonl", "graphene"


@pytest.mark.parametrize("words", [
    ["fit", RESULTS, "-o", "{folder}/m.toml"], ["predict", RESULTS, "send", "-n", "64KiB"],
    ["predict", RESULTS, "bcast", "-p", "16", "-n", "1MiB"], ["report", RESULTS, "-o", "{folder}/r.html"],
    ["check", "mpi", "docs/examples/collectives.txt"], ["compare", RESULTS, RESULTS],
    ["simulate", MACHINE, "halo", "-p", "4", "-n", "64KiB", "--scale", "bandwidth=1:4"],
    ["optimize", "blue-waters", "--volume", "8MiB", "--compute", "3ms", "--overhead", "1us", "--latency", "2us",
     "--byte-time", "1ns/B"],
], ids=lambda words: " ".join(words[:2]))  # fmt: skip
def test_what_commands_say_is_whole_on_a_terminal_of_60_columns(words, tmp_path, capsys, monkeypatch):
    from support.paths import ROOT

    monkeypatch.chdir(ROOT)
    words = [word.format(folder=tmp_path) for word in words]
    monkeypatch.setenv("COLUMNS", "120")
    code = main([*words, *(["--force"] if "-o" in words else [])])
    wide = set(capsys.readouterr().out.split())
    monkeypatch.setenv("COLUMNS", "60")
    assert main([*words, *(["--force"] if "-o" in words else [])]) == code < 2
    output = capsys.readouterr().out
    rules = {word for word in output.split() if set(word) <= set("─╶")}
    pasted = {word for word in output.split() if str(tmp_path) in word or word == "\\"}
    torn = set(output.split()) - wide - rules - pasted
    assert not torn
    assert all(len(line) <= 60 for line in output.splitlines() if str(tmp_path) not in line and RESULTS not in line)
