"""The verb ``tune``: rules for an MPI library, from predictions of each algorithm."""

import argparse
import os
from typing import Any, get_args

from commmodel.choices import CostModel, TunedLibrary
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
    tell,
    whole,
)
from commmodel.errors import InputError


def add(verbs: Any) -> None:
    """Add the verb."""
    from commmodel.collectives.operation import SCHEDULED

    tune = new_verb(
        verbs, "tune", _run, "write rules for an MPI library: the fastest predicted algorithm for each size",
        "commmodel tune machine.toml -p '2:64:*2' --library openmpi -o rules.txt",
    )  # fmt: skip
    add_machine(tune)
    add_processes(tune, "numbers of MPI processes, like 2:64:*2", counts, required=True)
    tune.add_argument(
        "-k", "--per-node", metavar="K", type=whole(1),
        help="processes of each node: with rules for two levels (default: nodes are not considered)",
    )  # fmt: skip
    tune.add_argument("--sizes", type=sizes, default="1:4MiB", help="message sizes (default: %(default)s)")
    tune.add_argument(
        "--collectives", metavar="COLLECTIVE,...",
        help=f"operations of {', '.join(SCHEDULED)} (default: those of which the library lets one choose)",
    )  # fmt: skip
    tune.add_argument(
        "--library",
        choices=get_args(TunedLibrary),
        required=True,
        help="MPI library to write rules for (openmpi: up to version 5)",
    )
    add_output(tune, "file of rules to write", required=True)
    tune.add_argument("--model", choices=get_args(CostModel), help="model of messages (default: plogp, else loggp)")
    tune.add_argument("--path", help="path of the messages (default: between-nodes, if the machine has it)")
    add_byte_times(tune, tune)


def _run(arguments: argparse.Namespace) -> int:
    """Predict every algorithm on a grid, write the rules, print the choice and how to use them."""
    from commmodel import predict

    names = None if arguments.collectives is None else [name.strip() for name in arguments.collectives.split(",")]
    machine = known_machine(arguments.machine, arguments.memory_copy, arguments.reduction)
    rules = predict.tune(
        machine,
        arguments.processes,
        arguments.sizes,
        arguments.library,
        collectives=names,
        per_node=arguments.per_node,
        model=arguments.model,
        path=arguments.path,
    )
    tell("warning", rules.warnings)
    _, *beside = files = rules.files(arguments.output)
    for path in beside:
        if os.path.exists(path) and not arguments.force:
            raise InputError(f"{path} exists: replace it with --force, or name another file with -o")
    rules.dump(arguments.output)
    use = rules.usage(arguments.output)
    if arguments.json:
        columns = rules.to_dict()
        print_json(
            {
                "output": arguments.output,
                "library": arguments.library,
                "choices": [dict(zip(columns, choice, strict=True)) for choice in rules.choices],
                "use": use,
                "extrapolates": rules.extrapolates,
                "warnings": rules.warnings,
            }
        )
        return 0
    from commmodel.report.prediction.collective import choice_table

    show(choice_table(rules.choices), *(f"{line[:1].upper()}{line[1:]}." for line in rules.extrapolates))
    print(f"written to {' and '.join(files)}; to use it:")
    for line in use:
        print(f"  {line}")
    return 0
