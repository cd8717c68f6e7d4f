"""The tables of Shudler and others (2015): verdicts, divergence, rules, search spaces and the memory wall."""

import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ORACLES

from commmodel.errors import InputError
from commmodel.scaling import Growth, Model, largest_scale, parse_growth, parse_rule
from commmodel.scaling.growth import ONE
from commmodel.scaling.rules import class_violation
from commmodel.scaling.search_space import case_study_space, default_deviation, deviation_limits, search_space, ticks
from commmodel.scaling.verdict import divergence, published_verdict, rank

PUBLISHED = tomllib.loads((ORACLES / "scaling.toml").read_text("utf-8"))
MACHINES = PUBLISHED["machines"]
CELLS = [
    pytest.param(table, row, column, id=f"{table}-{row['name']}-{column}")
    for table in ("runtime", "memory", "mafia")
    for row in PUBLISHED[table]["rows"]
    for column in range(len(row["models"]))
]
EXPECTATION = st.sampled_from(
    [
        "1",
        "log p",
        "log^2 p",
        "p^0.5",
        "p",
        "p log p",
        "p^2",
        "p^(1/3)",
        "p log^3 p",
        "1 / p",
        "2^p",
        "p^3 2^p",
        "2^(p/2)",
    ]
).map(parse_growth)


def test_every_cell_of_the_tables_is_there():
    counts = {table: sum(cell.values[0] == table for cell in CELLS) for table in ("runtime", "memory", "mafia")}
    assert counts == {"runtime": 24, "memory": 15, "mafia": 4}


@pytest.mark.parametrize(("table", "row", "column"), CELLS)
def test_verdicts_and_divergence_are_those_printed(table, row, column):
    model, expectation = parse_growth(row["models"][column]), parse_growth(row["expect"])
    assert rank(model, expectation, parse_growth(PUBLISHED[table]["deviation"])) == row["verdicts"][column]
    assert divergence(model, expectation) == parse_growth(row["divergence"][column])


def test_the_deviation_of_mafia_is_the_default_and_its_models_are_in_the_default_spaces():
    for row in PUBLISHED["mafia"]["rows"]:
        assert default_deviation(parse_growth(row["expect"])) == parse_growth(PUBLISHED["mafia"]["deviation"])
        assert parse_growth(row["models"][0]) in search_space(parse_growth(row["expect"]))


def test_with_the_default_deviation_powers_do_not_match_a_logarithm():
    entry = PUBLISHED["default_deviation"]
    for model in entry["mismatches"]:
        assert rank(parse_growth(model), parse_growth(entry["expect"])) == "mismatch"
        assert (
            rank(parse_growth(model), parse_growth(entry["expect"]), parse_growth(PUBLISHED["runtime"]["deviation"]))
            == "approximate"
        )


def test_a_poor_fit_is_uncertain_whatever_is_printed_and_no_other_is():
    entry = PUBLISHED["memory"]
    for row in entry["rows"]:
        for column, machine in enumerate(MACHINES):
            r2 = row["adjusted_r2"][column]
            verdict = published_verdict(
                parse_growth(row["models"][column]), r2, parse_growth(row["expect"]), parse_growth(entry["deviation"])
            )
            poor = [row["name"], machine] in entry["uncertain"]
            assert verdict == ("uncertain" if poor else row["verdicts"][column])


@pytest.mark.parametrize("rule", PUBLISHED["rules"]["rules"])
@pytest.mark.parametrize("column", range(3))
def test_rules_are_broken_where_the_models_say_so(rule, column):
    classes = {row["name"]: parse_growth(row["models"][column]) for row in PUBLISHED["runtime"]["rows"]}
    broken = class_violation(parse_rule(rule), classes)
    assert (broken is not None) == ([rule, MACHINES[column]] in PUBLISHED["rules"]["violations"])


def test_the_memory_wall():
    wall = PUBLISHED["memory_wall"]
    model = Model(wall["constant"], wall["coefficient"], Growth(power=1))
    on_node = wall["processes_on_a_node"]
    assert on_node * float(model(wall["processes"])) == pytest.approx(wall["needed"], rel=0.03)
    most = largest_scale(model, wall["node_memory"], processes=on_node)
    assert on_node * float(model(most)) == pytest.approx(wall["node_memory"])
    assert most < wall["processes"]


def test_limits_that_are_never_or_always_passed():
    assert largest_scale(Model(1.0, 0.0, ONE), 2.0) == math.inf
    assert largest_scale(Model(3.0, 0.0, ONE), 2.0) == 0
    assert largest_scale(Model(0.0, 1.0, Growth(exponential=1)), 1e300) == pytest.approx(math.log2(1e300))
    with pytest.raises(InputError, match="give a finite number above 0"):
        largest_scale(Model(3.0, 0.0, ONE), 2.0, processes=0)


def test_the_search_spaces_have_the_papers_terms():
    entry, space = PUBLISHED["space"]["linear"], search_space(parse_growth("p"))
    assert len(ticks(parse_growth("p"))) == entry["ticks"]
    assert len(space) == entry["terms"]
    assert {parse_growth(text) for text in entry["some"]} <= set(space)
    assert not {parse_growth(text) for text in entry["none"]} & set(space)
    assert len(case_study_space()) == PUBLISHED["space"]["case_study"]


@given(EXPECTATION)
def test_a_space_holds_what_must_be_told_apart(expectation):
    space = search_space(expectation)
    assert list(space) == sorted(set(space))
    assert {ONE, expectation} <= set(space)
    low, high = deviation_limits(expectation)
    assert low <= expectation <= high
    if expectation != ONE:
        assert {rank(term, expectation) for term in space} == {"match", "approximate", "mismatch"}
    else:
        assert {rank(term, expectation) for term in space} == {"match", "mismatch"}


@given(EXPECTATION)
def test_limits_are_inclusive(expectation):
    for limit in deviation_limits(expectation):
        assert rank(limit, expectation) in {"match", "approximate"}


def test_a_deviation_that_falls_is_refused():
    with pytest.raises(InputError, match="write its inverse"):
        rank(ONE, parse_growth("p"), parse_growth("1 / p"))
