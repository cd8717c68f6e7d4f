"""The folders of tests mirror those of the package, and no test leans on another."""

import ast
from functools import cache

from support.paths import ROOT

TESTS = ROOT / "tests"
OF_ALL = {"cluster", "oracles", "slurm", "support", "typed"}
"""Folders that belong to no room: several emulated hosts, values from elsewhere, helpers, scripts of users."""
OF_THE_CORE = {"core", "mpi"}
"""Tests of the compiled core; those in mpi/ run on several ranks."""


@cache
def imported(path):
    """Return the names of the modules that a file imports."""
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(f"{'.' * node.level}{node.module or ''}")
    return names


def test_each_folder_of_tests_is_that_of_a_room():
    folders = {path.parent.name for path in TESTS.glob("*/*.py")}
    rooms = {path.parent.name for path in ROOT.glob("src/commmodel/*/__init__.py")}
    assert folders - rooms == OF_ALL | OF_THE_CORE


def test_tests_import_helpers_only_from_support():
    folders = {path.parent.name for path in TESTS.glob("*/*.py")} - {"support"}
    assert {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in TESTS.rglob("*.py")
        for name in imported(path)
        if name.startswith(".") or name.partition(".")[0] in folders or name.rpartition(".")[2].startswith("test_")
    } == set()


def test_no_function_has_more_than_eight_parameters():
    """More belong into a struct; of formulas the arguments are the symbols of an equation."""
    for path in ROOT.glob("src/commmodel/**/*.py"):
        if path.parent.name == "models":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                args = node.args
                count = len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)
                assert count <= 8, f"{path.relative_to(ROOT)}: {node.name} has {count} parameters"


def test_only_packages_and_modules_of_the_reference_list_their_names():
    reference = "".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    listing = set()
    for path in ROOT.glob("src/commmodel/*/**/*.py"):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        if (
            path.name != "__init__.py"
            and f"automodule:: {module}\n" not in reference
            and "\n__all__ = " in path.read_text()
        ):
            listing.add(module)
    # The first offers all that it lists to its package, the second writes the numbers that it lists for C.
    assert listing == {"commmodel.simulate.platform.topologies", "commmodel._core.common.codes"}


def test_every_helper_of_support_is_used():
    names = {name for path in TESTS.rglob("*.py") for name in imported(path)}
    assert {f"support.{path.stem}" for path in TESTS.glob("support/*.py")} - names == set()
