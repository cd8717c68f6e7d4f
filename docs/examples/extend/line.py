"""A topology: hosts in a line, each joined with the next by a cable."""

import numpy as np

from commmodel.simulate.platform import Topology, register


@register
class Line(Topology, frozen=True, tag="line"):
    """Hosts in a line; messages go through all hosts between."""

    hosts: int

    def zone(self, assembly, name):
        """Add the cables, and return the links of each route, host by host."""
        cable, width = self.add_cables(assembly, self.hosts - 1, "cable {}".format), self.directions
        routes = []
        for source in range(self.hosts):
            for target in range(self.hosts):
                forward = [cable + width * i for i in range(source, target)]
                back = [cable + width * i + width - 1 for i in reversed(range(target, source))]
                routes.append(forward + back)
        offsets = np.cumsum([0, *map(len, routes)])
        numbers = {"hosts": self.hosts, "points": self.hosts}
        return {"kind": "table", **numbers, "offsets": offsets, "links": np.concatenate(routes).astype(int)}
