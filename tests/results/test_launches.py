"""A launch counts once, however often it is read."""

import pytest
from support.report_samples import header

from commmodel import formats
from commmodel.cli import main
from commmodel.results import (
    Launch,
    Measurements,
    Record,
    Writer,
    launch_count,
    load,
    whole_launches,
    without_duplicates,
)
from commmodel.results.configurations import PingPong


def record(size, seconds=1e-6):
    return Record(PingPong(size, "same-node"), "s", (seconds, 1.01 * seconds))


def write_file(path, *launches):
    with Writer(path) as writer:
        for entry, records in launches:
            writer.write(entry)
            for item in records:
                writer.write(item)
    return path


FIRST = header(created="2026-01-01", launch="aa"), [record(8), record(16)]
SECOND = header(created="2026-01-02", launch="bb"), [record(8, 2e-6), record(16, 2e-6)]


@pytest.mark.parametrize(
    "reader", [formats.load_all, lambda paths: without_duplicates([(str(p), load(p)) for p in paths])]
)
def test_a_merged_file_and_its_parts_are_the_launches_of_the_parts(reader, tmp_path):
    entry, two = write_file(tmp_path / "1.jsonl", FIRST), write_file(tmp_path / "2.jsonl", SECOND)
    merged = write_file(tmp_path / "all.jsonl", FIRST, SECOND)
    result = reader([merged, entry, two])
    assert result.launches == reader([merged]).launches
    (note,) = result.notes
    assert note.startswith("2 launches (4 records) of ")
    assert note.endswith("all.jsonl as well: counted once")
    assert not reader([entry, two]).notes


def test_a_file_merged_with_itself_holds_each_launch_once(tmp_path):
    path = write_file(tmp_path / "twice.jsonl", FIRST, SECOND, FIRST)
    loaded = formats.load(path)
    assert len(load(path).launches) == 3
    assert len(loaded.launches) == 2
    assert loaded.notes == (f"1 launch (2 records) of {path} is there twice: counted once",)


@pytest.mark.parametrize("identity", ["", "aa"])
def test_a_copy_from_before_a_run_was_complete_is_part_of_it(identity):
    result = header(created="2026-01-01", launch=identity)
    early, late = Launch(result, (record(8),)), Launch(result, (record(8), record(16)))
    for order in ((early, late), (late, early)):
        entry = without_duplicates([(name, Measurements((item,))) for name, item in zip("ab", order, strict=True)])
        assert [sorted(item.configuration.message_size for item in launch.records) for launch in entry.launches] == [
            [8, 16]
        ]


def test_launches_of_older_files_with_the_same_header_are_kept_apart_by_their_samples():
    """Headers were to the second: two launches of a script may have begun in the same one."""
    result = header(created="2026-01-01")
    first, second = (Launch(result, (record(8, seconds),)) for seconds in (1e-6, 2e-6))
    assert without_duplicates([("a", Measurements((first, second)))]).launches == (first, second)


def test_what_resumes_a_launch_is_part_of_it():
    first, rest = (Launch(header(resumes=resumes), (record(size),)) for resumes, size in ((False, 8), (True, 16)))
    assert [len(whole_launch.records) for whole_launch in whole_launches(Measurements((first, rest, first)))] == [2, 1]
    assert launch_count(Measurements((first, rest))) == 1
    assert launch_count(Measurements((first, rest, first))) == 2


def test_every_verb_that_reads_files_says_what_counts_once(tmp_path, capsys):
    records = [record(2**power, 1e-6 + 2**power * 1e-10) for power in range(4, 20)]
    path = str(write_file(tmp_path / "r.jsonl", (header(created="2026-01-01", launch="cc"), records)))
    machine = str(tmp_path / "m.toml")
    assert main(["fit", path, path, "-o", machine]) == 0
    assert "counted once" in capsys.readouterr().err
    alone = str(tmp_path / "alone.toml")
    assert main(["fit", path, "-o", alone]) == 0
    once, twice = ((tmp_path / name).read_text("utf-8").partition("[[segment")[2] for name in ("alone.toml", "m.toml"))
    assert once == twice
