"""Types of the fields of configurations, which say how programs show them. Main entries: `Bytes` and `Seconds`."""

from typing import Annotated, Literal

from msgspec import Meta

Count = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Bytes = Annotated[int, Meta(ge=0, le=2**63 - 1, extra={"unit": "B"})]
SomeBytes = Annotated[int, Meta(ge=1, le=2**63 - 1, extra={"unit": "B"})]
Seconds = Annotated[float, Meta(ge=0, extra={"unit": "s"})]
Share = Annotated[float, Meta(gt=0, lt=1)]
MessagePath = Literal["any", "same-socket", "same-node", "between-nodes"]
"""Which way messages take: within one socket, within one host (between its sockets, or where these are not known), or
between two hosts; ``any`` where a file of another suite does not tell."""
