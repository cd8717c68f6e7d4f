"""Who may import whom, and what may not be loaded before it is needed."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import commmodel
from commmodel import cli

BASE = {
    "arguments", "arrays", "choices", "docstrings", "documents", "errors", "files", "frames", "interruption",
    "launchers", "lazy", "plugins", "progress", "shell", "signatures", "sites", "spellings", "statistics", "streams",
    "structs", "units", "values",
}  # fmt: skip
"""Anything may import these."""
MAY_IMPORT = {
    "errors": set(),
    "arguments": {"errors"},
    "arrays": set(),
    "choices": set(),
    "signatures": {"arguments", "errors"},
    "docstrings": set(),
    "documents": {"errors", "units"},
    "files": {"errors"},
    "frames": {"errors", "units"},
    "interruption": set(),
    "launchers": set(),
    "lazy": set(),
    "plugins": {"errors"},
    "progress": {"units"},
    "shell": set(),
    "sites": set(),
    "spellings": set(),
    "streams": {"errors"},
    "structs": set(),
    "units": {"errors"},
    "values": set(),
    "statistics": set(),
    "shadow": set(),
    "_core": set(),
    "models": set(),
    "results": {"collectives"},
    "machine": {"models", "collectives"},
    "formats": {"results", "collectives"},
    "collectives": {"_core.common"},
    "bench": {"_core", "results", "collectives", "fit", "shadow"},
    "fit": {"results", "machine", "collectives"},
    "predict": {"models", "collectives", "machine", "results", "_core.delays"},
    "optimize": {"models", "machine", "results", "predict"},
    "overlap": {"optimize", "_core.mpi"},
    "simulate": {
        *("collectives", "machine", "scaling"),
        *("_core.common", "_core.flows", "_core.delays", "_core.routing", "_core.program", "_core.online"),
    },
    "simulate.noise": {"simulate", "results"},
    "simulate.questions": {"simulate", "collectives", "record"},
    "record": {"simulate", "collectives", "_core.common", "_core.recordings"},
    "advice": {"placement", "simulate"},
    "placement": {"record", "simulate"},
    "scaling": {"results"},
    "guard": {"record", "results", "scaling", "simulate", "sweep"},
    "pytest_plugin": {"scaling", "results"},
    "pytest_simulation": {"simulate"},
    "sweep": {"results"},
    "tuning": {"bench", "collectives", "machine", "predict", "results"},
    "report": {
        *("_core.common", "fit", "machine", "models", "results"),
        *("advice", "collectives", "guard", "placement", "predict", "optimize", "record", "simulate", "scaling"),
    },
    "cli": {"*"},
    "__main__": {"cli"},
    "__init__": {"*"},
}
"""Part of commmodel -> the parts that it may import beside itself and `BASE`, inside functions too.

A module with a row of its own stands above its part: it answers from several.
A new part needs a row here: say there where it stands. Nothing imports `cli` (but `__main__`) or `report` (but `cli`).
"""
LAZILY = {"cli"}
"""Parts that import the others inside functions only, so that a command loads what it needs and no more."""
MPI = (
    "bench",
    "overlap",
    "cli.what_if",
    "simulate.online.function_rank",
    "pytest_simulation.rank",
    "pytest_simulation.late_rank",
    "_core.mpi",
)
"""What may import mpi4py; of `_core`, this folder alone."""

SOURCE = Path(commmodel.__file__).parent
FILES = sorted(path for path in SOURCE.rglob("*") if path.suffix in {".py", ".pyi", ".pyx", ".pxd"})


def absolute(module, name, level):
    """Return the name of what `from ...module import` imports from, seen from the module `name`."""
    if not level:
        return module or ""
    package = name.split(".")[: -level or None]
    return ".".join([*package, *([module] if module else [])])


def read_once(read):
    """Let several tests read the same files."""
    return cache(lambda text, name: tuple(read(text, name)))


@read_once
def python_imports(text, name):
    """Yield (imported name, at the top level) for every import of a Python module, dynamic ones too."""
    left = [(ast.parse(text), True)]
    while left:
        node, at_top = left.pop()
        at_top = at_top and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        left += ((child, at_top) for child in ast.iter_child_nodes(node))
        names = []
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                names = [f"{absolute(node.module, name, node.level)}.{alias.name}" for alias in node.names]
            case ast.Call(
                func=ast.Attribute(attr=callee) | ast.Name(id=callee), args=[ast.Constant(value=str(dynamic)), *_]
            ):
                names = [dynamic] if callee in {"import_module", "__import__"} else []
        yield from ((imported, at_top) for imported in names)


CYTHON_IMPORT = re.compile(
    r"""^[ \t]*(?:from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+c?import[ \t]+(?P<names>\([^)]*\)|[^\n]+)
    |c?import[ \t]+(?P<modules>[^\n]+))""",
    re.MULTILINE | re.VERBOSE,
)


@read_once
def cython_imports(text, name):
    """Yield (imported name, at the top level) for every import and cimport of a Cython module."""
    code = re.sub(r'("""|\'\'\').*?\1|#[^\n]*', "", text, flags=re.DOTALL)
    for entry in CYTHON_IMPORT.finditer(code):
        top = not entry[0][:1].isspace()
        listed = [
            part.split()[0] for part in (entry["names"] or entry["modules"]).strip("() \n").split(",") if part.strip()
        ]
        if entry["modules"]:
            yield from ((module, top) for module in listed)
        else:
            origin = absolute(entry["module"], name, len(entry["dots"]))
            yield from ((f"{origin}.{imported}", top) for imported in listed)


def row_of(name):
    """Return the key in MAY_IMPORT of a module: its own, else that of its part."""
    return name if name in MAY_IMPORT else name.split(".")[0]


def broken_rules(name, text, cython=False):
    """Return what is wrong with the imports of a module of commmodel, a line each; `name` like ``bench.__init__``."""
    part, row = name.split(".")[0], row_of(name)
    if row not in MAY_IMPORT:
        return [f"{name}: its part {part} has no row in MAY_IMPORT: add one"]
    wrong = []
    for imported, at_top in (cython_imports if cython else python_imports)(text, f"commmodel.{name}"):
        root, _, target = imported.partition(".")
        if root == "mpi4py" and not any(f"{name}.".startswith(f"{entry}.") for entry in MPI):
            wrong.append(f"{name} imports mpi4py")
        if root != "commmodel":
            continue
        other = target.split(".")[0]
        allowed = MAY_IMPORT[row] | BASE | {part}
        if target == "__version__":
            continue
        if "*" not in allowed and not any(f"{target}.".startswith(f"{entry}.") for entry in allowed):
            wrong.append(f"{name} imports {target or 'commmodel itself'}")
        elif part in LAZILY and at_top and other not in BASE | {part}:
            wrong.append(f"{name} imports {target} at its top: do it inside a function")
    return wrong


def test_every_module_imports_only_what_the_table_allows():
    wrong = []
    for path in FILES:
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        wrong += broken_rules(name, path.read_text("utf-8"), cython=path.suffix in {".pyx", ".pxd"})
    assert not wrong, "\n".join(wrong)


def test_the_table_allows_nothing_that_no_module_imports():
    used = {part: set() for part in MAY_IMPORT}
    for path in FILES:
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        read = cython_imports if path.suffix in {".pyx", ".pxd"} else python_imports
        used[row_of(name)] |= {imported for imported, _ in read(path.read_text("utf-8"), f"commmodel.{name}")}
    assert not [
        f"{part} imports nothing of {allowed}"
        for part, names in MAY_IMPORT.items()
        for allowed in names - {"*"}
        if not any(f"{imported}.".startswith(f"commmodel.{allowed}.") for imported in used[part])
    ]


def test_the_rule_looks_at_the_real_modules():
    names = {path.name for path in FILES}
    assert {"records.py", "parameters.py", "units.py"} <= names
    reader = (SOURCE / "results" / "file.py").read_text("utf-8")
    values = {imported for imported, _ in python_imports(reader, "commmodel.results.file")}
    assert {"commmodel.errors.DamagedFileError", "commmodel.results.records.Record", "msgspec"} <= values


def test_the_table_lets_nothing_import_cli_or_report_and_has_no_circles():
    for part, allowed in MAY_IMPORT.items():
        assert "cli" not in allowed or part == "__main__"
        assert "report" not in allowed
        assert {other.split(".")[0] for other in allowed - {"*"}} <= MAY_IMPORT.keys()
    above = {part: allowed - {"*"} for part, allowed in MAY_IMPORT.items()}
    while above:  # nothing imports what imports it
        free = [part for part, allowed in above.items() if not {name.split(".")[0] for name in allowed} & above.keys()]
        assert free, f"a circle among {sorted(above)}"
        for part in free:
            del above[part]


def circles(edges):
    """Return the circles of a graph (node -> nodes), each as the set of its nodes."""
    reached = {}
    for start in edges:
        reached[start], left = set(), [*edges[start]]
        while left:
            node = left.pop()
            if node not in reached[start]:
                reached[start].add(node)
                left += edges.get(node, ())
    mutual = {node: {other for other in reached[node] if node in reached.get(other, ())} for node in edges}
    return {frozenset(nodes) for nodes in mutual.values() if nodes}


def import_graph():
    """Return module -> modules of commmodel that it imports, inside functions too."""
    names = {path: ".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in FILES}
    modules = set(names.values())
    edges = {module: set() for module in modules}
    for path, module in names.items():
        read = cython_imports if path.suffix in {".pyx", ".pxd"} else python_imports
        text = path.read_text("utf-8")
        if path.name != "__init__.py":  # there names are loaded at their first use; elsewhere they are types alone
            text = re.sub(r"\nif TYPE_CHECKING:\n(?:    .*\n|\n(?=    ))+", "\nif TYPE_CHECKING:\n    pass\n", text)
        for imported, _ in read(text, f"commmodel.{module}"):
            parts = imported.removeprefix("commmodel.").split(".")
            prefixes = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
            targets = (name for prefix in prefixes for name in (prefix, f"{prefix}.__init__") if name in modules)
            if imported.startswith("commmodel.") and (target := next(targets, None)) and target != module:
                edges[module].add(target)
    return edges


def test_no_circle_among_modules_not_even_inside_a_room():
    assert not circles(import_graph())


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {frozenset({"b", "c"})}


def test_products_of_the_report_know_the_kit_alone_and_fit_nothing():
    wrong = []
    for path in sorted((SOURCE / "report").glob("*/*.py")):
        product = path.parent.name
        name = f"commmodel.report.{product}.{path.stem}"
        for imported, _ in python_imports(path.read_text("utf-8"), name):
            other = imported.removeprefix("commmodel.report.").split(".")[0]
            fits = imported.rpartition(".")[2].startswith("fit_")
            if fits or (imported.startswith("commmodel.report.") and other not in {product, "kit"}):
                wrong.append(f"{name} imports {imported}")
    assert not wrong, "\n".join(wrong)


# ---- C and C++

ONLINE = SOURCE / "_core/online"
C_SUFFIXES = {".c", ".h", ".cpp", ".hpp"}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
FUNCTION = re.compile(r"^(?!static |typedef |#)[\w ]*?[\w*] \**(\w+)\([^;{}]*\) \{", re.MULTILINE)
CALL = re.compile(r"(?<![.>\w])(\w+)\(")


def room_order():
    """Return the rooms of the MPI library of simulated programs, the lowest first, as online.h lists them."""
    return re.findall(r"^//   (\w+)  ", (ONLINE / "online.h").read_text("utf-8"), re.MULTILINE)


def c_code(path):
    """Return the text of a C file without comments and strings."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|(?<!include )"(?:[^"\\\n]|\\.)*"', "", path.read_text("utf-8"), flags=re.DOTALL)


def higher_rooms(files, order):
    """Return what in C files, path in the folder of the rooms -> text, includes or calls a higher room."""
    definitions = {name: path.split("/")[0] for path, text in files.items() for name in FUNCTION.findall(text)}
    wrong = []
    for path, text in files.items():
        room = path.split("/")[0]
        used = {name.removeprefix("online/") for name in INCLUDE.findall(text) if name.startswith("online/")}
        rooms = {name: name.split("/")[0] for name in used if "/" in name}
        if path.endswith(".c"):
            rooms |= {name: definitions[name] for name in CALL.findall(text) if name in definitions}
        wrong += [f"{path}: {name} of {r}" for name, r in sorted(rooms.items()) if order.index(r) > order.index(room)]
    return wrong


def test_rooms_of_the_mpi_library_know_lower_rooms_alone():
    order = room_order()
    assert set(order) == {path.parent.name for path in ONLINE.glob("*/*.c")}
    files = {
        str(path.relative_to(ONLINE)): c_code(path) for path in sorted(ONLINE.glob("*/*")) if path.suffix in C_SUFFIXES
    }
    assert higher_rooms(files, order) == []


def test_an_include_and_a_call_of_a_higher_room_are_found():
    files = {
        "low/a.c": '#include "online/high/b.h"\nvoid first(void) {\n    second(1);\n}',
        "high/b.c": "int second(int a) {\n    first();\n}",
    }
    assert higher_rooms(files, ["low", "high"]) == ["low/a.c: high/b.h of high", "low/a.c: second of high"]


def test_no_circle_among_folders_of_the_core():
    core = SOURCE / "_core"
    edges = {path.name: set() for path in core.iterdir() if path.is_dir()}
    for path in core.rglob("*"):
        if path.suffix in C_SUFFIXES:
            folder = path.relative_to(core).parts[0]
            names = {name.split("/")[0] for name in INCLUDE.findall(path.read_text("utf-8")) if "/" in name}
            edges[folder] |= names & edges.keys() - {folder}
    assert edges["flows"]
    assert not circles(edges)


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("units", "from commmodel.results import load", "units imports results.load"),
        ("errors", "import commmodel.units", None),
        ("results", "import commmodel.machine as m", "results imports machine"),
        ("results", "from commmodel import errors, machine", "results imports machine"),
        ("results", "import commmodel", "results imports commmodel itself"),
        ("machine", "def f():\n    from commmodel import results", "machine imports results"),
        (
            "models.postal",
            "class A:\n  def f(self):\n    import commmodel.fit.points",
            "models.postal imports fit.points",
        ),
        ("models.postal", "if TYPE_CHECKING:\n    from commmodel.machine import Machine", "imports machine.Machine"),
        ("models.postal", "f = lambda: __import__('commmodel.cli')", "models.postal imports cli"),
        ("models.postal", "import importlib\nimportlib.import_module('commmodel.report')", "imports report"),
        ("models.postal", "from ..machine import load", "models.postal imports machine.load"),
        ("models.__init__", "from .. import machine", "models.__init__ imports machine"),
        ("models.__init__", "from . import postal", None),
        ("models.postal", "from .formula import formula", None),
        ("simulate.run", "from commmodel._core.flows import engine", None),
        ("predict", "from commmodel._core.mpi import pingpong", "predict imports _core.mpi.pingpong"),
        ("simulate", "from commmodel._core import flows_room", "simulate imports _core.flows_room"),
        ("bench.command", "from commmodel import __version__", None),
        ("bench.command", "from commmodel.predict import send", "bench.command imports predict.send"),
        ("report.page", "from commmodel.cli import run", "report.page imports cli.run"),
        ("scaling.check", "def f():\n    from commmodel.report import tables", "imports report.tables"),
        ("cli", "def f():\n    from commmodel.report import tables\n    import commmodel.fit", None),
        ("cli", "from commmodel.errors import InputError", None),
        ("cli.fit", "from commmodel.cli.parsers import show", None),
        ("cli.fit", "from commmodel import machine", "cli.fit imports machine at its top"),
        ("predict.collective", "from commmodel._core.delays.critical_path import finish_times", None),
        ("cli", "import commmodel.fit", "cli imports fit at its top"),
        ("cli", "try:\n    from commmodel import report\nexcept ImportError: pass", "cli imports report at its top"),
        ("bench.command", "def f():\n    from mpi4py import MPI", None),
        ("fit.points", "def f():\n    from mpi4py import MPI", "fit.points imports mpi4py"),
        ("report.page", "import mpi4py.MPI", "report.page imports mpi4py"),
        ("_core.mpi.__init__", "from mpi4py import MPI", None),
        ("_core.flows.engine", "from mpi4py import MPI", "_core.flows.engine imports mpi4py"),
        ("brandnew.thing", "", "brandnew has no row in MAY_IMPORT"),
    ],
)
def test_the_checker_finds_what_breaks_the_rule(name, source, expected):
    wrong = broken_rules(name, source)
    assert expected in wrong[0] if expected else not wrong


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("_core.mpi.pingpong", "from mpi4py cimport libmpi as mpi", None),
        (
            "_core.clock.processor_clock",
            "from mpi4py cimport libmpi as mpi",
            "_core.clock.processor_clock imports mpi4py",
        ),
        ("_core.flows.engine", "cimport mpi4py.libmpi as mpi", "_core.flows.engine imports mpi4py"),
        ("_core.flows.engine", "def f():\n    import mpi4py", "_core.flows.engine imports mpi4py"),
        ("_core.mpi.pingpong", "from commmodel._core.mpi.mpi_calls cimport (\n    CHKERR,  # why\n    other,\n)", None),
        ("_core.mpi.pingpong", "from .mpi_calls cimport CHKERR", None),
        ("_core.flows.engine", "from commmodel.models cimport postal", "_core.flows.engine imports models.postal"),
        ("_core.flows.engine", "from ...models import postal", "_core.flows.engine imports models.postal"),
        ("_core.flows.engine", "import numpy as np, commmodel.bench", "_core.flows.engine imports bench"),
        ("_core.flows.engine", '"""Text.\n\nimport mpi4py\n"""\n# from mpi4py import MPI', None),
    ],
)
def test_the_checker_reads_cython_too(name, source, expected):
    wrong = broken_rules(name, source, cython=True)
    assert expected in wrong[0] if expected else not wrong


HEAVY = {"mpi4py.MPI", "numba", "scipy", "matplotlib"}
PARTS = sorted(
    {"cli", "bench", "optimize", "report"}
    | {path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__")}
    | {path.parent.name for path in SOURCE.glob("*/__init__.py") if path.parent.name != "_core"}
)


@pytest.mark.parametrize("name", ["commmodel", *(f"commmodel.{part}" for part in PARTS)])
def test_importing_a_part_loads_neither_mpi_nor_numba_nor_scipy_nor_matplotlib(name):
    code = f"import sys, {name}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\n"


def test_running_a_program_loads_nothing_that_sends_functions():
    code = (
        "import sys; from commmodel.simulate import online; online.workload; print({'cloudpickle'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_table_of_a_simulation_loads_nothing_of_measurements():
    code = "import sys, commmodel.report.simulation.tables; print({'commmodel.results.records'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_calling_a_formula_with_numbers_loads_none_of_them_either():
    code = f"import sys; from commmodel.models import postal; postal.time(8, 1, 1); print({HEAVY!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("simulate graphene bcast -p 16 -n 1KiB --json", {"numpy"}),
        ("simulate graphene bcast -p 16 -n 1KiB", {"numpy", "rich"}),
        ("predict blue-waters send -n 64KiB --json", {"numpy"}),
        ("--help", set()),
    ],
)
def test_a_small_command_loads_what_it_needs_and_no_more(words, allowed):
    code = (
        "import sys; from commmodel.cli import main\ntry: main()\nexcept SystemExit: pass\n"
        "print(*(HEAVY & set(sys.modules)), file=sys.stderr)"
    ).replace("HEAVY", repr(HEAVY | {"numpy", "rich", "tomlkit", "jinja2"}))
    done = subprocess.run([sys.executable, "-c", code, *words.split()], capture_output=True, text=True, check=True)
    assert set(done.stderr.split()) <= allowed


READERS = {"csv", "gzip", "json", "tempfile", "xml"}
"""Of the standard library: what reads and writes files of formats."""


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        (
            "simulate graphene bcast -p 16 -n 1KiB --json",
            {
                *("commmodel.models", "commmodel._core.delays", "commmodel.collectives.library.openmpi"),
                *("commmodel.collectives.library.mpich", "commmodel.simulate.link_load"),
                *("commmodel.simulate.platform.xml", "commmodel.simulate.smpi_collectives"),
                *("commmodel.simulate.timeline.measured", "commmodel.simulate.work.application_kernels"),
                *("commmodel.simulate.work.exchanges", "commmodel.simulate.work.sequences"),
            },
        ),
        (
            "predict blue-waters send -n 64KiB --json",
            {"commmodel.optimize.search", "commmodel.predict.comparison", "commmodel.simulate", "statistics"},
        ),
        ("--help", {"msgspec", "commmodel.machine", "commmodel.simulate"}),
    ],
)
def test_a_small_command_leaves_out_readers_and_other_workloads(words, left_out):
    code = (
        "import sys; from commmodel.cli import main\ntry: main()\nexcept SystemExit: pass\n"
        f"print(*sorted({READERS | left_out!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words.split()], capture_output=True, text=True, check=True)
    assert done.stderr == "\n"


@pytest.mark.parametrize(
    ("words", "threads"), [("predict ranger send -n 8", "1"), ("list models", "1"), ("sweep status nowhere", "None")]
)
def test_a_command_has_one_thread_of_openblas_and_what_it_starts_is_left_alone(words, threads):
    code = (
        "import os, sys; from commmodel.cli import run\ntry: run()\nexcept SystemExit: pass\n"
        "print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.splitlines()[-1] == threads


@pytest.mark.parametrize("words", ["simulate switch halo -n 8", "predict ranger bcast -n 8 -p 4"])
def test_the_typed_verb_among_verbs_is_made_alone_and_where_none_is_typed_all_are(words):
    def created_by(words):
        verbs = cli._parser(words)._subparsers._group_actions[0].choices
        return [*verbs[words[0]]._subparsers._group_actions[0].choices]

    verb, where, result, *options = words.split()
    assert created_by([verb, where, result, *options]) == [result]
    for entry in ([verb], [verb, where], [verb, where, "nosuch", result], [verb, "--help", result]):
        assert result in created_by(entry)
        assert len(created_by(entry)) > 10


def test_the_verb_that_is_typed_is_loaded_alone():
    code = "import sys; from commmodel.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, "list", "models"], capture_output=True, text=True, check=True)
    verbs = {f"commmodel.cli.{name}" for name in cli._VERBS}
    assert verbs & set(done.stderr.split()) == {"commmodel.cli.list"}


def test_every_module_of_a_verb_is_a_verb():
    assert {f"cli/{name}.py" for name in cli._VERBS} == {
        str(path.relative_to(SOURCE)) for path in (SOURCE / "cli").glob("*.py") if "def add(verbs" in path.read_text()
    }
