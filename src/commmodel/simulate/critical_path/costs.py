"""What each message of a recorded run costs, for the walk along its critical path. Main entry: `message_costs`."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.program.walk_back import COSTS
from commmodel.simulate.delays import DelayModel, DelayParameters
from commmodel.simulate.network import Network, Overhead

Floats = NDArray[np.float64]


def message_costs(
    model: Network | DelayModel | None, transfers: NDArray[np.void], hosts: NDArray[np.integer[Any]] | None
) -> NDArray[np.void]:
    """Return what processors, ports and links take of each message.

    Parameters
    ----------
    model : Network, DelayModel or None
        None where it is not known: then all costs are 0.
    transfers : structured array of `commmodel.simulate.result.MESSAGE`
    hosts : int array, shape (processes,), optional

    Returns
    -------
    structured array of `COSTS`, shape (messages,)
        Seconds.
    """
    costs = np.zeros(transfers.size, dtype=COSTS)
    sizes, place = np.unique(transfers["size"], return_inverse=True)
    place = place.ravel()
    if isinstance(model, Network):
        for name in ("send", "isend", "receive"):
            costs[name] = _overheads(getattr(model, name), sizes)[place]
        costs["receive"][transfers["size"] > model.detached_limit] = 0.0  # the transfer itself is the receive
        costs["latency"] = model.answer_latency
        costs["waits"] = transfers["size"] > (model.eager_limit if model.answers_in_order else model.detached_limit)
    elif isinstance(model, DelayModel):
        within = np.zeros(transfers.size, dtype=bool)
        if hosts is not None and model.within:
            within = hosts[transfers["sender"]] == hosts[transfers["receiver"]]
        between = model.by_size or ((math.inf, model.parameters),)
        for lines, chosen in ((between, ~within), (model.within or between, within)):
            bounds = [upto for upto, _ in lines[:-1]]
            line = np.searchsorted(bounds, transfers["size"])
            for number, (_, parameters) in enumerate(lines):
                rows = chosen & (line == number)
                costs[rows] = _delays(model, parameters, transfers["size"][rows])
        costs["waits"] = transfers["size"] > (model.parameters.S if model.name == "loggps" else math.inf)
    return costs


def _overheads(pieces: tuple[Overhead, ...], sizes: Floats) -> Floats:
    """Return seconds of each size; the last piece goes on."""
    if not pieces:
        return np.zeros(sizes.size)
    place = np.searchsorted([piece.limit for piece in pieces[:-1]], sizes)
    constant, per_byte = (np.array([getattr(piece, name) for piece in pieces]) for name in ("constant", "per_byte"))
    return np.asarray(constant[place] + per_byte[place] * sizes)


def _delays(model: DelayModel, p: DelayParameters, sizes: Floats) -> NDArray[np.void]:
    """Return the costs of messages under LogP, LogGP or LogGPS; the rules stand in message_rule.hpp."""
    costs = np.zeros(sizes.size, dtype=COSTS)
    rest = np.maximum(sizes - 1.0, 0.0)
    if model.name == "loggps":
        costs["send"] = costs["isend"] = p.o + sizes * p.O_s
        costs["receive"] = p.o + sizes * p.O_r
        small = np.minimum(sizes, p.small)
        costs["gap"] = small * p.G_small + (sizes - small) * p.G
        costs["transit"] = p.L + costs["gap"]
    else:
        per_byte = p.G if model.name == "loggp" else 0.0
        costs["send"] = costs["isend"] = costs["receive"] = p.o
        costs["gap"] = p.g + rest * per_byte
        costs["transit"] = p.L + rest * per_byte
    costs["question"], costs["latency"] = p.o, p.L
    return costs
