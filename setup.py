"""Build the compiled core; everything else about the package stands in pyproject.toml.

The folder is the build rule. What is in ``_core/mpi`` is compiled once for each MPI ABI and its file is named after it
(``pingpong.mpich.abi3.so``), so that one wheel or one source tree serves several MPI libraries; so is ``_core/record``,
one library to preload whose wrappers are generated from a table and mpi.h. All else is compiled once, without MPI: the
C files in the rooms of ``_core/online`` are an MPI library of MPICH's ABI, whose symbols are generated from a header
of its own; what is in ``_core/preload`` is a library to preload. A module is made of its ``.pyx`` and of all ``.cpp``
files in its folder; what Cython needs for memory views, half of what there would be to compile, is a module of its own:
``MPICC=/path/a/mpicc:/path/b/mpicc pip install .``
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import cached_property
from glob import glob
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

CORE = "src/commmodel/_core"
RECORDER = f"{CORE}/record"
ONLINE = f"{CORE}/online"
MEMORY_VIEWS = f"{CORE}/common/memory_views"  # has no source: Cython writes all of it
SANITIZE = bool(os.environ.get("COMMMODEL_SANITIZE"))  # `make sanitize`: without MPI, and with checks of memory
OPTIMISED = ("-O3", "-g0", "-ffp-contract=off")  # the same numbers on every processor, with every compiler
SANITIZED = ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
FLAG_KEYWORDS = {"-I": "include_dirs", "-L": "library_dirs", "-l": "libraries"}


def check_compilers() -> None:
    """End in one line where there is no C or no C++ compiler; MPI's compilers are wrappers around one."""
    for variable, usual, package in (("CC", "cc", "gcc"), ("CXX", "c++", "g++")):
        command = os.environ.get(variable) or sysconfig.get_config_var(variable) or usual
        if not shutil.which(shlex.split(command)[0]):
            language = package.replace("gcc", "C").replace("g++", "C++")
            raise SystemExit(
                f"commmodel: no {language} compiler: {command} is not found: install one (apt install {package}, dnf "
                f"install gcc-c++, conda install cxx-compiler, module load gcc), or name yours in {variable}"
            )


def run_compiler(mpicc: str, *arguments: str, source: str | None = None) -> str:
    """Return what the MPI compiler wrapper prints."""
    command = [*shlex.split(mpicc), *arguments]
    try:
        return subprocess.run(command, input=source, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or error
        raise SystemExit(f"commmodel: cannot run {shlex.join(command)}: {reason}; set MPICC") from None


def mpi_flags(mpicc: str) -> dict[str, list]:
    """Split ``mpicc -show`` into setuptools' keywords, dropping run paths.

    Run paths would pin the library of the build machine; mpi4py has loaded the right one before us.
    """
    flags = {"include_dirs": [], "library_dirs": [], "libraries": [], "define_macros": []}
    for argument in shlex.split(run_compiler(mpicc, "-show"))[1:]:
        option, value = argument[:2], argument[2:]
        if option in FLAG_KEYWORDS:
            flags[FLAG_KEYWORDS[option]].append(value)
        elif option == "-D":
            name, _, content = value.partition("=")
            flags["define_macros"].append((name, content or None))
    return flags


def mpi_abi(mpicc: str) -> str:
    """Return which MPI ABI the headers of this compiler are for."""
    probe = """
    #include <mpi.h>
    #if defined(OPEN_MPI)
    ABI=openmpi
    #elif defined(MPI_ABI_VERSION)
    ABI=mpiabi
    #elif defined(MPICH_VERSION) || defined(I_MPI_VERSION)
    ABI=mpich
    #endif
    """
    lines = run_compiler(mpicc, "-E", "-P", "-x", "c", "-", source=probe).splitlines()
    found = [line.strip()[4:] for line in lines if line.strip().startswith("ABI=")]
    if not found:
        raise SystemExit(f"commmodel: {mpicc}: its mpi.h is neither MPICH's, Open MPI's nor the standard ABI's")
    return found[0]


def load_module(path: str) -> ModuleType:
    """Import a file that needs nothing of the package, which is not built yet."""
    name = os.path.basename(path).removesuffix(".py")
    spec = spec_from_file_location(name, path)
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generated_wrappers(mpicc: str, abi: str) -> dict[str, list]:
    """Write the wrappers of recorded calls for one MPI library; return the keywords that compile them."""
    folder = f"build/record/{abi}"
    os.makedirs(folder, exist_ok=True)
    table, wrappers = load_module("src/commmodel/record/calls.py"), load_module(f"{RECORDER}/wrappers.py")
    header = run_compiler(mpicc, "-E", "-P", "-x", "c", "-", source="#include <mpi.h>")
    for name, content in wrappers.generate(table.CALLS, table.FINGERPRINTS[-1], header).items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(content)
    return {"sources": [f"{folder}/wrappers.c"], "include_dirs": [folder]}


def generated_symbols() -> dict[str, list]:
    """Write all symbols of the library of simulated programs; return the keywords that compile them."""
    folder = "build/online"
    os.makedirs(folder, exist_ok=True)
    with open(f"{ONLINE}/functions.h", encoding="utf-8") as file:
        header = file.read()
    for name, content in load_module(f"{ONLINE}/symbols.py").generate(header).items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(content)
    return {"sources": [f"{folder}/symbols.c"], "extra_compile_args": ["-include", f"{folder}/functions.h"]}


def translated(stem: str, language: str = "c") -> str:
    """Return the path of what Cython writes."""
    return f"build/cython/{stem}.{'cpp' if language == 'c++' else 'c'}"


class BuildExtensions(build_ext):
    """Compile extensions with ``uses_mpi`` once for each MPI ABI, the others once."""

    abi: str | None = None

    @cached_property
    def mpi_compilers(self) -> dict[str, str]:
        """MPI ABI -> compiler; looked for only when compiling, as setup.py also answers pip's questions."""
        if named := os.environ.get("MPICC"):
            return {mpi_abi(mpicc): mpicc for mpicc in named.split(":")}
        compilers: dict[str, str] = {}
        for folder in os.get_exec_path():  # that of a package, which pip may have put there, and the machine's
            if mpicc := shutil.which("mpicc", path=folder):
                try:
                    compilers.setdefault(mpi_abi(mpicc), mpicc)
                except SystemExit as problem:  # of one that does not work; another one may
                    print(f"{problem}: left out")
        if not compilers:
            raise SystemExit("commmodel: no mpicc found; set MPICC or put mpicc on PATH")
        return compilers

    def passes(self) -> Iterator[str | None]:
        """Set ``abi`` and ``extensions`` for each pass in turn: first without MPI, then each MPI ABI."""
        every = self.extensions
        try:
            for abi in [None, *([] if SANITIZE else self.mpi_compilers)]:
                self.abi = abi
                self.extensions = [extension for extension in every if extension.uses_mpi == (abi is not None)]
                yield abi
        finally:
            self.abi, self.extensions = None, every

    def build_extensions(self):
        check_compilers()
        translate(self.extensions)
        build_temp = self.build_temp
        self.parallel = self.parallel or os.cpu_count()
        for abi in self.passes():
            print(f"commmodel: building for {f'MPI ABI {abi}: {self.mpi_compilers[abi]}' if abi else 'no MPI'}")
            self.build_temp = os.path.join(build_temp, abi or "no-mpi")
            super().build_extensions()
        self.build_temp = build_temp

    def build_extension(self, ext):
        """Compile one extension, while other threads compile others: changes nothing but `ext`.

        An editable install compiles only what has changed, so that a second environment takes little time.
        """
        in_source = os.path.join("src", self.get_ext_filename(ext.name))
        if self.editable_mode and not newer_group([*ext.sources, *ext.depends, "setup.py"], in_source):
            target = self.get_ext_fullpath(ext.name)
            self.mkpath(os.path.dirname(target))
            self.copy_file(in_source, target)
            return
        flags = mpi_flags(self.mpi_compilers[self.abi]) if self.abi else {}
        if self.abi and os.path.dirname(ext.sources[0]) == RECORDER:
            for keyword, values in generated_wrappers(self.mpi_compilers[self.abi], self.abi).items():
                flags[keyword] = [*flags.get(keyword, []), *values]
        if self.abi == "mpich":  # its file has other names at other sites; a process has loaded it before
            flags["libraries"] = []
        if ext.name.endswith(f".{os.path.basename(ONLINE)}"):
            flags = generated_symbols()
        if ext.name == module_name(MEMORY_VIEWS):
            flags = {"sources": [translated(MEMORY_VIEWS)]}
        saved = {keyword: list(getattr(ext, keyword)) for keyword in flags}
        for keyword, values in flags.items():
            setattr(ext, keyword, values + saved[keyword])  # first: a virtual environment may hold another mpi.h
        try:
            super().build_extension(ext)
        finally:
            for keyword, values in saved.items():
                setattr(ext, keyword, values)

    def copy_extensions_to_source(self):
        for _ in self.passes():
            super().copy_extensions_to_source()

    def get_outputs(self):
        if self.inplace:
            return sorted(self.get_output_mapping())
        return sorted(output for _ in self.passes() for output in super(BuildExtensions, self).get_outputs())

    def get_output_mapping(self):
        mapping = {}
        for _ in self.passes():
            mapping.update(super().get_output_mapping())
        return mapping

    def get_ext_filename(self, fullname):
        filename = super().get_ext_filename(fullname)
        name = fullname.rpartition(".")[2]  # setuptools asks with and without the package
        if os.path.exists(f"{CORE}/preload/{name}.c"):  # no module: named so that no search for one finds it
            return os.path.join(os.path.dirname(filename), f"libcommmodel-{name}.so")
        if name == os.path.basename(RECORDER):
            return os.path.join(os.path.dirname(filename), f"libcommmodel-{name}.{self.abi}.so")
        if name == os.path.basename(ONLINE):  # found by its name where programs look for their MPI library
            return os.path.join(os.path.dirname(filename), "libmpi.mpich.so")
        head, _, suffix = filename.rpartition(name)
        return f"{head}{name}.{self.abi}{suffix}" if self.abi else filename


def module_name(stem: str) -> str:
    """Return the name of the module whose files are named so."""
    return stem.removeprefix("src/").replace("/", ".")


def core_extension(source: str) -> Extension:
    """Describe the module of the core made from `source`: in C++ where its folder has C++ headers."""
    folder, stem = os.path.dirname(source), source.removesuffix(".pyx")
    cpp = bool(glob(f"{folder}/*.hpp"))
    extension = Extension(
        module_name(stem),
        [source, *sorted(glob(f"{folder}/*.cpp"))],
        depends=sorted([*glob(f"{CORE}/*/*.h*"), *glob(f"{ONLINE}/*/*.h")] if cpp else glob(f"{CORE}/*/*.*[dh]")),
        include_dirs=[CORE],
        extra_compile_args=[
            *(SANITIZED if SANITIZE else OPTIMISED),
            *(["-std=c++17", "-fvisibility=hidden"] if cpp else []),  # functions of headers are called directly
        ],
        extra_link_args=["-fsanitize=address,undefined"] if SANITIZE else [],
        language="c++" if cpp else "c",
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
    )
    extension.uses_mpi = folder == f"{CORE}/mpi"
    return extension


def memory_views() -> Extension:
    """Describe the module that all others have the code of memory views from: its source is written by translate()."""
    extension = Extension(
        module_name(MEMORY_VIEWS),
        [],
        depends=["setup.py"],
        extra_compile_args=[*(SANITIZED if SANITIZE else OPTIMISED)],
        extra_link_args=["-fsanitize=address,undefined"] if SANITIZE else [],
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
    )
    extension.uses_mpi = False
    return extension


def translate(extensions: list[Extension]) -> None:
    """Translate what is written in Cython: only when compiling, as setup.py also answers pip's questions."""
    import mpi4py
    from Cython import __version__ as version
    from Cython.Build import cythonize
    from Cython.Build.SharedModule import generate_shared_module
    from Cython.Compiler.Options import CompilationOptions

    views, heading = translated(MEMORY_VIEWS), f"/* Generated by Cython {version} */\n"
    is_of_this_cython = False
    if os.path.exists(views):
        with open(views, encoding="utf-8") as file:
            is_of_this_cython = file.readline() == heading
    if not is_of_this_cython:
        os.makedirs(os.path.dirname(views), exist_ok=True)
        generate_shared_module(CompilationOptions(shared_c_file_path=views, language_level=3))
    written = [extension for extension in extensions if [*extension.sources, ""][0].endswith(".pyx")]
    stale = []
    for extension in written:
        extension.include_dirs.append(mpi4py.get_include())
        source, *rest = extension.sources
        target = translated(source.removesuffix(".pyx"), extension.language)
        if not is_of_this_cython or newer_group([source, *glob(f"{CORE}/*/*.pxd")], target):
            stale.append(extension)
        else:
            extension.sources = [target, *rest]
    copies = cythonize(
        stale,
        nthreads=os.cpu_count() or 1,
        force=not is_of_this_cython,
        build_dir="build/cython",
        include_path=["src"],
        shared_utility_qualified_name=module_name(MEMORY_VIEWS),
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False},
    )
    sources = {copy.name: copy.sources for copy in copies}
    for extension in stale:
        extension.sources = sources[extension.name]


def preloaded_library(source: str) -> Extension:
    """Describe a library to be preloaded into any program: plain C, without Python and MPI."""
    extension = Extension(
        source.removeprefix("src/").removesuffix(".c").replace("/", "."),
        [source],
        depends=glob(f"{CORE}/preload/*.h"),
        extra_compile_args=["-O2", "-g0", "-fno-builtin"],  # or the compiler takes malloc for what it knows of it
        libraries=["dl", "pthread"],
    )
    extension.uses_mpi = False
    return extension


def recorder() -> Extension:
    """Describe the library to be preloaded into programs whose calls of MPI are recorded."""
    extension = Extension(
        f"{RECORDER.removeprefix('src/').replace('/', '.')}.{os.path.basename(RECORDER)}",
        sorted(glob(f"{RECORDER}/*.c")),
        depends=[
            *(*glob(f"{RECORDER}/*.*[!so]"), *glob(f"{CORE}/clock/*.h")),
            *(f"{CORE}/common/codes.h", "src/commmodel/record/calls.py"),
        ],
        include_dirs=[CORE, RECORDER],
        extra_compile_args=["-std=gnu11", "-O2", "-g0", "-fvisibility=hidden"],
        extra_link_args=["-Wl,-z,lazy"],  # programs without MPI load it too, and call none of it
        libraries=["dl", "pthread"],
    )
    extension.uses_mpi = True
    return extension


def online_library() -> Extension:
    """Describe the MPI library of programs that run while they are simulated, in MPICH's ABI."""
    extension = Extension(
        f"{ONLINE.removeprefix('src/').replace('/', '.')}.{os.path.basename(ONLINE)}",
        [*sorted(glob(f"{ONLINE}/*/*.c")), f"{RECORDER}/sites.c"],
        depends=[
            *(*glob(f"{ONLINE}/*.h"), *glob(f"{ONLINE}/*/*.h"), f"{ONLINE}/symbols.py"),
            *(f"{RECORDER}/sites.h", f"{CORE}/common/codes.h"),
        ],
        include_dirs=[CORE],
        extra_compile_args=["-std=gnu11", "-O2", "-g0", "-fvisibility=hidden", "-fno-omit-frame-pointer"],
        extra_link_args=["-Wl,-soname,libmpi.so.12"],
        libraries=["dl", "pthread", "m"],
    )
    extension.uses_mpi = False
    return extension


ext_modules = [memory_views(), *(core_extension(source) for source in sorted(glob(f"{CORE}/*/*.pyx")))]
if sys.platform == "linux" and not SANITIZE:  # elsewhere, other functions allocate and preloading has another name
    ext_modules.extend(preloaded_library(source) for source in sorted(glob(f"{CORE}/preload/*.c")))
    ext_modules.extend((recorder(), online_library()))
setup(
    ext_modules=ext_modules,
    cmdclass={"build_ext": BuildExtensions},
    options={
        "bdist_wheel": {"py_limited_api": "cp311"},
        **({"build": {"build_base": "build/sanitized"}} if SANITIZE else {}),  # objects of the two must not mix
    },
)
