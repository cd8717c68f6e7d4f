"""Programs that run while they are simulated."""

import subprocess
import sys


def simulate(*words, processes=3):
    command = [sys.executable, "-m", "commmodel", "simulate", "graphene", "run", "-p", str(processes)]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=300)
