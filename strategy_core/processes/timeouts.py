"""Limits for a process that writes no events because it is busy."""

BUILDING_FACTOR = 10.0
"""Limit for building and tracing, as a multiple of the limit between two steps."""
CLOSING_S = 120.0
"""Limit for a worker whose steps are done to convert its last captures, on a busy machine."""
