"""Overlap of communication with computation in tables and plots: measurements, choices, validation."""
