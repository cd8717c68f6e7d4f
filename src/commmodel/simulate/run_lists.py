"""Lists of predicted runs that are tables, too. Main entry: `RunList`."""

from typing import Any, Protocol, Self, SupportsIndex, TypeVar, overload

from commmodel.frames import Tabular


class _TableRow(Protocol):
    """A run that is a row of a table."""

    def to_dict(self) -> dict[str, Any]: ...


_Item = TypeVar("_Item", bound=_TableRow)


class RunList(Tabular, list[_Item]):
    """A list of runs, each a row of its table."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> _Item: ...
    @overload
    def __getitem__(self, index: "slice[Any, Any, Any]") -> Self: ...
    def __getitem__(self, index: Any) -> Any:
        """Return a run, or of a slice some of them, which are such a list, too."""
        runs = super().__getitem__(index)
        return type(self)(runs) if isinstance(index, slice) else runs

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each run, that of its own ``to_dict``."""
        rows = [run.to_dict() for run in self]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
