"""A device whose memory is the host's: what `commmodel.bench.accelerator` offers, without a GPU."""

import numpy as np


class HostDevice:
    """Counts its copies; `rank` is that of the process on its node."""

    def __init__(self, rank):
        self.name = f"host memory {rank}"
        self.copies = 0

    def device_array(self, size):
        return np.zeros(size, np.uint8)

    def pinned_array(self, size):
        return np.zeros(size, np.uint8)

    def copy_out(self, device, host):
        self.copies += 1
        host[:] = device

    def copy_in(self, host, device):
        self.copies += 1
        device[:] = host

    def synchronise(self):
        pass
