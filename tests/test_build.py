"""What setup.py says where the machine lacks something: without a build, which takes minutes."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from support.paths import ROOT

from commmodel._core.mpi import mpi_abi

SETUP = ROOT / "setup.py"
HEADERS = Path(sys.prefix, "include")


def function_of_setup(name):
    """Return one function of setup.py, which cannot be imported: it builds."""
    tree = ast.parse(SETUP.read_text(encoding="utf-8"))
    (entry,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    names = {"os": os, "shlex": shlex, "shutil": shutil, "sysconfig": sysconfig}
    exec(compile(ast.Module([entry], []), str(SETUP), "exec"), names)  # noqa: S102  (our own file)
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
    text = str(caught.value)
    assert text.startswith(f"commmodel: no {language} compiler: /no/such/compiler -m64 is not found: install one (apt")
    assert f"apt install {package}," in text
    assert text.endswith(f"or name yours in {variable}")
    assert "\n" not in text


def load_source(path):
    """Return a module that is no part of a package."""
    spec = spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ONLINE = ROOT / "src/commmodel/_core/online"


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.skipif(not (HEADERS / "mpi_proto.h").exists(), reason="no mpi.h of MPICH in this environment")
def test_our_header_of_mpi_agrees_with_that_of_mpich(tmp_path):
    header = (ONLINE / "mpi.h").read_text(encoding="utf-8")
    names = re.findall(r"^#define (MPIX?_[A-Z]\w+) ", header, re.MULTILINE)
    names = {name for name in names if "_FN" not in name and name not in {"MPI_VERSION", "MPI_SUBVERSION"}}
    for body in re.findall(r"enum {([^}]+)}", header):
        names |= {word.split()[0] for word in body.split(",") if word.split()}
    assert {"MPI_COMM_WORLD", "MPI_ERR_TRUNCATE", "MPI_COMBINER_DARRAY", "MPI_IN_PLACE"} <= names
    assert len(names) > 350
    types = ("Comm", "Aint", "Count", "Offset", "Status", "F08_status", "File", "T_enum")
    values = [*sorted(names), *(f"sizeof(MPI_{name})" for name in types)]
    body = "\n".join(f'    printf("{value} %ld\\n", (long)({value}));' for value in values)
    printed = []
    for include in ("<mpi.h>", '"online/mpi.h"'):
        source = f"#include {include}\n#include <stdio.h>\nint main(void) {{\n{body}\n}}\n"
        (tmp_path / "program.c").write_text(source)
        words = ["gcc", f"-I{HEADERS}", f"-I{ONLINE.parent}", "-o", tmp_path / "program", tmp_path / "program.c"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        printed.append(subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]
    macros = "".join(
        f"#undef {name}\n" for name in re.findall(r"MPI_\w+_(?:c2f|f2c)", (ONLINE / "functions.h").read_text())
    )
    (tmp_path / "both.c").write_text(f'#include <mpi.h>\n{macros}#include "online/functions.h"\n')  # refuses two types
    words = ["gcc", "-fsyntax-only", f"-I{HEADERS}", f"-I{ONLINE.parent}", tmp_path / "both.c"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_what_is_written_by_hand_replaces_a_generated_symbol(tmp_path):
    header = (ONLINE / "functions.h").read_text(encoding="utf-8")
    for name, content in load_source(ONLINE / "symbols.py").generate(header).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    options = ["-std=gnu11", f"-I{ONLINE.parent}", "-include", tmp_path / "functions.h"]
    words = ["gcc", "-r", "-nostdlib", *options, "-o", tmp_path / "both.o", tmp_path / "symbols.c"]
    done = subprocess.run([*words, ONLINE / "objects/errors.c"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_is_linked_with_a_library_of_mpich_whose_file_has_other_names_elsewhere():
    folder = ROOT / "src/commmodel/_core"
    built = [*folder.glob("mpi/*.mpich.*so"), *folder.glob("record/*.mpich.so")]
    wrong = [path.name for path in built if re.search(rb"\0libmpi(ch)?\.so", path.read_bytes())]
    assert not wrong


def test_questions_of_pip_need_neither_cython_nor_mpi4py():
    tree = ast.parse(SETUP.read_text(encoding="utf-8"))
    modules = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert "setuptools" in modules
    assert not {name for name in modules if name.startswith(("Cython", "mpi4py", "numpy"))}


def test_an_old_setuptools_is_named_in_one_line():
    code = "import sys, setuptools; setuptools.__version__ = '65.0.0'; sys.path.insert(0, 'conf'); import backend"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.startswith("commmodel: setuptools 65.0.0 is too old: pip install -U 'setuptools>=77'")
    assert done.stderr.count("\n") == 1


def test_an_old_mpi4py_is_named_in_one_line(monkeypatch):
    mpi4py = pytest.importorskip("mpi4py")
    monkeypatch.setattr(mpi4py, "__version__", "3.1.6")
    with pytest.raises(ImportError, match=r"^mpi4py 3\.1\.6 is too old: pip install -U 'mpi4py>=4\.1'$"):
        mpi_abi()


def test_what_the_build_reads_imports_nothing_that_is_not_there_yet():
    paths = re.findall(r'load_module\(f?"([^"]+)"\)', SETUP.read_text(encoding="utf-8"))
    assert "src/commmodel/record/calls.py" in paths
    core = "src/commmodel/_core"
    for path in paths:
        file = ROOT / path.format(RECORDER=f"{core}/record", ONLINE=f"{core}/online")
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names, file
