"""The formulas: pure functions of numbers and arrays, each written once.

Every formula is a `Formula`: called with numbers it runs as plain Python, called with arrays it runs compiled by
numba over their broadcast shape. `REGISTRY` names them all; `collectives.CLOSED_FORMS` says of those of collective
operations where they are exact.
"""

from commmodel.lazy import attributes
from commmodel.models import calls, collectives, device, halo, loggp, maxrate, nodeaware, overlap, pieces, postal
from commmodel.models.formula import Formula

__all__ = [
    "REGISTRY", "Formula", "calls", "collectives", "device", "halo", "loggp", "maxrate", "nodeaware",
    "overlap", "pieces", "postal",
]  # fmt: skip
__dir__ = attributes(__name__)[1]

REGISTRY: dict[str, Formula[...]] = {
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
    "device through the host": device.staged_time,
    "call": calls.time,
    "calls of threads": calls.rate,
    "pieces": pieces.time,
    "logp": loggp.logp_time,
    "loggp": loggp.time,
    "loggp train": loggp.train_time,
    "plogp": loggp.plogp_time,
    "loggp latency from plogp": loggp.latency_from_plogp,
    "loggp overhead from plogp": loggp.overhead_from_plogp,
    "loggp byte time from plogp": loggp.byte_time_from_plogp,
    "overlap blocking": overlap.blocking_time,
    "overlap tight": overlap.tight_time,
    "overlap tight computation": overlap.tight_computation_time,
    "overlap pipelined": overlap.pipelined_time,
    "overlap pipelined least": overlap.pipelined_least_time,
    "overlap pipelined computation": overlap.pipelined_computation_time,
    "overlap processor least": overlap.processor_least_time,
    "overlap turns least": overlap.turns_least_time,
    "overlap partly hidden": overlap.partly_hidden_time,
    "overlap multiple end points": overlap.multiple_end_points_time,
    "overlap congested": overlap.congested_time,
    "overlap all-to-all contiguous": overlap.all_to_all_contiguous_time,
    "overlap all-to-all interleaved": overlap.all_to_all_interleaved_time,
    "overlap all-to-all best burst": overlap.all_to_all_best_burst,
    "overlap initiation slack": overlap.initiation_slack,
    "overlap burst slack": overlap.burst_slack,
    "overlap queue slack": overlap.queue_slack,
    "overlap outstanding slack": overlap.outstanding_slack,
    "overlap performance loss": overlap.performance_loss,
    "overlap hidden share": overlap.hidden_share,
    "barrier dissemination printed": collectives.barrier_dissemination_printed,
    **{
        f"{operation} {algorithm}": form.formula
        for operation, forms in collectives.CLOSED_FORMS.items()
        for algorithm, form in forms.items()
    },
}
"""Name of a formula -> formula; that of a closed form is operation and algorithm, like "bcast binomial"."""
