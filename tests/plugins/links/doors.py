"""What tests/doors asks of this leaf: what it opens."""

from __future__ import annotations

OPENS = {"strategy_links/switch.py": "a file of the system: /proc, /sys, /dev, a mounted secret"}
