"""The verb ``optimize``: messages and bursts of a transfer that computation hides, and how to send data in pieces."""

import argparse
from collections.abc import Callable
from typing import Any, get_args

from commmodel.choices import (
    BurstRule,
    DataLayout,
    Grid,
    Implementation,
    MessageOperation,
    OverlapModel,
    PairDirection,
    Pattern,
)
from commmodel.cli.parsers import (
    add_machine,
    add_output,
    add_ranks,
    byte_time,
    choices,
    counts,
    duration,
    known_machine,
    new_verb,
    note,
    plain_number,
    print_json,
    share,
    show,
    size,
    sizes,
    warn_of,
    whole,
    write_requested_page,
)
from commmodel.errors import InputError

_PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
_OF_COSTS = (
    "path", "operation", "direction", "overhead", "latency", "byte_time", "progress", "queue_depth",
    "outstanding_volume",
)  # fmt: skip
_OF_CANDIDATES = ("grid", "sizes", "bursts", "rule")
_OF_PIECES = ("block", "count", "stride", "layout")
_OF_CHOICES = (
    "volume", "computation", "patterns", "all_patterns", "peers", "implementation", "sensitivity",
    *_OF_COSTS, *_OF_CANDIDATES,
)  # fmt: skip


def add(verbs: Any) -> None:
    """Add the verb."""
    optimize = new_verb(
        verbs, "optimize", _run, "choose the message size and burst with which computation hides most of a transfer",
        "commmodel optimize machine.toml --volume 8MiB --computation 3ms",
    )  # fmt: skip
    add_machine(optimize, "; optional if overhead, latency and byte time are given", nargs="?")
    add_ranks(optimize)
    problem = optimize.add_argument_group("the problem")
    problem.add_argument(
        "--volume", metavar="SIZE,...", type=_of_peers(size),
        help="bytes to move with each peer; all to all: with all peers; of unequal peers one each, like 1MiB,1MiB,4KiB",
    )  # fmt: skip
    problem.add_argument(
        "--computation", metavar="TIME,...", type=_of_peers(duration),
        help="computation on these bytes, like 3ms; of unequal peers one each",
    )  # fmt: skip
    problem.add_argument(
        "--patterns", metavar="PATTERN,...", type=choices(_PATTERNS),
        help=f"patterns to compare, of {', '.join(_PATTERNS)} (default: the first)",
    )  # fmt: skip
    problem.add_argument("--all-patterns", action="store_true", default=None, help="compare all of them")
    problem.add_argument(
        "--peers", metavar="N", type=whole(1), help="peers of a process; all to all: processes that take part"
    )
    problem.add_argument(
        "--implementation", choices=(*get_args(Implementation), "any"), help="any: the faster of both (default: any)"
    )
    problem.add_argument(
        "--operation", choices=get_args(MessageOperation), help="operation that moves data (default: two-sided)"
    )
    offered = optimize.add_argument_group("what may be chosen")
    offered.add_argument(
        "--grid", choices=get_args(Grid),
        help="sizes and bursts; fine: four sizes for each power of two, all bursts (default: powers-of-two)",
    )  # fmt: skip
    offered.add_argument(
        "--sizes",
        type=sizes,
        help="message sizes: 4KiB:1MiB, or multiples of a row, 3000:90000:+3000 (default: a grid)",
    )
    offered.add_argument("--bursts", metavar="N,...", type=counts, help="bursts: 1,2,4 (default: a grid)")
    offered.add_argument(
        "--rule",
        choices=get_args(BurstRule),
        help="measured: the best rule measured for all to all (default: equations)",
    )
    optimize.add_argument(
        "--model", choices=get_args(OverlapModel),
        help="bounded by what one processor and one port need, or the paper's equations alone (default: bounded)",
    )  # fmt: skip
    network = optimize.add_argument_group("the network (default: as the machine says)")
    network.add_argument(
        "--overhead", metavar="TIME", type=duration, help="overhead o of a message, both ends together, like 2us"
    )
    network.add_argument("--latency", metavar="TIME", type=duration, help="L, like 10us")
    network.add_argument("--byte-time", metavar="TIME", type=byte_time, help="G, like 1.1ns/B")
    network.add_argument(
        "--progress", metavar="SHARE", type=share, help="share of a transfer that progresses while nobody calls MPI"
    )
    network.add_argument(
        "--queue-depth", metavar="N", type=whole(2), help="number of messages at which the network's queue is full"
    )
    network.add_argument("--outstanding-volume", metavar="SIZE", type=size, help="largest number of bytes of a burst")
    network.add_argument(
        "--direction", choices=get_args(PairDirection), help="direction of the bandwidth (default: both-ways)"
    )
    network.add_argument("--path", help="path of the messages (default: between-nodes, if the machine has it)")
    optimize.add_argument(
        "--sensitivity", action="store_true", default=None, help="say how wrong the computation's time may be"
    )
    pieces = optimize.add_argument_group(
        "instead: how to send data in pieces with mpi4py, such as a column of a matrix"
    )
    pieces.add_argument("--block", metavar="SIZE", type=size, help="bytes of a piece: 8 of a column of numbers")
    pieces.add_argument("--count", metavar="N", type=whole(1), help="number of pieces")
    pieces.add_argument(
        "--stride", metavar="SIZE", type=size, help="bytes between their begins (default: twice --block)"
    )
    pieces.add_argument("--layout", choices=get_args(DataLayout), help="how the pieces lie (default: vector)")
    validated = optimize.add_argument_group("choices against measured times")
    validated.add_argument(
        "--validate", metavar="RESULTS", help="results.jsonl with records of the kernel overlap (default: none)"
    )
    add_output(validated, "HTML page with the validation's plots")


def _of_peers(parse: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a parser of one value for each peer, in their order."""
    return lambda text: tuple(parse(part) for part in text.split(","))


def _run(arguments: argparse.Namespace) -> int:
    if arguments.validate is not None:
        for name in _typed_options(arguments, (*_OF_CHOICES, *_OF_PIECES)):
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} goes with a choice: leave it out, or leave out --validate")
        return _validate(arguments)
    if arguments.output is not None:
        raise InputError("-o goes with --validate: leave it out")
    return _send(arguments) if _typed_options(arguments, _OF_PIECES) else _choose(arguments)


def _send(arguments: argparse.Namespace) -> int:
    """Say how to send data in pieces: the times of all ways, and the lines to write."""
    import msgspec

    from commmodel import optimize

    for name in _typed_options(arguments, tuple(name for name in _OF_CHOICES if name != "path")):
        problem = f"--{name.replace('_', '-')} is of a transfer that computation hides: leave it out"
        raise InputError(f"{problem}, or leave out --block and --count")
    if arguments.block is None or arguments.count is None:
        raise InputError("the pieces are incomplete: give --block and --count, like --block 8 --count 1024")
    if arguments.machine is None:
        raise InputError("ways to send are measured: give a machine with times of the kernel datatype")
    machine = known_machine(arguments.machine, placement=arguments.placement)
    warnings = warn_of(machine)
    layout = optimize.PieceLayout(**_typed_options(arguments, _OF_PIECES))
    advice = optimize.how_to_send(layout, machine, path=arguments.path)
    if arguments.json:
        plain = msgspec.to_builtins(advice, enc_hook=plain_number)
        print_json({**plain, "code": advice.code, "warnings": warnings})
    else:
        from commmodel.report.sending import advice_blocks

        show(*advice_blocks(advice))
    return 0


def _choose(arguments: argparse.Namespace) -> int:
    """Choose for each pattern and implementation; print all choices, the fastest first."""
    import msgspec

    from commmodel import optimize

    patterns = _patterns(arguments)
    if arguments.volume is None or arguments.computation is None:
        raise InputError(
            "the problem is incomplete: give --volume and --computation, like --volume 8MiB --computation 3ms"
        )
    machine = None if arguments.machine is None else known_machine(arguments.machine, placement=arguments.placement)
    warnings = warn_of(machine)
    costs = optimize.MessageCosts(machine, **_typed_options(arguments, _OF_COSTS))
    offered = optimize.Candidates(arguments.implementation or "any", **_typed_options(arguments, _OF_CANDIDATES))
    model: OverlapModel = arguments.model or "bounded"
    if len(arguments.volume) > 1 or len(arguments.computation) > 1:
        return _choose_unequal(arguments, costs, offered, model, warnings)
    problems = {pattern: _problem(arguments, pattern, compared=len(patterns) > 1) for pattern in patterns}
    choices = optimize.ranking(costs, [*problems.values()], offered, model=model)
    best, sensitivity, loss = choices[0], None, None
    if arguments.sensitivity:
        rule: BurstRule = offered.rule if best.pattern.startswith("all-to-all") else "equations"
        alone = msgspec.structs.replace(offered, implementation=best.implementation, rule=rule)
        fastest = problems[best.pattern], alone
        sensitivity = optimize.sensitivity(costs, *fastest, model=model)
        loss = optimize.misdiagnosis(costs, *fastest, model=model)
    extrapolates = [*dict.fromkeys(line for choice in choices for line in choice.extrapolates)]
    if arguments.json:
        print_json(_as_json(choices, sensitivity, loss) | {"extrapolates": extrapolates, "warnings": warnings})
    else:
        from commmodel.report.overlap.choices import choice_lines, choices_table, partitioned_words

        lines = [f"{line[:1].upper()}{line[1:]}." for line in extrapolates]
        if machine is not None and best.advice == "split":
            lines.append(partitioned_words(_partitioned_gain(machine, arguments, best)))
        peers = problems[best.pattern].peers
        show(
            choices_table(arguments.volume, arguments.computation, choices, peers),
            *choice_lines(best, sensitivity, loss),
            *lines,
        )
    return 0


def _partitioned_gain(machine: Any, arguments: argparse.Namespace, choice: Any) -> Any:
    """Return what partitioned sends gain; None where that was not measured."""
    from commmodel.errors import MissingParameterError
    from commmodel.optimize import partitioned_gain

    try:
        return partitioned_gain(machine, arguments.volume[0], choice.message_size, arguments.path)
    except MissingParameterError:
        return None


def _choose_unequal(
    arguments: argparse.Namespace, costs: Any, offered: Any, model: OverlapModel, warnings: list[str]
) -> int:
    """Choose for peers of different volumes, by both orders unless one is named, the fastest first."""
    from commmodel import optimize

    volumes, computations = arguments.volume, arguments.computation
    if len(volumes) != len(computations):
        raise InputError(f"{len(volumes)} volumes, but {len(computations)} computations: give one of each for a peer")
    if arguments.peers is not None and arguments.peers != len(volumes):
        raise InputError(f"--peers {arguments.peers}: there are {len(volumes)} volumes; leave it out")
    if arguments.sensitivity:
        raise InputError("--sensitivity is of equal peers: give one volume and --peers")
    if arguments.all_patterns:
        raise InputError(
            "--all-patterns: peers of unequal volumes go with multiple-end-points-... alone: leave it out, and both of "
            "these are compared"
        )
    patterns = arguments.patterns or tuple(pattern for pattern in _PATTERNS if pattern.startswith("multiple"))
    if wrong := [pattern for pattern in patterns if not pattern.startswith("multiple")]:
        raise InputError(f"--patterns {wrong[0]}: peers of unequal volumes go with multiple-end-points-...")
    transfers = [optimize.PeerTransfer(*peer) for peer in zip(volumes, computations, strict=True)]
    choices = sorted(
        (optimize.choose_exchange(costs, transfers, offered, pattern=pattern, model=model) for pattern in patterns),
        key=lambda choice: choice.seconds,
    )
    extrapolates = [*dict.fromkeys(line for choice in choices for line in choice.extrapolates)]
    if arguments.json:
        print_json(_as_json(choices, None, None) | {"extrapolates": extrapolates, "warnings": warnings})
    else:
        from commmodel.report.overlap.choices import choice_lines, choices_table

        show(
            choices_table(volumes, computations, choices, len(volumes)),
            *choice_lines(choices[0], None, None),
            *(f"{line[:1].upper()}{line[1:]}." for line in extrapolates),
        )
    return 0


def _patterns(arguments: argparse.Namespace) -> tuple[Pattern, ...]:
    if arguments.all_patterns:
        if arguments.patterns is not None:
            raise InputError("--patterns and --all-patterns both say which: leave one out")
        return _PATTERNS
    return arguments.patterns or _PATTERNS[:1]


def _problem(arguments: argparse.Namespace, pattern: Pattern, *, compared: bool) -> Any:
    """Return the problem of a pattern; point-to-point, compared with others, goes without their number of peers."""
    from commmodel.optimize import TransferProblem

    is_alone = pattern == "point-to-point"
    if arguments.peers is None and not is_alone:
        raise InputError(f"{pattern} needs a number of peers: like --peers 8")
    peers = 1 if arguments.peers is None or (is_alone and compared) else arguments.peers
    return TransferProblem(arguments.volume[0], arguments.computation[0], pattern, peers)


def _typed_options(arguments: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of some options that were typed."""
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _as_json(offers: Any, sensitivity: Any, loss: float | None) -> dict[str, Any]:
    import msgspec

    plain = msgspec.to_builtins(offers, enc_hook=plain_number)
    return {
        **plain[0],
        "sensitivity": msgspec.to_builtins(sensitivity, enc_hook=plain_number),
        "misdiagnosis": loss,
        "choices": plain,
    }


def _validate(arguments: argparse.Namespace) -> int:
    """Judge choices by measured times; print tables or JSON, and write the page where one is requested."""
    from commmodel import formats
    from commmodel.optimize import validation

    measurements = formats.load_all([arguments.validate], placement=arguments.placement)
    note(measurements)
    validation.required_sweeps(measurements)  # before a fit could complain of something else
    if arguments.machine is None:
        from commmodel.fit import fit_machine

        machine = fit_machine(measurements)
    else:
        machine = known_machine(arguments.machine, placement=arguments.placement)
    validated = validation.validate(measurements, machine, arguments.model or "bounded")
    output, code = write_requested_page(arguments.output, "write_validation", machine.name, validated)
    if arguments.json:
        print_json(_validation_as_json(validated, output))
        return code
    from commmodel.report.overlap.validation import validation_tables

    show(*validation_tables(validated))
    if output is not None:
        print(f"written to {output}")
    return code


def _validation_as_json(validated: Any, output: str | None) -> dict[str, Any]:
    import msgspec

    derived = ("within_noise", "hidden_share", "best_hidden_share", "share_of_best")
    of_sweep = ("best", "ratio", "nothing_to_hide")
    cases = []
    for case in validated.cases:
        plain = msgspec.to_builtins(case)
        sweep = plain.pop("sweep") | {name: msgspec.to_builtins(getattr(case.sweep, name)) for name in of_sweep}
        cases.append(sweep | plain | {name: getattr(case, name) for name in derived})
    return {
        "cases": cases,
        "summaries": msgspec.to_builtins(validated.summaries),
        "left_out": validated.left_out,
        "progress": validated.progress,
        "output": output,
    }
