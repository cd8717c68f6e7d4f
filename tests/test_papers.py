"""The page of the five papers: what it says is what its command prints, and no difference goes unnoticed."""

import pytest
from benchmarks.validation.papers import bedaride, gropp, iancu, march, shudler
from benchmarks.validation.papers.__main__ import END, main
from benchmarks.validation.papers.rows import page
from support.paths import ROOT

PAGE = ROOT / "docs" / "theory" / "papers.md"


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n")[1].split("\n## ")[0].strip()


@pytest.mark.parametrize("paper", [iancu.paper(), march.paper()], ids=lambda paper: paper.title.split(",")[0])
def test_the_page_has_what_is_computed(paper):
    assert section(page([paper]), paper.title) == section(PAGE.read_text("utf-8"), paper.title)


def test_printed_models_and_verdicts_come_out():
    rows = [*gropp.printed_models(), *bedaride.platform_rows(), *bedaride.published_modes()]
    rows += shudler.verdicts(shudler.tomllib.loads(shudler.TABLES.read_text("utf-8")))
    assert {row.difference for row in rows} == {"0 %", "-0.3 %", "holds", "the same", "on purpose"}


def test_every_paper_says_what_cannot_be_made_again():
    text = PAGE.read_text("utf-8").partition(END)[2]
    assert text.count("Not made again:") == text.count("\n## ") == 5


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--papers", "culler"], "--papers culler: choose from gropp, iancu, march, bedaride, shudler"),
        (["no-such-folder"], "no-such-folder is no folder"),
    ],
)
def test_wrong_words_are_refused_in_a_line(words, problem, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["papers", *words])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert problem in capsys.readouterr().err
