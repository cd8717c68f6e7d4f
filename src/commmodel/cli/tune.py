"""The verb ``tune``: rules for an MPI library, from predictions of each algorithm."""

import argparse
from pathlib import Path
from typing import Any

from commmodel.cli.parsers import known_machine, new_verb, print_json, show, warn_of
from commmodel.cli.predict import COLLECTIVES, byte_time
from commmodel.errors import InputError

__all__ = ["add"]

_LIBRARIES = ("openmpi", "mpich")


def add(verbs: Any) -> None:
    """Add the verb."""
    tune = new_verb(
        verbs, "tune", _run, "rules of an MPI library: the fastest predicted algorithm for each size",
        "commmodel tune machine.toml -p 2:64:*2 --library openmpi -o rules.txt",
    )  # fmt: skip
    tune.add_argument(
        "machine", metavar="MACHINE", help="machine file, a name from: commmodel machines, or results.jsonl to fit"
    )
    tune.add_argument("-p", "--ranks", metavar="P", required=True, help="numbers of processes, like 2:64:*2")
    tune.add_argument("--sizes", default="1:4MiB", help="message sizes (1:4MiB)")
    tune.add_argument("--operations", help=f"of them (those the library lets one choose of {', '.join(COLLECTIVES)})")
    tune.add_argument("--library", choices=_LIBRARIES, required=True, help="whose file of rules to write")
    tune.add_argument("-o", "--output", metavar="FILE", required=True, help="file of rules to write")
    tune.add_argument("--model", help="plogp, loggp or logp (plogp, else loggp)")
    tune.add_argument("--path", help="that messages take (between-nodes where the machine has it)")
    tune.add_argument("--copy", metavar="TIME", help="of a byte within memory, like 0.125ns/B (the machine's)")
    tune.add_argument("--reduction", metavar="TIME", help="of combining a byte, like 0.25ns/B (that of a copy)")


def _run(asked: argparse.Namespace) -> int:
    """Predict every algorithm on a grid, write the rules, print the choice and how to use them."""
    from commmodel.collectives import OPERATIONS
    from commmodel.collectives.library import selection
    from commmodel.collectives.library.tuning import tune
    from commmodel.predict import algorithm_seconds, collective_reach
    from commmodel.units import parse_counts, parse_sizes

    counts, sizes = parse_counts(asked.ranks), parse_sizes(asked.sizes)
    operations = _operations(asked.operations, asked.library)
    work = {"memory_copy": byte_time("--copy", asked.copy), "reduction": byte_time("--reduction", asked.reduction)}
    machine = known_machine(asked.machine)
    warnings = warn_of(machine)
    extrapolates = collective_reach(machine, max(counts), max(sizes), asked.path)

    def seconds(operation: str, algorithm: str, message_size: int, processes: int) -> float:
        options: dict[str, Any] = {"model": asked.model, "path": asked.path, "work": work}
        return algorithm_seconds(machine, operation, algorithm, message_size, processes, **options)

    selector = tune(seconds, operations, sizes, counts, asked.library)
    selection.dump(selector, asked.output, asked.library)
    choices = [
        (operation, size, count, selection.select(selector, operation, size, count).algorithm)
        for operation in operations
        for count in counts
        for size in (sizes if OPERATIONS[operation].has_size else (0,))
    ]
    if asked.json:
        names = ("operation", "message_size", "processes", "algorithm")
        print_json(
            {
                "output": asked.output,
                "library": asked.library,
                "choices": [dict(zip(names, choice, strict=True)) for choice in choices],
                "use": _how_to_use(asked.library, asked.output),
                "extrapolates": extrapolates,
                "warnings": warnings,
            }
        )
        return 0
    from commmodel.report.prediction.collective import choice_table

    show(choice_table(choices), *(f"{line[:1].upper()}{line[1:]}." for line in extrapolates))
    print(f"written to {asked.output}; to use it:")
    for line in _how_to_use(asked.library, asked.output):
        print(f"  {line}")
    return 0


def _operations(text: str | None, library: str) -> list[str]:
    """Return the operations that are asked for, or those of which the library lets its user choose an algorithm."""
    from commmodel.collectives.library import mpich, openmpi

    offers = openmpi.OFFERS if library == "openmpi" else mpich.OFFERS
    if text is None:
        return [name for name in COLLECTIVES if offers.get(name)]
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in COLLECTIVES:
            raise InputError(f"--operations: {name!r} is none: choose of {', '.join(COLLECTIVES)}")
        if not offers.get(name):
            raise InputError(f"--operations: {library} lets nobody choose an algorithm of {name}")
    return list(dict.fromkeys(names))


def _how_to_use(library: str, output: str) -> list[str]:
    """Return the options or variables that make the library read the rules."""
    path = Path(output).resolve()
    if library == "mpich":
        return [
            f"export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={path}",
            "export MPIR_CVAR_DEVICE_COLLECTIVES=none  # or its device layer decides first",
        ]
    settings = {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_dynamic_rules_filename": str(path)}
    return [
        "mpiexec " + " ".join(f"--mca {name} {value}" for name, value in settings.items()) + " ...",
        "or: export " + " ".join(f"OMPI_MCA_{name}={value}" for name, value in settings.items()),
    ]
