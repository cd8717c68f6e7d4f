"""Simulations in tables and charts."""
