"""Tests of MPI programs on simulated ranks: ``pytest --mpi simulated``, without mpiexec and MPI library.

::

    pytest          plugin         the options
       |            controller     has tests collected in a nursery and run in worlds, reports each once
       |            interpreter    starts the nursery
       |            worlds         the ranks of one number and their simulator, which live until a test ends them
       |            reports        the reports of all ranks as one; findings, wrong uses of MPI beside them
       |            last_words     what is told behind the last test, also from workers of pytest-xdist
    nursery         nursery        imports and collects all tests: ranks are copies of it
       |            parallel_mark  how many ranks a test has: mpi-pytest's own mark
       |            collection     what was collected, for the controller
    rank 0, 1 ...   rank           runs the tests that it is told
                    line_coverage  which lines they run

Where what is imported asks MPI for its rank, each rank imports and collects for itself, as under mpiexec.
Entry point of pytest: `commmodel.pytest_simulation.plugin`.
"""
