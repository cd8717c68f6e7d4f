"""What each recorded call does to messages, for whom it waits, and where its time belongs.

Main entry: `kinds`.
"""

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import Reason, Role, Rule, Share, Volume
from commmodel.record.calls import CALLS, Call

REASONS = tuple(reason.value for reason in Reason)
"""Why a call waits, in words."""
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
