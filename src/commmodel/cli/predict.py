"""The verb ``predict``: time of a message, a halo exchange or a collective, and what was measured beside it."""

import argparse
from typing import Any

from commmodel.cli.parsers import known_machine, new_verb, print_json, show, warn_of, whole_number
from commmodel.errors import InputError, MissingParameterError

__all__ = ["COLLECTIVES", "add"]

COLLECTIVES = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter_block",
    "scan",
)  # fmt: skip
_OF_MESSAGES = {"processes": "-k", "neighbours": "--neighbours", "link_volume": "--link-volume"}
_OF_COLLECTIVES = {
    "ranks": "-p", "algorithm": "--algorithm", "selector": "--selector", "root": "--root",
    "segment_size": "--segment-size", "copy": "--copy", "reduction": "--reduction",
}  # fmt: skip
_NOT_OF_COMPARISONS = {"size": "-n", "ranks": "-p", "root": "--root"} | _OF_MESSAGES


def add(verbs: Any) -> None:
    """Add the verb."""
    predict = new_verb(
        verbs, "predict", _run, "time of a message, a halo exchange or a collective operation",
        "commmodel predict machine.toml bcast -n 1MiB -p 256 --algorithm all",
    )  # fmt: skip
    predict.add_argument(
        "machine", metavar="MACHINE", help="machine file, a name from: commmodel machines, or results.jsonl to fit"
    )
    predict.add_argument(
        "operation", nargs="?", choices=("send", "halo", *COLLECTIVES), metavar="OPERATION",
        help=f"send: one message; halo: one to each neighbour; or {', '.join(COLLECTIVES)}",
    )  # fmt: skip
    predict.add_argument("-n", "--size", help="of each message, like 64KiB; of a collective, what MPI's count says")
    predict.add_argument("--path", help="that messages take (between-nodes where the machine has it)")
    predict.add_argument(
        "--model",
        help="postal, max-rate, extended, latency-aware, plogp, loggp or logp, collectives the last three (the "
        "recommended one; plogp, else loggp)",
    )
    messages = predict.add_argument_group("send and halo")
    messages.add_argument("-k", "--processes", help="of the node that send at once (1)")
    messages.add_argument(
        "--neighbours", metavar="E", help="messages of each process, with halo: 6, or between-nodes=4,same-node=2"
    )
    messages.add_argument("--link-volume", metavar="SIZE", help="bytes on the busiest link, with halo (not considered)")
    collectives = predict.add_argument_group("collective operations")
    collectives.add_argument("-p", "--ranks", metavar="P", help="processes that take part")
    collectives.add_argument("--algorithm", help="its name, best or all (what the MPI library would pick)")
    collectives.add_argument("--selector", help="library or file of rules that picks the algorithm (the machine's)")
    collectives.add_argument("--root", help="of bcast, reduce, gather or scatter (0)")
    collectives.add_argument("--segment-size", metavar="SIZE", help="of the pieces of a message (what the rules say)")
    collectives.add_argument("--copy", metavar="TIME", help="of a byte within memory, like 0.125ns/B (the machine's)")
    collectives.add_argument("--reduction", metavar="TIME", help="of combining a byte, like 0.25ns/B (that of a copy)")
    compared = predict.add_argument_group("measured beside predicted")
    compared.add_argument("--compare", metavar="RESULTS", help="results.jsonl: its collectives and ping-pongs")
    compared.add_argument("-o", "--output", help="HTML file with the comparison's plots to write (none)")


def _run(asked: argparse.Namespace) -> int:
    if asked.compare is not None:
        from commmodel.cli.predict_compare import run

        _refuse(asked, _NOT_OF_COMPARISONS, "goes with one prediction: leave it out, or leave out --compare")
        return run(asked)
    if asked.output is not None:
        raise InputError("-o goes with --compare: leave it out")
    if asked.operation is None:
        raise InputError("no OPERATION: name one, or compare with measurements: --compare RESULTS")
    if asked.operation in COLLECTIVES:
        _refuse(asked, _OF_MESSAGES, "goes with send and halo: a collective has -p")
        return _collective(asked)
    _refuse(asked, _OF_COLLECTIVES, "goes with collective operations: leave it out")
    return _messages(asked)


def _refuse(asked: argparse.Namespace, options: dict[str, str], why: str) -> None:
    for name, option in options.items():
        if getattr(asked, name) is not None:
            raise InputError(f"{option} {why}")


def _size(asked: argparse.Namespace) -> int:
    from commmodel.units import parse_size

    if asked.size is None:
        raise InputError(f"{asked.operation} needs a size: like -n 64KiB")
    return parse_size(asked.size)


def byte_time(option: str, text: str | None) -> float | None:
    """Return the seconds per byte that an option says."""
    from commmodel.units import parse_quantity

    if text is None:
        return None
    try:
        return parse_quantity(text, "s/B")
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def _collective(asked: argparse.Namespace) -> int:
    """Predict a collective operation's time, by one algorithm or by all."""
    from commmodel import predict
    from commmodel.units import parse_size

    is_barrier = asked.operation == "barrier"
    size = 0 if is_barrier and asked.size is None else _size(asked)
    if asked.ranks is None:
        raise InputError(f"{asked.operation} needs a number of processes: like -p 256")
    processes = whole_number("-p", asked.ranks, 1)
    if asked.algorithm is not None and asked.selector is not None:
        raise InputError("--algorithm and --selector both say how: leave one out")
    options: dict[str, Any] = {
        "model": asked.model,
        "root": whole_number("--root", asked.root or "0", 0),
        "segment_size": None if asked.segment_size is None else parse_size(asked.segment_size),
        "path": asked.path,
        "memory_copy": byte_time("--copy", asked.copy),
        "reduction": byte_time("--reduction", asked.reduction),
    }
    known = known_machine(asked.machine)
    warn_of(known)
    if asked.algorithm == "all":
        found = predict.algorithms(known, asked.operation, size, processes, **options)
        if asked.json:
            print_json({**_collective_as_json(found[0]), "algorithms": [_collective_as_json(one) for one in found]})
        else:
            from commmodel.report.prediction.collective import algorithms_table, remark_lines

            show(algorithms_table(found), *remark_lines(found))
        return 0
    options |= {"algorithm": asked.algorithm, "selector": asked.selector}
    predicted = predict.collective(known, asked.operation, size, processes, **options)
    if asked.json:
        print_json(_collective_as_json(predicted))
    else:
        from commmodel.report.prediction.collective import collective_table, collective_words, remark_lines

        show(collective_table(predicted), collective_words(predicted), *remark_lines([predicted]))
    return 0


def _collective_as_json(predicted: Any) -> dict[str, Any]:
    import msgspec

    plain = msgspec.to_builtins(predicted)
    return {**plain.pop("time"), "model": plain.pop("model"), "algorithm": plain.pop("algorithm"), **plain}


def _messages(asked: argparse.Namespace) -> int:
    """Predict a message's or a halo exchange's time, beside what a ping-pong promises."""
    from commmodel import optimize, predict
    from commmodel.units import parse_size

    size, processes = _size(asked), whole_number("--processes", asked.processes or "1", 1)
    is_halo = asked.operation == "halo"
    if (asked.neighbours is not None) != is_halo:
        raise InputError("--neighbours goes with halo, and halo needs it: like halo -n 64KiB --neighbours 6")
    if asked.link_volume is not None and not is_halo:
        raise InputError("--link-volume goes with halo: leave it out")
    path = asked.path
    known = known_machine(asked.machine)
    warn_of(known)
    if is_halo:
        neighbours = _neighbours(asked.neighbours)
        link_volume = None if asked.link_volume is None else parse_size(asked.link_volume)
        predicted = predict.halo(known, size, neighbours, processes, path, asked.model, link_volume)
        if isinstance(neighbours, dict):  # the way out of the node is that between nodes
            path = "between-nodes" if "between-nodes" in neighbours else next(iter(neighbours))
    else:
        predicted = predict.send(known, size, processes, path, asked.model)
    try:
        filling = optimize.communicating_processes(known, size, path)
    except MissingParameterError:  # nothing limits, or R_N was not measured
        filling = None
    if asked.json:
        print_json(_messages_as_json(asked, predicted, filling))
    else:
        from commmodel.report.prediction.point_to_point import prediction_lines, prediction_table, prediction_words

        leaves_out_links = is_halo and known.link_contention is not None and asked.link_volume is None
        launches = known.origin.launches if known.origin else None
        words = prediction_words(predicted, processes, filling, leaves_out_links=leaves_out_links, launches=launches)
        show(prediction_table(predicted), words, *prediction_lines(predicted))
    return 0


def _neighbours(text: str) -> int | dict[str, int]:
    """Return the number of neighbours, or that of each path."""
    if "=" not in text:
        return whole_number("--neighbours", text, 1)
    counts: dict[str, int] = {}
    for part in text.split(","):
        path, equals, count = (word.strip() for word in part.partition("="))
        if not (path and equals):
            raise InputError(f"--neighbours: {part!r} is no path=number: write it like between-nodes=4,same-node=2")
        if path in counts:
            raise InputError(f"--neighbours names {path!r} twice")
        counts[path] = whole_number(f"--neighbours, {path}", count, 1)
    return counts


def _messages_as_json(asked: argparse.Namespace, predicted: Any, filling: int | None) -> dict[str, Any]:
    import msgspec

    plain = msgspec.to_builtins(predicted)
    for name in ("queue_search", "link_contention"):
        term = plain.pop(name) or {"seconds": None, "low": None, "high": None}
        plain |= {f"{name}_{key}": value for key, value in term.items()}
    return {
        **plain.pop("time"),
        "model": plain.pop("model"),
        "algorithm": asked.operation,
        **plain,
        "filling_processes": filling,
    }
