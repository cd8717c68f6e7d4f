"""Routes through a platform, computed when asked for."""
