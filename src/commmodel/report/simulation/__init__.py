"""Tables and charts of simulations."""
