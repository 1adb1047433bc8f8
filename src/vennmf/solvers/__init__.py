"""How a model is minimised: bind, loop, sweep, stop."""
