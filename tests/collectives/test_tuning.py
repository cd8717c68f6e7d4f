"""Rules made from predictions, written for a library and read back."""

from itertools import product

import pytest
from support.effort import some
from support.made_up_times import made_up

from commmodel.collectives import ALGORITHMS
from commmodel.collectives.algorithms.blocks import power_below
from commmodel.collectives.library.selection import SelectionRule, Selector, dump, dumps, load, select
from commmodel.collectives.library.tuning import tune
from commmodel.collectives.operation import SCHEDULED
from commmodel.errors import InputError

GRID_SIZES = [1, 8, 64, 1000, 4096, 10_000, 2**20]
GRID_PROCESSES = [2, 4, 6, 8, 16, 17, 48, 64, 100]
LOOKED_AT = sorted({grid_size + step for grid_size in GRID_SIZES for step in (-1, 0, 1, 57)} | {2**25})
LOOKED_AT_PROCESSES = some(range(1, 140), 30)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rules"


@pytest.mark.parametrize(("library", "kind"), [("openmpi", "openmpi"), ("openmpi", "openmpi-json"), ("mpich", "mpich")])
def test_tuned_rules_written_for_a_library_and_read_back_pick_the_same(file, library, kind):
    tuned = tune(made_up, SCHEDULED, GRID_SIZES, GRID_PROCESSES, library)
    dump(tuned, file, kind)
    back = load(file)
    result = set()
    for operation, size, processes in product(SCHEDULED, LOOKED_AT, LOOKED_AT_PROCESSES):
        expected = select(tuned, operation, size, processes)
        entry = select(back, operation, size, processes)
        assert (entry.algorithm, entry.segment_size) == (expected.algorithm, expected.segment_size), (operation, size)
        result.add((operation, entry.algorithm))
    assert len(result) > 15


@pytest.mark.parametrize("library", ["", "openmpi", "mpich"])
def test_tuned_rules_pick_the_fastest_at_every_point_of_the_grid(library):
    tuned = tune(made_up, ["bcast", "allgather", "alltoall"], GRID_SIZES, GRID_PROCESSES, library)
    values = {rule.operation: set() for rule in tuned.rules}
    for rule in tune(made_up, values, GRID_SIZES, GRID_PROCESSES, library).rules:
        values[rule.operation].add(rule.algorithm)
    for operation, size, processes in product(values, GRID_SIZES, GRID_PROCESSES):
        chosen = select(tuned, operation, size, processes).algorithm
        power = processes == power_below(processes)
        for name in values[operation]:
            needs = ALGORITHMS[operation][name].needs
            if name == "pairwise" and library == "mpich" and power:
                continue  # MPICH's is by XOR there
            if needs.get("power_of_two", power) == power and needs.get("even", processes % 2 == 0) == (
                processes % 2 == 0
            ):
                assert made_up(operation, chosen, size, processes) <= made_up(operation, name, size, processes)


def test_neighbours_with_the_same_choice_are_one_rule():
    tuned = tune(lambda *_: 1.0, ["bcast", "barrier"], GRID_SIZES, GRID_PROCESSES, "openmpi")
    assert [(rule.operation, rule.upto, rule.processes_upto) for rule in tuned.rules] == [
        ("bcast", None, None),
        ("barrier", None, None),
    ]


def test_a_choice_holds_from_its_point_up_to_the_next():
    def predict(_, algorithm, size, processes):
        return (
            {"binomial-at-once": 10, "linear": size}.get(algorithm, 1000)
            if processes < 8
            else 5 * (algorithm != "chain")
        )

    tuned = tune(predict, ["bcast"], [1, 5, 50], [2, 8], "openmpi")
    chosen = {case: select(tuned, "bcast", *case).algorithm for case in [(0, 1), (49, 7), (50, 2), (10**6, 7), (0, 8)]}
    assert list(chosen.values()) == ["linear", "linear", "binomial-at-once", "binomial-at-once", "chain"]


def test_what_cannot_be_tuned_is_said():
    def never(*_):
        raise InputError("not today")

    with pytest.raises(InputError, match="no algorithm of bcast can be predicted on 2 processes"):
        tune(never, ["bcast"], [1], [2])
    with pytest.raises(InputError, match=r"sizes is .*: give at least one number, from 0 up"):
        tune(made_up, ["bcast"], [], [2])
    with pytest.raises(InputError, match="library is 'lam'"):
        tune(made_up, ["bcast"], [1], [2], "lam")
    with pytest.raises(InputError, match=r"operations.* is 'gossip'"):
        tune(made_up, ["gossip"], [1], [2])


def on_nodes(operation, algorithm, size, processes, nodes):
    """Return a made-up time on nodes: two levels are best for few bytes, and within nodes all is faster."""
    assert nodes is not None
    seconds = made_up(operation, algorithm, size, processes) * (0.5 if nodes.per_node >= processes else 1.0)
    return seconds * (0.01 if algorithm == "two-level" and size < 5000 else 100 if "two-level" in algorithm else 1)


@pytest.mark.parametrize(
    ("library", "kind"), [("openmpi", "openmpi"), ("openmpi-6", "openmpi-json"), ("mpich", "mpich")]
)
def test_rules_on_nodes_written_for_a_library_and_read_back_pick_the_same(file, library, kind):
    tuned = tune(on_nodes, SCHEDULED, [1, 1000, 10_000], [4, 8, 16, 64], library, per_node=4)
    dump(tuned, file, kind)
    back = load(file)
    has_levels = {"barrier", "bcast", "reduce", "allreduce"}
    for operation, size, processes in product(SCHEDULED, [1, 1000, 10_000], [8, 16, 64]):
        best = select(tuned, operation, size, processes, per_node=4).algorithm
        if operation in has_levels and (size < 5000 or operation == "barrier"):
            assert best == "two-level"
        if library == "mpich":
            assert select(back, operation, size, processes, per_node=4).algorithm == best
    for operation, size, (processes, per_node) in product(SCHEDULED, [1, 1000, 10_000], [(4, 4), (2, 1), (16, 1)]):
        expected = select(tuned, operation, size, processes, per_node=per_node)
        assert expected.algorithm != "two-level"
        assert select(back, operation, size, processes, per_node=per_node).algorithm == expected.algorithm


def test_the_file_of_han_says_which_component_decides():
    tuned = tune(on_nodes, ["bcast", "alltoall"], [1, 1000, 10_000], [4, 8, 16], "openmpi", per_node=4)
    lines = [line.partition("#")[0].split() for line in dumps(tuned, "openmpi-han").splitlines()]
    words = [word for line in lines for word in line]
    assert words == ["1", "bcast", "1", "global_communicator", "1", "1", "2", "0", "han", "@simple", "10000", "tuned"]


def test_han_has_an_alltoall_in_open_mpi_6_alone(file):
    def predict(operation, algorithm, size, processes, nodes):  # mapped memory is best for small blocks
        seconds = made_up(operation, algorithm, size, processes)
        return seconds * (0.01 if algorithm == "two-level-steps" and size < 1000 else 1)

    grid = [1, 1000, 10_000], [4, 8, 16]
    assert "smsc" not in dumps(tune(predict, ["alltoall", "bcast"], *grid, "openmpi", per_node=4), "openmpi-han")
    dump(tune(predict, ["alltoall"], *grid, "openmpi-6", per_node=4), file, "openmpi-han")
    words = [word for line in file.read_text().splitlines() for word in line.partition("#")[0].split()]
    assert words == ["1", "alltoall", "1", "global_communicator", "1", "1", "2", "0", "han", "@smsc", "1000", "tuned"]
    back = load(file)
    assert select(back, "alltoall", 999, 16, per_node=4).algorithm == "two-level-steps"
    flat = select(load("openmpi"), "alltoall", 1000, 16).algorithm
    assert select(back, "alltoall", 1000, 16, per_node=4).algorithm == flat
    assert select(back, "alltoall", 999, 16, per_node=1).algorithm != "two-level-steps"


def test_the_files_of_han_and_tuned_read_back_together_pick_the_same(tmp_path):
    def predict(operation, algorithm, size, processes, nodes):  # two levels are best for many bytes
        seconds = made_up(operation, algorithm, size, processes) * (0.5 if nodes.per_node >= processes else 1.0)
        return seconds * (0.01 if algorithm == "two-level" and size > 500 else 100 if "two-level" in algorithm else 1)

    operations = ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"]
    tuned = tune(predict, operations, [1, 1000, 10_000], [4, 8, 16, 64], "openmpi", per_node=4)
    dump(tuned, tmp_path / "rules", "openmpi")
    dump(tuned, tmp_path / "rules.han", "openmpi-han")
    back = load(tmp_path / "rules.han")
    picked = set()
    for operation, size, (processes, per_node) in product(
        operations, [1, 999, 1000, 10_000], [(8, 4), (16, 4), (64, 4), (4, 4), (8, 1), (16, 1)]
    ):
        expected = select(tuned, operation, size, processes, per_node=per_node).algorithm
        assert select(back, operation, size, processes, per_node=per_node).algorithm == expected
        picked.add(expected)
    assert "two-level" in picked
    assert len(picked) > 5


def test_a_file_of_han_alone_names_other_components(file):
    file.write_text("1 bcast 2 intra_node 1 1 1 0 sm global_communicator 2 1 1 0 han @intra 32 2 0 sm 8 tuned # of all")
    back = load(file)
    assert select(back, "bcast", 8, 16, per_node=4).algorithm == "two-level-pipelined"
    assert select(back, "bcast", 8, 64, per_node=4).algorithm == select(load("openmpi"), "bcast", 8, 64).algorithm
    with pytest.raises(InputError, match="picks Open MPI's sm for bcast of 7 bytes"):
        select(back, "bcast", 7, 64, per_node=4)
    file.write_text("2 bcast 1 global_communicator 2 1 0 8 1 0 han @simple alltoall 1 global_communicator 0")
    assert select(load(file), "bcast", 8, 8, per_node=2).algorithm == "two-level"


def test_what_depends_on_nodes_only_is_refused_where_a_file_cannot_say_it():
    for distribution in ("single-node", "one-per-node"):
        rules = (SelectionRule("bcast", "binomial", distribution=distribution),)
        for kind in ("openmpi", "mpich"):
            with pytest.raises(InputError, match=f"file has no {distribution}"):
                dumps(Selector("mine", rules), kind)
    with pytest.raises(InputError, match="in two levels needs distribution"):
        dumps(Selector("mine", (SelectionRule("bcast", "two-level"),)), "mpich")
    with pytest.raises(InputError, match="per_node is 0"):
        tune(on_nodes, ["bcast"], [1], [2], per_node=0)


def test_where_a_file_has_a_size_once_the_sum_of_the_times_within_and_between_nodes_decides():
    def predict(_, algorithm, size, processes, nodes):
        within = nodes.per_node >= processes
        return {"binomial-at-once": 1 if within else 9, "linear": 9 if within else 2}.get(algorithm, 100)

    rules = tune(predict, ["bcast"], [1], [16], "openmpi", per_node=4)  # four nodes of four: 10 against 11
    assert select(rules, "bcast", 1, 4, per_node=4).algorithm == "binomial-at-once"
    rules = tune(predict, ["bcast"], [1], [16], "openmpi-6", per_node=4)
    assert select(rules, "bcast", 1, 4, per_node=4).algorithm == "binomial-at-once"
    assert select(rules, "bcast", 1, 4, per_node=1).algorithm == "linear"
