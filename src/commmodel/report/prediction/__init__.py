"""Predictions in tables and plots, also beside measured times."""
