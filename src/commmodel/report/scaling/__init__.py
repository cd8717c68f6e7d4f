"""Tables and plots of growth, checks and differences."""
