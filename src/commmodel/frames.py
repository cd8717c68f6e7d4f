"""Results as pandas data frames and on matplotlib axes. Main entries: `Tabular` and `draw`.

A result with columns derives from `Tabular`, which makes a frame of its `to_dict`; its `plot` draws on `axes_of`.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from commmodel.arguments import refuse
from commmodel.errors import MissingPackageError
from commmodel.units import format_quantity, format_size

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["Tabular", "axes_of", "draw", "frame", "of_axes"]

_Parameters = ParamSpec("_Parameters")


def _package(module: str, purpose: str, mend: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name not in {module, package}:
            raise
        raise MissingPackageError(f"{purpose} need {package}, which is not here: pip install {mend}") from None


def frame(columns: Mapping[str, Any]) -> "pandas.DataFrame":
    """Return columns, or the values of one row, as a pandas DataFrame; `MissingPackageError` without pandas."""
    is_row = not any(hasattr(column, "__len__") and not isinstance(column, str) for column in columns.values())
    return _package("pandas", "data frames", "pandas").DataFrame([columns] if is_row and columns else dict(columns))


def columns(arrays: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return arrays of one shape as flat lists of Python's numbers, None in place of NaN.

    >>> columns({"seconds": np.array([1e-6, np.nan])})
    {'seconds': [1e-06, None]}
    """
    lists = {name: array.ravel().tolist() for name, array in arrays.items()}
    return {name: [None if value != value else value for value in values] for name, values in lists.items()}


def extent(values: Any, unit: str) -> str:
    """Return how many values there are, and from which to which, for a repr.

    >>> extent(np.array([1e-6, 2e-6]), "s")
    '2 values, 1.00 us to 2.00 us'
    """
    between = f", {format_quantity(values.min(), unit)} to {format_quantity(values.max(), unit)}" if values.size else ""
    return f"{values.size} value{'s' * (values.size != 1)}{between}"


_AXES = """\
Parameters
----------
axes : matplotlib axes, optional
    By default those of a new figure."""
_RAISES = """\
Raises
------
MissingPackageError
    Without matplotlib."""


def of_axes(plot: Callable[_Parameters, "Axes"]) -> Callable[_Parameters, "Axes"]:
    """Say in the docstring of a plot what all plots do with their axes; a decorator."""
    head, *rest = re.split(r"\n\n(?=Raises\n|Examples\n|>>> )", inspect.cleandoc(plot.__doc__ or ""), maxsplit=1)
    rest = [f"Examples\n--------\n{part}" if part.startswith(">>> ") else part for part in rest]
    common = [_AXES] if rest and rest[0].startswith("Raises") else [_AXES, _RAISES]
    plot.__doc__ = "\n\n".join([head, *common, *rest])
    return plot


class Tabular:
    """A result with columns."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the columns."""
        raise NotImplementedError

    def to_frame(self) -> "pandas.DataFrame":
        """Return the columns of `to_dict` as a pandas DataFrame; `MissingPackageError` without pandas."""
        return frame(self.to_dict())


def axes_of(axes: "Axes | None" = None) -> "Axes":
    """Return the given axes, or those of a new figure of pyplot; `MissingPackageError` without matplotlib."""
    if axes is None:
        axes = _package("matplotlib.pyplot", "plots", "'commmodel[report]'").subplots(layout="constrained")[1]
    elif not hasattr(axes, "set_xlabel"):
        raise refuse("axes", axes, "give axes of matplotlib, as plt.subplots() makes")
    return axes


def draw(
    axes: "Axes | None", places: Any, curves: Mapping[str, Any], x: tuple[str, str] = ("message size", "B"),
    y: tuple[str, str] = ("time", "s"),
) -> "Axes":  # fmt: skip
    """Draw curves on logarithmic axes, with a band where a curve has an interval.

    Parameters
    ----------
    axes : matplotlib axes, optional
        By default those of a new figure.
    places : array_like
        Along x, ≥ 0.
    curves : mapping
        Label -> values, or (values, low, high), with None for low and high where there is no interval.
    x, y : tuple
        Label and base unit of an axis; counts have the unit ``""``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> draw(Figure().subplots(), [1, 1024], {"one pair": ([1e-6, 2e-6], None, None)}).get_xlabel()
    'message size'
    """
    axes, is_logarithmic = axes_of(axes), False
    for label, curve in curves.items():
        has_interval = isinstance(curve, tuple) and np.ndim(curve[0]) > 0  # else it is the values
        values, low, high = curve if has_interval else (curve, None, None)
        is_logarithmic = is_logarithmic or bool((np.asarray(values) > 0).any())
        (line,) = axes.plot(places, values, marker=".", label=label)
        if low is not None and high is not None:
            axes.fill_between(places, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set_xscale("symlog" if min(places) == 0 else "log", base=2)
    if is_logarithmic:
        axes.set_yscale("log")
    for axis, (label, unit) in ((axes.xaxis, x), (axes.yaxis, y)):
        axis.set_label_text(label)
        axis.set_major_formatter(partial(_tick, unit))
    if len(axes.lines) > 1:
        axes.legend()
    return axes


def bars(axes: "Axes | None", labels: Sequence[str], times: Sequence[Any]) -> "Axes":
    """Draw times, each with ``seconds``, ``low`` and ``high``, as bars with their intervals."""
    axes = axes_of(axes)
    for label, time in zip(labels, times, strict=True):
        ends = None if time.low is None else [[time.seconds - time.low], [time.high - time.seconds]]
        axes.barh(label, time.seconds, xerr=ends)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(partial(_tick, "s"))
    axes.set_xlabel("time")
    return axes


_UNITS = {"message_size": "B", "volume": "B", "link_volume": "B", "computation": "s"}
_MOST_CURVES = 8


def draw_over(axes: "Axes | None", arguments: Mapping[str, Any], time: Any, label: str = "") -> "Axes":
    """Draw times over the argument that varies most, a curve for each value of what else varies.

    `time` has arrays ``seconds``, ``low`` and ``high``; `label` begins the label of each curve.
    """
    values = {name: np.unique(array) for name, array in arguments.items()}
    along = max(values, key=lambda name: values[name].size)
    varying = [name for name in arguments if name != along and values[name].size > 1]
    rows = (
        np.stack([arguments[name].ravel() for name in varying], axis=-1)
        if varying
        else np.zeros((time.seconds.size, 0))
    )
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    for number in dict.fromkeys(np.linspace(0, len(kinds) - 1, _MOST_CURVES).astype(int).tolist()):
        chosen = np.flatnonzero(kind.ravel() == number)
        chosen = chosen[np.argsort(arguments[along].ravel()[chosen], kind="stable")]
        words = [f"{name.replace('_', ' ')} {_tick(_UNITS.get(name, ''), value)}"
                 for name, value in zip(varying, kinds[number].tolist(), strict=True)]  # fmt: skip
        curve = tuple(end.ravel()[chosen] for end in (time.seconds, time.low, time.high))
        x = (along.replace("_", " "), _UNITS.get(along, ""))
        axes = draw(axes, arguments[along].ravel()[chosen], {", ".join([*filter(None, [label]), *words]): curve}, x)
    return axes_of(axes)


def _tick(unit: str, value: float, _position: int = 0) -> str:
    return format_size(value) if unit == "B" else format_quantity(value, unit) if unit else f"{value:g}"
