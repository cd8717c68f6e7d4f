"""What setup.py says where the machine lacks something: without a build, which takes minutes."""

import ast
import os
import shlex
import shutil
import sysconfig

import pytest
from support.paths import ROOT

SETUP = ROOT / "setup.py"


def function_of_setup(name):
    """Return one function of setup.py, which cannot be imported: it builds."""
    tree = ast.parse(SETUP.read_text(encoding="utf-8"))
    (wanted,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    names = {"os": os, "shlex": shlex, "shutil": shutil, "sysconfig": sysconfig}
    exec(compile(ast.Module([wanted], []), str(SETUP), "exec"), names)  # noqa: S102  (our own file)
    return names[name]


@pytest.mark.parametrize(("variable", "language", "package"), [("CC", "C", "gcc"), ("CXX", "C++", "g++")])
def test_without_a_compiler_the_mend_is_to_install_one(variable, language, package, monkeypatch):
    for name in ("CC", "CXX"):
        monkeypatch.setenv(name, "true")
    check = function_of_setup("check_compilers")
    check()
    monkeypatch.setenv(variable, "/no/such/compiler -m64")
    with pytest.raises(SystemExit) as caught:
        check()
    said = str(caught.value)
    assert said.startswith(f"commmodel: no {language} compiler: /no/such/compiler -m64 is not found: install one (apt")
    assert f"apt install {package}," in said
    assert said.endswith(f"or name yours in {variable}")
    assert "\n" not in said
