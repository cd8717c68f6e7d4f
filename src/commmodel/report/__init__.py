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
    from commmodel.report.compared_page import write_comparison
    from commmodel.report.gantt_page import write_gantt
    from commmodel.report.page import render, write_html
    from commmodel.report.scaling import scaled
    from commmodel.report.scaling_page import write_checked
    from commmodel.report.tables import environment_table, machine_table, measurements_table
    from commmodel.report.validated_page import write_validation

__all__ = [
    "environment_table", "machine_table", "measurements_table", "render", "scaled", "write_checked",
    "write_comparison", "write_gantt", "write_html", "write_validation",
]  # fmt: skip

_HOMES = {
    "environment_table": "tables",
    "machine_table": "tables",
    "measurements_table": "tables",
    "render": "page",
    "scaled": "scaling",
    "write_checked": "scaling_page",
    "write_comparison": "compared_page",
    "write_gantt": "gantt_page",
    "write_html": "page",
    "write_validation": "validated_page",
}
_MODULES = set(_HOMES.values())
_EXTRA = {"jinja2", "markupsafe", "matplotlib"}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name, name)
    if home not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{home}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        problem = f"reports need {missing}, which is not here: pip install 'commmodel[report]'"
        raise MissingPackageError(problem) from None
    return module if name == home else getattr(module, name)
