"""The processor's clock: what can be known about it, and reading it twice around a piece of code."""
