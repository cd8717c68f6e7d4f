"""Sharing of bandwidth among flows: weighted max-min fairness, updated where something changed."""
