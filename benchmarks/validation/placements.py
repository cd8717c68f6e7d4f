"""Cuts of placed ranks beside Scotch's: ``python -m benchmarks.validation.placements --scotch FOLDER``.

Halos, meshes of random points and random graphs are divided among nodes by `commmodel.placement` and by Scotch's
``gmap`` on a complete architecture; FOLDER has its ``bin`` and its ``lib``, such as an unpacked package of Debian. Ours
has exactly as many ranks on each node as it has cores; Scotch's may have more, and the table says how many at most. The
exit code is 1 if a cut is more than 1.05 times Scotch's, or takes more than ten seconds of the processor.
"""

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree

from commmodel.placement.partition import Graph, partition

MOST_RATIO, MOST_SECONDS = 1.05, 10.0
_NAMES = ("scotch_gmap", "gmap")


def grid(shape: Sequence[int], weights: Sequence[float] | None = None, *, periodic: bool = True) -> Graph:
    """Return the halo exchange of a grid, with the bytes of a face in each dimension."""
    count = int(np.prod(shape))
    numbers = np.arange(count).reshape(shape)
    pairs = []
    for axis, load in enumerate(weights or [1.0] * len(shape)):
        other = np.roll(numbers, -1, axis)
        rows = np.s_[:] if periodic else np.s_[:-1]
        faces = [np.moveaxis(array, axis, 0)[rows].ravel() for array in (numbers, other)]
        pairs.append((*faces, np.full(faces[0].size, load)))
    source, destination, sizes = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return Graph.of_pairs(count, source, destination, sizes)


def points(count: int, neighbours: int, generator: np.random.Generator) -> Graph:
    """Return random points of a square and the bytes to their nearest neighbours."""
    near = cKDTree(places := generator.random((count, 2))).query(places, neighbours + 1)[1][:, 1:]
    sizes = generator.integers(1, 100, near.size)
    return Graph.of_pairs(count, np.repeat(np.arange(count), neighbours), near.ravel(), sizes)


def random_pairs(count: int, peers: int, generator: np.random.Generator) -> Graph:
    """Return ranks with random peers."""
    pairs = generator.integers(0, count, count * peers)
    return Graph.of_pairs(count, np.repeat(np.arange(count), peers), pairs, generator.integers(1, 100, pairs.size))


def shuffled(graph: Graph, generator: np.random.Generator) -> Graph:
    """Return the graph with its vertices in another order."""
    order = generator.permutation(graph.vertices)
    return Graph.of_pairs(graph.vertices, order[graph.sources], order[graph.neighbours], graph.weights / 2)


def cases(most: int, seed: int) -> list[tuple[str, Graph, list[int]]]:
    """Return names, graphs of up to `most` ranks in a random order, and the ranks of each node."""
    generator = np.random.default_rng(seed)
    graphs = [
        ("halo 64 × 64", grid((64, 64)), 16), ("halo 64 × 64", grid((64, 64)), 64),
        ("halo 16 × 16", grid((16, 16)), 4), ("halo 40 × 25", grid((40, 25)), 24),
        ("halo 16 × 16 × 16", grid((16, 16, 16)), 16), ("halo 16 × 16 × 16", grid((16, 16, 16)), 64),
        ("halo 8 × 16 × 32, uneven", grid((8, 16, 32), (1, 2, 4), periodic=False), 32),
        ("points, 6 neighbours", points(4096, 6, generator), 16),
        ("points, 8 neighbours", points(1024, 8, generator), 4),
        ("random, 6 peers", random_pairs(1024, 6, generator), 16),
    ]  # fmt: skip
    rows = []
    for name, graph, cores in graphs:
        full, rest = divmod(graph.vertices, cores)
        if graph.vertices <= most:
            rows.append((name, shuffled(graph, generator), [cores] * full + [rest] * (rest > 0)))
    return rows


def scotch(graph: Graph, sizes: Sequence[int], folder: Path) -> np.ndarray:
    """Return the parts that Scotch makes."""
    program = next((path for name in _NAMES if (path := folder / "bin" / name).exists()), None)
    if program is None:
        raise SystemExit(f"{folder}/bin has neither {' nor '.join(_NAMES)}: give the folder that Scotch is in")
    libraries = ":".join({str(path.parent) for path in folder.rglob("libscotch*.so*")})
    loads = np.maximum(1, np.rint(graph.weights)).astype(int).tolist()
    starts, neighbours = graph.starts.tolist(), graph.neighbours.tolist()
    with tempfile.TemporaryDirectory() as temporary:
        source, target, mapping = (Path(temporary) / name for name in ("g.grf", "g.tgt", "g.map"))
        lines = [f"0\n{graph.vertices} {len(neighbours)}\n0 010"]
        for begin, end in pairwise(starts):
            edges = " ".join(
                f"{load} {other}" for load, other in zip(loads[begin:end], neighbours[begin:end], strict=True)
            )
            lines.append(f"{end - begin} {edges}")
        source.write_text("\n".join(lines) + "\n")
        is_even = len({*sizes}) == 1
        target.write_text(f"cmplt {len(sizes)}\n" if is_even else f"cmpltw {len(sizes)} {' '.join(map(str, sizes))}\n")
        environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
        subprocess.run([program, source, target, mapping], env=environment, check=True, capture_output=True)
        rows = np.loadtxt(mapping, dtype=int, skiprows=1, ndmin=2)
    parts = np.zeros(graph.vertices, int)
    parts[rows[:, 0]] = rows[:, 1]
    return parts


def main() -> int:
    """Print the table; return 1 where a cut is too large or takes too long."""
    parser = argparse.ArgumentParser(description="compare cuts with Scotch's")
    parser.add_argument(
        "--scotch", type=Path, metavar="FOLDER", help="where Scotch's bin and lib are (default: ours alone)"
    )
    parser.add_argument("--most", type=int, default=4096, metavar="P", help="ranks at most (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the graphs (default: %(default)s)")
    arguments = parser.parse_args()
    table = Table("graph", "ranks", "nodes", "cut", "processor time", "Scotch's cut", "its largest part", "ratio")
    code = 0
    for name, graph, sizes in cases(arguments.most, arguments.seed):
        begin = time.process_time()
        parts = partition(graph, sizes)
        seconds = time.process_time() - begin
        cut = graph.cut(parts)
        wrong = (np.bincount(parts, minlength=len(sizes)) != sizes).any() or seconds > MOST_SECONDS
        row = [name, str(graph.vertices), f"{len(sizes)} of {sizes[0]}", f"{cut:.0f}", f"{seconds:.2f} s"]
        if arguments.scotch is not None:
            rival = scotch(graph, sizes, arguments.scotch)
            ratio = cut / graph.cut(rival)
            wrong |= ratio > MOST_RATIO
            row += [f"{graph.cut(rival):.0f}", str(np.bincount(rival).max()), f"{ratio:.3f}"]
        table.add_row(*row)
        code |= int(wrong)
    Console().print(table)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
