"""How much of the processors other programs leave to the tests."""

import os
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

_BLOCK = bytes(1 << 22)


def free_share(seconds=0.5):
    """Return which share of all processors this program gets when it asks for all of them: 1 on an idle machine."""
    processors = len(os.sched_getaffinity(0))
    begin, used = time.perf_counter(), time.process_time()

    def work():
        while time.perf_counter() - begin < seconds:
            zlib.crc32(_BLOCK)  # without the GIL

    with ThreadPoolExecutor(processors) as pool:
        for _ in range(processors):
            pool.submit(work)
    return (time.process_time() - used) / (time.perf_counter() - begin) / processors
