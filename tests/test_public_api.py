"""What `import commmodel` offers: every public package, each loaded at its first use."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from support.effort import some
from support.promised import DIRECTIVE, MEMBERS, REFERENCE, promised

import commmodel

FOLDER = Path(commmodel.__file__).parent
INTERNAL = {
    "__init__",
    "__main__",
    "_core",
    "arguments",
    "arrays",
    "choices",
    "cli",
    "docstrings",
    "files",
    "frames",
    "interruption",
    "launchers",
    "lazy",
    "plugins",
    "progress",
    "pytest_plugin",
    "pytest_simulation",
    "shell",
    "signatures",
    "structs",
    "sites",
    "spellings",
    "streams",
    "values",
}
"""What is reached by other means, or by nobody outside."""
OF_PROGRAMS = {"sampled", "shared_array"}
"""Functions that programs call while they run simulated."""


def test_every_public_part_is_in_the_list():
    parts = {path.stem for path in FOLDER.glob("*.py")} | {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert set(commmodel.__all__) == (parts - INTERNAL) | OF_PROGRAMS
    assert list(commmodel.__all__) == sorted(commmodel.__all__)


@pytest.mark.parametrize("name", some([
    "bench", "bench.kernels", "collectives", "collectives.library", "fit", "formats", "machine", "models", "optimize",
    "predict", "record", "report", "results", "scaling", "simulate", "simulate.goal", "simulate.online",
    "simulate.platform", "simulate.scenario", "simulate.timeline", "simulate.traces", "simulate.work", "sweep", "",
], 6))  # fmt: skip
def test_completion_and_help_show_what_a_package_promises(name):
    code = (  # in a process of its own, as names that were used before are in the package
        "import importlib, pydoc, sys\n"
        "package = importlib.import_module(sys.argv[1])\n"
        "assert dir(package) == sorted(package.__all__), set(dir(package)) ^ set(package.__all__)\n"
        "print(pydoc.plain(pydoc.render_doc(package)))"
    )
    package = f"commmodel.{name}".rstrip(".")
    shown = subprocess.run([sys.executable, "-c", code, package], capture_output=True, text=True, check=True).stdout
    names = import_module(package).__all__
    assert not [public for public in names if not re.search(rf"\b{public}\b", shown)]


def test_import_loads_no_part_and_use_loads_it():
    code = (
        "import sys, commmodel\n"
        "print(*(name for name in sys.modules if name.startswith('commmodel.') and name != 'commmodel.lazy'))\n"
        "for name in commmodel.__all__: getattr(commmodel, name)\n"
        "print(*sorted({'mpi4py.MPI', 'numba', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n\n"


@pytest.mark.parametrize("name", sorted(set(commmodel.__all__) - OF_PROGRAMS))
def test_what_a_part_names_is_there(name):
    part = import_module(f"commmodel.{name}")
    assert getattr(commmodel, name) is part
    assert part.__all__
    for public in part.__all__:
        assert hasattr(part, public), public


@pytest.mark.parametrize("name", ["machine", "simulate.platform", "collectives.library"])
def test_load_published_and_dump_mean_the_same_everywhere(name, tmp_path):
    package = import_module(f"commmodel.{name}")
    assert package.published()
    for published, path in package.published().items():
        loaded = package.load(published)
        assert package.load(path).name == loaded.name
        package.dump(loaded, tmp_path / "copy.toml")
        assert package.load(tmp_path / "copy.toml") == loaded or name == "simulate.platform"
    with pytest.raises(ValueError, match="'nosuch' is neither a file nor a published"):
        package.load("nosuch")


def test_functions_of_programs_that_run_simulated_are_there():
    assert commmodel.sampled is commmodel.shadow.sampled
    assert commmodel.shared_array is commmodel.shadow.shared_array


def test_every_module_of_the_reference_is_reached_from_the_package_and_is_one():
    pages = [*REFERENCE.glob("python/*.md"), REFERENCE / "internals.md"]
    modules = [name for page in pages for kind, name, _ in DIRECTIVE.findall(page.read_text()) if kind == "automodule"]
    code = (  # each in a process of its own, as one module may load another; common libraries are loaded once for all
        "import commmodel, functools, msgspec, numpy, os, rich.console, sys, tomlkit\n"
        "for name in sys.argv[1:]:\n"
        "    if child := os.fork():\n"
        "        assert os.waitpid(child, 0)[1] == 0, name\n"
        "    else:\n"
        "        module = functools.reduce(getattr, name.split('.')[1:], commmodel)\n"
        "        os._exit(module.__name__ != name)\n"
    )
    assert len(modules) > 40
    subprocess.run([sys.executable, "-c", code, *modules], check=True)


def test_an_unknown_part_is_told():
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        commmodel.nosuch  # noqa: B018


FOR_OUR_READERS = {"parse_toml", "published", "quantity", "read_bytes", "read_text", "type_or_text"}
"""Names of `commmodel.documents` that the package's own readers share, and nobody is promised."""


@cache
def documented() -> dict[str, list[object]]:
    """Names in the reference of Python, and what each of them stands for."""
    listed: dict[str, list[object]] = {}
    for page in REFERENCE.rglob("*.md"):
        for directive, target, options in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            module, _, name = target.rpartition(".")
            parent = import_module(module)
            part = getattr(parent, name) if hasattr(parent, name) else import_module(target)
            listed.setdefault(name, []).append(part)
            if directive == "automodule" and (members := MEMBERS.search(options)):
                for member in members[1].split(", ") if members[1] else shown(part):
                    listed.setdefault(member, []).append(getattr(part, member))
    return listed


def shown(part: ModuleType) -> list[str]:
    """Names that Sphinx shows of a whole module; constants only where they are defined, beside their texts."""
    values = {name: getattr(part, name) for name in part.__all__}
    is_package = hasattr(part, "__path__")
    return [
        name for name, value in values.items() if not is_package or inspect.isclass(value) or inspect.isroutine(value)
    ]


@pytest.mark.parametrize("name", sorted(set(commmodel.__all__) - OF_PROGRAMS))
def test_the_reference_lists_what_a_part_names(name):
    part = import_module(f"commmodel.{name}")
    public = set(part.__all__) - (FOR_OUR_READERS if name == "documents" else set())
    public = {key for key in public if not inspect.ismodule(getattr(part, key))}
    missing = [key for key in public if not any(value is getattr(part, key) for value in documented().get(key, ()))]
    assert not missing


def test_structs_of_kernels_are_listed_and_not_at_the_front_of_results():
    structs = [value for value in vars(commmodel.results.configurations).values() if inspect.isclass(value)]
    kernels = {struct.__name__ for struct in structs if getattr(struct, "__struct_config__", None)}
    kernels -= {"BenchOptions", "InputStruct"}
    assert len(kernels) > 20
    assert kernels <= set(documented())
    assert not kernels & set(vars(commmodel.results))


NEEDS_RANKS = {
    "commmodel.record.launch", "commmodel.record.recording_simulated_ranks", "commmodel.report.write_validation",
    "commmodel.sweep.interleaving.measure_in_turns",
}  # fmt: skip
"""What starts MPI programs, or takes measurements of minutes: a doctest cannot show it, tests of ranks do."""


SPEAKS_FOR_ITSELF = re.compile(r"'?([A-Z]\w+|commmodel[\w.]+|str \| os\.PathLike\[str\])'?( \| None)?")
"""Types of arguments that need no description: a struct, whose fields are described, and a path."""


def lacking(name: str, function: Callable[..., object]) -> list[str]:
    """What a promised function's docstring or signature lacks."""
    text = inspect.getdoc(function) or ""
    arguments = [part for key, part in inspect.signature(function).parameters.items() if key not in {"self", "cls"}]
    described = re.findall(r"^([\w, *]+)(?: :.*)?$", text.partition("Parameters\n---")[2], re.MULTILINE)
    names = {key.strip("* ") for line in described for key in line.split(",")}
    missing = []
    for part in arguments:
        annotation = inspect.formatannotation(part.annotation)
        if len(arguments) > 1 and part.name not in names and not SPEAKS_FOR_ITSELF.fullmatch(annotation):
            missing.append(part.name)
        if annotation == "bool" and part.kind is not part.KEYWORD_ONLY:
            missing.append(f"{part.name} as a keyword only")
    if not re.search(rf"(^|[ .(]){function.__name__}\(", shown_code(function), re.MULTILINE):
        missing += ["an example"] if name not in NEEDS_RANKS else []
    if "Raises\n---" not in text and re.search(r"^\s+raise \w+Error", inspect.getsource(function), re.MULTILINE):
        missing.append("Raises")
    return missing


def shown_code(function: Callable[..., object]) -> str:
    """Lines of the examples that `make test` runs: of the function's module, and of the guides."""
    texts = [inspect.getsource(sys.modules[function.__module__])]
    texts += [page.read_text(encoding="utf-8") for page in (REFERENCE.parent / "howto").glob("*.md")]
    return "\n".join(re.findall(r"^ *(?:>>>|\.\.\.) (.*)", "\n".join(texts), re.MULTILINE))


def test_what_is_promised_says_what_it_takes_and_shows_it():
    assert len(promised()) > 100
    assert not {name: missing for name, function in promised().items() if (missing := lacking(name, function))}
