"""The formulas: pure functions of numbers and arrays, each written once.

Every formula is a `Formula`: called with numbers it runs as plain Python, called with arrays it runs compiled by
numba over their broadcast shape. `REGISTRY` names those of messages; those of collective
operations stand in `collectives.CLOSED_FORMS`.
"""

from commmodel.models import collectives, halo, loggp, maxrate, nodeaware, postal, rooted
from commmodel.models.formula import Formula

__all__ = ["REGISTRY", "Formula", "collectives", "halo", "loggp", "maxrate", "nodeaware", "postal", "rooted"]

REGISTRY: dict[str, Formula] = {
    "postal": postal.time,
    "max-rate": maxrate.time,
    "max-rate aggregate": maxrate.aggregate_rate,
    "max-rate processes": maxrate.best_process_count,
    "extended max-rate": maxrate.extended_time,
    "extended max-rate processes": maxrate.best_process_count_extended,
    "latency-aware max-rate": maxrate.latency_aware_time,
    "postal over max-rate": maxrate.postal_over_max_rate,
    "halo": halo.time,
    "halo postal": halo.postal_time,
    "node-aware path": nodeaware.path_time,
    "node-aware queue search": nodeaware.queue_search_time,
    "node-aware link contention": nodeaware.link_contention_time,
    "node-aware": nodeaware.time,
}
"""Name of a formula -> formula."""
