"""What a thread level costs: the benchmark launched at each level in turn, and ratios to the first of them.

mpi4py starts MPI at ``multiple``, a C program's MPI_Init at ``single``. Run it as

    python -m benchmarks.speed.thread_level --mpiexec "mpiexec -bind-to core"
"""

from benchmarks.speed.interleaved import measure, our_command, parser, table

from commmodel.results.conditions import LEVELS


def main() -> None:
    """Measure and print."""
    options = parser("What a thread level costs.", launches=15)
    options.add_argument(
        "--levels", default="single,multiple", help="the first is what the others are compared with (%(default)s)"
    )
    arguments = options.parse_args()
    base, *levels = arguments.levels.split(",")
    for level in (base, *levels):
        if level not in LEVELS:
            options.error(f"--levels: no thread level {level!r}: choose from {', '.join(LEVELS)}")
    again = f"{base} again"
    commands = {level: our_command(arguments, "--thread-level", level) for level in (base, *levels)}
    seconds = measure(arguments, commands | {again: commands[base]})
    columns = {f"{level} / {base}": (seconds[level], seconds[base]) for level in levels}
    columns[f"control: {base} / {base}"] = seconds[again], seconds[base]
    print(*table(list(seconds[base]), seconds[base], columns), sep="\n")


if __name__ == "__main__":
    main()
