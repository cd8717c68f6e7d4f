"""Counts against counts: numbers, call sites and what cannot be compared."""

import pytest

from commmodel.errors import DamagedFileError
from commmodel.guard import (
    Counts,
    Guard,
    GuardedProgram,
    RunCounts,
    SiteCounts,
    compare,
    dump_counts,
    load_counts,
)


def counts(*sites, **numbers):
    return Counts(runs=(RunCounts("app", 4, sites=sites, **numbers),))


def site(line, calls, function="step", call="MPI_Send", file="src/app.py"):
    return SiteCounts(file, line, function, call, calls, 8 * calls)


def test_one_message_more_is_larger_and_one_less_is_smaller():
    more, equal, less = (compare(counts(messages=10**9), counts(messages=10**9 + step)) for step in (1, 0, -1))
    assert [change.metric for change in more.larger] == ["messages"]
    assert (equal.larger, equal.smaller) == ((), ())
    assert [change.metric for change in less.smaller] == ["messages"]


def test_growth_within_the_tolerance_is_the_same():
    guard = Guard((GuardedProgram("app", (4,), least="5%"),))
    assert not compare(counts(messages=100), counts(messages=105), guard).larger
    assert compare(counts(messages=100), counts(messages=106), guard).larger


def test_seconds_that_differ_in_the_last_digits_are_the_same():
    assert not compare(counts(seconds=0.1), counts(seconds=0.1 + 1e-16)).larger
    assert compare(counts(seconds=0.1), counts(seconds=0.1001)).larger


def test_a_site_that_moved_is_the_same_site():
    assert compare(counts(site(10, 5), site(20, 7)), counts(site(12, 5), site(24, 7))).sites == ()


def test_a_new_site_between_others_is_the_new_one():
    result = compare(counts(site(10, 5), site(20, 7)), counts(site(10, 5), site(15, 9), site(25, 7)))
    assert [(change.before, change.site.line, change.calls) for change in result.sites] == [(None, 15, (0, 9))]


def test_a_site_of_another_checkout_is_known_by_its_file():
    assert compare(counts(site(10, 5, file="app.py")), counts(site(10, 5))).sites == ()


def test_a_site_that_sends_more_and_one_that_is_gone_are_told_apart():
    before = counts(site(10, 5), site(30, 3, function="end", call="MPI_Barrier"))
    (more, missing) = compare(before, counts(site(11, 50))).sites
    assert (more.calls, more.bytes, str(more.site)) == ((5, 50), (40, 400), "MPI_Send, src/app.py:11")
    assert (missing.after, missing.calls) == (None, (3, 0))


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (Counts(), counts(), "no such run"),
        (counts(), counts(error="deadlock"), "does not come to its end"),
        (counts(error="deadlock"), counts(), "the baseline does not come to its end: deadlock"),
        (counts(on="graphene"), counts(on="switch"), "on is 'switch' here, 'graphene' in the baseline"),
    ],
)
def test_what_cannot_be_compared_is_named(before, after, note):
    result = compare(before, after)
    assert result.changes == ()
    assert note in result.notes[0]
    assert "p = 4" in result.notes[0]


def test_other_packages_are_named():
    (note,) = compare(Counts(packages={"mpi4py": "4.0"}), Counts(packages={"mpi4py": "4.1"})).notes
    assert "mpi4py 4.0, this is 4.1" in note


def test_counts_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "counts.json"
    content = counts(site(10, 5), site(20, 7, file='a"b.py'), messages=3, seconds=1 / 3)
    dump_counts(content, path)
    assert load_counts(path) == content
    assert len(path.read_text().splitlines()) == 4  # a line for the head, the run, and each site


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"format": "commmodel-guard"}', '{"format": "commmodel-counts", "version": 9}']
)
def test_damaged_counts_are_named(tmp_path, text):
    path = tmp_path / "counts.json"
    path.write_text(text)
    with pytest.raises(DamagedFileError, match=r"counts\.json"):
        load_counts(path)
