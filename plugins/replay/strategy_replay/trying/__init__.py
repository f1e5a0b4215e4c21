"""Make a change of a recorded run in new runs, and compare them with what was predicted."""
