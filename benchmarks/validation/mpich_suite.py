"""MPICH's own tests on simulated ranks: ``python -m benchmarks.validation.mpich_suite FOLDER``.

FOLDER is ``test/mpi`` of MPICH's sources, which need no configure: each test is compiled alone, with the mpicc beside
this interpreter. What its testlist names runs on simulated ranks of graphene. What does not pass there runs under
MPICH's mpiexec, too: where it does not pass either, or cannot be compiled with the installed MPICH, it does not count.
Lines that differ in MPICH's own settings only run once; those that MPICH expects to fail, and those that need more than
4 GB, do not. With ``--smpi``, the folder ``teshsuite/smpi/mpich3-test`` of SimGrid's sources, the table has the number
of tests that SMPI's lists name beside ours. The exit code is 0 whatever passes.

With ``--fortran MPIFORT`` it runs the Fortran tests instead, with that compiler and the mpicc and mpiexec beside it.
FOLDER is best of that MPICH's version. Tests of ``use mpi`` are mostly those of ``mpif.h``, translated by MPICH's
script ``maint/f77tof90``, which needs perl.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

DIRECTORIES = (
    "pt2pt,coll,comm,group,datatype,topo,attr,info,errhan,rma,init,part,session,"
    "threads/comm,threads/init,threads/part,threads/pt2pt,threads/rma,"
    "errors/attr,errors/coll,errors/comm,errors/datatype,errors/group,errors/pt2pt,errors/rma,errors/session,errors/topo"
)
FORTRAN_DIRECTORIES = ",".join(
    f"{language}/{directory}"
    for language, directories in (
        ("f77", "attr,coll,comm,datatype,ext,info,init,profile,pt2pt,rma,topo"),
        ("f90", "attr,coll,comm,datatype,ext,f90types,info,init,misc,profile,pt2pt,rma,timer,topo"),
        ("f08", "attr,coll,comm,datatype,ext,info,init,misc,profile,pt2pt,rma,subarray,timer,topo"),
    )
    for directory in directories.split(",")
)
CONFIGURATION = """
#define F77_NAME_LOWER_USCORE 1
#define F90_NAME_LOWER_USCORE 1
#define HAVE_ATOMIC 1
#define HAVE_FLOAT16 1
#define HAVE_GETRUSAGE 1
#define HAVE_INTTYPES_H 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define HAVE_MPI_INIT_THREAD 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_PTHREAD_BARRIER_INIT 1
#define HAVE_STDARG_H 1
#define HAVE_STDINT_H 1
#define HAVE_STRING_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_UNISTD_H 1
#define POINTERINT_t long
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define USE_LONG_DOUBLE_COMPLEX 1
"""
SUFFIXES = {"f77": ".f", "f90": ".f90", "f08": ".f90"}
"""Of Fortran sources, by the language of their directory."""
INTEGERS = {"@F77_MPI_ADDRESS@": "integer*8", "@F77_MPI_OFFSET@": "integer*8"}
"""In templates of headers."""
MOST_MEMORY = 4.0
"""GB of a test."""
MOST_RANKS = 32
FUNCTION = "int run(const char *arg)"
"""In tests that have no main function of their own."""
NO_ERRORS = re.compile(r"^\s*No Errors\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Test:
    """A line of a testlist."""

    program: str
    ranks: int
    words: tuple[str, ...]
    fails: bool
    """Whether it must end with an error."""


def lines(path: Path) -> Iterator[tuple[str, int, dict[str, list[str]]]]:
    """Yield program, ranks and settings of a testlist's lines."""
    for line in path.read_text().splitlines():
        words = line.split()
        if len(words) < 2 or words[0].startswith(("#", "@")) or not words[1].isdecimal():
            continue
        settings: dict[str, list[str]] = {}
        for word in words[2:]:
            name, _, value = word.partition("=")
            settings.setdefault(name, []).append(value)
        yield words[0], int(words[1]), settings


def tests(folder: Path) -> list[Test]:
    """Return the tests of a directory, each once."""
    listed = {}
    for name in ("testlist", "testlist.in"):
        path = folder / name
        for program, ranks, settings in lines(path) if path.exists() else ():
            too_large = ranks > MOST_RANKS or any(float(value) > MOST_MEMORY for value in settings.get("mem", ()))
            if "xfail" in settings or too_large:
                continue
            fails = "TestErrFatal" in settings.get("resultTest", ())
            listed[Test(program, ranks, tuple(settings.get("arg", ())), fails)] = None
    return [*listed]


def sources(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Return the source files and macros of programs that have others than their name says."""
    text = (folder / "Makefile.am").read_text().replace("\\\n", " ")
    special: dict[str, tuple[list[str], list[str]]] = {}
    for program, files in re.findall(r"^(\w+)_SOURCES\s*=\s*(.*)$", text, re.MULTILINE):
        special[program] = (files.split(), [])
    for program, flags in re.findall(r"^(\w+)_CPPFLAGS\s*=\s*(.*)$", text, re.MULTILINE):
        macros = [flag for flag in flags.split() if flag.startswith("-D")]
        special[program] = (special.get(program, ([f"{program}.c"], []))[0], macros)
    return special


class Suite:
    """The tests, compiled in a folder.

    Parameters
    ----------
    source : path
        MPICH's ``test/mpi``.
    build : path
        Where programs go.
    seconds : float
        A test may take.
    fortran : path, optional
        The compiler of Fortran tests; mpicc and mpiexec are taken beside it, not beside this interpreter.
    """

    def __init__(self, source: Path, build: Path, seconds: float, fortran: Path | None = None) -> None:
        self._source, self._build, self._seconds = source, build, seconds
        self._fortran = fortran
        (build / "include").mkdir()
        (build / "include" / "mpitestconf.h").write_text(CONFIGURATION)
        (build / "include" / "mtest_mpix.h").touch()
        (build / "dtpoolsconf.h").touch()
        folders = (build / "include", source / "include", source / "dtpools" / "include")
        self._flags = ["-w", "-O1", *(f"-I{folder}" for folder in folders)]
        util = source / "util"
        names = ("mtest", "mtest_common", "mtest_thread", "dtypes", "run_mpitests")
        pools = sorted((source / "dtpools" / "src").glob("*.c"))
        for file in (*(util / f"{name}.c" for name in names), *pools):
            self._compile("mpicc", ["-c", file, "-o", build / f"{file.stem}.o"])
        self._main = build / "run_mpitests.o"
        self._objects = sorted({*build.glob("*.o")} - {self._main})
        if fortran is not None:
            self._prepare_fortran()

    def _prepare_fortran(self) -> None:
        """Compile what Fortran tests share, and make the headers that MPICH's configure makes."""
        for language, suffix in SUFFIXES.items():
            file = f"mtest_{language}"
            self._compile("mpifort", ["-c", self._source / "util" / f"{file}{suffix}", "-o", self._build / f"{file}.o"])
        for template in self._source.glob("f77/*/*.h.in"):
            text = template.read_text()
            for name, value in INTEGERS.items():
                text = text.replace(name, value)
            (self._build / "include" / template.stem).write_text(text)

    def _tool(self, name: str) -> Path:
        """Return mpicc, mpifort or mpiexec of the MPICH that the tests are compiled with."""
        if self._fortran is None:
            return Path(sys.executable).with_name(name)
        return self._fortran.with_name(self._fortran.name.replace("mpifort", name))

    def _compile(self, compiler: str, words: Sequence[object]) -> bool:
        command = [self._tool(compiler), *self._flags, *words]
        finished = subprocess.run(list(map(str, command)), capture_output=True, check=False, cwd=self._build)
        return finished.returncode == 0

    def folder(self, directory: str) -> Path:
        """Return the folder of a directory's sources; those of f90 are made of those of f77 and its own."""
        language, _, leaf = directory.partition("/")
        if language != "f90":
            return self._source / directory
        target = self._build / "sources" / directory
        if not target.exists():
            sources, original = self._source / directory, self._source / "f77" / leaf
            shutil.copytree(sources, target) if sources.exists() else target.mkdir(parents=True)
            if original.exists():
                script = self._source / "maint" / "f77tof90"
                command = ["perl", script, original, target, "Makefile.am", "Makefile.ap"]
                subprocess.run(list(map(str, command)), capture_output=True, check=True)
        return target

    def program(self, directory: str, name: str, special: dict[str, tuple[list[str], list[str]]]) -> Path | None:
        """Compile a test; return None where that fails."""
        folder, target = self.folder(directory), self._build / directory / name
        target.parent.mkdir(exist_ok=True, parents=True)
        language, _, leaf = directory.partition("/")
        files, macros = special.get(name, ([f"{name}{SUFFIXES.get(language, '.c')}"], []))
        paths = [folder / file for file in files]
        if leaf and language in SUFFIXES:  # sources in C are shared with the tests of the other Fortran interfaces
            folders = [folder, self.folder(f"f90/{leaf}"), self.folder(f"f77/{leaf}")]
            paths = [next((place / file for place in folders if (place / file).exists()), Path(file)) for file in files]
        if any(path.suffix in SUFFIXES.values() for path in paths):
            compiler, objects = "mpifort", [self._build / f"mtest_{language}.o"]
        else:
            is_function = any(path.exists() and FUNCTION in path.read_text() for path in paths)
            compiler, objects = "mpicc", [self._main, *self._objects] if is_function else self._objects
        words = [*macros, *paths, *objects, "-o", target, "-lm", "-lpthread"]
        return target if target.exists() or self._compile(compiler, words) else None

    def passes(self, launcher: Sequence[object], test: Test, program: Path) -> str:
        """Run a test; return what went wrong, nothing where it passes."""
        command = [*map(str, launcher), str(program), *test.words]
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                cwd=self.folder(str(program.parent.relative_to(self._build))),
            )  # fmt: skip
            try:
                code = process.wait(self._seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return "no end"
            output.seek(0)
            text = output.read()
        if test.fails:
            return "" if code else "no error"
        if code == 0 and NO_ERRORS.search(text):
            return ""
        last = [line for line in text.splitlines() if line.strip()]
        reason = next((line for line in reversed(last) if line.startswith("commmodel: ")), last[-1] if last else "")
        return f"{code}: {reason[:100]}"

    def simulated(self, test: Test, program: Path) -> str:
        """Run a test on simulated ranks."""
        words = ("-m", "commmodel", "simulate", "graphene", "run", "-p", test.ranks, "--")
        return self.passes([sys.executable, *words], test, program)

    def launched(self, test: Test, program: Path) -> str:
        """Run a test under mpiexec."""
        return self.passes([self._tool("mpiexec"), "-n", test.ranks], test, program)


def directory_results(suite: Suite, directory: str, options: argparse.Namespace) -> dict[str, list[str]]:
    """Run a directory; return what went wrong in the lines of each program that counts."""
    folder = suite.folder(directory)
    special = sources(folder)
    chosen = [test for test in tests(folder) if re.search(options.include, test.program)]
    programs = {
        name: suite.program(directory, name, special) for name in dict.fromkeys(test.program for test in chosen)
    }
    runs = [(test, path) for test in chosen if (path := programs[test.program]) is not None]
    outcomes: dict[str, list[str]] = {}
    with ThreadPoolExecutor(options.workers) as pool:
        for (test, path), problem in zip(runs, pool.map(lambda run: suite.simulated(*run), runs), strict=True):
            if problem and suite.launched(test, path):
                continue
            outcomes.setdefault(test.program, []).append(problem)
            if problem:
                print(f"{directory}/{test.program} {test.ranks} {' '.join(test.words)}: {problem}", flush=True)
    return outcomes


def named_by_smpi(folder: Path, directory: str) -> set[str]:
    """Return the programs that SMPI's list of a directory names."""
    path = folder / directory / "testlist"
    return {program.replace("-", "_") for program, *_ in lines(path)} if path.exists() else set()


def main() -> None:
    """Run the directories and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="test/mpi of MPICH's sources")
    parser.add_argument("--smpi", type=Path, help="teshsuite/smpi/mpich3-test of SimGrid's sources (none)")
    parser.add_argument("--fortran", type=Path, help="MPICH's mpifort: the Fortran tests in place of C's (none)")
    parser.add_argument("--directories", help=f"({DIRECTORIES}; of Fortran, all but spawn and io)")
    parser.add_argument("--include", default="", help="regular expression of the programs to run (all)")
    parser.add_argument("--workers", type=int, default=2, help="tests at once (%(default)s)")
    parser.add_argument("--seconds", type=float, default=120, help="a test may take (%(default)s)")
    options = parser.parse_args()
    source = options.folder.resolve()
    if not (source / "util" / "mtest.c").is_file():
        raise SystemExit(f"{source}: not MPICH's folder of tests: util/mtest.c is missing")
    columns = ("directory", "programs", "pass", "share", "of SMPI's list", "pass, not in SMPI's list")
    directories = options.directories or (FORTRAN_DIRECTORIES if options.fortran else DIRECTORIES)
    table = Table(*columns, title=f"MPICH's {'Fortran' if options.fortran else 'C'} tests on simulated ranks", box=None)
    reasons: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        suite = Suite(source, Path(temporary), options.seconds, options.fortran)
        for directory in directories.split(","):
            outcomes = directory_results(suite, directory, options)
            passed = {name for name, problems in outcomes.items() if not any(problems)}
            reasons.update(problem for problems in outcomes.values() for problem in {*problems} if problem)
            listed = named_by_smpi(options.smpi, directory) & {*outcomes} if options.smpi else set()
            share = f"{len(passed) / len(outcomes):.0%}" if outcomes else ""
            beside = (
                (f"{len(listed & passed)} of {len(listed)}", str(len(passed - listed))) if options.smpi else ("", "")
            )
            row = (directory, str(len(outcomes)), str(len(passed)), share, *beside)
            print(*row, sep="; ", flush=True)
            table.add_row(*row)
    Console(width=120).print(table)
    for reason, count in reasons.most_common(12):
        print(f"{count:4} {reason}")


if __name__ == "__main__":
    main()
