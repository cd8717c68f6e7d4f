"""A rank of a Python function: calls it with MPI.COMM_WORLD, and keeps what it returns or raises.

Run as a script with the folder of the call, which `commmodel.simulate.function` has written. Imports nothing of
commmodel, so that ranks begin soon.
"""

import os
import pickle
import sys
import traceback

import cloudpickle


def call(folder: str) -> None:
    """Call the function of a folder; keep its result in a file of the rank's number, or its error in one beside it."""
    with open(os.path.join(folder, "call"), "rb") as file:
        sys.path[:] = pickle.load(file)  # noqa: S301  (the caller's own)
        function, arguments = pickle.load(file)  # noqa: S301
    from mpi4py import MPI

    result_file = os.path.join(folder, str(MPI.COMM_WORLD.rank))
    try:
        returned = cloudpickle.dumps(function(MPI.COMM_WORLD, *arguments))
    except Exception as error:  # whatever the function raises
        frames = error.__traceback__ and error.__traceback__.tb_next
        with open(f"{result_file}-error", "w", encoding="utf-8", errors="backslashreplace") as text:
            text.write("".join(traceback.format_exception(type(error), error, frames)))
        sys.exit(1)
    with open(result_file, "wb") as file:
        file.write(returned)


if __name__ == "__main__":
    call(sys.argv[1])
