"""A script of a user, checked by mypy --strict: formulas of numbers and of arrays."""

import numpy as np
from numpy.typing import NDArray

from commmodel.models import REGISTRY, loggp, postal

sizes = np.array([1.0, 1024.0])
seconds: float = postal.time(1000, 2e-6, 1e-9)
curve: NDArray[np.float64] = postal.time(sizes, 2e-6, 1e-9)
filled: NDArray[np.float64] = postal.time([1, 1024], 2e-6, 1e-9, out=curve)
print(seconds, curve, filled, loggp.time(message_size=sizes, L=2e-6, o=1e-6, G=1e-9), REGISTRY["postal"](8, 1e-6, 1e-9))
