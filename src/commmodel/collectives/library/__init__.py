"""What MPI libraries pick: selectors, the rule files of MPICH and Open MPI, and rules made from predictions."""
