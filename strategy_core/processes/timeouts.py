"""How long a process may be silent where silence means work."""

BUILDING_FACTOR = 10.0
"""Building and tracing may take so many times the limit between two steps."""
CLOSING_S = 120.0
"""So long may a worker that has obeyed Stop convert its last captures, on a busy machine."""
