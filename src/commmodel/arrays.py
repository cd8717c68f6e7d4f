"""The type of arrays that annotations name most. Main entry: `Array`."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
