"""Programs that run while they are simulated: the MPI library that they get, and what hands its calls to the engine."""
