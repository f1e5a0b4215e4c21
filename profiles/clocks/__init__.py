"""Offsets between the clocks of workers, estimated from the messages they exchanged."""
