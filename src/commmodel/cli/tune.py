"""The verb ``tune``: rules for an MPI library, from predictions of each algorithm or from measurements."""

import argparse
import os
from typing import Any, get_args

from commmodel.choices import CostModel, TunedLibrary
from commmodel.cli.parsers import (
    add_byte_times,
    add_machine,
    add_output,
    add_processes,
    add_ranks,
    counts,
    known_machine,
    new_verb,
    print_json,
    show,
    sizes,
    tell,
    typed,
    whole,
)
from commmodel.errors import InputError
from commmodel.units import counted, parse_time


def add(verbs: Any) -> None:
    """Add the verb."""
    from commmodel.collectives.operation import SCHEDULED

    tune = new_verb(
        verbs, "tune", _run, "write rules for an MPI library: the fastest predicted algorithm for each size",
        "commmodel tune machine.toml -p '2:64:*2' --library openmpi -o rules.txt",
    )  # fmt: skip
    add_machine(tune)
    add_ranks(tune)
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
    tune.add_argument(
        "--measure", metavar="TIME", type=typed(parse_time),
        help="measure what may be faster for so long, and write the rules that win (default: predict only)",
    )  # fmt: skip
    tune.add_argument(
        "--launcher", metavar="COMMAND", help="command that starts each launch of --measure (default: 'mpiexec -n 2')"
    )
    tune.add_argument(
        "--resume", action="store_true", help="go on with an interrupted --measure, from the file of its records"
    )


def _run(arguments: argparse.Namespace) -> int:
    """Predict every algorithm on a grid, write the rules, print the choice and how to use them."""
    from commmodel import predict

    names = None if arguments.collectives is None else [name.strip() for name in arguments.collectives.split(",")]
    machine = known_machine(arguments.machine, arguments.memory_copy, arguments.reduction, arguments.placement)
    if arguments.measure is not None:
        return _measure(arguments, machine, names)
    if arguments.launcher is not None or arguments.resume:
        raise InputError("--launcher and --resume go with --measure: for how long is it to measure?")
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
    files = _files(arguments, rules)
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


def _files(arguments: argparse.Namespace, rules: Any) -> list[str]:
    """Return the files to write; refuse to replace a second one."""
    _, *beside = files = rules.files(arguments.output)
    for path in beside:
        if os.path.exists(path) and not arguments.force:
            raise InputError(f"{path} exists: replace it with --force, or name another file with -o")
    return list(files)


def _measure(arguments: argparse.Namespace, machine: Any, names: list[str] | None) -> int:
    """Measure what may be faster, write the rules that win, print what they gain and how to use them."""
    from commmodel import tuning

    for option in ("model", "path"):
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option} is of predictions alone: leave it out with --measure")
    results = f"{arguments.output}.jsonl"
    measurement = tuning.TuningLaunches(
        results, arguments.measure, arguments.launcher, resume=arguments.resume, force=arguments.force
    )
    grid = arguments.processes, arguments.sizes, arguments.library
    try:
        answer = tuning.tune(machine, *grid, measurement, collectives=names, per_node=arguments.per_node)
    except KeyboardInterrupt as interruption:  # or SIGTERM: the ranks of a launch have ended with us
        raise type(interruption)(f"the same command with --resume goes on with {results}") from None
    tell("warning", answer.warnings)
    files = _files(arguments, answer.rules) if answer.has_rules else []
    use = []
    if files:
        answer.dump(arguments.output)
        use = answer.usage(arguments.output)
    if arguments.json:
        columns = answer.to_dict()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        print_json(
            {
                "output": arguments.output if files else None,
                "results": results,
                "library": arguments.library,
                "choices": rows,
                "dropped": answer.dropped,
                "launches": answer.launches,
                "pairs": answer.pairs,
                "use": use,
                "warnings": answer.warnings,
            }
        )
        return 0
    from commmodel.report.prediction.collective import measured_choice_table

    launches = counted(answer.launches, "launch").capitalize()
    print(f"{launches} on {answer.ranks} ranks, {counted(answer.pairs, 'pair')} without and with the rules; "
          f"all records: {results}")  # fmt: skip
    for line in answer.dropped:
        print(f"  {line}")
    if not files:
        print("the library's own choices stay: no rule wins against them")
        return 0
    show(measured_choice_table(answer.choices))
    print(f"written to {' and '.join(files)}; to use it:")
    for line in use:
        print(f"  {line}")
    return 0
