"""Measurements in tables: times, rates, memory, and where they were taken."""
