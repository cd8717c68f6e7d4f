"""Tables and plots of a machine: parameters, protocols, and errors of the models."""
