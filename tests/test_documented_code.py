"""The Python of the documentation runs as it stands, page by page; what is a part of a program is marked ``py``."""

import re
import shutil

import pytest
from support.logs import end, new_logs, write
from support.paths import ROOT

from commmodel import machine
from commmodel.collectives import Problem, build
from commmodel.machine import LogGP, Parameter
from commmodel.simulate import goal, work
from commmodel.simulate.traces import dump

TESTED_ELSEWHERE = {"library-tests.md", "extend.md"}
"""By tests of the plugin, and beside the module that the page shows."""
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if BLOCK.search(page.read_text("utf-8")) and page.name not in TESTED_ELSEWHERE
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change into a folder with the files that pages read."""
    monkeypatch.chdir(tmp_path)
    logs = new_logs(2)
    for log in logs:
        log.call("Init_thread", 0, 1000, line=0)
        log.call("Allreduce", 2000, 3000, line=40, bytes=8)
    end(logs)
    write(tmp_path / "FOLDER", logs)
    loggp = LogGP(*(Parameter(1e-6, "s") for _ in range(3)), Parameter(1e-9, "s/B"))
    machine.dump(machine.Machine("mine", (machine.Segment("all", loggp=loggp),)), "machine.toml")
    shutil.copy(ROOT / "docs/examples/results.jsonl", "node1.jsonl")
    shutil.copy(ROOT / "docs/examples/results.jsonl", "node2.jsonl")
    dump(work.lu("S", 16), "trace")
    goal.dump(goal.from_collective(build("bcast", "binomial", Problem(4, 1024))), "broadcast.goal")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page):
    names = {}
    for block in BLOCK.findall(page.read_text("utf-8")):
        exec(compile(block, page.name, "exec"), names)  # noqa: S102  (our own file)


def test_pages_with_code_are_found():
    assert len(PAGES) > 6
