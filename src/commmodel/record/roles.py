"""What each recorded call does to messages, for whom it waits, and where its time belongs.

Main entry: `kinds`.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from commmodel.record.calls import CALLS, Call

__all__ = ["REASONS", "Role", "Rule", "Share", "Volume", "is_communication", "kinds"]


class Role(IntEnum):
    """What a call does to messages; the order is that of ``_core/recordings/analysis.hpp``."""

    PLAIN = 0
    SENDS = 1
    SENDS_LATER = 2
    SEND_PREPARED = 3
    RECEIVES = 4
    RECEIVES_LATER = 5
    RECEIVE_PREPARED = 6
    EXCHANGES = 7
    EXCHANGES_LATER = 8
    PROBES = 9
    TAKES = 10
    FETCHES = 11
    FETCHES_LATER = 12
    WAITS = 13
    TESTS = 14
    STARTS = 15
    FREES = 16
    JOINS = 17
    JOINS_LATER = 18
    JOIN_PREPARED = 19


class Rule(IntEnum):
    """For whom a rank waits in a collective."""

    NOBODY = 0
    EVERYBODY = 1
    FOR_ROOT = 2
    AS_ROOT = 3
    PREFIX = 4


REASONS = ("late sender", "late receiver", "wait at N x N", "late broadcast", "early reduce", "wait in a scan")
"""Why a call waits; the order is that of ``_core/recordings/waits.hpp``."""


class Share(IntEnum):
    """Where the time of a call belongs."""

    COMMUNICATION = 0
    FILES = 1
    OTHER = 2


class Volume(IntEnum):
    """Which bytes a collective moves."""

    AS_GIVEN = 0
    TO_EACH = 1
    AS_RECEIVED = 2


_ROLES = {
    **dict.fromkeys(("Send", "Bsend", "Ssend", "Rsend"), Role.SENDS),
    **dict.fromkeys(("Isend", "Ibsend", "Issend", "Irsend"), Role.SENDS_LATER),
    **dict.fromkeys(("Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Psend_init"), Role.SEND_PREPARED),
    "Recv": Role.RECEIVES,
    "Irecv": Role.RECEIVES_LATER,
    **dict.fromkeys(("Recv_init", "Precv_init"), Role.RECEIVE_PREPARED),
    **dict.fromkeys(("Sendrecv", "Sendrecv_replace"), Role.EXCHANGES),
    **dict.fromkeys(("Isendrecv", "Isendrecv_replace"), Role.EXCHANGES_LATER),
    "Probe": Role.PROBES,
    **dict.fromkeys(("Mprobe", "Improbe"), Role.TAKES),
    "Mrecv": Role.FETCHES,
    "Imrecv": Role.FETCHES_LATER,
    **dict.fromkeys(("Wait", "Waitall", "Waitany", "Waitsome"), Role.WAITS),
    **dict.fromkeys(("Test", "Testall", "Testany", "Testsome"), Role.TESTS),
    **dict.fromkeys(("Start", "Startall"), Role.STARTS),
    "Request_free": Role.FREES,
}
_RULES = {
    **dict.fromkeys(("bcast", "scatter", "scatterv"), Rule.FOR_ROOT),
    **dict.fromkeys(("reduce", "gather", "gatherv"), Rule.AS_ROOT),
    **dict.fromkeys(("scan", "exscan"), Rule.PREFIX),
}
_NOT_OF_ALL = {"Comm_create_group", "Comm_create_from_group", "Intercomm_create", "Intercomm_create_from_groups",
               "Comm_set_name", "Comm_free", "Comm_disconnect", "Comm_join"}  # fmt: skip
"""Calls on a communicator that not all of its ranks enter together."""
_SHARES = {"file": Share.FILES, "region": Share.OTHER, "environment": Share.OTHER}


def _kind(call: Call) -> tuple[Role, Rule, Share, Volume]:
    name = call.name.removeprefix("MPI_")
    share = _SHARES.get(call.group, Share.COMMUNICATION)
    volume = Volume.AS_GIVEN
    if not {"bytes", "sent_counts"} & {*call.fields} and "received_counts" in call.fields:
        volume = Volume.AS_RECEIVED
    of_all = call.group == "collective" or (call.group == "communicator" and name not in _NOT_OF_ALL)
    if call.group != "neighbourhood" and not (of_all and "communicator" in call.fields):
        return _ROLES.get(name, Role.PLAIN), Rule.NOBODY, share, volume
    stem = name.lower().removesuffix("_init")
    later = "request" in call.fields
    role = Role.JOIN_PREPARED if name.endswith("_init") else Role.JOINS_LATER if later else Role.JOINS
    if later and role is Role.JOINS_LATER:
        stem = stem.removeprefix("i")
    if stem in {"alltoall", "scatter"}:
        volume = Volume.TO_EACH
    rule = Rule.NOBODY if call.group == "neighbourhood" else _RULES.get(stem, Rule.EVERYBODY)
    return role, rule, share, volume


def is_communication(group: str) -> bool:
    """Return whether calls of a group communicate: not those on files, regions, and the start and end of MPI."""
    return group not in _SHARES


def kinds() -> NDArray[np.int32]:
    """Role, rule, share and volume of each code, a row each."""
    table = np.zeros((max(call.code for call in CALLS) + 1, 4), dtype=np.int32)
    for call in CALLS:
        table[call.code] = _kind(call)
    return table
