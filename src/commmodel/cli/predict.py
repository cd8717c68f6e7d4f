"""The verb ``predict``: time of a message, a halo exchange or a collective; measured beside predicted times."""

import argparse
from typing import Any

from commmodel.cli.parsers import (
    add_byte_times,
    add_machine,
    add_output,
    add_processes,
    add_size,
    known_machine,
    new_verb,
    note,
    print_json,
    show,
    size,
    typed,
    warn_of,
    whole,
    wrote_page,
)
from commmodel.errors import InputError, MissingPackageError, MissingParameterError
from commmodel.units import parse_whole

__all__ = ["add"]

_OF_MESSAGES = {"per_node": "-k", "neighbours": "--neighbours", "link_volume": "--link-volume"}
_OF_COLLECTIVES = {
    "processes": "-p", "algorithm": "--algorithm", "selector": "--selector", "root": "--root",
    "segment_size": "--segment-size", "memory_copy": "--copy", "reduction": "--reduction",
}  # fmt: skip
_NOT_OF_COMPARISONS = {"message_size": "-n", "processes": "-p", "root": "--root"} | _OF_MESSAGES


def add(verbs: Any) -> None:
    """Add the verb."""
    from commmodel.collectives.operation import SCHEDULED

    predict = new_verb(
        verbs, "predict", _run, "predict the time of a message, a halo exchange or a collective operation",
        "commmodel predict machine.toml bcast -n 1MiB -p 256 --algorithm all",
    )  # fmt: skip
    add_machine(predict)
    predict.add_argument(
        "operation", nargs="?", choices=("send", "halo", *SCHEDULED), metavar="OPERATION",
        help=f"send: one message; halo: one to each neighbour; or {', '.join(SCHEDULED)}",
    )  # fmt: skip
    add_size(predict, required=False)
    predict.add_argument("--path", help="path of the messages (default: between-nodes, if the machine has it)")
    predict.add_argument(
        "--model",
        help="postal, max-rate, extended, latency-aware, plogp, loggp or logp, for collectives one of the last three "
        "(default: the recommended one; plogp, else loggp)",
    )
    messages = predict.add_argument_group("send and halo")
    messages.add_argument(
        "-k", "--per-node", metavar="K", type=whole(1), help="processes of the node that send at once (default: 1)"
    )
    messages.add_argument(
        "--neighbours", metavar="E", type=typed(_neighbours),
        help="messages of each process, with halo: 6, or between-nodes=4,same-node=2",
    )  # fmt: skip
    messages.add_argument(
        "--link-volume", metavar="SIZE", type=size,
        help="bytes on the busiest link, with halo (default: not considered)",
    )  # fmt: skip
    collectives = predict.add_argument_group("collective operations")
    add_processes(collectives, "number of MPI processes", whole(1))
    collectives.add_argument(
        "--algorithm", metavar="A", help="its name, best or all (default: what the MPI library would pick)"
    )
    collectives.add_argument(
        "--selector", metavar="S", help="library or file of rules that picks the algorithm (default: the machine's)"
    )
    collectives.add_argument(
        "--root", metavar="RANK", type=whole(0), help="root of bcast, reduce, gather or scatter (default: 0)"
    )
    collectives.add_argument(
        "--segment-size", metavar="SIZE", type=size, help="segment size of pipelining (default: as the rules say)"
    )
    add_byte_times(collectives)
    compared = predict.add_argument_group("measured beside predicted")
    compared.add_argument(
        "--compare", metavar="RESULTS", help="results.jsonl with collectives and ping-pongs (default: none)"
    )
    add_output(compared, "HTML page with the comparison's plots")


def _neighbours(word: str) -> int | dict[str, int]:
    """Return the number of neighbours, or that on each path."""
    if "=" not in word:
        return parse_whole(word, 1)
    counts: dict[str, int] = {}
    for part in word.split(","):
        path, equals, count = (text.strip() for text in part.partition("="))
        if not (path and equals):
            raise InputError(f"{part!r} is no path=number: write it like between-nodes=4,same-node=2")
        if path in counts:
            raise InputError(f"path {path!r} is named twice")
        try:
            counts[path] = parse_whole(count, 1)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    return counts


def _run(arguments: argparse.Namespace) -> int:
    from commmodel.collectives.operation import SCHEDULED

    if arguments.compare is not None:
        _refuse(arguments, _NOT_OF_COMPARISONS, "goes with one prediction: leave it out, or leave out --compare")
        return _compare(arguments)
    if arguments.output is not None:
        raise InputError("-o goes with --compare: leave it out")
    if arguments.operation is None:
        raise InputError("no OPERATION: name one, or compare with measurements: --compare RESULTS")
    if arguments.operation in SCHEDULED:
        _refuse(arguments, _OF_MESSAGES, "goes with send and halo: a collective has -p")
        return _collective(arguments)
    _refuse(arguments, _OF_COLLECTIVES, "goes with collective operations: leave it out")
    return _messages(arguments)


def _refuse(arguments: argparse.Namespace, options: dict[str, str], why: str) -> None:
    for name, option in options.items():
        if getattr(arguments, name) is not None:
            raise InputError(f"{option} {why}")


def _size(arguments: argparse.Namespace) -> int:
    if arguments.message_size is None:
        raise InputError(f"{arguments.operation} needs a size: like -n 64KiB")
    message_size: int = arguments.message_size
    return message_size


def _collective(arguments: argparse.Namespace) -> int:
    """Predict a collective operation's time, by one algorithm or by all."""
    from commmodel import predict

    message_size = 0 if arguments.operation == "barrier" and arguments.message_size is None else _size(arguments)
    if arguments.processes is None:
        raise InputError(f"{arguments.operation} needs a number of processes: like -p 256")
    if arguments.algorithm is not None and arguments.selector is not None:
        raise InputError("--algorithm and --selector both say how: leave one out")
    options: dict[str, Any] = {
        "model": arguments.model,
        "root": arguments.root or 0,
        "segment_size": arguments.segment_size,
        "path": arguments.path,
        "memory_copy": arguments.memory_copy,
        "reduction": arguments.reduction,
    }
    machine = known_machine(arguments.machine)
    warn_of(machine)
    problem = (machine, arguments.operation, message_size, arguments.processes)
    if arguments.algorithm == "all":
        predictions = predict.algorithms(*problem, **options)
        if arguments.json:
            rows = [_collective_as_json(prediction) for prediction in predictions]
            print_json({**rows[0], "algorithms": rows})
        else:
            from commmodel.report.prediction.collective import algorithms_table, remark_lines

            show(algorithms_table(predictions), *remark_lines(predictions))
        return 0
    prediction = predict.collective(
        *problem, **options, algorithm=arguments.algorithm, selector=arguments.selector
    )  # fmt: skip
    if arguments.json:
        print_json(_collective_as_json(prediction))
    else:
        from commmodel.report.prediction.collective import collective_table, collective_words, remark_lines

        show(collective_table(prediction), collective_words(prediction), *remark_lines([prediction]))
    return 0


def _collective_as_json(prediction: Any) -> dict[str, Any]:
    import msgspec

    plain = msgspec.to_builtins(prediction)
    return {**plain.pop("time"), "model": plain.pop("model"), "algorithm": plain.pop("algorithm"), **plain}


def _messages(arguments: argparse.Namespace) -> int:
    """Predict a message's or a halo exchange's time, beside what a ping-pong promises."""
    from commmodel import optimize, predict

    message_size, per_node, path = _size(arguments), arguments.per_node or 1, arguments.path
    is_halo, neighbours, link_volume = arguments.operation == "halo", arguments.neighbours, arguments.link_volume
    if (neighbours is not None) != is_halo:
        raise InputError("--neighbours goes with halo, and halo needs it: like halo -n 64KiB --neighbours 6")
    if link_volume is not None and not is_halo:
        raise InputError("--link-volume goes with halo: leave it out")
    machine = known_machine(arguments.machine)
    warn_of(machine)
    if is_halo:
        prediction = predict.halo(machine, message_size, neighbours, per_node, path, arguments.model, link_volume)
        if isinstance(neighbours, dict):  # the way out of the node is that between nodes
            path = "between-nodes" if "between-nodes" in neighbours else next(iter(neighbours))
    else:
        prediction = predict.send(machine, message_size, per_node, path, arguments.model)
    try:
        filling = optimize.communicating_processes(machine, message_size, path)
    except MissingParameterError:  # nothing limits, or R_N was not measured
        filling = None
    if arguments.json:
        print_json(_messages_as_json(arguments, prediction, filling))
    else:
        from commmodel.report.prediction.point_to_point import prediction_lines, prediction_table, prediction_words

        leaves_out_links = is_halo and machine.link_contention is not None and link_volume is None
        launches = machine.origin.launches if machine.origin else None
        words = prediction_words(prediction, per_node, filling, leaves_out_links=leaves_out_links, launches=launches)
        show(prediction_table(prediction), words, *prediction_lines(prediction))
    return 0


def _messages_as_json(arguments: argparse.Namespace, prediction: Any, filling: int | None) -> dict[str, Any]:
    import msgspec

    plain = msgspec.to_builtins(prediction)
    for name in ("queue_search", "link_contention"):
        term = plain.pop(name) or {"seconds": None, "low": None, "high": None}
        plain |= {f"{name}_{key}": value for key, value in term.items()}
    return {
        **plain.pop("time"),
        "model": plain.pop("model"),
        "algorithm": arguments.operation,
        **plain,
        "filling_processes": filling,
    }


def _compare(arguments: argparse.Namespace) -> int:
    """Compare predictions with measured times; print tables or JSON, and write the page where one is requested."""
    from commmodel import formats, predict

    if arguments.operation == "halo":
        raise InputError("halo exchanges are not measured: compare send, or a collective operation")
    if arguments.algorithm == "all":
        raise InputError("--algorithm all: a measured time is compared with one algorithm, or with the best")
    if arguments.algorithm is not None and arguments.selector is not None:
        raise InputError("--algorithm and --selector both say how: leave one out")
    machine = known_machine(arguments.machine)
    measurements = formats.load_all([arguments.compare])
    if arguments.compare != arguments.machine:
        note(measurements)
    comparison = predict.compare(
        machine,
        measurements,
        operation=arguments.operation,
        models=arguments.model.split(",") if arguments.model else None,
        algorithm=arguments.algorithm,
        selector=arguments.selector,
        segment_size=arguments.segment_size,
        path=arguments.path,
        memory_copy=arguments.memory_copy,
        reduction=arguments.reduction,
    )
    summaries = predict.summarise(comparison.rows)
    output = arguments.output
    if output is not None:
        from commmodel import report

        if not wrote_page(lambda: report.write_comparison(output, machine.name, comparison, summaries)):
            output = None
    code = 0 if output == arguments.output else MissingPackageError.exit_code
    if arguments.json:
        print_json(_comparison_as_json(comparison, summaries, output))
        return code
    from commmodel.report.prediction.comparison import compared_tables, note_lines

    show(*compared_tables(comparison.rows, summaries), *note_lines(comparison.notes))
    if output is not None:
        print(f"written to {output}")
    return code


def _comparison_as_json(comparison: Any, summaries: Any, output: str | None) -> dict[str, Any]:
    import msgspec

    rows = [
        msgspec.to_builtins(row)
        | {
            "relative_error": {model: row.relative_error(model) for model in row.predicted},
            "absolute_error": {model: row.absolute_error(model) for model in row.predicted},
        }
        for row in comparison.rows
    ]
    plain = msgspec.to_builtins(summaries, str_keys=True)
    return {"rows": rows, "summary": plain, "notes": comparison.notes, "output": output}
