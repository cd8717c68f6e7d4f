"""What others measured and published, predicted and simulated from its point-to-point part. See ``__main__``."""
