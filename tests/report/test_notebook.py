"""Structs as HTML in notebooks."""

import html.parser
import subprocess
import sys

import pytest
from support import structs

from commmodel import machine
from commmodel.simulate import platform, timeline
from commmodel.simulate.scenario import place, prepare, workloads
from commmodel.values import OneLine

SHOWN = {
    "CheckResult": "expected", "Choice": "Limited by", "CollectivePrediction": "closed form",
    "Judgement": "probability", "Machine": "latency", "Matrix": "destination", "Measurements": "one pair",
    "Prediction": "postal",
    "Profile": "MPI_", "SimulationResult": "SimulationResult", "Timeline": "<iframe", "Platform": "<svg",
}  # fmt: skip
"""Class -> what its view has."""
VOID = {"br", "img", "meta", "link", "input", "hr", "rect"}


class Balance(html.parser.HTMLParser):
    """Raises where an element is not closed."""

    def __init__(self):
        super().__init__()
        self.stack = []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.stack.pop() == tag


@pytest.fixture(scope="module")
def instances(tmp_path_factory):
    result = {}
    for make in structs.makers().values():
        structs.within(make(tmp_path_factory.mktemp("sweep")), result)
    return result


def test_every_struct_is_shown_or_left_to_its_repr(instances):
    views = {kind.__name__: value._repr_html_() for kind, value in instances.items() if isinstance(value, OneLine)}
    assert {name for name in SHOWN if SHOWN[name] not in (views[name] or "")} == set()
    for view in filter(None, views.values()):
        parser = Balance()
        parser.feed(view)
        assert parser.stack == []
        assert "<style" not in view
        assert "<script" not in view


def result():
    graphene = place("graphene")
    return prepare(graphene, workloads.exchange(graphene, "ring", 65536, 4)).run(record=True)


def test_a_simulated_timeline_is_headed_so():
    assert "Simulated run" in timeline.Timeline.of(result())._repr_html_()


def test_a_large_platform_is_drawn_small():
    tree = platform.fat_tree([16, 64], [1, 8], [1, 1], 12.5e9, 1e-6)
    view = tree._repr_html_()
    assert len(view) < 60_000
    assert "at most" in view


def test_names_in_a_view_are_text():
    scripted = platform.flat(2, 1e9, 1e-6, name="<script>alert(1)</script>")
    assert "<script" not in scripted._repr_html_()


def test_the_report_is_loaded_only_to_show():
    code = (
        "import sys, commmodel\n"
        "tree = commmodel.simulate.platform.flat(4, 1e9, 1e-6)\n"
        "assert 'commmodel.report' not in sys.modules\n"
        "assert tree._repr_html_().startswith('<svg')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_html_is_returned_and_not_displayed_too(monkeypatch):
    """In a notebook rich displays what is printed, wherever it is to go."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *_: pytest.fail("displayed"))
    assert "<pre" in machine.load("ranger")._repr_html_()
