"""The verb ``tune``: rules for an MPI library, from predictions of each algorithm."""

import argparse
import os
from pathlib import Path
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
    warn_of,
    whole,
)
from commmodel.errors import InputError, choice_of


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
    from commmodel.collectives import Nodes, Problem
    from commmodel.collectives.library import han, selection
    from commmodel.collectives.library.rules import SEVERAL
    from commmodel.collectives.library.tuning import tune
    from commmodel.predict import algorithm_seconds, collective_reach, with_byte_times
    from commmodel.predict.nodes import path_remark

    if arguments.per_node is not None and arguments.path is not None:
        raise InputError("--per-node, --path: give one of them: on nodes each message takes its own path")
    operations = _operations(arguments.collectives, arguments.library)
    machine = known_machine(arguments.machine)
    warnings = warn_of(machine)
    if arguments.path is None and (remark := path_remark(machine, max(arguments.processes), arguments.per_node)):
        tell("warning", [remark])
        warnings.append(remark)
    if any(segment.loggp is not None and segment.loggp.bounded for segment in machine.segments):
        bounds = "o and g are bounds, from latency and bandwidth alone: measure the kernel loggp for both"
        tell("warning", [bounds])
        warnings.append(bounds)
    machine = with_byte_times(machine, arguments.memory_copy, arguments.reduction)
    extrapolates = collective_reach(machine, max(arguments.processes), max(arguments.sizes), arguments.path)

    def seconds(operation: str, algorithm: str, message_size: int, processes: int, nodes: Nodes | None = None) -> float:
        problem = Problem(processes, message_size, nodes=nodes)
        return algorithm_seconds(machine, operation, algorithm, problem, model=arguments.model, path=arguments.path)

    per_node = arguments.per_node
    selector = tune(seconds, operations, arguments.sizes, arguments.processes, arguments.library, per_node)
    has_han = any(rule.distribution == SEVERAL for rule in selector.rules) and arguments.library != "mpich"
    of_han = f"{arguments.output}{han.SUFFIX}" if has_han else ""
    if has_han and os.path.exists(of_han) and not arguments.force:
        raise InputError(f"{of_han} exists: replace it with --force, or name another file with -o")
    selection.dump(
        selector, arguments.output, "openmpi-json" if arguments.library == "openmpi-6" else arguments.library
    )
    if has_han:
        selection.dump(selector, of_han, "openmpi-han")
    use = _how_to_use(arguments.library, arguments.output, of_han, per_node)
    choices = [
        (operation, size, count, selection.select(selector, operation, size, count, per_node=per_node).algorithm)
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
                "use": use,
                "extrapolates": extrapolates,
                "warnings": warnings,
            }
        )
        return 0
    from commmodel.report.prediction.collective import choice_table

    show(choice_table(choices), *(f"{line[:1].upper()}{line[1:]}." for line in extrapolates))
    print(f"written to {arguments.output}{f' and {of_han}' * has_han}; to use it:")
    for line in use:
        print(f"  {line}")
    return 0


def _operations(text: str | None, library: str) -> list[Any]:
    """Return the requested operations; by default those whose algorithm the library lets a user choose."""
    from commmodel.collectives.library import mpich, openmpi
    from commmodel.collectives.operation import SCHEDULED

    offers = mpich.OFFERS if library == "mpich" else openmpi.OFFERS
    if text is None:
        return [name for name in SCHEDULED if offers.get(name)]
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in SCHEDULED:
            raise InputError(f"--collectives: there is no {name!r}: {choice_of(name, SCHEDULED)}")
        if not offers.get(name):
            raise InputError(f"--collectives: {library} has no choice of algorithms of {name}")
    return list(dict.fromkeys(names))


def _how_to_use(library: str, output: str, of_han: str, per_node: int | None) -> list[str]:
    """Return the command-line options or variables that activate the rules."""
    path = Path(output).resolve()
    if library == "mpich":
        lines = [
            f"export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={path}",
            "export MPIR_CVAR_DEVICE_COLLECTIVES=none  # or its device layer decides first",
        ]
        if per_node is not None:
            lines.append(
                "export MPIR_CVAR_BCAST_SHORT_MSG_SIZE=2147483647  # or long broadcasts are never in two levels"
            )
        return lines
    settings = {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_dynamic_rules_filename": str(path)}
    if of_han:
        of_han = str(Path(of_han).resolve())
        settings |= {"coll_han_use_dynamic_file_rules": "1", "coll_han_dynamic_rules_filename": of_han}
    return [
        "mpiexec " + " ".join(f"--mca {name} {value}" for name, value in settings.items()) + " ...",
        "or: export " + " ".join(f"OMPI_MCA_{name}={value}" for name, value in settings.items()),
    ]
