"""Nodes and links that are slow, in sentences. Main entry: `matrix_sentences`."""

from commmodel.errors import InputError
from commmodel.results import Measurements
from commmodel.results.configurations import NodeMatrix
from commmodel.scaling import slow_nodes


def matrix_sentences(measurements: Measurements) -> tuple[str, ...]:
    """Return which nodes and links are slow, or why that cannot be told; nothing without the kernel matrix."""
    if not any(isinstance(record.configuration, NodeMatrix) for record in measurements.records):
        return ()
    try:
        slow = slow_nodes(measurements)
    except InputError as error:
        return (f"Which node is slow cannot be told: {error}.",)
    return tuple(f"{culprit.words[0].upper()}{culprit.words[1:]}." for culprit in slow) or (
        "No node or link is slower than the others.",
    )
