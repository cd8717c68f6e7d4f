"""Every promised function and struct of settings refuses a wrong argument by an error of ours that names it."""

import dataclasses
import inspect
import math
import re
import sys
from collections.abc import Hashable
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import numpy as np
import pytest
from numpy.typing import ArrayLike
from support.promised import promised
from support.structs import makers, public_classes, within

from commmodel import collectives, formats, models, simulate
from commmodel.bench import kernels
from commmodel.collectives import Nodes, Problem
from commmodel.errors import CommModelError
from commmodel.optimize import MessageCosts, TransferProblem, choose
from commmodel.results import Record
from commmodel.results.configurations import Function, PingPong
from commmodel.simulate.platform import flat
from commmodel.simulate.scenario import place, prepare, workloads

OTHERWISE = {
    "commmodel.collectives.block_round", "commmodel.collectives.vector_round", "commmodel.overlap.Exchange.from_choice",
    "commmodel.overlap.Exchange.run", "commmodel.overlap.exchange",
    "commmodel.pytest_plugin.Scaling.count", "commmodel.units.format_rate", "commmodel.units.format_size",
    "commmodel.units.format_time",
}  # fmt: skip
"""What ranks refuse together, what says how it is spelt in a mark, and what takes NaN: arrays, texts of numbers."""
ANSWERS = {
    "SendAdvice", "WayTime",
    "Advice", "AdvisedOption",
    "Algorithm", "Bounds", "BrokenRule", "Call", "CandidateMapping", "ChangePoint", "CheckResult", "Choice", "Choices",
    "CallPrediction", "CollectedSeries",
    "CollectivePrediction", "CollectivePredictions", "ComparedTime", "Comparison", "CountChange", "CountComparison",
    "CriticalPath", "DevicePrediction", "Difference",
    "Differences",
    "Efficiency", "ErrorSummary", "Failure", "Finding", "FitReport", "Fits", "GatherResult", "GuardResult", "History",
    "HistoryPoint",
    "HistoryRun", "HistorySeries", "JobRuns", "JobState", "JointVerdict", "Judgement",
    "LibraryRules", "Matrix", "MeasuredRules", "Model", "ModelChoice", "Operation", "PartitionedGain", "PathShare",
    "PhysicsDoubt",
    "Place", "Platform", "Prediction", "Predictions", "Profile", "RankCall", "RankMapping", "RecordedExchange",
    "RejectedCandidate", "ScalePrediction",
    "Schedule", "Seconds", "Sensitivity", "SideBySide", "SimulationResult", "Site", "SiteChange", "SiteContent",
    "SiteGain", "SlowNode", "Summary",
    "SurfaceModel", "Text", "TextLine", "Timeline", "Times", "Traffic", "Violation",
}  # fmt: skip
"""Public structs that commmodel makes for its users; they make all others, and `register` checks a `Format`."""
INPUTS = {kind for kind in public_classes() if kind.__name__ not in ANSWERS | {"Format"}}


def arms(annotation: Any) -> list[Any]:
    """Types of which an argument may be."""
    if get_origin(annotation) in {Union, UnionType}:
        return [arm for part in get_args(annotation) for arm in arms(part)]
    return [annotation]


def types_of(annotation: Any, module: str) -> list[Any]:
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, {**vars(sys.modules[module])})  # noqa: S307  # our own
        except NameError:
            return []
    return arms(annotation)


def wrong_values(types: list[Any]) -> list[object]:
    """Values that are of none of some types."""
    if {Any, object, Hashable, *arms(ArrayLike)} & {*types} or inspect.Parameter.empty in types:
        return []
    wrong: list[object] = [object()] if types else []
    if any(get_origin(kind) is Literal for kind in types) and str not in types:
        wrong.append("nosuch-word")
    if {int, float} & {*types}:
        wrong += [math.nan, [object()], -(2**70) if float not in types else math.nan]
        wrong += ["many"] if str not in types else []
    if types == [bool]:
        wrong.append("yes")
    return wrong


@pytest.mark.parametrize("name", sorted({*promised()} - OTHERWISE))
def test_a_wrong_argument_is_refused_by_its_name(name):
    """What is wrong is refused before it is asked what is missing, so that one argument is enough."""
    function = promised()[name]
    call = getattr(function, "__func__", function)
    for key, part in inspect.signature(inspect.unwrap(call)).parameters.items():
        if key not in {"self", "cls"} and part.kind is not part.VAR_KEYWORD:
            for wrong in wrong_values(types_of(part.annotation, call.__module__)):
                with pytest.raises(CommModelError, match=rf"^{key}\b") as caught:
                    call(**{key: wrong})
                assert caught.value.parameter.startswith(key)


@pytest.fixture(scope="module")
def structs(tmp_path_factory):
    instances = {}
    for make in makers().values():
        within(make(tmp_path_factory.mktemp("structs")), instances)
    return instances


@pytest.mark.parametrize("kind", sorted(INPUTS, key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
def test_a_wrong_field_is_refused_by_its_name(structs, kind):
    names = getattr(kind, "__struct_fields__", None) or [part.name for part in dataclasses.fields(kind) if part.init]
    content = {name: getattr(structs[kind], name) for name in names}
    assert kind(**content) == structs[kind]
    for part in reversed(kind.__mro__):
        for name, annotation in getattr(part, "__annotations__", {}).items():
            for wrong in wrong_values(types_of(annotation, part.__module__)) if name in names else ():
                with pytest.raises(CommModelError, match=rf"^{name}\b") as caught:
                    kind(**content | {name: wrong})
                assert caught.value.parameter.startswith(name)


@pytest.mark.parametrize(("field", "value"), [("message_size", -1), ("batch", 0), ("path", "nosuch")])
def test_a_number_of_a_file_out_of_its_range_is_refused_in_python_too(field, value):
    with pytest.raises(CommModelError, match=f"^{field} is "):
        PingPong(**{"message_size": 8, "path": "any", field: value})
    with pytest.raises(CommModelError, match=r"^samples is "):
        Record(PingPong(8, "any"), "s", ())


SENDS = MessageCosts(latency=1e-6, byte_time=1e-9)
TRANSFER = TransferProblem(1 << 20, 1e-3)
OF_USERS = {
    "algorithm with rounds 5": lambda _: collectives.build("bcast", "wrong", Problem(2, 8)),
    "overhead of text": lambda _: choose(msgspec.structs.replace(SENDS, overhead=lambda *_: "much"), TRANSFER),
    "overhead of one argument": lambda _: choose(msgspec.structs.replace(SENDS, overhead=lambda _: 1e-6), TRANSFER),
    "question of no argument": lambda _: simulate.what_if.predictions(lambda: 3, ["graphene"]),
    "question with answer 3": lambda _: simulate.what_if.predictions(lambda *_: 3, ["graphene"]),
    "recognise raises": lambda path: formats.load(path),
    "parse returns 5": lambda path: formats.load(path, "wrong"),
    "format without functions": lambda _: formats.register("other", formats.Format(3, 4, "nothing")),
    "kernel without name": lambda _: kernels.register(
        kernels.Kernel("of mine", (Function,), lambda *_: [], lambda *_: None)
    ),
}


@pytest.mark.parametrize("case", OF_USERS)
def test_a_wrong_function_of_a_user_is_refused_by_its_name(case, tmp_path, monkeypatch):
    monkeypatch.setitem(collectives.ALGORITHMS["bcast"], "wrong", collectives.Algorithm("bcast", "wrong", lambda _: 5))
    readers = formats.Format(lambda lines: {}[lines[0]] if "raises" in case else 1, lambda _: 5, "nothing")
    monkeypatch.setitem(formats.REGISTRY, "wrong", readers)
    path = tmp_path / "measured.txt"
    path.write_text("8 1.5\n")
    with pytest.raises(CommModelError) as caught:
        OF_USERS[case](path)
    assert "\n" not in str(caught.value)
    assert re.search(r"overhead|question|wrong|recognise|name", str(caught.value))


@pytest.mark.parametrize(("sender", "receiver"), [(0, [1.5]), ([0, 1], [1, 2, 3]), (0, "1")])
def test_messages_between_what_are_no_ranks_are_refused(sender, receiver):
    with pytest.raises(CommModelError) as caught:
        collectives.vector_round(Problem(8, 8), sender, receiver)
    assert caught.value.parameter == "receiver"


def test_one_rank_sends_the_whole_vector_to_many_or_to_none():
    rounds = [collectives.vector_round(Problem(3, 8), 0, ranks) for ranks in ([1, 2], [])]
    assert [(round_.sender.tolist(), round_.receiver.tolist(), round_.size.tolist()) for round_ in rounds] == [
        ([0, 0], [1, 2], [8, 8]), ([], [], [])
    ]  # fmt: skip
    assert rounds[1].receiver.dtype == np.int64


@pytest.mark.parametrize("ranks", [[0, 9], [-1, 0]])
def test_a_rank_that_an_algorithm_makes_up_is_refused(monkeypatch, ranks):
    def outside(problem):
        yield collectives.Round(np.array(ranks[:1]), np.array(ranks[1:]), np.array([8]))

    monkeypatch.setitem(collectives.ALGORITHMS["bcast"], "outside", collectives.Algorithm("bcast", "outside", outside))
    for call in (
        lambda: simulate.collective("bcast", 8, 4, on="graphene", algorithm="outside"),
        lambda: collectives.verify("bcast", "outside", 4),
    ):
        with pytest.raises(CommModelError, match=r"algorithm outside of bcast: .* numbered from 0"):
            call()


@pytest.mark.parametrize("arguments", [(8,), (8, 1e-6, 1e-9, 3), (8, np.nan, 1e-9), (8, None, 1), ([8, np.nan], 1, 1)])
def test_a_formula_takes_all_its_numbers_and_no_nan(arguments):
    with pytest.raises(CommModelError, match=r"^(postal\.time: .*it takes message_size|alpha is|message_size is)"):
        models.postal.time(*arguments)


@pytest.mark.parametrize("sharing", ["splt", None, 1])
def test_a_misspelt_sharing_of_links_changes_no_number(sharing):
    with pytest.raises(CommModelError, match=r"^sharing is "):
        flat(16, 1e9, 1e-6, sharing=sharing)


@pytest.mark.parametrize(("between", "nearest"), [({"allredcue": "ring"}, "did you mean allreduce"), ({1: "ring"}, "")])
def test_a_misspelt_operation_of_nodes_is_refused(between, nearest):
    with pytest.raises(CommModelError, match=f"^between is .*{nearest}"):
        Nodes(4, between=between)


GRAPHENE = place("graphene")
BCAST = workloads.collective(GRAPHENE, "bcast", Problem(8, 1024))


@pytest.mark.parametrize("count", [np.int64(2), np.array(2), np.float64(2)])
def test_a_number_of_numpy_is_no_file(count):
    """`open` would take it for a descriptor, and close it."""
    assert prepare(GRAPHENE, BCAST, mapping=count).placement == prepare(GRAPHENE, BCAST, mapping=2).placement


@pytest.mark.parametrize("mapping", [[0, 5], range(8), np.arange(8), ("node-1",), Path("hosts")], ids=str)
def test_ranks_lie_where_a_list_or_a_file_says(mapping, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = GRAPHENE.platform.host_names
    Path("hosts").write_text(f"{names[0]}\n{names[5]}\n")
    assert prepare(GRAPHENE, BCAST, mapping=mapping).hosts is not None


@pytest.mark.parametrize("mapping", [[1.5, 0], [None], "rond-robin", 0, -1, True, [], 3.5])
def test_a_wrong_mapping_is_refused(mapping):
    with pytest.raises(CommModelError, match=r"^mapping"):
        prepare(GRAPHENE, BCAST, mapping=mapping)
    with pytest.raises(CommModelError, match=r"^mapping"):
        GRAPHENE.platform.place(2, mapping)


def test_no_processes_are_not_the_default():
    with pytest.raises(CommModelError, match=r"^processes"):
        workloads.exchange(GRAPHENE, "ring", 8, 0)
