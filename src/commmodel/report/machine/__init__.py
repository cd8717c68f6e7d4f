"""A machine in tables and plots: parameters, protocols, and how wrong each model is."""
