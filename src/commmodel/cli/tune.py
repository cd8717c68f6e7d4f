"""The verb ``tune``: rules for an MPI library, from predictions of each algorithm."""

import argparse
from pathlib import Path
from typing import Any

from commmodel.cli.parsers import (
    add_byte_times,
    add_machine,
    add_output,
    add_processes,
    counts,
    known_machine,
    new_verb,
    print_json,
    show,
    sizes,
    warn_of,
)
from commmodel.errors import InputError

__all__ = ["add"]

_LIBRARIES = ("openmpi", "mpich")


def add(verbs: Any) -> None:
    """Add the verb."""
    from commmodel.collectives.operation import SCHEDULED

    tune = new_verb(
        verbs, "tune", _run, "write rules for an MPI library: the fastest predicted algorithm for each size",
        "commmodel tune machine.toml -p 2:64:*2 --library openmpi -o rules.txt",
    )  # fmt: skip
    add_machine(tune)
    add_processes(tune, "numbers of MPI processes, like 2:64:*2", counts, required=True)
    tune.add_argument("--sizes", type=sizes, default="1:4MiB", help="message sizes (default: %(default)s)")
    tune.add_argument(
        "--operations", metavar="OPERATION,...",
        help=f"operations of {', '.join(SCHEDULED)} (default: those of which the library lets one choose)",
    )  # fmt: skip
    tune.add_argument("--library", choices=_LIBRARIES, required=True, help="MPI library whose file of rules to write")
    add_output(tune, "file of rules to write", required=True)
    tune.add_argument("--model", help="plogp, loggp or logp (default: plogp, else loggp)")
    tune.add_argument("--path", help="path of the messages (default: between-nodes, if the machine has it)")
    add_byte_times(tune, tune)


def _run(arguments: argparse.Namespace) -> int:
    """Predict every algorithm on a grid, write the rules, print the choice and how to use them."""
    from commmodel.collectives import Problem
    from commmodel.collectives.library import selection
    from commmodel.collectives.library.tuning import tune
    from commmodel.predict import algorithm_seconds, collective_reach, with_byte_times

    operations = _operations(arguments.operations, arguments.library)
    machine = known_machine(arguments.machine)
    warnings = warn_of(machine)
    machine = with_byte_times(machine, arguments.memory_copy, arguments.reduction)
    extrapolates = collective_reach(machine, max(arguments.processes), max(arguments.sizes), arguments.path)

    def seconds(operation: str, algorithm: str, message_size: int, processes: int) -> float:
        problem = Problem(processes, message_size)
        return algorithm_seconds(machine, operation, algorithm, problem, model=arguments.model, path=arguments.path)

    selector = tune(seconds, operations, arguments.sizes, arguments.processes, arguments.library)
    selection.dump(selector, arguments.output, arguments.library)
    choices = [
        (operation, size, count, selection.select(selector, operation, size, count).algorithm)
        for operation in operations
        for count in arguments.processes
        for size in ((0,) if operation == "barrier" else arguments.sizes)
    ]
    if arguments.json:
        names = ("operation", "message_size", "processes", "algorithm")
        print_json(
            {
                "output": arguments.output,
                "library": arguments.library,
                "choices": [dict(zip(names, choice, strict=True)) for choice in choices],
                "use": _how_to_use(arguments.library, arguments.output),
                "extrapolates": extrapolates,
                "warnings": warnings,
            }
        )
        return 0
    from commmodel.report.prediction.collective import choice_table

    show(choice_table(choices), *(f"{line[:1].upper()}{line[1:]}." for line in extrapolates))
    print(f"written to {arguments.output}; to use it:")
    for line in _how_to_use(arguments.library, arguments.output):
        print(f"  {line}")
    return 0


def _operations(text: str | None, library: str) -> list[str]:
    """Return the requested operations; by default those whose algorithm the library lets a user choose."""
    from commmodel.collectives.library import mpich, openmpi
    from commmodel.collectives.operation import SCHEDULED

    offers = openmpi.OFFERS if library == "openmpi" else mpich.OFFERS
    if text is None:
        return [name for name in SCHEDULED if offers.get(name)]
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in SCHEDULED:
            raise InputError(f"--operations: there is no {name!r}: choose from {', '.join(SCHEDULED)}")
        if not offers.get(name):
            raise InputError(f"--operations: {library} has no choice of algorithms of {name}")
    return list(dict.fromkeys(names))


def _how_to_use(library: str, output: str) -> list[str]:
    """Return the command-line options or variables that activate the rules."""
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
