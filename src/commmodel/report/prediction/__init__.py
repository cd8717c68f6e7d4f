"""Tables and plots of predictions, also beside measured times."""
