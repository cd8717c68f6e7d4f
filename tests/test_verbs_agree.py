"""One machine has one time: predict and simulate agree, where their models are the same."""

import json
from itertools import product

import pytest
from msgspec import structs
from support.effort import some

from commmodel import predict
from commmodel.cli import main
from commmodel.collectives import ALGORITHMS, CollectiveSettings, Nodes, Problem
from commmodel.errors import InputError
from commmodel.machine import Limit, LogGP, Machine, Parameter, PLogP, Segment, dump
from commmodel.predict.collective import chosen_rule
from commmodel.simulate.platform import flat
from commmodel.simulate.scenario import Place, prepare, workloads

LOGGP = LogGP(Parameter(2e-6), Parameter(1e-6), Parameter(2e-6), Parameter(1e-9))
SEGMENTS = (Segment("all", path="between-nodes", loggp=LOGGP),)
COSTLY = Machine("m", SEGMENTS, memory_copy=Parameter(1e-8), reduction=Parameter(3e-8), selector="mpich")


def _segments(path, factor):
    """Two protocols on a path, so that parameters hang on sizes."""
    eager = LogGP(*(Parameter(factor * value) for value in (2.03e-6, 1.01e-6, 2.2e-6, 1.07e-9)))
    rendezvous = LogGP(*(Parameter(factor * value) for value in (5e-6, 1.5e-6, 3e-6, 0.6e-9)))
    return Segment("eager", path, Limit(1000), loggp=eager), Segment("rendezvous", path, loggp=rendezvous)


ON_NODES = Machine(
    "n",
    (*_segments("between-nodes", 1.0), *_segments("same-node", 0.317)),
    memory_copy=Parameter(1e-9),
    selector="openmpi",
)
ALGORITHM_NAMES = [
    (operation, name) for operation, forms in ALGORITHMS.items() for name in forms if not forms[name].stages
]


def times(machine, operation, problem, model, *, algorithm=None):
    place = Place("m", machine=machine)
    try:
        predicted = predict.collective(machine, operation, problem, algorithm=algorithm, model=model)
    except InputError as error:
        with pytest.raises(InputError, match=str(error)[:20]):
            prepare(place, workloads.collective(place, operation, problem, algorithm=algorithm), model).run()
        return 0.0, 0.0
    workload = workloads.collective(place, operation, problem, algorithm=algorithm)
    assert workload.facts["algorithm"] == predicted.algorithm
    return predicted.time.seconds, prepare(place, workload, model).run().seconds


@pytest.mark.parametrize("model", ["loggp", "logp"])
@pytest.mark.parametrize(("operation", "algorithm"), ALGORITHM_NAMES)
def test_each_algorithm_takes_as_long_by_either_verb(operation, algorithm, model):
    sizes = (0, 1, 4096) if operation != "barrier" else (0,)
    for processes in some((1, 2, 3, 6, 8, 16, 13), 4):
        for size in sizes:
            predicted, simulated = times(COSTLY, operation, Problem(processes, size), model, algorithm=algorithm)
            assert simulated == pytest.approx(predicted, rel=1e-12, abs=1e-18), (processes, size)


@pytest.mark.parametrize(
    ("operation", "algorithm"), [(name, form) for name, forms in ALGORITHMS.items() for form in forms]
)
@pytest.mark.parametrize("per_node", [None, 4])
def test_by_default_each_algorithm_takes_as_long_by_either_verb(operation, algorithm, per_node):
    place = Place("n", machine=ON_NODES)
    compared = 0
    for processes, size in product(some((3, 4, 8, 12, 16), 3), (0, 8, 4096) if operation != "barrier" else (0,)):
        nodes = None if per_node is None else Nodes(per_node)
        try:
            predicted = predict.collective(
                ON_NODES, operation, Problem(processes, size, nodes=nodes), algorithm=algorithm
            )
            workload = workloads.collective(place, operation, Problem(processes, size), algorithm=algorithm)
            scenario = prepare(place, workload, mapping=per_node)
            seconds = scenario.run().seconds
        except InputError:  # not on so many processes, or on nodes that are not known or not full
            continue
        assert scenario.model == predicted.model == "loggp"
        assert seconds == pytest.approx(predicted.time.seconds, rel=1e-12), (processes, size)
        compared += 1
    assert compared or (per_node is None and ALGORITHMS[operation][algorithm].stages)


@pytest.mark.parametrize("selector", ["mpich-5.0", "openmpi"])
@pytest.mark.parametrize("operation", ALGORITHMS)
def test_by_default_either_verb_takes_the_same_algorithm_on_nodes(tmp_path, capsys, operation, selector):
    dump(structs.replace(ON_NODES, selector=selector), tmp_path / "n.toml")
    rows = [operation, "-p", "16", "-k", "4", "--json", *(["-n", "8KiB"] if operation != "barrier" else [])]
    results = []
    for verb in ("predict", "simulate"):
        assert main([verb, str(tmp_path / "n.toml"), *rows]) == 0
        results.append(json.loads(capsys.readouterr().out))
    predicted, simulated = results
    assert simulated["work"]["algorithm"] == predicted["algorithm"]
    assert simulated["model"] == predicted["model"]
    assert simulated["seconds"] == pytest.approx(predicted["seconds"], rel=1e-12)


@pytest.mark.parametrize(
    ("options", "algorithm"),
    [
        (["allreduce", "-n", "60", "--element", "4"], "recursive-doubling"),
        (["allreduce", "-n", "60", "--element", "1"], "ring"),
        (["allreduce", "-n", "64KiB", "--operator", "non-commutative"], "recursive-doubling"),
        (["reduce_scatter", "-n", "8", "--operator", "non-commutative"], "binary-in-order-then-linear"),
        (["alltoall", "-n", "8", "--in-place"], "shift-in-place"),
    ],
)
def test_the_call_is_said_in_the_same_way_to_either_verb(tmp_path, capsys, options, algorithm):
    dump(ON_NODES, tmp_path / "n.toml")
    for verb in ("predict", "simulate"):
        assert main([verb, str(tmp_path / "n.toml"), *options, "-p", "16", "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert (printed["algorithm"] if verb == "predict" else printed["work"]["algorithm"]) == algorithm


def test_where_defaults_differ_simulate_says_so():
    table = PLogP(L=Parameter(1e-6), sizes=[1, 1000], o_s=[1e-6] * 2, o_r=[1e-6] * 2, g=[3e-6] * 2)
    for machine, entry in ((ON_NODES, False), (structs.replace(ON_NODES, plogp=(table,)), True)):
        place = Place("n", machine=machine)
        scenario = prepare(place, workloads.collective(place, "bcast", Problem(4, 8)))
        assert any("predict takes plogp" in note for note in scenario.notes) == entry
        assert not prepare(place, workloads.collective(place, "bcast", Problem(4, 8)), "loggp").notes


@pytest.mark.parametrize("selector", ["mpich", "mpich-5.0", "openmpi", "mvapich2-1.0"])
@pytest.mark.parametrize("operation", ALGORITHMS)
def test_selectors_pick_the_same_for_either_verb(operation, selector):
    machine = Machine("m", SEGMENTS, memory_copy=Parameter(1e-8), selector=selector)
    for processes in (2, 7, 16):
        for size in (8, 200, 70_000) if operation != "barrier" else (0,):
            predicted, simulated = times(machine, operation, Problem(processes, size), "loggp")
            assert simulated == pytest.approx(predicted, rel=1e-12), (processes, size)


@pytest.mark.parametrize("options", [[], ["--copy", "1ns/B"], ["--copy", "1ns/B", "--reduction", "0ns/B"]])
def test_options_mean_the_same_for_either_verb(tmp_path, capsys, options):
    dump(COSTLY, tmp_path / "m.toml")
    request = ["reduce_scatter_block", "-n", "64KiB", "-p", "12", "--model", "loggp", "--json", *options]
    seconds = []
    for verb in ("predict", "simulate"):
        assert main([verb, str(tmp_path / "m.toml"), *request]) == 0
        seconds.append(json.loads(capsys.readouterr().out)["seconds"])
    assert seconds[0] == pytest.approx(seconds[1], rel=1e-12)


@pytest.mark.parametrize("selector", ["mpich-5.0", "openmpi"])
@pytest.mark.parametrize("operation", ALGORITHMS)
def test_ranks_that_share_nodes_have_the_same_algorithms_by_either_verb(operation, selector):
    machine = Machine("m", SEGMENTS, selector=selector)
    place = Place("m", platform=flat(4, 1e9, 1e-6, cores=4), machine=machine)
    size = 4096 if operation != "barrier" else 0
    workload = workloads.collective(place, operation, Problem(16, size))
    for per_node in (1, 4):
        platform = flat(16 // per_node, 1e9, 1e-6, cores=per_node)
        on_nodes = prepare(Place("m", platform, machine), workload, "loggp").workload
        name, *_ = chosen_rule(machine, operation, Problem(16, size, nodes=Nodes(per_node)))
        assert on_nodes.facts["algorithm"] == name


def test_what_is_asked_for_comes_before_the_machine():
    place = Place("m", machine=COSTLY)
    assert place.settings_or(None).byte_times == (1e-8, 3e-8)
    assert place.settings_or(CollectiveSettings("openmpi", memory_copy=0.0)).byte_times == (0.0, 3e-8)
    assert place.settings_or(CollectiveSettings("openmpi")).name == "openmpi"
    assert Place("nowhere").settings.byte_times == (0.0, 0.0)
    alone = CollectiveSettings(memory_copy=2e-9)
    assert alone.byte_times == (2e-9, 2e-9)  # combining takes as long as copying
