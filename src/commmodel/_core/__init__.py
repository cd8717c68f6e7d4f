"""The compiled core: loops whose timing matters, and the simulator's engines. No policy here.

The folder is the subject and the build rule: what is in ``mpi`` is compiled once for each MPI ABI, what is in
``preload`` is a library to preload into any program, all else is compiled once and knows no MPI.
"""
