"""The surface of times: every value against the plain formulas, and against what is chosen."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choosing import choose, surface

from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import LogGP, Machine, OverlapProfile, Parameter, ParameterTable, Segment
from commmodel.optimize import search

NUMBERS = {"overhead": 2e-6, "latency": 10e-6, "byte_time": 1 / 900e6}
PATTERNS = {
    "point-to-point": search.ALONE,
    "multiple-end-points-contiguous": search.ALONE,
    "multiple-end-points-interleaved": search.ALONE,
    "end-point-congestion": search.CONGESTED,
    "all-to-all-same-order": search.CONGESTED,
    "all-to-all-contiguous": search.CONTIGUOUS,
    "all-to-all-interleaved": search.INTERLEAVED,
}
AXIS = st.lists(st.integers(1, 10**7), min_size=1, max_size=4)
TABLES = {
    "overhead": ParameterTable((1024, 1 << 20), (1, 64), ((1e-6, 5e-7), (8e-6, 2e-6))),
    "byte_time": ParameterTable((1024, 1 << 20), (1, 8), ((2e-9, 4e-9), (1e-9, 3e-9))),
    "progress": ParameterTable((1024, 65536), (1,), ((1.0,), (0.25,))),
}


def constant(value, _size, _count):
    return value


def plainly(V, S, b, t, pattern, implementation, peers, o, L, G, progress):
    """Return one time, by the plain Python forms."""
    parts = peers if pattern == "all-to-all-same-order" else 1
    repeats = peers if pattern.startswith("multiple") or parts > 1 else 1
    largest = -(-V // max(1, peers - 1)) if pattern.startswith("all") else V
    V, t = V / parts, t / parts
    N = math.ceil(V / S)
    own_o = max(o(S, b), o(largest, 1) / math.ceil(largest / min(S, largest)))
    G_V = G(largest, peers)
    code = {"pipelined": search.PIPELINED, "tight": search.TIGHT}[implementation]
    return search.whole_time(
        search.Method(search.BOUNDED, code, search.EITHER, PATTERNS[pattern], peers, repeats),
        search.Cut(V, V / N, N / math.ceil(N / b), t),
        search.CostsOfMessage(own_o, L, max(G(S, peers), G_V), G_V, progress(S, b)),
    )


@given(
    AXIS, AXIS, st.lists(st.integers(1, 100), min_size=1, max_size=4),
    st.lists(st.floats(0, 1), min_size=1, max_size=4), st.sampled_from(sorted(PATTERNS)),
    st.sampled_from(["pipelined", "tight"]), st.booleans(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_time_is_that_of_the_plain_formulas(
    volumes, sizes, bursts, computations, pattern, implementation, tables
):
    peers = 1 if pattern == "point-to-point" else 6
    options = {**NUMBERS, **TABLES} if tables else NUMBERS
    result = surface(
        volumes, sizes, bursts, computations, pattern=pattern, implementation=implementation, peers=peers, **options
    )
    assert result.shape == (len(volumes), len(sizes), len(bursts), len(computations))
    o, byte_time, share = (
        TABLES[name].at if tables else partial(constant, value)
        for name, value in (("overhead", 2e-6), ("byte_time", 1 / 900e6), ("progress", 1.0))
    )
    expected = [
        [[[plainly(V, S, b, t, pattern, implementation, peers, o, 10e-6, byte_time, share) for t in computations]
          for b in bursts] for S in sizes] for V in volumes
    ]  # fmt: skip
    assert result == pytest.approx(np.array(expected), rel=1e-12)


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_the_least_of_a_surface_is_what_is_chosen(pattern):
    V, peers = 1 << 20, 1 if pattern == "point-to-point" else 5
    sizes, bursts = [2**step for step in range(7, 19)], [1, 2, 4]
    options = {**NUMBERS, "overhead": 1e-7, "pattern": pattern, "peers": peers}  # no constraint is broken
    times = surface([V], sizes, bursts, [5e-4], **options)[0, :, :, 0]
    chosen = choose(V, 5e-4, sizes=sizes, bursts=bursts, **options)
    assert chosen.seconds == times.min()
    assert times[sizes.index(chosen.message_size), bursts.index(chosen.burst)] == pytest.approx(times.min())


def test_a_machine_gives_the_parameters_of_each_size():
    loggp = LogGP(Parameter(5e-6), Parameter(1e-6), Parameter(1e-6), Parameter(1e-9))
    bare, profiled = (
        Machine("m", (Segment("all", loggp=loggp),), overlap=overlap)
        for overlap in ((), (OverlapProfile(overhead=TABLES["overhead"], progress=TABLES["progress"]),))
    )
    axes = [1 << 20], [512, 4096, 1 << 19], [1, 3, 64], [0.0, 1e-3]
    by_numbers = {"overhead": 2e-6, "latency": 5e-6, "byte_time": 1e-9}
    assert np.array_equal(surface(*axes, bare), surface(*axes, **by_numbers))
    by_tables = by_numbers | {name: TABLES[name] for name in ("overhead", "progress")}
    assert np.array_equal(surface(*axes, profiled), surface(*axes, **by_tables))
    with pytest.raises(MissingParameterError, match=r"commmodel\.bench pingpong burst"):
        surface(*axes, Machine("m", (Segment("all"),)))


def test_an_array_at_hand_takes_the_result():
    out = np.full((1, 2, 1, 3), np.nan)
    axes = [4096], [64, 512], [2], [0.0, 1e-6, 1e-3]
    assert surface(*axes, **NUMBERS, out=out) is out
    assert np.array_equal(out, surface(*axes, **NUMBERS))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"volumes": []}, "volumes has shape"),
        ({"sizes": [[1, 2]]}, "sizes has shape"),
        ({"bursts": [0.5]}, "bursts: give finite numbers, all from 1 up"),
        ({"computations": [-1.0]}, "computations: .* from 0 up"),
        ({"computations": [math.nan]}, "computations: .* finite"),
        ({"sizes": ["large"]}, "give numbers"),
        ({"implementation": "any"}, "choose one of pipelined, tight"),
        ({"pattern": "ring"}, "choose one of point-to-point"),
        ({"peers": 3}, "point-to-point has one peer"),
        ({"latency": None}, "give a machine, or all three"),
        ({"overhead": math.inf}, "overhead is inf: give a finite number from 0 up"),
        ({"out": np.zeros((1, 1))}, r"out: give an array of float64 of shape \(1, 1, 1, 1\)"),
        ({"out": np.zeros((1, 1, 1, 1), dtype=np.float32)}, "out: give an array of float64"),
        ({"out": [[[[0.0]]]]}, r"out is .*: give"),
    ],
)
def test_what_makes_no_sense_is_refused(more, message):
    axes = {"volumes": [4096], "sizes": [64], "bursts": [1], "computations": [0.0]}
    with pytest.raises(InputError, match=message) as error:
        surface(**axes | NUMBERS | more)
    assert "\n" not in str(error.value)
