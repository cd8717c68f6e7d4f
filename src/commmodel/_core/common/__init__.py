"""What all of the core shares: numbers that Python, C and C++ know alike, and containers."""
