"""Parts of other distributions, such as algorithms or readers, found by their entry points. Main entry: `Parts`."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from commmodel.errors import InputError, choice_of

Part = TypeVar("Part")

VERSIONS: dict[str, str] = {}
"""Distribution whose entry points are loaded -> its version."""
_LOADED: set[str] = set()


def load(group: str) -> None:
    """Load all entry points of a group, once; they register what they hold. `InputError` names a damaged distribution.

    >>> load("commmodel.nosuch")
    """
    if group in _LOADED:
        return
    _LOADED.add(group)  # before: what is loaded may look for parts, too
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        name, version = (entry.dist.name, entry.dist.version) if entry.dist else ("a distribution", "without name")
        try:
            entry.load()
        except Exception as error:
            _LOADED.discard(group)
            problem = f"{name} {version}: entry point {entry.name} of {group} fails: {type(error).__name__}: {error}"
            raise InputError(f"{problem}: repair or uninstall {name}") from error
        VERSIONS[name] = version


class Parts(dict[str, Part]):
    """Parts by name. Where a name is not known, entry points are loaded first.

    >>> colours = Parts("unknown colour", "commmodel.colours", {"red": 1})
    >>> colours.add("mauve", 2, load)
    >>> "mauve" in colours, "pink" in colours, colours.loaded() is colours
    (True, False, True)
    >>> colours["mauv"]
    Traceback (most recent call last):
    commmodel.errors.InputError: unknown colour 'mauv': did you mean mauve? Choose one of red, mauve
    """

    def __init__(self, problem: str, group: str, parts: Mapping[str, Part] | None = None) -> None:
        super().__init__(parts or {})
        self._problem, self._group = problem, group
        self._modules: dict[str, str] = {}

    def loaded(self) -> "Parts[Part]":
        """Return these parts with those of installed distributions."""
        load(self._group)
        return self

    def add(self, name: str, part: Part, maker: Callable[..., Any]) -> None:
        """Add a part; `InputError` where a module other than that of its function or class has one of this name.

        >>> Parts("unknown colour", "commmodel.colours").add("red", 1, 3)
        Traceback (most recent call last):
        commmodel.errors.InputError: 'red' is registered with 3: give a function
        """
        if not callable(maker):
            raise InputError(f"{name!r} is registered with {maker!r}: give a function")
        if super().__contains__(name) and maker.__module__ != (module := self._modules.get(name, "commmodel")):
            raise InputError(f"{name!r} is a name of {module} already: choose another one")
        self[name], self._modules[name] = part, maker.__module__

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name) and isinstance(name, str):
            load(self._group)
        return super().__contains__(name)

    def __missing__(self, name: str) -> Part:
        if name in self:
            return self[name]
        raise InputError(f"{self._problem} {name!r}: {choice_of(name, self)}")
