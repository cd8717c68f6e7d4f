"""The benchmark: ``mpiexec -n P python -m commmodel.bench``, measurements into ``results.jsonl``.

`command` parses and reports, `environment` and `clock` say on what is measured, `placement` who talks to whom,
`kernels` what is measured (a registry), `driver` in which order and how long. The timed loops are in `_core`.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes

if TYPE_CHECKING:
    from commmodel.bench import kernels, placement, sampling, synchronisation
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = ["kernels", "placement", "sampling", "synchronisation"]
