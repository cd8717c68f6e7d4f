"""Other simulators, to compare with: platforms and programs for them, and how to run them.

Nothing in the package depends on them. `platforms` writes platform files; `smpi` compiles and runs `operations.c` under
SimGrid's SMPI, where `smpicc` and `smpirun` are installed; `logs` reads what it says about its messages.
"""
