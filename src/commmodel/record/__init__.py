"""Recordings: any MPI program, recorded without rebuilding it.

`launch` replaces this process by a program whose calls of MPI are recorded (the verb ``commmodel record``).
"""

__all__: list[str] = []
