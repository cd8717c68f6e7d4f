"""The report: tables for the terminal, and HTML pages with plots.

Tables need nothing beyond commmodel's own dependencies; pages and plots need matplotlib and jinja2, the optional extra
``commmodel[report]``. Every name is loaded at its first use, so importing this package is cheap. A folder for each
product makes tables and figures of `kit`, and knows no other product; `page` and `tables` put them together. Main
entries: `machine_table`, `measurements_table`, `environment_table`, `render`, `write_advice`, `write_html`,
`write_check`, `write_comparison`, `write_differences`, `write_gantt`, `write_guard_history`, `write_history`,
`write_index`, `write_jobs`, `write_noise`, `write_placement`, `write_recording`, `write_sensitivity`, `write_sizes`,
`write_study`, `write_validation` and `write_what_if`.
"""

from typing import TYPE_CHECKING

from commmodel.errors import MissingPackageError
from commmodel.lazy import attributes

if TYPE_CHECKING:
    from commmodel.report import notebook as notebook
    from commmodel.report.index_page import write_index
    from commmodel.report.listing import folder_index
    from commmodel.report.overlap.validation_page import write_validation
    from commmodel.report.page import render, write_html
    from commmodel.report.prediction.comparison_page import write_comparison
    from commmodel.report.recording.page import write_recording
    from commmodel.report.scaling.difference_page import write_differences, write_history
    from commmodel.report.scaling.guard.history_page import write_guard_history
    from commmodel.report.scaling.page import write_check
    from commmodel.report.simulation.advice_page import write_advice
    from commmodel.report.simulation.gantt_page import write_gantt
    from commmodel.report.simulation.jobs_page import write_jobs
    from commmodel.report.simulation.noise_page import write_noise
    from commmodel.report.simulation.placements_page import write_placement
    from commmodel.report.simulation.sensitivity_page import write_sensitivity
    from commmodel.report.simulation.sizes_page import write_sizes
    from commmodel.report.simulation.study import write_study
    from commmodel.report.simulation.what_if_page import write_what_if
    from commmodel.report.tables import environment_table, machine_table, measurements_table
else:
    _attribute, __dir__ = attributes(__name__)

    def __getattr__(name: str) -> object:
        try:
            return _attribute(name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in {"jinja2", "markupsafe", "matplotlib"}:
                raise
            problem = f"reports need {missing}, which is not here: pip install 'commmodel[report]'"
            raise MissingPackageError(problem) from None


__all__ = [
    "environment_table", "folder_index", "machine_table", "measurements_table", "render", "write_advice", "write_check",
    "write_comparison", "write_differences", "write_gantt", "write_guard_history", "write_history", "write_html",
    "write_index", "write_jobs", "write_noise", "write_placement", "write_recording", "write_sensitivity",
    "write_sizes", "write_study", "write_validation", "write_what_if",
]  # fmt: skip
