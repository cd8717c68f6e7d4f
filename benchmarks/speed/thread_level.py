"""What a thread level costs: the benchmark launched at each level in turn, and ratios to the first of them.

mpi4py starts MPI at ``multiple``, a C program's MPI_Init at ``single``. Run it as

    python -m benchmarks.speed.thread_level --mpiexec "mpiexec -bind-to core"
"""

from benchmarks.speed.interleaved import measure, ours, parser, table

from commmodel.results import thread_level


def main() -> None:
    """Measure and print."""
    options = parser("What a thread level costs.", launches=15)
    options.add_argument(
        "--levels", default="single,multiple", help="the first is what the others are compared with (%(default)s)"
    )
    asked = options.parse_args()
    base, *others = asked.levels.split(",")
    for level in (base, *others):
        if level not in thread_level.LEVELS:
            options.error(f"--levels: no thread level {level!r}: choose from {', '.join(thread_level.LEVELS)}")
    again = f"{base} again"
    commands = {level: ours(asked, "--thread-level", level) for level in (base, *others)}
    found = measure(asked, commands | {again: commands[base]})
    columns = {f"{level} / {base}": (found[level], found[base]) for level in others}
    columns[f"control: {base} / {base}"] = found[again], found[base]
    print(*table(list(found[base]), found[base], columns), sep="\n")


if __name__ == "__main__":
    main()
