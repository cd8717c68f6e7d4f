"""An exchange with peers to which a process sends different numbers of bytes. Main entry: `choose_exchange`.

All messages of an exchange have one size and one burst (`commmodel.overlap.Exchange`): a peer with fewer bytes than a
message gets one message. Peers are served one after the other, or in turns, as in Section 3.2 of Iancu and Strohmaier
2007, whose P equal transfers become a sum over the transfers.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from commmodel.arguments import Count, NotNegative
from commmodel.choices import Implementation, OverlapModel
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.machine import Machine
from commmodel.models import overlap
from commmodel.optimize.choice import Choice, choose
from commmodel.optimize.parameters import MessageCosts
from commmodel.optimize.problem import IMPLEMENTATIONS, Candidates, TransferProblem
from commmodel.optimize.surfaces import SurfaceAxes, surface
from commmodel.signatures import check_fields, checked

PeerPattern = Literal["multiple-end-points-contiguous", "multiple-end-points-interleaved"]
_MOST_MESSAGES = 8192
_MOST_BURST = 64
_TRIED = 50
"""Decompositions, the fastest first, of which one must keep the constraints."""


@with_attributes
class PeerTransfer(Struct, frozen=True, forbid_unknown_fields=True):
    """What goes to one of several peers, and the computation on what comes from it."""

    volume: Count
    """Bytes."""
    computation: NotNegative
    """Seconds."""

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def choose_exchange(
    machine: Machine | MessageCosts,
    transfers: Sequence[PeerTransfer],
    candidates: Candidates | None = None,
    *,
    pattern: PeerPattern = "multiple-end-points-contiguous",
    model: OverlapModel = "bounded",
) -> Choice:
    """Return the message size and the burst with which computation hides most of an exchange with unequal peers.

    Parameters
    ----------
    machine, model
        As of `choose`.
    transfers : sequence of PeerTransfer
        One for each peer, at least one.
    candidates : Candidates, optional
        Implementation, sizes and bursts; of the grid, powers of two.
    pattern : str
        Whether a peer is finished before the next, or all take turns.

    Returns
    -------
    Choice
        Of all transfers together; `messages` are those to all peers. `Exchange.from_choice` runs it.

    Raises
    ------
    InputError, MissingParameterError
        As of `choose`; or there are no transfers, or a rule is given.

    Notes
    -----
    Iancu and Strohmaier 2007, Section 3.2: T = Σ T(V_i, S, b) in place of P T(V, S, b).

    Examples
    --------
    >>> network = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> faces = [PeerTransfer(1 << 20, 500e-6), PeerTransfer(1 << 20, 500e-6), PeerTransfer(4096, 2e-6)]
    >>> chosen = choose_exchange(network, faces)
    >>> chosen.message_size, chosen.burst, chosen.messages, chosen.advice
    (32768, 16, 65, 'split')
    """
    if not transfers:
        raise InputError("transfers: give one for each peer")
    candidates = candidates or Candidates()
    if candidates.rule != "equations":
        raise InputError(f"the rule {candidates.rule} is of all-to-all patterns: leave it out")
    counts = Counter(transfers)
    implementations = IMPLEMENTATIONS if candidates.implementation == "any" else (candidates.implementation,)
    sizes, bursts = _offered(candidates, max(transfer.volume for transfer in counts))
    peers = len(transfers)
    kind = pattern if peers > 1 else "point-to-point"
    ranked: list[tuple[float, Implementation, int, int]] = []
    for implementation in implementations:
        times = np.zeros((sizes.size, bursts.size))
        for transfer, count in counts.items():
            axes = SurfaceAxes([transfer.volume], sizes, bursts, [transfer.computation])
            alone = surface(machine, axes, pattern=kind, implementation=implementation, peers=peers, model=model)
            times += count / peers * alone[0, :, :, 0]
        ranked += [
            (float(times[row, column]), implementation, int(sizes[row]), int(bursts[column]))
            for row, column in np.ndindex(times.shape)
        ]
    problem = ""
    for _, implementation, size, burst in sorted(ranked, key=lambda row: (row[0], -row[2], -row[3]))[:_TRIED]:
        try:
            return _sum(machine, counts, replace(candidates, implementation=implementation), (size, burst), kind, model)
        except InputError as error:
            problem = str(error)
    raise InputError(problem)


def _offered(candidates: Candidates, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the message sizes, the largest volume among them, and the bursts."""
    if candidates.sizes is None:
        least = max(1, -(-largest // _MOST_MESSAGES))
        sizes = sorted({largest, *(1 << power for power in range(largest.bit_length()) if 1 << power >= least)})
    else:
        sizes = sorted({min(int(size), largest) for size in candidates.sizes})
    bursts = (
        [1 << power for power in range(_MOST_BURST.bit_length())] if candidates.bursts is None else candidates.bursts
    )
    return np.array(sizes), np.array(sorted(bursts))


def _sum(
    machine: Machine | MessageCosts,
    counts: Counter[PeerTransfer],
    candidates: Candidates,
    cut: tuple[int, int],
    pattern: Literal["point-to-point", PeerPattern],
    model: OverlapModel,
) -> Choice:
    """Return the choice of one size and burst for all transfers; raise where one breaks a constraint."""
    size, burst = cut
    peers = counts.total()
    parts = []
    for transfer, count in counts.items():
        alone = TransferProblem(transfer.volume, transfer.computation, pattern, peers)
        offered = replace(
            candidates, sizes=[min(size, transfer.volume)], bursts=[min(burst, -(-transfer.volume // size))]
        )
        parts.append((choose(machine, alone, offered, model=model), count / peers, count))

    def total(name: str) -> float:
        return float(sum(share * getattr(choice, name) for choice, share, _ in parts))

    computation = float(sum(count * transfer.computation for transfer, count in counts.items()))
    messages = sum(choice.messages * count for choice, _, count in parts)
    seconds, blocking, gain, error = (
        total(name) for name in ("seconds", "blocking_seconds", "gain_seconds", "error_seconds")
    )
    is_split = messages > peers and gain > error
    largest = max(counts, key=lambda transfer: transfer.volume)
    leading = next(choice for transfer, (choice, *_) in zip(counts, parts, strict=True) if transfer is largest)
    return replace(
        leading,
        message_size=size if is_split else largest.volume,
        burst=burst if is_split else 1,
        messages=messages if is_split else peers,
        seconds=seconds if is_split else blocking,
        blocking_seconds=blocking,
        hidden_fraction=overlap.hidden_share.python(seconds if is_split else blocking, blocking, computation),
        limits=tuple(dict.fromkeys(name for choice, *_ in parts for name in choice.limits)),
        alternatives=(),
        low=total("low") if is_split else blocking,
        high=total("high") if is_split else blocking,
        advice="split" if is_split else "do not split",
        gain_seconds=gain,
        error_seconds=error,
        rejected=None,
    )
