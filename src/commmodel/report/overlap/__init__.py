"""Tables and plots of overlap: measurements, choices, validation."""
