"""The formulas: pure functions of numbers and arrays, each written once.

Every formula is a `Formula`: called with numbers it runs as plain Python, called with arrays it runs compiled by
numba over their broadcast shape. `REGISTRY` names them all.
"""

from commmodel.models import maxrate, postal
from commmodel.models.formula import Formula

__all__ = ["REGISTRY", "Formula", "maxrate", "postal"]

REGISTRY: dict[str, Formula] = {
    "postal": postal.time,
    "max-rate": maxrate.time,
    "max-rate aggregate": maxrate.aggregate_rate,
    "max-rate processes": maxrate.best_process_count,
}
"""Name of a formula -> formula."""
