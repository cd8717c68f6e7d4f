"""The verb ``predict``: time of a message, a halo exchange or a collective; measured beside predicted times."""

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, get_args

from commmodel.choices import DeviceOperation
from commmodel.cli.parsers import (
    CALL_OPTIONS,
    Parser,
    add_byte_times,
    add_machine,
    add_output,
    add_processes,
    add_ranks,
    add_root,
    add_segment_size,
    add_size,
    collective_parents,
    known_machine,
    new_verb,
    note,
    parent,
    print_json,
    show,
    size,
    typed,
    warn_of,
    whole,
    write_requested_page,
)
from commmodel.errors import InputError, MissingParameterError
from commmodel.units import parse_whole

_CALLS = {
    "one-sided": ("one-sided operations with their completion", "-n 8 --call put", ""),
    "persistent": ("messages by persistent and partitioned requests", "-n 8 --partitions 4", "--partitions"),
    "matching": ("a receive behind others in a queue", "--entries 100", "--entries"),
    "start-up": ("start of MPI by number of ranks", "-p 64", "-p --processes"),
    "threads": ("messages of several threads at once", "-n 8 --threads 4", "--threads"),
}
"""Kernel of calls -> what is predicted, an example, and the option of the number of what its steps are."""
_MEMORIES = ("host", "device")
_OF_COLLECTIVES = "plogp, loggp or logp (default: plogp, else loggp)"


def add(verbs: Any) -> None:
    """Add the verb and what it predicts."""
    from commmodel.collectives.operation import SCHEDULED

    purpose = "time of a message, a halo exchange or a collective operation"
    predict = verbs.add_parser(
        "predict", help=purpose, description=f"Predict the {purpose}.",
        epilog="example: commmodel predict machine.toml bcast -n 1MiB -p 256 --algorithm all; options of each WHAT: "
        "commmodel predict MACHINE WHAT --help",
    )  # fmt: skip
    add_machine(predict)
    works = predict.add_subparsers(dest="operation", required=True, metavar="WHAT", title="what to predict")
    kinds: dict[str, Callable[[Any, str], None]] = {
        "send": _add_send, "halo": _add_halo, **dict.fromkeys(SCHEDULED, _add_collective),
        **dict.fromkeys(_CALLS, _add_calls), "measurements": _add_measurements,
    }  # fmt: skip
    for name in predict.typed_alone(kinds):
        kinds[name](works, name)


def _add_send(works: Any, name: str) -> None:
    send = _add(works, name, _send, "one message", f"blue-waters {name} -n 1MiB -k 16", _message_options())
    send.add_argument(
        "--memory", choices=_MEMORIES, default="host",
        help="where the message is: on a device, it is predicted by each way, shared by 1 to K processes "
        "(default: %(default)s)",
    )  # fmt: skip


def _add_halo(works: Any, name: str) -> None:
    halo = _add(works, name, _halo, "one message to each neighbour",
                f"blue-waters {name} -n 64KiB -k 16 --neighbours 6", _message_options())  # fmt: skip
    halo.add_argument(
        "--neighbours", metavar="N", type=typed(_neighbours), required=True,
        help="messages of each process: 6, or between-nodes=4,same-node=2",
    )  # fmt: skip
    halo.add_argument(
        "--link-volume", metavar="SIZE", type=size, help="bytes on the busiest link (default: not considered)"
    )


def _add_collective(works: Any, operation: str) -> None:
    algorithms, ranks, models, root = _collective_options()
    pieces, copying, combining = _pieces_and_times()
    parents = collective_parents(operation, _messages(), pieces, copying, root, combining)
    example = operation if operation == "barrier" else f"{operation} -n 1MiB"
    parents += [ranks, algorithms, _path(), models]
    verb = _add(works, operation, _collective, f"collective operation {operation}",
                f"machine.toml {example} -p 256 --algorithm all", parents)  # fmt: skip
    if operation in get_args(DeviceOperation):
        verb.add_argument(
            "--memory", choices=_MEMORIES, default="host",
            help="where the buffers are: on devices, it is predicted by each way (default: %(default)s)",
        )  # fmt: skip


def _add_calls(works: Any, kernel: str) -> None:
    purpose, example, number = _CALLS[kernel]
    verb = _add(works, kernel, _calls, purpose, f"machine.toml {kernel} {example}", [_path_of_calls()])
    if kernel != "start-up":
        add_size(verb, required=False)
    verb.add_argument("--call", metavar="NAME", help="this call alone, as the kernel names it (default: all)")
    if number:
        help_text = f"{number.rpartition('--')[2]} (default: the least)"
        metavar = "P" if kernel == "start-up" else "N"
        verb.add_argument(*number.split(), dest="number", metavar=metavar, type=whole(0), help=help_text)


def _add_measurements(works: Any, name: str) -> None:
    from commmodel.collectives.operation import SCHEDULED

    compared = parent()
    _add_algorithm(compared, "name of the algorithm, or best")
    measured = _add(works, name, _compare, "measured times compared with predicted ones",
                    f"machine.toml {name} results.jsonl -o comparison.html",
                    [compared, *_pieces_and_times()])  # fmt: skip
    measured.add_argument("results", metavar="RESULTS", help="results.jsonl with collectives and ping-pongs")
    measured.add_argument(
        "--collective", dest="of_operation", choices=("send", *SCHEDULED), metavar="COLLECTIVE",
        help="a collective operation, or send for ping-pongs (default: all)",
    )  # fmt: skip
    measured.add_argument(
        "--model", metavar="MODEL,...", help="models to compare (default: plogp, loggp, logp and postal)"
    )
    measured.add_argument("--path", help="path of collectives (default: between the ranks that took part)")
    add_output(measured, "HTML page with the comparison's plots")


def _add(
    works: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    purpose: str,
    example: str,
    parents: Sequence[Parser],
) -> Any:
    verb = new_verb(works, name, run, purpose, f"commmodel predict {example}", parents)
    add_ranks(verb)
    return verb


@cache
def _messages() -> Parser:
    """Return the option of a message's size."""
    options = parent()
    add_size(options)
    return options


@cache
def _path() -> Parser:
    """Return the option of the path."""
    options = parent()
    options.add_argument("--path", help="path of the messages (default: between-nodes, if the machine has it)")
    return options


@cache
def _path_of_calls() -> Parser:
    """Return the option of the path of calls."""
    options = parent()
    options.add_argument("--path", help="this path alone (default: all)")
    return options


@cache
def _message_options() -> list[Parser]:
    """Return the options of messages: size, processes that send, path, model."""
    per_node = parent()
    per_node.add_argument(
        "-k", "--per-node", metavar="K", type=whole(1), default=1,
        help="processes of the node that send at once (default: %(default)s)",
    )  # fmt: skip
    models = "postal, max-rate, extended, latency-aware, plogp, loggp or logp (default: the recommended one)"
    return [_messages(), per_node, _path(), _models(models)]


@cache
def _collective_options() -> list[Parser]:
    """Return the options of algorithms, ranks, models and the root."""
    algorithms, ranks, root = (parent() for _ in range(3))
    _add_algorithm(algorithms, "name of the algorithm, best or all")
    add_processes(ranks, "number of MPI processes", whole(1), required=True)
    ranks.add_argument(
        "-k", "--per-node", metavar="K", type=whole(1),
        help="processes of each node, in two-level algorithms, too (default: one path for all messages)",
    )  # fmt: skip
    add_root(root)
    return [algorithms, ranks, _models(_OF_COLLECTIVES), root]


@cache
def _pieces_and_times() -> list[Parser]:
    """Return the options of segments, copying and combining."""
    pieces, copying, combining = (parent() for _ in range(3))
    add_segment_size(pieces)
    add_byte_times(copying, combining)
    return [pieces, copying, combining]


def _models(purpose: str) -> Parser:
    options = parent()
    options.add_argument("--model", help=purpose)
    return options


def _add_algorithm(options: Parser, purpose: str) -> None:
    group = options.add_mutually_exclusive_group()
    group.add_argument("--algorithm", help=f"{purpose} (default: what the MPI library would pick)")
    group.add_argument("--selector", help="library or file of rules that picks the algorithm (default: the machine's)")


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


def _collective(arguments: argparse.Namespace) -> int:
    """Predict a collective operation's time, by one algorithm or by all."""
    from commmodel import predict
    from commmodel.collectives import Nodes, Problem

    if vars(arguments).get("memory") == "device":
        return _device_collective(arguments)
    if arguments.per_node is not None and arguments.path is not None:
        raise InputError("--per-node, --path: give one of them: on nodes each message takes its own path")
    options = vars(arguments)  # an operation has only those of these options that apply
    size = {name: options[name] for name in ("message_size", "root", "segment_size", *CALL_OPTIONS) if name in options}
    machine = known_machine(
        arguments.machine, options.get("memory_copy"), options.get("reduction"), arguments.placement
    )
    warn_of(machine)
    nodes = None if arguments.per_node is None else Nodes(arguments.per_node)
    call = machine, arguments.operation, Problem(arguments.processes, nodes=nodes, **size)
    if arguments.algorithm == "all":
        predictions = predict.algorithms(*call, model=arguments.model, path=arguments.path)
        if arguments.json:
            rows = [_collective_as_json(prediction) for prediction in predictions]
            print_json({**rows[0], "algorithms": rows})
        else:
            from commmodel.report.prediction.collective import algorithms_table, remark_lines

            show(algorithms_table(predictions), *remark_lines(predictions))
        return 0
    prediction = predict.collective(
        *call, algorithm=arguments.algorithm, selector=arguments.selector, model=arguments.model, path=arguments.path
    )
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


def _calls(arguments: argparse.Namespace) -> int:
    """Predict the times of calls that a kernel has measured."""
    from commmodel import predict

    machine = known_machine(arguments.machine, placement=arguments.placement)
    warn_of(machine)
    predictions = predict.calls(
        machine, arguments.operation, call=arguments.call, path=arguments.path,
        message_size=vars(arguments).get("message_size"), number=vars(arguments).get("number"),
    )  # fmt: skip
    if arguments.json:
        import msgspec

        rows: list[dict[str, Any]] = [msgspec.to_builtins(prediction) for prediction in predictions]
        rows = [{**row.pop("time"), **row} for row in rows]
        print_json({**rows[0], "calls": rows})
    else:
        from commmodel.report.prediction.call_costs import call_lines, predicted_calls_table

        show(predicted_calls_table(predictions), *call_lines(predictions))
    return 0


def _send(arguments: argparse.Namespace) -> int:
    """Predict a message's time, beside what a ping-pong promises."""
    from commmodel import predict

    machine = known_machine(arguments.machine, placement=arguments.placement)
    warn_of(machine)
    path = arguments.path
    if arguments.memory == "device":
        return _device_ways(arguments, machine)
    prediction = predict.send(
        machine, arguments.message_size, processes=arguments.per_node, path=path, model=arguments.model
    )
    return _show(arguments, machine, prediction, path)


def _device_collective(arguments: argparse.Namespace) -> int:
    """Predict the time of a collective of buffers on devices by each way."""
    from commmodel import predict

    for option in ("model", "algorithm", "selector", "per_node"):
        if vars(arguments).get(option) is not None:
            flag = f"--{option.replace('_', '-')}"
            raise InputError(f"{flag}: of device memory there is one model: leave {flag} or --memory out")
    machine = known_machine(arguments.machine, placement=arguments.placement)
    warn_of(machine)
    return _show_device_ways(arguments, predict.device_collective(
        machine, arguments.operation, arguments.message_size, arguments.processes, path=arguments.path
    ))  # fmt: skip


def _device_ways(arguments: argparse.Namespace, machine: Any) -> int:
    """Predict the time of a message between devices by each way."""
    from commmodel import predict

    if arguments.model is not None:
        raise InputError("--model: of device memory there is one model: leave --model or --memory out")
    return _show_device_ways(arguments, predict.device_ways(
        machine, arguments.message_size, path=arguments.path, processes=arguments.per_node
    ))  # fmt: skip


def _show_device_ways(arguments: argparse.Namespace, ways: Sequence[Any]) -> int:
    if arguments.json:
        import msgspec

        rows: list[dict[str, Any]] = [msgspec.to_builtins(way) for way in ways]
        rows = [{**row.pop("time"), **row} for row in rows]
        print_json({**rows[0], "ways": rows})
    else:
        from commmodel.report.prediction.device import device_lines, device_table

        show(device_table(ways), *device_lines(ways))
    return 0


def _halo(arguments: argparse.Namespace) -> int:
    """Predict a halo exchange's time, beside what a ping-pong promises."""
    from commmodel import predict

    path, neighbours, link_volume = arguments.path, arguments.neighbours, arguments.link_volume
    machine = known_machine(arguments.machine, placement=arguments.placement)
    warn_of(machine)
    prediction = predict.halo(
        machine,
        arguments.message_size,
        neighbours,
        processes=arguments.per_node,
        path=path,
        model=arguments.model,
        link_volume=link_volume,
    )
    if isinstance(neighbours, dict):  # the way out of the node is that between nodes
        path = "between-nodes" if "between-nodes" in neighbours else next(iter(neighbours))
    leaves_out_links = machine.link_contention is not None and link_volume is None
    return _show(arguments, machine, prediction, path, leaves_out_links=leaves_out_links)


def _show(
    arguments: argparse.Namespace, machine: Any, prediction: Any, path: str | None, *, leaves_out_links: bool = False
) -> int:
    """Print a prediction and how many processes fill the node."""
    from commmodel import optimize

    try:
        filling = optimize.communicating_processes(machine, arguments.message_size, path)
    except MissingParameterError:  # nothing limits, or R_N was not measured
        filling = None
    if arguments.json:
        print_json(_messages_as_json(arguments, prediction, filling))
    else:
        from commmodel.report.prediction.point_to_point import prediction_lines, prediction_table, prediction_words

        launches = machine.origin.launches if machine.origin else None
        words = prediction_words(
            prediction, arguments.per_node, filling, leaves_out_links=leaves_out_links, launches=launches
        )
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

    if arguments.algorithm == "all":
        raise InputError("--algorithm all: a measured time is compared with one algorithm, or with the best")
    machine = known_machine(arguments.machine, arguments.memory_copy, arguments.reduction, arguments.placement)
    measurements = formats.load_all([arguments.results], placement=arguments.placement)
    if arguments.results != arguments.machine:
        note(measurements)
    comparison = predict.compare(
        machine,
        measurements,
        operation=arguments.of_operation,
        models=arguments.model.split(",") if arguments.model else None,
        algorithm=arguments.algorithm,
        selector=arguments.selector,
        segment_size=arguments.segment_size,
        path=arguments.path,
    )
    summaries = comparison.summaries
    output, code = write_requested_page(arguments.output, "write_comparison", machine.name, comparison, summaries)
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
