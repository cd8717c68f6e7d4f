"""Simulates programs on platforms."""
