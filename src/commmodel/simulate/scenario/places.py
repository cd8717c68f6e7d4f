"""Places: a platform, a machine's parameters, or both. Main entries: `place`, `Place`.

A name that is both a published platform and a published machine is both: the platform's links with the machine's
parameters. How platform, parameters and model go together is a table in ``docs/howto/simulate.md``.
"""

import math
import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace

from commmodel import machine as machines
from commmodel.arguments import Positive, finite, rank_count
from commmodel.choices import ProgramModel, ScheduleModel
from commmodel.collectives.library.smpi_selection import Selection
from commmodel.collectives.settings import CollectiveSettings
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, choice_of, nearest
from commmodel.machine import LogGP, Machine, Parameter, Segment
from commmodel.signatures import checked
from commmodel.simulate import platform as platforms
from commmodel.simulate.delays import DelayParameters
from commmodel.simulate.network import Network
from commmodel.simulate.platform import Platform
from commmodel.simulate.storage import Storage, parse_storage
from commmodel.units import parse_size, parse_time

Where = str | os.PathLike[str] | Platform | Machine | DelayParameters
"""What `place` takes, beside a `Place` itself."""
EXAMPLE = "L=2500ns,o=1500ns,g=1us,G=6ps,S=64KiB"
_SIZES = ("S", "small")
_LOGGP = ("L", "o", "g", "G")
_SMPI = "smpi"


@with_attributes
@dataclass(frozen=True)
class Place:
    """A place: a platform, a machine, or both; made by `place`."""

    name: str
    platform: Platform | None = None
    """None for a machine alone, and for parameters in place."""
    machine: Machine | None = None
    """Whose parameters messages take."""
    path: str | None = None
    """The machine's path between processes; by default between nodes, where it has that."""
    network: Network | None = None
    """What an XML file says of SMPI's model."""
    parameters: DelayParameters | None = None
    """Of a delay model, where they are given one by one."""
    model: ProgramModel | ScheduleModel | None = None
    """The model that is asked for; `default_model` holds where there is none."""
    is_smpi: bool = False
    """Whether SMPI's model holds by default."""
    buffering: float | None = None
    """Bytes of the largest message whose send ends without its receive; by default the model's."""
    computes: bool = True
    """Whether programs that run take time to compute where nothing else is said: an XML file may say no."""
    message_rate: float | None = None
    """Messages a second that a host sends to others at most; by default the model's."""
    storage: Storage | None = None
    """Where files of programs that run are; by default they take no time."""

    @property
    def cores(self) -> int | None:
        """Number of cores of the platform; None for a machine, which has as many hosts as there are ranks."""
        return None if self.platform is None else int(self.platform.cores.sum())

    def processes(self, processes: int | None = None, name: str = "processes") -> int:
        """Return a number of processes: by default one for each core of the platform."""
        count = self.cores if processes is None else processes
        if count is None:
            raise InputError(
                f"a machine has as many hosts as you like: give the number of ranks with `{name}`, like 64"
            )
        return rank_count(count, name=name)

    @property
    def default_model(self) -> ProgramModel:
        """Default model of programs."""
        if self.machine is not None:
            return "hybrid" if self.machine.hybrid else "loggp"
        if self.parameters is not None:
            return "loggp" if not of_loggps(self.parameters) else "loggps"
        return "smpi" if self.is_smpi else "fluid"

    @property
    def settings(self) -> CollectiveSettings:
        """Settings of collectives, those of the machine."""
        return CollectiveSettings("mpich") if self.machine is None else self.machine.collective_settings

    def settings_or(self, settings: CollectiveSettings | None) -> CollectiveSettings:
        """Return settings of collectives, with the place's in place of what they leave out.

        SMPI's algorithms go in the order of its calls where messages take a processor's time.
        """
        settings = self.settings if settings is None else settings.or_else(self.settings)
        network = self.network
        takes_time = network is not None and (network.send or network.isend or network.receive)
        if takes_time and isinstance(library := settings.library, Selection):
            return replace(settings, selector=replace(library, is_in_order=True))
        return settings


@checked
def place(
    where: "Where | Place",
    parameters: str | os.PathLike[str] | DelayParameters | Machine | None = None,
    *,
    path: str | None = None,
    model: ProgramModel | ScheduleModel | None = None,
    buffering: float | None = None,
    message_rate: Positive | None = None,
    storage: Storage | str | None = None,
    load_machine: Callable[[str], Machine] = machines.load,
) -> Place:
    """Return where to simulate.

    Parameters
    ----------
    where : str, path, Platform, Machine, DelayParameters or Place
        A platform or a machine, by file or published name; or parameters of a delay model: ``L=2500ns,o=1500ns,G=6ps``;
        or such a thing itself. A place is returned as it is.
    parameters : str, path, Machine or DelayParameters, optional
        For a platform: ``smpi``, a machine, by file or published name or itself, or parameters of a delay model.
    path : str, optional
        Path of the machine whose parameters are taken.
    model : str, optional
        Model in place of the default one.
    buffering : float, optional
        Bytes of the largest message whose send ends before its receive, 0 or more: 0 for none, and then no rank leaves
        a collective before the others have come; infinity for all. By default as the model says; delay models have
        parameter ``S``.
    message_rate : float, optional
        Messages a second that a host sends to others at most, > 0. By default the machine's, or no limit; delay models
        have none.
    storage : Storage or str, optional
        Where files of programs that run are, like ``bandwidth=10GB/s,latency=100us``; by default files take no time.
    load_machine : callable
        How a machine is read; the command line's also fits ``results.jsonl``.

    Raises
    ------
    InputError
        If there is no such platform or machine, or things do not go together.

    Examples
    --------
    >>> place("graphene").default_model, place("switch").default_model, place("L=4us,o=1us,G=6ns").default_model
    ('hybrid', 'fluid', 'loggp')
    >>> place("switch", "graphene").default_model
    'hybrid'
    >>> place("switch").cores
    64
    """
    if isinstance(where, Place):
        if any(setting is not None for setting in (parameters, path, model, buffering, message_rate, storage)):
            raise InputError("all settings are of the Place already: leave them out beside it")
        return where
    if isinstance(where, os.PathLike):
        where = os.fspath(where)
    name = where if isinstance(where, str) else getattr(where, "name", "given parameters")
    if isinstance(where, str) and are_parameters(where):
        where = parse_parameters(where)
    if isinstance(where, DelayParameters):
        if parameters is not None:
            raise InputError(f"`parameters`: {where} are parameters already: leave it out, or name a platform")
        parsed = Place(name, parameters=where, model=model)
    else:
        parsed = _with_parameters(where, parameters, model, load_machine)
    if path is not None and parsed.machine is None:
        raise InputError("`path` goes with a machine, and there is none: leave it out, or name one with `parameters`")
    if buffering is not None and buffering != math.inf:
        finite("buffering", buffering, 0)
    if message_rate is not None:
        finite("message_rate", message_rate, above=0)
    if isinstance(storage, str):
        storage = parse_storage(storage)
    return replace(
        parsed, path=path, model=model, buffering=buffering, message_rate=message_rate, storage=storage
    )  # fmt: skip


def _with_parameters(
    where: str | Platform | Machine,
    parameters: str | os.PathLike[str] | DelayParameters | Machine | None,
    model: str | None,
    load_machine: Callable[[str], Machine],
) -> Place:
    place = _load(where, load_machine)
    if parameters is None:
        return place
    if parameters == _SMPI:
        if model not in (None, _SMPI):
            raise InputError(f"`parameters` smpi are of the model smpi, not of {model}: leave one out")
        if place.platform is None:
            raise InputError(f"`parameters` smpi needs a platform: {place.name} is a machine")
        return Place(place.name, place.platform, network=place.network, is_smpi=True, computes=place.computes)
    if place.platform is None:
        raise InputError(f"`parameters`: {place.name} is a machine, which brings its own: leave it out")
    if isinstance(parameters, str) and are_parameters(parameters):
        parameters = parse_parameters(parameters)
    if isinstance(parameters, DelayParameters):
        return Place(place.name, place.platform, network=place.network, parameters=parameters, is_smpi=place.is_smpi)
    machine = parameters if isinstance(parameters, Machine) else load_machine(os.fspath(parameters))
    return Place(place.name, place.platform, machine)


def are_parameters(text: str) -> bool:
    """Whether a text gives parameters one by one, rather than a file, a platform or a machine."""
    return "=" in text and not os.path.exists(text)


def parse_parameters(text: str) -> DelayParameters:
    """Return parameters of a delay model from text; ``O`` is both ``O_s`` and ``O_r``.

    >>> parse_parameters("L=2500ns,o=1.5us,S=64KiB").S
    65536.0
    """
    names = DelayParameters.__struct_fields__
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in (*names, "O"):
            raise InputError(f"{part!r} is no parameter of a delay model: {choice_of(part, (*names, 'O (both)'))}")
        for field in ("O_s", "O_r") if name == "O" else (name,):
            if field in values:
                raise InputError(f"parameter {name} is given twice")
            try:
                values[field] = float(parse_size(value)) if name in _SIZES else parse_time(value.removesuffix("/B"))
            except InputError as error:
                raise InputError(f"parameter {name}: {error}") from None
    missing = [name for name in ("L", "o") if name not in values]
    if missing:
        raise InputError(f"{' and '.join(missing)} missing: every delay model needs L and o, like {EXAMPLE}")
    return DelayParameters(**values)


def of_loggps(parameters: DelayParameters) -> list[str]:
    """Return the names of parameters, among those given, that LogGP does not have."""
    names = (name for name in DelayParameters.__struct_fields__ if name not in _LOGGP)
    return [name for name in names if getattr(parameters, name) not in (0.0, math.inf)]


def machine_of_parameters(text: str) -> Machine:
    """Return a machine that has LogGP parameters alone, for models of single messages and of schedules.

    >>> machine_of_parameters("L=4us,o=1us,g=2us,G=1ns").segments[0].loggp.g.value
    2e-06
    """
    parameters = parse_parameters(text)
    if names := of_loggps(parameters):
        raise InputError(f"{text}: {names[0]} is of simulations; a prediction takes {', '.join(_LOGGP)}: leave it out")
    L, o, g, G = (Parameter(getattr(parameters, name)) for name in _LOGGP)
    return Machine(text, (Segment("all", loggp=LogGP(L, o, g, G)),))


def _load(name: str | Platform | Machine, load_machine: Callable[[str], Machine]) -> Place:
    """Return the platform or the machine of a name or a file, or that is given."""
    match name:
        case Platform():
            return Place(name.name, name)
        case Machine():
            return Place(name.name, machine=name)
        case str():
            pass
        case _:
            raise InputError(f"{name!r} is no place: give a name, a path, a Platform, a Machine or DelayParameters")
    published, measured = platforms.published(), machines.published()
    if name in published:
        machine = machines.load(name) if name in measured else None
        return Place(name, platforms.load(name), machine if machine is not None and machine.hybrid else None)
    if name in measured or name.endswith(".jsonl"):
        return Place(name, machine=load_machine(name))
    if name.lower().endswith(".xml"):
        platform, properties = platforms.read_xml(name)
        network, computes = platforms.network(properties), platforms.xml_settings.computes(properties)
        return Place(name, platform, network=network, is_smpi=True, computes=computes)
    if not os.path.exists(name):
        names = [*published, *(other for other in measured if other not in published)]
        near = nearest(name, names)
        mend = f": did you mean {near}?" if near else f" ({', '.join(names)})"
        raise InputError(f"{name!r} is neither a file nor a published platform or machine{mend}")
    return Place(name, platforms.load(name)) if _is_platform(name) else Place(name, machine=load_machine(name))


def _is_platform(path: str) -> bool:
    """Whether a TOML file is a platform; damaged files are left to the reader of machines."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file).get("format") == "commmodel-platform"
    except (OSError, ValueError, RecursionError):
        return False
