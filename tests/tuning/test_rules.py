"""Rules of measured choices, and how libraries are told of them."""

import pytest

from commmodel.collectives.library import selection
from commmodel.errors import InputError
from commmodel.predict import LibraryRules
from commmodel.tuning.rules import candidates, operations_of, selector_of
from commmodel.tuning.search import CellChoice, CollectiveCell

CHOSEN = [
    CellChoice(CollectiveCell("bcast", 8, 8), ""),
    CellChoice(CollectiveCell("bcast", 1024, 8), "chain"),
    CellChoice(CollectiveCell("bcast", 4096, 8), ""),
    CellChoice(CollectiveCell("alltoall", 16, 6), "linear"),
    CellChoice(CollectiveCell("alltoall", 64, 6), "bruck"),
]


@pytest.mark.parametrize("library", ["openmpi", "openmpi-6", "mpich"])
def test_a_file_says_what_was_chosen_and_nothing_else(library, tmp_path):
    rules = LibraryRules(library, selector_of(CHOSEN, library), ())
    rules.dump(tmp_path / "rules")
    loaded, default = selection.load(tmp_path / "rules"), selection.load("mpich" if library == "mpich" else "openmpi")
    for choice in CHOSEN:
        rule = selection.select(loaded, *choice.cell)
        expected = choice.algorithm or selection.select(default, *choice.cell).algorithm
        assert rule.algorithm == expected, choice
    for cell in (("bcast", 1024, 7), ("bcast", 1024, 9), ("allreduce", 8, 8)):
        assert selection.select(loaded, *cell) == selection.select(default, *cell) or library == "mpich"
    assert selection.select(loaded, "bcast", 4095, 8).algorithm == "chain"


@pytest.mark.parametrize("library", ["openmpi", "openmpi-6"])
def test_a_file_says_the_segments_of_what_was_chosen(library, tmp_path):
    chosen = [
        CellChoice(CollectiveCell("bcast", 1 << power, 8), name) for power, name in ((17, "chain:8192"), (20, ""))
    ]
    LibraryRules(library, selector_of(chosen, library), ()).dump(tmp_path / "rules")
    rule = selection.select(selection.load(tmp_path / "rules"), "bcast", 1 << 18, 8)
    assert (rule.algorithm, rule.segment_size) == ("chain", 8192)
    assert selection.select(selection.load(tmp_path / "rules"), "bcast", 1 << 20, 8).segment_size != 8192


def test_of_mpich_the_device_is_left_aside_only_for_operations_with_rules():
    variables = LibraryRules("mpich", selector_of(CHOSEN, "mpich"), ()).variables("rules.json")
    assert variables["MPIR_CVAR_DEVICE_COLLECTIVES"] == "percoll"
    assert {name for name, value in variables.items() if value == "0"} == {
        "MPIR_CVAR_ALLTOALL_DEVICE_COLLECTIVE", "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE",
    }  # fmt: skip


def test_of_several_ranks_a_node_han_hands_over_what_has_rules():
    selector = selector_of(CHOSEN[:3], "openmpi", per_node=4)
    assert [rule.distribution for rule in selector.rules] == ["several-per-node"] * 3 + [None] * 3
    rules = LibraryRules("openmpi", selector, ())
    assert rules.files("rules") == ["rules", "rules.han"]
    assert "OMPI_MCA_coll_han_dynamic_rules_filename" in rules.variables("rules")


def test_two_levels_are_asked_for_where_nodes_have_several_ranks(tmp_path):
    chosen = [CellChoice(CollectiveCell("bcast", 8, 8), "two-level"), CellChoice(CollectiveCell("bcast", 64, 8), "")]
    for library in ("mpich", "openmpi"):
        rules = LibraryRules(library, selector_of(chosen, library, per_node=4), ())
        first, *levels = rules.files(tmp_path / library)
        rules.dump(first)
        loaded = selection.load(levels[0] if levels else first)
        assert selection.select(loaded, "bcast", 63, 8, per_node=4).algorithm == "two-level"
        assert selection.select(loaded, "bcast", 64, 8, per_node=4).algorithm != "two-level"
        assert selection.select(loaded, "bcast", 63, 8, per_node=8).algorithm != "two-level"
        names = rules.variables(first)
        assert ("MPIR_CVAR_BCAST_SHORT_MSG_SIZE" in names) == (library == "mpich")
    assert "two-level" not in candidates("mpich", CollectiveCell("bcast", 8, 8))


def test_what_makes_open_mpi_hang_is_refused():
    assert "scatter" not in operations_of(None, "openmpi")
    with pytest.raises(InputError, match=r"collectives: scatter: .* can make the program hang: leave it out"):
        operations_of(["bcast", "scatter"], "openmpi")
    with pytest.raises(InputError, match="scan: rules of MPICH do not see its message size"):
        operations_of(["scan"], "mpich")


def test_candidates_are_what_the_library_does_not_replace_by_itself():
    assert "scatter-ring" in candidates("openmpi", CollectiveCell("bcast", 4096, 8))
    assert "scatter-ring" not in candidates("openmpi", CollectiveCell("bcast", 8, 8))
    assert "reduce-scatter-allgather" not in candidates("mpich", CollectiveCell("allreduce", 8, 8))
    assert "recursive-doubling" not in candidates("mpich", CollectiveCell("allgather", 8, 6))
