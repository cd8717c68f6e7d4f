"""A verb parses, calls exactly one function of the library, and prints: of each verb, what its module calls."""

import sys
from pathlib import Path

import pytest
from support import report_samples, scaling_samples, structs

from commmodel import machine
from commmodel.cli import main

ANSWERING = ("fit", "predict", "optimize", "scaling", "simulate", "record", "sweep", "collectives")
PARSING = {
    "are_parameters", "collect", "dump", "is_recording", "is_trace", "is_convertible", "load", "machine_of_parameters",
    "parse_growth", "parse_parameters", "parse_product", "parse_scales", "place", "published", "with_byte_times",
}  # fmt: skip
"""Functions that make the arguments of a call of what was typed or of a file, or write a file of its result."""
MAKING = ("commmodel.simulate.scenario.workloads", "commmodel.collectives.operation")
"""Modules of such functions."""
LOGGP = "L=2us,o=1us,g=1us,G=1ns"
CALLS = {
    f"predict {LOGGP} bcast -n 8 -p 4": ["predict.collective.collective"],
    f"predict {LOGGP} bcast -n 8 -p 4 --algorithm all --copy 1ns/B": ["predict.collective.algorithms"],
    "predict machine.toml measurements results.jsonl": ["predict.comparison.compare"],
    "fit results.jsonl results.jsonl -o fitted.toml --resamples 20": ["fit.fit_report"],
    f"tune {LOGGP} -p 2,4 --sizes 8 --collectives bcast --library openmpi -o rules": ["predict.tuning.tune"],
    "simulate graphene bcast -n 8 -p 4": ["simulate.scenario.comparison.side_by_side"],
    "simulate graphene halo -n 8 -p 4 --compare loggp -o page.html --trace t.csv": [
        "simulate.scenario.comparison.side_by_side"
    ],
    "simulate graphene,switch bcast -n 8 -p 4": ["simulate.what_if.predictions"],
    "simulate graphene bcast -n 8 -p 2,4": ["simulate.sizes.sizes"],
    "simulate graphene bcast -n 8 -p 2 --sensitivity": [
        "simulate.sensitivity.sensitivity", "simulate.scenario.preparation.prepare"
    ],
    "optimize machine.toml --volume 8MiB --computation 3ms": ["optimize.choice.ranking"],
    "check mpi growing.jsonl": ["scaling.checking.check"],
    "compare growing.jsonl growing.jsonl": ["scaling.difference.differences"],
}  # fmt: skip
"""Words of a command -> the functions that its verb calls."""
SEVERAL = {
    "predict machine.toml send -n 8": ["predict.point_to_point.send", "optimize.communicating_processes"],
    "optimize machine.toml --volume 8MiB --computation 3ms --sensitivity":
        ["optimize.choice.ranking", "optimize.robustness.sensitivity", "optimize.robustness.misdiagnosis"],
}  # fmt: skip
"""Those whose answer is of several questions that the library answers one by one: beside the time of a message, how
many processes fill the node; beside a choice, how wrong the computation's time may be. `report` shows a section for
each question, and `sweep run` and `list` tell the state of files and registers."""


def calls_of(words, capsys):
    """Names of the functions of the library that modules of verbs call, in order, without repetitions."""
    calls = []

    def note(frame, event, _):
        caller = frame.f_back
        if event != "call" or caller is None or not caller.f_globals.get("__name__", "").startswith("commmodel.cli"):
            return
        function, module = frame.f_code, frame.f_globals["__name__"]
        if module == "commmodel.signatures" and "function" in frame.f_locals:  # the check before it
            module, function = frame.f_locals["function"].__module__, frame.f_locals["function"].__code__
        name, answers = function.co_qualname, module.split(".")[1:2]
        is_function = "." not in name and name not in PARSING and not name.startswith(("_", "<"))
        if is_function and answers and answers[0] in ANSWERING and module not in MAKING:
            calls.append(f"{module.removeprefix('commmodel.')}.{name}")

    sys.setprofile(note)
    try:
        code = main(words.split())
    finally:
        sys.setprofile(None)
    assert code in {0, 1}, capsys.readouterr().err
    return [*dict.fromkeys(calls)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    machine.dump(structs.overlapping(), "machine.toml")
    scaling_samples.write_results(Path("results.jsonl"), report_samples.cluster_measurements())
    scaling_samples.write_results(Path("growing.jsonl"), scaling_samples.measured(launches=5))


@pytest.mark.parametrize("words", [*CALLS, *SEVERAL])
def test_a_verb_calls_one_function(files, words, capsys):
    assert calls_of(words, capsys) == (CALLS | SEVERAL)[words]
