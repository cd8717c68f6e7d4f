"""The options of all commands: one table in the documentation, one word for one thing, earlier spellings."""

import argparse
import re
from pathlib import Path

import pytest

import commmodel
from commmodel.bench.options import _parser as bench_parser
from commmodel.cli import _parser, main
from commmodel.fit import FitSettings
from commmodel.scaling import CheckSettings
from commmodel.spellings import OLD_SPELLINGS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
ROW = re.compile(r"^\| ((?:`-[^|]*)) \| ([^|]*) ?\| ([^|]*) \| [^|]+ \|$", re.MULTILINE)


def options():
    """Return (verb, action) of all options."""

    def walk(parser, verb):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, inner in action.choices.items():
                    yield from walk(inner, verb or name)
            elif action.option_strings and action.dest != "help":
                yield verb or "commmodel", action

    yield from walk(_parser(), "")
    yield from walk(bench_parser(), "bench")


def value(action):
    """Return the placeholder of an option's value as the table has it."""
    if action.nargs == 0:
        return ""
    return "a word" if action.choices and not action.metavar else f"`{action.metavar or action.dest.upper()}`"


def declared():
    """Return option -> its values and commands, as argparse has them."""
    table = {}
    for verb, action in options():
        values, verbs = table.setdefault(", ".join(f"`{name}`" for name in action.option_strings), (set(), set()))
        values |= {value(action)} - {""}
        verbs.add(verb)
    return table


def test_the_table_of_options_is_that_of_the_parsers():
    text = PAGE.read_text(encoding="utf-8").partition("## Options")[2].partition("\n## ")[0]
    rows = ROW.findall(text)
    assert {row[0]: ({*row[1].strip().split(", ")} - {""}, {*row[2].split(", ")}) for row in rows} == declared()
    assert len(rows) == len({row[0] for row in rows}), "an option has two rows"


def test_seeds_of_bootstraps_have_one_default():
    defaults = {action.default for _, action in options() if "--seed" in action.option_strings}
    assert defaults - {None, argparse.SUPPRESS} == {FitSettings().seed} == {CheckSettings().seed}


def test_an_option_has_one_kind_of_value_or_a_list_of_it():
    different = {
        name: values
        for name, (values, _) in declared().items()
        if len({word.strip("`").removesuffix(",...") for word in values - {"a word"}}) > 1
    }
    assert different == {"`-o`, `--output`": {"`FILE`", "`FOLDER`"}}


@pytest.mark.parametrize(("verb", "earlier", "spelling"), OLD_SPELLINGS, ids=lambda word: word)
def test_an_earlier_spelling_is_accepted_but_not_an_option_of_its_own(verb, earlier, spelling):
    names = {name for other, action in options() if other == verb for name in action.option_strings}
    assert spelling in names
    assert earlier not in names


def test_an_earlier_spelling_sets_what_the_option_sets():
    words = ["--volume", "8MiB", "{}", "3ms"]
    first, second = (
        _parser().parse_args(["optimize", *(word.format(option) for word in words)])
        for option in ("--compute", "--computation")
    )
    assert vars(first) == vars(second)
    assert first.computation == (3e-3,)
    assert vars(bench_parser().parse_args(["--procs", "4"])) == {"kernels": (), "procs": "4"}


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["optimize", "L=1us,o=1us,g=1us,G=1ns", "--volume", "8MiB", "--computation", "-1ms"], "--computation"),
        (["fit", "r.jsonl", "--confidence", "-5%"], "--confidence"),
        (["fit", "r.jsonl", "--confidence", "2"], "200%"),
        (["predict", "ranger", "bcast", "-n", "8", "-p", "4", "--algorithm", "all", "--selector", "mpich"], "exclude"),
        (["optimize", "m.toml", "--validate", "-o", "a.html"], "--validate: expected one argument, before -o\n"),
        (["bench", "--dry-run", "--time", "-5s"], "'-5s': a time must be finite and not negative"),
    ],
)
def test_a_value_that_is_none_is_named_with_its_option(words, option, capsys):
    assert main(words) == 2
    assert option in capsys.readouterr().err


def test_a_remark_names_the_parameter_in_python_and_its_option_on_the_command_line(capsys):
    parameters = "L=2500ns,o=1500ns,g=1us,G=6ps"
    call = commmodel.simulate.scenario.machine_of_parameters(parameters), "allgather", 1024, 8
    (remark,) = [text for text in commmodel.predict.collective(*call, algorithm="bruck").remarks if "memory" in text]
    assert "`memory_copy`" in remark
    words = ["predict", parameters, "allgather", "-n", "1KiB", "-p", "8", "--algorithm", "bruck"]
    for further in ([], ["--json"]):
        assert main([*words, *further]) == 0
        printed = capsys.readouterr().out
        assert "--copy" in printed
        assert "`" not in printed
