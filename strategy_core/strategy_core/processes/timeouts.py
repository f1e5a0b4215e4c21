"""Limits for a process that writes no events because it is busy."""

BUILDING_FACTOR = 10.0
"""Limit for building and tracing, as a multiple of the limit between two steps."""
ORPHAN_S = 20.0
"""Limit for a worker whose launcher has ended to end its step and save its state."""
CLOSING_S = 120.0
"""Limit for a worker whose steps are done to convert its last captures, on a busy machine."""
