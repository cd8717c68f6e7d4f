"""Growth, checks and differences in tables and plots."""
