"""The verb ``optimize``: in which messages and bursts to cut a transfer so that computation hides it."""

import argparse
from typing import Any

from commmodel.cli.parsers import (
    known_machine,
    new_verb,
    parsed,
    plain_number,
    print_json,
    show,
    warn_of,
    whole_number,
)
from commmodel.errors import InputError

__all__ = ["add"]

_PATTERNS = (
    "point-to-point", "multiple-end-points-contiguous", "multiple-end-points-interleaved", "end-point-congestion",
    "all-to-all-same-order", "all-to-all-contiguous", "all-to-all-interleaved",
)  # fmt: skip
_IMPLEMENTATIONS = ("pipelined", "tight")
_OF_CHOICES = {
    "volume": "--volume", "compute": "--compute", "pattern": "--pattern", "all_patterns": "--all-patterns",
    "peers": "--peers", "implementation": "--implementation", "operation": "--operation", "direction": "--direction",
    "grid": "--grid", "sizes": "--sizes", "bursts": "--bursts", "overhead": "--overhead", "latency": "--latency",
    "byte_time": "--byte-time", "progress": "--progress", "queue_depth": "--queue-depth",
    "outstanding_volume": "--outstanding-volume", "rule": "--rule", "path": "--path", "sensitivity": "--sensitivity",
}  # fmt: skip


def add(verbs: Any) -> None:
    """Add the verb."""
    optimize = new_verb(
        verbs, "optimize", _run, "message size and burst with which computation hides most of a transfer",
        "commmodel optimize machine.toml --volume 8MiB --compute 3ms",
    )  # fmt: skip
    optimize.add_argument(
        "machine", nargs="?", metavar="MACHINE",
        help="machine file, a name from: commmodel machines, or results.jsonl to fit (none where overhead, latency and "
        "byte time are given)",
    )  # fmt: skip
    problem = optimize.add_argument_group("the problem")
    problem.add_argument("--volume", metavar="SIZE", help="bytes to move with each peer; all to all: with all together")
    problem.add_argument("--compute", metavar="TIME", help="computation on them, like 3ms")
    problem.add_argument(
        "--pattern", metavar="P,...", help=f"one or several of {', '.join(_PATTERNS)} (the first), compared"
    )
    problem.add_argument("--all-patterns", action="store_true", default=None, help="compare all of them")
    problem.add_argument("--peers", metavar="P", help="the others of a process; all to all: processes that take part")
    problem.add_argument("--implementation", help="pipelined, tight, or any, the faster of both (any)")
    problem.add_argument("--operation", help="two-sided, put or get (two-sided)")
    offered = optimize.add_argument_group("what may be chosen")
    offered.add_argument("--grid", help="powers-of-two, or fine: four sizes for each of these, all bursts (the former)")
    offered.add_argument(
        "--sizes", help="message sizes, only these: 4KiB:1MiB, or multiples of a row, 3000:90000:+3000"
    )
    offered.add_argument("--bursts", help="bursts, only these: 1,2,4")
    offered.add_argument("--rule", help="equations, or measured: what the paper found best for all to all (equations)")
    optimize.add_argument(
        "--model", help="bounded by what one processor and one port need, or paper: its equations alone (bounded)"
    )
    network = optimize.add_argument_group("the network, in place of what the machine says")
    network.add_argument("--overhead", metavar="TIME", help="o of a message at both its ends, like 2us")
    network.add_argument("--latency", metavar="TIME", help="L, like 10us")
    network.add_argument("--byte-time", metavar="TIME", help="G, like 1.1ns/B")
    network.add_argument("--progress", metavar="SHARE", help="of a transfer that goes on while nobody calls MPI")
    network.add_argument("--queue-depth", metavar="HD", help="messages with which the network's queue is full")
    network.add_argument("--outstanding-volume", metavar="SIZE", help="bytes of a burst at most")
    network.add_argument("--direction", help="of the bandwidth: both-ways or one-way (both-ways)")
    network.add_argument("--path", help="that messages take (between-nodes where the machine has it)")
    optimize.add_argument(
        "--sensitivity", action="store_true", default=None, help="say how wrong the computation's time may be"
    )
    validated = optimize.add_argument_group("choices against measured times")
    validated.add_argument("--validate", metavar="RESULTS", help="results.jsonl with records of the kernel overlap")
    validated.add_argument("-o", "--output", help="HTML file with the validation's plots to write (none)")


def _run(asked: argparse.Namespace) -> int:
    if asked.validate is not None:
        from commmodel.cli.optimize_validate import validate

        for name, option in _OF_CHOICES.items():
            if getattr(asked, name) is not None:
                raise InputError(f"{option} goes with a choice: leave it out, or leave out --validate")
        return validate(asked)
    if asked.output is not None:
        raise InputError("-o goes with --validate: leave it out")
    return _choose(asked)


def _choose(asked: argparse.Namespace) -> int:
    """Choose for every pattern and implementation that is asked for, and show all, the fastest first."""
    from commmodel import optimize
    from commmodel.units import parse_size, parse_time

    patterns, options = _patterns(asked), _options(asked)
    volume, compute = parsed("--volume", asked.volume, parse_size), parsed("--compute", asked.compute, parse_time)
    if volume is None or compute is None:
        raise InputError(
            "what is to be done is not known: give --volume and --compute, like --volume 8MiB --compute 3ms"
        )
    machine = None if asked.machine is None else known_machine(asked.machine)
    warnings = warn_of(machine)
    is_any = asked.implementation in {None, "any"}
    made = []
    for pattern in patterns:
        own = options | _of_pattern(asked, pattern, compared=len(patterns) > 1)
        made += [
            (optimize.choose(volume, compute, machine, implementation=each, **own), own)
            for each in (_IMPLEMENTATIONS if is_any else (asked.implementation,))
        ]
    made.sort(key=lambda one: one[0].seconds)
    best, own = made[0]
    own |= {"implementation": best.implementation}
    sensitivity = loss = None
    if asked.sensitivity:
        sensitivity = optimize.sensitivity(volume, compute, machine, **own)
        loss = optimize.misdiagnosis(volume, compute, machine, **own)
    choices = [choice for choice, _ in made]
    extrapolates = _extrapolates(machine, choices, own, asked.path)
    if asked.json:
        print_json(_as_json(choices, sensitivity, loss) | {"extrapolates": extrapolates, "warnings": warnings})
    else:
        from commmodel.report.overlap.choices import choice_lines, choices_table

        told = [f"{line[:1].upper()}{line[1:]}." for line in extrapolates]
        show(choices_table(volume, compute, choices), *choice_lines(best, sensitivity, loss), *told)
    return 0


def _extrapolates(machine: Any, choices: Any, own: dict[str, Any], path: str | None) -> tuple[str, ...]:
    """Return what of the choices lies beyond what the machine's measurements cover, in at most one line."""
    from commmodel.predict import collective_reach

    if machine is None:
        return ()
    largest = max(choice.message_size for choice in choices)
    peers = own.get("peers", 1)
    return collective_reach(machine, peers + (not own["pattern"].startswith("all-to-all")), largest, path)


def _patterns(asked: argparse.Namespace) -> tuple[str, ...]:
    if asked.all_patterns:
        if asked.pattern is not None:
            raise InputError("--pattern and --all-patterns both say which: leave one out")
        return _PATTERNS
    named = tuple(dict.fromkeys(word.strip() for word in (asked.pattern or _PATTERNS[0]).split(",")))
    for name in named:
        if name not in _PATTERNS:
            raise InputError(f"--pattern: there is no {name!r}: choose of {', '.join(_PATTERNS)}")
    return named


def _of_pattern(asked: argparse.Namespace, pattern: str, *, compared: bool) -> dict[str, Any]:
    """Return the options that only some of the patterns take: compared with others, the rest goes without."""
    is_alone, is_all_to_all = pattern == "point-to-point", pattern.startswith("all-to-all")
    if asked.peers is None and not is_alone:
        raise InputError(f"{pattern} needs a number of peers: like --peers 8")
    peers = 1 if asked.peers is None or (is_alone and compared) else whole_number("--peers", asked.peers, 1)
    with_rule = asked.rule is not None and (is_all_to_all or not compared)
    return {"pattern": pattern, "peers": peers} | ({"rule": asked.rule} if with_rule else {})


def _options(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the options that all patterns take."""
    from commmodel.units import parse_counts, parse_fraction, parse_quantity, parse_size, parse_sizes, parse_time

    values = {
        "overhead": parsed("--overhead", asked.overhead, parse_time),
        "latency": parsed("--latency", asked.latency, parse_time),
        "byte_time": parsed("--byte-time", asked.byte_time, lambda text: parse_quantity(text, "s/B")),
        "progress": parsed("--progress", asked.progress, parse_fraction),
        "queue_depth": None if asked.queue_depth is None else whole_number("--queue-depth", asked.queue_depth, 2),
        "outstanding_volume": parsed("--outstanding-volume", asked.outstanding_volume, parse_size),
        "sizes": parsed("--sizes", asked.sizes, parse_sizes),
        "bursts": parsed("--bursts", asked.bursts, parse_counts),
        **{name: getattr(asked, name) for name in ("operation", "direction", "grid", "path", "model")},
    }
    return {name: value for name, value in values.items() if value is not None}


def _as_json(choices: Any, sensitivity: Any, loss: float | None) -> dict[str, Any]:
    import msgspec

    plain = msgspec.to_builtins(choices, enc_hook=plain_number)
    return {
        **plain[0],
        "sensitivity": msgspec.to_builtins(sensitivity, enc_hook=plain_number),
        "misdiagnosis": loss,
        "choices": plain,
    }
