"""Every promised function and struct of settings refuses a wrong argument by an error of ours that names it."""

import dataclasses
import inspect
import math
import sys
from collections.abc import Hashable
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import pytest
from numpy.typing import ArrayLike
from support.promised import promised

from commmodel.collectives import CollectiveSettings, Nodes, Problem
from commmodel.errors import CommModelError
from commmodel.fit import FitSettings
from commmodel.optimize import Candidates, MessageCosts, TransferProblem
from commmodel.scaling import CheckSettings, MemoryLimit
from commmodel.simulate.delays import DelayModel, DelayParameters
from commmodel.simulate.platform import flat
from commmodel.simulate.scenario import Scale, place, prepare, workloads

OTHERWISE = {
    "commmodel.collectives.block_round", "commmodel.collectives.vector_round", "commmodel.overlap.Exchange.from_choice",
    "commmodel.overlap.Exchange.run", "commmodel.overlap.exchange",
    "commmodel.pytest_plugin.Scaling.count", "commmodel.units.format_rate", "commmodel.units.format_size",
    "commmodel.units.format_time",
}  # fmt: skip
"""What ranks refuse together, what says how it is spelt in a mark, and what takes NaN: arrays, texts of numbers."""
SETTINGS = [
    FitSettings(), CheckSettings(), MemoryLimit(1e9), Nodes(2), Problem(4, 8), CollectiveSettings(), Candidates(),
    TransferProblem(8, 1e-3), MessageCosts(), DelayParameters(1.0, 1.0), DelayModel(DelayParameters(1.0, 1.0)), Scale(),
]  # fmt: skip


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


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: type(settings).__name__)
def test_a_wrong_setting_is_refused_by_its_name(settings):
    replace = dataclasses.replace if dataclasses.is_dataclass(settings) else msgspec.structs.replace
    for name, annotation in get_type_hints(type(settings)).items():
        for wrong in wrong_values(arms(annotation)):
            with pytest.raises(CommModelError, match=rf"^{name}\b") as caught:
                replace(settings, **{name: wrong})
            assert caught.value.parameter.startswith(name)


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
