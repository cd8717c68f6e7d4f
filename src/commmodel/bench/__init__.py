"""The benchmark: ``mpiexec -n P python -m commmodel.bench``, measurements into ``results.jsonl``.

`command` parses and reports, `environment` and `clock` say on what is measured, `placement` who talks to whom,
`kernels` what is measured (a registry), `driver` in which order and how long. The timed loops are in `_core`.
"""

from commmodel.lazy import attributes

__getattr__ = attributes(__name__, ["kernels", "placement", "sampling", "synchronisation"])
