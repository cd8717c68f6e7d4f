"""The report: what was measured and what it means, as tables for the terminal and as one HTML page with plots.

`tables` needs nothing beyond commmodel's own dependencies; the page and the plots need matplotlib and jinja2, the
optional extra ``commmodel[report]``. Every name is loaded at its first use, so importing this package is cheap.
Main entries: `machine_table`, `measurements_table`, `environment_table`, `render`, `write_html`, `write_checked`,
`write_comparison`, `write_gantt` and `write_validation`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from commmodel.errors import MissingPackageError

if TYPE_CHECKING:
    from commmodel.report.machine.page import render, write_html
    from commmodel.report.machine.tables import environment_table, machine_table, measurements_table
    from commmodel.report.overlap.validation_page import write_validation
    from commmodel.report.prediction.comparison_page import write_comparison
    from commmodel.report.scaling.growth import scaled
    from commmodel.report.scaling.page import write_checked
    from commmodel.report.simulation.gantt_page import write_gantt

__all__ = [
    "environment_table", "machine_table", "measurements_table", "render", "scaled", "write_checked",
    "write_comparison", "write_gantt", "write_html", "write_validation",
]  # fmt: skip

_HOMES = {
    "environment_table": "machine.tables",
    "machine_table": "machine.tables",
    "measurements_table": "machine.tables",
    "render": "machine.page",
    "scaled": "scaling.growth",
    "write_checked": "scaling.page",
    "write_comparison": "prediction.comparison_page",
    "write_gantt": "simulation.gantt_page",
    "write_html": "machine.page",
    "write_validation": "overlap.validation_page",
}
_EXTRA = {"jinja2", "markupsafe", "matplotlib"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        problem = f"reports need {missing}, which is not here: pip install 'commmodel[report]'"
        raise MissingPackageError(problem) from None
    return getattr(module, name)
