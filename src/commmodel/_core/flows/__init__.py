"""The flow engine: programs on links whose bandwidth messages share."""
