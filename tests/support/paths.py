"""Where tests find what is not code."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
ORACLES = ROOT / "tests" / "oracles"
SHARED = ROOT.parent / "shared" / "data"
"""Measurements beside the checkout; tests that need them are skipped where they are missing."""
