"""The recipes of package managers ask for what pyproject.toml asks for; the workflows do what make does."""

import importlib.util
import io
import re
import tarfile
import tomllib

import pytest
from support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGING = ROOT / "packaging"
REQUIRED = [
    *PROJECT["build-system"]["requires"],
    *PROJECT["project"]["dependencies"],
    *PROJECT["project"]["optional-dependencies"]["report"],
]
CONDA = {"msgspec": "msgspec-python", "matplotlib": "matplotlib-base"}
"""Names that differ there."""
BUNDLED = {"setuptools": "Python", "numpy": "SciPy-bundle", "scipy": "SciPy-bundle"}
BUNDLED |= dict.fromkeys(("cloudpickle", "cython", "rich", "tomlkit", "jinja2"), "Python-bundle-PyPI")
"""Packages that EasyBuild has in a bundle."""


def parts(requirement):
    """Return the name, the least version and the first version that is too new of a requirement."""
    return re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,<(\d+))?", requirement).groups()


def number(version):
    return tuple(map(int, version.split(".")))


@pytest.fixture
def easybuild():
    (path,) = (PACKAGING / "easybuild").glob("*.eb")
    return path


@pytest.mark.parametrize("requirement", REQUIRED)
def test_each_recipe_asks_for_what_the_project_needs(requirement, easybuild):
    name, least, too_new = parts(requirement)
    conda = (PACKAGING / "conda/recipe.yaml").read_text("utf-8")
    assert f"- {CONDA.get(name, name)} >={least}{f',<{too_new}' if too_new else ''}\n" in conda
    last = int(too_new) - 1 if too_new else ""
    assert f'depends_on("py-{name}@{least}:{last}",' in (PACKAGING / "spack/package.py").read_text("utf-8")
    recipe = easybuild.read_text("utf-8")
    result = dict(re.findall(r"\('([\w-]+)', '([\d.]+)'", recipe))
    if name in BUNDLED:
        assert BUNDLED[name] in result
    else:
        assert number(result[name]) >= number(least)


def test_each_recipe_is_of_this_version(easybuild):
    version = PROJECT["project"]["version"]
    assert easybuild.name.startswith(f"commmodel-{version}-")
    assert f"version = '{version}'" in easybuild.read_text("utf-8")
    assert f'version: "{version}"' in (PACKAGING / "conda/recipe.yaml").read_text("utf-8")
    assert f'version("{version}",' in (PACKAGING / "spack/package.py").read_text("utf-8")


def test_the_tools_of_wheels_are_pinned_and_suffice():
    lines = (PACKAGING / "tools.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    for requirement in PROJECT["build-system"]["requires"]:
        name, least, _ = parts(requirement)
        assert number(pinned[name]) >= number(least)


def test_workflows_call_targets_that_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    names = {
        name
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for name in re.findall(r"run: make ([\w-]+)", path.read_text("utf-8"))
    }
    assert names
    assert names <= targets


def script(name):
    """Return a program of the folder as a module."""
    spec = importlib.util.spec_from_file_location(name, PACKAGING / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_completed_recipes_have_the_checksum_and_all_maintainers():
    recipes = script("recipes")
    for pattern in recipes.RECIPES:
        (path,) = PACKAGING.glob(pattern)
        recipe = recipes.complete(path.read_text("utf-8"), "5" * 64, ["ann", "bob"])
        assert recipe.count("5" * 64) == 1
        assert recipes.CHECKSUM not in recipe
        assert recipes.MAINTAINER not in recipe
        assert "easybuild" in str(path) or ("ann" in recipe and "bob" in recipe)


def test_the_source_distribution_does_not_contain_the_recipes_that_have_its_checksum():
    rules = (ROOT / "MANIFEST.in").read_text("utf-8").splitlines()
    grafted = [rule.split()[1] for rule in rules if rule.startswith("graft")]
    included = [word for rule in rules if rule.startswith("include") for word in rule.split()[1:]]
    for pattern in script("recipes").RECIPES:
        (path,) = PACKAGING.glob(pattern)
        relative = path.relative_to(ROOT)
        assert not any(relative.is_relative_to(folder) for folder in grafted)
        assert not any(relative.full_match(name) if hasattr(relative, "full_match") else str(relative) == name
                       for name in included)  # fmt: skip


def test_a_source_distribution_is_the_same_whoever_builds_it(tmp_path):
    normalised, contents = script("wheels").normalised, []
    for number, mode in enumerate((0o644, 0o600)):
        with tarfile.open(tmp_path / f"{number}.tar.gz", "w:gz") as archive:
            for name in ("a/one", "a/two")[:: 1 if number else -1]:
                member = tarfile.TarInfo(name)
                member.size, member.mode, member.mtime, member.uid = 4, mode, 1000.5 + number, number
                archive.addfile(member, io.BytesIO(b"text"))
        contents.append(normalised(tmp_path / f"{number}.tar.gz", tmp_path / f"{number}.new", 7).read_bytes())
    assert contents[0] == contents[1]
    with tarfile.open(tmp_path / "0.new") as archive:
        assert [(member.name, member.mtime) for member in archive] == [("a/one", 7), ("a/two", 7)]
        assert archive.extractfile("a/two").read() == b"text"
