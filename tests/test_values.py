"""What every public struct can do, whichever package it is of: ==, hash, pickle, copies, a repr of one line."""

import copy
import inspect
import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import msgspec
import numpy as np
import pytest
from support.structs import makers, public_classes, within

from commmodel import errors, simulate
from commmodel.simulate import platform
from commmodel.values import Value

LONGEST = 300


@pytest.fixture(scope="module")
def structs(tmp_path_factory):
    instances = {}
    for make in makers().values():
        within(make(tmp_path_factory.mktemp("sweep")), instances)
    return instances


@pytest.mark.parametrize("kind", [*public_classes()], ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_a_public_struct_is_a_value(structs, kind):
    assert kind in structs, "make one in tests/support/structs.py, or say in UNIQUE why it is no value"
    original = structs[kind]
    copies = [copy.copy(original), copy.deepcopy(original), pickle.loads(pickle.dumps(original))]  # noqa: S301
    for other in copies:
        assert type(other) is kind
        assert other == original
        assert not other != original  # noqa: SIM202
        assert hash(other) == hash(original)
    assert original != "another"
    assert "\n" not in repr(original)
    assert len(repr(original)) <= LONGEST


def test_values_differ_where_one_number_of_an_array_or_a_mapping_does():
    @dataclass(frozen=True)
    class Held(Value):
        numbers: np.ndarray
        words: dict[str, float]

    first = Held(np.array([1.0, np.nan]), {"a": 1.0, "b": np.nan})
    assert first == Held(np.array([1.0, np.nan]), {"b": np.nan, "a": 1.0})
    assert first != replace(first, numbers=np.array([2.0, np.nan]))
    assert first != replace(first, words={"a": 1.0})
    assert first != replace(first, numbers=np.array([[1.0, np.nan]]))
    assert len({first, copy.deepcopy(first), replace(first, words={})}) == 2


def test_platforms_differ_where_a_link_does_and_route_alike_when_copied():
    tree = platform.fat_tree([4, 4], [1, 2], [1, 2], 125e6, 15e-6)
    assert tree == platform.fat_tree([4, 4], [1, 2], [1, 2], 125e6, 15e-6)
    assert tree != platform.fat_tree([4, 4], [1, 2], [1, 2], 125e6, 16e-6)
    bare = replace(tree, description=None)
    for other in (tree, bare):
        copied = pickle.loads(pickle.dumps(other))  # noqa: S301
        assert copied.route(0, 5) == tree.route(0, 5)
        assert [*copied.host_names] == [*tree.host_names]
    assert replace(bare, capacity=bare.capacity / 2) != bare


def test_processes_simulate_on_an_own_platform():
    trees = [platform.fat_tree([4, 2], [1, 2], [1, 2], rate, 15e-6) for rate in (125e6, 250e6)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert [*pool.map(simulate.platform.Platform.bisection, trees)] == [tree.bisection() for tree in trees]


def test_errors_come_through_processes():
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.CommModelError)]
    assert len(kinds) > 6
    for kind in kinds:
        words = [1 if name == "exit_code" else "text" for name in inspect.signature(kind).parameters]
        error = kind(*words)
        again = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert (type(again), str(again), again.exit_code) == (kind, str(error), error.exit_code)


def test_json_of_structs_is_strict(structs):
    def plain(value):
        return value.tolist() if hasattr(value, "tolist") else repr(value)

    for struct in structs.values():
        if isinstance(struct, msgspec.Struct):
            text = msgspec.json.encode(struct, enc_hook=plain)
            json.loads(text, parse_constant=lambda word: pytest.fail(word))
