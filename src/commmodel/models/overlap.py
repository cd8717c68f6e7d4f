"""Overlap of communication with computation: V bytes in messages of S, sent in bursts of b. Source: Iancu 2007.

N = V / S messages in n_b = N / b bursts; t_S = t_V / N is the computation of one message, r = t_V / (G_V V) that of all
over the transfer of all. o is the overhead of a message at both its ends, o_s + o_r, so that a message takes
o + L + S G. Counts are not rounded here: `commmodel.optimize.choose` gives whole ones. *Tight* computes on a burst
before it asks for the next one (the paper's Figure 6-C), *pipelined* asks first (Figure 6-E). Times are in seconds.
Arguments:

volume
    V, bytes to move, > 0.
message_size
    S, bytes of a message, > 0.
burst
    b, messages asked for one after the other, ≥ 1.
computation
    t_V, seconds of computation on all of it.
o
    Overhead of a message at both ends, seconds.
L
    Latency, seconds.
G
    G_S, seconds per byte in messages of S.
G_V
    Seconds per byte in one message of V bytes, > 0.
under_way
    u, bursts under way at once: 2 pipelined, 1 tight.
seconds
    T(V, S, b), the time of one transfer that is alone: of `tight_time`, `pipelined_time` and so on.
progress
    φ(S, b), share of a transfer that progresses outside MPI, 0 to 1.
peers
    P, processes with which, or to which, data move, ≥ 1.
queue_depth
    HD, messages under way with which the queue is full.
outstanding_volume
    Bytes that may be under way at once.
chosen, best, blocking
    Seconds as chosen, at best, and without overlap (> 0, and at least t_V).
"""

import math

from commmodel.models.formula import Real, formula

__all__ = [
    "all_to_all_best_burst", "all_to_all_contiguous_time", "all_to_all_interleaved_time", "blocking_time",
    "burst_slack", "congested_time", "hidden_share", "initiation_slack", "multiple_end_points_time",
    "outstanding_slack", "partly_hidden_time", "performance_loss", "pipelined_computation_time", "pipelined_least_time",
    "pipelined_time", "processor_least_time", "queue_slack", "tight_computation_time", "tight_time", "turns_least_time",
]  # fmt: skip


@formula
def blocking_time(volume: Real, message_size: Real, computation: Real, o: Real, L: Real, G: Real) -> Real:
    """Return the time without overlap, T = (o + L + S G) N + t_V.

    Iancu 2007, Section 2.1 and Figure 6-A; its base is one message, S = V. It is Eq 1 and Eq 6 at b = 1.

    >>> blocking_time(64, 4, 16.0, 1.0, 3.0, 0.5)
    112.0
    """
    return (o + L + message_size * G) * (volume / message_size) + computation


@formula
def tight_time(volume: Real, message_size: Real, burst: Real, computation: Real, o: Real, L: Real, G: Real) -> Real:
    """Return the time of the tight schedule where communication is longer, T = (o + L) n_b + N S G + n_b t_S.

    Iancu 2007, Eq 1; it holds where `initiation_slack` and `burst_slack` are above 0.

    >>> tight_time(64, 4, 4, 16.0, 1.0, 3.0, 0.5)
    52.0
    """
    messages = volume / message_size
    bursts = messages / burst
    return (o + L) * bursts + volume * G + bursts * (computation / messages)


@formula
def tight_computation_time(
    volume: Real, message_size: Real, burst: Real, computation: Real, o: Real, L: Real, G: Real
) -> Real:
    """Return the time of the tight schedule where computation is longer, T = (o + L + S G + b t_S) n_b.

    Iancu 2007, Eq 6.

    >>> tight_computation_time(64, 4, 4, 16.0, 1.0, 3.0, 0.5)
    40.0
    """
    return (o + L + message_size * G) * (volume / message_size / burst) + computation


@formula
def pipelined_least_time(volume: Real, message_size: Real, computation: Real, o: Real, L: Real, G: Real) -> Real:
    """Return the lower bound of the pipelined schedule where communication is longer, T = o + L + N S G + t_S.

    Iancu 2007, Eq 4: everything is hidden but the first message's begin and the last one's computation.

    >>> pipelined_least_time(64, 4, 16.0, 1.0, 3.0, 0.5)
    37.0
    """
    return o + L + volume * G + computation * message_size / volume


@formula
def pipelined_time(
    volume: Real, message_size: Real, burst: Real, computation: Real, o: Real, L: Real, G: Real, G_V: Real
) -> Real:
    """Return the time of the pipelined schedule where communication is longer, T = (o + L) max(1, n_b r) + N S G + t_S.

    Iancu 2007, Eq 5, which is printed without the maximum: for n_b r < 1 it then falls below the lower bound, Eq 4.

    >>> pipelined_time(64, 4, 4, 16.0, 1.0, 3.0, 0.5, 0.5)
    41.0
    >>> pipelined_time(64, 4, 16, 16.0, 1.0, 3.0, 0.5, 0.5) == pipelined_least_time(64, 4, 16.0, 1.0, 3.0, 0.5)
    True
    """
    exposed = volume / message_size / burst * (computation / (G_V * volume))
    return (o + L) * max(1.0, exposed) + volume * G + computation * message_size / volume


@formula
def pipelined_computation_time(
    volume: Real, message_size: Real, burst: Real, computation: Real, o: Real, L: Real, G: Real
) -> Real:
    """Return the time of the pipelined schedule where computation is longer.

    T = (o + L + S G) + b t_S n_b + o b max(0, n_b − 2)

    Iancu 2007, Eq 7, which is printed with n_b − 2: in a single burst less than nothing, and T below the computation.

    >>> pipelined_computation_time(64, 4, 4, 16.0, 1.0, 3.0, 0.5)
    30.0
    >>> pipelined_computation_time(64, 4, 16, 16.0, 1.0, 3.0, 0.5)
    22.0
    """
    bursts = volume / message_size / burst
    return (o + L + message_size * G) + computation + o * burst * max(0.0, bursts - 2.0)


@formula
def processor_least_time(volume: Real, message_size: Real, computation: Real, o: Real, L: Real, G: Real) -> Real:
    """Return the lower bound of every schedule, T = max(N o + t_V, N o + L + S G + t_S).

    Not in the paper. One processor initiates all N messages and computes on all of them; and after it has initiated
    the last one, that message has to arrive and to be computed on. Eq 5 and 7 may fall below either, as they take the
    overhead of messages for hidden where a transfer is under way meanwhile.

    >>> processor_least_time(64, 4, 16.0, 1.0, 3.0, 0.5)
    32.0
    >>> processor_least_time(64, 4, 0.0, 1.0, 3.0, 0.5)
    21.0
    """
    return volume / message_size * o + max(computation, L + message_size * G + computation * message_size / volume)


@formula
def turns_least_time(
    volume: Real, message_size: Real, burst: Real, computation: Real, o: Real, L: Real, G: Real, under_way: Real
) -> Real:
    """Return the lower bound of bursts in sequence, T = ⌈n_b / u⌉ (max(o + b S G, b o + S G) + L + t_S).

    Not in the paper. A burst is asked for after the one u bursts before has been computed on, and its last message
    arrives when the port has carried all b, or the processor has initiated them, and L has passed. Eq 5 hides o + L of
    all bursts but the first where computation is short, however few messages are under way meanwhile.

    >>> turns_least_time(64, 4, 4, 16.0, 1.0, 3.0, 0.5, 2.0)
    26.0
    >>> turns_least_time(64, 4, 4, 16.0, 1.0, 3.0, 0.5, 1.0) == tight_time(64, 4, 4, 16.0, 1.0, 3.0, 0.5)
    True
    """
    turns = math.ceil(volume / message_size / burst / under_way - 1e-9)  # 4.0000000001 bursts are four
    carried = max(o + burst * message_size * G, burst * o + message_size * G)
    return turns * (carried + L + computation * message_size / volume)


@formula
def partly_hidden_time(
    seconds: Real,
    volume: Real,
    message_size: Real,
    computation: Real,
    o: Real,
    L: Real,
    G: Real,
    progress: Real,
) -> Real:
    """Return the transfer time if only a share φ of a transfer progresses outside MPI.

    T = φ T(V, S, b) + (1 − φ) ((o + L + S G) N + t_V)

    Not in the paper, whose networks move data by themselves. What multiplies 1 − φ is the blocking time in messages of
    S: a transfer that begins when somebody waits for it is over before the computation goes on, message by message.

    >>> partly_hidden_time(41.0, 64, 4, 16.0, 1.0, 3.0, 0.5, 0.75)
    58.75
    >>> partly_hidden_time(41.0, 64, 4, 16.0, 1.0, 3.0, 0.5, 1.0)
    41.0
    """
    stalled = (o + L + message_size * G) * (volume / message_size) + computation
    return progress * seconds + (1.0 - progress) * stalled


@formula
def multiple_end_points_time(seconds: Real, peers: Real) -> Real:
    """Return the time with several peers, one after the other, T = P T(V, S, b).

    The G of T(V, S, b) is that of the order in which the peers are visited: of a nearest-neighbour pattern where each
    is finished before the next (contiguous), of a pattern across the network where they take turns (interleaved).

    Iancu 2007, Section 3.2.

    >>> multiple_end_points_time(41.0, 3)
    123.0
    """
    return peers * seconds


@formula
def congested_time(seconds: Real, message_size: Real, burst: Real, peers: Real, G: Real) -> Real:
    """Return the time of several processes that access the same one, T(V, S, b) + (P − 1) b S G.

    Iancu 2007, Eq 9.

    >>> congested_time(41.0, 4, 4, 3, 0.5)
    57.0
    """
    return seconds + (peers - 1.0) * burst * G * message_size


@formula
def all_to_all_contiguous_time(seconds: Real, message_size: Real, burst: Real, peers: Real, G: Real) -> Real:
    """Return the time of an all-to-all, peer by peer, T(V, S, b) + 2 (P − 1) b S G.

    Iancu 2007, Eq 10, with P all processes. The text says that its minimum is at b = 1 for every S; it is at
    `all_to_all_best_burst`.

    >>> all_to_all_contiguous_time(41.0, 4, 4, 5, 0.5)
    105.0
    """
    return seconds + (peers - 1.0) * 2.0 * burst * G * message_size


@formula
def all_to_all_interleaved_time(seconds: Real, volume: Real, G: Real) -> Real:
    """Return the time of an all-to-all, round robin over peers, T(V, S, b) + n_b b S G = T(V, S, b) + V G.

    Iancu 2007, Eq 11. The text says that its minimum is at b = 1; but n_b b = N, so the last term is the same for all
    bursts, and T falls with b.

    >>> all_to_all_interleaved_time(41.0, 64, 0.5)
    73.0
    """
    return seconds + volume * G


@formula
def all_to_all_best_burst(
    volume: Real, message_size: Real, computation: Real, peers: Real, o: Real, L: Real, G: Real, G_V: Real
) -> Real:
    """Return the burst that minimises `all_to_all_contiguous_time`, b* = √((o + L) r V / (2 (P − 1) G)) / S.

    From Iancu 2007, Eq 10, for n_b r ≥ 1, P ≥ 2 and G > 0. Not rounded; below 1 it means 1. Measured, the paper's best
    is 2 where computation is as long as communication, and long bursts where communication is longer.

    >>> all_to_all_best_burst(64, 4, 16.0, 5, 1.0, 3.0, 0.5, 0.5)
    1.4142135623730951
    """
    ratio = computation / (G_V * volume)
    return math.sqrt((o + L) * ratio * volume / (2.0 * (peers - 1.0) * G)) / message_size


@formula
def initiation_slack(volume: Real, message_size: Real, computation: Real, o: Real, G: Real) -> Real:
    """Return the transfer time that remains to hide the overhead of all messages, V G − t_V − N o.

    Iancu 2007, Eq 2, asks for more than 0; its G is that of one message of V bytes.

    >>> initiation_slack(64, 4, 16.0, 0.5, 0.5)
    8.0
    """
    return volume * G - computation - volume / message_size * o


@formula
def burst_slack(message_size: Real, burst: Real, o: Real, L: Real, G: Real) -> Real:
    """Return the time of a burst's first message that remains to hide the overhead of the others, L + S G − (b − 1) o.

    Iancu 2007, Eq 3, asks for more than 0.

    >>> burst_slack(4, 4, 1.0, 3.0, 0.5)
    2.0
    """
    return L + message_size * G - (burst - 1.0) * o


@formula
def queue_slack(burst: Real, queue_depth: Real) -> Real:
    """Return the free places in the network's queue, HD − b.

    Iancu 2007, Eq 8, asks for more than 0. Its HD: 32 on Quadrics, 64 on Infiniband.

    >>> queue_slack(16, 64)
    48
    """
    return queue_depth - burst


@formula
def outstanding_slack(message_size: Real, burst: Real, outstanding_volume: Real) -> Real:
    """Return the bytes that may still be outstanding, limit − b S.

    Iancu 2007, Section 3.1, asks for at least 0. Its limit is 4 MB on Quadrics, whose NICs translate
    addresses by a small table.

    >>> outstanding_slack(65536, 16, 4194304)
    3145728
    """
    return outstanding_volume - burst * message_size


@formula
def performance_loss(chosen: Real, best: Real, blocking: Real) -> Real:
    """Return the performance loss of a choice, (T_chosen − T_best) / T_blocking.

    Iancu 2007, Section 4.

    >>> performance_loss(44.0, 40.0, 80.0)
    0.05
    """
    return (chosen - best) / blocking


@formula
def hidden_share(chosen: Real, blocking: Real, computation: Real) -> Real:
    """Return the hidden share of the communication, (T_blocking − T_chosen) / (T_blocking − t_V).

    Iancu 2007, which calls it hidden communication overhead and claims more than 90 %. It is 1 where nothing but the
    computation is left, also where there was nothing to hide, and below 0 where the choice is slower than blocking.

    >>> hidden_share(41.0, 52.0, 16.0)
    0.3055555555555556
    """
    if blocking == computation:
        return 1.0
    return (blocking - chosen) / (blocking - computation)
