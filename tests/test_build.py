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


LATER = (
    "BUFFER_AUTOMATIC", "COMM_TYPE_RESOURCE_GUIDED", "REAL2", "COMPLEX4", "LOGICAL1", "LOGICAL2", "LOGICAL4",
    "LOGICAL8", "LOGICAL16",
)  # fmt: skip
"""Names that are in MPI 4.1, and not in the mpi.h of MPICH 4.0."""


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.skipif(not (HEADERS / "mpi_proto.h").exists(), reason="no mpi.h of MPICH in this environment")
def test_the_library_of_simulated_programs_compiles_with_mpich_4_0(tmp_path):
    header = (HEADERS / "mpi.h").read_text(encoding="utf-8")
    for pattern, substitute in (
        (rf"#define MPI_({'|'.join(LATER)})\s.*", ""),
        (r"(#define MPI_VERSION +)\d", r"\g<1>4"),
        (r"(#define MPI_SUBVERSION +)\d", r"\g<1>0"),
    ):
        header, changes = re.subn(pattern, substitute, header)
        assert changes == (1 if substitute else len(LATER))
    (tmp_path / "mpi.h").write_text(header, encoding="utf-8")
    declarations = (HEADERS / "mpi_proto.h").read_text(encoding="utf-8")
    declarations, changes = re.subn(r"(MPI_Pready_list\(int length, )const int", r"\1int", declarations)
    assert changes
    declarations, changes = re.subn(r"\b(P?)MPI_Remove_error_", r"\1MPIX_Delete_error_", declarations)
    assert changes
    (tmp_path / "mpi_proto.h").write_text(declarations, encoding="utf-8")
    folder = ROOT / "src/commmodel/_core"
    for source in (folder / "online").glob("*/*.c"):
        words = ["gcc", "-std=gnu11", "-fsyntax-only", f"-I{tmp_path}", f"-I{HEADERS}", f"-I{folder}", source]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    options = ["-std=gnu11", f"-I{tmp_path}", f"-I{HEADERS}", f"-I{folder}"]
    words = ["gcc", "-E", "-P", "-x", "c", *options, "-"]
    header = subprocess.run(words, input="#include <mpi.h>", capture_output=True, text=True, check=True).stdout
    for name, content in load_source(folder / "online/symbols.py").generate(header).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    options += ["-include", tmp_path / "functions.h"]
    words = ["gcc", "-r", "-nostdlib", *options, "-o", tmp_path / "both.o", tmp_path / "symbols.c"]
    done = subprocess.run([*words, folder / "online/objects/errors.c"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_is_linked_with_a_library_of_mpich_whose_file_has_other_names_elsewhere():
    folder = ROOT / "src/commmodel/_core"
    built = [*folder.glob("mpi/*.mpich.*so"), *folder.glob("record/*.mpich.so")]
    wrong = [path.name for path in built if re.search(rb"\0libmpi(ch)?\.so", path.read_bytes())]
    assert not wrong


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
