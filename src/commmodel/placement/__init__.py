"""Where the ranks of a program should be: near those that they talk to.

::

    traffic     bytes between ranks of a program, collectives included
    partition   parts of exact sizes of a graph with little between them, by METIS
    nodes       seats of ranks on nodes, and how far apart these are
    candidates  mappings of ranks to seats
    placing     the best mapping, by simulation of each
    files       what launchers read

Main entry: `map_ranks`. It needs pymetis: ``pip install 'commmodel[placement]'``.
"""

from commmodel.placement.placing import CandidateMapping, RankMapping, map_ranks
from commmodel.placement.traffic import Traffic, traffic_of

__all__ = ["CandidateMapping", "RankMapping", "Traffic", "map_ranks", "traffic_of"]
