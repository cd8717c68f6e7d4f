"""The recipes of package managers ask for what pyproject.toml asks for; the workflows do what make does."""

import re
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
