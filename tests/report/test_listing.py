"""The list of what a folder holds."""

import json
from pathlib import Path

import pytest
from support.logs import end, new_logs, write
from support.report_samples import FULL, machine

from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.machine import dump as dump_machine
from commmodel.report import folder_index, write_index
from commmodel.results.file import dump


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with results, a machine, a recording, and what is none of them."""
    place = tmp_path / "my results"
    (place / "old").mkdir(parents=True)
    dump(FULL, place / "a.jsonl")
    dump(FULL, place / "old" / "b&c.jsonl")
    (place / "old" / "b&c.html").write_text("a page")
    (place / "old" / "broken.jsonl").write_text("no results")
    dump_machine(machine(), place / "m.toml")
    (place / "report.html").write_text("of a.jsonl, as no other results stand here")
    (place / "rules.toml").write_text('format = "commmodel-expectations"')
    logs = new_logs(2)
    for log in logs:
        log.call("Allreduce", 10**9, 2 * 10**9, line=81, bytes=8)
    end(logs)
    write(place / "recording", logs)
    return place


def test_each_file_has_its_machine_date_processes_answer_and_page(folder):
    rows = {row.path: row for row in folder_index(folder)}
    assert list(rows) == ["a.jsonl", "m.toml", "old/b&c.jsonl", "old/broken.jsonl", "recording"]
    assert [row.kind for row in rows.values()] == ["results", "machine", "results", "results", "recording"]
    first = rows["a.jsonl"]
    assert (first.machine, first.date[:10], first.processes, first.page) == ("node1", "2026-01-02", "4", "report.html")
    assert first.answer.startswith("same-node: a small message takes ")
    assert rows["m.toml"].machine == "m"
    assert rows["old/b&c.jsonl"].page == "old/b&c.html"
    assert rows["old/broken.jsonl"].answer.startswith("cannot be read: ")
    assert "is communication" in rows["recording"].answer


def test_the_page_links_to_the_pages_beside_the_files(folder, tmp_path):
    write_index(tmp_path / "index.html", folder)
    text = (tmp_path / "index.html").read_text()
    assert '<a href="my%20results/old/b%26c.html">old/b&amp;c.jsonl</a>' in text
    assert "3 files of results, 1 machine, 1 recording" in text
    write_index(folder / "index.html", folder)
    assert '<a href="old/b%26c.html">' in (folder / "index.html").read_text()


def test_the_command_lists_a_folder(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--index", str(folder)]) == 0
    assert capsys.readouterr().out.endswith("written to index.html\n")
    assert main(["report", "--index", str(folder), "--json", "--force"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["output"], len(answer["files"])) == ("index.html", 5)
    for words, problem in (
        ([str(folder), str(folder)], "--index is of one folder"), ([str(folder / "a.jsonl")], "no folder")
    ):  # fmt: skip
        assert main(["report", "--index", *words, "--force"]) == 2
        assert problem in capsys.readouterr().err


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="no machine and no recording is in there"):
        folder_index(tmp_path)
