"""The search of the documentation answers questions in words of users: the right guide comes first."""

import json
import shutil
import subprocess

import pytest
from support.paths import ROOT

import commmodel

DOCS = ROOT / "docs"
BUILT = DOCS / "_build" / "html"
ASK = ROOT / "tests" / "support" / "search_docs.js"
FIRST = {
    "my halo exchange is slow": "howto/slow-halo",
    "halo exchange slow on 64 nodes": "howto/slow-halo",
    "why does MPI_Waitall take so long": "howto/slow-halo",
    "pickle": "howto/slow-halo",
    "which message size should I use": "howto/overlap",
    "overlap communication and computation": "howto/overlap",
    "is this node slow": "howto/slow-node",
    "MPI_Allreduce slow": "howto/collectives",
    "which algorithm for alltoall": "howto/collectives",
    "job hangs under srun": "howto/cluster",
    "one rank instead of many": "howto/troubleshooting",
    "eager limit": "howto/choose",
    "does my program scale": "howto/run",
    "does my MPI library scale": "howto/guard",
    "where does my program spend its time": "howto/record",
    "slower after an update": "howto/compare-runs",
    "what would a faster network buy": "howto/sensitivity",
    "what should I pay for": "howto/advice",
    "noisy CI runner": "howto/ci",
    "how sensitive is my program to latency": "howto/sensitivity",
    "mpi4py slower than C": "howto/thread-level",
    "CUDA-aware MPI": "howto/gpu",
    "my job was killed": "howto/resume",
    "out of memory with many processes": "howto/memory",
    "results differ between runs": "howto/launches",
    "how do I install it": "howto/install",
    "getting started": "tutorial",
    "accuracy": "theory/validation",
    "what does R_N mean": "reference/glossary",
    "how to cite": "cite",
}
"""A question -> the page that is the first result."""
VERBS = ("predict", "optimize", "simulate", "record", "fit", "report", "collectives", "overlap")
"""Words that are names of the API, too."""

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")


def sources():
    """Return the files that decide what is found."""
    return [*DOCS.glob("*.*"), *(DOCS / "_ext").glob("*.py"), *(page for page in DOCS.rglob("*.md"))]


def is_fresh():
    """Return whether the built pages are newer than their sources."""
    index = BUILT / "searchindex.js"
    return index.exists() and all(path.stat().st_mtime <= index.stat().st_mtime for path in sources())


@pytest.fixture(scope="module")
def pages():
    """Return the folder of the built pages."""
    if not is_fresh():
        pytest.skip("there are no pages as new as their sources: make docs builds them and looks")
    return BUILT


@pytest.fixture(scope="module")
def search(pages):
    """Return a function that returns the results of a question, best first: page, title, kind."""

    def ask(question):
        completed = subprocess.run(
            ["node", str(ASK), str(pages)], input=json.dumps([question]), capture_output=True, text=True, check=True
        )
        return [(page, title, kind) for page, title, *_, kind in json.loads(completed.stdout)[0]]

    return ask


@pytest.mark.parametrize(("question", "page"), FIRST.items(), ids=lambda value: value.replace("/", "-"))
def test_a_question_leads_to_its_page(question, page, search):
    assert search(question)[0][0] == page


@pytest.mark.parametrize("word", VERBS)
def test_guides_come_before_names_of_the_api(word, search):
    first, *_, kind = search(word)[0]
    assert first.startswith(("howto/", "tutorial"))
    assert kind != "object"


def test_a_name_with_dots_leads_to_the_api(search):
    assert search("commmodel.predict.send")[0][1:] == ("commmodel.predict.send", "object")


def test_a_page_is_listed_once_by_its_title(search):
    results = [result for result in search("my halo exchange is slow") if result[0] == "howto/slow-halo"]
    assert [title for _, title, kind in results if kind != "object"] == ["My halo exchange is slow"]
    titles = [title for _, title, _ in search("which message size should I use")]
    assert titles[0] == "Hide an exchange behind computation"
    assert titles.count(titles[0]) == 1


def test_a_term_of_the_glossary_is_listed_by_its_name(search):
    results = [result for result in search("eager limit") if result[0] == "reference/glossary"]
    assert results == [("reference/glossary", "Glossary: eager limit", "index")]


def test_headings_of_a_page_are_listed(search):
    assert ("howto/simulate", "Simulate a program on a platform > What if?", "title") in search("what if")


def test_unknown_words_find_nothing(search):
    assert search("xylophone") == []


@pytest.mark.parametrize("name", ["index", "howto/record", "reference/python/predict"])
def test_each_page_shows_the_version(name, pages):
    assert f'<div class="brand">commmodel {commmodel.__version__}</div>' in (pages / f"{name}.html").read_text("utf-8")


def test_phrases_of_keywords_are_not_shown(pages):
    text = (pages / "howto" / "record.html").read_text("utf-8")
    assert text.count("trace MPI calls") == 1  # in the metadata of the page
