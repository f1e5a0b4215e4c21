"""What tests/doors asks of this leaf: what it opens."""

from __future__ import annotations

OPENS = {
    "strategy_engines/ask.py": "what a process says that the lab has started",
    "strategy_engines/resolvers.py": "a file of the system: /proc, /sys, /dev, a mounted secret",
}
