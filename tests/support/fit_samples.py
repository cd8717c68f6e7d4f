"""Times of the max-rate model for tests of the fit, and the measurements of Blue Waters."""

import numpy as np
from support.paths import SHARED

from commmodel.fit.points import Points
from commmodel.models import maxrate
from commmodel.results import Header, Launch, Library, Measurements
from commmodel.results.file import FORMAT

BLUE_WATERS = SHARED / "blue-waters"
SIZES = 2 ** np.arange(13, 23)
PAIRS = np.array([1, 2, 4, 8, 16])


def points(sizes, pairs, alpha, R_C, R_N, noise=0.0, seed=0):
    """Return times of the max-rate model with relative noise."""
    size, count = np.repeat(sizes, len(pairs)), np.tile(pairs, len(sizes))
    exact = maxrate.time(size, count, alpha, R_N, R_C)
    seconds = exact * (1 + noise * np.random.default_rng(seed).standard_normal(exact.size))
    return Points(size, count, seconds, seconds * (1 - noise), seconds * (1 + noise))


def measurements(*records, library="made"):
    return Measurements((Launch(Header(FORMAT, 1, "", (), Library(library), (), ()), records),))


def blue_waters():
    """Return the points of all tables: sizes in 4-byte integers, round trips with 1 … 16 pairs."""
    rows = []
    for file in sorted(BLUE_WATERS.glob("pingpong_*.txt")):
        for line in file.read_text().splitlines():
            words = line.split()
            if len(words) == 17 and words[0].isdigit():
                rows += [(4 * int(words[0]), pairs, float(time) / 2) for pairs, time in enumerate(words[1:], 1)]
    size, pairs, seconds = (np.array(column) for column in zip(*sorted(rows), strict=True))
    return Points(size, pairs, seconds, np.full(size.size, -np.inf), np.full(size.size, np.inf))
