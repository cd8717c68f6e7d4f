"""Tables of measurements: times, rates, memory, and the environment."""
