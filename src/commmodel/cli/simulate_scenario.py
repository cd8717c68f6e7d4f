"""On what, and by which model, the verb ``simulate`` simulates: how platform, parameters and model go together.

The first word of the command is a platform or a machine; a name that is both is both, the platform's links with the
machine's parameters. With parameters of a delay model given one by one, it may be left out. Where no model is named, a
machine's is hybrid if it has that section, else LogGPS; a platform without a machine has SMPI's if it is XML, else the
fluid one (the table is in ``docs/howto/simulate.md``).
Main entries: `Place`, `place` and `simulator`.
"""

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from commmodel.cli.parsers import known_machine, whole_number
from commmodel.cli.progress import Progress
from commmodel.cli.simulate_workload import Workload
from commmodel.errors import InputError, MissingParameterError
from commmodel.units import parse_size, parse_time

__all__ = ["DELAYS", "FLOWS", "MODELS", "OF_SCHEDULES", "Place", "Simulator", "place", "simulator"]

FLOWS = ("hybrid", "fluid", "smpi")
DELAYS = ("loggps", "loggp", "logp")
OF_SCHEDULES = ("loggops", *DELAYS)
MODELS = (*FLOWS, *OF_SCHEDULES)
_EXAMPLE = "L=2500ns,o=1500ns,g=1us,G=6ps,S=64KiB"
_SPEED = 1e9
"""Flop/s of a core where nobody says."""


@dataclass(frozen=True)
class Place:
    """Where it runs: a platform, a machine's parameters, others, each or none; what an XML file says of the model."""

    name: str
    platform: Any = None
    machine: Any = None
    network: Any = None
    is_xml: bool = False
    parameters: Any = None
    """Of a delay model, where they were given one by one."""

    @property
    def cores(self) -> int | None:
        """How many ranks the platform has room for; nothing where a machine is asked."""
        return None if self.platform is None else int(self.platform.cores.sum())

    def default_model(self) -> str:
        """Return the model that holds where none is named (see the module)."""
        if self.machine is not None:
            return "hybrid" if self.machine.hybrid else "loggps"
        if self.parameters is not None:
            return "loggps"
        return "smpi" if self.is_xml else "fluid"

    def selector(self) -> Any:
        """Return who picks algorithms where nobody is named: the machine's library, else MPICH."""
        from commmodel.predict.collective import default_selector

        if self.machine is None:
            return "mpich"
        library = self.machine.selector or default_selector(self.machine)
        return self.machine.collectives(library) if self.machine.selection else library


@dataclass(frozen=True)
class Simulator:
    """A model on a place, ready to run.

    Attributes
    ----------
    model : str
    run : callable
        (record) -> SimulationResult.
    platform : Platform, optional
        Whose links messages share; None for delay models.
    hosts : int array, shape (processes,), optional
        Each rank's host on that platform.
    """

    model: str
    run: Callable[[bool], Any]
    platform: Any = None
    hosts: Any = None


def place(asked: argparse.Namespace) -> Place:
    """Return where the command's first word and its ``--parameters`` say."""
    found = _with_parameters(asked)
    if asked.path is not None and found.machine is None:
        raise InputError("--path goes with a machine, and there is none: leave it out, or name one with --parameters")
    return found


def _with_parameters(asked: argparse.Namespace) -> Place:
    given = asked.parameters
    one_by_one = given is not None and "=" in given and not os.path.exists(given)
    if asked.platform is None:
        if not one_by_one:
            raise InputError(
                f"no PLATFORM: name a platform or a machine, or give a delay model's --parameters, like {_EXAMPLE}"
            )
        return Place(given, parameters=_one_by_one(given))
    found = _place(asked.platform)
    if given is None:
        return found
    if asked.parameters == "smpi":
        if asked.model not in (None, "smpi"):
            raise InputError(f"--parameters smpi are of the model smpi, not of {asked.model}: leave one out")
        if found.platform is None:
            raise InputError(f"--parameters smpi needs a platform: {asked.platform} is a machine")
        return Place(found.name, found.platform, None, found.network, is_xml=True)
    if found.platform is None:
        raise InputError(f"--parameters: {asked.platform} is a machine, which brings its own: leave it out")
    if one_by_one:
        return Place(found.name, found.platform, None, found.network, found.is_xml, _one_by_one(given))
    return Place(found.name, found.platform, known_machine(given))


def _one_by_one(text: str) -> Any:
    """Return parameters of a delay model that are written like ``L=2500ns,o=1500ns,G=6ps``; O is O_s and O_r."""
    from commmodel.simulate import DelayParameters

    sizes, names = ("S", "small"), DelayParameters.__struct_fields__
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in (*names, "O"):
            known = ", ".join((*names, "O (both)"))
            raise InputError(f"--parameters: {part!r} is no parameter of a delay model: choose of {known}")
        for field in ("O_s", "O_r") if name == "O" else (name,):
            if field in values:
                raise InputError(f"--parameters: {name} is given twice")
            try:
                values[field] = float(parse_size(value)) if name in sizes else parse_time(value.removesuffix("/B"))
            except InputError as error:
                raise InputError(f"--parameters: {name}: {error}") from None
    missing = [name for name in ("L", "o") if name not in values]
    if missing:
        raise InputError(f"--parameters: {' and '.join(missing)} missing: every delay model needs L and o")
    return DelayParameters(**values)


def _place(word: str) -> Place:
    from commmodel import machine
    from commmodel.simulate import platform

    platforms, machines = platform.published(), machine.published()
    if word in platforms:
        known = machine.load(word) if word in machines else None
        return Place(word, platform.read(word), known if known is not None and known.hybrid else None)
    if word in machines or word.endswith(".jsonl"):
        return Place(word, machine=known_machine(word))
    if word.lower().endswith(".xml"):
        read, properties = platform.read_xml(word)
        return Place(word, read, network=platform.network(properties), is_xml=True)
    if not os.path.exists(word):
        names = ", ".join([*platforms, *(name for name in machines if name not in platforms)])
        raise InputError(f"{word!r} is neither a file nor a published platform or machine ({names})")
    if _is_platform(word):
        return Place(word, platform.read(word))
    return Place(word, machine=known_machine(word))


def _is_platform(path: str) -> bool:
    """Return whether a TOML file says that it is a platform; what is damaged is left to the reader of machines."""
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file).get("format") == "commmodel-platform"
    except (OSError, ValueError, RecursionError):
        return False


def simulator(model: str | None, found: Place, work: Workload, asked: argparse.Namespace) -> Simulator:
    """Return what runs the work by a model; the place's own where none is named."""
    if work.schedule is not None:
        return _schedule(model or "loggops", found, work, asked)
    name = model or found.default_model()
    if name not in MODELS or name == "loggops":
        raise InputError(f"{name!r} is no model of programs: choose {', '.join((*FLOWS, *DELAYS))}")
    return _program(name, found, work, asked)


def _parameters(name: str, found: Place, asked: argparse.Namespace) -> Any:
    """Return the parameters of a delay model."""
    from commmodel.simulate import delays

    if found.parameters is not None:
        return found.parameters
    if found.machine is None:
        raise InputError(
            f"the model {name} needs parameters of a machine: --parameters MACHINE, or one by one: {_EXAMPLE}"
        )
    return delays.from_machine(found.machine, asked.path)


def _schedule(name: str, found: Place, work: Workload, asked: argparse.Namespace) -> Simulator:
    from commmodel.simulate import delays

    if name not in OF_SCHEDULES:
        raise InputError(f"a GOAL schedule runs by {', '.join(OF_SCHEDULES)}, not by {name}")
    parameters = _parameters(name, found, asked)
    rules = asked.rules or delays.RULES[0]

    def run(record: bool) -> Any:
        return delays.run_schedule(work.schedule, parameters, model=name, rules=rules, record=record)

    return Simulator(name, run)


def _program(name: str, found: Place, work: Workload, asked: argparse.Namespace) -> Simulator:
    from commmodel.simulate import run

    model, shared = _model(name, found, asked), name in FLOWS
    platform = _links(found, work.processes, asked) if shared else found.platform
    hosts = None if platform is None else _hosts(platform, work.processes, asked)
    speeds = _speeds(platform, hosts, work.processes, asked)

    def simulated(record: bool) -> Any:
        with Progress(f"{work.words}, by {name}") as progress:
            return run(work.program(speeds), model, platform, hosts=hosts, record=record, progress=progress.note)

    return Simulator(name, simulated, platform if shared else None, hosts)


def _model(name: str, found: Place, asked: argparse.Namespace) -> Any:
    """Return what says how messages behave: a network, or a delay model."""
    from commmodel.simulate import SMPI, DelayModel, fluid, from_machine

    if name in DELAYS:
        return DelayModel(_parameters(name, found, asked), name)
    if name == "smpi":
        return found.network or SMPI
    if name == "hybrid" and found.machine is None:
        raise InputError("the model hybrid needs parameters of a machine: --parameters MACHINE")
    if name == "fluid" and (found.machine is None or not found.machine.hybrid):
        return fluid()
    measured = from_machine.network(found.machine, asked.path)
    return measured if name == "hybrid" else fluid(measured.detached_limit, measured.eager_limit)


def _links(found: Place, processes: int, asked: argparse.Namespace) -> Any:
    """Return the platform whose links messages share: a machine's own is one switch."""
    from commmodel.simulate import from_machine

    if found.platform is not None:
        if asked.hosts is not None:
            raise InputError(f"--hosts: {found.name} is a platform, which says how many hosts it has: leave it out")
        return found.platform
    if found.machine is None:
        raise InputError(f"the messages of this model share links: name a platform, not only --parameters {found.name}")
    if not found.machine.hybrid:
        raise MissingParameterError(
            f"{found.name} has no hybrid section, from which a platform could be made: calibrate it (python -m "
            "commmodel.bench), name a platform, or choose --model loggps"
        )
    count = processes if asked.hosts is None else whole_number("--hosts", asked.hosts, 1)
    return from_machine.platform(found.machine, count, asked.path, cores=-(-processes // count), speed=_SPEED)


def _speeds(platform: Any, hosts: Any, processes: int, asked: argparse.Namespace) -> Any:
    """Return the flop/s of each rank."""
    import numpy as np

    from commmodel.units import parse_quantity

    if asked.speed is not None:
        try:
            speed = parse_quantity(asked.speed, "flop/s")
        except InputError as error:
            raise InputError(f"--speed: {error}") from None
        if not speed > 0:
            raise InputError(f"--speed {asked.speed}: it must be above 0")
        return np.full(processes, speed)
    return np.full(processes, _SPEED) if platform is None else platform.speeds[hosts]


def _hosts(platform: Any, processes: int, asked: argparse.Namespace) -> Any:
    """Return each rank's host: by a rule, or from a file that names a host on each line."""
    word = asked.mapping
    if word is None:
        return platform.place(processes, "block" if processes <= int(platform.cores.sum()) else "round-robin")
    if word in ("block", "round-robin"):
        return platform.place(processes, word)
    try:
        with open(word, encoding="utf-8") as file:
            lines = [line.partition("#")[0].strip() for line in file.read(1 << 28).splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(f"--mapping {word}: neither block nor round-robin, nor a file of hosts: {why}") from None
    names = [line.split()[0].partition(":")[0] for line in lines if line]
    if not names:
        raise InputError(f"--mapping {word}: the file names no host: one on each line")
    try:
        return platform.place(processes, names)
    except InputError as error:
        raise InputError(f"--mapping {word}: {error}") from None
