"""The report: tables for the terminal, and HTML pages with plots.

Tables need nothing beyond commmodel's own dependencies; pages and plots need matplotlib and jinja2, the optional extra
``commmodel[report]``. Every name is loaded at its first use, so importing this package is cheap. A folder for each
product makes tables and figures of `kit`, and knows no other product; `page` and `tables` put them together. Main
entries: `machine_table`, `measurements_table`, `environment_table`, `render`, `write_html`, `write_check`,
`write_comparison`, `write_gantt`, `write_recording`, `write_validation` and `write_what_if`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from commmodel.errors import MissingPackageError

if TYPE_CHECKING:
    from commmodel.report.overlap.validation_page import write_validation
    from commmodel.report.page import render, write_html
    from commmodel.report.prediction.comparison_page import write_comparison
    from commmodel.report.recording.page import write_recording
    from commmodel.report.scaling.page import write_check
    from commmodel.report.simulation.gantt_page import write_gantt
    from commmodel.report.simulation.what_if_page import write_what_if
    from commmodel.report.tables import environment_table, machine_table, measurements_table

__all__ = [
    "environment_table", "machine_table", "measurements_table", "render", "write_check", "write_comparison",
    "write_gantt", "write_html", "write_recording", "write_validation", "write_what_if",
]  # fmt: skip

_MODULES = {
    "environment_table": "tables",
    "machine_table": "tables",
    "measurements_table": "tables",
    "render": "page",
    "write_check": "scaling.page",
    "write_comparison": "prediction.comparison_page",
    "write_gantt": "simulation.gantt_page",
    "write_html": "page",
    "write_recording": "recording.page",
    "write_validation": "overlap.validation_page",
    "write_what_if": "simulation.what_if_page",
}
_EXTRA = {"jinja2", "markupsafe", "matplotlib"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        problem = f"reports need {missing}, which is not here: pip install 'commmodel[report]'"
        raise MissingPackageError(problem) from None
    return getattr(module, name)
