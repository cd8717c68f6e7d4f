"""What all tests share."""

from hypothesis import HealthCheck, settings

# No limits of time: what a test takes on a loaded machine says nothing about the code.
settings.register_profile("commmodel", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("commmodel")
