"""Real runs with a planted cause, which the advice has to name."""
